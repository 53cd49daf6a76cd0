#!/usr/bin/env python3
"""A migration over each kind of address, and the events it causes."""

import os
import socket

from lib import migration
from lib.qmp import QMPError
from lib.testcase import FunctionalTest, main


class Transports(FunctionalTest):
    def setUp(self):
        super().setUp()
        self.a = self.machine('a', append='window=8M fill=16M rate=20', memory='64M')
        self.a.wait_ready()

    def target(self, incoming):
        return self.machine('b', memory='64M', incoming=incoming)

    def move(self, b, uri):
        migration.run(self.a, b, uri)
        b.check_guest()

    def pass_fd(self, machine, fd):
        machine.qmp.cmd('getfd', fdname='fd-mig', fds=[fd])
        os.close(fd)

    def test_unix(self):
        self.move(self.target(self.uri('b')), self.uri('b'))

    def test_unix_with_spaces_in_the_path(self):
        os.mkdir(self.path('a b'))
        uri = 'unix:' + self.path('a b/c d')
        self.move(self.target(uri), uri)

    def test_tcp_with_port_from_the_system(self):
        b = self.target('tcp:127.0.0.1:0')
        address = b.qmp.cmd('query-migrate')['socket-address'][0]
        self.assertEqual((address['type'], address['host']), ('inet', '127.0.0.1'))
        self.assertGreater(int(address['port']), 0)
        self.move(b, 'tcp:127.0.0.1:' + address['port'])

    def test_descriptors(self):
        b = self.target('defer')
        for machine, end in zip((self.a, b), socket.socketpair()):
            self.pass_fd(machine, end.detach())
        b.qmp.cmd('migrate-incoming', uri='fd:fd-mig')
        self.move(b, 'fd:fd-mig')
        for machine in (self.a, b):
            with self.assertRaises(QMPError) as caught:
                machine.qmp.cmd('closefd', fdname='fd-mig')
            self.assertEqual(caught.exception.desc, "File descriptor named 'fd-mig' not found")

    def test_descriptor_that_is_closed_again(self):
        self.pass_fd(self.a, os.open('/dev/null', os.O_WRONLY))
        self.pass_fd(self.a, os.open('/dev/null', os.O_WRONLY))     # takes the first one's place
        self.a.qmp.cmd('closefd', fdname='fd-mig')
        self.assert_refused(self.a, 'closefd', "'fd-mig' not found", fdname='fd-mig')
        self.assert_refused(self.a, 'migrate', 'fd-mig', uri='fd:fd-mig')
        self.assert_running(self.a)

    def test_descriptor_of_a_file(self):
        """Saved behind somebody's header, and loaded from where the descriptor stands."""
        path = self.path('saved')
        with open(path, 'wb') as saved:
            saved.write(b'header' * 100)
        self.pass_fd(self.a, os.open(path, os.O_WRONLY))
        self.assert_refused(self.a, 'migrate', 'use file:', uri='fd:fd-mig')
        migration.start(self.a, 'file:%s,offset=600' % path)
        migration.wait(self.a)
        b = self.target('defer')
        fd = os.open(path, os.O_RDONLY)
        os.lseek(fd, 600, os.SEEK_SET)
        self.pass_fd(b, fd)
        b.qmp.cmd('migrate-incoming', uri='fd:fd-mig')
        b.wait_status('running')
        b.check_guest()

    def test_exec(self):
        fifo = self.path('fifo')
        os.mkfifo(fifo)
        b = self.target('exec:cat < ' + fifo)
        self.move(b, 'exec:cat > ' + fifo)

    def test_events(self):
        b = self.target('defer')
        for machine in (self.a, b):
            migration.set_capabilities(machine, events=True)
        b.qmp.cmd('migrate-incoming', uri=self.uri('b'))
        b.qmp.wait_event('MIGRATION', match=lambda data: data['status'] == 'setup')
        self.move(b, self.uri('b'))
        source = [(e['event'], e['data'].get('status')) if 'data' in e else (e['event'], None)
                  for e in self.a.qmp.poll_events()]
        self.assertEqual([status for name, status in source if name == 'MIGRATION' and
                          status != 'device'], ['setup', 'active', 'completed'])
        self.assertIn(('STOP', None), source)
        self.assertLess(source.index(('STOP', None)), source.index(('MIGRATION', 'completed')))
        self.assertIn('MIGRATION_PASS', [name for name, _ in source])
        b.qmp.wait_event('RESUME')
        statuses = [e['data']['status'] for e in b.qmp.poll_events() if e['event'] == 'MIGRATION']
        self.assertEqual(statuses, ['active', 'completed'])


if __name__ == '__main__':
    main()
