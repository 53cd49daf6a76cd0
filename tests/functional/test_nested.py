#!/usr/bin/env python3
"""A whole Linux and memtest86+ as guests of a real KVM: boot, migration, reboot, power off.

They run in a machine that QEMU emulates, see lib/nested.py; hence slow, and no /dev/kvm is needed.
"""

import re
import tempfile
import time

from lib import nested
from lib.testcase import FunctionalTest, main, note

APPEND = 'console=ttyS0 quiet panic=-1'
COUNT = r'COUNT (\d+)\r*\n'


class Peer:
    """An emulator in the nested host."""

    def __init__(self, name, qmp):
        self.name, self.qmp = name, qmp


class Nested(FunctionalTest):
    timeout = 600
    accel = 'tcg'
    slow = True
    needs_guests = False

    def setUp(self):
        super().setUp()
        self.require_tidemark('is the outer machine already')
        try:
            self.host = nested.NestedHost(tempfile.mkdtemp(dir=self.dir), self.binary)
        except nested.Missing as problem:
            self.skipTest(str(problem))
        self.addCleanup(self.host.close)
        self.addCleanup(self.show_console)
        self.host.wait_ready()

    def show_console(self):
        """What the host has said, if it is gone."""
        if self.host.process.poll() is not None:
            for line in self.host.log().splitlines():
                note('host: ' + line)

    def start(self, name, kernel, append, *extra, **kwargs):
        return Peer(name, self.host.start(name, kernel, append, *extra, **kwargs))

    def migrate(self, a, b):
        a.qmp.cmd('migrate-set-capabilities', {'capabilities': [
            {'capability': 'x-verify', 'state': True}]})
        a.qmp.cmd('migrate-set-parameters', max_bandwidth=0, downtime_limit=20000)
        a.qmp.cmd('migrate', uri='unix:/tmp/migrate')
        deadline = time.monotonic() + 200
        while (info := a.qmp.cmd('query-migrate'))['status'] not in ('completed', 'failed'):
            self.assertLess(time.monotonic(), deadline, info)
            time.sleep(1)
        self.assertEqual(info['status'], 'completed', info.get('error-desc'))
        self.assertEqual(info['x-verify']['mismatches'], 0)
        b.qmp.wait_event('RESUME', 60)
        self.assertEqual(a.qmp.cmd('query-status')['status'], 'postmigrate')
        note('%s: %d passes, %d pages, downtime %d ms' % (
            info['x-tracking']['mode'], info['ram']['dirty-sync-count'],
            info['ram']['normal'] + info['ram']['duplicate'], info['downtime']))

    def guest_shell(self, line, pattern, timeout=60):
        return self.host.serial.command(line + '\n', pattern, timeout)

    def end(self, peer):
        start = self.host.console.position()
        peer.qmp.send('quit')
        self.assertEqual(self.host.wait_exit(peer.name, start=start), 0)


class Memtest(Nested):
    """Its own verdict is what counts: no errors in what it wrote before the move and after."""

    append = 'console=ttyS0,115200 nobench nosm nosmp nopause keyboard=legacy'

    def progress(self, start):
        """Percent of all passes, as shown since a position on the serial port."""
        text = self.host.serial.text(start)
        percent = re.findall(r'\x1b\[2;35H\x1b\[0m *(\d+)%', text)
        passes = re.findall(r'Pass: +(\d+)', text)
        return 100 * int(passes[-1]) + int(percent[-1]) if passes and percent else 0

    def test_moves(self):
        a = self.start('a', 'memtest', self.append, memory='16M')
        self.host.serial.wait(r'Status: Testing', 120)
        b = self.start('b', 'memtest', self.append, '-incoming unix:/tmp/migrate', memory='16M')
        self.wait_for(lambda: self.progress(0) >= 5, 'the first tests', 120)
        self.migrate(a, b)
        self.end(a)
        moved = self.host.serial.position()
        before = self.progress(0)
        self.wait_for(lambda: self.progress(moved) >= before + 20, 'further tests', 400)
        self.assertEqual(set(re.findall(r'Errors: +(\d+)', self.host.serial.text())), {'0'})
        self.end(b)


class LinuxGuest(Nested):
    def moved(self, accel):
        """Boot with the accelerator's options, migrate, and look whether the guest goes on."""
        begin = self.host.serial.position()
        a = self.start('a', 'kernel', APPEND, accel=accel)
        self.host.serial.wait('GUEST READY', 180, begin)
        self.guest_shell('dd if=/dev/urandom of=/file bs=1M count=8 2>/dev/null; md5sum /file',
                         r'[0-9a-f]{32}  /file', 120)
        digest = re.findall(r'[0-9a-f]{32}  /file', self.host.serial.text(begin))[-1]
        b = self.start('b', 'kernel', APPEND, '-incoming unix:/tmp/migrate', accel=accel)
        self.host.serial.wait(COUNT, 60, self.host.serial.position())
        self.migrate(a, b)
        self.end(a)
        self.host.serial.wait(COUNT + r'(?s:.*)' + COUNT, 60, self.host.serial.position())
        numbers = [int(n) for n in re.findall(COUNT, self.host.serial.text(begin))]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)), 'the count jumped')
        found = self.guest_shell('md5sum /file', r'[0-9a-f]{32}  /file', 60).group(0)
        self.assertEqual(found, digest)
        self.guest_shell('echo sum $((6 * 7))', r'sum 42\b')
        return b

    def test_moves_and_powers_off(self):
        b = self.moved('kvm')
        start = self.host.console.position()
        self.guest_shell('poweroff -f', '')
        self.assertEqual(b.qmp.wait_event('SHUTDOWN', 60)['data']['reason'], 'guest-shutdown')
        self.assertEqual(self.host.wait_exit('b', 60, start), 0)

    def test_moves_with_ring_and_reboots(self):
        b = self.moved('kvm,dirty-ring-size=4096')
        begin = self.host.serial.position()
        self.guest_shell('reboot -f', '')
        self.assertEqual(b.qmp.wait_event('RESET', 60)['data']['reason'], 'guest-reset')
        self.host.serial.wait('GUEST READY', 180, begin)
        self.guest_shell('echo sum $((6 * 7))', r'sum 42\b')
        self.end(b)

    def test_reboot_that_ends(self):
        begin = self.host.serial.position()
        a = self.start('a', 'kernel', APPEND, '-no-reboot')
        self.host.serial.wait('GUEST READY', 180, begin)
        start = self.host.console.position()
        self.guest_shell('reboot -f', '')
        self.assertEqual(a.qmp.wait_event('SHUTDOWN', 60)['data']['reason'], 'guest-reset')
        self.assertEqual(self.host.wait_exit('a', 60, start), 0)


if __name__ == '__main__':
    main()
