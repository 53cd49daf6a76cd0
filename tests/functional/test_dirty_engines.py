#!/usr/bin/env python3
"""FEAT_HDBSS and FEAT_HACDBS, by a bare-metal hypervisor: one line of the guest for each sentence."""

import re

from lib.testcase import FunctionalTest, main


class DirtyEngines(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def setUp(self):
        super().setUp()
        self.require_tidemark('no other emulator has these features')

    def run_guest(self, cpus, accel='tcg', cpu='max'):
        a = self.machine('a', '-cpu', cpu, guest='el2', smp=cpus, append=f'cpus={cpus}', accel=accel,
                         machine='virt,virtualization=on,gic-version=3', paused=True)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 120)
        self.assertEqual(a.wait_exit(), 0)
        return a.serial.text()

    def check(self, text):
        self.assertEqual(re.findall(r'^not ok .*', text, re.M), [])
        self.assertIn('failures: 0\n', text)
        self.assertIn('ok 3.4/entry-of-a-page\n', text)

    def test_one_cpu(self):
        self.check(self.run_guest(1))

    def test_two_cpus(self):
        self.check(self.run_guest(2))

    def test_one_cpu_in_the_interpreter(self):
        self.check(self.run_guest(1, accel='tcg,jit=off'))

    def test_two_cpus_in_the_interpreter(self):
        self.check(self.run_guest(2, accel='tcg,jit=off'))


if __name__ == '__main__':
    main()
