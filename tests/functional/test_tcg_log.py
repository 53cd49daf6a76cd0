#!/usr/bin/env python3
"""What translation tells of itself: -d, -D, -dfilter, -perfmap, -one-insn-per-tb."""

import os
import re
import subprocess

from lib import host
from lib.testcase import FunctionalTest, main

START = 0x40080000   # where a flat kernel is entered


class Log(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def run_guest(self, *args, guest='timer'):
        """Run a guest to its end; what it logged."""
        log = self.path('log%d' % len(os.listdir(self.dir)))
        p = subprocess.run([self.binary, '-M', 'virt,gic-version=3', '-accel', self.accel, '-icount',
                            'shift=6,sleep=off', '-display', 'none', '-nodefaults', '-serial', 'stdio', '-kernel',
                            str(host.guest(guest, self.arch)), '-D', log, *args],
                           capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertIn('END\n', p.stdout)
        with open(log, encoding='utf-8') as f:
            return f.read()


class Categories(Log):
    def test_in_asm(self):
        text = self.run_guest('-d', 'in_asm')
        self.assertIn('IN:\n0x%08x:' % START, text)
        self.assertNotIn('OUT:', text)
        self.assertIn('cntvct_el0', text.lower())   # the build has a disassembler

    def test_out_asm(self):
        text = self.run_guest('-d', 'out_asm')
        self.assertNotIn('IN:', text)
        self.assertRegex(text, r'OUT: \[size=\d+\]\n0x[0-9a-f]+:  ([0-9a-f]{2} )+ +nop')

    def test_filter(self):
        text = self.run_guest('-d', 'in_asm,exec', '-dfilter', '0x%x..0x%x' % (START, START + 3))
        self.assertEqual(len(re.findall('IN:', text)), 1)
        self.assertEqual(len(re.findall('Trace:', text)), 1)
        for addresses in ('0x%x+4' % START, '0x%x-4' % (START + 3)):
            self.assertEqual(self.run_guest('-d', 'in_asm', '-dfilter', addresses).count('IN:'), 1)

    def test_exec(self):
        """Without chaining each entry is there."""
        entries = r'Trace: \S+ \[0x%x/' % START
        self.assertEqual(len(re.findall(entries, self.run_guest('-d', 'exec'))), 1)
        code = '0x%x..0x%x' % (START, START + 0x400)   # the boot code, with a loop over 512 table entries
        few = self.run_guest('-d', 'exec', '-dfilter', code).count('Trace:')
        self.assertGreater(self.run_guest('-d', 'exec,nochain', '-dfilter', code).count('Trace:'), few + 500)

    def test_cpu(self):
        text = self.run_guest('-d', 'cpu', '-dfilter', '0x%x+4' % START)
        self.assertIn('PC=%016x' % START, text)
        self.assertEqual(text.count('PC='), 1)

    def test_cpu_reset(self):
        self.assertIn('CPU 0 is reset\n', self.run_guest('-d', 'cpu_reset'))

    def test_int(self):
        text = self.run_guest('-d', 'int')
        self.assertRegex(text, r'CPU 0: IRQ from EL1 at 0x[0-9a-f]+ to EL1, 0x')
        self.assertRegex(text, r'CPU 0: exception return to EL1 at 0x')

    def test_mmu(self):
        text = self.run_guest('-d', 'mmu')
        self.assertRegex(text, r'EL1: fetch of 0x%x is at 0x%x, r' % (START, START))
        self.assertRegex(text, r'EL1: (read|write) of 0x9000\w+ is at 0x9000\w+, rw device')

    def test_one_instruction(self):
        text = self.run_guest('-d', 'in_asm', '-one-insn-per-tb')
        for block in text.split('----------------\n')[1:]:
            self.assertEqual(len(re.findall('^0x', block, re.M)), 1, block)
        self.assertGreater(len(text), 1000)

    def test_nothing_by_default(self):
        self.assertEqual(self.run_guest(), '')


class PerfMap(Log):
    def test_map(self):
        a = self.machine('a', '-perfmap', guest='writer')
        a.serial.wait_more(60)
        path = '/tmp/perf-%d.map' % a.process.pid
        self.addCleanup(os.remove, path)
        with open(path, encoding='utf-8') as f:
            lines = f.read().splitlines()
        self.assertGreater(len(lines), 20)
        end = 0
        for line in lines[:-1]:
            match = re.fullmatch(r'([0-9a-f]+) ([0-9a-f]+) guest_0x([0-9a-f]+)', line)
            self.assertTrue(match, line)
            start, size = int(match[1], 16), int(match[2], 16)
            self.assertGreaterEqual(start, end)   # pieces do not overlap
            end = start + size
        self.assertIn('guest_0x%x' % START, lines[0])


class Refusals(Log):
    def refused(self, *args):
        accel = () if '-accel' in args else ('-accel', 'tcg')
        p = subprocess.run([self.binary, '-M', 'virt', *accel, '-display', 'none', *args],
                           capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(p.returncode, 1, args)
        return p.stderr

    def test_by_name(self):
        for args, word in ((('-d', 'op'), 'in_asm'), (('-d', 'in_asm,page'), 'page'), (('-d', 'trace:x*'), 'trace'),
                           (('-d', 'plugin'), 'plugin'), (('-d', 'nonesuch'), 'nonesuch'), (('-jitdump',), '-perfmap'),
                           (('-dfilter', '5'), 'FIRST'), (('-dfilter', '9..5'), '9..5'), (('-dfilter', '1+0'), '1.0'),
                           (('-accel', 'qtest', '-perfmap'), 'tcg'), (('-accel', 'tcg,one-insn-per-tb=x'), 'one-insn'),
                           (('-d', 'int', '-D', '/nonesuch/log'), '/nonesuch/log')):
            with self.subTest(args=args):
                told = self.refused(*args)
                self.assertRegex(told, word)

    def test_help(self):
        p = subprocess.run([self.binary, '-d', 'help'], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(p.returncode, 0)
        for word in ('in_asm', 'nochain', 'refused', 'op_opt'):
            self.assertIn(word, p.stdout)


if __name__ == '__main__':
    main()
