#!/usr/bin/env python3
"""Devices with ports: the 16550A serial port, the MC146818 clock, fw_cfg, isa-debug-exit."""

import datetime
import socket
import struct

from harness import DeviceTest, main

SECOND = 10**9


class Serial(DeviceTest):
    """PC16550D data sheet (National Semiconductor), section 8."""

    PORT = 0x3f8
    RBR, IER, IIR, LCR, MCR, LSR, MSR, SCR = range(8)

    def setUp(self):
        super().setUp()
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(self.path('line'))
        listener.listen(1)
        listener.settimeout(20)
        self.bus = self.board('-chardev', 'socket,id=c,path=' + self.path('line'), '-serial', 'chardev:c').bus
        self.line = listener.accept()[0]
        self.line.settimeout(20)
        self.addCleanup(self.line.close)

    def get(self, register):
        return self.bus.port_in(self.PORT + register)

    def put(self, register, value):
        self.bus.port_out(self.PORT + register, value)

    def has_data(self):
        return self.get(self.LSR) & 1

    def test_reset_values(self):
        self.assertEqual(self.get(self.IER), 0)
        self.assertEqual(self.get(self.IIR), 0x01)
        self.assertEqual(self.get(self.LSR), 0x60)

    def test_scratch_and_interrupt_enable(self):
        self.put(self.SCR, 0xa5)
        self.put(self.IER, 0xff)
        self.assertEqual((self.get(self.SCR), self.get(self.IER)), (0xa5, 0x0f))

    def test_divisor_hides_behind_dlab(self):
        self.put(self.IER, 0x05)
        self.put(self.LCR, 0x83)
        self.put(0, 0x34)
        self.put(1, 0x12)
        self.assertEqual((self.get(0), self.get(1), self.get(self.LCR)), (0x34, 0x12, 0x83))
        self.put(self.LCR, 0x03)
        self.assertEqual(self.get(self.IER), 0x05)

    def test_output(self):
        for byte in b'hello\n':
            self.put(0, byte)
        got = b''
        while len(got) < 6:
            got += self.line.recv(16)
        self.assertEqual(got, b'hello\n')

    def test_input(self):
        self.line.sendall(b'xy')
        for byte in b'xy':
            self.wait_for(self.has_data, 'input')
            self.assertEqual(self.get(self.RBR), byte)
        self.assertFalse(self.has_data())

    def test_input_interrupt(self):
        self.put(self.IER, 0x01)
        self.line.sendall(b'z')
        self.wait_for(self.has_data, 'input')
        self.assertEqual(self.get(self.IIR) & 0x0f, 0x04)
        self.assertEqual(self.get(self.RBR), ord('z'))
        self.assertEqual(self.get(self.IIR) & 0x0f, 0x01)

    def test_transmitter_interrupt_is_taken_by_reading(self):
        self.put(self.IER, 0x02)
        self.assertEqual(self.get(self.IIR), 0x02)
        self.assertEqual(self.get(self.IIR), 0x01)

    def test_fifo(self):
        self.put(self.IIR, 0x01)
        self.assertEqual(self.get(self.IIR) & 0xc0, 0xc0)
        self.line.sendall(bytes(range(16)))
        for byte in range(16):
            self.wait_for(self.has_data, 'input')
            self.assertEqual(self.get(self.RBR), byte)
        self.put(self.IIR, 0)
        self.assertEqual(self.get(self.IIR) & 0xc0, 0)

    def test_loop(self):
        self.put(self.MCR, 0x10)
        self.put(0, 0x77)
        self.wait_for(self.has_data, 'the looped byte')
        self.assertEqual(self.get(self.RBR), 0x77)
        self.put(self.MCR, 0x1f)  # DTR, RTS, OUT1, OUT2 come back as DSR, CTS, RI, DCD
        self.assertEqual(self.get(self.MSR) & 0xf0, 0xf0)


class Clock(DeviceTest):
    """MC146818 data sheet (Motorola)."""

    START = datetime.datetime(2006, 6, 17, 16, 1, 21)

    def setUp(self):
        super().setUp()
        board = self.board('-rtc', 'base=2006-06-17T16:01:21,clock=vm')
        self.bus, self.qmp = board.bus, board.qmp

    def get(self, register):
        self.bus.port_out(0x70, register)
        return self.bus.port_in(0x71)

    def put(self, register, value):
        self.bus.port_out(0x70, register)
        self.bus.port_out(0x71, value)

    def date(self):
        """The date in the registers, which must be BCD and 24-hour."""
        self.assertEqual(self.get(0x0b) & 0x06, 0x02)
        second, minute, hour, day, month, year, century = (
            int('%02x' % self.get(n)) for n in (0, 2, 4, 7, 8, 9, 0x32))
        return datetime.datetime(century * 100 + year, month, day, hour, minute, second)

    def test_base(self):
        self.assertLess(abs((self.date() - self.START).total_seconds()), 2)
        self.assertEqual(self.get(6), 7)  # a Saturday

    def test_time_moves_with_the_clock(self):
        before = self.date()
        self.bus.clock_step(90 * SECOND)
        self.assertEqual((self.date() - before).total_seconds(), 90)

    def test_setting_the_time(self):
        self.put(0x0b, 0x82)  # halted
        for register, value in ((0, 0x59), (2, 0x59), (4, 0x23), (7, 0x31), (8, 0x12), (9, 0x99), (0x32, 0x19)):
            self.put(register, value)
        self.put(0x0b, 0x02)
        self.assertEqual(self.date(), datetime.datetime(1999, 12, 31, 23, 59, 59))
        self.bus.clock_step(SECOND)
        self.assertEqual(self.date(), datetime.datetime(2000, 1, 1, 0, 0, 0))
        change = self.qmp.wait_event('RTC_CHANGE')['data']
        wanted = (datetime.datetime(1999, 12, 31, 23, 59, 59) - self.START).total_seconds()
        self.assertLess(abs(change['offset'] - wanted), 2)
        self.assertIn('/machine/', change['qom-path'])

    def test_binary_and_12_hours(self):
        self.put(0x0b, 0x86)
        self.put(4, 23)
        self.assertEqual(self.get(4), 23)
        self.put(0x0b, 0x06)
        self.put(0x0b, 0x04)
        self.assertEqual(self.get(4) & 0x80, 0x80)

    def test_memory(self):
        for address in (0x10, 0x40, 0x7f):
            self.put(address, address ^ 0xff)
        for address in (0x10, 0x40, 0x7f):
            self.assertEqual(self.get(address), address ^ 0xff)

    def test_valid(self):
        self.assertEqual(self.get(0x0d), 0x80)

    def test_update_interrupt(self):
        self.get(0x0c)
        self.put(0x0b, 0x12)
        self.bus.clock_step(SECOND)
        self.assertEqual(self.get(0x0c) & 0x90, 0x90)
        self.assertEqual(self.get(0x0c) & 0x90, 0)

    def test_periodic_interrupt(self):
        self.get(0x0c)
        self.put(0x0b, 0x42)
        self.bus.clock_step(SECOND // 1024 + 31000)
        self.assertEqual(self.get(0x0c) & 0xc0, 0xc0)

    def test_alarm(self):
        self.bus.clock_step(0)
        for register, value in ((1, 0x30), (3, 0x01), (5, 0x16)):
            self.put(register, value)
        self.get(0x0c)
        self.put(0x0b, 0x22)
        self.bus.clock_step(5 * SECOND)
        self.assertEqual(self.get(0x0c) & 0x20, 0)
        self.bus.clock_step(6 * SECOND)
        self.assertEqual(self.get(0x0c) & 0xa0, 0xa0)


class FwCfg(DeviceTest):
    """QEMU Firmware Configuration Device specification."""

    def setUp(self):
        super().setUp()
        blob = self.file('blob', bytes(range(200)))
        self.board_a = self.board('-m', '16M', '-fw_cfg', 'name=opt/text,string=hello', '-fw_cfg',
                                  'opt/blob,file=' + blob)
        self.bus = self.board_a.bus

    def select(self, key):
        self.bus.port_out(0x510, key, 2)

    def data(self, size):
        return bytes(self.bus.port_in(0x511) for _ in range(size))

    def files(self):
        self.select(0x19)
        count, = struct.unpack('>I', self.data(4))
        entries = (struct.unpack('>IHH56s', self.data(64)) for _ in range(count))
        return {name.rstrip(b'\0').decode(): (key, size) for size, key, _, name in entries}

    def test_signature_and_features(self):
        self.select(0)
        self.assertEqual(self.data(4), b'QEMU')
        self.assertEqual(self.data(2), b'\0\0')
        self.select(1)
        self.assertEqual(self.data(4), b'\x03\0\0\0')

    def test_files(self):
        files = self.files()
        self.assertEqual(list(files), sorted(files))
        key, size = files['opt/text']
        self.select(key)
        self.assertEqual(self.data(size), b'hello')
        key, size = files['opt/blob']
        self.select(key)
        self.assertEqual(self.data(size), bytes(range(200)))

    def test_unknown_key(self):
        self.select(0x7fff)
        self.assertEqual(self.data(3), bytes(3))

    def dma(self, control, length, address):
        """Run a transfer; returns the control word that is left."""
        self.bus.write(0x1000, struct.pack('>IIQ', control, length, address))
        self.bus.port_out(0x514, 0, 4)
        self.bus.port_out(0x518, int.from_bytes((0x1000).to_bytes(4, 'big'), 'little'), 4)
        return struct.unpack('>I', self.bus.read(0x1000, 4))[0]

    def test_dma(self):
        key, size = self.files()['opt/blob']
        self.bus.memset(0x2000, 256, 0xee)
        self.assertEqual(self.dma(key << 16 | 0x0a, size, 0x2000), 0)
        self.assertEqual(self.bus.read(0x2000, size + 1), bytes(range(200)) + b'\xee')
        self.assertEqual(self.dma(key << 16 | 0x08, 0, 0), 0)  # select
        self.assertEqual(self.dma(0x04, 50, 0), 0)             # skip
        self.assertEqual(self.dma(0x02, 4, 0x2000), 0)         # read
        self.assertEqual(self.bus.read(0x2000, 4), bytes([50, 51, 52, 53]))

    def test_dma_refuses_to_write(self):
        key, _ = self.files()['opt/blob']
        self.assertEqual(self.dma(key << 16 | 0x18, 4, 0x2000) & 1, 1)

    def test_reset_selects_the_signature(self):
        self.select(0x19)
        self.data(3)
        self.board_a.qmp.cmd('system_reset')
        self.board_a.qmp.wait_event('RESET')
        self.assertEqual(self.data(4), b'QEMU')


class DebugExit(DeviceTest):
    def test_exit_status(self):
        for value, status in ((0, 1), (3, 7), (0x55, 0xab)):
            with self.subTest(value=value):
                board = self.board('-device', 'isa-debug-exit,iobase=0x501,iosize=2', name='exit%d' % value)
                board.bus.port_out(0x501, value, 2)
                self.assertEqual(board.process.wait(20), status)


if __name__ == '__main__':
    main()
