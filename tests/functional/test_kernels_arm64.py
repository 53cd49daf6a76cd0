#!/usr/bin/env python3
"""Debian's arm64 kernels on the machine virt: every one, its disks and its network.

TIDEMARK_KERNELS=all in the environment takes every kernel with 1, 2 and 4 vCPUs and its own virtio
drivers, which means packages of 250 MB; TIDEMARK_BOOTS=N boots N times in a row with two vCPUs.
"""

import hashlib
import os

from lib import debian_kernels, host, linux_arm64
from lib.testcase import FunctionalTest, main, note

ALL = os.environ.get('TIDEMARK_KERNELS') == 'all'
BOOTS = int(os.environ.get('TIDEMARK_BOOTS', 2))
MIB = 1 << 20


class Kernels(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    slow = True
    needs_guests = False
    timeout = 300

    def boot(self, name, kernel, initrd, *extra, **kwargs):
        return self.machine(name, '-append', 'console=ttyAMA0 panic=-1', *extra, guest=None, kernel=kernel,
                            initrd=initrd, **{'memory': '512M', 'smp': 2, **kwargs})

    def power_off(self, machine):
        machine.serial.command('poweroff -f\n', 'reboot: Power down', 60)
        self.assertEqual(machine.qmp.wait_event('SHUTDOWN', 30)['data']['reason'], 'guest-shutdown')
        self.assertEqual(machine.wait_exit(), 0)


class Versions(Kernels):
    timeout = 1200 if ALL else 300

    def check(self, name):
        kernel, initrd = debian_kernels.files(name, modules=ALL)
        for cpus in (1, 2, 4) if ALL else (2,):
            with self.subTest(cpus=cpus):
                a = self.boot('a%d' % cpus, kernel, initrd, '-action', 'reboot=reset', smp=cpus)
                shell = linux_arm64.Shell(a, 200)
                self.assertEqual(shell.cpus(), cpus)
                self.assertRegex(a.serial.text(), 'hw perfevents: enabled with armv8_pmuv3 PMU driver, 7 ')
                note('%s with %d vCPUs: Linux %s' % (name, cpus, shell.run('uname -r').strip()))
                pages = shell.run("awk '/KernelPageSize/ { print $2; exit }' /proc/self/smaps")
                self.assertEqual(int(pages) << 10, debian_kernels.page_size(name))
                if cpus == 2:
                    start = a.serial.position()
                    a.serial.command('reboot -f\n', 'Restarting system', 60)
                    a.serial.wait('guest: ready', 200, start)
                    self.assertEqual(shell.cpus(), cpus)
                self.power_off(a)

    def test_sid(self):
        self.check('sid')

    def test_sid_with_16k_pages(self):
        self.check('sid-16k')

    def test_bookworm(self):
        if not ALL:
            self.skipTest('the installer has this kernel; TIDEMARK_KERNELS=all takes it all the same')
        self.check('6.1')


class Drivers(Kernels):
    """virtio by Linux's drivers."""

    def files(self):
        return debian_kernels.files('sid' if ALL else '6.1', modules=True)

    def image(self):
        """A disk of 16 MiB whose content depends on the place."""
        data = b''.join(hashlib.sha256(b'%d' % i).digest() for i in range(16 * MIB // 32))
        with open(self.path('disk'), 'wb') as f:
            f.write(data)
        return data

    def check_disk(self, device):
        data = self.image()
        a = self.boot('a', *self.files(), '-device', device + ',drive=d',
                      '-drive', 'if=none,id=d,format=raw,file=' + self.path('disk'))
        shell = linux_arm64.Shell(a)
        self.assertEqual(shell.run('cat /sys/block/vda/size').strip(), str(16 * MIB // 512))
        found = shell.run('sha256sum < /dev/vda', 120).split()[0]
        self.assertEqual(found, hashlib.sha256(data).hexdigest())
        shell.run('dd if=/dev/urandom of=/tmp/new bs=64k count=64 2>/dev/null')
        shell.run('dd if=/tmp/new of=/dev/vda bs=64k seek=128 conv=fsync 2>/dev/null', 120)
        new = shell.run('sha256sum < /tmp/new').split()[0]
        self.power_off(a)
        with open(self.path('disk'), 'rb') as f:
            after = f.read()
        self.assertEqual(hashlib.sha256(after[8 * MIB:12 * MIB]).hexdigest(), new)
        self.assertEqual(after[:8 * MIB] + after[12 * MIB:], data[:8 * MIB] + data[12 * MIB:])

    def test_disk_on_pci(self):
        self.check_disk('virtio-blk-pci')

    def test_disk_on_mmio(self):
        self.check_disk('virtio-blk-device')

    def check_net(self, device):
        """An address by DHCP, and the host's answer to a name service request and to ping."""
        a = self.boot('a', *self.files(), '-device', device + ',netdev=n,mac=52:54:00:01:02:03',
                      '-netdev', 'user,id=n,net=10.7.0.0/24,dhcpstart=10.7.0.20')
        shell = linux_arm64.Shell(a)
        self.assertEqual(shell.run('cat /sys/class/net/eth0/address').strip(), '52:54:00:01:02:03')
        shell.run("printf '%s\\n' '#!/bin/sh' 'echo \"$1 $ip $router\" >> /tmp/dhcp' > /tmp/s; chmod +x /tmp/s; "
                  'ip link set eth0 up')
        shell.run('udhcpc -i eth0 -s /tmp/s -n -q -t 10 2>/dev/null >/dev/null', 120)
        self.assertIn('bound 10.7.0.20 10.7.0.2', shell.run('cat /tmp/dhcp'))
        shell.run('ip addr add 10.7.0.20/24 dev eth0')
        self.assertIn('3 packets received', shell.run('ping -c 3 10.7.0.2 2>&1', 120))
        self.power_off(a)

    def test_net_on_pci(self):
        self.check_net('virtio-net-pci')

    def test_net_on_mmio(self):
        self.check_net('virtio-net-device')


class InARow(Kernels):
    timeout = 120 * BOOTS + 60

    def test_boots(self):
        for i in range(BOOTS):
            a = self.boot('a%d' % i, linux_arm64.kernel(), linux_arm64.initrd())
            self.assertEqual(linux_arm64.Shell(a, 110).cpus(), 2)
            self.power_off(a)
        note('%d boots with two vCPUs on %d host CPUs' % (BOOTS, os.cpu_count()))


if __name__ == '__main__':
    main()
