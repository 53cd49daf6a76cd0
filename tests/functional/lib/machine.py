"""One emulator process with its monitor and its guest's serial port."""

import hashlib
import os
import pathlib
import signal
import subprocess
import time

from . import host
from .qmp import QMP, QMPClosed
from .serial import Serial


# Machine that each architecture's tests use, CPU model for TCG, and where its RAM starts.
MACHINES = {
    'x86_64': ('microvm', None, 0),
    'aarch64': ('virt', 'max', 0x40000000),
}


class Machine:
    """Started by the constructor; end it with close()."""

    def __init__(self, directory, name, *extra, guest='writer', append='', memory='256M', smp=1,
                 arch='x86_64', machine=None, accel='kvm', incoming=None, paused=False, testdev=False,
                 binary=None, env=None, oob=False, kernel=None, initrd=None):
        """Start an emulator in directory, whose files there begin with name.

        extra:    more options, each a string of the command line.
        guest:    name of a guest of the build, or None for none.
        kernel:   path of a kernel instead, with initrd or without.
        append:   the guest's options.
        machine:  argument of -machine, default that of the architecture.
        incoming: argument of -incoming.
        paused:   start with -S.
        testdev:  .serial is the test device instead of the serial port.
        env:      variables added to the environment.
        """
        self.name = name
        self.dir = pathlib.Path(directory)
        self.binary = binary or host.binary(arch)
        default_machine, cpu, self.ram_base = MACHINES[arch]
        self.memory = _size(memory)
        for suffix in ('serial', 'qmp'):
            pathlib.Path(self._path(suffix)).unlink(missing_ok=True)
        self.serial = Serial(self._path('serial'))
        args = [self.binary, '-M', machine or default_machine, '-accel', accel, '-m', memory, '-smp', str(smp),
                '-nodefaults', '-display', 'none', '-no-reboot',
                '-qmp', 'unix:%s,server=on,wait=off' % self._path('qmp'),
                '-chardev', 'socket,id=serial0,path=' + self._path('serial')]
        args += (['-device', 'tidemark-testdev,chardev=serial0'] if testdev else
                 ['-serial', 'chardev:serial0'])
        if cpu:
            args += ['-cpu', cpu]
        if guest:
            kernel = str(host.guest(guest, arch))
        if kernel:
            args += ['-kernel', kernel, '-append', append]
        if initrd:
            args += ['-initrd', initrd]
        if incoming:
            args += ['-incoming', incoming]
        if paused:
            args += ['-S']
        self.args = args + list(extra)
        self._stderr = open(self._path('stderr'), 'w+', encoding='utf-8', errors='replace')
        self.process = subprocess.Popen(
            self.args, stdin=subprocess.DEVNULL, stdout=self._stderr, stderr=self._stderr,
            env={**os.environ, **(env or {})}, preexec_fn=host.die_with_parent)
        try:
            self.qmp = QMP(self._path('qmp'), alive=self.alive, oob=oob)
        except Exception as err:
            self.close()
            raise RuntimeError('%s did not start: %s\n%s\n%s' % (
                name, err, ' '.join(self.args), self.stderr())) from err

    def _path(self, suffix):
        return str(self.dir / (self.name + '.' + suffix))

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def stderr(self):
        return pathlib.Path(self._path('stderr')).read_text('utf-8', 'replace')

    def status(self):
        """Run state, as query-status says."""
        return self.qmp.cmd('query-status')['status']

    def wait_status(self, wanted, timeout=20):
        deadline = time.monotonic() + timeout
        while self.status() != wanted:
            if time.monotonic() > deadline:
                raise TimeoutError('%s is %s, not %s' % (self.name, self.status(), wanted))
            time.sleep(0.02)

    def wait_exit(self, timeout=20):
        """Wait for the process to end by itself; returns its exit status."""
        return self.process.wait(timeout)

    def wait_ready(self, timeout=60):
        """Wait until the guest has filled its memory and begun its work."""
        self.serial.wait(r'READY\n', timeout)

    def check_guest(self, timeout=60):
        """Let the writer compare its memory with what it knows; raises if a page is wrong."""
        match = self.serial.command('c', r'(OK pass=(\d+) written=(\d+)|BAD [^\n]*)\n', timeout)
        if match.group(1).startswith('BAD'):
            raise AssertionError('%s: guest memory is damaged: %s' % (self.name, match.group(1)))
        return int(match.group(3))

    def write_rate(self, seconds=1.0):
        """Bytes a second that the writer touches, in whole pages, by the guest's own clock."""
        pattern = r'STAT pass=\d+ written=(\d+) ns=(\d+) host_ns=\d+\n'
        first = self.serial.command('s', pattern)
        time.sleep(seconds)
        last = self.serial.command('s', pattern)
        pages = int(last.group(1)) - int(first.group(1))
        return pages * 4096e9 / (int(last.group(2)) - int(first.group(2)))

    def written(self):
        """Pages that the writer has touched."""
        return int(self.serial.command('s', r'STAT pass=\d+ written=(\d+) ').group(1))

    def wait_written(self, mib, timeout=60):
        """Wait until the writer has touched so much, so that a migration has something to send."""
        deadline = time.monotonic() + timeout
        while True:
            if self.written() >= mib * 256:
                return
            if time.monotonic() > deadline:
                raise TimeoutError('the writer did not touch %d MiB in %g s' % (mib, timeout))
            time.sleep(0.05)

    def wait_more_written(self, mib, timeout=60):
        """Wait until the writer has touched so much more: it is not stuck."""
        self.wait_written(mib + self.written() / 256, timeout)

    def vcpu_seconds(self):
        """CPU time that the vCPU threads have used."""
        total = 0
        for cpu in self.qmp.cmd('query-cpus-fast'):
            path = '/proc/%d/task/%d/schedstat' % (self.pid, cpu['thread-id'])
            total += int(pathlib.Path(path).read_text('ascii').split()[0])
        return total / 1e9

    def write_speed(self, seconds=0.3):
        """Pages that the writer touches a second of CPU time, so that load does not matter."""
        pages, used = self.written(), self.vcpu_seconds()
        time.sleep(seconds)
        pages = self.written() - pages
        return pages / (self.vcpu_seconds() - used)

    def ram_hash(self):
        """SHA-256 of all RAM, at most 3 GiB; only meaningful while the machine is stopped."""
        path = self._path('ram')
        self.qmp.cmd('pmemsave', val=self.ram_base, size=self.memory, filename=path, timeout=120)
        digest = hashlib.sha256()
        with open(path, 'rb') as dump:
            while chunk := dump.read(1 << 20):
                digest.update(chunk)
        os.unlink(path)
        return digest.hexdigest()

    def quit(self, timeout=20):
        """Leave through QMP; returns the exit status."""
        try:
            self.qmp.cmd('quit')
        except QMPClosed:
            pass
        return self.wait_exit(timeout)

    def close(self):
        """End the process by its pid, if it still runs, and free what belongs to it."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGKILL)
                self.process.wait()
        if hasattr(self, 'qmp'):
            self.qmp.close()
        self.serial.close()
        self._stderr.close()


def _size(text):
    units = {'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text) << 20
