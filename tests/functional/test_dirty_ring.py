#!/usr/bin/env python3
"""A ring that is too small for the guest's writes makes it slower, not stuck and not wrong."""

import time

from lib import migration
from lib.testcase import FunctionalTest, main

# One page after the other: a page is written once in a measurement, whatever tracks it.
GUEST = 'window=1G order=seq cpus=4 beat=20'
SMALLEST = 1024


class SmallRing(FunctionalTest):
    timeout = 240

    def source(self, accel):
        a = self.machine('a', append=GUEST, memory='1280M', smp=4, accel=accel)
        a.wait_ready()
        return a

    def measure(self, machine):
        """Starts and stops the tracking; returns how many pages were written meanwhile."""
        before = machine.written()
        machine.qmp.cmd('calc-dirty-rate', calc_time=1, mode='dirty-ring')
        deadline = time.monotonic() + 30
        while machine.qmp.cmd('query-dirty-rate')['status'] != 'measured':
            self.assertLess(time.monotonic(), deadline, 'measuring hangs')
            time.sleep(0.1)
        return machine.written() - before

    def assert_ring_was_full(self, machine):
        if self.is_tidemark():      # nobody else counts
            counters = machine.qmp.cmd('query-dirty-tracking')['counters']
            self.assertGreater(counters['ring-full-exits'], 0)
            self.assertGreater(counters['reset-calls'], 0)

    def test_start_and_stop(self):
        a = self.source('kvm,dirty-ring-size=%d' % SMALLEST)
        for _ in range(3):
            self.wait_for(lambda: self.measure(a) > 4 * SMALLEST, 'writing beyond full rings', 60)
            a.wait_more_written(1)
        self.assert_ring_was_full(a)
        a.check_guest()

    def test_migrate(self):
        accel = 'kvm,dirty-ring-size=%d' % SMALLEST
        a = self.source(accel)
        b = self.machine('b', incoming=self.uri('b'), memory='1280M', smp=4, accel=accel,
                         paused=True)
        migration.set_parameters(a, max_bandwidth=0)
        migration.start(a, self.uri('b'))
        end = time.monotonic() + 5
        while time.monotonic() < end and migration.status(a) == 'active':
            a.serial.wait_more(30)      # the guest is never stuck
            time.sleep(0.1)
        migration.set_parameters(a, downtime_limit=30000)
        migration.finish(a, b)
        self.assertEqual(a.ram_hash(), b.ram_hash())
        self.assert_ring_was_full(a)
        b.qmp.cmd('cont')
        b.check_guest()

    def test_kernel_mode_guest(self):
        """Where the host interprets kernel mode, it runs past the end of the ring meanwhile."""
        self.require_tidemark('makes no progress once the kernel has overrun its ring')
        accel = 'kvm,dirty-ring-size=%d' % SMALLEST
        a = self.machine('a', append='ring=0 window=8M', memory='64M', accel=accel)
        a.wait_ready()
        b = self.machine('b', incoming=self.uri('b'), memory='64M', accel=accel, paused=True)
        migration.set_parameters(a, max_bandwidth=4_000_000)
        migration.start(a, self.uri('b'))
        for _ in range(3):
            a.wait_more_written(1)
        self.assertEqual(migration.status(a), 'active')
        migration.set_parameters(a, max_bandwidth=0, downtime_limit=5000)
        migration.finish(a, b)
        self.assertEqual(a.ram_hash(), b.ram_hash())
        b.qmp.cmd('cont')
        b.check_guest(120)

    def test_bad_sizes(self):
        for size in ('1000', '3', '-1', '0x', '4294967296'):
            with self.subTest(size=size), self.assertRaises(RuntimeError) as caught:
                self.machine('a', guest=None, accel='kvm,dirty-ring-size=' + size)
            self.assertIn('dirty-ring-size', str(caught.exception))
            if self.is_tidemark():
                self.assertIn(size, str(caught.exception))


if __name__ == '__main__':
    main()
