"""Writes the C side of types and events: X.h and X.c for each schema file X.json."""
from schema import BUILTINS, c_name


class TypeWriter:
    def __init__(self, schema, prefix):
        self.schema, self.prefix = schema, prefix

    # -- names ---------------------------------------------------------------

    def descriptor(self, spec):
        """C name of the run-time description of a type."""
        if isinstance(spec, list):
            return 'qapi_%s_list_type' % self.ident(spec[0])
        return 'qapi_%s_type' % self.ident(spec)

    def ident(self, name):
        return name if name in BUILTINS else self.schema.types[name].c

    def declare(self, spec, name):
        """C declaration of a value of that type."""
        if isinstance(spec, list):
            array = 'GPtrArray' if self.schema.is_pointer(spec[0]) else 'GArray'
            return '%s *%s' % (array, name)
        if spec in BUILTINS:
            ctype = BUILTINS[spec][0]
            return ctype + name if ctype.endswith('*') else '%s %s' % (ctype, name)
        entity = self.schema.types[spec]
        if entity.meta == 'enum':
            return 'enum qapi_%s %s' % (entity.c, name)
        return 'struct qapi_%s *%s' % (entity.c, name)

    def is_flagged(self, member):
        """Optional scalars carry a has_ flag; absent pointers are NULL."""
        if not member.optional or isinstance(member.type, list):
            return False
        return not self.schema.is_pointer(member.type)

    def call_struct(self, call):
        """Struct tag and descriptor of the data of a command or event, or (None, None)."""
        data = call.expr.get('data')
        if isinstance(data, str):
            entity = self.schema.types[data]
            return 'qapi_%s' % entity.c, 'qapi_%s_type' % entity.c
        if not call.members:
            return None, None
        kind = 'args' if call.meta == 'command' else 'event'
        tag = 'qapi_%s_%s' % (call.c, kind)
        return tag, tag + '_type'

    # -- header --------------------------------------------------------------

    def header(self, module):
        guard = 'QAPI_GEN_%s_H' % c_name(module.name).upper()
        out = ['/* Written by qapi/gen.py from %s.json; do not edit. */' % module.name,
               '#ifndef ' + guard, '#define ' + guard, '', '#include "qapi/command.h"']
        out += ['#include "%s%s.h"' % (self.prefix, m.name) for m in module.includes] + ['']
        types = [e for e in module.entities if e.meta in ('enum', 'struct', 'union', 'alternate')]
        for entity in types:
            if entity.meta == 'enum':
                out += self.enum_header(entity)
        for entity in types:
            if entity.meta != 'enum':
                out.append('struct qapi_%s;' % entity.c)
        done = set()
        for entity in types:
            if entity.meta != 'enum':
                self.struct_in_order(entity, module, done, out)
        for call in module.entities:
            if call.meta in ('command', 'event'):
                out += self.call_header(call)
        return '\n'.join(out + ['#endif', ''])

    def enum_header(self, entity):
        upper = 'QAPI_' + entity.c.upper()
        out = ['enum qapi_%s {' % entity.c]
        out += ['\t%s_%s,' % (upper, c_name_upper(v['name'])) for v in entity.values]
        out += ['\t%s__COUNT' % upper, '};', '']
        out += ['extern const struct qapi_type qapi_%s_type, qapi_%s_list_type;'
                % (entity.c, entity.c),
                'const char *qapi_%s_str(enum qapi_%s value);' % (entity.c, entity.c),
                'bool qapi_%s_parse(const char *text, enum qapi_%s *value);'
                % (entity.c, entity.c), '']
        return out

    def struct_in_order(self, entity, module, done, out):
        """Emits @entity after the structs that it holds by value (variants of a union)."""
        if entity.name in done or entity.module is not module:
            return
        done.add(entity.name)
        if entity.meta == 'union':
            for branch in entity.branches.values():
                self.struct_in_order(self.schema.types[branch], module, done, out)
        out += self.struct_header(entity)

    def members(self, members):
        out = []
        for member in members:
            name = c_name(member.name)
            if self.is_flagged(member):
                out.append('\tbool has_%s;' % name.rstrip('_'))
            if member.type != 'null':
                out.append('\t%s;' % self.declare(member.type, name))
        return out

    def struct_header(self, entity):
        out = []
        if entity.meta == 'alternate':
            upper = 'QAPI_%s_BRANCH_' % entity.c.upper()
            out += ['', 'enum qapi_%s_branch {' % entity.c]
            out += ['\t%s%s,' % (upper, c_name_upper(b)) for b in entity.branches] + ['};']
        out += ['', 'struct qapi_%s {' % entity.c] + self.members(entity.members)
        if entity.meta == 'alternate':
            out.append('\tenum qapi_%s_branch branch;' % entity.c)
        if entity.branches:
            out.append('\tunion {')
            for case, branch in entity.branches.items():
                if branch == 'null':
                    continue
                if entity.meta == 'union':
                    out.append('\t\tstruct qapi_%s %s;'
                               % (self.schema.types[branch].c, c_name(case)))
                else:
                    out.append('\t\t%s;' % self.declare(branch, c_name(case)))
            out.append('\t} u;')
        if not entity.members and not entity.branches:
            out.append('\tchar no_members;')
        c = entity.c
        return out + ['};', '',
                      'extern const struct qapi_type qapi_%s_type, qapi_%s_list_type;' % (c, c),
                      'struct qapi_%s *qapi_%s_from_json(JsonNode *node, GError **err);' % (c, c),
                      'JsonNode *qapi_%s_to_json(const struct qapi_%s *value);' % (c, c),
                      'void qapi_%s_free(struct qapi_%s *value);' % (c, c),
                      'GPtrArray *qapi_%s_list_new(void);' % c]

    def call_header(self, call):
        tag, descriptor = self.call_struct(call)
        out = ['']
        if tag and call.members:
            out += ['struct %s {' % tag] + self.members(call.members)
            out += ['};', 'extern const struct qapi_type %s;' % descriptor]
        if call.meta == 'event':
            return out + [self.event_prototype(call) + ';']
        return out + [self.command_prototype(call) + ';']

    def event_prototype(self, call):
        tag = self.call_struct(call)[0]
        data = ', const struct %s *data' % tag if tag else ''
        return 'void qapi_event_send_%s(struct qapi_event_sink *sink%s)' % (call.c, data)

    def command_prototype(self, call):
        tag = self.call_struct(call)[0]
        args = ', const struct %s *args' % tag if tag else ''
        result = self.declare(call.expr['returns'], '') if 'returns' in call.expr else 'void '
        if call.expr.get('gen', True) is False:
            args = ', JsonObject *args'
            result = 'JsonNode *' if 'returns' in call.expr else 'void '
        elif call.expr.get('pass') == 'json':
            args = ', JsonObject *args'
        return '%sqmp_%s(struct machine *m%s, GError **err)' % (result, call.c, args)

    # -- source --------------------------------------------------------------

    def source(self, module):
        out = ['/* Written by qapi/gen.py from %s.json; do not edit. */' % module.name,
               '#include "%s%s.h"' % (self.prefix, module.name), '']
        for entity in module.entities:
            if entity.meta == 'enum':
                out += self.enum_source(entity)
            elif entity.meta in ('struct', 'union', 'alternate'):
                out += self.struct_source(entity)
            else:
                out += self.call_source(entity)
        return '\n'.join(out)

    def list_type(self, entity):
        return ['const struct qapi_type qapi_%s_list_type = {' % entity.c,
                '\t.kind = QAPI_KIND_LIST, .name = "%s", .size = sizeof(void *),' % entity.name,
                '\t.element = &qapi_%s_type,' % entity.c, '};', '']

    def enum_source(self, entity):
        c = entity.c
        out = ['static const char *const %s_values[] = {' % c]
        out += ['\t"%s",' % v['name'] for v in entity.values]
        out += ['};', '', 'const struct qapi_type qapi_%s_type = {' % c,
                '\t.kind = QAPI_KIND_ENUM, .name = "%s",' % entity.name,
                '\t.size = sizeof(enum qapi_%s),' % c,
                '\t.values = %s_values, .nvalues = %d,' % (c, len(entity.values)), '};', '']
        out += self.list_type(entity)
        return out + ['const char *qapi_%s_str(enum qapi_%s value)' % (c, c), '{',
                      '\treturn %s_values[value];' % c, '}', '',
                      'bool qapi_%s_parse(const char *text, enum qapi_%s *value)' % (c, c), '{',
                      '\tint found = qapi_enum_find(&qapi_%s_type, text);' % c, '',
                      '\tif (found >= 0)', '\t\t*value = found;', '\treturn found >= 0;', '}', '']

    def fields(self, tag, members):
        out = ['static const struct qapi_field %s_fields[] = {' % tag]
        for member in members:
            name = c_name(member.name)
            flag = 'offsetof(struct %s, has_%s)' % (tag, name.rstrip('_')) \
                if self.is_flagged(member) else 'QAPI_NO_FLAG'
            offset = '0' if member.type == 'null' else 'offsetof(struct %s, %s)' % (tag, name)
            out.append('\t{ "%s", &%s, %s, %s, %s },' % (
                member.name, self.descriptor(member.type), offset, flag,
                'true' if member.optional else 'false'))
        return out + ['};', '']

    def object_type(self, tag, name, members, extra=(), kind='OBJECT'):
        out = self.fields(tag, members) if members else []
        out += ['const struct qapi_type %s_type = {' % tag,
                '\t.kind = QAPI_KIND_%s, .name = "%s", .size = sizeof(struct %s),'
                % (kind, name, tag)]
        if members:
            out.append('\t.fields = %s_fields, .nfields = %d,' % (tag, len(members)))
        return out + list(extra) + ['};', '']

    def struct_source(self, entity):
        tag, c, out, extra = 'qapi_' + entity.c, entity.c, [], []
        out += ['static void destroy_%s(gpointer value)' % c, '{',
                '\tqapi_%s_free(value);' % c, '}', '']
        extra.append('\t.destroy = destroy_%s,' % c)
        if entity.branches:
            values = [v['name'] for v in entity.tag_enum.values] if entity.meta == 'union' \
                else list(entity.branches)
            out.append('static const struct qapi_type *const %s_variants[%d] = {'
                       % (tag, len(values)))
            for i, value in enumerate(values):
                if value in entity.branches:
                    out.append('\t[%d] = &%s,' % (i, self.descriptor(entity.branches[value])))
            out += ['};', '']
            extra += ['\t.variants = %s_variants, .nvariants = %d,' % (tag, len(values)),
                      '\t.tag_offset = offsetof(struct %s, %s),'
                      % (tag, c_name(entity.tag) if entity.meta == 'union' else 'branch'),
                      '\t.variant_offset = offsetof(struct %s, u),' % tag]
        out += self.object_type(tag, entity.name, entity.members, extra,
                                'ALTERNATE' if entity.meta == 'alternate' else 'OBJECT')
        return out + self.list_type(entity) + [
            'struct qapi_%s *qapi_%s_from_json(JsonNode *node, GError **err)' % (c, c), '{',
            '\tstruct qapi_%s *value = NULL;' % c, '',
            '\tqapi_value_read(&%s_type, node, &value, err);' % tag, '\treturn value;', '}', '',
            'JsonNode *qapi_%s_to_json(const struct qapi_%s *value)' % (c, c), '{',
            '\treturn qapi_value_write(&%s_type, &value);' % tag, '}', '',
            'void qapi_%s_free(struct qapi_%s *value)' % (c, c), '{',
            '\tqapi_value_clear(&%s_type, &value);' % tag, '}', '',
            'GPtrArray *qapi_%s_list_new(void)' % c, '{',
            '\treturn qapi_list_new(&%s_type);' % tag, '}', '']

    def call_source(self, call):
        tag, descriptor = self.call_struct(call)
        out = self.object_type(tag, call.name, call.members) if tag and call.members else []
        if call.meta == 'command':
            return out
        limit = call.expr.get('rate-limit', {})
        by = '"%s"' % limit['by'] if 'by' in limit else 'NULL'
        out += ['extern const struct qapi_event qapi_event_%s;' % call.c,
                'const struct qapi_event qapi_event_%s = {' % call.c,
                '\t.name = "%s", .data = %s,' % (call.name, '&' + descriptor if tag else 'NULL'),
                '\t.rate_limit_ms = %d, .rate_limit_by = %s,' % (limit.get('ms', 0), by),
                '};', '', self.event_prototype(call), '{',
                '\tqapi_event_emit(sink, &qapi_event_%s, %s);'
                % (call.c, 'data' if tag else 'NULL'), '}', '']
        return out


def c_name_upper(name):
    """The value of an enum as the tail of a constant; no reserved words there."""
    return ''.join(ch if ch.isalnum() else '_' for ch in name).upper()
