"""An arm64 host at EL2 on the emulator under test, in which its own build for arm64 runs guests on KVM.

Only the host's console leads outside: its shell is spoken to there, and the emulators in it have FIFOs for
monitor and serial port. The build for arm64 is that of ./configure --cross-prefix=aarch64-linux-gnu-
--build-dir=build-arm64, or $TIDEMARK_ARM64; its libraries are those of scripts/arm64-libraries.
"""

import json
import os
import pathlib
import re
import subprocess
import time

from . import debian_kernels, host, nested
from .nested import Missing
from .serial import Serial

ROOT = 'arm64-root'
READELF = 'aarch64-linux-gnu-readelf'
STRIP = 'aarch64-linux-gnu-strip'

INIT = '''#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
dmesg | grep "kvm.*mode initialized"
dmesg -n 1
stty -echo
echo HOST READY
while :; do read -r line && eval "$line"; done
'''


def _cache():
    return pathlib.Path(os.environ.get('TIDEMARK_CACHE') or pathlib.Path.home() / '.cache/tidemark')


def emulator():
    """The build for arm64."""
    path = pathlib.Path(os.environ.get('TIDEMARK_ARM64')
                        or host.REPO / 'build-arm64' / 'qemu-system-aarch64')
    if not path.exists():
        raise Missing('no %s (scripts/arm64-libraries, then ./configure '
                      '--cross-prefix=aarch64-linux-gnu- --build-dir=build-arm64)' % path)
    if not (_cache() / ROOT / '.complete').exists():
        raise Missing('no arm64 libraries: scripts/arm64-libraries fetches them')
    return path


def busybox():
    """A static one, as kernel/testbed fetches it."""
    path = _cache() / 'kernel' / 'busybox-arm64' / 'busybox'
    if not path.exists():
        raise Missing('no %s (kernel/testbed/build makes it)' % path)
    return path


def _needed(path):
    out = nested.run([READELF, '-d', str(path)])
    return re.findall(r'NEEDED.*\[(.*)\]', out)


def _libraries(binary):
    """Shared libraries and loader of an arm64 program, out of the unpacked packages."""
    folders = [_cache() / ROOT / sub / 'aarch64-linux-gnu' for sub in ('lib', 'usr/lib')]
    found, todo = {}, _needed(binary)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        paths = [folder / name for folder in folders if (folder / name).exists()]
        if not paths:
            raise Missing('no %s in %s' % (name, _cache() / ROOT))
        found[name] = paths[0]
        todo += _needed(paths[0])
    return found


def ramdisk(folder, extra):
    """The host's initial RAM disk; extra: {name in it: path} for what its guests need."""
    tree = nested.Tree(pathlib.Path(folder) / 'host', busybox())
    tree.init(INIT)
    nested.run([STRIP, '-o', str(tree.folder / 'emulator'), str(emulator())])
    for name, path in _libraries(emulator()).items():
        tree.add(path, 'lib/' + name)
    for name, path in extra.items():
        tree.add(path, name)
    tree.pack(pathlib.Path(folder) / 'host.cpio')
    return pathlib.Path(folder) / 'host.cpio'


class Peer:
    """An emulator in the host, by its FIFOs."""

    def __init__(self, name, number, shell):
        self.name, self.shell, self.number = name, shell, number
        self.ident = 0
        self.file = '/tmp/' + name

    def cmd(self, command, timeout=120, **arguments):
        """The return value of a QMP command."""
        self.ident += 1
        request = {'execute': command, 'id': self.ident}
        if arguments:
            request['arguments'] = arguments
        self.shell("echo '%s' >&%d" % (json.dumps(request), self.number))
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            text = self.shell('cat %s.qmp' % self.file)
            for line in text.splitlines():
                answer = json.loads(line) if line.startswith('{') else {}
                if answer.get('id') == self.ident:
                    if 'error' in answer:
                        raise AssertionError('%s: %s: %s' % (self.name, command, answer['error']))
                    return answer['return']
            if re.search(r'^EXIT', text, re.M):
                break
            time.sleep(0.5)
        raise AssertionError('%s does not answer %s: %s' % (self.name, command, text[-800:]))

    def events(self, name):
        """All events of that name so far."""
        found = [json.loads(line) for line in self.shell('cat %s.qmp' % self.file).splitlines()
                 if line.startswith('{')]
        return [event for event in found if event.get('event') == name]

    def serial(self):
        """All that the guest has printed to this emulator."""
        return self.shell('cat %s.out' % self.file)

    def send(self, text):
        self.shell("printf '%s' > %s.in" % (text.replace('\n', '\\n'), self.file))

    def wait(self, pattern, timeout=120, start=0):
        """Wait until the guest has printed it after position start; returns the match."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            text = self.serial()
            match = re.compile(pattern).search(text, start)
            if match:
                return match
            if self.exit_status() is not None:
                break
            time.sleep(1)
        raise AssertionError('%s: the guest did not print /%s/ in %d s, last: %r; %s' % (
            self.name, pattern, timeout, text[-400:], self.shell('tail -n 3 %s.qmp' % self.file)))

    def command(self, text, pattern, timeout=120):
        start = len(self.serial())
        self.send(text)
        return self.wait(pattern, timeout, start)

    def exit_status(self):
        found = re.search(r'^EXIT (\d+)', self.shell('tail -n 1 %s.qmp' % self.file), re.M)
        return int(found.group(1)) if found else None

    def quit(self):
        """End it, and what holds its FIFOs open."""
        if self.exit_status() is None:
            self.shell("echo '{\"execute\": \"quit\"}' >&%d" % self.number)
        self.shell('kill $(cat {0}.hold); exec {1}>&-; until grep -q ^EXIT {0}.qmp; do sleep 0.1; done'
                   .format(self.file, self.number))


class NestedHost:
    """The host, booted; end it with close()."""

    def __init__(self, directory, binary, extra, cpu='max', memory='2G', kernel=None):
        self.dir = pathlib.Path(directory)
        kernel = kernel or debian_kernels.files('sid')[0]
        initrd = ramdisk(self.dir, extra)
        self.console = Serial(str(self.dir / 'console'))
        self._log = open(self.dir / 'outer.stderr', 'w+', encoding='utf-8', errors='replace')
        self._count = 0
        self.process = subprocess.Popen(
            [str(binary), '-M', 'virt,virtualization=on,gic-version=3', '-cpu', cpu, '-accel', 'tcg',
             '-smp', '2', '-m', memory, '-nodefaults', '-display', 'none', '-no-reboot',
             '-kernel', str(kernel), '-initrd', str(initrd), '-append', 'console=ttyAMA0 panic=-1',
             '-chardev', 'socket,id=console,path=%s' % (self.dir / 'console'),
             '-serial', 'chardev:console'],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            preexec_fn=host.die_with_parent)

    def wait_ready(self, timeout=300):
        self.console.wait(r'HOST READY\r?\n', timeout)

    def shell(self, line, timeout=120):
        """Run a line in the host's shell; returns what it prints."""
        self._count += 1
        match = self.console.command('%s; echo "D"ONE %d\n' % (line, self._count),
                                     r'(?s)(.*?)DONE %d\r?\n' % self._count, timeout)
        return match.group(1).replace('\r', '')

    def start(self, name, kernel, append, *extra, accel='kvm', memory='256M', cpus=1, machine='virt,its=off',
              cpu='host'):
        """Start an emulator with a guest; returns a Peer. At most two, 'a' and 'b', at a time."""
        number = {'a': 3, 'b': 4}[name]
        self.shell('rm -f /tmp/%s.*; mkfifo /tmp/%s.ctl /tmp/%s.in' % (name, name, name))
        args = ['/emulator -M', machine, '-cpu', cpu, '-accel', accel, '-m', memory, '-smp', str(cpus),
                '-nodefaults -display none -chardev stdio,id=q,signal=off -mon chardev=q,mode=control',
                '-chardev file,id=s,path=/tmp/%s.out,input-path=/tmp/%s.in -serial chardev:s' % (name, name),
                '-kernel', kernel, "-append '%s'" % append, *extra]
        self.shell('(sleep 100000 >/tmp/{0}.in & echo $! >/tmp/{0}.hold; {1} </tmp/{0}.ctl >/tmp/{0}.qmp 2>&1;'
                   ' echo EXIT $? >>/tmp/{0}.qmp) & exec {2}>/tmp/{0}.ctl'.format(name, ' '.join(args), number))
        peer = Peer(name, number, self.shell)
        peer.cmd('qmp_capabilities')
        return peer

    def refusal(self, *args):
        """What the emulator says when it ends with an error."""
        return self.shell('/emulator -nodefaults -display none %s </dev/null 2>&1' % ' '.join(args))

    def log(self):
        return self.console.text()[-3000:] + (self.dir / 'outer.stderr').read_text('utf-8')

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.console.close()
        self._log.close()
