#!/usr/bin/env python3
"""Virtio devices on virtio-mmio: registers, requests of the disk, randomness, the balloon."""

import pathlib
import resource
import struct

import virtio_mmio as mmio
from harness import DeviceTest, QMPError, main

SECTOR = 512
RINGS = 0x100000


class Transport(DeviceTest):
    def test_empty_slot(self):
        device = mmio.Device(self.board().bus, 3)
        self.assertEqual(device.read(mmio.MAGIC), 0x74726976)
        self.assertEqual(device.read(mmio.DEVICE_ID), 0)

    def test_registers(self):
        device = mmio.Device.find(self.board('-device', 'virtio-rng').bus, mmio.ENTROPY)
        self.assertEqual(device.read(mmio.MAGIC), 0x74726976)
        self.assertEqual(device.read(mmio.VERSION), 2)
        self.assertTrue(device.features() & mmio.F_VERSION_1)
        self.assertEqual(device.read(mmio.STATUS), 0)
        device.negotiate(0)
        device.write(mmio.QUEUE_SEL, 1)
        self.assertEqual(device.read(mmio.QUEUE_NUM_MAX), 0)  # there is but one queue
        device.write(mmio.STATUS, 0)
        self.assertEqual(device.read(mmio.STATUS), 0)

    def test_features_that_were_not_offered_are_refused(self):
        device = mmio.Device.find(self.board('-device', 'virtio-rng').bus, mmio.ENTROPY)
        device.write(mmio.STATUS, mmio.ACKNOWLEDGE | mmio.DRIVER)
        device.write(mmio.DRIVER_FEATURES_SEL, 0)
        device.write(mmio.DRIVER_FEATURES, 1 << 20)
        device.write(mmio.STATUS, mmio.ACKNOWLEDGE | mmio.DRIVER | mmio.FEATURES_OK)
        self.assertFalse(device.read(mmio.STATUS) & mmio.FEATURES_OK)

    def test_devices_fill_the_slots_from_the_eighth_down(self):
        bus = self.board('-device', 'virtio-rng', '-device', 'virtio-balloon').bus
        self.assertEqual(mmio.Device(bus, 7).read(mmio.DEVICE_ID), mmio.ENTROPY)
        self.assertEqual(mmio.Device(bus, 6).read(mmio.DEVICE_ID), mmio.BALLOON)


class Disk(DeviceTest):
    IN, OUT, FLUSH, GET_ID = 0, 1, 4, 8
    F_FLUSH = 1 << 9

    def setUp(self):
        super().setUp()
        image = b''.join(bytes([n]) * SECTOR for n in range(64))
        self.image = self.file('disk', image)

    def start(self, *args, drive=''):
        board = self.board('-m', '16M', '-drive', 'file=%s,format=raw,if=none,id=d%s' % (self.image, drive),
                           '-device', 'virtio-blk,drive=d,serial=TIDE-1', *args)
        self.begin(board)
        return board

    def begin(self, board):
        self.device = mmio.Device.find(board.bus, mmio.BLOCK)
        self.agreed = self.device.negotiate(self.F_FLUSH)
        self.queue = mmio.Queue(self.device, 0, RINGS)
        self.device.go()

    def request(self, kind, sector, *data):
        """Returns the status byte and what the device wrote before it."""
        *read, status = self.queue.request(self, struct.pack('<IIQ', kind, 0, sector), *data, 1)
        return status[0], b''.join(read)

    def test_capacity(self):
        self.start()
        self.assertEqual(self.device.config(0, 4), 64)
        self.assertEqual(self.device.config(4, 4), 0)

    def test_read(self):
        self.start()
        self.assertEqual(self.request(self.IN, 5, SECTOR), (0, bytes([5]) * SECTOR))
        status, data = self.request(self.IN, 62, SECTOR, SECTOR)
        self.assertEqual((status, data), (0, bytes([62]) * SECTOR + bytes([63]) * SECTOR))
        self.assertEqual(self.device.interrupt(), 1)
        self.assertEqual(self.device.interrupt(), 0)

    def check_sandboxed(self, aio):
        """With what libvirt asks for; the thread or ring that serves the requests is made by the first."""
        self.start('-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
                   drive=',cache=none,aio=' + aio)
        self.assertEqual(self.request(self.IN, 5, SECTOR), (0, bytes([5]) * SECTOR))

    def test_threads_in_a_sandbox(self):
        self.check_sandboxed('threads')

    def test_ring_in_a_sandbox(self):
        self.check_sandboxed('io_uring')

    def test_write(self):
        self.start()
        self.assertEqual(self.request(self.OUT, 7, b'\xa5' * SECTOR)[0], 0)
        self.assertEqual(self.request(self.FLUSH, 0)[0], 0)
        self.assertEqual(self.request(self.IN, 7, SECTOR), (0, b'\xa5' * SECTOR))
        with open(self.image, 'rb') as image:
            image.seek(6 * SECTOR)
            self.assertEqual(image.read(3 * SECTOR), b'\x06' * SECTOR + b'\xa5' * SECTOR + b'\x08' * SECTOR)

    def test_identification(self):
        self.start()
        status, text = self.request(self.GET_ID, 0, 20)
        self.assertEqual((status, text.rstrip(b'\0')), (0, b'TIDE-1'))

    def test_errors(self):
        self.start()
        self.assertEqual(self.request(self.IN, 64, SECTOR)[0], 1)
        self.assertEqual(self.request(self.IN, 63, 2 * SECTOR)[0], 1)
        self.assertEqual(self.request(self.OUT, 1 << 60, bytes(SECTOR))[0], 1)
        self.assertEqual(self.request(0x99, 0)[0], 2)
        self.assertEqual(self.request(self.IN, 63, SECTOR)[0], 0)

    def test_read_only(self):
        self.start(drive=',readonly=on')
        self.assertTrue(self.device.features() & 1 << 5)
        self.assertEqual(self.request(self.OUT, 0, bytes(SECTOR))[0], 1)

    def test_snapshot_keeps_the_file(self):
        self.start(drive=',snapshot=on')
        before = pathlib.Path(self.image).read_bytes()
        self.assertEqual(self.request(self.OUT, 0, b'\xee' * SECTOR)[0], 0)
        self.assertEqual(self.request(self.IN, 0, SECTOR), (0, b'\xee' * SECTOR))
        self.assertEqual(pathlib.Path(self.image).read_bytes(), before)

    def test_statistics(self):
        board = self.start()
        self.request(self.IN, 0, 4 * SECTOR)
        self.request(self.OUT, 9, bytes(SECTOR))
        self.request(self.IN, 64, SECTOR)
        stats = board.qmp.cmd('query-blockstats')[0]
        self.assertEqual(stats['device'], 'd')
        self.assertEqual({key: stats['stats'][key] for key in (
            'rd_bytes', 'rd_operations', 'wr_bytes', 'wr_operations', 'wr_highest_offset')}, {
                'rd_bytes': 4 * SECTOR, 'rd_operations': 1, 'wr_bytes': SECTOR, 'wr_operations': 1,
                'wr_highest_offset': 10 * SECTOR})

    @staticmethod
    def limit(board, **given):
        """The limits are those that are given."""
        none = dict.fromkeys(('bps', 'bps_rd', 'bps_wr', 'iops', 'iops_rd', 'iops_wr'), 0)
        board.qmp.cmd('block_set_io_throttle', {**none, **given})

    def used(self):
        return self.device.bus.load(self.queue.used + 2, 2)

    def test_limit(self):
        """Requests a second are seconds of the guest."""
        board = self.start()
        self.limit(board, device='d', iops=10)
        for _ in range(8):
            self.queue.add(struct.pack('<IIQ', self.IN, 0, 1), SECTOR, 1)
        self.queue.kick()
        for step, done in ((0, 2), (99, 2), (2, 3), (300, 6), (98, 6), (2, 7)):
            board.bus.clock_step(step * 10**6)
            self.wait_for(lambda: self.used() >= done, '%d requests' % done)    # pylint: disable=cell-var-from-loop
            self.assertEqual(self.used(), done)
        # a VM that stops does not wait for them
        board.qmp.cmd('stop')
        self.assertTrue(self.queue.done())

    def test_limits_are_shown(self):
        board = self.start('-device', 'virtio-blk,id=second,drive=e', '-drive', 'if=none,id=e,file.driver=null-co,'
                           'format=raw,throttling.bps-read=1M,throttling.bps-read-max=2M,'
                           'throttling.bps-read-max-length=3,throttling.iops-write=50')

        def shown(disk):
            found = [b for b in board.qmp.cmd('query-block') if b['device'] == disk][0]['inserted']
            return {key: value for key, value in found.items()
                    if key.startswith(('bps', 'iops', 'group')) and value}
        self.assertEqual(shown('d'), {})
        self.assertEqual(shown('e'), {'bps_rd': 1 << 20, 'bps_rd_max': 2 << 20, 'bps_rd_max_length': 3,
                                      'iops_wr': 50, 'group': 'e'})
        limits = {'bps': 1000, 'bps_max': 2000, 'iops': 7, 'iops_size': 4096}
        self.limit(board, id='second', group='both', **limits)
        self.assertEqual(shown('e'), {**limits, 'bps_max_length': 1, 'group': 'both'})
        self.limit(board, device='d', iops=9, group='both')
        for disk in 'de':
            self.assertEqual(shown(disk), {'iops': 9, 'group': 'both'})
        self.assertEqual(board.qmp.hmp('block_set_io_throttle d 0 5000 0 0 0 6'), '')
        self.assertEqual(shown('e'), {'bps_rd': 5000, 'iops_wr': 6, 'group': 'both'})
        self.limit(board, device='d')
        self.assertEqual(shown('d'), {})
        self.assertEqual(shown('e'), {'bps_rd': 5000, 'iops_wr': 6, 'group': 'both'})

    def test_limits_that_are_refused(self):
        board = self.start()
        for given, text in (({'device': 'd', 'bps': 5, 'bps_rd': 5}, 'bps-total goes with neither'),
                            ({'device': 'd', 'iops_wr': -5}, 'negative: -5'),
                            ({'device': 'd', 'iops_wr_max': 5}, 'needs iops-write'),
                            ({'device': 'd', 'iops': 1, 'iops_size': -1}, 'iops_size -1'),
                            ({'device': 'd', 'id': 'd'}, "one of 'device' and 'id'"), ({}, "one of 'device' and 'id'")):
            with self.assertRaisesRegex(QMPError, text):
                self.limit(board, **given)
        for name in ('device', 'id'):
            with self.assertRaisesRegex(QMPError, 'nonesuch') as caught:
                self.limit(board, **{name: 'nonesuch'})
            self.assertEqual(caught.exception.error_class, 'DeviceNotFound')

    def test_stop_waits_for_requests(self):
        board = self.start()
        board.qmp.cmd('stop')
        board.qmp.wait_event('STOP')
        self.queue.add(struct.pack('<IIQ', self.IN, 0, 1), SECTOR, 1)
        self.queue.kick()
        self.assertFalse(self.queue.done())
        board.qmp.cmd('cont')
        self.queue.wait(self)

    def test_failing_host_is_an_event(self):
        board = self.start(drive=',werror=stop,aio=threads')
        # The host refuses writes behind the limit, with a signal if nobody ignores it.
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(board.process.pid, resource.RLIMIT_FSIZE, (4 * SECTOR, unlimited))
        self.queue.add(struct.pack('<IIQ', self.OUT, 0, 8), bytes(SECTOR), 1)
        self.queue.kick()
        data = board.qmp.wait_event('BLOCK_IO_ERROR')['data']
        self.assertEqual((data['device'], data['operation'], data['action']), ('d', 'write', 'stop'))
        board.qmp.wait_event('STOP')
        self.assertEqual(board.qmp.cmd('query-status')['status'], 'io-error')
        self.assertEqual(board.qmp.cmd('query-block')[0]['io-status'], 'failed')
        self.assertFalse(self.queue.done())
        resource.prlimit(board.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        board.qmp.cmd('cont')
        self.queue.wait(self)
        self.assertEqual(board.qmp.cmd('query-block')[0]['io-status'], 'ok')


class DiskInThread(Disk):
    """The same with an I/O thread, and that it is the thread which does the work."""

    THREAD = ('-object', 'iothread,id=io0')

    def start(self, *args, drive='', **kwargs):
        board = self.board('-m', '16M', *self.THREAD, '-drive',
                           'file=%s,format=raw,if=none,id=d%s' % (self.image, drive),
                           '-device', 'virtio-blk,drive=d,serial=TIDE-1,iothread=io0', *args)
        self.begin(board)
        return board

    @staticmethod
    def woken(board, tid):
        """How often a thread has slept."""
        with open('/proc/%d/task/%d/status' % (board.process.pid, tid), encoding='ascii') as status:
            return int([line for line in status if line.startswith('voluntary')][0].split()[1])

    def check_thread(self, drive):
        board = self.start(drive=drive)
        (info,) = board.qmp.cmd('query-iothreads')
        self.assertEqual((info['id'], info['poll-max-ns']), ('io0', 0))
        with open('/proc/%d/task/%d/comm' % (board.process.pid, info['thread-id']), encoding='ascii') as comm:
            self.assertEqual(comm.read(), 'IO io0\n')
        before = self.woken(board, info['thread-id'])
        for _ in range(50):
            self.assertEqual(self.request(self.IN, 5, SECTOR), (0, bytes([5]) * SECTOR))
        self.assertGreaterEqual(self.woken(board, info['thread-id']), before + 50)

    def test_thread_with_a_pool(self):
        self.check_thread(',aio=threads')

    def test_thread_with_a_ring(self):
        self.check_thread(',aio=io_uring')

    def test_two_disks_and_unplug(self):
        board = self.start('-drive', 'if=none,id=e,file.driver=null-co,format=raw', '-device',
                           'virtio-blk,drive=e,iothread=io0', '-object', 'iothread,id=io1')
        self.assertEqual([info['id'] for info in board.qmp.cmd('query-iothreads')], ['io0', 'io1'])
        self.assert_refused(board, 'object-del', 'io0.*in use', id='io0')
        board.qmp.cmd('object-del', id='io1')
        self.assertEqual([info['id'] for info in board.qmp.cmd('query-iothreads')], ['io0'])
        board.qmp.cmd('object-add', qom_type='iothread', id='io1', poll_max_ns=0)
        self.assertRegex(board.qmp.hmp('info iothreads'), 'io1:')
        self.assertEqual(self.request(self.IN, 5, SECTOR), (0, bytes([5]) * SECTOR))

    def test_busy_when_the_vm_stops(self):
        """Requests are finished, kicks that came too late are made up for."""
        board = self.start()
        for _ in range(10):
            for _ in range(5):
                self.queue.add(struct.pack('<IIQ', self.IN, 0, 1), SECTOR, 1)
            self.queue.kick()
            board.qmp.cmd('stop')
            board.qmp.cmd('cont')
            self.queue.wait(self)

    def test_refused(self):
        board = self.start()
        for options, text in (({'poll_max_ns': 32768}, 'poll-max-ns=32768.*use poll-max-ns=0'),
                              ({'thread_pool_max': 4}, 'thread-pool-max')):
            self.assert_refused(board, 'object-add', text, qom_type='iothread', id='x', **options)


class Entropy(DeviceTest):
    def test_fills_buffers(self):
        bus = self.board('-m', '16M', '-object', 'rng-builtin,id=r', '-device', 'virtio-rng,rng=r').bus
        device = mmio.Device.find(bus, mmio.ENTROPY)
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        device.go()
        first, = queue.request(self, 64)
        second, = queue.request(self, 64)
        self.assertNotEqual(first, bytes(64))
        self.assertNotEqual(first, second)

    def test_source_is_a_file(self):
        source = self.file('random', bytes(range(32)))
        bus = self.board('-m', '16M', '-object', 'rng-random,id=r,filename=' + source,
                         '-device', 'virtio-rng,rng=r').bus
        device = mmio.Device.find(bus, mmio.ENTROPY)
        device.negotiate(0)
        queue = mmio.Queue(device, 0, RINGS)
        device.go()
        self.assertEqual(queue.request(self, 32), [bytes(range(32))])


class Balloon(DeviceTest):
    PAGE = 4096

    def setUp(self):
        super().setUp()
        self.a = self.board('-m', '16M', '-device', 'virtio-balloon,id=b')
        self.device = mmio.Device.find(self.a.bus, mmio.BALLOON)
        self.device.negotiate(1 << 1)
        self.inflate = mmio.Queue(self.device, 0, RINGS)
        self.deflate = mmio.Queue(self.device, 1, RINGS + 0x4000)
        self.stats = mmio.Queue(self.device, 2, RINGS + 0x8000)
        self.device.go()

    def test_target_and_answer(self):
        self.assertEqual(self.a.qmp.cmd('query-balloon'), {'actual': 16 << 20})
        self.assertEqual(self.device.config(0, 4), 0)
        self.a.qmp.cmd('balloon', value=12 << 20)
        self.assertEqual(self.device.interrupt(), 2)
        self.assertEqual(self.device.config(0, 4), (4 << 20) // self.PAGE)
        self.device.write(mmio.CONFIG + 4, 256)
        self.assertEqual(self.a.qmp.cmd('query-balloon'), {'actual': 15 << 20})
        self.assertEqual(self.a.qmp.wait_event('BALLOON_CHANGE')['data'], {'actual': 15 << 20})
        self.assertIn('actual=15', self.a.qmp.hmp('info balloon'))

    def test_pages_that_are_given_lose_their_content(self):
        page = 0x800000 // self.PAGE
        self.a.bus.memset(page * self.PAGE, 2 * self.PAGE, 0x77)
        self.inflate.request(self, struct.pack('<I', page))
        self.assertEqual(self.a.bus.load(page * self.PAGE, 8), 0)
        self.assertEqual(self.a.bus.load((page + 1) * self.PAGE, 1), 0x77)
        self.deflate.request(self, struct.pack('<I', page))

    def test_statistics(self):
        path = '/machine/peripheral/b'
        self.stats.add(struct.pack('<HQHQ', 4, 1000, 5, 2000))
        self.stats.kick()
        self.a.qmp.cmd('qom-set', path=path, property='guest-stats-polling-interval', value=2)
        got = self.a.qmp.cmd('qom-get', path=path, property='guest-stats')
        self.assertEqual((got['stats']['stat-free-memory'], got['stats']['stat-total-memory']), (1000, 2000))
        self.assertEqual(got['stats']['stat-swap-in'], 2**64 - 1)
        self.assertGreater(got['last-update'], 0)
        self.a.bus.clock_step(3 * 10**9)
        self.stats.wait(self)  # asked again


if __name__ == '__main__':
    main()
