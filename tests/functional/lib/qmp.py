"""QMP client: commands, out-of-band execution, events, descriptor passing, HMP."""

import json
import select
import socket
import time


class QMPError(Exception):
    """An error reply; .error_class and .desc are its two fields."""

    def __init__(self, command, reply):
        self.error_class = reply['error']['class']
        self.desc = reply['error']['desc']
        super().__init__('%s: %s: %s' % (command, self.error_class, self.desc))


class QMPClosed(Exception):
    """The emulator closed the connection."""


class QMP:
    """One connection to a QMP server, used from one thread."""

    def __init__(self, path, timeout=20, alive=lambda: True, oob=False):
        """Connect to the UNIX socket at path and negotiate.

        path appears only once the emulator listens: retried until timeout seconds are over or
        alive() says that the process has ended. It may also be a socket that is connected.
        """
        self.timeout = timeout
        self.events = []
        self._buf = b''
        self._sock = (path if isinstance(path, socket.socket) else
                      self._connect(path, time.monotonic() + timeout, alive))
        self.greeting = self._read_message(time.monotonic() + timeout)['QMP']
        self.cmd('qmp_capabilities', {'enable': ['oob']} if oob else None)

    @staticmethod
    def _connect(path, deadline, alive):
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(path)
                return sock
            except (FileNotFoundError, ConnectionRefusedError):
                sock.close()
                if not alive() or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def close(self):
        self._sock.close()

    def _read_message(self, deadline):
        while b'\n' not in self._buf:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._sock], [], [], left)[0]:
                raise TimeoutError('no QMP message in time')
            try:
                data = self._sock.recv(65536)
            except ConnectionResetError:
                data = b''
            if not data:
                raise QMPClosed('QMP connection closed')
            self._buf += data
        line, self._buf = self._buf.split(b'\n', 1)
        return json.loads(line)

    def send(self, command, arguments=None, fds=(), oob=False, ident=None):
        """Send a command without waiting for its reply; read_reply() fetches that."""
        message = {'exec-oob' if oob else 'execute': command}
        if arguments:
            message['arguments'] = arguments
        if ident is not None:
            message['id'] = ident
        data = json.dumps(message).encode() + b'\n'
        try:
            if fds:
                socket.send_fds(self._sock, [data], list(fds))
            else:
                self._sock.sendall(data)
        except BrokenPipeError as err:
            raise QMPClosed('QMP connection closed') from err

    def read_reply(self, timeout=None):
        """The next reply as it came; events met on the way are kept in .events."""
        deadline = time.monotonic() + (timeout or self.timeout)
        while True:
            message = self._read_message(deadline)
            if 'event' in message:
                self.events.append(message)
            else:
                return message

    def cmd(self, command, arguments=None, timeout=None, fds=(), oob=False, **kwargs):
        """Run a command and return its value; raises QMPError on an error reply.

        Arguments come as a dict or as keywords, whose '_' stand for '-'.
        """
        args = dict(arguments or {})
        args.update({key.replace('_', '-'): value for key, value in kwargs.items()})
        self.send(command, args, fds, oob)
        reply = self.read_reply(timeout)
        if 'error' in reply:
            raise QMPError(command, reply)
        return reply['return']

    def hmp(self, line, timeout=None):
        """Run a line of the human monitor and return its text."""
        return self.cmd('human-monitor-command', {'command-line': line}, timeout)

    def _read_event(self, deadline):
        message = self._read_message(deadline)
        if 'event' not in message:
            raise AssertionError('reply without a command: %s' % message)
        self.events.append(message)

    def poll_events(self):
        """Take in events that have arrived; returns all not yet consumed."""
        while b'\n' in self._buf or select.select([self._sock], [], [], 0)[0]:
            self._read_event(time.monotonic() + 1)
        return self.events

    def wait_event(self, name, timeout=None, match=lambda data: True):
        """Remove and return the first event of that name whose data match() accepts."""
        deadline = time.monotonic() + (timeout or self.timeout)
        while True:
            for i, event in enumerate(self.events):
                if event['event'] == name and match(event.get('data', {})):
                    return self.events.pop(i)
            self._read_event(deadline)
