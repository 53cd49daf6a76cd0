"""A disk with Debian 12 for arm64 that starts by UEFI and serves a page, made once.

debootstrap unpacks the packages here; what they want to run afterwards runs in a guest of the emulator,
whose disk is the image. Needs debootstrap, fakeroot, e2fsprogs, dosfstools, qemu-utils; not root.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import zlib

from . import debian, gpt
from .debian import Problem
from .emulators import Console

SUITE = 'bookworm'
PACKAGES = ('linux-image-arm64', 'grub-efi-arm64', 'systemd-sysv', 'udev', 'dbus', 'nginx-light',
            'busybox-static')
PROGRAMS = ('debootstrap', 'fakeroot', 'mkfs.ext4', 'mkfs.vfat', 'qemu-img', 'dpkg-deb', 'cpio')
PAGE = '<!doctype html><title>tide</title><p>The tide comes in and goes out.</p>' + 'x' * 4000 + '\n'

# Modules that the first start needs; those that they need are found.
MODULES = ('virtio_pci', 'virtio_blk', 'ext4', 'vfat', 'nls_cp437', 'nls_ascii')

INIT = '''#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for m in $($b cat /modules/order); do $b insmod /modules/$m; done
while ! [ -e /dev/vda2 ]; do $b sleep 1; done
$b mount -t ext4 /dev/vda2 /root
$b mkdir -p /root/boot/efi
$b mount -t vfat /dev/vda1 /root/boot/efi
for d in proc sys dev; do $b mount --bind /$d /root/$d; done
$b mount -t tmpfs run /root/run
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive
$b chroot /root /bin/sh /second-stage && echo "image: ""made" || {
    $b tail -n 40 /root/debootstrap/debootstrap.log; echo "image: ""failed"; }
$b umount /root/boot/efi /root/proc /root/sys /root/dev /root/run
$b umount /root || $b mount -o remount,ro /root
$b sync
$b poweroff -f
'''

SECOND_STAGE = '''set -e
/debootstrap/debootstrap --second-stage
grub-install --target=arm64-efi --efi-directory=/boot/efi --removable --no-nvram
update-grub
systemctl enable systemd-networkd keep-writing
systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
rm -f /var/cache/apt/archives/*.deb /second-stage
'''

FILES = {
    'etc/hostname': 'tide\n',
    'etc/hosts': '127.0.0.1 localhost tide\n',
    'etc/fstab': 'LABEL=tide / ext4 errors=remount-ro 0 1\nLABEL=TIDE-EFI /boot/efi vfat noauto,umask=0077 0 0\n',
    'etc/systemd/network/80-net.network': '[Match]\nName=en* eth*\n\n[Network]\nDHCP=ipv4\n',
    'etc/initramfs-tools/conf.d/tide': 'MODULES=list\nCOMPRESS=gzip\n',
    'etc/initramfs-tools/modules': 'virtio_pci\nvirtio_blk\next4\n',
    'etc/default/grub.d/tide.cfg': 'GRUB_TIMEOUT=0\nGRUB_CMDLINE_LINUX_DEFAULT=""\n'
                                   'GRUB_CMDLINE_LINUX="console=ttyAMA0 net.ifnames=0 systemd.show_status=0"\n'
                                   'GRUB_DISABLE_OS_PROBER=true\n',
    'etc/nginx/conf.d/tide.conf': 'server_tokens off;\n',
    'var/www/html/index.html': PAGE,
    'etc/systemd/system/keep-writing.service':
        '[Unit]\nDescription=Files whose names are their checksums\n\n'
        '[Service]\nExecStart=/usr/local/sbin/keep-writing\n\n[Install]\nWantedBy=multi-user.target\n',
    'usr/local/sbin/keep-writing': '''#!/bin/sh
mkdir -p /var/keep
cd /var/keep
rm -f new
while :; do
    dd if=/dev/urandom of=new bs=64k count=4 conv=fsync 2>/dev/null
    mv new "$(sha256sum < new | cut -c1-64)"
    ls -t | tail -n +65 | xargs -r rm -f
    sleep 0.2
done
''',
    'second-stage': SECOND_STAGE,
}
EXECUTABLE = ('usr/local/sbin/keep-writing',)
EFI_MIB, ROOT_MIB = 64, 1600

MACHINE = ['-M', 'virt,gic-version=3', '-cpu', 'cortex-a72', '-accel', 'tcg', '-smp', '2', '-m', '1024',
           '-display', 'none', '-nodefaults', '-serial', 'stdio', '-no-reboot']


def recipe():
    """Changes with what the image is made of."""
    return '%08x' % zlib.crc32(repr((SUITE, PACKAGES, MODULES, INIT, FILES, EFI_MIB, ROOT_MIB)).encode())


def missing_programs():
    path = os.environ.get('PATH', '') + ':/usr/sbin:/sbin'
    return [name for name in PROGRAMS if not shutil.which(name, path=path)]


def _first_stage(work, say):
    """Packages unpacked in work/root, with the owners that fakeroot keeps in work/owners."""
    command = ['fakeroot', '-s', str(work / 'owners'), 'debootstrap', '--foreign', '--arch=arm64',
               '--variant=minbase', '--include=' + ','.join(PACKAGES), SUITE, str(work / 'root'),
               debian.mirror()]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, 'PATH': os.environ.get('PATH', '') + ':/usr/sbin:/sbin'}) as child:
        for line in child.stdout:
            lines.append(line)
            if line.startswith('I: '):
                say('debootstrap: ' + line[3:].strip())
    if child.returncode:
        raise Problem('debootstrap failed: %s' % ''.join(lines[-5:]).strip())


def _modules(root):
    """Names and contents of MODULES and what they need, in an order in which they can be loaded."""
    found = {path.name.removesuffix('.ko').replace('-', '_'): path
             for path in (root / 'lib' / 'modules').rglob('*.ko')}
    order = {}

    def add(name):
        path = found.get(name)
        if not path or path.name in order:      # not there: part of the kernel
            return
        data = path.read_bytes()
        for needed in re.search(rb'\0depends=([^\0]*)\0', data).group(1).decode().split(','):
            add(needed.replace('-', '_'))
        order[path.name] = data

    for name in MODULES + ('crc32c_generic',):
        add(name)
    return order


def _boot_files(work):
    """Kernel and RAM disk for the second stage, of packages that debootstrap fetched."""
    boot = work / 'boot'
    archives = work / 'root' / 'var' / 'cache' / 'apt' / 'archives'
    for pattern in ('linux-image-[0-9]*.deb', 'busybox-static_*.deb'):
        for package in archives.glob(pattern):
            debian.run(['dpkg-deb', '-x', str(package), str(boot)])
    kernels, busybox = sorted((boot / 'boot').glob('vmlinuz-*')), boot / 'bin' / 'busybox'
    if not kernels or not busybox.exists():
        raise Problem('debootstrap fetched no kernel or no busybox')
    tree = work / 'initrd'
    for folder in ('bin', 'dev', 'proc', 'sys', 'root', 'modules'):
        (tree / folder).mkdir(parents=True)
    shutil.copy(busybox, tree / 'bin')
    order = _modules(boot)
    for name, data in order.items():
        (tree / 'modules' / name).write_bytes(data)
    (tree / 'modules' / 'order').write_text('\n'.join(order) + '\n', 'ascii')
    (tree / 'init').write_text(INIT, 'ascii')
    (tree / 'init').chmod(0o755)
    names = '\n'.join(str(p.relative_to(tree)) for p in sorted(tree.rglob('*'))) + '\n'
    with open(work / 'initrd.cpio', 'wb') as out:
        subprocess.run(['cpio', '--quiet', '-o', '-H', 'newc', '-R', '0:0'], cwd=tree, check=True,
                       input=names.encode(), stdout=out)
    return str(kernels[-1]), str(work / 'initrd.cpio')


def _make_disk(work, image):
    """The unpacked packages as a qcow2 disk; returns offset and size of the root partition."""
    root = work / 'root'
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, 'utf-8')
        path.chmod(0o755 if name in EXECUTABLE else 0o644)
    path = '%s:/usr/sbin:/sbin' % os.environ.get('PATH', '')
    with open(work / 'efi', 'wb') as efi:
        efi.truncate(EFI_MIB << 20)
    debian.run(['mkfs.vfat', '-F', '32', '-n', 'TIDE-EFI', str(work / 'efi')], env={**os.environ, 'PATH': path})
    debian.run(['fakeroot', '-i', str(work / 'owners'), 'mkfs.ext4', '-q', '-L', 'tide', '-d', str(root),
                str(work / 'ext4'), '%dM' % ROOT_MIB], env={**os.environ, 'PATH': path})
    offsets = gpt.write_disk(work / 'raw', [(gpt.EFI_SYSTEM, 'efi', work / 'efi'),
                                            (gpt.LINUX, 'root', work / 'ext4')])
    debian.run(['qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2', str(work / 'raw'), str(image)])
    return offsets[1], ROOT_MIB << 20


def _second_stage(emulator, image, boot, say):
    console = Console(emulator, *boot, 'console=ttyAMA0 quiet panic=-1 rdinit=/init',
                      MACHINE + ['-drive', 'if=none,id=d,format=qcow2,cache=unsafe,file=%s' % image,
                                 '-device', 'virtio-blk-pci,drive=d'])
    try:
        while True:
            line = console.wait(rb'([^\n]*)\n', 900).group(1).decode('latin-1').strip()
            if line == 'image: made':
                break
            if line == 'image: failed':
                console.wait(rb'reboot: Power down|$')
                raise Problem('the second stage failed in the guest; the last lines: %s' % say.last)
            if line:
                say('guest: ' + line)
        console.child.wait(60)
    finally:
        console.close()


class Progress:
    """One line on standard error that changes, or on a file one now and then."""

    def __init__(self, file):
        self.file, self.began, self.last, self.shown = file, time.monotonic(), '', 0

    def __call__(self, text):
        self.last, now = text, time.monotonic()
        clock = '%3d s  %s' % (now - self.began, text)
        if self.file.isatty():
            self.file.write('\r\033[K' + clock[:110])
        elif now - self.shown >= 5:
            self.file.write(clock[:200] + '\n')
            self.shown = now
        self.file.flush()

    def done(self, text):
        if self.file.isatty():
            self.file.write('\r\033[K')
        self.file.write('%3d s  %s\n' % (time.monotonic() - self.began, text))
        self.file.flush()


def image(cache, emulator, say):
    """{'image', 'root-offset', 'root-size'} of the finished disk; made if it is not there."""
    folder = pathlib.Path(cache) / 'web-guest'
    done = folder / ('disk-%s.json' % recipe())
    if done.exists():
        return json.loads(done.read_text('ascii'))
    missing = missing_programs()
    if missing:
        raise Problem('to make the disk these programs are needed: %s' % ', '.join(missing))
    work = folder / ('work-%d' % os.getpid())
    work.mkdir(parents=True)
    try:
        _first_stage(work, say)
        say('kernel and RAM disk of the second stage')
        boot = _boot_files(work)
        say('making the disk')
        offset, size = _make_disk(work, work / 'new.qcow2')
        _second_stage(emulator, work / 'new.qcow2', boot, say)
        say('checking the disk')
        debian.run(['qemu-img', 'check', str(work / 'new.qcow2')])
        disk = folder / ('disk-%s.qcow2' % recipe())
        debian.run(['qemu-img', 'convert', '-O', 'qcow2', str(work / 'new.qcow2'), str(work / 'small.qcow2')])
        os.replace(work / 'small.qcow2', disk)
        done.write_text(json.dumps({'image': str(disk), 'root-offset': offset, 'root-size': size}), 'ascii')
    finally:
        shutil.rmtree(work, ignore_errors=True)
    say.done('the disk is made: %s' % disk)
    return json.loads(done.read_text('ascii'))
