#!/usr/bin/env python3
"""Stock libvirt drives the emulator: it probes both binaries, starts a guest and migrates it."""

import re
import xml.etree.ElementTree

from lib.libvirt import NAME, LibvirtTest
from lib.testcase import main


class Probing(LibvirtTest):
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
        self.assertEqual([g.get('version') for g in root.iter('gic')], ['2', '3'])
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


class Migrate(LibvirtTest):
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
