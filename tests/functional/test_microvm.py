#!/usr/bin/env python3
"""The machine microvm from outside: registers over qtest, power, refusals."""

import subprocess
import unittest

from lib import host
from lib.qtest import QTest
from lib.testcase import FunctionalTest, main

GED = 0xfea00000


class Microvm(FunctionalTest):
    def start(self, *extra, machine='microvm'):
        """A machine whose vCPUs do not run, driven by .qtest."""
        self.require_tidemark('the layout of the machine differs')
        self.qtest = QTest(self.path('qtest'))
        self.addCleanup(self.qtest.close)
        return self.machine('a', '-qtest', 'unix:' + self.path('qtest'), *extra, accel='qtest',
                            guest=None, machine=machine)

    def inb(self, port):
        return int(self.qtest.command('inb 0x%x' % port)[0], 16)

    def outb(self, port, value):
        self.qtest.command('outb 0x%x 0x%x' % (port, value))

    def test_serial(self):
        """What is written to the port comes out of its character device, and back."""
        a = self.start()
        for byte in b'READY\n':
            self.outb(0x3f8, byte)
        a.wait_ready()
        self.outb(0x3fa, 0x07)
        self.assertEqual(self.inb(0x3fa), 0xc1)
        self.assertEqual(self.inb(0x3fd) & 0x60, 0x60)

    def test_fw_cfg(self):
        with open(self.path('blob'), 'wb') as f:
            f.write(b'content')
        self.start('-fw_cfg', 'name=opt/one,file=' + self.path('blob'),
                   '-fw_cfg', 'name=opt/two,string=text')
        self.qtest.command('outw 0x510 0x0')
        self.assertEqual(bytes(self.inb(0x511) for _ in range(4)), b'QEMU')
        self.qtest.command('outw 0x510 0x20')
        self.assertEqual(bytes(self.inb(0x511) for _ in range(8)), b'content\0')

    def test_clock_counts(self):
        self.start('-rtc', 'base=2026-02-28T23:59:58,clock=vm')
        self.qtest.command('clock_step 2000000000')
        fields = []
        for reg in (9, 8, 7, 4):
            self.outb(0x70, reg)
            fields.append(self.inb(0x71))
        self.assertEqual(fields, [0x26, 0x03, 0x01, 0x00])

    def test_power_off(self):
        a = self.start()
        self.qtest.command('writeb 0x%x 0x34' % (GED + 0x200))
        self.assertEqual(a.wait_exit(), 0)

    def test_power_button(self):
        a = self.start()
        a.qmp.cmd('system_powerdown')
        a.qmp.wait_event('POWERDOWN')
        self.assertEqual(self.qtest.read(GED, 4), bytes([2, 0, 0, 0]))


class Refusals(FunctionalTest):
    def refused(self, *args):
        """Error text of an emulator that must not start."""
        self.require_tidemark('messages differ')
        p = subprocess.run([host.binary('x86_64'), '-accel', 'qtest', '-display', 'none', *args],
                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=20)
        self.assertEqual(p.returncode, 1)
        return p.stderr

    def test_machine_properties(self):
        for text in ('usb=on', 'pcie=on', 'ioapic2=on', 'x-option-roms=on', 'pit=on'):
            self.assertIn(text, self.refused('-M', 'microvm,' + text))
        self.assertIn("'maybe'", self.refused('-M', 'microvm,acpi=maybe'))

    def test_devices(self):
        text = self.refused('-M', 'microvm', '-device', 'virtio-balloon-device,color=red')
        self.assertIn("Property 'virtio-balloon-device.color' not found", text)
        self.assertIn('not a valid device model name', self.refused('-M', 'microvm', '-device', 'z'))

    def test_kernel(self):
        self.assertIn('neither a Linux bzImage nor', self.refused('-M', 'microvm', '-kernel', __file__))

    def test_nothing_to_start(self):
        p = subprocess.run([host.binary('x86_64'), '-accel', 'kvm', '-display', 'none', '-M',
                            'microvm'], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                           timeout=20)
        if 'kvm' in p.stderr.lower() and 'nothing to start' not in p.stderr:
            raise unittest.SkipTest('no KVM here')
        self.assertIn('nothing to start', p.stderr)

    def test_incoming_needs_no_kernel(self):
        """A destination gets memory and registers from the migration."""
        a = self.machine('a', guest=None, incoming='defer')
        self.assertEqual(a.status(), 'inmigrate')


if __name__ == '__main__':
    main()
