#!/usr/bin/env python3
"""Guests of KVM on arm64, in an arm64 host that the emulator under test runs at EL2.

The emulator in there is the build for arm64. $TIDEMARK_NESTED_REPEAT says how often a guest moves in each
mode of dirty tracking (default 2).
"""

import os
import re
import tempfile
import time

from lib import debian_kernels, host, nested_arm64
from lib.testcase import FunctionalTest, main, note

REPEAT = int(os.environ.get('TIDEMARK_NESTED_REPEAT', '2'))
MODES = ('dirty-log-protect=legacy', 'dirty-log-protect=manual', 'dirty-log-protect=manual-initially-set',
         'dirty-ring-size=4096')
WRITER = 'window=0x1000000 rate=20'


class Nested(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    slow = True
    needs_guests = False
    timeout = 1200

    def boot(self, **kwargs):
        try:
            image, initrd = debian_kernels.files('sid')
            extra = {'guest/writer': host.guest('writer', 'aarch64'), 'guest/timer': host.guest('timer', 'aarch64'),
                     'guest/linux': image, 'guest/initrd': initrd}
            self.host = nested_arm64.NestedHost(tempfile.mkdtemp(dir=self.dir), self.binary, extra, **kwargs)
        except nested_arm64.Missing as problem:
            self.skipTest(str(problem))
        self.addCleanup(self.host.close)
        self.host.wait_ready()
        self.assertIn('mode initialized successfully', self.host.console.text())

    def migrate(self, a):
        """To whoever listens; returns what query-migrate says at the end."""
        a.cmd('migrate-set-capabilities', capabilities=[{'capability': 'x-verify', 'state': True}])
        a.cmd('migrate-set-parameters', **{'max-bandwidth': 0, 'downtime-limit': 20000})
        a.cmd('migrate', uri='unix:/tmp/migrate')
        deadline = time.monotonic() + 300
        while (info := a.cmd('query-migrate'))['status'] not in ('completed', 'failed'):
            self.assertLess(time.monotonic(), deadline, info)
            time.sleep(1)
        self.assertEqual(info['status'], 'completed', info.get('error-desc'))
        self.assertEqual(info['x-verify']['mismatches'], 0)
        self.assertGreater(info['x-verify']['pages'], 0)
        note('%s: %d passes, downtime %d ms' % (info['x-tracking']['mode'],
                                                info['ram']['dirty-sync-count'], info['downtime']))
        return info


class Writer(Nested):
    def check(self, peer):
        """The guest's own proof of its memory; returns how many pages it has written."""
        return int(peer.command('c', r'OK pass=\d+ written=(\d+)\s').group(1))

    def move(self, mode):
        accel = 'kvm,' + mode
        a = self.host.start('a', '/guest/writer', WRITER, accel=accel)
        a.wait('READY')
        written = self.check(a)
        b = self.host.start('b', '/guest/writer', WRITER, '-incoming unix:/tmp/migrate', accel=accel)
        info = self.migrate(a)
        self.assertEqual(info['x-tracking']['mode'], 'ring' if 'ring' in mode else mode.split('=')[1])
        a.quit()
        self.assertGreater(self.check(b), written)
        b.quit()

    def test_moves_in_every_mode(self):
        self.boot()
        for mode in MODES:
            for _ in range(REPEAT):
                with self.subTest(mode=mode):
                    self.move(mode)


class Held(Nested):
    def test_interrupts_that_are_pending_arrive_after_a_move(self):
        self.boot()
        a = self.host.start('a', '/guest/timer', 'hold=1', memory='32M')
        a.wait('HELD')
        b = self.host.start('b', '/guest/timer', 'hold=1', '-incoming unix:/tmp/migrate', memory='32M')
        self.migrate(a)
        a.quit()
        self.assertEqual(b.command('g', r'taken: .*\n').group(0), 'taken: virtual 1 SGI 1\n')


class Refusals(Nested):
    def test_what_kvm_does_not_have(self):
        self.boot()
        for args, text in (
                ('-M virt -accel kvm -cpu host', 'its=on is not available with accelerator kvm.*use its=off'),
                ('-M virt,its=off -accel kvm', '-cpu cortex-a57: accelerator kvm.*use -cpu host or max'),
                ('-M virt,its=off -accel kvm -cpu host,sve=on', 'sve=on is not available'),
                ('-M virt,its=off,gic-version=2 -accel kvm -cpu host', 'gic-version=2 is not available'),
                ('-M virt,its=off,virtualization=on -accel kvm -cpu host',
                 'virtualization=on is not available.*use -accel tcg'),
                ('-M virt -accel tcg -cpu host', '-cpu host: it needs accelerator kvm')):
            with self.subTest(args=args):
                self.assertRegex(self.host.refusal(args), text)


class Linux(Nested):
    def guest(self, name, mode, *extra):
        return self.host.start(name, '/guest/linux', 'console=ttyAMA0 panic=-1', '-initrd /guest/initrd', *extra,
                               accel='kvm,' + mode, memory='512M', cpus=2)

    def test_moves_in_every_mode_and_reboots_and_powers_off(self):
        self.boot()
        modes = MODES
        here = self.guest('a', modes[0])
        here.wait('guest: ready', 600)
        self.assertEqual(here.command('grep -c ^processor /proc/cpuinfo\n', r'(?m)^(\d+)\r*\nguest: status').group(1),
                         '2')
        digest = here.command('dd if=/dev/urandom of=/tmp/r bs=64k count=64 2>/dev/null; sha256sum </tmp/r\n',
                              '[0-9a-f]{64}').group(0)
        here.command('(i=0; while :; do i=$((i+1)); echo COUNT $i; sleep 1; done) &\n', r'COUNT 3\r*\n')
        text = ''
        for mode, following in zip(modes, modes[1:] + modes[:1]):
            with self.subTest(mode=mode):
                there = self.guest('b' if here.name == 'a' else 'a', following, '-incoming unix:/tmp/migrate')
                info = self.migrate(here)
                self.assertEqual(info['x-tracking']['mode'], 'ring' if 'ring' in mode else mode.split('=')[1])
                text += here.serial()
                here.quit()
                here = there
                here.wait(r'COUNT \d+\r*\n')
                self.assertEqual(here.command('sha256sum </tmp/r\n', '[0-9a-f]{64}').group(0), digest)
        numbers = [int(n) for n in re.findall(r'COUNT (\d+)\r*\n', text + here.serial())]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)), 'the count jumped')
        here.command('reboot -f\n', 'guest: ready', 600)
        self.assertEqual(here.events('RESET')[-1]['data']['reason'], 'guest-reset')
        here.send('poweroff -f\n')
        self.wait_for(lambda: here.exit_status() is not None, 'the end of the emulator', 60)
        self.assertEqual(here.events('SHUTDOWN')[-1]['data']['reason'], 'guest-shutdown')
        self.assertEqual(here.exit_status(), 0)


if __name__ == '__main__':
    main()
