#!/usr/bin/env python3
"""calc-dirty-rate tells the true rate, or why it cannot."""

import time

from lib import migration
from lib.testcase import FunctionalTest, main

RATE_MIB = 48


class DirtyRate(FunctionalTest):
    def source(self, accel='kvm'):
        a = self.machine('a', append='window=64M fill=64M rate=%d' % RATE_MIB, accel=accel)
        a.wait_ready()
        return a

    def measure(self, a, mode, **arguments):
        a.qmp.cmd('calc-dirty-rate', calc_time=1, mode=mode, **arguments)
        deadline = time.monotonic() + 60
        while True:
            info = a.qmp.cmd('query-dirty-rate')
            if info['status'] == 'measured':
                break
            # QEMU answers before its thread has begun
            self.assertIn(info['status'], ('measuring',) if self.is_tidemark() else
                          ('unstarted', 'measuring'))
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.assertEqual(info['mode'], mode)
        self.assertEqual(info['calc-time'], 1)
        self.assert_running(a)
        return info

    def wait_rate(self, a, mode, delta=0.2, **arguments):
        self.wait_near(lambda: self.measure(a, mode, **arguments)['dirty-rate'], RATE_MIB, delta,
                       'dirty rate by ' + mode)

    def test_bitmap(self):
        a = self.source()
        for _ in range(2):
            self.wait_rate(a, 'dirty-bitmap')
        a.check_guest()

    def test_ring(self):
        a = self.source('kvm,dirty-ring-size=65536')
        for _ in range(2):
            self.wait_rate(a, 'dirty-ring')
            info = a.qmp.cmd('query-dirty-rate')
            self.assertEqual([cpu['id'] for cpu in info['vcpu-dirty-rate']], [0])
        a.check_guest()

    def test_sampling(self):
        a = self.source()
        self.wait_rate(a, 'page-sampling', delta=0.5, sample_pages=4096)

    def test_mode_that_does_not_fit(self):
        a = self.source()
        self.assert_refused(a, 'calc-dirty-rate', 'dirty-ring', calc_time=1, mode='dirty-ring')
        a.close()
        a = self.source('kvm,dirty-ring-size=4096')
        self.assert_refused(a, 'calc-dirty-rate', 'dirty-bitmap|dirty-ring', calc_time=1,
                            mode='dirty-bitmap')
        self.assert_running(a)

    def test_twice_at_once(self):
        a = self.source()
        a.qmp.cmd('calc-dirty-rate', calc_time=2)
        if not self.is_tidemark():
            time.sleep(0.5)     # QEMU answers before its thread has begun
        self.assert_refused(a, 'calc-dirty-rate', '(?i)measur', calc_time=1)

    def test_ranges(self):
        a = self.source()
        for seconds in (0, 61, -1):
            self.assert_refused(a, 'calc-dirty-rate', 'calc-time|[0-9]', calc_time=seconds)
        for samples in (0, 127, 16385):
            self.assert_refused(a, 'calc-dirty-rate', 'sample-pages|[0-9]', calc_time=1,
                                sample_pages=samples)
        self.assertEqual(a.qmp.cmd('query-dirty-rate')['status'], 'unstarted')

    def test_while_migrating(self):
        a = self.source()
        b = self.machine('b', incoming=self.uri('b'))
        migration.set_parameters(a, max_bandwidth=30_000_000)
        migration.start(a, self.uri('b'))
        migration.wait(a, ('active',))
        a.qmp.cmd('calc-dirty-rate', calc_time=1, mode='dirty-bitmap')
        time.sleep(1.5)
        migration.set_parameters(a, max_bandwidth=0)
        migration.finish(a, b)
        b.check_guest()


if __name__ == '__main__':
    main()
