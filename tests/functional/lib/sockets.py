"""Sockets beside a migration: a sink, a counting proxy, a peer that never answers."""

import os
import socket
import threading


def free_port():
    """A TCP port of the loopback address on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return sock.getsockname()[1]


class Deaf:
    """A TCP listener whose queue is full: connecting to it hangs."""

    def __init__(self):
        self._listener = socket.socket()
        self._listener.bind(('127.0.0.1', 0))
        self._listener.listen(0)
        self.port = self._listener.getsockname()[1]
        self._clients = []
        for _ in range(3):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(('127.0.0.1', self.port))
            self._clients.append(client)

    def close(self):
        for sock in self._clients + [self._listener]:
            sock.close()


class Proxy:
    """Accepts at a UNIX path, passes bytes on to another one (or drops them) and counts."""

    def __init__(self, path, target=None):
        """path: where the source connects; target: where to pass it on to, or None."""
        self.bytes = 0          # from the source to the target
        self.connections = 0
        self._target = target
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen(64)
        self._path = path
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                source = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            target = None
            if self._target:
                target = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                target.connect(self._target)
                threading.Thread(target=self._copy, args=(target, source, False),
                                 daemon=True).start()
            threading.Thread(target=self._copy, args=(source, target, True), daemon=True).start()

    def _copy(self, source, target, count):
        try:
            while data := source.recv(1 << 18):
                if count:
                    self.bytes += len(data)
                if target:
                    target.sendall(data)
        except OSError:
            pass
        for sock in (source, target):
            if sock:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        if not target:
            source.close()

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        os.unlink(self._path)
