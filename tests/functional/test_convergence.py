#!/usr/bin/env python3
"""A guest that writes faster than the wire takes is not forced, and the migration says so."""

import time

from lib import migration
from lib.testcase import FunctionalTest, main

BANDWIDTH = 10 << 20


class Outrun(FunctionalTest):
    def source(self):
        a = self.machine('a', append='window=64M fill=64M rate=40')
        a.wait_ready()
        return a

    def test_stays_active_without_help(self):
        a = self.source()
        b = self.machine('b', incoming=self.uri('b'))
        before = self.wait_near(a.write_rate, 40 << 20, 0.1, 'rate of the guest')
        migration.set_parameters(a, max_bandwidth=BANDWIDTH)
        migration.start(a, self.uri('b'))
        end = time.monotonic() + 20
        verdicts = set()        # a busy host may starve the guest for a pass
        while time.monotonic() < end:
            info = a.qmp.cmd('query-migrate')
            self.assertIn(info['status'], ('setup', 'active'))
            verdicts.add(info.get('x-verdict'))
            time.sleep(0.2)
        self.assertGreater(info['ram']['dirty-sync-count'], 1)
        self.assertNotIn('cpu-throttle-percentage', info)
        if self.is_tidemark():
            self.assertIn('will-not-converge', verdicts)
        self.wait_near(a.write_rate, before, 0.1, 'rate of the guest while it is sent')
        a.qmp.cmd('migrate_cancel')
        migration.wait(a, ('cancelled',))
        self.wait_near(a.write_rate, before, 0.1, 'rate of the guest afterwards')
        a.check_guest()

    def test_completes_when_the_wire_gets_wider(self):
        a = self.source()
        b = self.machine('b', incoming=self.uri('b'))
        migration.set_parameters(a, max_bandwidth=BANDWIDTH)
        migration.start(a, self.uri('b'))
        time.sleep(3)
        self.assertEqual(migration.status(a), 'active')
        migration.set_parameters(a, max_bandwidth=0)
        migration.finish(a, b)
        b.check_guest()


if __name__ == '__main__':
    main()
