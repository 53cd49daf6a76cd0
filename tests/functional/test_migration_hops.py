#!/usr/bin/env python3
"""A guest survives being stopped, looked at and moved at any moment.

The guest prints a line each millisecond, so that many of these moments are inside port accesses.
"""

import random
import time

from lib import migration
from lib.testcase import FunctionalTest, main

GUEST = 'window=8M rate=20 clock=1 beat=0'
STOPS = 100
HOPS = 8


class AnyMoment(FunctionalTest):
    def source(self):
        a = self.machine('m0', append=GUEST, memory='64M')
        a.wait_ready()
        return a

    def test_stop_and_cont(self):
        a = self.source()
        for _ in range(STOPS):
            a.qmp.cmd('stop')
            self.assertEqual(a.status(), 'paused')
            self.assertIn('RIP', a.qmp.hmp('info registers'))
            a.qmp.cmd('cont')
            time.sleep(random.uniform(0, 0.01))
        written = a.check_guest()
        time.sleep(0.2)
        self.assertGreater(a.check_guest(), written)

    def test_hops(self):
        a = self.source()
        written = 0
        for hop in range(1, HOPS + 1):
            name = 'm%d' % hop
            b = self.machine(name, incoming=self.uri(name), memory='64M')
            time.sleep(random.uniform(0, 0.1))
            migration.run(a, b, self.uri(name))
            a.quit()
            now = b.check_guest()
            self.assertGreater(now, written)
            a, written = b, now


if __name__ == '__main__':
    main()
