#!/usr/bin/env python3
"""Programs without an operating system on virt: -kernel with an ELF file, -device loader, -S."""

import struct
import subprocess

from lib.testcase import FunctionalTest, main

RAM = 0x40000000
DATA = 0x41000000

# Sends the four bytes at DATA and '0' plus x0 to the first serial port and powers off by PSCI.
PROGRAM = [
    0xaa0003e9,  # mov x9, x0
    0xd2a12001,  # mov x1, #0x09000000
    0xd2a82002,  # mov x2, #0x41000000
    0x52800084,  # mov w4, #4
    0x38401443,  # ldrb w3, [x2], #1
    0xb9000023,  # str w3, [x1]
    0x71000484,  # subs w4, w4, #1
    0x54ffffa1,  # b.ne -12
    0x1100c123,  # add w3, w9, #48
    0xb9000023,  # str w3, [x1]
    0xd2b08000,  # mov x0, #0x84000000
    0xf2800100,  # movk x0, #8
    0xd4000002,  # hvc #0
]
CODE = struct.pack('<%dI' % len(PROGRAM), *PROGRAM)

HEADER, SEGMENT = 64, 56
LOAD = 1


def elf(entry, *segments, machine=183):
    """An ELF file of segments (address, bytes, size in memory)."""
    at = HEADER + SEGMENT * len(segments)
    table = contents = b''
    for address, data, size in segments:
        table += struct.pack('<IIQQQQQQ', LOAD, 7, at + len(contents), address, address, len(data), size, 8)
        contents += data
    return struct.pack('<16sHHIQQQIHHHHHH', b'\x7fELF\x02\x01\x01', 2, machine, 1, entry, HEADER, 0, 0, HEADER, SEGMENT,
                       len(segments), 64, 0, 0) + table + contents


class Program(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    needs_guests = False

    def file(self, name, data):
        path = self.path(name)
        with open(path, 'wb') as f:
            f.write(data)
        return path

    def emulator(self, *args):
        return subprocess.run([self.binary, '-M', 'virt', '-cpu', 'max', '-display', 'none', '-nodefaults', '-serial', 'stdio',
                               *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    def runs(self, expected, *args):
        p = self.emulator(*args)
        self.assertEqual((p.returncode, p.stdout), (0, expected), p.stderr)
        return p.stderr

    def refused(self, pattern, *args):
        p = self.emulator(*args)
        self.assertEqual(p.returncode, 1, p.stdout + p.stderr)
        self.assertRegex(p.stderr, pattern)


class Kernel(Program):
    def test_segments_go_where_they_say(self):
        path = self.file('p', elf(RAM + 0x100000, (RAM + 0x100000, CODE, len(CODE)), (DATA, b'abcd', 4)))
        self.assertEqual(self.runs('abcd0', '-kernel', path), '')

    def test_the_rest_of_a_segment_is_zero(self):
        path = self.file('p', elf(RAM + 0x100000, (RAM + 0x100000, CODE, len(CODE)), (DATA, b'ab', 0x1000)))
        self.assertEqual(self.runs('ab\0\0' + '0', '-kernel', path), '')

    def test_the_tree_is_where_ram_begins(self):
        """The program prints what its data segment does not cover: the tree's magic number, when linked there."""
        code = CODE.replace(struct.pack('<I', 0xd2a82002), struct.pack('<I', 0xd2a80002))  # mov x2, #0x40000000
        path = self.file('p', elf(RAM + 0x100000, (RAM + 0x100000, code, len(code))))
        p = subprocess.run([self.binary, '-M', 'virt', '-cpu', 'max', '-display', 'none', '-nodefaults', '-serial', 'stdio',
                            '-kernel', path], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        self.assertEqual(p.stdout, b'\xd0\x0d\xfe\xed0', p.stderr)

    def test_a_program_where_the_tree_would_be(self):
        path = self.file('p', elf(RAM, (RAM, CODE, len(CODE)), (DATA, b'wxyz', 4)))
        self.assertEqual(self.runs('wxyz0', '-kernel', path), '')
        tree = self.path('dtb')
        subprocess.run([self.binary, '-M', 'virt,dumpdtb=' + tree], check=True, timeout=60, capture_output=True)
        self.refused('link it to a higher address', '-kernel', path, '-dtb', tree)

    def test_a_segment_outside_ram(self):
        path = self.file('p', elf(RAM, (0x400000, b'note', 4), (RAM, CODE, len(CODE)), (DATA, b'abcd', 4)))
        self.assertRegex(self.runs('abcd0', '-kernel', path), r'segment 0 of 4 bytes is left out: there is no RAM at 0x400000')

    def test_refusals(self):
        good = elf(RAM, (RAM, CODE, len(CODE)))
        for data, pattern in ((elf(RAM, (RAM, CODE, len(CODE)), machine=62), 'machine 62; give one for AArch64'),
                              (elf(RAM, (RAM, CODE, len(CODE)), machine=40), 'AArch32, which is not there'),
                              (elf(0x400000, (0x400000, CODE, len(CODE))), 'nothing to load into RAM'),
                              (elf(RAM), 'nothing to load into RAM'),
                              (good[:HEADER + 8], 'program headers exceed the file'),
                              (good[:-4], 'segment 0 exceeds the file'),
                              (elf(RAM, (RAM, CODE, len(CODE)), (RAM + 8, b'x', 1)), 'overlaps'),
                              (elf(RAM, (RAM, CODE, 1 << 40)), '-m gives')):
            with self.subTest(pattern=pattern):
                self.refused(pattern, '-kernel', self.file('p', data))
        self.refused('-initrd .*force-raw=on', '-kernel', self.file('p', good), '-initrd', self.file('i', b'x'))


class Loader(Program):
    def setUp(self):
        super().setUp()
        self.program = self.file('p', elf(RAM + 0x100000, (RAM + 0x100000, CODE, len(CODE))))
        self.raw = self.file('raw', CODE)

    def test_program_and_data(self):
        self.runs('abcd0', '-device', 'loader,file=%s,cpu-num=0' % self.program,
                  '-device', 'loader,addr=0x41000000,data=0x64636261,data-len=4')

    def test_big_endian(self):
        self.runs('dcba0', '-device', 'loader,file=%s,cpu-num=0' % self.program,
                  '-device', 'loader,addr=0x41000000,data=0x64636261,data-len=4,data-be=on')

    def test_raw_file(self):
        self.runs('wxyz0', '-device', 'loader,file=%s,addr=0x40200000,cpu-num=0' % self.raw,
                  '-device', 'loader,file=%s,addr=0x41000000' % self.file('d', b'wxyz'))

    def test_entry_alone(self):
        self.runs('\x7fELF0', '-device', 'loader,file=%s,addr=0x40200000' % self.raw, '-device', 'loader,addr=0x40200000,cpu-num=0',
                  '-device', 'loader,file=%s,addr=0x41000000,force-raw=on' % self.program)

    def test_where_the_tree_would_be(self):
        self.runs('\0\0\0\0' + '0', '-device', 'loader,file=%s,addr=0x40000000,cpu-num=0' % self.raw)

    def test_it_survives_a_reset(self):
        code = CODE.replace(struct.pack('<I', 0xf2800100), struct.pack('<I', 0xf2800120))  # movk x0, #9: reset
        self.runs('abcd0', '-no-reboot', '-device', 'loader,file=%s,addr=0x40200000,cpu-num=0' % self.file('c', code),
                  '-device', 'loader,addr=0x41000000,data=0x64636261,data-len=4')
        a = self.machine('a', '-device', 'loader,file=%s,addr=0x40200000,cpu-num=0' % self.path('c'), '-action',
                         'reboot=reset', guest=None, paused=True)
        a.qmp.cmd('cont')
        for _ in range(3):
            a.qmp.wait_event('RESET')

    def test_refusals(self):
        for options, pattern in (('', 'give file='), ('addr=0x40000000', 'give file='),
                                 ('data=1,addr=0x40000000', 'need data-len'),
                                 ('data=1,data-len=9,addr=0x40000000', '1 to 8'),
                                 ('data=1,data-len=1,file=/x', 'exclude each other'),
                                 ('data=1,data-len=1,addr=0x40000000,cpu-num=0', 'cpu-num= goes with'),
                                 ('force-raw=on,cpu-num=0', 'force-raw= is about file='),
                                 ('file=' + self.path('none'), 'No such file'),
                                 ('file=' + self.file('empty', b''), 'empty'),
                                 ('file=%s,addr=0x1000' % self.raw, 'does not fit'),
                                 ('file=%s,addr=0x40200000,cpu-num=1' % self.raw, 'there are 1 vCPUs'),
                                 ('file=' + self.file('x', elf(RAM, (RAM, CODE, len(CODE)), machine=62)), 'force-raw=on')):
            with self.subTest(options=options):
                self.refused(pattern, '-device', 'loader,' + options)
        self.refused('nothing to start', '-device', 'loader,file=%s,addr=0x40200000' % self.raw)


class Stopped(Program):
    def test_nothing_to_start_yet(self):
        """With -S a debugger may bring the program."""
        a = self.machine('a', guest=None, paused=True)
        self.assertEqual(a.qmp.cmd('query-status')['status'], 'prelaunch')


if __name__ == '__main__':
    main()
