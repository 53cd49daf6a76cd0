#!/usr/bin/env python3
"""Debian's arm64 kernel on the machine virt: boot, work, power off, restart."""

from lib import host, linux_arm64, migration
from lib.testcase import FunctionalTest, main


class Linux(FunctionalTest):
    """A kernel with the small RAM disk."""

    arch = 'aarch64'
    accel = 'tcg'
    slow = True
    needs_guests = False
    timeout = 300

    def setUp(self):
        super().setUp()
        if not host.virt_has_serial(self.binary):
            self.skipTest('the machine virt has no serial port')

    def boot(self, name='a', *extra, append='', **kwargs):
        return self.machine(name, '-kernel', linux_arm64.kernel(), '-initrd', linux_arm64.initrd(),
                            '-append', 'console=ttyAMA0 panic=-1 ' + append, *extra, guest=None,
                            **{'memory': '512M', **kwargs})


class Boot(Linux):
    def check_boot(self, *extra, cpus=1, **kwargs):
        a = self.boot('a', *extra, smp=cpus, **kwargs)
        shell = linux_arm64.Shell(a)
        self.assertEqual(shell.cpus(), cpus)
        a.serial.command('poweroff -f\n', 'reboot: Power down', 60)
        self.assertEqual(a.qmp.wait_event('SHUTDOWN', 30)['data']['reason'], 'guest-shutdown')
        self.assertEqual(a.wait_exit(), 0)

    def test_one_cpu(self):
        self.check_boot()

    def test_two_cpus(self):
        self.check_boot(cpus=2)

    def test_four_cpus(self):
        self.check_boot(cpus=4)

    def test_gicv3(self):
        self.check_boot(cpus=2, machine='virt,gic-version=3')

    def test_older_models(self):
        for model in ('cortex-a53', 'cortex-a57', 'cortex-a72', 'cortex-a76', 'neoverse-n1'):
            with self.subTest(model=model):
                self.check_boot('-cpu', model)

    def test_reboot(self):
        a = self.boot('a', '-action', 'reboot=reset', smp=2)
        shell = linux_arm64.Shell(a)
        shell.run('true')
        start = a.serial.position()
        a.serial.command('reboot -f\n', 'Restarting system', 60)
        a.qmp.wait_event('RESET', 30)
        a.serial.wait('guest: ready', 120, start)
        self.assertEqual(shell.cpus(), 2)

    def test_work(self):
        """Processes, pipes, files, floating point, time."""
        a = self.boot(smp=2)
        shell = linux_arm64.Shell(a)
        total = shell.run('i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done; echo $i')
        self.assertEqual(total.strip(), '200')
        shell.run('dd if=/dev/urandom of=/tmp/r bs=64k count=64 2>/dev/null')
        first = shell.run('sha256sum < /tmp/r')
        self.assertEqual(shell.run('base64 /tmp/r | base64 -d | sha256sum'), first)
        self.assertEqual(shell.run("awk 'BEGIN { printf \"%.6f\\n\", 22 / 7 * 1e3 }'").strip(),
                         '3142.857143')
        start = float(shell.run('cut -d" " -f1 /proc/uptime'))
        shell.run('sleep 1')
        self.assertGreaterEqual(float(shell.run('cut -d" " -f1 /proc/uptime')), start + 1)


class HotPlug(Linux):
    def test_device(self):
        """Added while Linux runs, used, taken away with Linux's consent, and added again."""
        a = self.boot('a', '-device', 'pcie-root-port,id=p,chassis=1')
        shell = linux_arm64.Shell(a)
        for _ in range(2):
            a.qmp.cmd('device_add', driver='virtio-rng-pci', id='hot', bus='p')
            shell.run('while ! [ -e /sys/bus/virtio/drivers/virtio_rng/virtio* ]; do sleep 1; done')
            self.assertEqual(shell.run('head -c 100 /dev/hwrng | wc -c').strip(), '100')
            a.qmp.cmd('device_del', id='hot')
            a.qmp.wait_event('DEVICE_DELETED', 60, match=lambda data: data.get('device') == 'hot')
            shell.run('! [ -e /sys/bus/virtio/drivers/virtio_rng/virtio* ]')


class Migration(Linux):
    WORK = 'while true; do dd if=/dev/urandom of=/tmp/x bs=4k count=256 2>/dev/null; sha256sum /tmp/x >/tmp/y; done &'

    def move(self, cpus, machine='virt'):
        """Migrate a guest at work; every page of both sides is compared."""
        a = self.boot('a', smp=cpus, machine=machine)
        shell = linux_arm64.Shell(a)
        shell.run(self.WORK)
        before = float(shell.run('cut -d" " -f1 /proc/uptime'))
        b = self.boot('b', '-incoming', self.uri('b'), smp=cpus, machine=machine)
        for machine in (a, b):
            migration.set_capabilities(machine, x_verify=True)
        info = migration.run(a, b, self.uri('b'), timeout=200)
        self.assertEqual(info['x-verify']['mismatches'], 0)
        self.assertEqual(info['x-tracking']['mode'], 'tcg')
        shell = linux_arm64.Shell(b, moved=True)
        self.assertEqual(shell.cpus(), cpus)
        now = float(shell.run('cut -d" " -f1 /proc/uptime'))
        self.assertGreater(now, before)
        self.assertLess(now, before + 120)
        shell.run('sleep 0.2; kill %1; true')

    def test_one_cpu(self):
        self.move(1)

    def test_two_cpus(self):
        self.move(2)

    def test_four_cpus(self):
        self.move(4)

    def test_gicv3(self):
        self.move(2, 'virt,gic-version=3')

    def test_other_model_is_refused(self):
        a = self.boot('a', paused=True)
        b = self.boot('b', '-cpu', 'max,pauth=off', '-incoming', self.uri('b'))
        migration.start(a, self.uri('b'))
        migration.wait(a, ('failed',))
        self.wait_for(lambda: '-cpu must be the same' in b.stderr(), 'the reason')


if __name__ == '__main__':
    main()
