#!/usr/bin/env python3
"""Calls of an arm64 guest to its host: -semihosting and -semihosting-config."""

import os
import subprocess

from lib import host
from lib.serial import Serial
from lib.testcase import FunctionalTest, main

# What the guest prints up to the console test; @ is its command line before the directory.
EXPECTED = """\
command line into 4 bytes: -1
command line: 0
its length is right: 1
begins: @
opened: 1
write: 0
read what is for writing: 5
errno: 9
length: 12
tty: 0
close: 0
close again: -1
seek: 0
not read: 55
first byte: 119
at the end: 60
after appending: 13
updated: 1
no such file: -1
errno: 2
no such mode: -1
bad handle: -1
bad handle, write: 3
rename: 0
old name: -1
remove: 0
remove again: -1
temporary, short: -1
temporary: 0
opened: 1
removed: 0
features: 1
length: 5
not read: 3
magic: 1
bits: 3
to write: -1
ticks in a second: 1000000000
elapsed: 0
later: 1
clock: 1
time: 1
is an error: 0
is an error: 1
system: -1
no such operation: -1
heap: 1
stack: 1
behind the program: 1
is memory: 1
three handles: 1
"""


class Semihosting(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def run_guest(self, *args, accel='tcg', guest='semihost', input_text='abc'):
        return subprocess.run(
            [self.binary, '-M', 'virt', '-accel', accel, '-display', 'none', '-nodefaults', '-kernel',
             str(host.guest(guest, self.arch)), *args],
            input=input_text, capture_output=True, text=True, timeout=60, check=False)


class Calls(Semihosting):
    def check(self, accel, *extra):
        p = self.run_guest('-semihosting-config', 'enable=on,target=native,arg=prog,arg=a,,b,arg=' + self.dir,
                           *extra, accel=accel)
        self.assertEqual(p.returncode, 42)
        begin = EXPECTED.replace('@', 'prog a,b ')
        self.assertMultiLineEqual(p.stderr[:len(begin)], begin)
        self.assertEqual(p.stderr[len(begin):],
                         'tty: 0\nto error\nwrite to input: 1\nc\ntype three\nfirst: 97\nsecond: 98\nthird: 99\n7q\nEND\n')
        self.assertEqual(p.stdout, 'to output\n')
        self.assertEqual(os.listdir(self.dir), [])

    def test_translated(self):
        self.check('tcg')

    def test_interpreted(self):
        self.check('tcg,jit=off')

    def test_counted(self):
        self.check('tcg', '-icount', 'shift=0,sleep=off')

    def test_command_line_of_the_kernel(self):
        p = self.run_guest('-semihosting', '-append', 'x y ' + self.dir)
        self.assertEqual(p.returncode, 42)
        self.assertIn('begins: %s x y \n' % host.guest('semihost', self.arch), p.stderr)

    def with_console(self):
        """A machine whose calls have a character device, and its other end."""
        console = Serial(self.path('console'))
        self.addCleanup(console.close)
        a = self.machine('a', '-chardev', 'socket,id=semi,path=' + self.path('console'), '-semihosting-config',
                         'enable=on,chardev=semi,arg=' + self.dir, guest='semihost', paused=True)
        a.qmp.cmd('cont')
        console.wait('type three\n', 60)
        return a, console

    def test_console_on_a_character_device(self):
        a, console = self.with_console()
        for char, code in (('x', 'first: 120\n'), ('y', 'second: 121\n'), ('z', 'third: 122\n')):
            console.command(char, code)
        self.assertEqual(a.wait_exit(), 42)
        for line in ('tty: 1\n', 'to output\n', 'to error\n', 'c\n', 'END\n'):
            self.assertIn(line, console.text())

    def test_it_can_be_stopped_while_it_waits_for_input(self):
        a, console = self.with_console()
        a.qmp.cmd('stop')
        self.assertEqual(a.status(), 'paused')
        a.qmp.cmd('cont')
        for char in 'xyz':
            console.command(char, ': ')
        self.assertEqual(a.wait_exit(), 42)

    def test_end_is_an_event(self):
        a = self.machine('a', '-semihosting-config', 'enable=on,arg=' + self.dir, '-no-shutdown', guest='semihost',
                         paused=True)
        a.qmp.cmd('cont')
        self.assertEqual(a.qmp.wait_event('SHUTDOWN', 60)['data'], {'guest': True, 'reason': 'guest-shutdown'})
        self.assertEqual(a.status(), 'shutdown')


class FirstEnd(Semihosting):
    def test_first_end_counts(self):
        """The guest ends the machine by its console, and goes on to end it once more."""
        for accel in ('tcg', 'tcg,thread=single'):
            with self.subTest(accel=accel):
                p = self.run_guest('-chardev', 'testdev,id=t', '-semihosting-config',
                                   'enable=on,chardev=t,arg=Z,arg=' + self.dir, accel=accel)
                self.assertEqual((p.returncode, p.stderr), (7 << 1 | 1, ''))


class Refusals(Semihosting):
    def test_off(self):
        """Without it the instruction is undefined."""
        for args in ((), ('-semihosting-config', 'enable=off')):
            a = self.machine('a%d' % len(args), *args, guest='semihost')
            a.serial.wait('ESR|esr|vector', 30)
            a.close()

    def test_options(self):
        for option, word in (('target=gdb', 'target=native'), ('target=nowhere', 'native'), ('chardev=none', 'none'),
                             ('enable=perhaps', 'enable'), ('nonesuch=1', 'nonesuch'), ('on,x', 'KEY=VALUE')):
            with self.subTest(option=option):
                p = self.run_guest('-semihosting-config', option)
                self.assertEqual(p.returncode, 1)
                self.assertIn('-semihosting', p.stderr)
                self.assertIn(word, p.stderr)

    def test_other_targets(self):
        for arch, accel in (('x86_64', 'qtest'), ('aarch64', 'qtest')):
            with self.subTest(arch=arch):
                p = subprocess.run([host.binary(arch), '-M', 'none' if arch == 'x86_64' else 'virt', '-accel', accel,
                                    '-semihosting', '-display', 'none'], capture_output=True, text=True, timeout=30,
                                   check=False)
                self.assertEqual(p.returncode, 1)
                self.assertIn('aarch64', p.stderr)


if __name__ == '__main__':
    main()
