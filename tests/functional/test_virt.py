#!/usr/bin/env python3
"""The machine virt for arm64: what runs first, power control, refusals, device tree."""

import subprocess

from lib.testcase import FunctionalTest, main


class Virt(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def run_emulator(self, *args, timeout=30):
        return subprocess.run([self.binary, *args], stdin=subprocess.DEVNULL, text=True, timeout=timeout,
                              capture_output=True)


class Power(Virt):
    def power(self, append='', *extra, **kwargs):
        return self.machine('a', *extra, guest='power', append=append, paused=True, **kwargs)

    def end(self, machine):
        """Let it run; returns why the guest ended it."""
        machine.qmp.cmd('cont')
        event = machine.qmp.wait_event('SHUTDOWN')
        self.assertTrue(event['data']['guest'])
        self.assertEqual(machine.wait_exit(), 0)
        return event['data']['reason']

    def test_off(self):
        self.assertEqual(self.end(self.power()), 'guest-shutdown')

    def test_off_in_the_interpreter(self):
        self.assertEqual(self.end(self.power(accel='tcg,jit=off')), 'guest-shutdown')

    def test_two_cpus(self):
        self.assertEqual(self.end(self.power('two-cpus', smp=2)), 'guest-shutdown')

    def test_every_model(self):
        for model in ('cortex-a53', 'cortex-a57', 'cortex-a72', 'cortex-a76', 'neoverse-n1', 'max'):
            with self.subTest(model=model):
                a = self.power('', '-cpu', model)
                self.assertEqual(self.end(a), 'guest-shutdown')

    def test_reset_is_told(self):
        """-no-reboot ends at a reset; the guest's own check of that fails without it."""
        self.assertEqual(self.end(self.power('reset-once')), 'guest-reset')

    def test_reset_comes_back(self):
        a = self.power('reset-once two-cpus', '-action', 'reboot=reset', smp=2)
        a.qmp.cmd('cont')
        a.qmp.wait_event('RESET')
        self.assertEqual(a.qmp.wait_event('SHUTDOWN')['data']['reason'], 'guest-shutdown')

    def test_off_waits_for_the_user(self):
        a = self.power('', '-no-shutdown')
        a.qmp.cmd('cont')
        a.qmp.wait_event('SHUTDOWN')
        a.wait_status('shutdown')
        a.qmp.cmd('system_reset')
        a.qmp.cmd('cont')
        a.qmp.wait_event('SHUTDOWN')


class Refusals(Virt):
    needs_guests = False

    def refused(self, *args):
        p = self.run_emulator('-display', 'none', *args)
        self.assertEqual(p.returncode, 1)
        return p.stderr

    def test_machine(self):
        for text in ('secure=on', 'mte=on', 'ras=on', 'iommu=smmuv3'):
            self.assertIn(text, self.refused('-M', 'virt,' + text))

    def test_older_versions(self):
        told = self.refused('-M', 'virt-7.1')
        self.assertIn("'virt-7.1'", told)
        self.assertIn('virt-7.2', told)

    def test_gic_version(self):
        for version in ('4', 'host', '5'):
            told = self.refused('-M', 'virt,gic_version=' + version)
            self.assertIn('gic-version=%s is not' % version, told)
            self.assertIn('3 or max', told)
        self.assertIn('room for 8 vCPUs', self.refused('-M', 'virt,gic-version=2', '-smp', '9'))

    def test_cpu(self):
        for text, told in (('host', '-cpu max'), ('cortex-a15', 'cortex-a57'),
                           ('max,sve=on', 'SVE'), ('max,sme=on', 'SME'), ('max,aarch64=off', 'AArch32'),
                           ('max,sve128=on', 'SVE'), ('cortex-a57,sve=off', "property 'sve'"),
                           ('max,pauth=maybe', 'neither on nor off'),
                           ('max,pauth-impdef=on,pauth-qarma5=on', 'exclude each other'), ('max,lpa2=2', 'neither on nor off')):
            with self.subTest(cpu=text):
                self.assertIn(told, self.refused('-M', 'virt', '-cpu', text))

    def test_accelerator(self):
        self.assertRegex(self.refused('-M', 'virt', '-accel', 'kvm'),
                         'has tcg, qtest .*host of their own architecture')
        self.assertIn('thread=dual', self.refused('-M', 'virt', '-accel', 'tcg,thread=dual'))
        self.assertIn('tb-size=5000', self.refused('-M', 'virt', '-accel', 'tcg,tb-size=5000'))
        self.assertIn('split-wx', self.refused('-M', 'virt', '-accel', 'tcg,split-wx=on'))

    def test_memory(self):
        self.assertIn('highmem=off', self.refused('-M', 'virt,highmem=off', '-m', '4G'))

    def test_kernel(self):
        self.assertIn('nothing to start', self.refused('-M', 'virt'))
        self.assertIn('ELF', self.refused('-M', 'virt', '-kernel', self.binary))
        damaged = self.path('k.gz')
        with open(damaged, 'wb') as f:
            f.write(b'\x1f\x8b\x08' + bytes(100))
        self.assertIn('damaged', self.refused('-M', 'virt', '-kernel', damaged))


class DeviceTree(Virt):
    needs_guests = False

    def tree(self, *args):
        path = self.path('dtb')
        p = self.run_emulator('-display', 'none', '-M', 'virt,dumpdtb=' + path, *args)
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(path, 'rb') as f:
            return FDT(f.read())

    def test_memory_and_cpus(self):
        tree = self.tree('-m', '3G', '-smp', '3')
        self.assertEqual(tree.cells('/memory@40000000', 'reg'), [0, 0x40000000, 0, 0xc0000000])
        self.assertEqual([tree.cells('/cpus/cpu@%d' % i, 'reg') for i in range(3)], [[0], [1], [2]])
        self.assertEqual(tree.text('/psci', 'method'), ['hvc'])
        self.assertEqual(tree.text('/cpus/cpu@0', 'compatible'), ['arm,cortex-a57'])

    def test_transports_are_in_order(self):
        tree = self.tree()
        names = [n for n in tree.nodes if n.startswith('/virtio_mmio@')]
        self.assertEqual(names, ['/virtio_mmio@%x' % (0xa000000 + i * 0x200) for i in range(32)])
        self.assertEqual(tree.cells(names[31], 'interrupts'), [0, 47, 1])

    def test_gicv2(self):
        tree = self.tree('-smp', '2')
        gic = '/intc@8000000'
        self.assertEqual(tree.cells('/', 'interrupt-parent'), tree.cells(gic, 'phandle'))
        self.assertEqual(tree.text(gic, 'compatible'), ['arm,cortex-a15-gic'])
        self.assertEqual(tree.cells(gic, 'reg'), [0, 0x8000000, 0, 0x10000, 0, 0x8010000, 0, 0x10000])
        frame = gic + '/v2m@8020000'
        self.assertEqual(tree.text(frame, 'compatible'), ['arm,gic-v2m-frame'])
        self.assertEqual(tree.cells('/pcie@10000000', 'msi-map'),
                         [0, *tree.cells(frame, 'phandle'), 0, 0x10000])
        # a private interrupt names its CPUs
        self.assertEqual(tree.cells('/timer', 'interrupts')[::3], [1] * 4)
        self.assertEqual(tree.cells('/timer', 'interrupts')[2::3], [0x304] * 4)
        self.assertEqual(tree.text('/pmu', 'compatible'), ['arm,armv8-pmuv3'])
        self.assertEqual(tree.cells('/pmu', 'interrupts'), [1, 7, 0x304])
        self.assertNotIn('/pmu', self.tree('-cpu', 'cortex-a57,pmu=off').nodes)

    def test_gicv2_el2(self):
        tree = self.tree('-M', 'gic-version=2,virtualization=on')
        gic = '/intc@8000000'
        self.assertEqual(tree.text(gic, 'compatible'), ['arm,cortex-a15-gic'])
        self.assertEqual(tree.cells(gic, 'reg'),
                         [cell for base in (0x8000000, 0x8010000, 0x8030000, 0x8040000) for cell in (0, base, 0, 0x10000)])
        self.assertEqual(tree.cells(gic, 'interrupts'), [1, 9, 4])

    def test_gicv3(self):
        gic = '/intc@8000000'
        tree = self.tree('-smp', '2', '-M', 'gic-version=3')
        self.assertEqual(tree.text(gic, 'compatible'), ['arm,gic-v3'])
        self.assertEqual(tree.cells(gic, 'reg'), [0, 0x8000000, 0, 0x10000, 0, 0x80a0000, 0, 0xf60000])
        self.assertEqual(tree.cells(gic, '#redistributor-regions'), [1])
        self.assertEqual(tree.cells('/timer', 'interrupts')[2::3], [4] * 4)
        its = gic + '/its@8080000'
        self.assertEqual(tree.text(its, 'compatible'), ['arm,gic-v3-its'])
        self.assertEqual(tree.cells(its, 'reg'), [0, 0x8080000, 0, 0x20000])
        self.assertNotIn(its, self.tree('-M', 'gic-version=3,its=off').nodes)
        many = self.tree('-smp', '124', '-accel', 'qtest')
        self.assertEqual(many.cells(gic, '#redistributor-regions'), [2])
        self.assertEqual(many.cells(gic, 'reg')[8:], [0x40, 0, 0, 0x4000000])

    def test_gic_version_by_default(self):
        """2 where that is enough."""
        for args, name in ((('-smp', '8'), 'arm,cortex-a15-gic'), (('-smp', '9'), 'arm,gic-v3'),
                           (('-M', 'virtualization=on'), 'arm,gic-v3'),
                           (('-M', 'gic-version=max'), 'arm,gic-v3')):
            with self.subTest(args=args):
                self.assertEqual(self.tree(*args).text('/intc@8000000', 'compatible'), [name])

    def test_given_tree_is_completed(self):
        first = self.path('dtb')
        self.tree('-m', '256M')
        given = self.path('given')
        with open(first, 'rb') as f, open(given, 'wb') as out:
            out.write(f.read())
        tree = self.tree('-m', '512M', '-dtb', given)
        self.assertEqual(tree.cells('/memory@40000000', 'reg'), [0, 0x40000000, 0, 0x20000000])


class FDT:
    """A flattened device tree, read by the format's own description."""

    def __init__(self, data):
        word = lambda at: int.from_bytes(data[at:at + 4], 'big')
        text = lambda at: data[at:data.index(b'\0', at)].decode()
        assert word(0) == 0xd00dfeed
        at, names = word(8), word(12)
        self.nodes, path = {}, []
        while word(at) != 9:
            token = word(at)
            at += 4
            if token == 1:
                path.append(text(at))
                self.nodes['/'.join(path) or '/'] = {}
                at += (len(path[-1]) + 4) & ~3
            elif token == 2:
                path.pop()
            elif token == 3:
                size, name = word(at), text(names + word(at + 4))
                self.nodes['/'.join(path) or '/'][name] = data[at + 8:at + 8 + size]
                at += 8 + ((size + 3) & ~3)

    def cells(self, node, name):
        data = self.nodes[node][name]
        return [int.from_bytes(data[i:i + 4], 'big') for i in range(0, len(data), 4)]

    def text(self, node, name):
        return self.nodes[node][name].decode().rstrip('\0').split('\0')


if __name__ == '__main__':
    main()
