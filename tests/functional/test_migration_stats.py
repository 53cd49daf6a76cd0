#!/usr/bin/env python3
"""The figures of query-migrate make sense at every moment of a migration."""

import time

from lib import migration
from lib.sockets import Proxy
from lib.testcase import FunctionalTest, main

BANDWIDTH = 40_000_000


class Statistics(FunctionalTest):
    def poll(self, a):
        """Query until the end; returns every reply with its time."""
        replies = []
        while not replies or replies[-1][1]['status'] not in migration.ENDED:
            replies.append((time.monotonic(), a.qmp.cmd('query-migrate')))
            time.sleep(0.005)
        return replies

    def assert_sane(self, replies):
        transferred = syncs = 0
        for _, info in replies:
            if info['status'] != 'active':
                continue
            ram = info['ram']
            self.assertGreater(ram['total'], 0)
            self.assertLessEqual(ram['remaining'], ram['total'])
            self.assertGreaterEqual(ram['transferred'], transferred)
            self.assertGreaterEqual(ram['dirty-sync-count'], syncs)
            transferred, syncs = ram['transferred'], ram['dirty-sync-count']
        self.assertGreater(syncs, 1)

    def test_sane(self):
        a = self.machine('a', append='window=64M fill=192M rate=19')
        b = self.machine('b', incoming=self.uri('b'))
        proxy = Proxy(self.path('proxy'), self.path('b.migrate'))
        self.addCleanup(proxy.close)
        a.wait_ready()
        migration.set_parameters(a, max_bandwidth=BANDWIDTH)
        start = time.monotonic()
        migration.start(a, 'unix:' + self.path('proxy'))
        replies = self.poll(a)
        wall = (time.monotonic() - start) * 1000
        last = replies[-1][1]
        self.assertEqual(last['status'], 'completed', str(last))
        self.assert_sane(replies)
        ram = last['ram']
        self.assertEqual(ram['remaining'], 0)
        active = [at for at, info in replies if info['status'] == 'active']
        self.assertGreaterEqual(last['total-time'], (active[-1] - active[0]) * 1000 - 1)
        self.assertLessEqual(last['total-time'], wall + 1)
        self.assertAlmostEqual(ram['transferred'] / proxy.bytes, 1, delta=0.02)
        counted_mbps = proxy.bytes * 8 / 1000 / (last['total-time'] - last['setup-time'])
        self.assertAlmostEqual(ram['mbps'] / counted_mbps, 1, delta=0.15)
        self.assertLess(counted_mbps, 1.1 * BANDWIDTH * 8 / 1e6)
        b.check_guest()

    def test_page_counts(self):
        guest = 'window=32M fill=64M rate=19 order=zipf'
        a = self.machine('a', append=guest, memory='128M')
        b = self.machine('b', append=guest, memory='128M', incoming=self.uri('b'))
        a.wait_ready()
        self.require_tidemark('it does not count how often pages are sent')
        self.assert_refused(a, 'x-query-migration-pages', "'x-page-counts' must be on")
        migration.set_capabilities(a, x_page_counts=True)
        migration.set_parameters(a, max_bandwidth=BANDWIDTH)
        ram = migration.run(a, b, self.uri('b'))['ram']
        counts = a.qmp.cmd('x-query-migration-pages', buckets=128)
        self.assertEqual(counts['times'][0], 0)
        self.assertEqual(sum(counts['times']) * 4096, ram['total'])
        self.assertEqual(sum(sum(block['sent']) for block in counts['blocks']),
                         ram['normal'] + ram['duplicate'])
        # one run a MiB: the guest rewrites its window from 16 MiB on, and nothing behind it
        main_ram = max(counts['blocks'], key=lambda block: block['pages'])
        self.assertGreater(min(main_ram['max'][16:48]), 1)
        self.assertEqual(max(main_ram['max'][48:]), 1)
        self.assert_refused(a, 'x-query-migration-pages', 'from 1 to 65536', buckets=0)


if __name__ == '__main__':
    main()
