#!/usr/bin/env python3
"""EL2 of arm64: a bare-metal hypervisor's view of traps, syndromes, VHE, virtual interrupts, VMIDs."""

import re

from lib.testcase import FunctionalTest, main

# QEMU 7.2 lets a CPU without a host at EL2 use the names of its timers for EL02, and does not trap PMCR_EL0 alone;
# no QEMU keeps EL1 from enabling and incrementing EL2's counters, or looks at the size of tables' addresses.
NOT_ON_QEMU = {'el2/el12-names-undefined', 'el2/pmu-partition', 'el2/pmu-enables', 'el2/pmu-traps',
               'el2/wide-output'}


class ArmEl2(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def run_guest(self, accel='tcg'):
        a = self.machine('a', '-cpu', 'max', guest='hyp', smp=1, accel=accel,
                         machine='virt,virtualization=on,gic-version=3', paused=True)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 120)
        self.assertEqual(a.wait_exit(), 0)
        return a.serial.text()

    def check(self, text):
        failed = re.findall(r'^not ok (\S+):.*', text, re.M)
        self.assertEqual([name for name in failed
                          if self.is_tidemark() or name not in NOT_ON_QEMU], [], text)
        self.assertGreaterEqual(len(re.findall(r'^ok el2/\S+$', text, re.M)), 21)

    def test_hypervisor(self):
        self.check(self.run_guest())

    def test_hypervisor_in_the_interpreter(self):
        self.require_tidemark('one way is enough')
        self.check(self.run_guest(accel='tcg,jit=off'))


if __name__ == '__main__':
    main()
