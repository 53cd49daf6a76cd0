"""A VNC viewer as far as tests need it (RFC 6143): raw pixels, the desktop's size, keys, a pointer."""

import socket
import struct
import time

from . import des

ENCODING_RAW, ENCODING_DESKTOP_SIZE, ENCODING_CURSOR = 0, -223, -239


class Refused(Exception):
    """The server said no; the text is its reason."""


class RFB:
    """A connection to ('127.0.0.1', port) or the path of a socket, after the handshake."""

    def __init__(self, address, password=None, shared=True, timeout=20, cursor=False):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
        self.sock = socket.socket(family, socket.SOCK_STREAM)
        self.sock.settimeout(timeout)
        self.timeout = timeout
        self.cursor = None
        try:
            self.sock.connect(address)
            self._handshake(password, shared, cursor)
        except Exception:
            self.sock.close()
            raise

    def close(self):
        self.sock.close()

    def _read(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self.sock.recv(min(size - len(data), 1 << 20))
            if not piece:
                raise ConnectionError('the VNC server ended the connection')
            data += piece
        return bytes(data)

    def _unpack(self, form):
        return struct.unpack(form, self._read(struct.calcsize(form)))

    def _text(self):
        return self._read(self._unpack('>I')[0]).decode('utf-8', 'replace')

    def _handshake(self, password, shared, cursor):
        version = self._read(12)
        assert version == b'RFB 003.008\n', version
        self.sock.sendall(version)
        count, = self._unpack('>B')
        if not count:
            raise Refused(self._text())
        self.security = list(self._read(count))
        kind = 2 if password is not None else 1
        if kind not in self.security:
            raise Refused('security types %s' % self.security)
        self.sock.sendall(bytes([kind]))
        if kind == 2:
            key = password.encode()[:8].ljust(8, b'\0')
            self.sock.sendall(des.encrypt(des.mirrored(key), self._read(16)))
        if self._unpack('>I')[0]:
            raise Refused(self._text())
        self.sock.sendall(bytes([shared]))
        self.width, self.height = self._unpack('>HH')
        (self.bits, self.depth, self.big, _, *_, self.red, self.green, self.blue) = self._unpack('>BBBBHHHBBB3x')
        self.name = self._text()
        self.pixels = bytearray(self.width * self.height * 4)
        encodings = [ENCODING_RAW, ENCODING_DESKTOP_SIZE] + ([ENCODING_CURSOR] if cursor else [])
        self.sock.sendall(struct.pack('>BxH%di' % len(encodings), 2, len(encodings), *encodings))

    def request(self, incremental=True):
        self.sock.sendall(struct.pack('>BBHHHH', 3, incremental, 0, 0, self.width, self.height))

    def take_update(self):
        """Read one answer to a request into .pixels; returns the rectangles."""
        kind, = self._unpack('>B')
        if kind == 2:       # bell
            return []
        assert kind == 0, kind
        count, = self._unpack('>xH')
        return [self._rectangle() for _ in range(count)]

    def _rectangle(self):
        x, y, width, height, encoding = self._unpack('>HHHHi')
        if encoding == ENCODING_DESKTOP_SIZE:
            self.width, self.height = width, height
            self.pixels = bytearray(width * height * 4)
        elif encoding == ENCODING_CURSOR:
            pixels = self._read(width * height * 4)
            self.cursor = (width, height, x, y, pixels, self._read((width + 7) // 8 * height))
        else:
            assert encoding == ENCODING_RAW, encoding
            data = self._read(width * height * 4)
            for line in range(height):
                at = ((y + line) * self.width + x) * 4
                self.pixels[at:at + width * 4] = data[line * width * 4:(line + 1) * width * 4]
        return x, y, width, height, encoding

    def refresh(self):
        """Get the whole picture anew."""
        self.request(incremental=False)
        self.take_update()

    def wait_for(self, condition, what):
        """Follow the picture until condition() holds."""
        deadline = time.monotonic() + self.timeout
        self.refresh()
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError('%s: not seen in time' % what)
            self.request()
            self.take_update()

    def pixel(self, x, y):
        """(red, green, blue)."""
        value = struct.unpack_from('<I', self.pixels, (y * self.width + x) * 4)[0]
        return tuple(value >> shift & 255 for shift in (self.red, self.green, self.blue))

    def key(self, keysym, down):
        self.sock.sendall(struct.pack('>BBxxI', 4, down, keysym))

    def pointer(self, x, y, buttons=0):
        self.sock.sendall(struct.pack('>BBHH', 5, buttons, x, y))
