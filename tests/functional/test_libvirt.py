#!/usr/bin/env python3
"""Stock libvirt drives the emulator: it probes both binaries, starts a guest and migrates it."""

import pathlib
import re
import xml.etree.ElementTree

from lib import host, libvirt
from lib.serial import Serial
from lib.testcase import FunctionalTest, main

NAME = 'tide'
UUID = '71de71de-0000-4000-8000-000000000001'


class Libvirt(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    timeout = 300

    def setUp(self):
        problem = libvirt.problem()
        if problem:
            self.skipTest('libvirt: ' + problem)
        super().setUp()
        self.daemons = []

    def daemon(self, **kwargs):
        tag = 'ab'[len(self.daemons)]
        daemon = libvirt.Daemon(self.dir, tag, len(self.daemons), self.arch, **kwargs)
        self.addCleanup(daemon.close)
        serial = Serial(str(daemon.dir / 'ports' / 'serial'))
        self.addCleanup(serial.close)
        daemon.serial = serial
        self.daemons.append(daemon)
        return daemon

    def define(self, daemon, append='window=16M rate=20', vcpus=1, devices='', **kwargs):
        """A domain with the guest that checks its own memory; its serial port is daemon.serial."""
        boot = '<kernel>%s</kernel><cmdline>%s</cmdline>' % (host.guest('writer', self.arch), append)
        serial = ("<serial type='unix'><source mode='connect' path='%s/serial'/><target port='0'/></serial>"
                  % daemon.ports)
        disk = pathlib.Path(self.path('disk.raw'))
        disk.write_bytes(b'')
        with open(disk, 'r+b') as f:
            f.truncate(1 << 20)
        disk = ("<disk type='file' device='disk'><driver name='qemu' type='raw' cache='none'/>"
                "<source file='%s'/><target dev='vda' bus='virtio'/></disk>" % disk)
        values = {'type': 'qemu', 'uuid': UUID, 'memory': 128, 'vcpus': vcpus, 'arch': self.arch,
                  'machine': 'virt', 'boot': boot, 'features': "<gic version='3'/>",
                  'cpu': "<cpu mode='custom' match='exact' check='none'>"
                         "<model fallback='forbid'>cortex-a57</model></cpu>",
                  'devices': disk + serial + devices, **kwargs}
        daemon.define(NAME, **values)


class Probing(Libvirt):
    """What libvirt learns of a binary."""

    needs_guests = False

    def flags(self):
        daemon = self.daemon()
        daemon.virsh('domcapabilities', '--emulatorbin', str(daemon.emulator), '--arch', self.arch)
        root = xml.etree.ElementTree.fromstring(daemon.capabilities())
        return root, {flag.get('name') for flag in root.iter('flag')}


class ProbeArm64(Probing):
    def test_probe(self):
        root, flags = self.flags()
        self.assertLessEqual({'tcg', 'pcie-root-port', 'gpex-pcihost', 'pl011', 'device.json+hotplug',
                              'netdev.json', 'object.qapified', 'query-named-block-nodes.flat',
                              'virtio-pci-non-transitional', 'migration.blocked-reasons'}, flags)
        # libvirt would want to switch single features of the CPU on and off
        self.assertNotIn('cpu-unavailable-features', flags)
        machines = {m.get('name'): m for m in root.iter('machine')}
        self.assertEqual(machines['virt-11.1'].get('alias'), 'virt')
        self.assertEqual(machines['virt-11.1'].get('defaultRAMid'), 'mach-virt.ram')
        models = {c.get('name') for c in root.iter('cpu') if c.get('usable') == 'yes'}
        self.assertLessEqual({'cortex-a57', 'max'}, models)


class ProbeX86(Probing):
    arch = 'x86_64'
    accel = 'kvm'

    def test_probe(self):
        root, flags = self.flags()
        self.assertLessEqual({'kvm', 'device.json+hotplug', 'object.qapified', 'virtio-mmio',
                              'cpu-unavailable-features'}, flags)
        self.assertIn('microvm', {m.get('alias') for m in root.iter('machine')})


class Migrate(Libvirt):
    def check_move(self, *flags, vcpus=1, transport='tcp'):
        a, b = self.daemon(), self.daemon()
        self.define(a, vcpus=vcpus, append='window=16M rate=20 cpus=%d' % vcpus)
        a.virsh('start', NAME)
        a.serial.wait(r'READY\n', 60)
        uri = {'tcp': ['--migrateuri', 'tcp://127.0.0.1'], 'unix': ['--migrateuri', 'unix:' + self.path('m')],
               None: []}[transport]
        a.virsh('migrate', '--live', '--unsafe', *flags, *uri, NAME, b.uri, timeout=200)
        self.assertEqual(b.virsh('domstate', NAME), 'running')
        self.assertEqual(a.virsh('domstate', NAME), 'shut off')
        match = b.serial.command('c', r'(OK pass=\d+ written=(\d+)|BAD [^\n]*)\n')
        self.assertTrue(match.group(1).startswith('OK'), match.group(1))
        info = (b if 'p2p' in str(flags) else a).virsh('domjobinfo', '--completed', '--anystats', NAME)
        self.assertRegex(info, r'Memory processed: +[\d.]+ [KMG]iB')
        self.assertTrue(re.search(r'Total downtime: +\d+', info), info)

    def test_plain(self):
        self.check_move()

    def test_two_cpus_to_a_socket(self):
        self.check_move(vcpus=2, transport='unix')

    def test_tunnelled(self):
        self.check_move('--p2p', '--tunnelled', transport=None)

    def test_knobs(self):
        self.check_move('--auto-converge', '--auto-converge-initial', '30', '--auto-converge-increment', '20',
                        '--compressed', '--comp-methods', 'xbzrle', '--comp-xbzrle-cache', '16777216')


if __name__ == '__main__':
    main()
