#!/usr/bin/env python3
"""Stock libvirt drives the emulator: it probes both binaries, starts a guest and migrates it."""

import re
import socket
import xml.etree.ElementTree

from lib.libvirt import NAME, LibvirtTest, VirshError
from lib.testcase import main

# Arguments hold no line breaks.
WRAPPER = '''#!/bin/bash
mapfile -t args < <(printf '%%s\\n' "$@" | /bin/sed -e '%s')
exec %s "${args[@]}"
'''


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
        self.assertLessEqual({'tcg', 'pcie-root-port', 'pl011', 'device.json+hotplug', 'netdev.json',
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
        self.assertLessEqual({'kvm', 'device.json+hotplug', 'virtio-mmio', 'cpu-unavailable-features'}, flags)
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


class Job(LibvirtTest):
    """A migration that is slow on purpose, and what virsh does to it."""

    def setUp(self):
        super().setUp()
        self.a, self.b = self.daemon(), self.daemon()
        self.define(self.a, append='window=16M fill=64M rate=20')
        self.a.virsh('start', NAME)
        self.a.serial.wait(r'READY\n', 60)

    def begin(self, *flags):
        job = self.a.virsh_begin('migrate', '--live', '--unsafe', *flags, '--migrateuri', 'tcp://127.0.0.1', NAME,
                                 self.b.uri)
        self.addCleanup(self.end, job)
        return job

    @staticmethod
    def end(job):
        if job.poll() is None:
            job.kill()
        job.communicate()

    def wait_processed(self):
        self.wait_for(lambda: 'Memory processed' in self.a.virsh('domjobinfo', NAME), 'the migration runs', 60)

    def check_moved(self, job):
        _, told = job.communicate(timeout=120)
        self.assertEqual(job.returncode, 0, told)
        self.assertEqual(self.b.virsh('domstate', NAME), 'running')
        self.assertTrue(self.b.serial.command('c', r'(OK|BAD)[^\n]*\n').group(1) == 'OK')

    def test_knobs_while_it_runs(self):
        job = self.begin('--bandwidth', '1', '--compressed', '--comp-methods', 'xbzrle')
        self.wait_processed()
        self.assertEqual(self.a.virsh('migrate-getspeed', NAME), '1')
        self.a.virsh('migrate-setmaxdowntime', NAME, '500')
        self.assertEqual(self.a.virsh('migrate-getmaxdowntime', NAME), '500')
        self.a.virsh('migrate-compcache', NAME, '--size', '33554432')
        self.assertIn('32.000 MiB', self.a.virsh('migrate-compcache', NAME))
        self.a.virsh('migrate-setspeed', NAME, '4000')
        self.check_moved(job)

    def test_abort(self):
        job = self.begin('--bandwidth', '1')
        self.wait_processed()
        self.a.virsh('domjobabort', NAME)
        _, told = job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn('canceled', told)
        self.assertEqual(self.a.virsh('domstate', NAME), 'running')
        self.new_serial(self.b)
        self.check_moved(self.begin())

    def test_suspend_after_a_time(self):
        job = self.begin('--bandwidth', '1', '--timeout', '1', '--timeout-suspend')
        self.wait_processed()
        self.wait_for(lambda: self.a.virsh('domstate', NAME) == 'paused', 'the guest is suspended', 60)
        self.a.virsh('migrate-setspeed', NAME, '4000')
        self.check_moved(job)

    def test_refused(self):
        for flags, pattern in ((['--parallel'], 'multifd'), (['--postcopy'], 'postcopy'),
                               (['--compressed', '--comp-methods', 'mt'], 'compress')):
            with self.subTest(flags=flags):
                job = self.begin(*flags)
                _, told = job.communicate(timeout=60)
                self.assertNotEqual(job.returncode, 0)
                self.assertRegex(told, pattern + ".* is not supported")
                self.assertEqual(self.a.virsh('domstate', NAME), 'running')


class Persistence(LibvirtTest):
    def test_definition_follows(self):
        a, b = self.daemon(), self.daemon()
        self.define(a)
        a.virsh('start', NAME)
        a.serial.wait(r'READY\n', 60)
        a.virsh('migrate', '--live', '--unsafe', '--persistent', '--undefinesource', '--migrateuri',
                'tcp://127.0.0.1', NAME, b.uri, timeout=200)
        self.assertEqual(a.virsh('list', '--all', '--name'), '')
        self.assertEqual(b.virsh('list', '--all', '--name', '--persistent'), NAME)
        self.assertEqual(b.virsh('domstate', NAME), 'running')
        self.assertTrue(b.serial.command('c', r'(OK|BAD)[^\n]*\n').group(1) == 'OK')


class Errors(LibvirtTest):
    """What goes wrong on the destination is what virsh shows on the source, whose guest runs on."""

    def begin(self, edit='', **values):
        """Two daemons and a running guest.

        edit: what sed does to the arguments of the destination's emulator, one on each line.
        """
        self.a, self.b = self.daemon(), self.daemon()
        for daemon, script in ((self.a, ''), (self.b, edit)):
            wrapper = daemon.dir / 'ports' / daemon.emulator.name
            wrapper.write_text(WRAPPER % (script, daemon.emulator), 'ascii')
            wrapper.chmod(0o755)
            daemon.emulator = daemon.ports / wrapper.name
        self.define(self.a, **values)
        self.a.virsh('start', NAME)
        self.a.serial.wait(r'READY\n', 60)

    def check_refused(self, pattern, uri='tcp://127.0.0.1'):
        with self.assertRaises(VirshError) as caught:
            self.a.virsh('migrate', '--live', '--unsafe', '--migrateuri', uri, NAME, self.b.uri, timeout=200)
        self.assertRegex(str(caught.exception), pattern)
        self.assertEqual(self.a.virsh('domstate', NAME), 'running')
        self.assertTrue(self.a.serial.command('c', r'(OK|BAD)[^\n]*\n').group(1) == 'OK')

    def test_port_in_use(self):
        with socket.create_server(('127.0.0.1', 0)) as server:
            self.begin()
            port = server.getsockname()[1]
            self.check_refused('Address already in use', 'tcp://127.0.0.1:%d' % port)

    def test_other_cpu(self):
        self.begin('s/^cortex-a57/cortex-a53/')
        self.check_refused('cpu')

    def test_less_memory(self):
        self.begin('s/134217728/67108864/; s/^128$/64/; s/^size=131072k/size=65536k/')     # libvirt 9, libvirt 12
        self.check_refused("mach-virt.ram.*134217728.*67108864")

    def test_device_missing(self):
        self.begin('s/virtio-rng-pci/virtio-balloon-pci/; s/"rng":"objrng0",//',
                   devices="<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>")
        self.check_refused('virtio-rng')

    def test_no_such_cpu(self):
        self.begin('s/^cortex-a57/cortex-a99/')
        self.check_refused('cortex-a99')


if __name__ == '__main__':
    main()
