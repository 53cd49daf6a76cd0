"""A Linux host in QEMU's TCG, in which the emulator under test runs Linux guests on a real KVM.

Some hosts' /dev/kvm cannot run a whole Linux. There, Debian's qemu-system-x86_64 emulates a machine
with virtualization, Debian's cloud kernel runs on it from an initial RAM disk, and the emulator runs
inside. Kernel and memtest86+ are fetched by apt and unpacked in $TIDEMARK_CACHE/guests, or
~/.cache/tidemark/guests; nothing is installed.
"""

import os
import pathlib
import re
import select
import shutil
import socket
import subprocess

from . import host
from .qmp import QMP
from .serial import Serial

KERNEL_PACKAGE = 'linux-image-cloud-amd64'
MEMTEST_PACKAGE = 'memtest86+'
MEMTEST = 'boot/memtest86+x64.bin'
OUTER = '/usr/bin/qemu-system-x86_64'
BUSYBOX = '/bin/busybox'
MODULES = ('virt/lib/irqbypass.ko', 'arch/x86/kvm/kvm.ko', 'arch/x86/kvm/kvm-amd.ko')

# On a busy machine the kernel's check of the timer fails.
HOST_APPEND = 'console=ttyS0 quiet no_timer_check mitigations=off panic=-1'

# The host: KVM, and a shell on its console. It must not end, whatever becomes of a read.
HOST_INIT = '''#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in %s; do insmod /lib/modules/$module; done
stty -echo
for port in 1 2 3; do stty raw -echo clocal < /dev/ttyS$port; done
echo HOST READY
while :; do read -r line && eval "$line"; done
'''

# The guest: counts, and runs what it is told.
GUEST_INIT = '''#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs devtmpfs /dev
stty -echo
echo GUEST READY
(i=0; while :; do i=$((i + 1)); echo COUNT $i; usleep 100000; done) &
while :; do read -r line && eval "$line"; done
'''


class Missing(Exception):
    """Something that the nested host needs is not to be had; the text says what."""


def run(command, **options):
    """What a command prints; raises Missing if it cannot run or fails."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    except OSError as err:
        raise Missing('%s: %s' % (command[0], err.strerror)) from err
    if done.returncode:
        raise Missing('%s: %s' % (' '.join(command[:2]), done.stderr.strip()[-200:]))
    return done.stdout


def _kernel_package():
    """The package that the one without a version depends on."""
    found = re.search(r'Depends: (linux-image-\S+)', run(['apt-cache', 'depends', KERNEL_PACKAGE]))
    if not found:
        raise Missing('apt knows no ' + KERNEL_PACKAGE)
    return found.group(1)


def fetch():
    """The folder with the unpacked packages; fetches them if they are not there."""
    root = pathlib.Path(os.environ.get('TIDEMARK_CACHE') or pathlib.Path.home() / '.cache/tidemark')
    root = root / 'guests'
    if list(root.glob('boot/vmlinuz-*')) and (root / MEMTEST).exists():
        return root
    if not shutil.which('apt-get'):
        raise Missing('no apt-get to fetch %s and %s with' % (KERNEL_PACKAGE, MEMTEST_PACKAGE))
    root.mkdir(parents=True, exist_ok=True)
    run(['apt-get', 'download', '-o', 'APT::Sandbox::User=root', _kernel_package(),
          MEMTEST_PACKAGE], cwd=root)
    for package in root.glob('*.deb'):
        run(['dpkg', '-x', str(package), str(root)])
        package.unlink()
    return root


def _kernel(root):
    found = sorted(root.glob('boot/vmlinuz-*'))
    if not found:
        raise Missing('no kernel in %s' % root)
    return found[-1]


def _libraries(binary):
    """Shared libraries and loader of a program, as it finds them here."""
    return [path for path in re.findall(r'(/\S+) \(0x', run(['ldd', str(binary)]))]


class Tree:
    """A folder that becomes an initial RAM disk."""

    def __init__(self, folder, busybox=BUSYBOX):
        self.folder = pathlib.Path(folder)
        for sub in ('bin', 'proc', 'sys', 'dev', 'tmp', 'lib/modules'):
            (self.folder / sub).mkdir(parents=True)
        self.add(busybox, 'bin/busybox')

    def add(self, source, name):
        target = self.folder / name.lstrip('/')
        target.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.exists(source):
            raise Missing('no %s' % source)
        shutil.copy(source, target)

    def init(self, text):
        path = self.folder / 'init'
        path.write_text(text, 'ascii')
        path.chmod(0o755)

    def pack(self, archive):
        """Write it as a cpio archive, not compressed: unpacking would be emulated."""
        names = '\n'.join(str(path.relative_to(self.folder))
                          for path in sorted(self.folder.rglob('*')))
        with open(archive, 'wb') as out:
            try:
                subprocess.run(['cpio', '--quiet', '-o', '-H', 'newc', '-R', '0:0'],
                               input=names.encode(), stdout=out, cwd=self.folder, check=True)
            except (OSError, subprocess.CalledProcessError) as err:
                raise Missing('cpio: %s' % err) from err


def _ramdisks(directory, root, emulator):
    """The initial RAM disk of the host, which has that of its guests in it."""
    inner = Tree(directory / 'guest')
    inner.init(GUEST_INIT)
    inner.pack(directory / 'guest.cpio')
    outer = Tree(directory / 'host')
    modules = root / 'lib/modules' / _kernel(root).name.removeprefix('vmlinuz-') / 'kernel'
    for module in MODULES:
        outer.add(modules / module, 'lib/modules/' + pathlib.Path(module).name)
    outer.init(HOST_INIT % ' '.join(pathlib.Path(module).name for module in MODULES))
    outer.add(emulator, 'emulator')
    for library in _libraries(emulator):
        outer.add(library, library)
    outer.add(_kernel(root), 'guest/kernel')
    outer.add(root / MEMTEST, 'guest/memtest')
    outer.add(directory / 'guest.cpio', 'guest/initrd')
    outer.pack(directory / 'host.cpio')
    return directory / 'host.cpio'


class NestedHost:
    """The host, booted; end it with close().

    Four serial ports lead outside: the host's console, QMP of two emulators, and the serial port of
    their guests, which both use in turn.
    """

    def __init__(self, directory, emulator, memory='1G'):
        self.dir = pathlib.Path(directory)
        root = fetch()
        for path in (OUTER, BUSYBOX):
            if not os.path.exists(path):
                raise Missing('no ' + path)
        initrd = _ramdisks(self.dir, root, emulator)
        self.console = Serial(str(self.dir / 'console'))
        self.serial = Serial(str(self.dir / 'serial'))
        self._control = {name: self._listener(name) for name in ('a', 'b')}
        self._log = open(self.dir / 'outer.stderr', 'w+', encoding='utf-8', errors='replace')
        args = [OUTER, '-M', 'pc', '-accel', 'tcg', '-cpu', 'max', '-m', memory, '-nodefaults',
                '-display', 'none', '-no-reboot', '-kernel', str(_kernel(root)),
                '-initrd', str(initrd), '-append', HOST_APPEND]
        # each with an interrupt of its own: a shared one gets lost when one of the two is closed
        for index, (name, irq) in enumerate((('console', 4), ('a', 3), ('b', 5), ('serial', 7))):
            args += ['-chardev', 'socket,id=%s,path=%s' % (name, self.dir / name),
                     '-device', 'isa-serial,chardev=%s,index=%d,irq=%d' % (name, index, irq)]
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=self._log,
                                        stderr=self._log, preexec_fn=host.die_with_parent)

    def _listener(self, name):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(self.dir / name))
        listener.listen(1)
        return listener

    def wait_ready(self, timeout=180):
        self.console.wait(r'HOST READY\r?\n', timeout)
        for name, listener in self._control.items():
            listener.settimeout(10)
            self._control[name] = listener.accept()[0]
            listener.close()

    def shell(self, line, pattern=r'DONE\r?\n', timeout=60):
        """Run a line in the host's shell and wait for what it prints."""
        separator = ' ' if line.endswith('&') else '; '
        return self.console.command(line + separator + 'echo DONE\n', pattern, timeout)

    def start(self, name, kernel, append, *extra, accel='kvm', memory='128M'):
        """Start emulator 'a' or 'b' with a guest; returns its QMP session.

        name:   which of the two control ports it has.
        kernel: 'kernel' (the cloud kernel, with its initial RAM disk) or 'memtest'.
        """
        port = {'a': '/dev/ttyS1', 'b': '/dev/ttyS2'}[name]
        args = ['/emulator', '-M microvm -cpu host -accel', accel, '-m', memory,
                '-nodefaults -display none -kernel /guest/' + kernel, "-append '%s'" % append,
                '-chardev serial,id=serial0,path=/dev/ttyS3 -serial chardev:serial0',
                '-chardev serial,id=control,path=%s -mon chardev=control,mode=control' % port]
        if kernel == 'kernel':
            args.append('-initrd /guest/initrd')
        args += extra
        self._drain(self._control[name])
        self.shell('(%s; echo EXIT %s $?) &' % (' '.join(args), name))
        return QMP(self._control[name], timeout=120)

    @staticmethod
    def _drain(control):
        """Forget what an emulator that used the port before has said last."""
        while select.select([control], [], [], 0)[0] and control.recv(65536):
            pass

    def wait_exit(self, name, timeout=60, start=0):
        """Exit status of an emulator that ends by itself; start: a position on the console."""
        return int(self.console.wait(r'EXIT %s (\d+)' % name, timeout, start).group(1))

    def log(self):
        return self.console.text()[-3000:] + (self.dir / 'outer.stderr').read_text('utf-8')

    def close(self):
        if hasattr(self, 'process') and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for end in (self.console, self.serial, *self._control.values(), self._log):
            end.close()
