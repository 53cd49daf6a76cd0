#!/usr/bin/env python3
"""What a migration that cannot work says, and that the guest does not notice it."""

import os
import time

from lib import migration
from lib.sockets import Deaf, free_port
from lib.testcase import FunctionalTest, main

SMALL = 'window=8M rate=20'


class WrongRamSize(FunctionalTest):
    """The destination has more RAM than the source."""

    sizes = ((128 << 20, 0x8000000), (256 << 20, 0x10000000))

    def migrate(self, return_path):
        a = self.machine('a', append=SMALL, memory='128M')
        b = self.machine('b', incoming=self.uri('b'), memory='256M')
        a.wait_ready()
        for machine in (a, b):
            migration.set_capabilities(machine, return_path=return_path)
        migration.start(a, self.uri('b'))
        info = migration.wait(a, ('failed',), 20)
        self.assertEqual(b.wait_exit(), 1)
        self.assert_running(a)
        a.check_guest()
        return info, b.stderr()

    def assert_names_sizes(self, text):
        self.assertRegex(text, '(?i)size')
        for decimal, number in self.sizes:
            self.assertRegex(text, r'\b(%d|0x%x|%dM|%d MiB)\b' % (
                decimal, number, decimal >> 20, decimal >> 20))

    def test_destination_names_block_and_sizes(self):
        _, stderr = self.migrate(False)
        self.assertRegex(stderr, r'\w+\.ram')
        self.assert_names_sizes(stderr)

    def test_source_is_told_the_cause(self):
        self.require_tidemark('the source only reports the broken channel')
        info, _ = self.migrate(True)
        self.assert_names_sizes(info['error-desc'])

    def test_source_without_return_path_hints_at_destination(self):
        self.require_tidemark('the source only reports the broken channel')
        info, _ = self.migrate(False)
        self.assertRegex(info['error-desc'], '(?i)destination|receiver|other side')


class Exec(FunctionalTest):
    """Migration to a command."""

    def source(self):
        a = self.machine('a', append=SMALL, memory='128M')
        a.wait_ready()
        return a

    def test_good_command_gets_all(self):
        a = self.source()
        migration.run(a, None, 'exec:cat > ' + self.path('stream'))
        b = self.machine('b', incoming='exec:cat ' + self.path('stream'), memory='128M')
        migration.wait(b, ('completed',))
        b.check_guest()

    def test_exit_status_is_failure(self):
        self.require_tidemark('the status of the command is ignored')
        a = self.source()
        migration.start(a, 'exec:cat >/dev/null; exit 3')
        info = migration.wait(a, ('failed',))
        self.assertRegex(info['error-desc'], r'\b3\b')
        self.assert_running(a)
        a.check_guest()


class BadTargets(FunctionalTest):
    """Addresses to which a migration cannot connect."""

    def setUp(self):
        super().setUp()
        self.a = self.machine('a', append=SMALL, memory='128M')
        self.a.wait_ready()

    def fails(self, uri, *patterns):
        migration.start(self.a, uri)
        info = migration.wait(self.a, ('failed',), 30)
        for pattern in patterns:
            self.assertRegex(info['error-desc'], pattern)
        self.assert_running(self.a)

    def good_run(self):
        b = self.machine('b', incoming=self.uri('b'), memory='128M')
        migration.run(self.a, b, self.uri('b'))
        b.check_guest()

    def test_closed_port(self):
        port = free_port()
        ours = self.is_tidemark()
        self.fails('tcp:127.0.0.1:%d' % port, 'refused',
                   *(['127.0.0.1', str(port)] if ours else []))
        self.good_run()

    def test_name_that_does_not_resolve(self):
        self.fails('tcp:nowhere.invalid:4444', r'nowhere\.invalid', '4444')
        self.good_run()

    def test_missing_socket(self):
        path = self.path('missing')
        self.fails('unix:' + path, 'missing', os.strerror(2))
        self.good_run()

    def test_unknown_scheme(self):
        self.assert_refused(self.a, 'migrate', 'protocol|zzz', uri='zzz:1')
        self.assertIn(migration.status(self.a), ('none', 'failed'))
        self.assert_running(self.a)
        self.good_run()

    def test_all_in_a_row(self):
        self.fails('tcp:127.0.0.1:%d' % free_port(), 'refused')
        self.fails('tcp:nowhere.invalid:1')
        self.assert_refused(self.a, 'migrate', uri='zzz:1')
        self.fails('unix:' + self.path('missing'))
        self.good_run()

    def test_cancel_while_connecting(self):
        self.require_tidemark('stays in cancelling until the connection fails')
        deaf = Deaf()
        self.addCleanup(deaf.close)
        migration.start(self.a, 'tcp:127.0.0.1:%d' % deaf.port)
        time.sleep(0.2)
        self.assertEqual(migration.status(self.a), 'setup')
        self.a.qmp.cmd('migrate_cancel')
        migration.wait(self.a, ('cancelled',))
        self.assert_running(self.a)
        self.good_run()


if __name__ == '__main__':
    main()
