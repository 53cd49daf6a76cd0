"""Reads the interface schema: a JSON dialect with single quotes and '#' comments.

Turns qapi/*.json into checked Python objects; qapi/gen.py turns those into C.
"""
import os
import re

BUILTINS = {
    # schema name: (C type, runtime descriptor, json-type of introspection)
    'str': ('char *', 'qapi_str_type', 'string'),
    'number': ('double', 'qapi_number_type', 'number'),
    'bool': ('bool', 'qapi_bool_type', 'boolean'),
    'null': (None, 'qapi_null_type', 'null'),
    'any': ('JsonNode *', 'qapi_any_type', 'value'),
    'int': ('s64', 'qapi_int_type', 'int'),
    'int8': ('s8', 'qapi_int8_type', 'int'),
    'int16': ('s16', 'qapi_int16_type', 'int'),
    'int32': ('s32', 'qapi_int32_type', 'int'),
    'int64': ('s64', 'qapi_int64_type', 'int'),
    'uint8': ('u8', 'qapi_uint8_type', 'int'),
    'uint16': ('u16', 'qapi_uint16_type', 'int'),
    'uint32': ('u32', 'qapi_uint32_type', 'int'),
    'uint64': ('u64', 'qapi_uint64_type', 'int'),
    'size': ('u64', 'qapi_size_type', 'int'),
}
POINTER_BUILTINS = ('str', 'any')

RESERVED = set('''auto bool break case char const continue default do double else enum extern
    float for goto if inline int long register restrict return short signed sizeof static struct
    switch typedef union unsigned void volatile while linux unix errno'''.split())

ALLOWED_KEYS = {
    'enum': {'data', 'features'},
    'struct': {'data', 'base', 'features'},
    'union': {'data', 'base', 'discriminator', 'features'},
    'alternate': {'data', 'features'},
    'command': {'data', 'returns', 'allow-oob', 'allow-preconfig', 'gen', 'pass', 'features'},
    'event': {'data', 'rate-limit', 'features'},
}


class SchemaError(Exception):
    """A mistake in a schema file; the text names file and line."""


def c_name(name):
    """A member or command name as a C identifier."""
    ident = re.sub(r'[^A-Za-z0-9_]', '_', name)
    if ident in RESERVED:
        return ident + '_'
    return '_' + ident if ident[0].isdigit() else ident


def snake(name):
    """CamelCase type name or UPPER_CASE event name as lower_case words."""
    if name.upper() == name:
        return c_name(name).lower()
    name = re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1_\2', name)
    return c_name(re.sub(r'([a-z0-9])([A-Z])', r'\1_\2', name)).lower()


class Member:
    def __init__(self, key, spec, where):
        self.optional = key.startswith('*')
        self.name = key[1:] if self.optional else key
        if isinstance(spec, dict):
            unknown = set(spec) - {'type', 'features'}
            if unknown or 'type' not in spec:
                raise SchemaError('%s: member %s: bad keys' % (where, key))
            self.type, self.features = spec['type'], spec.get('features', [])
        else:
            self.type, self.features = spec, []


class Entity:
    def __init__(self, meta, name, expr, module, where):
        self.meta, self.name, self.expr = meta, name, expr
        self.module, self.where = module, where
        self.features = expr.get('features', [])
        self.c = snake(name)
        self.members, self.branches, self.values = [], {}, []
        self.tag = expr.get('discriminator')
        unknown = set(expr) - ALLOWED_KEYS[meta] - {meta}
        if unknown:
            self.fail('unknown key %s' % ', '.join(sorted(unknown)))

    def fail(self, text):
        raise SchemaError('%s: %s %s: %s' % (self.where, self.meta, self.name, text))


class Module:
    """One schema file."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.includes = []
        self.entities = []


TOKEN = re.compile(r"\s+|#[^\n]*|(?P<str>'[^'\\\n]*')|(?P<punct>[{}\[\],:])"
                   r"|(?P<word>true|false|-?[0-9]+)")


def tokens(text, path):
    pos, line = 0, 1
    while pos < len(text):
        match = TOKEN.match(text, pos)
        if not match:
            raise SchemaError('%s:%d: cannot read %r' % (path, line, text[pos:pos + 20]))
        if match.lastgroup:
            yield match.lastgroup, match.group(), line
        line += match.group().count('\n')
        pos = match.end()
    yield 'end', '', line


class Parser:
    """Recursive descent over the tokens of one file."""

    def __init__(self, path):
        with open(path, encoding='utf-8') as stream:
            self.tokens = list(tokens(stream.read(), path))
        self.path, self.at = path, 0

    def take(self, want=None):
        kind, text, line = self.tokens[self.at]
        if want is not None and text != want:
            raise SchemaError('%s:%d: expected %r, found %r' % (self.path, line, want, text))
        self.at += 1
        return kind, text, line

    def peek(self):
        return self.tokens[self.at][1]

    def value(self):
        kind, text, line = self.take()
        if kind == 'str':
            return text[1:-1]
        if kind == 'word':
            return text == 'true' if text in ('true', 'false') else int(text)
        if text == '[':
            return self.items(']', self.value)
        if text == '{':
            pairs = self.items('}', self.pair)
            if len(dict(pairs)) != len(pairs):
                raise SchemaError('%s:%d: duplicate key' % (self.path, line))
            return dict(pairs)
        raise SchemaError('%s:%d: unexpected %r' % (self.path, line, text))

    def pair(self):
        kind, text, line = self.take()
        if kind != 'str':
            raise SchemaError('%s:%d: key expected, found %r' % (self.path, line, text))
        self.take(':')
        return text[1:-1], self.value()

    def items(self, close, item):
        out = []
        while self.peek() != close:
            out.append(item())
            if self.peek() != close:
                self.take(',')
        self.take(close)
        return out

    def expressions(self):
        while self.tokens[self.at][0] != 'end':
            line = self.tokens[self.at][2]
            expr = self.value()
            if not isinstance(expr, dict):
                raise SchemaError('%s:%d: object expected' % (self.path, line))
            yield expr, '%s:%d' % (self.path, line)


class Schema:
    """All files together: name lookup, and every check that spans entities."""

    def __init__(self, paths):
        self.modules, self.types, self.calls = [], {}, {}
        self.loaded = {}
        for path in paths:
            self.load(path)
        for entity in [*self.types.values(), *self.calls.values()]:
            self.resolve(entity)
        self.check_c_names()

    def load(self, path):
        path = os.path.normpath(path)
        if path in self.loaded:
            return self.loaded[path]
        module = self.loaded[path] = Module(path)
        for expr, where in Parser(path).expressions():
            if 'include' in expr:
                other = os.path.join(os.path.dirname(path), expr['include'])
                module.includes.append(self.load(other))
                continue
            metas = [m for m in ALLOWED_KEYS if m in expr]
            if len(metas) != 1:
                raise SchemaError('%s: cannot tell what this defines' % where)
            entity = Entity(metas[0], expr[metas[0]], expr, module, where)
            table = self.calls if metas[0] in ('command', 'event') else self.types
            if entity.name in table or entity.name in BUILTINS:
                entity.fail('defined twice')
            table[entity.name] = entity
            module.entities.append(entity)
        self.modules.append(module)
        return module

    def check_type(self, entity, spec):
        if isinstance(spec, list):
            if len(spec) != 1 or not isinstance(spec[0], str):
                entity.fail('a list is written [ \'type\' ]')
            spec = spec[0]
        if spec not in BUILTINS and spec not in self.types:
            entity.fail('type %s is not defined' % spec)

    def read_members(self, entity, data):
        members = [Member(key, spec, entity.where) for key, spec in data.items()]
        for member in members:
            self.check_type(entity, member.type)
        return members

    def base_members(self, entity):
        base = entity.expr.get('base', {})
        if isinstance(base, dict):
            return self.read_members(entity, base)
        if base not in self.types or self.types[base].meta != 'struct':
            entity.fail('base %s is not a struct' % base)
        self.resolve(self.types[base])
        return list(self.types[base].members)

    def resolve(self, entity):
        if getattr(entity, 'resolved', False):
            return
        entity.resolved = True
        data = entity.expr.get('data', {})
        if entity.meta == 'enum':
            entity.values = [v if isinstance(v, dict) else {'name': v} for v in data]
            if len({v['name'] for v in entity.values}) != len(entity.values):
                entity.fail('a value is listed twice')
        elif entity.meta == 'struct':
            entity.members = self.base_members(entity) + self.read_members(entity, data)
        elif entity.meta == 'union':
            self.resolve_union(entity, data)
        elif entity.meta == 'alternate':
            entity.branches = data
            for branch in data.values():
                self.check_type(entity, branch)
        elif isinstance(data, str):
            if data not in self.types or self.types[data].meta not in ('struct', 'union'):
                entity.fail('data %s is not a struct or union' % data)
        else:
            entity.members = self.read_members(entity, data)
        names = [m.name for m in entity.members]
        if len(set(names)) != len(names):
            entity.fail('a member is defined twice')
        if 'returns' in entity.expr:
            self.check_type(entity, entity.expr['returns'])
        self.check_rate_limit(entity)

    def check_rate_limit(self, entity):
        limit = entity.expr.get('rate-limit', {'ms': 1})
        if set(limit) - {'ms', 'by'} or not isinstance(limit.get('ms'), int):
            entity.fail("rate-limit is written { 'ms': N, 'by': 'member' }, without or with by")
        sources = [m for m in entity.members if m.name == limit.get('by') and m.type == 'str']
        if 'by' in limit and not sources:
            entity.fail('rate-limit by %s: no such string member' % limit['by'])

    def resolve_union(self, entity, data):
        entity.members = self.base_members(entity)
        tags = [m for m in entity.members if m.name == entity.tag]
        if not tags or tags[0].optional:
            entity.fail('discriminator %s is not a mandatory base member' % entity.tag)
        enum = self.types.get(tags[0].type)
        if not enum or enum.meta != 'enum':
            entity.fail('discriminator %s is not an enum' % entity.tag)
        self.resolve(enum)
        known = [v['name'] for v in enum.values]
        for case, branch in data.items():
            if case not in known:
                entity.fail('case %s is not a value of %s' % (case, enum.name))
            if branch not in self.types or self.types[branch].meta not in ('struct', 'union'):
                entity.fail('case %s: %s is not a struct or union' % (case, branch))
        entity.branches = data
        entity.tag_enum = enum

    def check_c_names(self):
        seen = {}
        for entity in self.types.values():
            if seen.setdefault(entity.c, entity) is not entity:
                entity.fail('has the C name of %s' % seen[entity.c].name)

    def is_pointer(self, name):
        """True if a value of this type is held through a pointer in C."""
        if name in BUILTINS:
            return name in POINTER_BUILTINS
        return self.types[name].meta != 'enum'
