"""Programs that run the loads of tests/bench/translator, and the CPU time that they use for it."""

import contextlib
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import time

# The same algorithm for pointer authentication everywhere, and the one that costs least.
MACHINE = ['-M', 'virt', '-accel', 'tcg', '-cpu', 'max,pauth-impdef=on', '-m', '512', '-display', 'none',
           '-nodefaults', '-serial', 'stdio']


class Problem(Exception):
    """Something that the user has to know; its text is all that is printed."""


def cpu_seconds(command):
    """User CPU time of a process and the words that it printed."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as child:
        output = child.stdout.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Problem('%s: status %d: %s' % (' '.join(map(str, command)), child.returncode,
                                             output.decode('utf-8', 'replace').strip()[-300:]))
    return usage.ru_utime, output.decode('utf-8', 'replace').split()


class Emulator:
    """A bare-metal guest that runs one load and powers off."""

    def __init__(self, name, program, guest):
        self.name, self.program = name, program
        self.command = [program, *MACHINE, '-kernel', guest, '-append']

    def run(self, load, rounds):
        """(user CPU seconds, checksum)"""
        seconds, words = cpu_seconds(self.command + ['load=%s rounds=%d' % (load, rounds)])
        if len(words) < 3 or words[0] != load:
            raise Problem('%s: %s printed %r' % (self.name, load, ' '.join(words)))
        return seconds, int(words[1], 16)


def find_emulators(build, given):
    """Ours from the build directory, then those given, or all that this machine has."""
    guest = build / 'tests/bench/loads-aarch64.bin'
    ours = build / 'qemu-system-aarch64'
    for path in (guest, ours):
        if not path.exists():
            raise Problem('%s is not there: build first' % path)
    cache = pathlib.Path(os.environ.get('TIDEMARK_CACHE') or pathlib.Path.home() / '.cache' / 'tidemark')
    others = given or [p for p in (shutil.which('qemu-system-aarch64'),
                                   str(cache / 'qemu-aarch64-sid' / 'qemu-system-aarch64'))
                       if p and os.access(p, os.X_OK)]
    found = [Emulator('ours', str(ours), str(guest))]
    for program in others:
        done = subprocess.run([program, '--version'], capture_output=True, text=True, check=True)
        version = done.stdout.split()[3] if len(done.stdout.split()) > 3 else program
        found.append(Emulator('QEMU ' + version, program, str(guest)))
    return found


class Native:
    """The same kernels as a program of the host."""

    name = 'native'

    def __init__(self, program):
        self.program = program

    def run(self, load, rounds):
        seconds, words = cpu_seconds([self.program, load, str(rounds)])
        return seconds, int(words[0], 16)


class Console:
    """A Linux guest whose serial port is the emulator's standard input and output."""

    def __init__(self, program, kernel, initrd, append, machine):
        self.child = subprocess.Popen(
            [program, *machine, '-kernel', kernel, '-initrd', initrd, '-append', append],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.seen = b''
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.child.stdout, selectors.EVENT_READ)

    def wait(self, pattern, timeout=300):
        """Read until the pattern, which is forgotten together with what came before it."""
        end = time.monotonic() + timeout
        while not (match := re.search(pattern, self.seen)):
            left = end - time.monotonic()
            data = os.read(self.child.stdout.fileno(), 65536) \
                if left > 0 and self.selector.select(left) else b''
            if not data:
                raise Problem('the guest did not print %s but %r' % (pattern.decode(), self.seen[-300:]))
            self.seen += data
        self.seen = self.seen[match.end():]
        return match

    def send(self, text):
        self.child.stdin.write(text.encode())
        self.child.stdin.flush()

    def usage(self):
        """CPU seconds of the process, exactly, and the ticks of it in user mode and in the kernel."""
        with open('/proc/%d/stat' % self.child.pid, encoding='ascii') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return time.clock_gettime(~self.child.pid << 3 | 2), int(fields[11]), int(fields[12])

    def user_seconds(self, since=(0, 0, 0)):
        """User CPU seconds since such a usage(): ticks are too coarse for more than the share."""
        seconds, user, system = (now - then for now, then in zip(self.usage(), since))
        return seconds * user / (user + system) if user else 0.0

    def close(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        self.selector.close()
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def run_linux(emulator, kernel, initrd, append, loads, machine=tuple(MACHINE)):
    """One boot with a kernel command line, and loads = {name: rounds} one after the other: {name: user CPU seconds}."""
    console = Console(emulator.program, kernel, initrd, append, machine)
    try:
        console.wait(rb'shell: ready\r?\n')
        took = {'boot': console.user_seconds()}
        console.send('\n')
        console.wait(rb'loads: ready\r?\n')
        for name, rounds in loads.items():
            before = console.usage()
            console.send('%s %d\n' % (name, rounds))
            if console.wait(rb'loads: (\w+)\r?\n').group(1) != b'done':
                raise Problem('%s: %s failed in the guest' % (emulator.name, name))
            took[name] = console.user_seconds(before)
    finally:
        console.close()
    return took
