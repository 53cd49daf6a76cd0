#!/usr/bin/env python3
"""The test guests themselves: they run, they migrate, and their checks can fail."""

import time

from lib import host, migration
from lib.qtest import QTest
from lib.testcase import FunctionalTest, main


class Writer(FunctionalTest):
    def start(self, append, *extra, **kwargs):
        machine = self.machine('a', *extra, append=append, **kwargs)
        machine.wait_ready()
        return machine

    def test_orders(self):
        for order in ('seq', 'random', 'zipf'):
            with self.subTest(order=order):
                a = self.start('window=16M rate=200 order=%s' % order)
                first = a.check_guest()
                a.wait_more_written(1)
                self.assertGreater(a.check_guest(), first)
                a.close()

    def test_rate(self):
        a = self.start('window=32M rate=40')
        self.wait_near(lambda: a.write_rate(2), 40 << 20, 0.05, 'rate of the writer')

    def test_two_cpus(self):
        a = self.start('window=16M rate=40 cpus=2', smp=2)
        self.wait_near(lambda: a.write_rate(2), 40 << 20, 0.1, 'rate of two writers')
        a.check_guest()

    def test_pause(self):
        a = self.start('window=16M rate=100')
        paused = int(a.serial.command('p', r'PAUSED written=(\d+)\n').group(1))
        self.assertEqual(a.check_guest(), paused)
        a.serial.command('r', r'RUNNING')
        a.wait_more_written(1)
        self.assertGreater(a.check_guest(), paused)

    def test_unknown_option(self):
        a = self.machine('a', append='window=16M wndow=3')
        a.serial.wait(r"ERROR command line word 'wndow=3' is not understood")

    def test_window_beyond_ram(self):
        a = self.machine('a', append='window=256M', memory='128M')
        a.serial.wait(r'ERROR RAM does not reach')

    def check_finds(self, append, addr, data):
        """Change memory behind the guest's back; its check must name the page."""
        port = QTest(self.path('qtest'))
        self.addCleanup(port.close)
        a = self.start(append, '-qtest', 'unix:' + self.path('qtest'))
        a.serial.command('p', r'PAUSED')
        a.check_guest()
        port.write(addr, data)
        found = a.serial.command('c', r'(OK|BAD [^\n]*)\n').group(1)
        self.assertIn('BAD addr=0x%x' % (addr & ~0xfff), found)

    def test_check_finds_damage(self):
        self.check_finds('window=16M rate=100', 0x1234020, b'\x5a')

    def test_check_finds_old_page(self):
        self.check_finds('window=16M rate=100', 0x1234008, b'\xff\xff')

    def test_check_finds_old_page_in_random_order(self):
        self.check_finds('window=16M rate=100 order=random', 0x1234008, b'\xff\xff')

    def test_check_finds_damaged_fill(self):
        self.check_finds('window=4M fill=16M', 0x1f00800, b'\x00\x01\x02')

    def test_migrates(self):
        a = self.start('window=32M fill=64M rate=50 order=random')
        b = self.machine('b', append='', incoming=self.uri('b'))
        migration.run(a, b, self.uri('b'))
        b.serial.wait_more()
        before = b.check_guest()
        b.wait_more_written(1)
        self.assertGreater(b.check_guest(), before)
        self.assertEqual(a.status(), 'postmigrate')


class WriterOnArm64(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def setUp(self):
        super().setUp()
        if not host.virt_has_serial(self.binary):
            self.skipTest('the machine virt has no serial port')

    def test_runs(self):
        a = self.machine('a', append='window=16M rate=50 cpus=2', smp=2)
        a.wait_ready()
        first = a.check_guest()
        a.wait_more_written(1)
        self.assertGreater(a.check_guest(), first)

    def test_starts_at_el2(self):
        a = self.machine('a', append='window=8M rate=50 cpus=2', smp=2,
                         machine='virt,virtualization=on,gic-version=3')
        a.wait_ready()
        a.check_guest()

    def test_migrates(self):
        self.require_tidemark('QEMU 7.2 loses the last writes to the busiest page')
        a = self.machine('a', append='window=16M fill=32M rate=20 order=zipf')
        b = self.machine('b', append='', incoming=self.uri('b'))
        a.wait_ready()
        migration.run(a, b, self.uri('b'))
        before = b.check_guest()
        b.wait_more_written(1)
        self.assertGreater(b.check_guest(), before)


class Clocker(FunctionalTest):
    def test_steady(self):
        a = self.machine('a', guest='clocker', append='clock=10')
        a.wait_ready()
        # A busy host makes it leave out some ticks, and others late.
        self.wait_for(lambda: self.is_steady(a.serial.lines(r'T (\d+) (\d+) \d+')),
                      'a clock that keeps time', 90)

    def is_steady(self, lines):
        if len(lines) < 100:
            return False
        numbers = [int(m.group(1)) for _, m in lines]
        self.assertEqual(numbers, sorted(set(numbers)))
        # delays on the way only add: the smallest one of each half must be the same
        delays = [arrival - int(m.group(2)) / 1e9 for arrival, m in lines]
        half = len(delays) // 2
        # a tick is at its time, unless the host was busy just then
        late = [int(m.group(2)) - int(m.group(1)) * 10_000_000 for _, m in lines[1:]]
        return abs(min(delays[:half]) - min(delays[half:])) <= 0.02 and min(late) < 100_000


class TestDevice(FunctionalTest):
    def setUp(self):
        super().setUp()
        if not host.has_device(self.binary, 'tidemark-testdev'):
            self.skipTest('the emulator has no tidemark-testdev')

    def test_console_and_commands(self):
        a = self.machine('a', append='window=16M rate=100', testdev=True)
        a.wait_ready()
        a.check_guest()

    def test_host_clock(self):
        a = self.machine('a', guest='clocker', append='clock=10', testdev=True)
        a.serial.wait(r'T [5-9]\d \d+ \d+\n')
        lines = a.serial.lines(r'T \d+ (\d+) (\d+)')
        delays = [arrival - int(match.group(2)) / 1e9 for arrival, match in lines]
        self.assertGreaterEqual(min(delays), 0)
        self.assertLess(min(delays), 0.5)
        self.wait_near(lambda: self.pace(a), 1, 0.01, "the guest's clock against the host's")

    @staticmethod
    def pace(a):
        """Passing of the guest's clock for that of the host's, from the first tick to the last."""
        a.serial.wait_more()
        lines = a.serial.lines(r'T \d+ (\d+) (\d+)')
        first, last = lines[0][1], lines[-1][1]
        guest, outside = (int(last.group(i)) - int(first.group(i)) for i in (1, 2))
        return guest / outside

    def test_exit_code(self):
        a = self.machine('a', append='window=1G', testdev=True)
        self.assertEqual(a.wait_exit(), 1)


class Disk(FunctionalTest):
    def test_rounds(self):
        with open(self.path('disk'), 'wb') as disk:
            disk.truncate(1 << 20)
        a = self.machine('a', '-drive', 'if=none,id=d0,format=raw,file=' + self.path('disk'),
                         '-global', 'virtio-mmio.force-legacy=false',
                         '-device', 'virtio-blk-device,drive=d0', guest='disk', append='blocks=8')
        a.serial.wait(r'DISK OK round=3\n')
        a.quit()
        with open(self.path('disk'), 'rb') as disk:
            block = disk.read(8 * 4096)[7 * 4096:]
        self.assertEqual(int.from_bytes(block[:8], 'little'), 7)
        self.assertGreaterEqual(int.from_bytes(block[8:16], 'little'), 3)


class DiskOnArm64(Disk):
    arch = 'aarch64'
    accel = 'tcg'

    def setUp(self):
        super().setUp()
        if not host.virt_has_serial(self.binary):
            self.skipTest('the machine virt has no serial port')


if __name__ == '__main__':
    main()
