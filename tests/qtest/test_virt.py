#!/usr/bin/env python3
"""Devices of arm64's virt: PrimeCells, PCI, virtio on PCI."""

import os
import struct
import subprocess

import virtio_mmio as mmio
import virtio_pci as pci
from harness import DeviceTest, main

RAM = 0x40000000
UART, RTC, GPIO = 0x9000000, 0x9010000, 0x9030000
RINGS = RAM + 0x100000
MESSAGES = RAM + 0x200000
SECTOR = 512


class VirtTest(DeviceTest):
    arch = 'aarch64'
    machine_type = 'virt'

    def board(self, *args, name='a'):
        return super().board('-m', '64', *args, name=name)

    def refusal(self, *args):
        """What a machine that must not start says."""
        result = subprocess.run([self.binary, '-accel', 'qtest', '-M', 'virt', '-m', '64', '-nodefaults',
                                 '-display', 'none', *args], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr


class PrimeCells(VirtTest):
    def test_identities(self):
        bus = self.board().bus
        for base, periph in ((UART, 0x00141011), (RTC, 0x00141031), (GPIO, 0x00041061)):
            found = [bus.load(base + 0xfe0 + 4 * n) for n in range(8)]
            self.assertEqual(bytes(found), struct.pack('<II', periph, 0xb105f00d))

    def test_serial_output(self):
        path = self.path('out')
        bus = self.board('-chardev', 'file,id=c,path=' + path, '-serial', 'chardev:c').bus
        for byte in b'hello\n':
            bus.store(UART, byte)
        self.wait_for(lambda: open(path, 'rb').read() == b'hello\n', 'the text in the file')

    def test_second_serial_only_if_asked_for(self):
        self.assertEqual(self.board().bus.load(0x9040018), 0xffffffff)
        bus = self.board('-serial', 'null', '-serial', 'null', name='b').bus
        self.assertEqual(bus.load(0x9040018), 0x90)

    def test_power_button_pulses_line_3(self):
        board = self.board()
        board.bus.store(GPIO + 0x40c, 8)
        board.qmp.cmd('system_powerdown')
        self.wait_for(lambda: board.bus.load(GPIO + 0x3fc) == 8, 'the key to be down')
        self.assertEqual(board.bus.load(GPIO + 0x414), 8)
        board.bus.clock_step(100 * 10**6)
        self.assertEqual(board.bus.load(GPIO + 0x3fc), 0)

    def test_state_moves(self):
        a = self.board()
        a.bus.store(UART + 0x24, 13)
        a.bus.store(RTC + 8, 4000000000)
        a.bus.store(GPIO + 0x400, 0xf0)
        b = self.migrate(a)
        self.assertEqual(b.bus.load(UART + 0x24), 13)
        self.assertIn(b.bus.load(RTC) - 4000000000, range(0, 60))
        self.assertEqual(b.bus.load(GPIO + 0x400), 0xf0)


class Bus(VirtTest):
    """Configuration space and who decodes what."""


    def test_host_bridge(self):
        host = pci.Function(self.board().bus, 0)
        self.assertEqual(host.read(0), 0x00081b36)
        self.assertEqual(host.read(8), 0x06000000)
        self.assertEqual(host.read(0x2c), 0x11001af4)

    def test_empty_slots_read_as_ones(self):
        bus = self.board().bus
        self.assertEqual(pci.Function(bus, 5).read(0), 0xffffffff)
        self.assertEqual(pci.Function(bus, 0, number=3).read(0), 0xffffffff)

    def test_identities_and_capabilities(self):
        """As qemu-system-aarch64 11.1 has them: they travel in migrations."""
        self.check_identities('virt-11.1', balloon_vector=1)

    def test_identities_of_older_versions(self):
        """The balloon had no MSI-X before 10.0."""
        self.check_identities('virt-7.2', balloon_vector=None)

    def check_identities(self, machine, balloon_vector):
        devices = {
            'virtio-net': (0x10001af4, 0x02000000, 0x00011af4, 3), 'virtio-rng': (0x10051af4, 0x00ff0000, 0x00041af4, 1),
            'virtio-serial': (0x10031af4, 0x07800000, 0x00031af4, 1), 'virtio-balloon': (0x10021af4, 0x00ff0000, 0x00051af4, balloon_vector),
        }
        args = ['-machine', machine]
        for slot, name in enumerate(devices, 1):
            args += ['-device', '%s-pci,addr=%d.0' % (name, slot)]
        bus = self.board(*args).bus
        for slot, (name, (ids, class_code, subsystem, last_vector)) in enumerate(devices.items(), 1):
            with self.subTest(name):
                function = pci.Function(bus, slot)
                self.assertEqual(function.read(0), ids)
                self.assertEqual(function.read(8), class_code)
                self.assertEqual(function.read(0x2c), subsystem)
                self.assertEqual(function.read(0x3c), 0x100)
                vendor = [0x84, 0x70, 0x60, 0x50, 0x40]
                self.assertEqual([at for kind, at in function.capabilities() if kind == pci.CAP_VENDOR], vendor)
                self.assertEqual([function.read(at + 3, 1) for at in vendor], [5, 2, 4, 3, 1])
                if last_vector is None:
                    self.assertIsNone(function.capability(pci.CAP_MSIX))
                    continue
                self.assertEqual(function.capability(pci.CAP_MSIX), 0x98)
                self.assertEqual(function.read(0x9a, 2), last_vector)
                self.assertEqual((function.read(0x9c), function.read(0xa0)), (1, 0x801))

    def test_behind_a_port_devices_are_modern_and_express(self):
        self.check_express('virt-11.1', 0x10008020)

    def test_tags_of_older_versions(self):
        """They had 5 bits before 9.2."""
        self.check_express('virt-9.1', 0x10008000)

    def check_express(self, machine, capabilities):
        bus = self.board('-machine', machine, '-device', 'pcie-root-port,id=p,chassis=1,addr=2',
                         '-device', 'virtio-rng-pci,bus=p').bus
        port = pci.Function(bus, 2)
        self.assertEqual(port.read(0), 0x000c1b36)
        port.write(0x18, 0x010100)
        function = pci.Function(bus, 0, number=1)
        self.assertEqual(function.read(0), 0x10441af4)
        self.assertEqual(function.read(8), 0x00ff0001)
        self.assertEqual([at for _, at in function.capabilities()], [0xdc, 0xc8, 0xb4, 0xa4, 0x94, 0x84, 0x7c, 0x40])
        self.assertEqual(function.read(0x44), capabilities)
        self.assertEqual(port.read(port.capability(pci.CAP_EXPRESS) + 0x1a, 2), 0x40)

    def test_bar_sizes(self):
        function = pci.Function(self.board('-device', 'virtio-rng-pci,addr=1').bus, 1)
        self.assertEqual([function.bar_size(n) for n in (0, 1, 2, 3, 4)], [0x20, 0x1000, 0, 0, 0x4000])

    def test_bars_follow_register_and_command(self):
        bus = self.board('-device', 'virtio-rng-pci,addr=1').bus
        function = pci.Function(bus, 1)
        device = pci.Device(bus, function)
        device.write(mmio.STATUS, 1)
        self.assertEqual(device.read(mmio.STATUS), 1)
        function.write(pci.COMMAND, 0, 2)
        self.assertEqual(bus.load(pci.MEM64 + 0x14, 1), 0xff)
        moved = pci.Device(bus, function, base=pci.MEM32 + 0x8000)
        self.assertEqual(moved.read(mmio.STATUS), 1)
        self.assertEqual(bus.load(pci.MEM64 + 0x14, 1), 0xff)
        function.write(pci.BAR0 + 16, 0x40000000)  # RAM: not a window of the bridge
        self.assertEqual(bus.load(pci.MEM32 + 0x8014, 1), 0xff)

    def test_bridge_windows(self):
        bus = self.board('-device', 'pcie-root-port,id=p,chassis=1,addr=2', '-device', 'virtio-rng-pci,bus=p').bus
        port = pci.Function(bus, 2)
        port.write(0x18, 0x010100)
        device = pci.Device(bus, pci.Function(bus, 0, number=1), base=pci.MEM32 + 0x100000)
        self.assertEqual(device.read(mmio.STATUS), 0xff)  # the window is closed
        port.write(0x24, 0x10101010)
        port.write(0x28, 0)
        port.write(0x2c, 0)
        self.assertEqual(device.read(mmio.STATUS), 0xff)  # and the port does not forward
        port.write(pci.COMMAND, pci.COMMAND_MEMORY | pci.COMMAND_MASTER, 2)
        self.assertEqual(device.read(mmio.STATUS), 0)
        port.write(0x24, 0x10201020)
        self.assertEqual(device.read(mmio.STATUS), 0xff)

    def test_addresses(self):
        rng = 'virtio-rng-pci'
        port = ('-device', 'pcie-root-port,id=p,chassis=1')
        for args, want in (
                (('-device', rng + ',addr=20'), "property 'virtio-rng-pci.addr' does not take value '20', it wants "
                 'SLOT.FUNCTION, hexadecimal, 0 to 1f and 0 to 7'),
                (('-device', rng + ',addr=0'), 'PCI: slot 0 function 0 not available for virtio-rng-pci, in use by '
                 'gpex-root,id='),
                (('-device', rng + ',addr=3', '-device', rng + ',addr=3.1'),
                 "PCI: 3.0 indicates single function, can't populate 3.1"),
                (('-device', rng + ',addr=3.1', '-device', rng + ',addr=3'),
                 'PCI: 3.0 indicates single function, but 3.1 is already populated'),
                (port + ('-device', rng + ',bus=p,addr=1'), "slot 1 is not valid for virtio-rng-pci, bus 'p' below a port"),
                (port + ('-device', rng + ',bus=p', '-device', rng + ',bus=p'),
                 "no slot/function available for virtio-rng-pci, all in use on bus 'p'"),
                (port + ('-device', 'pcie-root-port,id=q,chassis=1'), 'chassis=1, slot=0 are those of p'),
                (('-device', rng + ',disable-legacy=on,disable-modern=on'), 'leave no interface'),
                (('-device', rng + ',queue-size=3'), "Property 'virtio-rng-pci.queue-size' not found")):
            with self.subTest(args):
                self.assertIn(want, self.refusal(*args))

    def test_multifunction(self):
        bus = self.board('-device', 'virtio-rng-pci,addr=3,multifunction=on', '-device', 'virtio-rng-pci,addr=0x3.0x1').bus
        self.assertEqual(pci.Function(bus, 3).read(0x0e, 1), 0x80)
        self.assertEqual(pci.Function(bus, 3, 1).read(0), 0x10051af4)

    def test_info_pci(self):
        text = self.board('-device', 'virtio-rng-pci,id=r').qmp.cmd('human-monitor-command', **{'command-line': 'info pci'})
        self.assertIn('Host bridge: PCI device 1b36:0008', text)
        self.assertIn('id "r"', text)


class Virtio(VirtTest):
    def setUp(self):
        super().setUp()
        self.image = self.file('disk', b''.join(bytes([n]) * SECTOR for n in range(64)))

    def disk_args(self, *options):
        return ['-blockdev', 'driver=file,filename=%s,node-name=d' % self.image,
                '-device', ','.join(['virtio-blk-pci,drive=d,addr=4', *options])]

    def request(self, queue, kind, sector, *parts):
        header = struct.pack('<IIQ', kind, 0, sector)
        *data, status = queue.request(self, header, *parts, 1)
        self.assertEqual(status, b'\0')
        return data

    def test_read_and_write(self):
        bus = self.board(*self.disk_args()).bus
        device = pci.Device(bus, pci.Function(bus, 4))
        device.negotiate(0)
        self.assertEqual(device.config(0, 4), 64)
        queue = mmio.Queue(device, 0, RINGS)
        device.go()
        self.assertEqual(self.request(queue, 0, 5, SECTOR), [bytes([5]) * SECTOR])
        self.assertEqual(device.interrupt(), 1)
        self.assertEqual(device.interrupt(), 0)
        self.request(queue, 1, 6, b'x' * SECTOR)
        self.assertEqual(self.request(queue, 0, 6, SECTOR), [b'x' * SECTOR])

    def test_messages(self):
        bus = self.board(*self.disk_args()).bus
        device = pci.Device(bus, pci.Function(bus, 4), msix=pci.MEM32)
        device.use_vectors(pci.MEM32, [(MESSAGES, 0x11), (MESSAGES + 4, 0x22)])
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        bus.store(device.base + 0x1a, 1, 2)
        self.assertEqual(bus.load(device.base + 0x1a, 2), 1)
        device.go()
        self.request(queue, 0, 0, SECTOR)
        self.wait_for(lambda: bus.load(MESSAGES + 4) == 0x22, 'the message of the queue')
        self.assertEqual(bus.load(MESSAGES), 0)
        bus.store(MESSAGES + 4, 0)
        bus.store(pci.MEM32 + 16 + 12, 1)  # masked: it waits
        self.request(queue, 0, 0, SECTOR)
        self.wait_for(lambda: bus.load(pci.MEM32 + 0x800) == 2, 'the pending bit')
        self.assertEqual(bus.load(MESSAGES + 4), 0)
        bus.store(pci.MEM32 + 16 + 12, 0)
        self.assertEqual(bus.load(MESSAGES + 4), 0x22)
        self.assertEqual(bus.load(pci.MEM32 + 0x800), 0)

    def test_messages_by_the_frame_of_gicv2(self):
        bus = self.board(*self.disk_args()).bus
        self.assertEqual(bus.load(0x8020008), 80 << 16 | 64)
        bus.store(0x8000c14, 8)     # INTID 81 is edge-triggered
        device = pci.Device(bus, pci.Function(bus, 4), msix=pci.MEM32)
        device.use_vectors(pci.MEM32, [(0x8020040, 80), (0x8020040, 81)])
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        bus.store(device.base + 0x1a, 1, 2)
        device.go()
        self.assertEqual(bus.load(0x8000208), 0)    # GICD_ISPENDR2
        self.request(queue, 0, 0, SECTOR)
        self.wait_for(lambda: bus.load(0x8000208) == 1 << 17, 'the interrupt')

    def test_vectors_beyond_the_table(self):
        bus = self.board(*self.disk_args()).bus
        device = pci.Device(bus, pci.Function(bus, 4))
        bus.store(device.base + 0x10, 7, 2)
        self.assertEqual(bus.load(device.base + 0x10, 2), pci.NO_VECTOR)

    def test_window_in_configuration_space(self):
        bus = self.board(*self.disk_args()).bus
        function = pci.Function(bus, 4)
        pci.Device(bus, function)
        function.write(0x88, 4, 1)
        function.write(0x8c, pci.DEVICE)
        function.write(0x90, 4)
        self.assertEqual(function.read(0x94), 64)
        function.write(0x8c, 0x14)
        function.write(0x90, 1)
        function.write(0x94, 1)
        self.assertEqual(bus.load(pci.MEM64 + 0x14, 1), 1)

    def test_legacy_interface(self):
        bus = self.board(*self.disk_args()).bus
        function = pci.Function(bus, 4)
        function.write(pci.BAR0, 0x1000)
        function.write(pci.COMMAND, pci.COMMAND_IO | pci.COMMAND_MASTER, 2)
        base = pci.IO + 0x1000
        bus.store(base + 18, 3, 1)
        bus.store(base + 4, bus.load(base) & 0x40)  # block size, no event index
        self.assertEqual(bus.load(base + 12, 2), 256)
        bus.store(base + 8, RINGS >> 12)
        bus.store(base + 18, 7, 1)
        self.assertEqual(bus.load(base + 18, 1), 7)
        self.assertEqual(bus.load(base + 20), 64)  # capacity: without MSI-X the configuration is here
        data, used = RINGS + 0x4000, RINGS + 0x2000
        bus.write(data, struct.pack('<IIQ', 0, 0, 9))
        for n, (at, size, flags) in enumerate(((data, 16, 1), (data + 512, SECTOR, 3), (data + 64, 1, 2))):
            bus.write(RINGS + 16 * n, struct.pack('<QIHH', at, size, flags, n + 1))
        bus.store(RINGS + 4096 + 2, 1, 2)
        bus.store(base + 16, 0, 2)
        self.wait_for(lambda: bus.load(used + 2, 2) == 1, 'the used ring')
        self.assertEqual(bus.read(data + 512, SECTOR), bytes([9]) * SECTOR)
        self.assertEqual(bus.load(base + 19, 1), 1)
        self.assertEqual(bus.load(base + 19, 1), 0)
        function.write(0x9a, 0x8000, 2)
        self.assertEqual(bus.load(base + 24), 64)

    def test_reset_by_the_function(self):
        bus = self.board('-device', 'pcie-root-port,id=p,chassis=1,addr=2', '-device', 'virtio-rng-pci,bus=p').bus
        port = pci.Function(bus, 2)
        port.write(0x18, 0x010100)
        port.write(0x24, 0x10001000)
        port.write(0x28, 0)
        port.write(0x2c, 0)
        port.write(pci.COMMAND, 6, 2)
        function = pci.Function(bus, 0, number=1)
        device = pci.Device(bus, function, base=pci.MEM32)
        device.write(mmio.STATUS, 1)
        function.write(0x48, 0x8000, 2)
        self.assertEqual(function.read(pci.COMMAND, 2), 0)
        self.assertEqual(pci.Device(bus, function, base=pci.MEM32).read(mmio.STATUS), 0)
        pci.Device(bus, function, base=pci.MEM32).write(mmio.STATUS, 1)
        port.write(0x3e, 0x40, 2)
        port.write(0x3e, 0, 2)
        self.assertEqual(pci.Device(bus, function, base=pci.MEM32).read(mmio.STATUS), 0)

    def test_names_without_suffix_mean_pci(self):
        board = self.board('-drive', 'if=virtio,format=raw,file=' + self.image, '-nic', 'user', '-device', 'virtio-rng')
        found = {pci.Function(board.bus, slot).read(0) for slot in range(1, 5)}
        self.assertEqual(found, {0x10001af4, 0x10011af4, 0x10051af4, 0xffffffff})

    def test_serial_ports_by_the_id_of_the_controller(self):
        self.board('-device', 'virtio-serial-pci,id=s', '-chardev', 'null,id=c', '-device',
                   'virtserialport,bus=s.0,chardev=c')

    def test_tree(self):
        qmp = self.board('-device', 'virtio-balloon-pci,id=b').qmp
        names = {p['name'] for p in qmp.cmd('qom-list', path='/machine/peripheral/b')}
        self.assertLessEqual({'addr', 'multifunction', 'guest-stats', 'virtio-backend'}, names)
        self.assertEqual(qmp.cmd('qom-get', path='/machine/peripheral/b/virtio-backend', property='type'),
                         'virtio-balloon-device')
        self.assertEqual(qmp.cmd('qom-get', path='/machine/peripheral/b', property='deflate-on-oom'), False)

    def moves(self, where):
        args = self.disk_args()
        args[-1] = args[-1].replace('addr=4', where)
        if where == 'bus=p':
            args[0:0] = ['-device', 'pcie-root-port,id=p,chassis=1,addr=2']
        return args

    def check_move(self, args, function_at, base, setup=None):
        a = self.board(*args)
        if setup:
            setup(a.bus)
        device = pci.Device(a.bus, function_at(a.bus), base=base, msix=base + 0x10000)
        device.use_vectors(base + 0x10000, [(MESSAGES, 0x11), (MESSAGES + 4, 0x22)])
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        a.bus.store(base + 0x1a, 1, 2)
        device.go()
        self.request(queue, 1, 3, b'm' * SECTOR)
        b = self.migrate(a, *args)
        b.bus.store(MESSAGES + 4, 0)
        there = device.moved_to(b.bus, function_at(b.bus))
        queue = queue.moved_to(there)
        self.assertEqual(self.request(queue, 0, 3, SECTOR), [b'm' * SECTOR])
        self.wait_for(lambda: b.bus.load(MESSAGES + 4) == 0x22, 'the message of the queue')

    def test_moves_on_the_root_bus(self):
        self.check_move(self.moves('addr=4'), lambda bus: pci.Function(bus, 4), pci.MEM32)

    def test_moves_behind_a_port(self):
        def open_port(bus):
            port = pci.Function(bus, 2)
            port.write(0x18, 0x010100)
            port.write(0x20, 0x10101000)
            port.write(0x24, 0x10001000)
            port.write(0x28, 0)
            port.write(0x2c, 0)
            port.write(pci.COMMAND, 6, 2)

        self.check_move(self.moves('bus=p'), lambda bus: pci.Function(bus, 0, number=1), pci.MEM32, open_port)

    def test_another_device_in_its_place_is_refused(self):
        a = self.board('-device', 'virtio-rng-pci,addr=4')
        path = 'file:' + self.path('state')
        a.qmp.cmd('migrate', uri=path)
        self.wait_for(lambda: a.qmp.cmd('query-migrate').get('status') == 'completed', 'the migration')
        text = self.refusal('-device', 'virtio-rng-pci,addr=4,vectors=5', '-incoming', path)
        self.assertIn('byte 0x9a of the PCI configuration is 0x01 at the source, 0x04 here', text)


class Messages(VirtTest):
    def test_its_is_there_unless_switched_off(self):
        its = self.board('-machine', 'gic-version=3').bus.load(0x8080000 + 0xffe8)
        self.assertEqual(its & 0xf0, 0x30)  # GITS_PIDR2: GICv3
        without = self.board('-machine', 'gic-version=3,its=off', name='b')
        self.assertEqual(without.bus.load(0x8080000 + 0xffe8), 0xffffffff)


class Flash(VirtTest):
    """Two banks of 64 MiB, two 16-bit chips side by side."""

    BANK, SECTOR = 64 << 20, 256 << 10
    READY = 0x00800080

    def setUp(self):
        super().setUp()
        self.images = [self.path('flash%d' % n) for n in range(2)]
        for n, image in enumerate(self.images):
            with open(image, 'wb') as f:
                f.write(b'bank %d..' % n)
                f.truncate(self.BANK)

    def drives(self, code='', variables=''):
        return ['-drive', 'if=pflash,format=raw,file=%s%s' % (self.images[0], code),
                '-drive', 'if=pflash,format=raw,file=%s%s' % (self.images[1], variables)]

    def content(self, offset, size, bank=1):
        with open(self.images[bank], 'rb') as f:
            f.seek(offset)
            return f.read(size)

    def program(self, bus, at, value):
        bus.store(at, 0x00400040)
        bus.store(at, value)
        self.assertEqual(bus.load(at), self.READY)
        bus.store(at, 0x00ff00ff)

    def test_content_and_identity(self):
        bus = self.board(*self.drives()).bus
        self.assertEqual(bus.read(0, 8), b'bank 0..')
        self.assertEqual(bus.read(self.BANK, 8), b'bank 1..')
        bus.store(self.BANK, 0x00900090)
        self.assertEqual((bus.load(self.BANK), bus.load(self.BANK + 4)), (0x00890089, 0x00180018))
        bus.store(self.BANK, 0x00980098)
        self.assertEqual([bus.load(self.BANK + 4 * n) for n in (0x10, 0x11, 0x12)],
                         [0x00510051, 0x00520052, 0x00590059])
        self.assertEqual(bus.load(self.BANK + 4 * 0x27), 0x00190019)  # 32 MiB a chip
        bus.store(self.BANK, 0x00ff00ff)
        self.assertEqual(bus.read(self.BANK, 8), b'bank 1..')

    def test_program_and_erase_reach_the_file(self):
        bus = self.board(*self.drives()).bus
        at = self.BANK + self.SECTOR
        self.program(bus, at + 8, 0x44332211)
        self.assertEqual(bus.load(at + 8), 0x44332211)
        self.assertEqual(self.content(self.SECTOR + 8, 4), bytes.fromhex('11223344'))
        bus.store(at, 0x00200020)
        bus.store(at, 0x00d000d0)
        self.assertEqual(bus.load(at), self.READY)
        bus.store(at, 0x00ff00ff)
        self.assertEqual(bus.read(at + 4, 8), b'\xff' * 8)
        self.assertEqual(self.content(self.SECTOR, self.SECTOR), b'\xff' * self.SECTOR)
        self.assertEqual(self.content(0, 8), b'bank 1..')

    def test_buffered_write(self):
        bus = self.board(*self.drives()).bus
        at = self.BANK + 0x1000
        bus.store(at, 0x00e800e8)
        self.assertEqual(bus.load(at), self.READY)
        bus.store(at, 0x00030003)
        for n in range(4):
            bus.store(at + 4 * n, 0x01010101 * (n + 1))
        bus.store(at, 0x00d000d0)
        self.assertEqual(bus.load(at), self.READY)
        bus.store(at, 0x00ff00ff)
        want = b''.join(bytes([n]) * 4 for n in (1, 2, 3, 4))
        self.assertEqual(bus.read(at, 16), want)
        self.assertEqual(self.content(0x1000, 16), want)

    def test_read_only_content_cannot_be_changed(self):
        bus = self.board(*self.drives(code=',readonly=on')).bus
        bus.store(0, 0x00400040)
        bus.store(0, 0)
        self.assertEqual(bus.load(0), 0x00900090)  # ready, program error
        bus.store(0, 0x00500050)
        self.assertEqual(bus.read(0, 8), b'bank 0..')
        self.assertEqual(self.content(0, 8, bank=0), b'bank 0..')

    def test_moves_in_the_middle_of_a_command(self):
        a = self.board(*self.drives())
        self.program(a.bus, self.BANK, 0x12345678)
        a.bus.store(self.BANK, 0x00700070)
        b = self.migrate(a, *self.drives())
        self.assertEqual(b.bus.load(self.BANK), self.READY)
        b.bus.store(self.BANK, 0x00ff00ff)
        self.assertEqual(b.bus.load(self.BANK), 0x12345678)

    def test_another_drive_gets_what_differs(self):
        a = self.board(*self.drives())
        self.program(a.bus, self.BANK + 3 * self.SECTOR, 0x12345678)
        self.images[1] = self.path('other')
        with open(self.images[1], 'wb') as f:
            f.truncate(self.BANK)
        b = self.migrate(a, *self.drives())
        self.assertEqual(b.bus.load(self.BANK + 3 * self.SECTOR), 0x12345678)
        self.assertEqual(self.content(0, 8), b'bank 1..')
        self.assertEqual(self.content(3 * self.SECTOR, 4), bytes.fromhex('78563412'))
        self.assertLess(os.stat(self.images[1]).st_blocks * 512, 4 * self.SECTOR)
        self.program(b.bus, self.BANK + 5 * self.SECTOR, 1)
        self.assertEqual(self.content(5 * self.SECTOR, 4), b'\1\0\0\0')

    def test_named_by_the_machine(self):
        bus = self.board('-blockdev', 'driver=file,filename=%s,node-name=v' % self.images[1],
                         '-machine', 'pflash1=v').bus
        self.assertEqual(bus.read(self.BANK, 8), b'bank 1..')
        self.assertEqual(bus.read(0, 8), bytes(8))

    def test_bios(self):
        bus = self.board('-bios', self.file('fw', b'firmware')).bus
        self.assertEqual(bus.read(0, 12), b'firmware\0\0\0\0')

    def test_refusals(self):
        small = self.file('small', bytes(65536))
        for args, want in (
                (('-drive', 'if=pflash,format=raw,file=' + small),
                 'flash virt.flash0 takes 67108864 bytes'),
                ((*self.drives(), '-bios', small), 'the first flash has its content from'),
                (('-bios', self.path('none')), '-bios: '),
                ((*self.drives(), '-blockdev', 'driver=null-co,node-name=n,size=64M', '-machine', 'pflash0=n'),
                 '-machine pflash0=n and -drive if=pflash,index=0 name the same flash')):
            with self.subTest(args):
                self.assertIn(want, self.refusal(*args))


if __name__ == '__main__':
    main()
