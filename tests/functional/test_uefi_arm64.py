#!/usr/bin/env python3
"""UEFI firmware on the machine virt: it starts from flash, keeps its variables, and reaches its shell.

Debian's package qemu-efi-aarch64 (architecture "all") is fetched with apt-get once and kept in the build
directory.
"""

import shutil
import subprocess
import unittest

from lib import host
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


if __name__ == '__main__':
    main()
