#!/usr/bin/env python3
"""The patches of kernel/series: the arm64 kernel is built, boots and passes, and a mistake in it is noticed.

Skipped until kernel/testbed/fetch has been run, or with TIDEMARK_FETCH=1, which runs it: from nothing this is 150 MB
and 16 minutes of CPU time.
"""

import os
import subprocess
import sys
import unittest

from lib import host
from lib.testcase import FunctionalTest, main

TESTBED = host.REPO / 'kernel' / 'testbed'
SERIES = 'dirty-run,arm64-leaf-walk,arm64-hdbss,arm64-hacdbs'
MODES = ' && '.join('./dirty_log_test -M %s -i 2 -m 3' % mode for mode in ('dirty-log', 'clear-log', 'dirty-ring'))


class KernelSeries(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    slow = True
    needs_guests = False
    timeout = 1500  # a kernel from nothing takes 16 minutes of CPU time

    def call(self, script, *args):
        done = subprocess.run([sys.executable, str(TESTBED / script), *args], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout

    def passes(self, script, *args):
        status, text = self.call(script, *args)
        self.assertEqual(status, 0, text[-4000:])
        return text

    def test_arm64(self):
        self.require_tidemark('no other emulator has these features')
        qemu = str(host.BUILD / 'qemu-system-aarch64')
        status, text = self.call('fetch', *([] if os.environ.get('TIDEMARK_FETCH') else ['--no-download']))
        if status:
            raise unittest.SkipTest('no kernel source (TIDEMARK_FETCH=1 fetches it): %s' % text.strip().split('\n')[-1])
        self.passes('build', '--series', SERIES)
        for cpu in ('max,dirty-state-check=on', 'max,hdbss=off,hacdbs=off'):
            with self.subTest(cpu=cpu):
                text = self.passes('boot', '--series', SERIES, '--qemu', qemu, '--cpu', cpu, MODES)
                self.assertNotIn('dirty-state-check:', text)
        with self.subTest('the points, and a mistake'):
            text = self.passes('mutants', '--qemu', qemu, '--again', '--only', 'words-dropped')
            self.assertRegex(text, r'== words-dropped\n(.*\n)*   failure-half-way: .*in the log')


if __name__ == '__main__':
    main()
