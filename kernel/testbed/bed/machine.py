"""Boots a kernel with an initramfs on an emulator, runs one shell command in it, brings its output."""

import os
import pathlib
import re
import selectors
import shutil
import subprocess
import time

from kit.debian import Problem

from .base import PROGRESS_S, say


class Machine:
    """The machine that a kernel of an architecture is booted on as a host of KVM."""

    def __init__(self, program, package, words, console, cpu, line, parameters=('', '')):
        self.program, self.package = program, package   # the emulator, and Debian's package of it
        self.words = words          # options that choose the machine
        self.console = console      # what Linux calls the first serial port
        self.cpu = cpu              # -cpu that QEMU 7.2 needs
        self.line = line            # bytes of its command line that Linux reads (COMMAND_LINE_SIZE)
        self.parameters = parameters    # for Linux; the second where instructions are counted


# arm64: QEMU 7.2 needs LPA2 off, and is much faster with its own pointer authentication. riscv64: the
# hypervisor extension is off by default; the firmware is the one that comes with the emulator. x86_64:
# only AMD's extension is emulated. Without ACPI's timer Linux cannot measure how fast the TSC counts,
# which is once a nanosecond, or as often as there are instructions; and the machine ends by a reset.
MACHINES = {
    'arm64': Machine('qemu-system-aarch64', 'qemu-system-arm',
                     ['-M', 'virt,virtualization=on,gic-version=3'], 'ttyAMA0',
                     'max,pauth-impdef=on,lpa2=off', 2048),
    'riscv64': Machine('qemu-system-riscv64', 'qemu-system-misc', ['-M', 'virt'], 'ttyS0',
                       'rv64,h=true', 1024),
    'x86_64': Machine('qemu-system-x86_64', 'qemu-system-x86',
                      ['-M', 'microvm,acpi=off,rtc=on', '-nodefaults'], 'ttyS0', 'EPYC,+svm,+npt',
                      2048, tuple('reboot=t tsc=reliable tsc_early_khz=%d' % khz
                                  for khz in (2000000, 1000000))),
}
STATUS = re.compile(r'^STATUS (\d+)\s*$', re.M)
# Any of these means that the kernel itself complained, or the emulator about it.
COMPLAINTS = re.compile(r'(BUG:|WARNING:|Oops|Kernel panic|possible recursive locking'
                        r'|possible circular locking|suspicious RCU usage|soft lockup'
                        r'|dirty-state-check:)')


class Outcome:
    """What a boot gave: the console's text, the command's status (None: never ended), seconds."""

    def __init__(self, text, wall_s, cpu_s):
        self.text = text
        found = STATUS.findall(text)
        self.status = int(found[-1]) if found else None
        self.wall_s, self.cpu_s = wall_s, cpu_s

    @property
    def complaints(self):
        return [line.strip() for line in self.text.splitlines() if COMPLAINTS.search(line)]


def emulator(arch, path=None):
    """The emulator's path: the one given, or Debian's installed one."""
    wanted = MACHINES[arch.name]
    program = path or shutil.which(wanted.program)
    if not program or not pathlib.Path(program).exists():
        raise Problem('no %s; install %s or give --qemu PATH'
                      % (path or wanted.program, wanted.package))
    return str(program)


def is_ours(program):
    return 'tidemark' in version(program).lower()


def room(arch):
    """How long a command may be: what the command line of the kernel leaves, with some parameters."""
    return MACHINES[arch.name].line - 100 - len(MACHINES[arch.name].parameters[0])


def default_cpu(arch, program):
    return 'max' if is_ours(program) else MACHINES[arch.name].cpu


def command_line(arch, program, image, initrd, command, count=False, cpus=2, cpu=None, memory='2500M',
                 parameters=''):
    """Counting needs one CPU: then a nanosecond of the guest's clock is one instruction."""
    if '"' in command:
        raise Problem('the command must not hold a double quote: %s' % command)
    host = MACHINES[arch.name]
    words = [program, *host.words, '-cpu', cpu or default_cpu(arch, program), '-accel', 'tcg']
    words += ['-smp', '1', '-icount', 'shift=0,sleep=off'] if count else ['-smp', str(cpus)]
    words += ['-m', memory, '-nic', 'none', '-display', 'none', '-serial', 'stdio', '-monitor',
              'none', '-no-reboot', '-kernel', str(image), '-initrd', str(initrd),
              '-append', 'console=%s panic=-1 quiet %s -- "%s"'
              % (host.console, ' '.join(filter(None, (host.parameters[count], parameters))),
                 command)]
    if len(words[-1]) >= host.line:
        raise Problem('the command is %d bytes too long for the command line of the kernel'
                      % (len(words[-1]) - host.line + 1))
    return words


def version(program, cpu=None):
    """What results are filed under: figures of another emulator or CPU are not comparable."""
    done = subprocess.run([program, '--version'], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).splitlines()[0] + (', -cpu ' + cpu if cpu else '')


def boot(words, title, timeout_s, log=None):
    """Runs the emulator to its end, or ends it after timeout_s."""
    start = shown = time.monotonic()
    before = os.times()
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
    text = b''
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdout, selectors.EVENT_READ)
        while True:
            if ready.select(1.0):
                piece = os.read(child.stdout.fileno(), 65536)
                if not piece:
                    break
                text += piece
            now = time.monotonic()
            if now - shown > PROGRESS_S:
                shown = now
                say('   %s: %d s: %s' % (title, now - start, last_line(text)[:70]))
            if now - start > timeout_s:
                child.kill()
                text += b'\nended after %d s\n' % timeout_s
                break
    child.stdout.close()
    child.wait()
    after = os.times()
    outcome = Outcome(text.decode('utf-8', 'replace').replace('\r', ''), now_since(start),
                      after.children_user + after.children_system
                      - before.children_user - before.children_system)
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(outcome.text, 'utf-8')
    say('   %s: status %s, %.0f s (%.0f s of CPU)' % (title, outcome.status, outcome.wall_s,
                                                      outcome.cpu_s))
    return outcome


def now_since(start):
    return time.monotonic() - start


def last_line(text):
    lines = text.decode('utf-8', 'replace').split()
    return ' '.join(lines[-8:])
