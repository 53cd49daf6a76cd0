#!/usr/bin/env python3
"""UEFI under libvirt: firmware and variables are flash; chosen by path, or by libvirt from what is installed."""

import pathlib

from lib.libvirt import NAME, LibvirtTest
from lib.testcase import main

IMAGES = pathlib.Path('/usr/share/AAVMF')
DESCRIPTIONS = pathlib.Path('/usr/share/qemu/firmware')
BANK = 64 << 20


class Uefi(LibvirtTest):
    slow = True
    needs_guests = False
    timeout = 400

    def boot_text(self):
        raise NotImplementedError

    def attributes(self):
        return ''

    def start(self):
        if not (IMAGES / 'AAVMF_CODE.fd').exists():
            self.skipTest('the package qemu-efi-aarch64 is not installed')
        self.a, self.b = self.daemon(), self.daemon()
        self.define(self.a, boot=self.boot_text(), os_attributes=self.attributes(), memory=256)
        self.a.virsh('start', NAME)
        self.a.serial.wait('Shell> ', 200)

    def variables(self, daemon):
        return daemon.dir / 'lib' / 'qemu' / 'nvram' / (NAME + '_VARS.fd')

    @staticmethod
    def command(daemon, line, pattern):
        return daemon.serial.command(line + '\r', pattern, 60)

    def check_move(self):
        """The firmware goes on, with variables that the other side's file then has, too."""
        self.start()
        self.command(self.a, 'set tide a-value', r'Shell> ')
        self.a.virsh('migrate', '--live', '--unsafe', '--migrateuri', 'tcp://127.0.0.1', NAME, self.b.uri,
                     timeout=200)
        self.assertEqual(self.b.virsh('domstate', NAME), 'running')
        self.command(self.b, 'set tide', 'a-value')
        stored = self.variables(self.b).read_bytes()
        self.assertEqual(len(stored), BANK)
        self.assertIn('a-value'.encode('utf-16-le'), stored)


class ByPath(Uefi):
    def boot_text(self):
        return ("<loader readonly='yes' type='pflash'>%s/AAVMF_CODE.fd</loader>"
                "<nvram template='%s/AAVMF_VARS.fd'/>" % (IMAGES, IMAGES))

    def test_move(self):
        self.check_move()

    def test_reset(self):
        self.start()
        at = self.a.serial.position()
        self.a.virsh('reset', NAME)
        self.a.serial.wait('Shell> ', 200, at)


class Chosen(Uefi):
    def boot_text(self):
        return "<firmware><feature enabled='no' name='secure-boot'/></firmware>"

    def attributes(self):
        return " firmware='efi'"

    def test_move(self):
        if not list(DESCRIPTIONS.glob('*-edk2-aarch64.json')):
            self.skipTest('no firmware is described in %s' % DESCRIPTIONS)
        self.check_move()


if __name__ == '__main__':
    main()
