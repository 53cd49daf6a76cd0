#!/usr/bin/env python3
"""After a migration both sides have the same RAM, whatever tracks the writes.

$TIDEMARK_REPEAT is the number of migrations a mode: 2, in the slow stage 20, if it is not set.
"""

import os
import random
import time

from lib import host, migration, tracking
from lib.testcase import FunctionalTest, main



class RamEqual(FunctionalTest):
    repeat = int(os.environ.get('TIDEMARK_REPEAT', '2'))
    timeout = 60 + 40 * repeat

    def migrate(self, accel, order, rate):
        a = self.machine('a', append='window=256M order=%s rate=%d' % (order, rate),
                         memory='320M', accel=accel)
        a.wait_ready()
        b = self.machine('b', incoming=self.uri('b'), memory='320M', accel=accel, paused=True)
        migration.set_parameters(a, max_bandwidth=90_000_000)   # cannot end yet
        time.sleep(random.uniform(0, 0.5))
        migration.start(a, self.uri('b'))
        time.sleep(1)
        self.assertGreater(a.write_rate(), 1 << 20, 'the guest is stuck')
        migration.set_parameters(a, max_bandwidth=0)
        time.sleep(1)
        migration.set_parameters(a, downtime_limit=5000)        # enough passes: let it end
        migration.finish(a, b)
        self.assertEqual(a.ram_hash(), b.ram_hash())
        b.qmp.cmd('cont')
        b.check_guest()
        time.sleep(0.2)
        b.check_guest()
        a.close()
        b.close()

    def check_mode(self, name):
        accel = dict(tracking.modes(host.binary())).get(name)
        if not accel:
            self.skipTest('this emulator has no choice of ' + name)
        if tracking.ring_of(accel):
            self.require_tidemark('loses pages where the kernel overruns its ring')
        for i in range(self.repeat):
            with self.subTest(i):
                self.migrate(accel, ('seq', 'random', 'zipf')[i % 3], (100, 0)[i % 2])

    def test_log(self):
        self.check_mode('log')

    def test_log_legacy(self):
        self.check_mode('log-legacy')

    def test_log_manual(self):
        self.check_mode('log-manual')

    def test_log_manual_initially_set(self):
        self.check_mode('log-manual-initially-set')

    def test_ring_1024(self):
        self.check_mode('ring-1024')

    def test_ring_4096(self):
        self.check_mode('ring-4096')

    def test_ring_65536(self):
        self.check_mode('ring-65536')


class RamEqualOften(RamEqual):
    repeat = int(os.environ.get('TIDEMARK_REPEAT', '20'))
    timeout = 60 + 40 * repeat
    slow = True


if __name__ == '__main__':
    main()
