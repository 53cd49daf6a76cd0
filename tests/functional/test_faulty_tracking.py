#!/usr/bin/env python3
"""A migration through dirty tracking that loses a page does not go through: x-verify finds it.

The emulator is a copy of the one under test that loses one in a million reported pages, and at
least one in each migration (faulty-tracking.c). $TIDEMARK_REPEAT is the number of migrations a mode:
1, in the slow stage 5, if it is not set; $TIDEMARK_SEED is where the lost pages come from.
"""

import os
import pathlib
import random
import re
import time

from lib import host, migration, tracking
from lib.testcase import FunctionalTest, main, note

SEED = int(os.environ.get('TIDEMARK_SEED') or random.SystemRandom().getrandbits(32))
BASE_MIB = 16
WINDOW_MIB = 8
PAGES = range(BASE_MIB * 256, (BASE_MIB + WINDOW_MIB) * 256)
GUEST = 'window=%dM' % WINDOW_MIB
LOST = re.compile(r'faulty-tracking: lost offset (0x[0-9a-f]+)\n')
FAULTY = host.helper('faulty-tracking')


def repeat(default):
    return int(os.environ.get('TIDEMARK_REPEAT', default))


class Base(FunctionalTest):
    """What the classes below have in common."""

    def setUp(self):
        super().setUp()
        self.require_tidemark('has no x-verify')
        if not FAULTY.exists():
            self.skipTest('the build has no %s' % FAULTY.name)

    @staticmethod
    def passes(machine):
        return machine.qmp.cmd('query-migrate').get('ram', {}).get('dirty-sync-count', 0)

    def migrate(self, accel, lose_at):
        """Migrate until a page is lost and was written again; returns what became of it."""
        a = self.machine('a', append=GUEST, memory='64M', accel=accel, binary=str(FAULTY),
                         env={'LOSE_PAGES': '%d-%d' % (PAGES[0], PAGES[-1]),
                              'LOSE_AT': str(lose_at)})
        b = self.machine('b', incoming=self.uri('b'), memory='64M', accel=accel)
        a.wait_ready()
        migration.set_capabilities(a, x_verify=True)
        # A pass takes a second, in which the guest writes all of its window even on a busy host.
        migration.set_parameters(a, max_bandwidth=WINDOW_MIB << 20, downtime_limit=0)
        migration.start(a, self.uri('b'))
        if lose_at <= 1_000_000:
            self.wait_for(lambda: LOST.search(a.stderr()), 'losing a page', 60)
        # What was reported before the loss may yet be sent. Then it must be written once more.
        passes = self.passes(a) + 2
        self.wait_for(lambda: self.passes(a) >= passes, 'two passes', 60)
        a.wait_written(a.written() // 256 + 2 * WINDOW_MIB)
        migration.set_parameters(a, max_bandwidth=0, downtime_limit=10000)
        return a, b, migration.wait(a, ('failed', 'completed'))


class Faulty(Base):
    repeat = repeat(1)
    timeout = 60 + 60 * repeat

    def check_caught(self, accel, lose_at):
        a, b, info = self.migrate(accel, lose_at)
        lost = [int(offset, 16) for offset in LOST.findall(a.stderr())]
        self.assertEqual(info['status'], 'failed', 'lost %s, and nobody noticed' % lost)
        told = re.search(r'verification failed: (\d+) page.* first at offset (0x[0-9a-f]+)',
                         info['error-desc'])
        self.assertTrue(told, info['error-desc'])
        self.assertLessEqual(int(told.group(1)), len(lost))
        self.assertIn(int(told.group(2), 16), lost)
        self.assertEqual(info['x-verify']['mismatches'], int(told.group(1)))
        self.assert_running(a)
        a.check_guest()
        self.assertNotEqual(b.wait_exit(), 0)
        a.close()
        b.close()

    def check_mode(self, name):
        accel = dict(tracking.modes(self.binary))[name]
        r = random.Random('%d %s' % (SEED, name))
        caught = 0
        for i in range(self.repeat):
            lose_at = r.randint(1, len(PAGES) * 2)
            with self.subTest(seed=SEED, number=i, lose_at=lose_at):
                self.check_caught(accel, lose_at)
                caught += 1
        note('%s: seed %d: %d migrations lost pages, %d were caught' % (
            name, SEED, self.repeat, caught))

    def test_log_legacy(self):
        self.check_mode('log-legacy')

    def test_log_manual(self):
        self.check_mode('log-manual')

    def test_log_manual_initially_set(self):
        self.check_mode('log-manual-initially-set')

    def test_ring_1024(self):
        self.check_mode('ring-1024')

    def test_ring_65536(self):
        self.check_mode('ring-65536')


class FaultyOften(Faulty):
    repeat = repeat(5)
    timeout = 60 + 60 * repeat
    slow = True


class Control(Base):
    """What the other tests rely on."""

    def test_nothing_lost_nothing_found(self):
        a, b, info = self.migrate('kvm', 1 << 62)
        self.assertEqual(info['status'], 'completed')
        self.assertFalse(LOST.search(a.stderr()))
        b.check_guest()

    def test_product_has_no_such_thing(self):
        marker = b'faulty-tracking'
        self.assertIn(marker, FAULTY.read_bytes())
        self.assertNotIn(marker, pathlib.Path(self.binary).read_bytes())


if __name__ == '__main__':
    main()
