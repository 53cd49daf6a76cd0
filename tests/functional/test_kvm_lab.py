#!/usr/bin/env python3
"""scripts/kvm-lab: a program runs on a kernel at EL2, and its output and exit status come back."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from lib import host, linux_arm64
from lib.testcase import FunctionalTest, main

TOP = pathlib.Path(__file__).resolve().parents[2]
LAB = str(TOP / 'scripts' / 'kvm-lab')


class Lab(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    needs_guests = False

    def lab(self, *args, timeout=60):
        return subprocess.run([sys.executable, LAB, '--qemu', str(host.BUILD / 'qemu-system-aarch64'), *args],
                              capture_output=True, text=True, timeout=timeout, check=False)


class Refusals(Lab):
    def refused(self, *args):
        done = self.lab(*args)
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(done.stdout, '')
        return done.stderr

    def test_what_cannot_run(self):
        self.assertIn('no kernel: /nonesuch', self.refused('/nonesuch', 'sh'))
        with tempfile.NamedTemporaryFile() as image:
            self.assertIn('no program /nonesuch', self.refused(image.name, '/nonesuch'))
            self.assertRegex(self.refused(image.name, '/bin/sh'), '/bin/sh.*aarch64-linux-gnu-gcc -static')


class Linux(Lab):
    slow = True
    timeout = 300

    def setUp(self):
        super().setUp()
        sys.path.insert(0, str(TOP / 'kernel' / 'testbed'))
        from bed import programs  # pylint: disable=import-outside-toplevel
        from bed.base import arch_named  # pylint: disable=import-outside-toplevel
        from kit.debian import Problem  # pylint: disable=import-outside-toplevel
        self.kernel = linux_arm64.kernel()
        try:
            programs.busybox(arch_named('arm64'))
        except Problem as problem:
            raise unittest.SkipTest('no static busybox for arm64: %s' % problem) from problem

    def test_output_and_status_with_both_modes_of_kvm(self):
        for words, mode in (('', 'VHE mode initialized'), ('kvm-arm.mode=nvhe', 'Hyp mode initialized')):
            with self.subTest(mode=mode):
                done = self.lab('--append', words, '--counters', self.kernel, 'sh', '-c',
                                'dmesg | grep -o "%s"; test -c /dev/kvm && echo "two  words"; exit 7' % mode,
                                timeout=250)
                self.assertEqual(done.stdout, '%s\ntwo  words\n' % mode, done.stderr)
                self.assertEqual(done.returncode, 7)
                self.assertRegex(done.stderr, 'CPU 1: HDBSS off')
                self.assertRegex(done.stderr, 'CPU 1: HACDBS off')

    def test_time_out(self):
        done = self.lab('--timeout', '1', self.kernel, 'sleep', '1000', timeout=250)
        self.assertEqual(done.returncode, 124)
        self.assertIn('no end after 1 s', done.stderr)


if __name__ == '__main__':
    main()
