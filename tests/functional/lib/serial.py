"""The guest's serial port: a socket that the emulator connects to, read by a thread."""

import re
import socket
import threading
import time


class Serial:
    """Collects what a guest prints, with the arrival time of each piece."""

    def __init__(self, path):
        """Listen at path; give the emulator -chardev socket,path=PATH."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(1)
        self._sock = None
        self._text = ''
        self._arrivals = []     # (position in the text, monotonic time)
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            sock = self._listener.accept()[0]
        except OSError:
            return
        with self._changed:
            self._sock = sock
            self._changed.notify_all()
        while True:
            try:
                data = sock.recv(65536)
            except OSError:
                data = b''
            if not data:
                return
            with self._changed:
                self._arrivals.append((len(self._text), time.monotonic()))
                self._text += data.decode('latin-1')
                self._changed.notify_all()

    def close(self):
        # shutdown() wakes the thread, close() alone would not
        for sock in (self._listener, self._sock):
            if sock:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                sock.close()
        self._thread.join(5)

    def text(self, start=0):
        """All that arrived since position start."""
        with self._changed:
            return self._text[start:]

    def position(self):
        """Where the text ends now; a start for text() and wait()."""
        with self._changed:
            return len(self._text)

    def wait(self, pattern, timeout=20, start=0):
        """Wait until the regular expression occurs after start; returns the match."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                match = re.compile(pattern).search(self._text, start)
                if match:
                    return match
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError('guest did not print /%s/ in %g s, last: %r' % (
                        pattern, timeout, self._text[-200:]))
                self._changed.wait(left)

    def wait_more(self, timeout=20, start=None):
        """Wait until the guest has printed anything after start (default: after now)."""
        return self.wait(r'(?s).', timeout, self.position() if start is None else start)

    def command(self, char, pattern, timeout=60):
        """Send one command byte and wait for its answer."""
        with self._changed:
            self._changed.wait_for(lambda: self._sock, timeout)
            start = len(self._text)
            sock = self._sock
        if not sock:
            raise TimeoutError('the emulator did not connect its serial port')
        sock.sendall(char.encode())
        return self.wait(pattern, timeout, start)

    def arrivals(self, pattern):
        """Every match, as (arrival time of its last character, match)."""
        with self._changed:
            text, arrivals = self._text, list(self._arrivals)
        found, i = [], 0
        for match in re.finditer(pattern, text):
            end = match.end() - 1
            while i + 1 < len(arrivals) and arrivals[i + 1][0] <= end:
                i += 1
            found.append((arrivals[i][1], match))
        return found

    def lines(self, pattern):
        """Every whole line that matches, as (arrival time, match)."""
        return self.arrivals(pattern + r'\n')
