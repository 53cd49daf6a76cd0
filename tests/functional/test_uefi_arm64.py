#!/usr/bin/env python3
"""UEFI firmware on the machine virt: it starts from flash, keeps its variables, and reaches its shell.

Debian's package qemu-efi-aarch64 (architecture "all") is fetched with apt-get once and kept in the build
directory.
"""

import base64
import re
import shutil
import subprocess
import unittest

from lib import host, linux_arm64
from lib.testcase import FunctionalTest, main

PACKAGE = 'qemu-efi-aarch64'
CACHE = host.BUILD / 'uefi-arm64'
BANK = 64 << 20


def firmware():
    """Path of the firmware, 2 MB that go to the start of the first flash."""
    image = CACHE / 'QEMU_EFI.fd'
    if image.exists():
        return image
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    if shutil.which('apt-get'):
        subprocess.run(['apt-get', 'download', PACKAGE], cwd=CACHE, capture_output=True, check=False)
    found = list(CACHE.glob(PACKAGE + '_*.deb'))
    if not found:
        raise unittest.SkipTest('no package ' + PACKAGE)
    subprocess.run(['dpkg-deb', '-x', str(found[0]), str(CACHE)], check=True)
    shutil.copy(CACHE / 'usr/share/qemu-efi-aarch64/QEMU_EFI.fd', image)
    shutil.rmtree(CACHE / 'usr')
    return image


class Firmware(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    slow = True
    needs_guests = False
    timeout = 300

    def flash(self, name, content=b''):
        path = self.path(name)
        with open(path, 'wb') as f:
            f.write(content)
            f.truncate(BANK)
        return path

    def test_shell(self):
        code, variables = self.flash('code', firmware().read_bytes()), self.flash('vars')
        a = self.machine('a', '-drive', 'if=pflash,format=raw,readonly=on,file=' + code,
                         '-drive', 'if=pflash,format=raw,file=' + variables, guest=None, memory='256M')
        a.serial.wait('Shell> ', 200)
        with open(variables, 'rb') as f:
            self.assertEqual(f.read(0x2c)[0x28:], b'_FVH')  # what it made of the empty store

    def test_bios(self):
        a = self.machine('a', '-bios', str(firmware()), guest=None, memory='256M')
        a.serial.wait('Shell> ', 200)

    def bright(self, machine):
        """Size of the picture, and how many bytes of it are not black."""
        path = self.path('shot')
        machine.qmp.cmd('screendump', filename=path)
        with open(path, 'rb') as f:
            self.assertEqual(f.readline(), b'P6\n')
            size = tuple(map(int, f.readline().split()))
            self.assertEqual(f.readline(), b'255\n')
            pixels = f.read()
        self.assertEqual(len(pixels), size[0] * size[1] * 3)
        return size, len(pixels) - pixels.count(0)

    def test_displays(self):
        """The firmware's own drivers draw the shell, as its text is there on the serial port."""
        for device, size in (('ramfb', (800, 600)), ('virtio-gpu-pci', (1280, 800))):
            with self.subTest(device=device):
                a = self.machine('a', '-bios', str(firmware()), '-device', device, guest=None, memory='256M')
                a.serial.wait('Shell> ', 200)
                self.wait_for(lambda machine=a: self.bright(machine)[1] > 5000, 'a picture', 60)
                self.assertEqual(self.bright(a)[0], size)
                a.close()

    def disk(self, append):
        """A FAT file system with Linux as a program of EFI, and a script for the shell that starts it."""
        for tool in ('mkfs.vfat', 'mcopy'):
            if not shutil.which(tool, path='/usr/sbin:/sbin:/usr/bin:/bin'):
                self.skipTest('no ' + tool)
        image, script = self.path('disk'), self.path('startup.nsh')
        with open(script, 'w', encoding='ascii') as f:
            f.write('fs0:\\linux.efi initrd=\\initrd %s\r\n' % append)
        with open(image, 'wb') as f:
            f.truncate(64 << 20)
        subprocess.run(['/usr/sbin/mkfs.vfat', '-F', '32', image], check=True, capture_output=True)
        for path, name in ((linux_arm64.kernel(), 'linux.efi'), (linux_arm64.initrd(), 'initrd'),
                           (script, 'startup.nsh')):
            subprocess.run(['mcopy', '-i', image, path, '::' + name], check=True)
        return image

    def boot_disk(self, *extra, append='', **kwargs):
        disk = self.disk('console=ttyAMA0 panic=-1 ' + append)
        a = self.machine('a', '-bios', str(firmware()), '-device', 'virtio-blk-pci,drive=d',
                         '-drive', 'if=none,id=d,format=raw,file=' + disk, *extra, guest=None,
                         memory='512M', smp=2, **kwargs)
        shell = linux_arm64.Shell(a, 280)
        self.assertEqual(shell.cpus(), 2)
        return a, shell

    def check_tables(self, shell, wanted):
        """Those that the guest has, disassembled where there is a tool for it."""
        names = shell.run('cd /sys/firmware/acpi/tables; ls; cd /').split()
        self.assertEqual({n for n in names if n.isupper()}, wanted)
        for name in wanted:
            text = shell.run('base64 /sys/firmware/acpi/tables/' + name)
            path = self.path(name + '.dat')
            with open(path, 'wb') as f:
                f.write(base64.b64decode(text))
            if not shutil.which('iasl'):
                continue
            done = subprocess.run(['iasl', '-d', path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, name + done.stdout + done.stderr)
            with open(self.path(name + '.dsl'), encoding='latin-1') as f:
                self.assertNotRegex(f.read(), r'(?i)invalid|incorrect checksum|unknown subtable', name)
        if shutil.which('iasl'):
            done = subprocess.run(['iasl', '-p', self.path('again'), self.path('DSDT.dsl')], capture_output=True,
                                  text=True, check=False)
            self.assertRegex(done.stdout, r'\b0 Errors', done.stdout + done.stderr)

    def check_acpi(self, machine, also, controller):
        a, shell = self.boot_disk('-device', 'virtio-rng-pci', append='acpi=force', machine=machine)
        self.check_tables(shell, {'APIC', 'DBG2', 'DSDT', 'FACP', 'GTDT', 'MCFG', 'PPTT', 'SPCR', *also})
        self.assertFalse(re.search('(?i)acpi (bios )?(error|warning|exception)', shell.run('dmesg')))
        self.assertIn(controller, shell.run('cat /proc/interrupts'))
        self.assertIn('LNRO0005:1f', shell.run('ls /sys/bus/acpi/devices'))
        a.serial.command('reboot -f\n', 'Restarting system', 60)

    def test_disk_by_acpi(self):
        # Linux names a GICv2 so that it has no hypervisor's use of.
        self.check_acpi('virt', set(), 'GIC-0')

    def test_disk_by_acpi_with_gicv3(self):
        self.check_acpi('virt,gic-version=3', {'IORT'}, 'ITS-MSI')

    def test_disk_by_device_tree(self):
        _, shell = self.boot_disk(machine='virt,acpi=off')
        self.assertEqual(shell.run('ls /sys/firmware').split(), ['devicetree', 'efi', 'fdt'])


if __name__ == '__main__':
    main()
