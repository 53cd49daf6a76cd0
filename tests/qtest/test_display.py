#!/usr/bin/env python3
"""Display devices: what guests ask of them, seen through screen shots and VNC."""

import pathlib
import struct
import zlib

import virtio_mmio as mmio
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

    def test_a_second_one_and_other_machines(self):
        with self.assertRaises(RuntimeError) as caught:
            self.start('-device', 'ramfb')
        self.assertIn("'etc/ramfb' exists already", str(caught.exception))

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


if __name__ == '__main__':
    main()
