#!/usr/bin/env python3
"""The qtest protocol itself: memory in all forms, ports, the clock, refusals."""

from harness import DeviceTest, main

MIB = 1 << 20


class Memory(DeviceTest):
    def setUp(self):
        super().setUp()
        self.bus = self.board('-m', '16M').bus

    def test_endianness(self):
        self.assertEqual(self.bus.command('endianness'), ['little'])

    def test_sizes(self):
        self.bus.store(MIB, 0x8877665544332211, 8)
        for size, value in ((1, 0x11), (2, 0x2211), (4, 0x44332211), (8, 0x8877665544332211)):
            self.assertEqual(self.bus.load(MIB, size), value)
        self.bus.store(MIB + 1, 0xaabb, 2)
        self.assertEqual(self.bus.load(MIB, 8), 0x8877665544aabb11)
        self.bus.store(MIB + 7, 0xff, 1)
        self.assertEqual(self.bus.read(MIB, 8), bytes.fromhex('11bbaa44556677ff'))

    def test_blocks(self):
        data = bytes(range(256)) * 40  # ends within a page
        self.bus.write(MIB - 100, data)
        self.assertEqual(self.bus.read(MIB - 100, len(data)), data)
        self.assertEqual(self.bus.b64read(MIB - 100, len(data)), data)
        self.bus.b64write(2 * MIB, data[::-1])
        self.assertEqual(self.bus.read(2 * MIB, len(data)), data[::-1])

    def test_short_data_is_filled_with_zeroes(self):
        self.bus.memset(MIB, 16, 0xff)
        self.bus.command('write 0x%x 8 0x0102' % MIB)
        self.assertEqual(self.bus.read(MIB, 10), bytes([1, 2, 0, 0, 0, 0, 0, 0, 0xff, 0xff]))

    def test_memset(self):
        self.bus.memset(MIB, MIB, 0x5a)
        self.assertEqual(self.bus.read(2 * MIB - 2, 4), b'\x5a\x5a\0\0')
        self.bus.memset(MIB, 0, 0xff)
        self.assertEqual(self.bus.load(MIB, 1), 0x5a)

    def test_nothing_there(self):
        self.bus.store(0x80000000, 1)  # a hole
        self.assertIn(self.bus.load(0x80000000), (0, 0xffffffff))
        self.bus.port_out(0x999, 1)
        self.assertEqual(self.bus.port_in(0x999), 0xff)

    def test_refusals(self):
        for line in ('nonesuch', 'readb', 'readb x', 'writel 0', 'write 0 4', 'read 0 0', 'memset 0 1',
                     'read 0 0x7fffffffffffffff', 'inq 0', 'outb 0x80', 'clock_step x'):
            with self.subTest(line=line):
                self.assertIn('FAIL', self.bus.fails(line))
        self.assertEqual(self.bus.command('endianness'), ['little'])  # the session goes on


class Clock(DeviceTest):
    def test_step_and_set(self):
        bus = self.board('-rtc', 'clock=vm').bus
        self.assertEqual(bus.clock_set(1000), 1000)
        self.assertEqual(bus.clock_step(500), 1500)
        self.assertIn('FAIL', bus.fails('clock_set 1499'))
        self.assertEqual(bus.clock_step(0), 1500)

    def test_step_to_the_next_timer(self):
        bus = self.board('-rtc', 'clock=vm').bus
        start = bus.clock_step(0)
        bus.port_out(0x70, 0x0b)
        bus.port_out(0x71, 0x42)  # periodic interrupt, every 1/1024 s after power-on
        now = bus.clock_step()
        self.assertGreater(now, start)
        self.assertLessEqual(now - start, 10**9 // 1024 + 31000)


if __name__ == '__main__':
    main()
