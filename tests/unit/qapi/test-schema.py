#!/usr/bin/env python3
"""Mistakes in a schema must be found by the generator, with file and line."""
import os
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.environ['QAPI_DIR'])
from introspect import Introspection  # noqa: E402
from schema import Schema, SchemaError  # noqa: E402


def load(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'x.json')
        with open(path, 'w', encoding='utf-8') as stream:
            stream.write(text)
        return Schema([path])


class Mistakes(unittest.TestCase):
    def check(self, text, message):
        with self.assertRaises(SchemaError) as caught:
            load(text)
        self.assertIn(message, str(caught.exception))

    def test_syntax(self):
        self.check("{ 'enum': 'A', 'data': [ 'x' 'y' ] }", "x.json:1: expected ','")
        self.check("\n{ 'enum': \"A\" }", 'x.json:2: cannot read')
        self.check("{ 'enum': 'A', 'enum': 'B', 'data': [] }", 'duplicate key')
        self.check("[ 'x' ]", 'object expected')

    def test_names(self):
        self.check("{ 'struct': 'S', 'data': { 'a': 'T' } }", 'type T is not defined')
        self.check("{ 'enum': 'A', 'data': [] } { 'struct': 'A', 'data': {} }", 'defined twice')
        self.check("{ 'enum': 'AbC', 'data': [] } { 'enum': 'AbC_', 'data': [] }"
                   "{ 'enum': 'ab_c', 'data': [] }", 'has the C name of')
        self.check("{ 'command': 'c', 'returns': 'T' }", 'type T is not defined')
        self.check("{ 'command': 'c', 'data': 'str' }", 'is not a struct or union')
        self.check("{ 'command': 'c', 'oob': true }", 'unknown key oob')
        self.check("{ 'thing': 'c' }", 'cannot tell')

    def test_events(self):
        self.check("{ 'event': 'E', 'rate-limit': { 'every': 1 } }", 'rate-limit is written')
        self.check("{ 'event': 'E', 'data': { 'n': 'int' }, 'rate-limit': { 'ms': 1, 'by': 'n' } }",
                   'no such string member')
        self.check("{ 'enum': 'E', 'data': [ 'a', { 'name': 'a' } ] }", 'listed twice')

    def test_unions(self):
        base = "{ 'enum': 'E', 'data': [ 'a' ] } { 'struct': 'S', 'data': { '*x': 'int' } }"
        self.check(base + "{ 'union': 'U', 'base': { '*t': 'E' }, 'discriminator': 't',"
                   " 'data': {} }", 'not a mandatory')
        self.check(base + "{ 'union': 'U', 'base': { 't': 'str' }, 'discriminator': 't',"
                   " 'data': {} }", 'not an enum')
        self.check(base + "{ 'union': 'U', 'base': { 't': 'E' }, 'discriminator': 't',"
                   " 'data': { 'b': 'S' } }", 'case b is not a value of E')
        self.check(base + "{ 'union': 'U', 'base': { 't': 'E' }, 'discriminator': 't',"
                   " 'data': { 'a': 'E' } }", 'is not a struct or union')
        self.check(base + "{ 'struct': 'D', 'base': 'S', 'data': { 'x': 'int' } }",
                   'a member is defined twice')


class Ours(unittest.TestCase):
    """All of the real schema, whether enabled or not, and what management tools look up in it."""

    @classmethod
    def setUpClass(cls):
        folder = os.environ['QAPI_DIR']
        cls.schema = Schema(sorted(os.path.join(folder, name) for name in os.listdir(folder)
                                   if name.endswith('.json')))
        cls.entries = {e['name']: e for e in
                       Introspection(cls.schema).build(cls.schema.calls.values())}

    def test_references(self):
        for entry in self.entries.values():
            refs = [entry[k] for k in ('arg-type', 'ret-type', 'element-type') if k in entry]
            refs += [m['type'] for m in entry.get('members', []) if 'type' in m]
            refs += [v['type'] for v in entry.get('variants', [])]
            for ref in refs:
                self.assertIn(ref, self.entries)

    def follow(self, path):
        """libvirt's path language: member, +variant, ^enum value, $feature."""
        entry = self.entries[path[0]]
        for step in path[1:]:
            if entry['meta-type'] == 'array':
                entry = self.entries[entry['element-type']]
            if step in ('arg-type', 'ret-type'):
                entry = self.entries[entry[step]]
            elif step[0] == '^':
                self.assertIn(step[1:], entry['values'])
            elif step[0] == '$':
                self.assertIn(step[1:], entry['features'])
            else:
                key, of = ('case', 'variants') if step[0] == '+' else ('name', 'members')
                found = [m for m in entry[of] if m[key] == step.lstrip('+')]
                self.assertEqual(len(found), 1, path)
                entry = self.entries[found[0]['type']]

    def test_lookups(self):
        for path in ('netdev_add arg-type +user', 'netdev_add arg-type type ^dgram',
                     'netdev_add arg-type +stream reconnect-ms', 'device_add $json-cli-hotplug',
                     'object-add arg-type qom-type ^secret', 'calc-dirty-rate arg-type mode',
                     'query-migrate ret-type blocked-reasons',
                     'migrate-incoming arg-type exit-on-error', 'query-block arg-type flat',
                     'query-named-block-nodes arg-type flat',
                     'chardev-add arg-type backend +socket data reconnect-ms',
                     'query-hotpluggable-cpus ret-type props die-id',
                     'migrate-set-parameters arg-type block-bitmap-mapping bitmaps transform'):
            self.follow(path.split())


class Events(unittest.TestCase):
    def test_each_is_sent(self):
        """A client may wait for whatever the schema lists."""
        top = pathlib.Path(os.environ['QAPI_DIR']).parent
        sent = set()
        for room in ('hw', 'migration', 'monitor', 'system'):
            for path in (top / room).rglob('*.c'):
                sent.update(re.findall(r'qapi_event_send_(\w+)', path.read_text('utf-8')))
        listed = set()
        for path in (top / 'qapi').glob('*.json'):
            listed.update(re.findall(r"'event': '([A-Z_]+)'", path.read_text('utf-8')))
        self.assertGreater(len(listed), 10)
        self.assertEqual([name for name in sorted(listed) if name.lower() not in sent], [])


if __name__ == '__main__':
    unittest.main()
