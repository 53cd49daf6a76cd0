#!/usr/bin/env python3
"""After a migration both sides have the same RAM, whatever tracks the writes.

Every migration has a guest of its own, drawn at random: window, order, rate and size of its
writes, CPUs, kernel or user mode; when the migration begins, how long and to how much bandwidth it
is held before it may end. Both sides compare all pages at the switch-over (x-verify), and after it
the guest compares its memory with what it wrote.

$TIDEMARK_REPEAT is the number of migrations a mode: 2, in the slow stage 10, if it is not set.
$TIDEMARK_SEED is where the draws come from; it is printed, and by it they can be had again.
"""

import os
import random
import time

from lib import migration, tracking
from lib.testcase import FunctionalTest, main, note

SEED = int(os.environ.get('TIDEMARK_SEED') or random.SystemRandom().getrandbits(32))
MEMORY_MIB = 128
ROOM_MIB = MEMORY_MIB - 16      # what the writer may use


def repeat(default):
    return int(os.environ.get('TIDEMARK_REPEAT', default))


class Draw:
    """The circumstances of one migration; the same for the same seed, mode and number."""

    def __init__(self, mode, number, arch):
        r = random.Random('%d %s %d' % (SEED, mode, number))
        self.cpus = r.choice((1, 1, 2))
        # Kernel mode may be interpreted by the host: it is slow then, and such a host also runs
        # past the end of a ring, if the window is large enough to fill one.
        self.kernel = arch == 'x86_64' and r.random() < 0.1
        self.window_kib = r.randint(64, 65536) & ~3
        if arch == 'aarch64':       # the device tree is 64 MiB into RAM, 48 MiB into the window
            self.window_kib = min(self.window_kib, 48 << 10)
        if self.kernel:
            self.window_kib = r.choice((64, 256, 512, 1024, 4096))
        self.fill = 0 if self.kernel else r.randint(0, ROOM_MIB - 8)
        self.order = r.choice(('seq', 'random', 'zipf'))
        self.rate = r.choice((0, 0, r.randint(1, 400)))
        self.touch = 16 if self.kernel else r.choice((16, 64, 512, 4096))
        self.seed = r.randint(1, 1 << 30)
        self.delay_s = r.uniform(0, 0.5)
        self.hold_s = r.uniform(0, 4 if self.kernel else 0.8)
        self.bandwidth = r.randint(4, 200) * 1000 * 1000

    def append(self):
        words = 'window=%dK fill=%dM order=%s rate=%d touch=%d seed=%d cpus=%d' % (
            self.window_kib, self.fill, self.order, self.rate, self.touch, self.seed, self.cpus)
        return words + (' ring=0' if self.kernel else '')

    def __str__(self):
        return '%s; after %.3f s, held %.3f s at %d MB/s' % (
            self.append(), self.delay_s, self.hold_s, self.bandwidth // 1000000)


class Tally:
    """What the migrations of one mode did, in sum."""

    def __init__(self):
        self.sums = {'migrations': 0, 'passes': 0, 'pages': 0, 'pages verified': 0,
                     'ring-full exits': 0, 'ring overflows': 0}
        self.longest_ms = 0

    def add(self, info, source):
        self.longest_ms = max(self.longest_ms, info['downtime'])
        found = {'migrations': 1, 'passes': info['ram']['dirty-sync-count'],
                 'pages': info['ram']['normal'] + info['ram']['duplicate'],
                 'pages verified': info.get('x-verify', {}).get('pages', 0)}
        if 'x-verify' in info:      # Tidemark
            counters = source.qmp.cmd('query-dirty-tracking')['counters']
            found['ring-full exits'] = counters['ring-full-exits']
            found['ring overflows'] = counters['ring-overflows']
        for name, value in found.items():
            self.sums[name] += value

    def __str__(self):
        return ', '.join('%d %s' % (n, name) for name, n in self.sums.items() if n) + (
            ', longest downtime %d ms' % self.longest_ms)


class Comparison(FunctionalTest):
    """What the classes below have in common."""

    repeat = repeat(2)
    timeout = 240 + 40 * repeat

    def start(self, name, accel, draw, **more):
        return self.machine(name, memory='%dM' % MEMORY_MIB, smp=draw.cpus, accel=accel,
                            append=draw.append(), **more)

    def migrate(self, accel, draw, tally):
        """One migration of a busy guest, ended by force if need be."""
        a = self.start('a', accel, draw)
        b = self.start('b', accel, draw, incoming=self.uri('b'), paused=not self.is_tidemark())
        try:
            a.wait_ready()
            tally.add(self.move(a, b, draw), a)
        finally:
            a.close()
            b.close()

    def move(self, a, b, draw):
        """The migration proper, and what proves it; returns the source's query-migrate."""
        proves_itself = self.is_tidemark()
        if proves_itself:
            migration.set_capabilities(a, x_verify=True)
        migration.set_parameters(a, max_bandwidth=draw.bandwidth)
        time.sleep(draw.delay_s)
        migration.start(a, self.uri('b'))
        time.sleep(draw.hold_s)
        migration.set_parameters(a, max_bandwidth=0, downtime_limit=10000)
        info = migration.finish(a, b)
        if proves_itself:
            self.assertEqual(info['x-verify']['mismatches'], 0)
            self.assertEqual(info['x-verify']['pages'], info['ram']['total'] // 4096)
        else:
            self.assertEqual(a.ram_hash(), b.ram_hash())
            b.qmp.cmd('cont')
        written = b.check_guest(300)
        self.wait_for(lambda: b.written() > written, 'the moved guest writes on', 300)
        return info

    def check_mode(self, name, accel):
        tally = Tally()
        for i in range(self.repeat):
            draw = Draw(name, i, self.arch)
            with self.subTest(seed=SEED, number=i, draw=str(draw)):
                self.migrate(accel, draw, tally)
        note('%s: seed %d: %s' % (name, SEED, tally))


class Kvm(Comparison):
    def check_named(self, name):
        accel = dict(tracking.modes(self.binary)).get(name)
        if not accel:
            self.skipTest('this emulator has no choice of ' + name)
        self.check_mode(name, accel)

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

    def test_store(self):
        self.require_tidemark('QEMU 7.2 loses the last writes to the busiest page')
        self.check_mode('tcg', 'tcg')


class KvmOften(Kvm):
    repeat = repeat(10)
    timeout = 240 + 40 * repeat
    slow = True


class TcgOften(Tcg):
    repeat = repeat(10)
    timeout = 240 + 40 * repeat
    slow = True


if __name__ == '__main__':
    main()
