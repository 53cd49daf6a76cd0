"""Client of the qtest protocol: reads and writes guest memory from outside."""

import socket


class QTest:
    """Listen at path; give the emulator -qtest unix:PATH."""

    def __init__(self, path):
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(1)
        self._listener.settimeout(20)
        self._stream = None

    def command(self, line):
        """Send one command; returns the words after OK."""
        if not self._stream:
            sock = self._listener.accept()[0]
            sock.settimeout(20)
            self._stream = sock.makefile('rw', encoding='ascii', newline='\n')
            sock.close()
        self._stream.write(line + '\n')
        self._stream.flush()
        reply = self._stream.readline().split()
        if reply[:1] != ['OK']:
            raise AssertionError('qtest %s: %s' % (line[:60], ' '.join(reply)))
        return reply[1:]

    def write(self, addr, data):
        self.command('write 0x%x 0x%x 0x%s' % (addr, len(data), data.hex()))

    def read(self, addr, size):
        return bytes.fromhex(self.command('read 0x%x 0x%x' % (addr, size))[0][2:])

    def close(self):
        if self._stream:
            self._stream.close()
        self._listener.close()
