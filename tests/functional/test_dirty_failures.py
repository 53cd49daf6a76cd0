#!/usr/bin/env python3
"""A dirty-tracking ioctl that fails ends the migration with its name, and not the guest."""

import errno
import itertools
import os
import time

from lib import host, migration
from lib.testcase import FunctionalTest, main

ERRORS = (errno.ENOMEM, errno.EFAULT, errno.ENXIO)
CALLS = range(1, 6)


class FailingIoctl(FunctionalTest):
    timeout = 240

    def source(self, accel, ioctl, call, error):
        return self.machine(
            'a', append='window=32M rate=40 fill=64M', memory='128M', accel=accel,
            env={'LD_PRELOAD': str(host.helper('fail-ioctl.so')), 'FAIL_IOCTL': ioctl,
                 'FAIL_CALL': str(call), 'FAIL_ERRNO': str(error),
                 'FAIL_LOG': self.path('failed')})

    def migrate(self, accel, ioctl, call, error):
        """One migration whose ioctl number call fails; returns whether it came so far."""
        a = self.source(accel, ioctl, call, error)
        a.wait_ready()
        b = self.machine('b', incoming=self.uri('b'), memory='128M', accel=accel)
        migration.set_parameters(a, max_bandwidth=30_000_000)
        migration.start(a, self.uri('b'))
        time.sleep(2)
        migration.set_parameters(a, max_bandwidth=0)
        info = migration.wait(a, ('failed', 'completed'))
        fired = os.path.exists(self.path('failed'))
        if fired:
            os.unlink(self.path('failed'))
            self.assertEqual(info['status'], 'failed')
            self.assertIn(ioctl, info['error-desc'])
            self.assertIn(os.strerror(error), info['error-desc'])
            if ioctl != 'KVM_RESET_DIRTY_RINGS':
                self.assertRegex(info['error-desc'], r'slot \d+')
            self.assert_running(a)
            a.check_guest()
            self.assertNotEqual(b.wait_exit(), 0)
        else:
            self.assertEqual(info['status'], 'completed')
            b.check_guest()
        a.close()
        b.close()
        return fired

    def check(self, accel, ioctl):
        self.require_tidemark('ends the process when a dirty-tracking ioctl fails')
        fired = 0
        for call, error in zip(CALLS, itertools.cycle(ERRORS)):
            with self.subTest(call=call, error=errno.errorcode[error]):
                fired += self.migrate(accel, ioctl, call, error)
        self.assertGreater(fired, 1, 'the ioctl is hardly used')

    def test_get_dirty_log(self):
        self.check('kvm,dirty-log-protect=manual', 'KVM_GET_DIRTY_LOG')

    def test_get_dirty_log_legacy(self):
        self.check('kvm,dirty-log-protect=legacy', 'KVM_GET_DIRTY_LOG')

    def test_clear_dirty_log(self):
        self.check('kvm,dirty-log-protect=manual', 'KVM_CLEAR_DIRTY_LOG')

    def test_reset_dirty_rings(self):
        self.check('kvm,dirty-ring-size=4096', 'KVM_RESET_DIRTY_RINGS')

    def test_good_migration_after_a_failed_one(self):
        self.require_tidemark('ends the process when a dirty-tracking ioctl fails')
        a = self.source('kvm,dirty-log-protect=manual', 'KVM_GET_DIRTY_LOG', 2, errno.ENOMEM)
        a.wait_ready()
        b = self.machine('b', incoming=self.uri('b'), memory='128M')
        migration.start(a, self.uri('b'))
        migration.wait(a, ('failed',))
        b.wait_exit()
        c = self.machine('c', incoming=self.uri('c'), memory='128M', paused=True)
        migration.run(a, c, self.uri('c'))
        self.assertEqual(a.ram_hash(), c.ram_hash())
        c.qmp.cmd('cont')
        c.check_guest()


if __name__ == '__main__':
    main()
