#!/usr/bin/env python3
"""What the emulator gives up before the guest runs: system calls, privileges; and who may reach its sockets."""

import os
import pathlib
import stat

from lib import migration
from lib.testcase import FunctionalTest, main

DENY_ALL = 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'


class Sandbox(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def process_status(self, machine):
        text = pathlib.Path('/proc/%d/status' % machine.pid).read_text('ascii')
        return {key: value.split() for key, value in (line.split(':', 1) for line in text.splitlines())}

    def test_guest_and_migration_need_nothing_of_it(self):
        """Two processes under every restriction move a guest that checks its memory."""
        a = self.machine('a', '-sandbox', DENY_ALL, append='window=8M rate=20', memory='64M')
        b = self.machine('b', '-sandbox', DENY_ALL, memory='64M', incoming=self.uri('b'))
        self.assertEqual(self.process_status(a)['Seccomp'], ['2'])
        a.wait_ready()
        migration.run(a, b, self.uri('b'))
        b.check_guest()
        self.assertEqual(a.stderr() + b.stderr(), '')

    def test_a_host_is_looked_up(self):
        """By a thread of GLib's, whose making a sandbox might forbid."""
        a = self.machine('a', '-sandbox', DENY_ALL, append='window=8M rate=20', memory='64M')
        b = self.machine('b', '-sandbox', DENY_ALL, memory='64M', incoming='defer')
        a.wait_ready()
        b.qmp.cmd('migrate-incoming', uri='tcp:localhost:0')
        port = b.qmp.cmd('query-migrate')['socket-address'][0]['port']
        migration.run(a, b, 'tcp:localhost:' + port)
        b.check_guest()

    def test_a_forbidden_call_kills_and_is_named(self):
        marker = self.path('marker')
        a = self.machine('a', '-sandbox', 'on,spawn=deny', append='window=4M', memory='64M')
        a.wait_ready()
        a.qmp.cmd('migrate', uri='exec:cat > ' + marker)
        self.wait_for(lambda: 'system call not allowed: execve' in a.stderr(), 'the message')
        migration.wait(a, ('failed',))
        self.assertFalse(os.path.exists(marker))
        a.check_guest()     # only the new process was killed

    def test_without_it_the_same_works(self):
        marker = self.path('marker')
        a = self.machine('a', '-sandbox', 'off', append='window=4M', memory='64M')
        a.wait_ready()
        a.qmp.cmd('migrate', uri='exec:cat > ' + marker)
        migration.wait(a, ('completed',))
        self.assertGreater(os.path.getsize(marker), 1 << 20)

    def test_another_user(self):
        if os.getuid():
            self.skipTest('only root can become another user')
        a = self.machine('a', '-run-with', 'user=nobody', '-sandbox', 'on,elevateprivileges=deny', paused=True)
        status = self.process_status(a)
        nobody = ['65534'] * 4
        self.assertEqual((status['Uid'], status['Gid'], status['Groups']), (nobody, nobody, ['65534']))
        self.assertEqual(int(status['CapEff'][0], 16), 0)
        a.qmp.cmd('cont')
        a.wait_ready()
        a.check_guest()

    def test_others_cannot_write_to_sockets_and_files(self):
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        pid, log = self.path('pid'), self.path('log')
        self.machine('a', '-monitor', 'unix:%s,server=on,wait=off' % self.path('hmp'), '-pidfile', pid,
                     '-chardev', 'file,id=f,path=' + log)
        for path in (self.path('a.qmp'), self.path('hmp'), pid, log):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o022, 0, path)


if __name__ == '__main__':
    main()
