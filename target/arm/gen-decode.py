#!/usr/bin/env python3
"""Turn the rows of the *.decode files into a decoder in C.

The row format is described at the top of a64-int.decode.  Usage:
    gen-decode.py --header OUT.h --source OUT.c FILE.decode...

Refused at build time: rows that do not add up to 32 bits, two rows that claim one encoding
without one being a special case of the other or both having a condition, rows that no encoding
can reach, and rows of one name with different fields.
"""

import argparse
import re
import sys

FIXED = re.compile(r'[01x]+$')
FIELD = re.compile(r'([a-z][a-z0-9_]*):(s?)(\d+)$')
ATTR = re.compile(r'([a-z_]+)=(.+)$')
IDENT = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
MARKS = ('jit', 'end', 'fp')
ATTRS = ('where', 'flags_r', 'flags_w', 'feat', 'class')


class Row:
    """One line of a decode file: which bits are fixed and where the fields lie."""

    def __init__(self, where, text):
        self.where = where
        tokens = text.split()
        self.name = tokens[0]
        self.mask = self.value = 0
        self.fields = []            # (name, signed, shift, width), most significant first
        self.attrs = {'where': '', 'flags_r': '', 'flags_w': '', 'feat': '', 'class': ''}
        self.marks = set()
        left = 32
        for tok in tokens[1:]:
            field, attr = FIELD.match(tok), ATTR.match(tok)
            if FIXED.match(tok):
                for bit in tok:
                    left -= 1
                    if left >= 0 and bit != 'x':
                        self.mask |= 1 << left
                        self.value |= int(bit) << left
            elif field:
                left -= int(field.group(3))
                self.fields.append((field.group(1), bool(field.group(2)), left,
                                    int(field.group(3))))
            elif tok in MARKS:
                self.marks.add(tok)
            elif attr and attr.group(1) in ATTRS:
                self.attrs[attr.group(1)] = attr.group(2)
            else:
                fail(self.where, f'{self.name}: unknown word "{tok}"')
        if left != 0:
            fail(self.where, f'{self.name}: row has {32 - left} bits, not 32')
        names = [f[0] for f in self.fields]
        if len(set(names)) != len(names):
            fail(self.where, f'{self.name}: a field name appears twice')

    def covers(self, other):
        """Every encoding of @other is also one of self."""
        return self.mask & ~other.mask == 0 and other.value & self.mask == self.value

    def overlaps(self, other):
        return (self.value ^ other.value) & self.mask & other.mask == 0

    def shape(self):
        return tuple(self.fields)


def fail(where, text):
    sys.exit(f'{where}: {text}')


def read_rows(paths):
    rows = []
    for path in paths:
        with open(path, encoding='ascii') as f:
            for number, line in enumerate(f, 1):
                text = line.split('#')[0].strip()
                if text:
                    rows.append(Row(f'{path}:{number}', text))
    return rows


def check(rows):
    shapes = {}
    for row in rows:
        first = shapes.setdefault(row.name, row)
        if first.shape() != row.shape():
            fail(row.where, f'{row.name}: fields differ from the row at {first.where}')
    for i, a in enumerate(rows):
        for b in rows[i + 1:]:
            if not a.overlaps(b):
                continue
            if a.covers(b) and b.covers(a):
                if not (a.attrs['where'] and b.attrs['where']):
                    fail(b.where, f'{b.name}: unreachable, same encoding as {a.name} ({a.where})')
            elif (not a.covers(b) and not b.covers(a) and
                  not (a.attrs['where'] and b.attrs['where'])):
                fail(b.where, f'{b.name}: overlaps {a.name} ({a.where})')
    for row in rows:
        inner = [r for r in rows if r is not row and row.covers(r) and not r.attrs['where']]
        if covered(row, inner):
            fail(row.where, f'{row.name}: unreachable, more specific rows leave nothing to it')


def covered(row, inner):
    """True if the union of @inner is all of @row: split on one bit that some inner row fixes."""
    inner = [r for r in inner if row.overlaps(r)]
    if not inner:
        return False
    if any(r.covers(row) for r in inner):
        return True
    free = inner[0].mask & ~row.mask
    bit = free & -free
    for value in (0, bit):
        half = object.__new__(Row)
        half.mask, half.value = row.mask | bit, row.value | value
        if not covered(half, inner):
            return False
    return True


def ctype(signed, width):
    size = 8 if width <= 8 else 16 if width <= 16 else 32
    return f'{"s" if signed else "u"}{size}'


def expression(row, text):
    names = {f[0] for f in row.fields}
    return IDENT.sub(lambda m: 'a->' + m.group(0) if m.group(0) in names else m.group(0), text)


def unique_names(rows):
    seen = {}
    for row in rows:
        seen.setdefault(row.name, row)
    return list(seen.values())


def write_header(path, rows):
    ops = unique_names(rows)
    out = ['/* Generated by gen-decode.py: do not edit. */',
           '#ifndef TARGET_ARM_DECODE_GEN_H', '#define TARGET_ARM_DECODE_GEN_H', '',
           '#include "util/base.h"', '', 'struct arm_cpu;', 'struct trans;', '',
           'enum a64_op {', '\tA64_UNALLOCATED,']
    out += [f'\tA64_{row.name},' for row in ops]
    out += ['\tA64_NOPS', '};', '']
    for row in ops:
        out.append(f'struct a64_{row.name} {{')
        for name, signed, _, width in row.fields:
            out.append(f'\t{ctype(signed, width)} {name};')
        if not row.fields:
            out.append('\tu8 none;')
        out.append('};')
    out.append('')
    out.append('union a64_args {')
    out += [f'\tstruct a64_{row.name} {row.name};' for row in ops]
    out += ['};', '']
    for row in ops:
        out.append(f'void exec_{row.name}(struct arm_cpu *cpu, const struct a64_{row.name} *i);')
    for row in ops:
        if 'jit' in row.marks:
            out.append(f'bool trans_{row.name}(struct trans *t, const struct a64_{row.name} *i);')
    out += ['', '#endif', '']
    write(path, out)


def write_extractors(out, rows):
    """One C function for each set of rows with the same fields, conditions and flag use."""
    functions = {}
    for row in rows:
        key = (row.shape(), row.attrs['where'], row.attrs['flags_r'], row.attrs['flags_w'])
        if key in functions:
            row.extractor = functions[key]
            continue
        row.extractor = functions[key] = f'extract_{len(functions)}'
        out.append(f'static bool {row.extractor}(u32 raw, struct a64_insn *insn)')
        out.append('{')
        out.append(f'\tstruct a64_{row.name} *a = &insn->args.{row.name};')
        out.append('')
        for name, signed, shift, width in row.fields:
            if signed:
                out.append(f'\ta->{name} = (s32)(raw << {32 - shift - width}) >> {32 - width};')
            else:
                out.append(f'\ta->{name} = (raw >> {shift}) & {hex((1 << width) - 1)};')
        for kind, attr in (('reads', 'flags_r'), ('writes', 'flags_w')):
            text = row.attrs[attr] or '0'
            out.append(f'\tinsn->{kind}_flags = !!({expression(row, text)});')
        out.append('\t(void)a;')
        out.append(f'\treturn {expression(row, row.attrs["where"] or "true")};')
        out.append('}')
        out.append('')


def write_source(path, rows):
    order = sorted(range(len(rows)), key=lambda i: -bin(rows[i].mask).count('1'))
    rows = [rows[i] for i in order]
    out = ['/* Generated by gen-decode.py: do not edit. */', '#include "target/arm/decode.h"', '']
    write_extractors(out, rows)
    out.append('const struct a64_pattern a64_patterns[] = {')
    for row in rows:
        out.append(f'\t{{ {row.mask:#010x}, {row.value:#010x}, A64_{row.name}, '
                   f'{row.extractor}, "{row.attrs["class"]}" }},')
    out += ['};', 'const unsigned a64_npatterns = ARRAY_SIZE(a64_patterns);', '']
    write_buckets(out, rows)
    out.append('#define EXEC(name) (a64_exec_fn *)(void (*)(void))exec_##name')
    out += ['#ifdef TCG_JIT',
            '#define TRANS(name) (a64_trans_fn *)(void (*)(void))trans_##name', '#else',
            '#define TRANS(name) NULL /* no code generator for this host */', '#endif']
    out.append('const struct a64_rule a64_rules[A64_NOPS] = {')
    out.append('\t[A64_UNALLOCATED] = { .name = "UNALLOCATED" },')
    for row in unique_names(rows):
        jit = f', .trans = TRANS({row.name})' if 'jit' in row.marks else ''
        end = ', .ends_region = true' if 'end' in row.marks else ''
        fp = ', .fp = true' if 'fp' in row.marks else ''
        feat = f', .feature = ARM_FEAT_{row.attrs["feat"]}' if row.attrs['feat'] else ''
        out.append(f'\t[A64_{row.name}] = {{ .name = "{row.name}", .exec = EXEC({row.name})'
                   f'{jit}{end}{fp}{feat} }},')
    features = sorted({row.attrs['feat'] for row in rows if row.attrs['feat']})
    bits = ' | '.join(f'1ull << ARM_FEAT_{feature}' for feature in features) or '0'
    out += ['};', f'const u64 a64_row_features = {bits};', '']
    write(path, out)


def write_buckets(out, rows):
    """First level: bits 28:21 and 12:10, which spread the A64 encodings best."""
    lists, offsets, pool = {}, [], []
    for index in range(2048):
        value = (index >> 3) << 21 | (index & 7) << 10
        members = tuple(i for i, row in enumerate(rows)
                        if (value ^ row.value) & row.mask & 0x1fe01c00 == 0)
        if members not in lists:
            lists[members] = len(pool)
            pool += list(members) + [0xffff]
        offsets.append(lists[members])
    out.append('const u16 a64_bucket_rows[] = {')
    out += wrap(pool)
    out += ['};', 'const u16 a64_buckets[2048] = {']
    out += wrap(offsets)
    out += ['};', '']


def wrap(numbers):
    return ['\t' + ', '.join(map(str, numbers[i:i + 14])) + ',' for i in range(0, len(numbers), 14)]


def write(path, lines):
    with open(path, 'w', encoding='ascii') as f:
        f.write('\n'.join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--header', required=True)
    parser.add_argument('--source', required=True)
    parser.add_argument('files', nargs='+')
    args = parser.parse_args()
    rows = read_rows(args.files)
    check(rows)
    write_header(args.header, rows)
    write_source(args.source, rows)


if __name__ == '__main__':
    main()
