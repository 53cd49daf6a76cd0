"""What the tests of devices share: a machine without CPUs, whose bus a test drives."""

import base64
import contextlib
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'functional'))

from lib import host                                   # noqa: E402
from lib.qmp import QMP, QMPClosed, QMPError           # noqa: E402
from lib.qtest import QTest                            # noqa: E402
from lib.testcase import FunctionalTest, main          # noqa: E402

__all__ = ['Bus', 'DeviceTest', 'QMPError', 'main']


class Bus(QTest):
    """The qtest protocol's accesses, by the size in bytes."""

    SUFFIX = {1: 'b', 2: 'w', 4: 'l', 8: 'q'}

    def port_out(self, port, value, size=1):
        self.command('out%s 0x%x 0x%x' % (self.SUFFIX[size], port, value))

    def port_in(self, port, size=1):
        return int(self.command('in%s 0x%x' % (self.SUFFIX[size], port))[0], 16)

    def store(self, addr, value, size=4):
        self.command('write%s 0x%x 0x%x' % (self.SUFFIX[size], addr, value))

    def load(self, addr, size=4):
        return int(self.command('read%s 0x%x' % (self.SUFFIX[size], addr))[0], 16)

    def memset(self, addr, size, byte):
        self.command('memset 0x%x 0x%x 0x%x' % (addr, size, byte))

    def b64write(self, addr, data):
        self.command('b64write 0x%x 0x%x %s' % (addr, len(data), base64.b64encode(data).decode()))

    def b64read(self, addr, size):
        return base64.b64decode(self.command('b64read 0x%x 0x%x' % (addr, size))[0])

    def clock_step(self, ns=None):
        """Move the virtual clock on, by default to the next timer; returns the new time."""
        return int(self.command('clock_step' if ns is None else 'clock_step %d' % ns)[0])

    def clock_set(self, ns):
        return int(self.command('clock_set %d' % ns)[0])

    def fails(self, line):
        """The text of the refusal that the command must get."""
        try:
            words = self.command(line)
        except AssertionError as err:
            return str(err)
        raise AssertionError('%s: not refused but %s' % (line, words))


class Board:
    """One emulator process with -accel qtest: .bus and .qmp."""

    def __init__(self, binary, directory, name, args):
        qtest_path, qmp_path = ('%s/%s.%s' % (directory, name, kind) for kind in ('qtest', 'qmp'))
        self.bus = Bus(qtest_path)
        self._stderr = open('%s/%s.stderr' % (directory, name), 'w+', encoding='utf-8')
        self.process = subprocess.Popen(
            [binary, '-accel', 'qtest', '-nodefaults', '-display', 'none', '-qtest', 'unix:' + qtest_path,
             '-qmp', 'unix:%s,server=on,wait=off' % qmp_path, *args],
            stdin=subprocess.DEVNULL, stdout=self._stderr, stderr=self._stderr,
            preexec_fn=host.die_with_parent)
        try:
            self.qmp = QMP(qmp_path, alive=lambda: self.process.poll() is None)
        except OSError as err:
            self.process.wait(10)
            raise RuntimeError('%s did not start: %s' % (name, self.stderr())) from err

    def stderr(self):
        self._stderr.flush()
        return pathlib.Path(self._stderr.name).read_text('utf-8')

    def close(self):
        if self.process.poll() is None:
            with contextlib.suppress(QMPClosed):
                self.qmp.cmd('quit')
            self.process.wait(20)
        self.qmp.close()
        self.bus.close()
        self._stderr.close()
        if self.process.returncode < 0:
            raise AssertionError('the emulator died of signal %d' % -self.process.returncode)


class DeviceTest(FunctionalTest):
    """A test that starts boards of a machine type with devices."""

    accel = 'qtest'
    needs_guests = False
    machine_type = 'microvm'
    timeout = 60

    def setUp(self):
        super().setUp()
        self.require_tidemark('the machine has its memory map')

    def board(self, *args, name='a'):
        """Start a Board that ends with the test."""
        board = Board(self.binary, self.dir, name, ['-M', self.machine_type, *args])
        self.addCleanup(board.close)
        return board

    def file(self, name, data):
        """Write a file into the test's directory; returns its path."""
        path = self.path(name)
        pathlib.Path(path).write_bytes(data)
        return path

    def migrate(self, old, *args, name='b', live=False):
        """Move a board's state into a new one with these options; returns the new one.

        live: over a socket while the old one runs, else through a file.
        """
        if live:
            new = self.board(*args, '-incoming', self.uri(name), name=name)
            uri = self.uri(name)
        else:
            uri = 'file:' + self.path(name + '.state')
        old.qmp.cmd('migrate-set-capabilities', capabilities=[{'capability': 'events', 'state': True}])
        old.qmp.cmd('migrate', uri=uri)
        old.qmp.wait_event('MIGRATION', match=lambda data: data['status'] in ('completed', 'failed'))
        status = old.qmp.cmd('query-migrate')
        self.assertEqual(status['status'], 'completed', status.get('error-desc'))
        if not live:
            new = self.board(*args, '-incoming', uri, name=name)
        if new.qmp.cmd('query-status')['status'] == 'inmigrate':
            new.qmp.wait_event('RESUME')
        self.assertEqual(new.qmp.cmd('query-status')['status'], 'running')
        return new
