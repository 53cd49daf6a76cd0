#!/usr/bin/env python3
"""The arm64 CPU by bare-metal guests at EL1 and EL0; what QEMU prints differently is named here."""

import re

from lib.testcase import FunctionalTest, main

TLB_GRANULE = """\
granule %d
mapped: aaaa traps 0
unmapped: class 25 code 7 address 1
again: bbbb traps 0
read only: aaaa traps 0
store: class 25 code f write 1
all ASIDs: code 7 address 1
ranges: scale 0 stale 0
ranges: scale 1 stale 0
ranges: scale 2 stale 0
ranges: scale 3 stale 0
ASID 1: 1 traps 0
ASID 2: 2 traps 0
ASID 1: 1 traps 0
ASID 2: 2 traps 0
ASID 2 after its invalidation: code 7
ASID 1 after its invalidation: code 7
global page: code 7
AT kernel page: ok ok fault f fault f
AT user page, read only: ok fault f ok fault f
AT no access flag: fault b fault b fault b fault b
AT nothing: fault 7 fault 7 fault 7 fault 7
AT no address: fault 4 fault 4 fault 4 fault 4
no access flag: class 25 code b
dirty state: 1 after load 11, after store 10 traps 0 value 8
dirty state: without DBM code f 11
PAN off: 77 traps 0
PAN on: class 25 code f
PAN and LDTR: 77 traps 0
EPAN off: traps 0
EPAN on: code f
"""


class ArmCPU(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    ways = ('tcg', 'tcg,jit=off')

    def output(self, guest, accel, **kwargs):
        a = self.machine('a', '-cpu', 'max', guest=guest, machine='virt,gic-version=3',
                         paused=True, accel=accel, **kwargs)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 90)
        self.assertEqual(a.wait_exit(), 0)
        text = a.serial.text()
        a.close()
        return text

    def prints(self, guest, text, differs=None, **kwargs):
        """@differs: pattern of lines in which QEMU 7.2 and 11.1 are wrong or have no such feature."""
        for accel in self.ways if self.is_tidemark() else ('tcg',):
            with self.subTest(accel=accel):
                got = self.output(guest, accel, **kwargs)
                if not self.is_tidemark() and differs:
                    drop = lambda lines: ''.join(
                        l for l in lines.splitlines(True) if not re.match(differs, l))
                    got, text = drop(got), drop(text)
                self.assertMultiLineEqual(got, text)

    def test_translation(self):
        """TLBI by address and range, ASIDs, AT, hardware flags, PAN."""
        sizes = (4096, 16384, 65536)
        text = ''.join(TLB_GRANULE % size for size in sizes) + 'END\n'
        # QEMU leaves pages behind if the range has 4 GiB or more.
        self.prints('tlb', text, differs='EPAN|ranges: scale 3')

    def test_translation_on_two_cpus(self):
        four, rest = TLB_GRANULE % 4096, [TLB_GRANULE % size for size in (16384, 65536)]
        text = four + 'broadcast: wrong 0\n' + ''.join(rest) + 'END\n'
        self.prints('tlb', text, smp=2, differs='EPAN|ranges: scale 3')


if __name__ == '__main__':
    main()
