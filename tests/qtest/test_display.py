#!/usr/bin/env python3
"""Display devices: what guests ask of them, seen through screen shots and VNC."""

import pathlib
import random
import struct
import subprocess
import zlib

import virtio_mmio as mmio
import virtio_pci as pci
from harness import DeviceTest, QMPError, main

from lib.rfb import RFB     # found by harness

RAM = 0x40000000
FW_CFG = 0x9020000
DMA, DMA_READ, DMA_SELECT, DMA_WRITE = FW_CFG + 16, 2, 8, 16
XR24, RG16 = b'XR24', b'RG16'


def read_ppm(path):
    """(width, height, pixels) of a file."""
    magic, size, deepest, pixels = pathlib.Path(path).read_bytes().split(b'\n', 3)
    assert (magic, deepest) == (b'P6', b'255')
    width, height = map(int, size.split())
    assert len(pixels) == width * height * 3
    return width, height, pixels


def read_png(path):
    """The same of a PNG file whose lines use any filter (PNG, 9)."""
    data = pathlib.Path(path).read_bytes()
    assert data.startswith(b'\x89PNG\r\n\x1a\n')
    at, packed = 8, b''
    while at < len(data):
        length, kind = struct.unpack_from('>I4s', data, at)
        body = data[at + 8:at + 8 + length]
        assert zlib.crc32(kind + body) == struct.unpack_from('>I', data, at + 8 + length)[0]
        if kind == b'IHDR':
            width, height, depth, colours = struct.unpack_from('>IIBB', body)
            assert (depth, colours) == (8, 2)
        elif kind == b'IDAT':
            packed += body
        at += 12 + length
    raw, out, above = zlib.decompress(packed), bytearray(), bytes(width * 3)
    for y in range(height):
        kind, *coded = raw[y * (width * 3 + 1):(y + 1) * (width * 3 + 1)]
        line = bytearray()
        for i, value in enumerate(coded):
            left, up = line[i - 3] if i > 2 else 0, above[i]
            corner = above[i - 3] if i > 2 else 0
            nearest = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            line.append(value + (0, left, up, (left + up) // 2, nearest)[kind] & 255)
        out += line
        above = line
    return width, height, bytes(out)


class DisplayTest(DeviceTest):
    arch = 'aarch64'
    machine_type = 'virt'

    def shot(self, board, **kwargs):
        path = self.path('shot.ppm')
        board.qmp.cmd('screendump', filename=path, **kwargs)
        return read_ppm(path)

    def refusal(self, *args):
        """Standard error of an emulator that must not start."""
        done = subprocess.run([self.binary, '-M', self.machine_type, '-accel', 'qtest', '-nodefaults', *args],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def nothing_shown(self, board, text='no picture yet'):
        with self.assertRaisesRegex(QMPError, text):
            self.shot(board)

    @staticmethod
    def pixel(shot, x, y):
        width, _, pixels = shot
        return tuple(pixels[(y * width + x) * 3:(y * width + x) * 3 + 3])


class Screenshots(DisplayTest):
    def test_no_device(self):
        self.nothing_shown(self.board(), 'no display device: -device')


class RamFB(DisplayTest):
    WIDTH, HEIGHT, AT = 64, 48, RAM + 0x800000
    SCRATCH = RAM + 0x100000

    def fw_cfg(self, bus, control, length, address):
        """A transfer by DMA; whether it went well."""
        bus.write(self.SCRATCH, struct.pack('>IIQ', control, length, address))
        bus.store(DMA, struct.unpack('<I', struct.pack('>I', 0))[0])
        bus.store(DMA + 4, struct.unpack('<I', struct.pack('>I', self.SCRATCH))[0])
        return struct.unpack('>I', bus.read(self.SCRATCH, 4))[0] == 0

    def find(self, bus, name=b'etc/ramfb'):
        """(selector, size) of a file."""
        self.assertTrue(self.fw_cfg(bus, 0x19 << 16 | DMA_SELECT | DMA_READ, 4, self.SCRATCH + 64))
        count, = struct.unpack('>I', bus.read(self.SCRATCH + 64, 4))
        self.assertTrue(self.fw_cfg(bus, DMA_READ, 64 * count, self.SCRATCH + 64))
        directory = bus.read(self.SCRATCH + 64, 64 * count)
        for at in range(0, len(directory), 64):
            size, select, found = struct.unpack_from('>IH2x56s', directory, at)
            if found.rstrip(b'\0') == name:
                return select, size
        return None

    def configure(self, bus, address, fourcc, width, height, stride):
        select, size = self.find(bus)
        self.assertEqual(size, 28)
        bus.write(self.SCRATCH + 64, struct.pack('>Q', address) + fourcc[::-1] +
                  struct.pack('>IIII', 0, width, height, stride))
        return self.fw_cfg(bus, select << 16 | DMA_SELECT | DMA_WRITE, 28, self.SCRATCH + 64)

    def start(self, *args, **kwargs):
        return self.board('-m', '32M', '-device', 'ramfb,id=fb', *args, **kwargs)

    def test_a_picture(self):
        board = self.start()
        self.nothing_shown(board)
        self.assertTrue(self.configure(board.bus, self.AT, XR24, self.WIDTH, self.HEIGHT, 0))
        board.bus.write(self.AT + 4 * (self.WIDTH * 5 + 7), struct.pack('<I', 0x00112233))
        shot = self.shot(board)
        self.assertEqual(shot[:2], (self.WIDTH, self.HEIGHT))
        self.assertEqual((self.pixel(shot, 7, 5), self.pixel(shot, 6, 5)), ((0x11, 0x22, 0x33), (0, 0, 0)))
        self.assertEqual(self.shot(board, device='fb', head=0), shot)
        png = self.path('shot.png')
        board.qmp.cmd('screendump', filename=png, format='png')
        self.assertEqual(read_png(png), shot)
        self.assertEqual(board.qmp.hmp('screendump ' + self.path('by-hmp')), '')
        self.assertEqual(read_ppm(self.path('by-hmp')), shot)
        for arguments, text in (({'device': 'fb', 'head': 1}, "'fb' has no display output 1"),
                                ({'device': 'x'}, "'x' has no display"), ({'head': 0}, 'head=0.*device')):
            with self.assertRaisesRegex(QMPError, text):
                self.shot(board, **arguments)
        with self.assertRaisesRegex(QMPError, "/nonesuch/x': No such file"):
            board.qmp.cmd('screendump', filename='/nonesuch/x')
        with self.assertRaisesRegex(QMPError, 'No space left'):
            board.qmp.cmd('screendump', filename='/dev/full')
        with self.assertRaisesRegex(QMPError, 'No space left'):
            board.qmp.cmd('screendump', filename='/dev/full', format='png')

    def test_sixteen_bits_and_a_stride(self):
        board = self.start()
        self.assertTrue(self.configure(board.bus, self.AT, RG16, self.WIDTH, self.HEIGHT, 256))
        board.bus.write(self.AT + 256 + 2, struct.pack('<H', 0xf800))
        self.assertEqual(self.pixel(self.shot(board), 1, 1), (255, 0, 0))

    def test_requests_that_cannot_be_change_nothing(self):
        board = self.start()
        end = RAM + (32 << 20)
        good = (self.AT, XR24, self.WIDTH, self.HEIGHT, 0)
        for wrong in ((self.AT, b'NONE', 64, 48, 0), (self.AT, XR24, 15, 48, 0), (self.AT, XR24, 64, 0xffffffff, 0),
                      (self.AT, XR24, 0x40000000, 48, 0), (self.AT, XR24, 64, 48, 255), (self.AT, XR24, 64, 48, 258),
                      (end - 64 * 48 * 4 + 4, XR24, 64, 48, 0), (end, XR24, 64, 48, 0), (0xffffffffffffff00, XR24, 64, 48, 0),
                      (self.AT, XR24, 64, 48, 0xfffffffc), (self.AT + 1, XR24, 64, 48, 0), (0, XR24, 64, 48, 0)):
            with self.subTest(wrong):
                self.configure(board.bus, *wrong)
                self.nothing_shown(board)
        self.configure(board.bus, end - 64 * 48 * 4, *good[1:])
        self.assertEqual(self.shot(board)[:2], (64, 48))
        self.configure(board.bus, self.AT, b'NONE', 64, 48, 0)
        self.assertEqual(self.shot(board)[:2], (64, 48))
        board.qmp.cmd('system_reset')
        board.qmp.wait_event('RESET')
        self.nothing_shown(board)

    def test_only_its_file_is_written_and_only_within(self):
        board = self.start('-fw_cfg', 'opt/x,string=text')
        select, size = self.find(board.bus, b'opt/x')
        self.assertFalse(self.fw_cfg(board.bus, select << 16 | DMA_SELECT | DMA_WRITE, size, self.SCRATCH + 64))
        select, _ = self.find(board.bus)
        self.assertFalse(self.fw_cfg(board.bus, select << 16 | DMA_SELECT | DMA_WRITE, 29, self.SCRATCH + 64))
        self.assertFalse(self.fw_cfg(board.bus, select << 16 | DMA_SELECT | DMA_WRITE, 28, 0xffffffff00000000))
        self.assertTrue(self.fw_cfg(board.bus, select << 16 | DMA_SELECT | DMA_WRITE, 8, self.SCRATCH + 64))
        self.assertFalse(self.fw_cfg(board.bus, DMA_WRITE, 21, self.SCRATCH + 64))
        self.nothing_shown(board)

    def test_a_second_one(self):
        self.assertIn("'etc/ramfb' exists already", self.refusal('-device', 'ramfb', '-device', 'ramfb'))

    def test_a_viewer_sees_what_the_guest_draws(self):
        path = self.path('vnc')
        board = self.start('-vnc', 'unix:' + path)
        viewer = RFB(path)
        self.addCleanup(viewer.close)
        viewer.refresh()
        self.assertEqual((viewer.width, viewer.height), (640, 480))
        self.configure(board.bus, self.AT, XR24, self.WIDTH, self.HEIGHT, 0)
        viewer.wait_for(lambda: (viewer.width, viewer.height) == (64, 48), 'the new size')
        for colour in (0x00ff0000, 0x0000ff00, 0x00123456):
            board.bus.write(self.AT + 4 * (self.WIDTH * 47 + 63), struct.pack('<I', colour))
            wanted = tuple(colour >> shift & 255 for shift in (16, 8, 0))
            viewer.wait_for(lambda: viewer.pixel(63, 47) == wanted, 'the colour')

    def test_migration(self):
        board = self.start()
        self.configure(board.bus, self.AT, XR24, self.WIDTH, self.HEIGHT, 0)
        board.bus.write(self.AT, struct.pack('<I', 0x00aabbcc))
        other = self.migrate(board, '-m', '32M', '-device', 'ramfb,id=fb')
        self.assertEqual(self.pixel(self.shot(other), 0, 0), (0xaa, 0xbb, 0xcc))


class GPU(DisplayTest):
    """Numbers: Virtio 1.2, 5.7."""

    ID = 16
    DISPLAY_INFO, CREATE_2D, UNREF, SET_SCANOUT, FLUSH, TRANSFER, ATTACH, DETACH, EDID = (
        0x100, 0x101, 0x102, 0x103, 0x104, 0x105, 0x106, 0x107, 0x10a)
    UPDATE_CURSOR, MOVE_CURSOR = 0x300, 0x301
    OK, OK_INFO, OK_EDID = 0x1100, 0x1101, 0x1104
    UNSPEC, NO_MEMORY, BAD_SCANOUT, BAD_RESOURCE, BAD_PARAMETER = 0x1200, 0x1201, 0x1202, 0x1203, 0x1205
    F_EDID, BGRX, RGBA = 2, 2, 67
    RINGS, PIXELS = RAM + 0x100000, RAM + 0x800000

    def start(self, *args, options='', name='a', kind='virtio-gpu-pci,addr=4', **kwargs):
        board = self.board('-m', '32M', '-device', kind + ',id=gpu' + options, *args, name=name, **kwargs)
        self.drive(board)
        return board

    def drive(self, board):
        self.device = pci.Device(board.bus, pci.Function(board.bus, 4))
        self.agreed = self.device.negotiate(self.F_EDID)
        self.queues = [mmio.Queue(self.device, number, self.RINGS + 0x40000 * number) for number in (0, 1)]
        self.device.go()

    def command(self, kind, body=b'', room=24, queue=0, flags=0, fence=0):
        """(type of the answer, all of it)."""
        got, = self.queues[queue].request(self, struct.pack('<IIQIBxxx', kind, flags, fence, 0, 0) + body, room)
        return struct.unpack_from('<I', got)[0], got

    def ask(self, kind, form='', *values, queue=0):
        return self.command(kind, struct.pack('<' + form, *values), queue=queue)[0]

    def create(self, number, width, height, form=BGRX):
        return self.ask(self.CREATE_2D, 'IIII', number, form, width, height)

    def attach(self, number, *pieces):
        body = struct.pack('<II', number, len(pieces)) + b''.join(struct.pack('<QII', *piece, 0) for piece in pieces)
        return self.command(self.ATTACH, body)[0]

    def scanout(self, number, *rectangle, output=0):
        return self.ask(self.SET_SCANOUT, 'IIIIII', *rectangle, output, number)

    def transfer(self, number, *rectangle, offset=0):
        return self.ask(self.TRANSFER, 'IIIIQII', *rectangle, offset, number, 0)

    def flush(self, number, *rectangle):
        return self.ask(self.FLUSH, 'IIIIII', *rectangle, number, 0)

    def show(self, bus, width=64, height=48, number=1):
        """A picture whose pixels say where they are."""
        half = width * height * 2
        pixels = b''.join(struct.pack('<I', y << 16 | x) for y in range(height) for x in range(width))
        bus.b64write(self.PIXELS, pixels[:half])
        bus.b64write(self.PIXELS + 0x100000, pixels[half:])
        self.assertEqual(self.create(number, width, height), self.OK)
        self.assertEqual(self.attach(number, (self.PIXELS, half), (self.PIXELS + 0x100000, half)), self.OK)
        self.assertEqual(self.scanout(number, 0, 0, width, height), self.OK)
        self.assertEqual(self.transfer(number, 0, 0, width, height), self.OK)
        self.assertEqual(self.flush(number, 0, 0, width, height), self.OK)

    def test_identity(self):
        board = self.start()
        function = pci.Function(board.bus, 4)
        self.assertEqual((function.read(0), function.read(8) >> 8), (0x10501af4, 0x038000))
        self.assertEqual(self.agreed, self.F_EDID | mmio.F_VERSION_1)
        self.assertEqual([self.device.config(at, 4) for at in (0, 4, 8, 12)], [0, 0, 1, 0])

    def test_the_size_it_prefers(self):
        self.start(options=',xres=1024,yres=768')
        kind, got = self.command(self.DISPLAY_INFO, room=24 + 16 * 24)
        self.assertEqual((kind, len(got)), (self.OK_INFO, 408))
        self.assertEqual(struct.unpack_from('<6I', got, 24), (0, 0, 1024, 768, 1, 0))
        self.assertEqual(got[48:], bytes(len(got) - 48))
        kind, got = self.command(self.EDID, struct.pack('<II', 0, 0), room=24 + 8 + 1024)
        size, = struct.unpack_from('<I', got, 24)
        edid = got[32:32 + size]
        self.assertEqual((kind, size, edid[:8], sum(edid) & 255), (self.OK_EDID, 128, b'\0\xff\xff\xff\xff\xff\xff\0', 0))
        timing = edid[54:]
        self.assertEqual((timing[2] | timing[4] >> 4 << 8, timing[5] | timing[7] >> 4 << 8), (1024, 768))
        self.assertEqual(self.ask(self.EDID, 'II', 1, 0), self.BAD_SCANOUT)

    def test_a_picture(self):
        board = self.start()
        self.nothing_shown(board)
        self.show(board.bus)
        shot = self.shot(board, device='gpu')
        self.assertEqual(shot[:2], (64, 48))
        self.assertEqual([self.pixel(shot, *at) for at in ((0, 0), (63, 0), (5, 24), (63, 47))],
                         [(0, 0, 0), (0, 0, 63), (24, 0, 5), (47, 0, 63)])
        # a part of it is replaced, from its own place in the store
        board.bus.memset(self.PIXELS, 64 * 4 * 4, 0xff)
        self.assertEqual(self.transfer(1, 8, 2, 16, 1, offset=(2 * 64 + 8) * 4), self.OK)
        shot = self.shot(board)
        self.assertEqual([self.pixel(shot, *at) for at in ((7, 2), (8, 2), (23, 2), (24, 2), (8, 3))],
                         [(2, 0, 7), (255,) * 3, (255,) * 3, (2, 0, 24), (3, 0, 8)])
        # a part of it is shown
        self.assertEqual(self.scanout(1, 32, 16, 32, 32), self.OK)
        shot = self.shot(board)
        self.assertEqual((shot[:2], self.pixel(shot, 0, 0)), ((32, 32), (16, 0, 32)))
        self.assertEqual(self.scanout(0, 0, 0, 0, 0), self.OK)
        self.nothing_shown(board)

    def test_colours_in_other_orders(self):
        board = self.start()
        for form, pixel in ((1, '332211ff'), (2, '332211ff'), (3, 'ff112233'), (4, 'ff112233'), (67, '112233ff'),
                            (68, 'ff332211'), (121, 'ff332211'), (134, '112233ff')):
            with self.subTest(form=form):
                board.bus.b64write(self.PIXELS, bytes.fromhex(pixel) * 256)
                self.assertEqual(self.create(form, 16, 16, form), self.OK)
                self.assertEqual(self.attach(form, (self.PIXELS, 1024)), self.OK)
                self.assertEqual(self.transfer(form, 0, 0, 16, 16), self.OK)
                self.assertEqual(self.scanout(form, 0, 0, 16, 16), self.OK)
                self.assertEqual(self.pixel(self.shot(board), 9, 9), (0x11, 0x22, 0x33))

    def test_fences_come_back(self):
        self.start()
        kind, got = self.command(self.CREATE_2D, struct.pack('<IIII', 1, 2, 16, 16), flags=1, fence=0x123456789a)
        self.assertEqual((kind, struct.unpack_from('<IQ', got, 4)), (self.OK, (1, 0x123456789a)))

    def test_what_cannot_be_is_refused(self):
        board = self.start()
        self.show(board.bus)
        before = self.shot(board)
        for got, wanted in (
                (self.create(0, 16, 16), self.BAD_RESOURCE), (self.create(1, 16, 16), self.BAD_RESOURCE),
                (self.create(2, 16, 16, 3000), self.BAD_PARAMETER), (self.create(2, 0, 16), self.BAD_PARAMETER),
                (self.create(2, 0xffffffff, 0xffffffff), self.BAD_PARAMETER),
                (self.create(2, 16384, 16384), self.NO_MEMORY),
                (self.ask(self.UNREF, 'II', 2, 0), self.BAD_RESOURCE),
                (self.scanout(1, 0, 0, 64, 48, output=1), self.BAD_SCANOUT), (self.scanout(2, 0, 0, 16, 16), self.BAD_RESOURCE),
                (self.scanout(1, 1, 0, 64, 48), self.BAD_PARAMETER), (self.scanout(1, 0, 0, 8, 8), self.BAD_PARAMETER),
                (self.scanout(1, 0xffffffff, 0, 33, 48), self.BAD_PARAMETER),
                (self.transfer(1, 0, 0, 65, 48), self.BAD_PARAMETER), (self.transfer(1, 64, 0, 1, 1), self.BAD_PARAMETER),
                (self.transfer(1, 0xffffffff, 0, 2, 1), self.BAD_PARAMETER), (self.transfer(1, 0, 0, 0, 0), self.BAD_PARAMETER),
                (self.transfer(1, 0, 0, 64, 48, offset=2 ** 64 - 4), self.UNSPEC),
                (self.transfer(1, 0, 0, 64, 48, offset=4), self.UNSPEC), (self.transfer(9, 0, 0, 1, 1), self.BAD_RESOURCE),
                (self.flush(1, 0, 0, 65, 1), self.BAD_PARAMETER), (self.flush(9, 0, 0, 1, 1), self.BAD_RESOURCE),
                (self.attach(1, (self.PIXELS, 4096)), self.UNSPEC), (self.attach(9, (self.PIXELS, 4096)), self.BAD_RESOURCE),
                (self.ask(self.ATTACH, 'II', 1, 0xffffffff), self.BAD_PARAMETER),
                (self.ask(self.ATTACH, 'II', 1, 16384), self.BAD_PARAMETER), (self.attach(1), self.BAD_PARAMETER),
                (self.ask(self.DETACH, 'II', 9, 0), self.BAD_RESOURCE),
                (self.ask(self.CREATE_2D, 'II', 5, 2), self.UNSPEC), (self.ask(0xffffffff), self.UNSPEC),
                (self.ask(self.UPDATE_CURSOR, '8I', *[0] * 8), self.UNSPEC), (self.ask(self.CREATE_2D, '4I', 5, 2, 16, 16, queue=1), self.UNSPEC),
                (self.ask(self.UPDATE_CURSOR, '8I', 1, *[0] * 7, queue=1), self.BAD_SCANOUT)):
            self.assertEqual(hex(got), hex(wanted))
        self.assertTrue(self.shot(board) == before)
        # a store that is no memory, or too small, leaves what there was
        self.assertEqual(self.create(3, 16, 16), self.OK)
        self.assertEqual(self.transfer(3, 0, 0, 16, 16), self.UNSPEC)
        self.assertEqual(self.attach(3, (0xfffffffffffff000, 0xffffffff)), self.OK)
        self.assertEqual(self.transfer(3, 0, 0, 16, 16), self.UNSPEC)
        self.assertEqual(self.ask(self.DETACH, 'II', 3, 0), self.OK)
        self.assertEqual(self.attach(3, (self.PIXELS, 0), (self.PIXELS, 1023)), self.OK)
        self.assertEqual(self.transfer(3, 0, 0, 16, 16), self.UNSPEC)

    def test_a_guest_cannot_have_more_than_its_share(self):
        self.start(options=',max_hostmem=1M')
        made = 0
        while self.create(made + 1, 1, 1) == self.OK:
            made += 1
        self.assertLess(made, 256)
        self.assertEqual(self.create(made + 1, 1, 1), self.NO_MEMORY)
        self.assertEqual(self.ask(self.UNREF, 'II', 1, 0), self.OK)
        self.assertEqual(self.create(1, 1, 1), self.OK)
        for number in range(1, made + 1):
            self.assertEqual(self.ask(self.UNREF, 'II', number, 0), self.OK)
        self.assertEqual(self.create(1, 500, 500), self.OK)
        self.assertEqual(self.attach(1, *[(self.PIXELS, 16)] * 4000), self.NO_MEMORY)
        self.assertEqual(self.attach(1, *[(self.PIXELS, 16)] * 100), self.OK)

    def test_an_answer_that_has_no_room(self):
        self.start()
        self.assertEqual(self.queues[0].request(self, struct.pack('<IIQII', self.DISPLAY_INFO, 0, 0, 0, 0), 2), [b'\x01\x11'])
        self.queues[0].request(self, struct.pack('<IIQII', self.DISPLAY_INFO, 0, 0, 0, 0))
        self.queues[0].request(self, b'\0\1', 24)
        self.assertEqual(self.create(1, 16, 16), self.OK)

    def test_commands_drawn_by_lot(self):
        board = self.start(options=',max_hostmem=4M')
        lot = random.Random(16)
        kinds = (self.CREATE_2D, self.UNREF, self.SET_SCANOUT, self.FLUSH, self.TRANSFER, self.ATTACH, self.DETACH,
                 self.UPDATE_CURSOR, self.MOVE_CURSOR)
        numbers = (0, 0, 1, 1, 2, 3, 16, 17, 63, 64, 0x7fffffff, 0x80000000, 0xffffffff, self.PIXELS, 4096)
        for _ in range(1500):
            body = struct.pack('<12I', *(lot.choice(numbers) for _ in range(12)))
            kind = lot.choice(kinds)
            self.command(kind, body[:lot.randrange(len(body) + 1)], queue=int(kind >= self.UPDATE_CURSOR))
        board.qmp.cmd('system_reset')
        board.qmp.wait_event('RESET')
        for queue in self.queues:
            board.bus.memset(queue.desc, 0x1000, 0)
        self.drive(board)
        self.show(board.bus)
        self.assertEqual(self.pixel(self.shot(board), 63, 47), (47, 0, 63))

    def test_reset_and_unref_take_the_picture_away(self):
        board = self.start()
        self.show(board.bus)
        self.assertEqual(self.ask(self.UNREF, 'II', 1, 0), self.OK)
        self.nothing_shown(board)
        self.show(board.bus)
        self.device.write(mmio.STATUS, 0)
        self.nothing_shown(board)

    def test_a_viewer_gets_what_is_flushed_and_the_pointer(self):
        path = self.path('vnc')
        board = self.start('-vnc', 'unix:' + path)
        viewer = RFB(path, cursor=True)
        self.addCleanup(viewer.close)
        self.show(board.bus)
        viewer.wait_for(lambda: (viewer.width, viewer.height) == (64, 48) and viewer.pixel(63, 47) == (47, 0, 63), 'the picture')
        board.bus.memset(self.PIXELS, 64 * 4, 0x80)
        self.assertEqual(self.transfer(1, 0, 0, 64, 1), self.OK)
        self.assertEqual(self.flush(1, 0, 0, 64, 1), self.OK)
        viewer.wait_for(lambda: viewer.pixel(0, 0) == (128,) * 3, 'the change')
        board.bus.b64write(self.PIXELS, struct.pack('<I', 0xff00ff00) * 64 + bytes(64 * 63 * 4))
        self.assertEqual(self.create(2, 64, 64, 1), self.OK)
        self.assertEqual(self.attach(2, (self.PIXELS, 64 * 64 * 4)), self.OK)
        self.assertEqual(self.transfer(2, 0, 0, 64, 64), self.OK)
        self.assertEqual(self.ask(self.UPDATE_CURSOR, '8I', 0, 10, 20, 0, 2, 3, 4, 0, queue=1), self.OK)
        viewer.wait_for(lambda: viewer.cursor and viewer.cursor[:4] == (64, 64, 3, 4), 'the pointer')
        self.assertEqual(viewer.cursor[4][:4], b'\x00\xff\x00\xff')
        self.assertEqual(viewer.cursor[5], b'\xff' * 8 + bytes(63 * 8))
        self.assertEqual(self.ask(self.MOVE_CURSOR, '8I', 0, 11, 21, 0, 0, 0, 0, 0, queue=1), self.OK)

    def test_migration(self):
        board = self.start()
        self.show(board.bus)
        self.assertEqual(self.create(7, 16, 16, self.RGBA), self.OK)
        self.assertEqual(self.scanout(1, 16, 16, 32, 32), self.OK)
        before = self.shot(board)
        other = self.migrate(board, '-m', '32M', '-device', 'virtio-gpu-pci,addr=4,id=gpu')
        self.assertEqual(self.shot(other), before)
        self.device = self.device.moved_to(other.bus, pci.Function(other.bus, 4))
        self.queues = [queue.moved_to(self.device) for queue in self.queues]
        other.bus.memset(self.PIXELS, 64 * 48 * 2, 0x11)
        self.assertEqual(self.transfer(1, 0, 0, 64, 24), self.OK)   # the store went along
        self.assertEqual(self.pixel(self.shot(other), 0, 0), (0x11,) * 3)
        self.assertEqual(self.create(7, 16, 16), self.BAD_RESOURCE)

    def test_a_migration_that_needs_too_much(self):
        board = self.start()
        self.show(board.bus, 640, 480)
        path = self.path('state')
        board.qmp.cmd('migrate-set-capabilities', capabilities=[{'capability': 'events', 'state': True}])
        board.qmp.cmd('migrate', uri='file:' + path)
        board.qmp.wait_event('MIGRATION', match=lambda data: data['status'] == 'completed')
        other = self.board('-m', '32M', '-device', 'virtio-gpu-pci,addr=4,id=gpu,max_hostmem=1M', '-incoming', 'defer', name='b')
        other.qmp.cmd('migrate-incoming', {'uri': 'file:' + path, 'exit-on-error': False})
        self.wait_for(lambda: other.qmp.cmd('query-migrate').get('status') == 'failed', 'the failure')
        self.assertRegex(other.qmp.cmd('query-migrate')['error-desc'], 'resource 1 of 640x480 pixels.*max_hostmem=1048576')

    def test_options(self):
        for option, text in (('max_outputs=2', 'max_outputs=2.*use 1'), ('xres=8', 'xres=8.*16 and 16384'), ('blob=on', "'virtio-gpu.*blob'")):
            with self.subTest(option):
                self.assertRegex(self.refusal('-device', 'virtio-gpu-pci,' + option), text)
        self.assertIn('use virtio-gpu-pci or ramfb', self.refusal('-device', 'virtio-vga'))
        board = self.start(options=',edid=off')
        self.assertEqual(self.agreed, mmio.F_VERSION_1)
        self.assertEqual(self.ask(self.EDID, 'II', 0, 0), self.UNSPEC)
        board.close()
        self.board('-device', 'virtio-gpu-device', name='b')


class Input(DisplayTest):
    """Numbers: Virtio 1.2, 5.8, and linux/input-event-codes.h."""

    RINGS = RAM + 0x100000
    SYN, KEY, REL, ABS = 0, 1, 2, 3
    A, ENTER, LEFTCTRL, F1, BTN_LEFT = 30, 28, 29, 59, 0x110

    def start(self, kind, *args):
        self.board_ = self.board('-m', '32M', '-device', 'virtio-%s-pci,addr=4,id=in' % kind, *args,
                                 name=kind)
        bus = self.board_.bus
        self.device = pci.Device(bus, pci.Function(bus, 4))
        self.device.negotiate(0)
        self.queue = mmio.Queue(self.device, 0, self.RINGS, size=64)
        for number in range(64):    # a buffer each
            bus.write(self.queue.desc + 16 * number, struct.pack('<QIHH', self.RINGS + 0x8000 + 8 * number, 8, 2, 0))
            bus.store(self.queue.avail + 4 + 2 * number, number, 2)
        bus.store(self.queue.avail + 2, 64, 2)
        self.device.go()
        self.taken = 0
        return self.board_

    def events(self, count):
        """The next so many: (type, code, value)."""
        bus = self.board_.bus
        used = self.queue.desc + 0x800
        self.wait_for(lambda: bus.load(used + 2, 2) >= self.taken + count, '%d events' % count)
        self.assertEqual(bus.load(used + 2, 2), self.taken + count)
        first, self.taken = self.taken, self.taken + count
        return [struct.unpack('<HHi', bus.read(self.RINGS + 0x8000 + 8 * number, 8)) for number in range(first, self.taken)]

    def select(self, select, subsel=0):
        self.board_.bus.store(self.device.base + pci.DEVICE, select, 1)
        self.board_.bus.store(self.device.base + pci.DEVICE + 1, subsel, 1)
        return self.board_.bus.read(self.device.base + pci.DEVICE + 8, self.device.config(2, 1) or 1)[:self.device.config(2, 1)]

    def test_what_they_say_they_are(self):
        for kind, product, name in (('keyboard', 1, b'Keyboard'), ('mouse', 2, b'Mouse'), ('tablet', 3, b'Tablet')):
            with self.subTest(kind):
                board = self.start(kind)
                self.assertEqual(pci.Function(board.bus, 4).read(0), 0x10521af4)
                self.assertIn(name, self.select(1))
                self.assertEqual(self.select(3), struct.pack('<HHHH', 6, 0x627, product, 1))
                keys = int.from_bytes(self.select(0x11, self.KEY), 'little')
                self.assertEqual((keys >> self.A & 1, keys >> self.BTN_LEFT & 1), (kind == 'keyboard', kind != 'keyboard'))
                self.assertEqual(self.select(0x11, self.REL), {'keyboard': b'', 'mouse': b'\x03\x01', 'tablet': b'\0\x01'}[kind])
                self.assertEqual(self.select(0x12, 0), struct.pack('<5I', 0, 0x7fff, 0, 0, 0) if kind == 'tablet' else b'')
                self.assertEqual(self.select(0xff, 0xff), b'')
                board.close()

    def test_keys(self):
        board = self.start('keyboard')
        board.qmp.cmd('send-key', {'keys': [{'type': 'qcode', 'data': 'ctrl'}, {'type': 'number', 'data': 30}], 'hold-time': 1})
        self.assertEqual(self.events(8), [event for pair in ((self.LEFTCTRL, 1), (self.A, 1), (self.A, 0), (self.LEFTCTRL, 0))
                                          for event in ((self.KEY, *pair), (self.SYN, 0, 0))])
        self.assertEqual(board.qmp.hmp('sendkey ctrl-f1 1'), '')
        self.assertEqual([event[1] for event in self.events(8)[::2]], [self.LEFTCTRL, self.F1, self.F1, self.LEFTCTRL])
        board.qmp.cmd('input-send-event', events=[{'type': 'key', 'data': {'down': True, 'key': {'type': 'qcode', 'data': 'ret'}}}])
        self.assertEqual(self.events(2), [(self.KEY, self.ENTER, 1), (self.SYN, 0, 0)])
        for keys in ([], [{'type': 'number', 'data': 0}], [{'type': 'number', 'data': 2 ** 40}], [{'type': 'qcode', 'data': 'unmapped'}],
                     [{'type': 'qcode', 'data': 'a'}] * 17):
            with self.assertRaisesRegex(QMPError, 'no key|1 to 16 keys'):
                board.qmp.cmd('send-key', {'keys': keys})
        self.assertEqual(board.qmp.cmd('query-mice'), [])

    def test_pointers(self):
        board = self.start('tablet')
        mice = board.qmp.cmd('query-mice')
        self.assertEqual([(mouse['current'], mouse['absolute']) for mouse in mice], [(True, True)])
        board.qmp.cmd('input-send-event', device='in', events=[
            {'type': 'abs', 'data': {'axis': 'x', 'value': 100000}}, {'type': 'abs', 'data': {'axis': 'y', 'value': 5}},
            {'type': 'btn', 'data': {'button': 'left', 'down': True}}, {'type': 'btn', 'data': {'button': 'wheel-down', 'down': True}}])
        self.assertEqual(self.events(5), [(self.ABS, 0, 0x7fff), (self.ABS, 1, 5), (self.KEY, self.BTN_LEFT, 1),
                                          (self.REL, 8, -1), (self.SYN, 0, 0)])
        with self.assertRaisesRegex(QMPError, "'in' is no relative pointer"):
            board.qmp.cmd('input-send-event', device='in', events=[{'type': 'rel', 'data': {'axis': 'x', 'value': 1}}])

    def test_reports_that_find_no_buffers_are_dropped_whole(self):
        board = self.start('keyboard')
        down = {'type': 'key', 'data': {'down': True, 'key': {'type': 'qcode', 'data': 'a'}}}
        board.qmp.cmd('input-send-event', events=[down] * 64)      # one buffer too few
        board.qmp.cmd('input-send-event', events=[down] * 1000)
        board.qmp.cmd('input-send-event', events=[down] * 63)
        self.assertEqual(self.events(64)[-1], (self.SYN, 0, 0))
        board.qmp.cmd('input-send-event', events=[down])
        self.assertEqual(self.events(0), [])

    def test_a_viewer_types_and_points(self):
        path = self.path('vnc')
        self.start('keyboard', '-vnc', 'unix:' + path)
        viewer = RFB(path)
        self.addCleanup(viewer.close)
        viewer.key(0xff0d, True)
        self.assertEqual(self.events(2)[0], (self.KEY, self.ENTER, 1))
        viewer.close()      # what it held is let go
        self.assertEqual(self.events(2)[0], (self.KEY, self.ENTER, 0))
        self.board_.close()
        self.start('tablet', '-vnc', 'unix:' + path)
        viewer = RFB(path)
        self.addCleanup(viewer.close)
        viewer.pointer(639, 0, 1)
        self.assertEqual(self.events(4), [(self.ABS, 0, 0x7fff), (self.ABS, 1, 0), (self.KEY, self.BTN_LEFT, 1), (self.SYN, 0, 0)])
        self.board_.close()
        self.start('mouse', '-vnc', 'unix:' + path)
        viewer = RFB(path)
        self.addCleanup(viewer.close)
        viewer.pointer(10, 20)
        viewer.pointer(7, 25)
        self.assertEqual(self.events(6)[-3:], [(self.REL, 0, -3), (self.REL, 1, 5), (self.SYN, 0, 0)])

    def test_migration(self):
        board = self.start('keyboard')
        other = self.migrate(board, '-m', '32M', '-device', 'virtio-keyboard-pci,addr=4,id=in')
        self.board_ = other
        other.qmp.cmd('send-key', {'keys': [{'type': 'qcode', 'data': 'a'}], 'hold-time': 0})
        self.assertEqual(self.events(4)[0], (self.KEY, self.A, 1))


if __name__ == '__main__':
    main()
