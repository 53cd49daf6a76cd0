"""Debian's arm64 kernel and a small initial RAM disk, from its installer's package.

The package (architecture "all") is fetched with apt-get once and kept in the build directory. The RAM
disk has the installer's busybox, its libraries and the virtio modules, and an /init of our own that
answers one command a line.
"""

import gzip
import os
import pathlib
import shutil
import subprocess
import unittest
import zlib

from . import host

PACKAGE = 'debian-installer-12-netboot-arm64'
INSIDE = 'usr/lib/debian-installer/images/12/arm64/text/debian-installer/arm64'
CACHE = host.BUILD / 'linux-arm64'

# What busybox needs, and modules in the order in which they can be loaded.
FILES = ('bin/busybox', 'lib/ld-linux-aarch64.so.1', 'lib/aarch64-linux-gnu/ld-linux-aarch64.so.1',
         'lib/aarch64-linux-gnu/libc.so.6')
MODULES = ('virtio_mmio.ko', 'failover.ko', 'net_failover.ko', 'virtio_net.ko', 'virtio_blk.ko',
           'virtio-rng.ko', 'virtio_console.ko', 'virtio_pci_modern_dev.ko', 'virtio_pci_legacy_dev.ko',
           'virtio_pci.ko', 'virtio_balloon.ko')

# The prompt is built so that the echo of the kernel's command line does not look like it.
INIT = b'''#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
for a in $(/bin/busybox --list); do /bin/busybox ln -s busybox /bin/$a; done
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for m in $(cat /modules/order); do insmod /modules/$m 2>/dev/null; done
stty -echo
dmesg -n 1
echo "guest: ""ready"
while read -r line; do
    eval "$line"
    echo "guest: ""status $?"
done
'''


def _fetch():
    """Unpack the package into the cache; raises unittest.SkipTest where that is not possible."""
    folder = CACHE / 'fetch'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    done = subprocess.run(['apt-get', 'download', PACKAGE], cwd=folder, capture_output=True, text=True,
                          check=False) if shutil.which('apt-get') else None
    found = list(folder.glob(PACKAGE + '_*.deb'))
    if not found:
        raise unittest.SkipTest('%s: %s' % (PACKAGE, done.stderr.strip().split('\n')[-1] if done else
                                            'no apt-get to download it with'))
    subprocess.run(['dpkg-deb', '-x', str(found[0]), str(folder)], check=True)
    for name in ('linux', 'initrd.gz'):
        shutil.copy(folder / INSIDE / name, CACHE / (name + '.new'))
    shutil.rmtree(folder)
    for name in ('initrd.gz', 'linux'):
        os.rename(CACHE / (name + '.new'), CACHE / name)


def kernel():
    """Path of the kernel, an Image."""
    if not (CACHE / 'linux').exists():
        _fetch()
    return str(CACHE / 'linux')


def installer_initrd():
    """Path of the installer's own RAM disk, about 40 MB."""
    kernel()
    return str(CACHE / 'initrd.gz')


def _entries(data):
    """(name, mode, content) of a cpio archive in the format newc."""
    at = 0
    while data[at:at + 6] == b'070701':
        field = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = field[1], field[6], field[11]
        name = data[at + 110:at + 109 + name_size].decode()
        at = (at + 110 + name_size + 3) & ~3
        if name == 'TRAILER!!!':
            return
        yield name.removeprefix('./'), mode, data[at:at + size]
        at = (at + size + 3) & ~3


def _entry(number, name, mode, content, major=0, minor=0):
    head = '070701' + ''.join('%08x' % n for n in (
        number, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(name) + 1, 0))
    data = head.encode() + name.encode() + b'\0'
    data += bytes(-len(data) % 4) + content
    return data + bytes(-len(data) % 4)


def add_files(initrd, path, files):
    """Copy a RAM disk and add (name, mode, content) to what the kernel will unpack.

    The kernel takes archives one after the other, compressed or not, from a multiple of four bytes.
    """
    data = pathlib.Path(initrd).read_bytes()
    added = b''.join(_entry(i, *part) for i, part in enumerate(files, 1))
    pathlib.Path(path).write_bytes(data + bytes(-len(data) % 4) + added + _entry(0, 'TRAILER!!!', 0, b''))


def recipe():
    """Changes with what a small RAM disk is made of, for the names of those that are kept."""
    return '%08x' % zlib.crc32(repr((INIT, FILES, MODULES)).encode())


def make_initrd(path, init=INIT, modules=None):
    """Write a small RAM disk made of parts of the installer's.

    modules: {name: content} of another kernel instead of the installer's own.
    """
    with gzip.open(installer_initrd()) as archive:
        found = {name: (mode, content) for name, mode, content in _entries(archive.read())
                 if name in FILES or (modules is None and os.path.basename(name) in MODULES)}
    found.update({name: (0o100644, content) for name, content in (modules or {}).items()})
    parts = [('dev', 0o40755, b'')] + [(d, 0o40755, b'') for d in (
        'bin', 'lib', 'lib/aarch64-linux-gnu', 'modules')]
    parts += [(name, *found[name]) for name in FILES if name in found]
    modules = {os.path.basename(name): part for name, part in found.items() if name.endswith('.ko')}
    order = [name for name in MODULES if name in modules]
    parts += [('modules/' + name, *modules[name]) for name in order]
    parts += [('modules/order', 0o100644, '\n'.join(order).encode()), ('init', 0o100755, init)]
    out = b''.join(_entry(i, *part) for i, part in enumerate(parts, 1))
    out += _entry(len(parts) + 1, 'dev/console', 0o20600, b'', 5, 1)
    out += _entry(0, 'TRAILER!!!', 0, b'')
    pathlib.Path(path).write_bytes(out)


def initrd():
    """Path of the small RAM disk, made once."""
    path = CACHE / ('small-%s.cpio' % recipe())
    if not path.exists():
        make_initrd(CACHE / 'small.cpio.new')
        os.rename(CACHE / 'small.cpio.new', path)
    return str(path)


class Shell:
    """Commands for the guest's /init, over its serial port."""

    def __init__(self, machine, timeout=120, moved=False):
        """moved: the guest came by a migration and waits for commands already."""
        self.serial = machine.serial
        if not moved:
            self.serial.wait('guest: ready\r?\n', timeout)

    def run(self, line, timeout=60):
        """Returns what the command printed; raises if it failed."""
        match = self.serial.command(line + '\n', r'(?s)(.*?)guest: status (\d+)\r?\n', timeout)
        if match.group(2) != '0':
            raise AssertionError('guest: %s: status %s: %s' % (line, match.group(2), match.group(1)))
        return match.group(1).replace('\r', '')

    def cpus(self):
        """Number of CPUs that the kernel has brought up."""
        return int(self.run('grep -c ^processor /proc/cpuinfo'))
