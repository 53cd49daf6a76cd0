"""Builds the answer of query-qmp-schema from the schema.

Shape of the answer: list of objects with 'name' and 'meta-type'. Names of user types are replaced
by numbers, as clients must reach a type only through the command or event that uses it.
"""
from schema import BUILTINS


class Introspection:
    def __init__(self, schema):
        self.schema, self.out, self.names = schema, [], {}

    def build(self, calls):
        for call in calls:
            entry = {'name': call.name, 'meta-type': call.meta,
                     'arg-type': self.arguments(call)}
            if call.meta == 'command':
                entry['ret-type'] = self.use(call.expr['returns']) if 'returns' in call.expr \
                    else self.empty()
                if call.expr.get('allow-oob'):
                    entry['allow-oob'] = True
            self.add(entry, call.features)
        return self.out

    def add(self, entry, features):
        if features:
            entry['features'] = list(features)
        self.out.append(entry)

    def number(self, key):
        self.names[key] = str(sum(1 for n in self.names.values() if n.isdigit()))
        return self.names[key]

    def empty(self):
        if '' not in self.names:
            self.add({'name': self.number(''), 'meta-type': 'object', 'members': []}, [])
        return self.names['']

    def arguments(self, call):
        data = call.expr.get('data')
        if isinstance(data, str):
            return self.use(data)
        if not call.members:
            return self.empty()
        name = self.number((call.meta, call.name))
        self.object(call, name)
        return name

    def use(self, spec):
        """Name of a type in the answer; describes it on first use."""
        if isinstance(spec, list):
            element = self.use(spec[0])
            name = '[%s]' % element
            if name not in self.names:
                self.names[name] = name
                self.add({'name': name, 'meta-type': 'array', 'element-type': element}, [])
            return name
        if spec in BUILTINS:
            return self.builtin(spec)
        entity = self.schema.types[spec]
        if entity.name not in self.names:
            name = self.number(entity.name)
            describe = {'enum': self.enum, 'alternate': self.alternate}.get(entity.meta,
                                                                            self.object)
            describe(entity, name)
        return self.names[entity.name]

    def builtin(self, spec):
        kind = BUILTINS[spec][2]
        name = 'int' if kind == 'int' else spec
        if name not in self.names:
            self.names[name] = name
            self.add({'name': name, 'meta-type': 'builtin', 'json-type': kind}, [])
        return name

    def enum(self, entity, name):
        members = [dict(name=v['name'], **({'features': v['features']} if 'features' in v else {}))
                   for v in entity.values]
        self.add({'name': name, 'meta-type': 'enum', 'members': members,
                  'values': [v['name'] for v in entity.values]}, entity.features)

    def alternate(self, entity, name):
        self.add({'name': name, 'meta-type': 'alternate',
                  'members': [{'type': self.use(b)} for b in entity.branches.values()]},
                 entity.features)

    def object(self, entity, name):
        members = []
        for member in entity.members:
            entry = {'name': member.name, 'type': self.use(member.type)}
            if member.optional:
                entry['default'] = None
            if member.features:
                entry['features'] = list(member.features)
            members.append(entry)
        out = {'name': name, 'meta-type': 'object', 'members': members}
        if entity.tag:
            out['tag'] = entity.tag
            out['variants'] = [
                {'case': v['name'],
                 'type': self.use(entity.branches[v['name']]) if v['name'] in entity.branches
                 else self.empty()} for v in entity.tag_enum.values]
        self.add(out, entity.features)
