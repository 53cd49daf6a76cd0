#!/usr/bin/env python3
"""What virsh does with a running guest: each operation works, or virsh shows why it does not."""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from lib.libvirt import NAME, LibvirtTest, VirshError
from lib.testcase import main

BALLOON = "<memballoon model='virtio'><stats period='1'/></memballoon>"
NET = "<interface type='user'><mac address='52:54:00:0b:ea:75'/><model type='virtio'/></interface>"
RNG = "<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>"
CHANNEL = "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
CONSOLE = "<console type='pty'><target type='virtio'/></console>"


class Operations(LibvirtTest):
    devices = BALLOON + NET + RNG + CHANNEL + CONSOLE

    def setUp(self):
        super().setUp()
        self.host = self.daemon()
        self.define(self.host, devices=self.devices)
        self.host.virsh('start', NAME)
        self.host.serial.wait(r'READY\n', 60)

    def virsh(self, *args):
        return self.host.virsh(args[0], NAME, *args[1:])

    def refused(self, pattern, *args):
        with self.assertRaises(VirshError) as caught:
            self.virsh(*args)
        self.assertRegex(str(caught.exception), pattern)

    def check_guest(self):
        match = self.host.serial.command('c', r'(OK|BAD)[^\n]*\n')
        self.assertEqual(match.group(1), 'OK')

    def test_information(self):
        self.assertRegex(self.virsh('dominfo'), r'Max memory: +131072 KiB')
        self.assertIn('actual 131072', self.virsh('dommemstat'))
        self.assertIn('rd_req 0', self.virsh('domblkstat', 'vda'))
        self.assertRegex(self.virsh('domblkinfo', 'vda'), r'Capacity: +1048576')
        self.assertEqual(self.virsh('domblkerror'), 'No errors found')
        stats = dict(line.strip().split('=') for line in self.virsh('domstats').split('\n') if '=' in line)
        for key in ('state.state', 'cpu.time', 'balloon.current', 'vcpu.0.state', 'vcpu.0.time', 'net.count',
                    'block.0.rd.reqs', 'block.0.fl.times', 'block.0.capacity', 'block.0.physical'):
            self.assertRegex(stats[key], r'^\d+$', key)
        self.assertRegex(self.virsh('vcpuinfo'), r'State: +running')
        self.assertRegex(self.virsh('dumpxml'), "<source path='/dev/pts/")

    def test_dirty_rate(self):
        for mode in ('page-sampling', 'dirty-bitmap'):
            self.virsh('domdirtyrate-calc', '--seconds', '1', '--mode', mode)
            self.wait_for(lambda: 'calc_status=2' in self.virsh('domstats', '--dirtyrate'), mode)
            stats = self.virsh('domstats', '--dirtyrate')
            self.assertIn('dirtyrate.calc_mode=' + mode, stats)
            self.assertGreater(int(re.search(r'megabytes_per_second=(\d+)', stats).group(1)), 0)
        self.refused('dirty-ring', 'domdirtyrate-calc', '--seconds', '1', '--mode', 'dirty-ring')

    def test_run_control(self):
        self.virsh('suspend')
        self.assertEqual(self.virsh('domstate'), 'paused')
        self.virsh('resume')
        self.assertEqual(self.virsh('domstate'), 'running')
        self.check_guest()
        at = self.host.serial.position()
        self.virsh('reset')
        self.host.serial.wait(r'READY\n', 60, at)
        self.assertEqual(self.virsh('domstate'), 'running')
        self.virsh('shutdown', '--mode', 'acpi')    # which this guest does not listen to
        self.virsh('reboot')
        self.virsh('setmem', '100M', '--live')
        self.refused('have no NMI', 'inject-nmi')
        self.virsh('destroy')
        self.assertEqual(self.virsh('domstate'), 'shut off')

    def test_hot_plug(self):
        disk, card = self.path('d2.raw'), self.path('card.xml')
        with open(disk, 'wb') as image:
            image.truncate(1 << 20)
        pathlib.Path(card).write_text(NET.replace('ea:75', 'ea:76'), 'ascii')
        for _ in range(2):
            self.virsh('attach-disk', disk, 'vdb', '--targetbus', 'virtio', '--live')
            self.assertIn(disk, self.virsh('domblklist'))
            self.assertIn('rd_req', self.virsh('domblkstat', 'vdb'))
            self.virsh('detach-disk', 'vdb', '--live')
            self.wait_for(lambda: disk not in self.virsh('domblklist'), 'the disk is gone')
            self.virsh('attach-device', card, '--live')
            self.assertIn('ea:76', self.virsh('domiflist'))
            self.virsh('detach-device', card, '--live')
            self.wait_for(lambda: 'ea:76' not in self.virsh('domiflist'), 'the card is gone')
        self.check_guest()

    def limits(self, disk):
        """What libvirt has asked the emulator for, without what is 0 or empty."""
        lines = [line.split(':') for line in self.virsh('blkdeviotune', disk).split('\n') if ':' in line]
        return {key.strip(): value.strip() for key, value in lines if value.strip() not in ('0', '')}

    def test_limits(self):
        self.virsh('blkdeviotune', 'vda', '--total-iops-sec', '100', '--total-iops-sec-max', '200',
                   '--total-iops-sec-max-length', '3', '--size-iops-sec', '8192', '--write-bytes-sec', '1048576',
                   '--group-name', 'both', '--live')
        first = {'total_iops_sec': '100', 'total_iops_sec_max': '200', 'total_iops_sec_max_length': '3',
                 'size_iops_sec': '8192', 'write_bytes_sec': '1048576', 'group_name': 'both'}
        shown = self.limits('vda')
        self.assertEqual({key: shown.get(key) for key in first}, first)
        disk = self.path('d2.raw')
        with open(disk, 'wb') as image:
            image.truncate(1 << 20)
        self.virsh('attach-disk', disk, 'vdb', '--targetbus', 'virtio', '--live')
        self.virsh('blkdeviotune', 'vdb', '--total-iops-sec', '150', '--group-name', 'both', '--live')
        told = self.virsh('qemu-monitor-command', '--pretty', '{"execute":"query-block"}')
        self.assertEqual(re.findall(r'"iops": (\d+)', told), ['150', '150'])
        self.assertEqual(re.findall(r'"group": "(.*)"', told), ['both', 'both'])
        self.refused('total.*(read|write)|cannot be set', 'blkdeviotune', 'vda', '--total-iops-sec', '100',
                     '--read-iops-sec', '100', '--live')
        self.virsh('blkdeviotune', 'vda', '--total-iops-sec', '0', '--total-iops-sec-max', '0',
                   '--total-iops-sec-max-length', '0', '--size-iops-sec', '0', '--write-bytes-sec', '0', '--live')
        self.assertNotIn('total_iops_sec', self.limits('vda'))
        self.check_guest()

    def test_iothreads(self):
        self.virsh('iothreadadd', '1', '--live')
        self.virsh('iothreadadd', '7', '--live')
        self.assertEqual([line.split()[0] for line in self.virsh('iothreadinfo').split('\n')], ['1', '7'])
        self.virsh('iothreaddel', '1', '--live')
        self.assertEqual([line.split()[0] for line in self.virsh('iothreadinfo').split('\n')], ['7'])
        disk, plugged = self.path('d2.raw'), pathlib.Path(self.path('plugged.xml'))
        with open(disk, 'wb') as image:
            image.truncate(1 << 20)
        plugged.write_text("<disk type='file' device='disk'><driver name='qemu' type='raw' iothread='7'/>"
                           "<source file='%s'/><target dev='vdb' bus='virtio'/></disk>" % disk, 'ascii')
        self.virsh('attach-device', str(plugged), '--live')
        self.refused('7', 'iothreaddel', '7', '--live')
        self.virsh('detach-disk', 'vdb', '--live')
        self.wait_for(lambda: 'vdb' not in self.virsh('domblklist'), 'the disk is gone')
        self.virsh('iothreaddel', '7', '--live')
        self.assertEqual(self.virsh('iothreadinfo').split('\n')[0].split()[:1] or ['No'], ['No'])
        self.refused('poll-max-ns', 'iothreadset', '7', '--poll-max-ns', '5', '--live')
        self.check_guest()

    def test_monitor_commands(self):
        self.assertIn('VM status: running', self.virsh('qemu-monitor-command', '--hmp', 'info status'))
        self.assertIn('"running":true', self.virsh('qemu-monitor-command', '{"execute":"query-status"}'))

    def test_dump(self):
        path = self.path('core')
        self.virsh('dump', path, '--memory-only')
        self.assertEqual(pathlib.Path(path).read_bytes()[:4], b'\x7fELF')
        self.assertGreater(os.path.getsize(path), 128 << 20)
        self.assertEqual(self.virsh('domstate'), 'running')
        self.check_guest()
        self.refused('kdump-zlib', 'dump', path, '--memory-only', '--format', 'kdump-zlib')
        self.virsh('dump', path)
        self.check_guest()

    def test_save(self):
        path = self.path('saved')
        self.virsh('save', path)
        self.assertEqual(self.virsh('domstate'), 'shut off')
        serial = self.new_serial(self.host)
        self.host.virsh('restore', path)
        self.assertEqual(self.virsh('domstate'), 'running')
        self.check_guest()
        self.assertNotIn('READY', serial.text())
        self.virsh('managedsave')
        self.new_serial(self.host)
        self.host.virsh('start', NAME)
        self.check_guest()

    def test_daemon_comes_back(self):
        """The daemon ends and starts again; the guest runs on and is found."""
        self.host.restart()
        self.assertEqual(self.virsh('domstate'), 'running')
        self.assertIn('actual 131072', self.virsh('dommemstat'))
        self.virsh('suspend')
        self.virsh('resume')
        self.check_guest()

    def test_not_there(self):
        self.refused('no screens', 'screenshot', self.path('x.png'))
        self.refused('storage type raw', 'snapshot-create-as', 's1')


@unittest.skipUnless(shutil.which('qemu-img'), 'needs qemu-img (Debian: qemu-utils)')
class Qcow2(LibvirtTest):
    def image(self, name, *options):
        subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', *options, self.path(name), '16M'], check=True)
        return self.path(name)

    def check(self, name):
        subprocess.run(['qemu-img', 'check', '-q', self.path(name)], check=True)

    def test_disk(self):
        """A chain as the disk of the domain, and one that is plugged: information, size, save, restore."""
        virsh = self.host_virsh
        self.image('base')
        top = self.image('top', '-b', 'base', '-F', 'qcow2')
        self.host = self.daemon()
        self.define(self.host, qcow2=top)
        virsh('start')
        self.host.serial.wait(r'READY\n', 60)
        self.assertRegex(virsh('domblkinfo', 'vda'), r'Capacity: +16777216')
        virsh('blockresize', 'vda', '32M')
        self.assertRegex(virsh('domblkinfo', 'vda'), r'Capacity: +33554432')
        plugged = pathlib.Path(self.path('plugged.xml'))
        plugged.write_text("<disk type='file' device='disk'><driver name='qemu' type='qcow2' discard='unmap'/>"
                           "<source file='%s'/><target dev='vdb' bus='virtio'/></disk>" %
                           self.image('more', '-b', 'base', '-F', 'qcow2'), 'ascii')
        virsh('attach-device', str(plugged), '--live')
        self.assertIn('rd_req', virsh('domblkstat', 'vdb'))
        virsh('detach-disk', 'vdb', '--live')
        self.wait_for(lambda: 'vdb' not in virsh('domblklist'), 'the disk is gone')
        self.check('more')
        self.new_serial(self.host)
        virsh('save', self.path('saved'))
        self.check('top')
        self.host.virsh('restore', self.path('saved'))
        self.assertEqual(virsh('domstate'), 'running')
        self.assertRegex(virsh('domblkinfo', 'vda'), r'Capacity: +33554432')
        virsh('destroy')
        self.check('top')

    def host_virsh(self, command, *args):
        return self.host.virsh(command, NAME, *args)


if __name__ == '__main__':
    main()
