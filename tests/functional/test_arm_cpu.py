#!/usr/bin/env python3
"""The arm64 CPU by bare-metal guests at EL1 and EL0; what QEMU prints differently is named here."""

import os
import re

from lib import migration
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
PAN and LDTR in two address spaces: wrong 0
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

ALIGN = """\
across: 403020100fffefd 20100ff fffefdfcfbfaf9f8 706050403020100
stored across: 5544332211faf9f8 706050403887766
load into nothing: traps 1 code 7 write 0 at 2000
store into nothing: traps 1 code 7 write 1 at 2000
unchanged: fffefdfcfbfaf9f8
pair into nothing: traps 1 code 7 write 1 at 2000
pair from nothing: traps 1 code 7 write 0 at 2000
store into read-only: traps 1 code f write 1 at 2000
unchanged: 1122334455667788
post-index into nothing: traps 1 code 7 write 1 at 2000
base stays: 2000
LDXR across 16 bytes: traps 1 class 25 code 21
LDXP: traps 1 class 25 code 21
LDAR across 16 bytes: traps 1 class 25 code 21
STLR across 16 bytes: traps 1 class 25 code 21
LSE2: LDAR inside 16 bytes: traps 0
LSE2: LDXR and STXR inside 16 bytes: traps 0
unaligned: traps 0
A: load: traps 1 class 25 code 21
A: store: traps 1 class 25 code 21
A: word at 4: traps 0
A: byte: traps 0
A: pair of doublewords at 8: traps 0
A: pair of words at 2: traps 1 class 25 code 21
A: quadword at 8: traps 1 class 25 code 21
A: vector of words at 4: traps 0
A: vector of doublewords at 4: traps 1 class 25 code 21
off again: traps 0
SA off, SP at 8: traps 0
SP at 0: traps 0
SP at 8: traps 1 class 26 code 0
EL0: call: class 15 iss 1 at 4
EL0: CTR_EL0: class 18 iss 32c001 at 4
EL0: DAIFSet: class 18 iss cd3e4 at c
EL0: DC CVAU: class 18 iss 12dc16 at 1c
EL0: call: class 15 iss 1 at 4
EL0: CTR_EL0: class 15 iss 2 at c
EL0: DAIFSet: class 15 iss 3 at 14
EL0: DC CVAU: class 15 iss 5 at 24
IDST: MIDR_EL1: class 18 iss 300001 at 14
EL0: SP at 8, SA0 off: class 15 iss 6 at 2c
EL0: SP at 8: class 26 iss 0 at 24
EL0: SP at 16: class 15 iss 6 at 2c
EL0: SP moved by 8: class 15 iss 7 at 38
EL0: kernel's page: class 24 iss 0 at 24
BTI none: class d type 2 class d type 1 class d type 1
BTI c: ok ok ok
BTI j: class d type 2 ok ok
BTI jc: ok ok ok
BTI PACIASP: ok ok ok
BTI PACIASP, strict: call traps 0
BTI: not guarded: traps 0
END
"""

CODE = """\
rewritten: wrong 0
rewrites itself: wrong 0
one of many: wrong 0
data beside: wrong 0
"""

CODE_TWO = """\
other CPU, told: wrong 0
other CPU, not told: wrong 0
"""

QARMA5 = """\
APA 1 API 0 GPA 1 GPI 0
5a133bda00000000
47723a1b00000000
638534b400000000
375b268040123450
right: 1
END
"""

PMU = """\
counters 6, LC 1
enabled 8000003f 8000003f
enabled 8000002d
interrupts 8000003e 8000003e
overflows 8000003d 8000003d
user f
selected: 3 type 40000000 value 1234567890
filter 80000000
P: 0 77
C: 0
counter 6: exceptions 1
by PMSELR_EL0: exceptions 0, 0
events: increments 1, cycles 1
off: 0 0, overflows 0
on: 5 7, overflows 0
one: 5 8, overflows 0
not at EL1: 5 8, overflows 0
32 bits: 5 100000001, overflows 2
long: 5 100000001, overflows 0
64 bits: 5 1, overflows 2
chain: 100000010 1, overflows 1
chain overflows: 100000000 100000000, overflows 3
chain off: 100000000 100000000, overflows 3
off: 0
on: moves 1, as the clock 1
stopped: 0
event: the same 1
not at EL1: 0
only EL0: moved 1, stands 1
only EL1 and only EL0 are both: 1, neither is empty: 1
PMUSERENR 0: 18 18 18 18 18 18 15 0 
PMUSERENR 1: 15 15 15 15 15 15 15 0 
PMUSERENR 2: 18 18 18 18 15 18 15 0 
PMUSERENR 4: 15 18 18 18 18 18 15 0 
PMUSERENR 8: 18 18 15 15 18 18 15 0 
syndrome 6230e41a
not enabled: 0, overflows 1
enabled: 1, seen 1
set: pending 1, ISR 80
E clear: pending 0
E set: pending 1
cleared: pending 0
cycles: 1, seen 80000000
event: 2, seen 10
chained: 1, seen c, counts 0
END
"""

PMU_MOVED = """\
READY
types 40000011 11
enabled 23, interrupts 1, overflows 10
user 9, PMCR c1, increments 3
cycles are at most the clock's: 1
overflow: 1, seen 30
END
"""

LPA2 = """\
PARange 6, TGran4 1, TGran16 2
stage 2: 3 3, VARange 1
granule 65536
page: 55
beside it: code 7
below all: code 4
level 2 of 4: not valid: code 5, too far: code 1, nothing there: code 16
level 3 of 4: not valid: code 6, too far: code 2, nothing there: code 17
level 4 of 4: not valid: code 7, too far: code 3, nothing there: code 10
as before: 55
block: 55
block: 55
TLBI by address: 77
by range: 55
root not there: code 15
AT: 1
AT: c000040000000
T1SZ of 11: code 4
granule 4096
page: 55
beside it: code 7
below all: code 4
level 0 of 4: not valid: code 2b, too far: code 29, nothing there: code 14
level 1 of 4: not valid: code 4, too far: code 0, nothing there: code 15
level 2 of 4: not valid: code 5, too far: code 1, nothing there: code 16
level 3 of 4: not valid: code 6, too far: code 2, nothing there: code 17
level 4 of 4: not valid: code 7, too far: code 3, nothing there: code 10
as before: 55
block: code 2b
block: 55
block: 55
block: 55
TLBI by address: 77
by range: 55
root too far: code 0
root not there: code 13
AT: 1
AT: c000040000000
T1SZ of 11: code 4
granule 16384
page: 55
beside it: code 7
below all: code 4
level 1 of 4: not valid: code 4, too far: code 0, nothing there: code 15
level 2 of 4: not valid: code 5, too far: code 1, nothing there: code 16
level 3 of 4: not valid: code 6, too far: code 2, nothing there: code 17
level 4 of 4: not valid: code 7, too far: code 3, nothing there: code 10
as before: 55
block: code 4
block: 55
block: 55
TLBI by address: 77
by range: 55
root too far: code 0
root not there: code 14
AT: 1
AT: c000040000000
T1SZ of 11: code 4
DS clear: code 4
END
"""


class ArmCPU(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    ways = ('tcg', 'tcg,jit=off')

    def output(self, guest, accel, *args, timeout=90, **kwargs):
        a = self.machine('a', *(args or ('-cpu', 'max')), guest=guest, machine='virt,gic-version=3',
                         paused=True, accel=accel, **kwargs)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', timeout)
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

    def test_alignment_and_el0(self):
        """Accesses across pages, alignment of data and stack, traps of EL0, FEAT_BTI."""
        # QEMU 7.2: the stack pointer is never checked, op1 and op2 of DAIFSet's syndrome change places.
        self.prints('align', ALIGN, differs='(EL0: )?SP at 8|round|EL0: DAIFSet|LSE2')

    def test_code_that_changes(self):
        self.prints('code', CODE + 'END\n')

    def test_code_that_changes_under_another_cpu(self):
        # QEMU 7.2 runs old code nearly each time if the other CPU is in it at the moment of the store.
        self.prints('code', CODE + CODE_TWO + 'END\n', smp=2, differs='other CPU, not told')

    def test_pointer_authentication(self):
        """Known keys: QARMA5 is QEMU's, and our own algorithm holds what it signed."""
        args = ['-cpu', 'max,pauth-impdef=off'] if self.is_tidemark() else []
        self.assertMultiLineEqual(self.output('pauth', 'tcg', *args), QARMA5)
        if self.is_tidemark():
            text = self.output('pauth', 'tcg', '-cpu', 'max,pauth-impdef=on')
            self.assertIn('APA 0 API 1 GPA 0 GPI 1\n', text)
            self.assertIn('right: 1\n', text)
            self.assertNotIn('5a133bda', text)

    def test_wide_addresses(self):
        """52 bits with pages of 4, 16 and 64 KiB: walks, blocks, faults at each level, AT, TLBI."""
        # QEMU drops the highest bits of what is too far; 7.2 has blocks at any level.
        self.prints('lpa2', LPA2, differs='level .*too far|block')

    def test_without_lpa2(self):
        self.require_tidemark('one emulator is enough')
        text = self.output('lpa2', 'tcg', '-cpu', 'max,lpa2=off')
        self.assertIn('PARange 6, TGran4 0, TGran16 1\nstage 2: 2 2, VARange 1\n', text)
        self.assertEqual(re.findall(r'^granule (\d+)$', text, re.M), ['65536'])

    def test_performance_monitors(self):
        # QEMU chains no counters, lets them stop one after the other and interrupts without PMCR_EL0.E.
        self.prints('pmu', PMU, differs='counters|chain|event: the same|only EL1 and|E clear|chained')

    def test_performance_monitors_move(self):
        self.require_tidemark('one emulator is enough')
        args = ['-cpu', 'max']
        kwargs = {'guest': 'pmu', 'machine': 'virt,gic-version=3', 'append': 'migrate=1'}
        a = self.machine('a', *args, **kwargs)
        b = self.machine('b', *args, incoming=self.uri('b'), **kwargs)
        a.serial.wait(r'READY\n')
        migration.run(a, b, self.uri('b'))
        b.serial.command('x', r'END\n')
        self.assertMultiLineEqual(a.serial.text() + b.serial.text(), PMU_MOVED)

    def test_no_performance_monitors(self):
        """-cpu MODEL,pmu=off: the registers are undefined and the device tree names none."""
        self.require_tidemark('one emulator is enough')
        a = self.machine('a', '-cpu', 'max,pmu=off', guest='pmu', machine='virt,gic-version=3')
        a.serial.wait(r'exception|ERROR')

    def check_litmus(self, accel, smp, shapes, rounds, show=0):
        rounds = int(os.environ.get('TIDEMARK_LITMUS_ROUNDS', rounds))
        text = self.output('litmus', accel, smp=smp, append='rounds=%d show=%d' % (rounds, show),
                           timeout=90 + rounds * shapes // 100000)
        lines = re.findall(r'(\S+) rounds (\d+) weak (\d+) (allowed|forbidden)\n', text)
        self.assertEqual(len(lines), shapes, text)
        for name, done, weak, verdict in lines:
            self.assertGreaterEqual(int(done), rounds)
            if verdict == 'forbidden':
                self.assertEqual(int(weak), 0, name)
        if 'TIDEMARK_LITMUS_ROUNDS' in os.environ:
            print(text)
        return {name: int(weak) for name, _, weak, _ in lines}

    def test_memory_model(self):
        """Outcomes that the architecture forbids do not happen; TIDEMARK_LITMUS_ROUNDS says how often to
        look."""
        seen = self.check_litmus('tcg', 2, 16, rounds=65536, show=10**7)
        if len(os.sched_getaffinity(0)) > 1:
            self.assertGreater(seen['SB'], 0, 'the test cannot see stores that are late')

    def test_memory_model_on_four_cpus(self):
        self.check_litmus('tcg', 4, 3, rounds=65536)

    def test_memory_model_in_the_interpreter(self):
        self.require_tidemark('one way is enough')
        self.check_litmus('tcg,jit=off', 2, 16, rounds=16384)


if __name__ == '__main__':
    main()
