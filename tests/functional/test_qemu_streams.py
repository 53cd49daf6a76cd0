#!/usr/bin/env python3
"""Guests of virt move between QEMU and Tidemark while they run, both ways, with their devices.

Each QEMU is used with the machine of its version; where it is not installed its tests are skipped.
"""

from lib import host, migration
from lib.testcase import FunctionalTest, main

GUEST = 'window=8M rate=20 beat=0'
MODELS = ('cortex-a53', 'cortex-a72', 'cortex-a76', 'neoverse-n1')


class Streams:
    """The tests; each class below adds a version."""

    arch = 'aarch64'
    accel = 'tcg'
    timeout = 300

    def setUp(self):
        super().setUp()
        self.require_tidemark('it is one of the two already')
        self.qemu = host.qemu(self.arch, self.version)
        if not self.qemu:
            self.skipTest('no QEMU %s' % self.version)

    def devices(self, binary):
        """One of each, on both transports; the option ROM of a card is what QEMU alone has."""
        rom = ',romfile=' if binary == self.qemu else ''
        disks = []
        for name in ('pci', 'mmio'):
            with open(self.path(name), 'wb') as f:
                f.truncate(1 << 20)
            disks += ['-drive', 'if=none,id=%s,format=raw,file.locking=off,file=%s' % (name, self.path(name))
                      if binary == self.qemu else 'if=none,id=%s,format=raw,file=%s' % (name, self.path(name))]
        return [*disks, '-device', 'virtio-blk-pci,drive=pci', '-device', 'virtio-blk-device,drive=mmio',
                '-device', 'virtio-net-pci,mac=52:54:00:12:34:56' + rom,
                '-device', 'virtio-net-device,mac=52:54:00:12:34:57',
                '-device', 'virtio-rng-pci', '-device', 'virtio-balloon-pci',
                '-device', 'virtio-serial-pci', '-device', 'virtconsole',
                '-device', 'pcie-root-port,id=rp,chassis=1']

    def start(self, name, binary, cpu, gic, smp, devices, el2=False, **kwargs):
        extra = self.devices(binary) if devices else []
        return self.machine(name, '-cpu', cpu, *extra, binary=binary, smp=smp, memory='64M', append=GUEST,
                            machine='virt-%s,gic-version=%d%s' % (self.version, gic, ',virtualization=on' if el2 else ''),
                            **kwargs)

    def move(self, there, back, cpu='cortex-a57', gic=2, smp=1, devices=False, el2=False):
        """From one emulator to the other, where the guest's memory is checked and it goes on."""
        a = self.start('a', there, cpu, gic, smp, devices, el2)
        b = self.start('b', back, cpu, gic, smp, devices, el2, incoming=self.uri('b'))
        a.wait_ready()
        before = a.check_guest()
        migration.run(a, b, self.uri('b'))
        a.close()
        self.assertGreater(b.check_guest(), before)
        b.close()

    def both_ways(self, **kwargs):
        with self.subTest('from QEMU', **kwargs):
            self.move(self.qemu, self.binary, **kwargs)
        with self.subTest('to QEMU', **kwargs):
            self.move(self.binary, self.qemu, **kwargs)

    def test_gicv2(self):
        self.both_ways(gic=2, smp=2)

    def test_gicv3(self):
        self.both_ways(gic=3, smp=2)

    def test_devices(self):
        self.both_ways(gic=3, devices=True)

    def test_models(self):
        for cpu in MODELS:
            self.both_ways(cpu=cpu)

    def test_file(self):
        a = self.start('a', self.qemu, 'cortex-a57', 3, 1, False)
        a.wait_ready()
        migration.start(a, 'exec:cat > ' + self.path('stream'))
        migration.finish(a)
        a.close()
        b = self.start('b', self.binary, 'cortex-a57', 3, 1, False, incoming='file:' + self.path('stream'))
        migration.wait(b, ('completed',))
        b.check_guest()

    def test_max_is_refused(self):
        a = self.start('a', self.qemu, 'max', 2, 1, False)
        b = self.start('b', self.binary, 'max', 2, 1, False, incoming=self.uri('b'))
        migration.start(a, self.uri('b'))
        self.assertEqual(b.wait_exit(60), 1)
        self.assertRegex(b.stderr(), "section 'cpu' instance 0: .*(cpu/sve|max of another)")


class Qemu72(Streams, FunctionalTest):
    version = '7.2'

    def test_gicv2_el2(self):
        """One way: CPUs with EL2 have registers here that QEMU's models lack."""
        self.move(self.qemu, self.binary, gic=2, smp=2, el2=True)


class Qemu111(Streams, FunctionalTest):
    version = '11.1'


if __name__ == '__main__':
    main()
