#!/usr/bin/env python3
"""After a migration both sides have the same RAM, whatever tracks the writes.

$TIDEMARK_REPEAT is the number of migrations a mode: 2, in the slow stage 5, if it is not set.
"""

import os
import random
import time

from lib import migration, tracking
from lib.testcase import FunctionalTest, main

# Guests of successive migrations: order and rate in MiB/s, 0 is as fast as it can.
GUESTS = (('seq', 100), ('random', 0), ('zipf', 100), ('seq', 0), ('random', 100), ('zipf', 0))


def repeat(default):
    return int(os.environ.get('TIDEMARK_REPEAT', default))


class Comparison(FunctionalTest):
    """What the classes below have in common."""

    repeat = repeat(2)
    timeout = 60 + 40 * repeat
    window_mib = 256

    def migrate(self, accel, order, rate):
        """One migration of a busy guest, ended by force if need be."""
        memory = '%dM' % (self.window_mib + 64)
        a = self.machine('a', append='window=%dM order=%s rate=%d' % (
            self.window_mib, order, rate), memory=memory, accel=accel)
        a.wait_ready()
        a.wait_written(self.window_mib)
        b = self.machine('b', incoming=self.uri('b'), memory=memory, accel=accel, paused=True)
        # cannot end yet: a tenth of the window a second
        migration.set_parameters(a, max_bandwidth=self.window_mib * (1 << 20) // 10)
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

    def check_mode(self, accel):
        for i in range(self.repeat):
            with self.subTest(i):
                self.migrate(accel, *GUESTS[i % len(GUESTS)])


class Kvm(Comparison):
    def check_named(self, name):
        accel = dict(tracking.modes(self.binary)).get(name)
        if not accel:
            self.skipTest('this emulator has no choice of ' + name)
        self.check_mode(accel)

    def test_log(self):
        self.check_named('log')

    def test_log_legacy(self):
        self.check_named('log-legacy')

    def test_log_manual(self):
        self.check_named('log-manual')

    def test_log_manual_initially_set(self):
        self.check_named('log-manual-initially-set')

    def test_ring_1024(self):
        self.check_named('ring-1024')

    def test_ring_4096(self):
        self.check_named('ring-4096')

    def test_ring_65536(self):
        self.check_named('ring-65536')


class Tcg(Comparison):
    arch = 'aarch64'
    accel = 'tcg'
    window_mib = 64

    def test_store(self):
        self.require_tidemark('QEMU 7.2 loses the last writes to the busiest page')
        self.check_mode('tcg')


class KvmOften(Kvm):
    repeat = repeat(5)
    timeout = 60 + 40 * repeat
    slow = True


class TcgOften(Tcg):
    repeat = repeat(5)
    timeout = 60 + 40 * repeat
    slow = True


if __name__ == '__main__':
    main()
