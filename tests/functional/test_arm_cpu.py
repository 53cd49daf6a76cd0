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

DEBUG = """\
lock at reset: a
lock opened: 8
breakpoints 6 watchpoints 4
not enabled: traps 0
masked: traps 0
breakpoint: traps 1 class 31 code 22 at add
result 1
without KDE: traps 0
for EL0: traps 0
this context: traps 1 class 31 code 22 at nop
another context: traps 0
locked: traps 0
not locked: traps 1 class 31 code 22 at add
cleared: traps 0
load, stores watched: traps 0
store: traps 1 class 35 code 22 write 1 offset 50
not done: 1
store behind: traps 0
byte inside: traps 1 class 35 code 22 write 1 offset 53
pair over it: traps 1 class 35 code 22 write 1 offset 50
unaligned over it: traps 1 class 35 code 22 write 1 offset 50
DC ZVA: traps 1 class 35
load beside the bytes: traps 0
load of the bytes: traps 1 class 35 code 22 write 0 offset 50
store, loads watched: traps 0
pair over them: traps 1 class 35 code 22 write 0 offset 50
range of 256, its end: traps 1 class 35 code 22 write 0 offset f8
range of 256, behind: traps 0
EL0's only: traps 0
EL0's only, LDTR: class 25
cleared: traps 0
loop: hits 10 sum 5236760
step 0: class 32 at 4 ISV 1 EX 0 SS 0
step 1: class 32 at 8 ISV 1 EX 0 SS 0
step 2: class 32 at c ISV 1 EX 1 SS 0
step 3: class 32 at 14 ISV 1 EX 0 SS 0
step 4: class 32 at 18 ISV 1 EX 0 SS 0
step 5: class 32 at 1c ISV 1 EX 0 SS 0
step 6: class 15 at 20 ISV 0 EX 0 SS 0
SS clear: class 32 at 0 ISV 0
fault: class 24 at 14 SS 1
off: class 15 at 20 immediate 7
breakpoint: class 30 code 22 at 4
watchpoint: class 34 code 62 at 18
address 10
none: class 15 at 20
END
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

    def test_debug_exceptions(self):
        """Breakpoints, watchpoints and software step at EL1 and EL0."""
        # QEMU knows no effect of the OS lock; 7.2 takes one load for too wide.
        self.prints('debug', DEBUG, differs='locked:|load beside')


if __name__ == '__main__':
    main()
