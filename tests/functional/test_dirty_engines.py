#!/usr/bin/env python3
"""FEAT_HDBSS and FEAT_HACDBS, by a bare-metal hypervisor: one line of the guest for each sentence."""

import re
import subprocess

from lib.testcase import FunctionalTest, main


class DirtyEngines(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def setUp(self):
        super().setUp()
        self.require_tidemark('no other emulator has these features')

    def run_guest(self, cpus, accel='tcg', cpu='max,hacdbs-irq=17'):
        a = self.machine('a', '-cpu', cpu, guest='el2', smp=cpus, append=f'cpus={cpus}', accel=accel,
                         machine='virt,virtualization=on,gic-version=3', paused=True)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 120)
        self.assertEqual(a.wait_exit(), 0)
        return a.serial.text()

    def check(self, text):
        self.assertEqual(re.findall(r'^not ok .*', text, re.M), [])
        self.assertIn('failures: 0\n', text)
        self.assertGreaterEqual(len(re.findall(r'^ok [0-9.]+/\S+$', text, re.M)), 85)

    def test_one_cpu(self):
        self.check(self.run_guest(1))

    def test_two_cpus(self):
        self.check(self.run_guest(2))

    def test_one_cpu_in_the_interpreter(self):
        self.check(self.run_guest(1, accel='tcg,jit=off'))

    def test_two_cpus_in_the_interpreter(self):
        self.check(self.run_guest(2, accel='tcg,jit=off'))


    def tree(self, cpu):
        path = self.path('dtb')
        subprocess.run([self.binary, '-display', 'none', '-cpu', cpu,
                        '-M', 'virt,virtualization=on,dumpdtb=' + path], check=True, timeout=60)
        with open(path, 'rb') as f:
            return f.read()

    def test_device_tree_tells_only_when_asked(self):
        self.assertNotIn(b'tidemark,hacdbs', self.tree('max,hacdbs-irq=17'))
        self.assertNotIn(b'tidemark,hacdbs', self.tree('max,hacdbs-irq-dt=on'))
        self.assertIn(b'tidemark,hacdbs', self.tree('max,hacdbs-irq=17,hacdbs-irq-dt=on'))


if __name__ == '__main__':
    main()
