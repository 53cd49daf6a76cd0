#!/usr/bin/env python3
"""Turns the interface schema into C.

gen.py --out DIR [--include-prefix P] [--interface NAME] [--enable X,Y] FILE.json...
writes for each file X.json: X.h and X.c (types, events, prototypes of handlers) and X-commands.c
(marshalling); and interface.c (tables). Only the files named by --enable have their commands and
events offered: a command of such a file without handler is a link error.
"""
import argparse
import os
import sys

from commands_gen import CommandWriter
from ctypes_gen import TypeWriter
from introspect import Introspection
from schema import Schema, SchemaError


def write(directory, name, text):
    """Leaves a file that would stay the same alone, so that its users are not built again."""
    path = os.path.join(directory, name)
    if os.path.exists(path):
        with open(path, encoding='utf-8') as stream:
            if stream.read() == text:
                return
    with open(path, 'w', encoding='utf-8') as stream:
        stream.write(text)


def main():
    args = argparse.ArgumentParser(description='generate C from the interface schema')
    args.add_argument('--out', required=True)
    args.add_argument('--include-prefix', default='qapi/gen/')
    args.add_argument('--interface', default='qapi_interface')
    args.add_argument('--enable', default='')
    args.add_argument('files', nargs='+')
    args = args.parse_args()

    schema = Schema(args.files)
    enabled = [name for name in args.enable.split(',') if name]
    unknown = set(enabled) - {m.name for m in schema.modules}
    if unknown:
        raise SchemaError('--enable: no such file: %s' % ', '.join(sorted(unknown)))

    types = TypeWriter(schema, args.include_prefix)
    commands = CommandWriter(types, args.include_prefix)
    for module in schema.modules:
        write(args.out, module.name + '.h', types.header(module))
        write(args.out, module.name + '.c', types.source(module))
        write(args.out, module.name + '-commands.c', commands.source(module))

    calls = [c for m in schema.modules if m.name in enabled for c in m.entities
             if c.meta in ('command', 'event')]
    write(args.out, 'interface.c', commands.table(
        args.interface, [c for c in calls if c.meta == 'command'],
        [c for c in calls if c.meta == 'event'], Introspection(schema).build(calls)))


if __name__ == '__main__':
    try:
        main()
    except SchemaError as error:
        sys.exit('gen.py: %s' % error)
