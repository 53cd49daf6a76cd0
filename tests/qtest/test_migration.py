#!/usr/bin/env python3
"""Every device arrives as it left: registers and rings are set up, moved, and read back."""

import struct

import virtio_mmio as mmio
from harness import DeviceTest, QMPError, main

SECOND = 10**9
RINGS = 0x100000
SECTOR = 512
GED = 0xfea00000


class UserNetwork(DeviceTest):
    """The stack of libslirp goes on counting, whether its back end was there at the start or plugged."""

    def test_state(self):
        a = self.board('-netdev', 'user,id=n0')
        a.qmp.cmd('netdev_add', type='user', id='n1')
        self.migrate(a, '-netdev', 'user,id=n0', '-netdev', 'user,id=n1')
        with open(self.path('b.state'), 'rb') as state:
            self.assertEqual(state.read().count(b'\x05slirp'), 2)
        c = self.board('-netdev', 'user,id=n0', '-incoming', 'defer', name='c')
        c.qmp.cmd('migrate-incoming', uri='file:' + self.path('b.state'), exit_on_error=False)
        self.wait_for(lambda: c.qmp.cmd('query-migrate').get('status') == 'failed', 'the refusal')
        self.assertRegex(c.qmp.cmd('query-migrate')['error-desc'], 'slirp')


class RoundTrip(DeviceTest):
    """Each test prepares a device, moves the machine, and looks again.

    Subclasses say how it moves.
    """

    live = False

    def move(self, board, *args):
        return self.migrate(board, *args, live=self.live)

    def test_memory(self):
        args = ['-m', '16M']
        a = self.board(*args)
        a.bus.memset(0x1000, 0x1000, 0x11)
        a.bus.write(0xfffff0, b'end of memory...')
        a.bus.store(0x300000, 0xFEED12345678CAFE, 8)
        b = self.move(a, *args)
        self.assertEqual(b.bus.read(0xffe, 4), b'\0\0\x11\x11')
        self.assertEqual(b.bus.read(0xfffff0, 16), b'end of memory...')
        self.assertEqual(b.bus.load(0x300000, 8), 0xFEED12345678CAFE)

    def test_virtual_clock(self):
        a = self.board()
        now = a.bus.clock_step(12345678)
        b = self.move(a)
        self.assertGreaterEqual(b.bus.clock_step(0), now)

    def test_serial(self):
        args = ['-chardev', 'null,id=c', '-serial', 'chardev:c', '-chardev', 'null,id=d', '-serial', 'chardev:d']
        a = self.board(*args)
        for port, seed in ((0x3f8, 1), (0x2f8, 2)):
            a.bus.port_out(port + 3, 0x80)
            a.bus.port_out(port, 0x30 + seed)
            a.bus.port_out(port + 1, seed)
            a.bus.port_out(port + 3, 0x1b)
            a.bus.port_out(port + 1, 0x0d)
            a.bus.port_out(port + 2, 0x01)
            a.bus.port_out(port + 4, 0x1b)
            a.bus.port_out(port + 7, 0x40 + seed)
            a.bus.port_out(port, 0x99)  # looped: waits to be read
        b = self.move(a, *args)
        for port, seed in ((0x3f8, 1), (0x2f8, 2)):
            self.assertEqual([b.bus.port_in(port + n) for n in (1, 3, 4, 7)], [0x0d, 0x1b, 0x1b, 0x40 + seed])
            self.assertEqual(b.bus.port_in(port + 5) & 1, 1)
            self.assertEqual(b.bus.port_in(port), 0x99)
            self.assertEqual(b.bus.port_in(port + 2) & 0xc0, 0xc0)
            b.bus.port_out(port + 3, 0x9b)
            self.assertEqual((b.bus.port_in(port), b.bus.port_in(port + 1)), (0x30 + seed, seed))

    def test_clock(self):
        args = ['-rtc', 'base=2006-06-17T16:01:21,clock=vm']

        def read(board, register):
            board.bus.port_out(0x70, register)
            return board.bus.port_in(0x71)

        a = self.board(*args)
        for register, value in ((0x40, 0x5a), (1, 0x12), (3, 0x34), (5, 0x23), (0x0b, 0x62)):
            a.bus.port_out(0x70, register)
            a.bus.port_out(0x71, value)
        a.bus.clock_step(100 * SECOND)
        old = [read(a, register) for register in (2, 4, 7, 8, 9, 0x32, 0x0a)]
        a.bus.port_out(0x70, 0x40)
        b = self.move(a, *args)
        self.assertEqual(b.bus.port_in(0x71), 0x5a)  # the index register too
        self.assertEqual([read(b, register) for register in (2, 4, 7, 8, 9, 0x32, 0x0a)], old)
        self.assertEqual([read(b, register) for register in (1, 3, 5, 0x0b)], [0x12, 0x34, 0x23, 0x62])
        read(b, 0x0c)
        b.bus.clock_step(SECOND)
        self.assertEqual(read(b, 0x0c) & 0x40, 0x40)  # the periodic timer runs on

    def test_fw_cfg(self):
        args = ['-fw_cfg', 'name=opt/x,string=abcdefgh']
        a = self.board(*args)
        a.bus.port_out(0x510, 0x19, 2)
        count, = struct.unpack('>I', bytes(a.bus.port_in(0x511) for _ in range(4)))
        entries = [bytes(a.bus.port_in(0x511) for _ in range(64)) for _ in range(count)]
        key, = [struct.unpack('>H', e[4:6])[0] for e in entries if e[8:].startswith(b'opt/x\0')]
        a.bus.port_out(0x510, key, 2)
        self.assertEqual(a.bus.port_in(0x511), ord('a'))
        b = self.move(a, *args)
        self.assertEqual(bytes(b.bus.port_in(0x511) for _ in range(4)), b'bcde')

    def test_power_button(self):
        a = self.board()
        a.qmp.cmd('system_powerdown')
        a.qmp.wait_event('POWERDOWN')
        b = self.move(a)
        self.assertEqual(b.bus.load(GED), 2)
        self.assertEqual(b.bus.load(GED), 0)

    def test_pvpanic(self):
        args = ['-device', 'pvpanic']
        b = self.move(self.board(*args), *args)
        self.assertEqual(b.bus.port_in(0x505), 7)
        b.bus.port_out(0x505, 1)
        b.qmp.wait_event('GUEST_PANICKED')

    def test_disk(self):
        image = self.file('disk', b''.join(bytes([n]) * SECTOR for n in range(64)))
        args = ['-m', '16M', '-drive', 'file=%s,format=raw,if=virtio' % image]
        a = self.board(*args)
        device = mmio.Device.find(a.bus, mmio.BLOCK)
        device.negotiate(1 << 9)
        queue = mmio.Queue(device, 0, RINGS)
        device.go()
        for sector in range(5):
            self.assertEqual(self.read(queue, sector), bytes([sector]) * SECTOR)
        self.write(queue, 9, b'\xab' * SECTOR)
        b = self.move(a, *args)
        device = mmio.Device.find(b.bus, mmio.BLOCK)
        self.assertEqual(device.read(mmio.STATUS), 0x0f)
        self.assertEqual(device.read(mmio.INTERRUPT_STATUS), 1)
        queue = queue.moved_to(device)
        for sector, byte in ((5, 5), (9, 0xab), (63, 63)):
            self.assertEqual(self.read(queue, sector), bytes([byte]) * SECTOR)
        self.write(queue, 10, b'\xcd' * SECTOR)
        # The image is the new machine's: the old one may not run as long as that one lives.
        self.assertEqual([n['active'] for n in a.qmp.cmd('query-named-block-nodes')], [False, False])
        self.assertEqual([n['active'] for n in b.qmp.cmd('query-named-block-nodes')], [True, True])
        with self.assertRaisesRegex(QMPError, 'disk'):
            a.qmp.cmd('cont')
        b.close()
        a.qmp.cmd('cont')
        self.assertEqual(a.qmp.cmd('query-status')['status'], 'running')

    def read(self, queue, sector):
        data, status = queue.request(self, struct.pack('<IIQ', 0, 0, sector), SECTOR, 1)
        self.assertEqual(status, b'\0')
        return data

    def write(self, queue, sector, data):
        self.assertEqual(queue.request(self, struct.pack('<IIQ', 1, 0, sector), data, 1), [b'\0'])

    def test_entropy(self):
        args = ['-m', '16M', '-device', 'virtio-rng,max-bytes=100,period=60000']
        a = self.board(*args)
        device = mmio.Device.find(a.bus, mmio.ENTROPY)
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        device.go()
        queue.request(self, 64)
        b = self.move(a, *args)
        data, = queue.moved_to(mmio.Device.find(b.bus, mmio.ENTROPY)).request(self, 16)
        self.assertNotEqual(data, bytes(16))

    def test_balloon(self):
        args = ['-m', '16M', '-device', 'virtio-balloon']
        a = self.board(*args)
        device = mmio.Device.find(a.bus, mmio.BALLOON)
        device.negotiate(1 << 1)
        inflate = mmio.Queue(device, 0, RINGS)
        mmio.Queue(device, 1, RINGS + 0x4000)
        mmio.Queue(device, 2, RINGS + 0x8000)
        device.go()
        a.qmp.cmd('balloon', value=12 << 20)
        inflate.request(self, struct.pack('<I', 0x800))
        device.write(mmio.CONFIG + 4, 1)
        b = self.move(a, *args)
        device = mmio.Device.find(b.bus, mmio.BALLOON)
        self.assertEqual((device.config(0, 4), device.config(4, 4)), (1024, 1))
        self.assertEqual(b.qmp.cmd('query-balloon'), {'actual': (16 << 20) - 4096})
        inflate.moved_to(device).request(self, struct.pack('<I', 0x801))

    def test_network(self):
        args = ['-m', '16M', '-device', 'virtio-net,mac=52:54:00:aa:bb:cc']
        a = self.board(*args)
        device = mmio.Device.find(a.bus, mmio.NET)
        device.negotiate(1 << 5)
        mmio.Queue(device, 0, RINGS)
        send = mmio.Queue(device, 1, RINGS + 0x4000)
        device.go()
        frame = bytes(12) + b'\xff' * 6 + bytes.fromhex('525400aabbcc') + b'\x08\x06' + bytes(46)
        send.request(self, frame)
        b = self.move(a, *args)
        device = mmio.Device.find(b.bus, mmio.NET)
        self.assertEqual(bytes(device.config(n, 1) for n in range(6)).hex(), '525400aabbcc')
        send.moved_to(device).request(self, frame)

    def test_console(self):
        args = ['-m', '16M', '-device', 'virtio-serial', '-chardev', 'ringbuf,id=c', '-device',
                'virtconsole,chardev=c']
        a = self.board(*args)
        device = mmio.Device.find(a.bus, mmio.CONSOLE)
        device.negotiate(0)
        mmio.Queue(device, 0, RINGS)
        send = mmio.Queue(device, 1, RINGS + 0x4000)
        device.go()
        send.request(self, b'before ')
        b = self.move(a, *args)
        send.moved_to(mmio.Device.find(b.bus, mmio.CONSOLE)).request(self, b'after')
        self.assertEqual(a.qmp.cmd('ringbuf-read', device='c', size=64), 'before ')
        self.assertEqual(b.qmp.cmd('ringbuf-read', device='c', size=64), 'after')


class LiveRoundTrip(RoundTrip):
    """The same over a socket, while the old machine runs."""

    live = True

    def test_refused_by_the_receiver(self):
        """What the receiver cannot load leaves the guest, and its disk, where they were."""
        args = ['-m', '16M', '-drive', 'file=%s,format=raw,if=virtio' % self.file('disk', bytes(64 * SECTOR))]
        a = self.board(*args, '-device', 'virtio-rng')
        device = mmio.Device.find(a.bus, mmio.BLOCK)
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        device.go()
        b = self.board(*args, '-device', 'virtio-balloon', '-incoming', self.uri('b'), name='b')
        a.qmp.cmd('migrate-set-capabilities', capabilities=[{'capability': 'events', 'state': True},
                                                            {'capability': 'return-path', 'state': True}])
        a.qmp.cmd('migrate', uri=self.uri('b'))
        a.qmp.wait_event('MIGRATION', match=lambda data: data['status'] in ('completed', 'failed'))
        self.assertEqual(a.qmp.cmd('query-migrate')['status'], 'failed')
        self.assertEqual(b.process.wait(20), 1)
        self.assertEqual(a.qmp.cmd('query-status')['status'], 'running')
        self.write(queue, 3, b'\x55' * SECTOR)
        self.assertEqual(self.read(queue, 3), b'\x55' * SECTOR)


if __name__ == '__main__':
    main()
