#!/usr/bin/env python3
"""Guests on qcow2 disks: what they write, chains, probing, sizes, migrations, what is refused."""

import json
import os
import shutil
import subprocess
import unittest

from lib import migration
from lib.testcase import FunctionalTest, main

MIB = 1 << 20


def qemu_img(*args, status=0):
    """Run qemu-img; returns what it prints."""
    done = subprocess.run(['qemu-img', *args], capture_output=True, text=True)
    if done.returncode != status:
        raise AssertionError('qemu-img %s: %d\n%s%s' % (' '.join(args), done.returncode, done.stdout, done.stderr))
    return done.stdout


@unittest.skipUnless(shutil.which('qemu-img'), 'needs qemu-img (Debian: qemu-utils)')
class Qcow2Test(FunctionalTest):
    accel = 'tcg'
    arch = 'aarch64'
    transport = ('-global', 'virtio-mmio.force-legacy=false')

    def image(self, name, size='8M', *options):
        qemu_img('create', '-q', '-f', 'qcow2', *options, self.path(name), size)
        return self.path(name)

    def start(self, name, *options, guest='disk', blocks=64, **kwargs):
        """A machine whose guest writes the disk of id d0."""
        return self.machine(name, *self.transport, *options, '-device', 'virtio-blk-device,drive=d0', guest=guest,
                            append='blocks=%d interval=20' % blocks, **kwargs)

    def idle(self, name, *options):
        """A machine without a guest."""
        return self.machine(name, *options, guest=None, machine='none')

    def refused(self, pattern, *options):
        """The emulator must end with a message."""
        done = subprocess.run([self.binary, '-M', 'virt', '-accel', 'tcg', '-nodefaults', '-display', 'none', '-S',
                               *options], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, pattern)


class Writing(Qcow2Test):
    def test_guest_writes(self):
        disk = self.image('disk')
        a = self.start('a', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk)
        a.serial.wait(r'DISK OK round=3\n')
        info = a.qmp.cmd('query-block')[0]['inserted']
        self.assertEqual((info['drv'], info['image']['format'], info['image']['virtual-size'],
                          info['image']['cluster-size']), ('qcow2', 'qcow2', 8 * MIB, 65536))
        self.assertGreater(a.qmp.cmd('query-blockstats')[0]['stats']['wr_bytes'], 64 * 4096)
        # A stop flushes: a copy of the file is a whole one.
        a.qmp.cmd('stop')
        shutil.copy(disk, self.path('copy'))
        qemu_img('check', '-q', self.path('copy'))
        qemu_img('convert', '-O', 'raw', self.path('copy'), self.path('raw'))
        with open(self.path('raw'), 'rb') as raw:
            raw.seek(5 * 4096)
            self.assertEqual(int.from_bytes(raw.read(8), 'little'), 5)
        file = [s for s in a.qmp.cmd('query-blockstats', **{'query-nodes': True})][0]
        self.assertEqual(file['stats']['wr_highest_offset'], os.stat(disk).st_size)
        a.qmp.cmd('cont')
        a.quit()
        self.assertNotIn('ERROR', a.serial.text())
        # No leak either: the emulator ended in order.
        qemu_img('check', disk)
        # Block 5 of the guest carries its number.
        qemu_img('convert', '-O', 'raw', disk, self.path('raw'))
        with open(self.path('raw'), 'rb') as raw:
            raw.seek(5 * 4096)
            self.assertEqual(int.from_bytes(raw.read(8), 'little'), 5)

    def test_killed(self):
        """A kill at any time leaves leaks at most."""
        disk = self.image('disk', '8M', '-o', 'cluster_size=4096')
        a = self.start('a', '-drive', 'if=none,id=d0,format=qcow2,cache=writethrough,file=' + disk)
        a.serial.wait(r'DISK OK round=2\n')
        a.process.kill()
        a.process.wait()
        report = json.loads(subprocess.run(['qemu-img', 'check', '--output=json', disk], capture_output=True,
                                           text=True).stdout)
        self.assertEqual((report.get('corruptions', 0), report['check-errors']), (0, 0))
        # Each write was on stable storage when the guest was told: what it checked is there.
        b = self.start('b', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk)
        b.serial.wait(r'DISK OK round=2\n')

    def test_snapshot_mode(self):
        disk = self.image('disk')
        before = open(disk, 'rb').read()
        a = self.start('a', '-drive', 'if=none,id=d0,snapshot=on,format=qcow2,file=' + disk)
        a.serial.wait(r'DISK OK round=3\n')
        a.quit()
        self.assertEqual(open(disk, 'rb').read(), before)

    def test_one_writer(self):
        disk = self.image('disk')
        a = self.start('a', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk)
        a.serial.wait(r'READY\n')
        self.refused('disk.*in use', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk)


class Chains(Qcow2Test):
    def chain(self):
        """raw <- middle <- top, with something in each; the raw file is shorter."""
        with open(self.path('base'), 'wb') as base:
            base.write(b'\x11' * (3 * MIB))
        qemu_img('create', '-q', '-f', 'qcow2', '-b', 'base', '-F', 'raw', self.path('middle'), '4M')
        subprocess.run(['qemu-io', '-f', 'qcow2', self.path('middle'), '-c', 'write -P 0x22 1M 64k'], check=True,
                       stdout=subprocess.DEVNULL)
        qemu_img('create', '-q', '-f', 'qcow2', '-b', 'middle', '-F', 'qcow2', self.path('top'), '8M')
        return self.path('top')

    def check_content(self, path):
        qemu_img('convert', '-O', 'raw', path, self.path('flat'))
        flat = open(self.path('flat'), 'rb').read()
        self.assertEqual(flat[MIB:MIB + 65536], b'\x22' * 65536)
        self.assertEqual(flat[2 * MIB:2 * MIB + 512], b'\x11' * 512)
        self.assertEqual(flat[3 * MIB:3 * MIB + 512], bytes(512))
        self.assertEqual(int.from_bytes(flat[4096:4104], 'little'), 1)

    def test_implied(self):
        top = self.chain()
        a = self.start('a', '-drive', 'if=none,id=d0,file=' + top)
        a.serial.wait(r'DISK OK round=2\n')
        info = a.qmp.cmd('query-block')[0]['inserted']
        self.assertEqual(info['backing_file_depth'], 2)
        self.assertEqual(info['image']['backing-image']['backing-image']['format'], 'raw')
        self.assertNotIn('backing-image', a.qmp.cmd('query-block', flat=True)[0]['inserted']['image'])
        a.quit()
        self.check_content(top)
        qemu_img('check', self.path('middle'))

    def test_as_libvirt_says_it(self):
        top = self.chain()
        nodes = [
            {'driver': 'file', 'filename': self.path('base'), 'node-name': 'libvirt-3-storage',
             'auto-read-only': True, 'discard': 'unmap'},
            {'node-name': 'libvirt-3-format', 'read-only': True, 'driver': 'raw', 'file': 'libvirt-3-storage'},
            {'driver': 'file', 'filename': self.path('middle'), 'node-name': 'libvirt-2-storage',
             'auto-read-only': True, 'discard': 'unmap'},
            {'node-name': 'libvirt-2-format', 'read-only': True, 'driver': 'qcow2', 'file': 'libvirt-2-storage',
             'backing': 'libvirt-3-format'},
            {'driver': 'file', 'filename': top, 'node-name': 'libvirt-1-storage', 'auto-read-only': True,
             'discard': 'unmap', 'cache': {'direct': True, 'no-flush': False}},
            {'node-name': 'libvirt-1-format', 'read-only': False, 'driver': 'qcow2', 'file': 'libvirt-1-storage',
             'backing': 'libvirt-2-format', 'discard': 'unmap', 'detect-zeroes': 'unmap',
             'cache': {'direct': True, 'no-flush': False}},
        ]
        options = [word for node in nodes for word in ('-blockdev', json.dumps(node))]
        a = self.machine('a', *self.transport, *options, '-device', 'virtio-blk-device,drive=libvirt-1-format,id=disk',
                         guest='disk', append='blocks=64 interval=20')
        a.serial.wait(r'DISK OK round=2\n')
        by_name = {n['node-name']: n for n in a.qmp.cmd('query-named-block-nodes', flat=True)}
        self.assertEqual(by_name['libvirt-1-format']['children'],
                         [{'child': 'file', 'node-name': 'libvirt-1-storage'},
                          {'child': 'backing', 'node-name': 'libvirt-2-format'}])
        self.assert_refused(a, 'blockdev-del', 'in use', **{'node-name': 'libvirt-2-format'})
        a.quit()
        self.check_content(top)

    def test_null(self):
        """backing=null: what is not in the image reads as zeroes."""
        top = self.chain()
        a = self.start('a', '-blockdev', json.dumps({
            'driver': 'qcow2', 'node-name': 'd0', 'backing': None, 'read-only': False,
            'file': {'driver': 'file', 'filename': top}}))
        a.serial.wait(r'DISK OK round=1\n')
        self.assertEqual(a.qmp.cmd('query-block')[0]['inserted']['backing_file_depth'], 0)

    def test_names_itself(self):
        disk = self.image('disk')
        qemu_img('rebase', '-u', '-b', 'disk', '-F', 'qcow2', disk)
        self.refused('more than 200 backing files', '-drive', 'if=none,id=d0,file=' + disk)


class Formats(Qcow2Test):
    def test_guessed_raw(self):
        """No header of a format may be written to a disk that was taken as raw."""
        with open(self.path('disk'), 'wb') as disk:
            disk.truncate(MIB)
        a = self.start('a', '-drive', 'if=none,id=d0,file=' + self.path('disk'), blocks=8)
        a.serial.wait(r'DISK OK round=2\n')
        self.assertRegex(a.stderr(), 'warning.*no format was given.*taken as raw')
        self.assertEqual(a.qmp.cmd('query-block')[0]['inserted']['drv'], 'raw')

    def test_guessed_qcow2(self):
        a = self.idle('a', '-drive', 'if=none,id=d0,file=' + self.image('disk'))
        self.assertEqual(a.qmp.cmd('query-block')[0]['inserted']['drv'], 'qcow2')
        self.assertEqual(a.stderr(), '')

    def test_refused(self):
        def drive(name):
            return '-drive', 'if=none,id=d0,format=qcow2,file=' + self.path(name)

        self.image('snap')
        qemu_img('snapshot', '-c', 'one', self.path('snap'))
        self.refused('snap.*1 internal snapshots.*read-only=on', *drive('snap'))
        a = self.idle('a', '-drive', 'if=none,id=d0,format=qcow2,readonly=on,file=' + self.path('snap'))
        self.assertTrue(a.qmp.cmd('query-block')[0]['inserted']['ro'])
        self.image('extended', '8M', '-o', 'extended_l2=on')
        self.refused('extended_l2', *drive('extended'))
        self.image('outside', '8M', '-o', 'data_file=' + self.path('data'))
        self.refused('data_file', *drive('outside'))
        self.refused('lazy-refcounts=on', '-drive',
                     'if=none,id=d0,format=qcow2,lazy-refcounts=on,file=' + self.image('lazy'))
        with open(self.image('dirty'), 'r+b') as disk:
            disk.seek(72)
            disk.write((1).to_bytes(8, 'big'))
        self.refused('dirty.*lazy refcounts.*qemu-img check -r all', *drive('dirty'))
        with open(self.image('future'), 'r+b') as disk:
            disk.seek(72)
            disk.write((1 << 40).to_bytes(8, 'big'))
        self.refused('unknown incompatible features.*0x10000000000', *drive('future'))

    def test_compressed(self):
        """Compressed clusters, zlib and zstd, are read and written over."""
        for kind in ('zlib', 'zstd'):
            with open(self.path('plain'), 'wb') as plain:
                plain.write(b'\x33' * (2 * MIB))
            disk = self.path('disk-' + kind)
            qemu_img('convert', '-c', '-O', 'qcow2', '-o', 'compression_type=' + kind, self.path('plain'), disk)
            a = self.start(kind, '-drive', 'if=none,id=d0,file=' + disk, blocks=20)
            a.serial.wait(r'DISK OK round=2\n')
            a.quit()
            qemu_img('check', disk)
            qemu_img('convert', '-O', 'raw', disk, self.path('flat'))
            flat = open(self.path('flat'), 'rb').read()
            self.assertEqual(int.from_bytes(flat[19 * 4096:19 * 4096 + 8], 'little'), 19)
            self.assertEqual(flat[20 * 4096:], b'\x33' * (2 * MIB - 20 * 4096))


class Sizes(Qcow2Test):
    def test_resize(self):
        disk = self.image('disk')
        a = self.start('a', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk)
        a.serial.wait(r'DISK OK round=1\n')
        a.qmp.cmd('block_resize', device='d0', size=64 * MIB)
        self.assertEqual(a.qmp.cmd('query-block')[0]['inserted']['image']['virtual-size'], 64 * MIB)
        a.qmp.hmp('block_resize d0 20G')
        self.assertEqual(a.qmp.cmd('query-block')[0]['inserted']['image']['virtual-size'], 20 << 30)
        self.assert_refused(a, 'block_resize', 'cannot shrink', device='d0', size=MIB)
        self.assert_refused(a, 'block_resize', 'multiple of 512', device='d0', size=(21 << 30) + 1)
        a.serial.wait(r'DISK OK round=3\n')
        a.quit()
        qemu_img('check', disk)
        self.assertEqual(json.loads(qemu_img('info', '--output=json', disk))['virtual-size'], 20 << 30)

    def test_raw(self):
        with open(self.path('disk'), 'wb') as disk:
            disk.truncate(MIB)
        a = self.start('a', '-drive', 'if=none,id=d0,format=raw,file=' + self.path('disk'), blocks=16)
        a.serial.wait(r'DISK OK round=1\n')
        for size in (4 * MIB, 2 * MIB):
            a.qmp.cmd('block_resize', device='d0', size=size)
            self.assertEqual(os.stat(self.path('disk')).st_size, size)
        a.serial.wait(r'DISK OK round=3\n')


class Moving(Qcow2Test):
    def test_migrations(self):
        """There and on, the source's tables written before the next one reads them."""
        disk = self.image('disk', '8M', '-o', 'cluster_size=4096')

        def machine(name, **kwargs):
            return self.start(name, '-drive', 'if=none,id=d0,format=qcow2,file=' + disk, **kwargs)

        a = machine('a0')
        a.serial.wait(r'DISK OK round=2\n')
        for n in range(1, 4):
            b = machine('a%d' % n, incoming=self.uri('b%d' % n))
            # Nothing was read yet but the header.
            self.assertFalse(b.qmp.cmd('query-block')[0]['inserted']['active'])
            migration.run(a, b, self.uri('b%d' % n))
            self.assertFalse(a.qmp.cmd('query-block')[0]['inserted']['active'])
            a.quit()
            b.serial.wait(r'DISK OK round=\d+\n')
            b.serial.wait(r'DISK OK round=\d+\n')
            self.assertNotIn('ERROR', b.serial.text())
            a = b
        a.quit()
        qemu_img('check', disk)

    def test_comes_back(self):
        """A migration that is cancelled leaves the source with its disk."""
        disk = self.image('disk')
        a = self.start('a', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk)
        a.serial.wait(r'DISK OK round=1\n')
        migration.set_parameters(a, max_bandwidth=4096)
        b = self.start('b', '-drive', 'if=none,id=d0,format=qcow2,file=' + disk, incoming=self.uri('b'))
        migration.start(a, self.uri('b'))
        a.qmp.cmd('migrate_cancel')
        migration.wait(a, ('cancelled',))
        b.close()
        a.serial.wait(r'DISK OK round=\d+\n')
        a.quit()
        qemu_img('check', disk)


if __name__ == '__main__':
    main()
