#!/usr/bin/env python3
"""Interrupts and timers of the machine virt, by bare-metal guests; QEMU 7.2 prints the same."""

from lib import host
from lib.testcase import FunctionalTest, main

TIMER = """\
counter never steps back: 1
virtual is not ahead of physical: 1
virtual 1, not early 1
physical 1
status: virtual 7 physical 7
past: 1
masked: 0 status 7
unmasked: 1
again while not served: 3
pending with IRQs off: 1
gone with the level: 0
never taken: 0
never reached: 0 status 1
in the past: 1
woken: pending 1 taken 0
taken when unmasked: 1
ticks: 20
END
"""

IRQ = """\
dist ctlr 53
ctlr 8c00
pmr f8
bpr 2 3
common bpr 4 5
own bpr 3
highest 201
take 201 running 40 active 100
take 203 running 40 active 100
take 202 running 90 active 40000
take 200 running a0 active 100000
take 204 running e0 active 10000000
take 1023 running ff active 0
masked: take 1023 highest 202
not masked: take 202
first 200
same group 1023
next group 201 running 80
same group again 1023
finest 1023 running 80 active 110000
running a0
running ff
take 202 state 3
dropped: running ff state 3
active and pending: state 3 take 1023
deactivated: state 1 take 200
state 0
disabled: take 1023 state 1
cleared: take 1023
active by hand: take 1023
not active: take 200
group 0 off: take 1023 highest 1023
group 0 by the wrong register: 1023
group 0: take 200
own SGI 3
SGI to both: second 1, own 4
SGI to others: second 1, own 1023
a thousand SGIs: 1000
routed to the second: 1, own 1023
routed back: 200
END
"""


class Interrupts(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def prints(self, guest, text, **kwargs):
        a = self.machine('a', guest=guest, smp=2, machine='virt,gic-version=3', paused=True, **kwargs)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 60)
        self.assertEqual(a.wait_exit(), 0)
        self.assertMultiLineEqual(a.serial.text(), text)

    def test_timers(self):
        self.prints('timer', TIMER)

    def test_timers_in_the_interpreter(self):
        self.require_tidemark('one way is enough')
        self.prints('timer', TIMER, accel='tcg,jit=off')

    def test_controller(self):
        self.prints('irq', IRQ)

    def test_controller_in_the_interpreter(self):
        self.require_tidemark('one way is enough')
        self.prints('irq', IRQ, accel='tcg,jit=off')


if __name__ == '__main__':
    main()
