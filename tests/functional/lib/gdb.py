"""A client of GDB's remote serial protocol (GDB manual, appendix E), as much as the tests need."""

import socket
import time


class Gdb:
    def __init__(self, path, timeout=30):
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.settimeout(timeout)
        self._sock.connect(path)
        self._buffer = b''
        self.send_raw(b'+')
        self.features = self.ask('qSupported:hwbreak+')
        assert self.ask('QStartNoAckMode') == 'OK'

    def close(self):
        self._sock.close()

    def send_raw(self, data):
        self._sock.sendall(data)

    def send(self, text):
        data = text if isinstance(text, bytes) else text.encode()
        escaped = b''.join(b'}' + bytes([c ^ 0x20]) if c in b'$#}*' else bytes([c]) for c in data)
        self.send_raw(b'$%s#%02x' % (escaped, sum(escaped) & 0xff))

    def receive(self):
        """The next packet as text; '' where the server says it does not know."""
        while True:
            begin = self._buffer.find(b'$')
            end = self._buffer.find(b'#', begin)
            if begin >= 0 and 0 <= end <= len(self._buffer) - 3:
                break
            more = self._sock.recv(65536)
            if not more:
                raise ConnectionError('the server closed the connection')
            self._buffer += more
        data, checksum = self._buffer[begin + 1:end], self._buffer[end + 1:end + 3]
        self._buffer = self._buffer[end + 3:]
        assert int(checksum, 16) == sum(data) & 0xff
        out, escape = bytearray(), False
        for c in data:
            if c == ord('}') and not escape:
                escape = True
                continue
            out.append(c ^ 0x20 if escape else c)
            escape = False
        return out.decode('latin-1')

    def ask(self, text):
        self.send(text)
        return self.receive()

    def silent(self, seconds=0.2):
        """Whether nothing comes for a while."""
        time.sleep(seconds)
        self._sock.setblocking(False)
        try:
            self._buffer += self._sock.recv(65536)
        except BlockingIOError:
            pass
        finally:
            self._sock.setblocking(True)
            self._sock.settimeout(30)
        return not self._buffer

    def reg(self, number):
        return int.from_bytes(bytes.fromhex(self.ask('p%x' % number)), 'little')

    def set_reg(self, number, value, size=8):
        return self.ask('P%x=%s' % (number, value.to_bytes(size, 'little').hex()))

    def read(self, addr, size):
        return bytes.fromhex(self.ask('m%x,%x' % (addr, size)))

    def write(self, addr, data):
        return self.ask('M%x,%x:%s' % (addr, len(data), data.hex()))
