#!/usr/bin/env python3
"""The client side of libvirt's sessions, recorded from versions 9.0 and 12.8, replayed to our QMP server.

Only the order of commands, their arguments and the members that libvirt reads are kept here. It needs no libvirt:
test_libvirt.py drives the real one.
"""

import os
import socket
import subprocess

from lib.qmp import QMP, QMPClosed, QMPError
from lib.testcase import FunctionalTest, main

ANY = object()
# What libvirt reads of an answer: types of members ('?' after those that may be missing), or a list of one element's.
NEEDS = {
    'query-version': {'qemu': {'major': int, 'minor': int, 'micro': int}, 'package': str},
    'query-target': {'arch': str},
    'query-qmp-schema': [{'name': str, 'meta-type': str}],
    'query-commands': [{'name': str}],
    'query-kvm': {'enabled': bool, 'present': bool},
    'query-accelerators': {'enabled': str, 'present': [str]},
    'qom-list-types': [{'name': str}],
    'device-list-properties': [{'name': str, 'type': str}],
    'qom-list-properties': [{'name': str, 'type': str}],
    'query-machines': [{'name': str, 'cpu-max': int, 'hotpluggable-cpus': bool, 'alias?': str, 'default-ram-id?': str,
                        'default-cpu-type?': str, 'is-default?': bool, 'numa-mem-supported': bool, 'deprecated': bool}],
    'query-cpu-definitions': [{'name': str, 'typename': str, 'unavailable-features': [str], 'deprecated': bool}],
    'query-command-line-options': [{'option': str, 'parameters': [{'name': str, 'type': str}]}],
    'query-migrate-capabilities': [{'capability': str, 'state': bool}],
    'query-gic-capabilities': [{'version': int, 'kernel': bool, 'emulated': bool}],
    'query-cpu-model-expansion': {'model': {'name': str, 'props': dict}},
    'query-chardev': [{'label': str, 'filename': str, 'frontend-open': bool}],
    'query-cpus-fast': [{'cpu-index': int, 'thread-id': int, 'qom-path': str, 'target': str, 'props': dict}],
    'query-iothreads': [{'id': str, 'thread-id': int}],
    'query-named-block-nodes': [{'node-name': str, 'image': {'virtual-size': int, 'filename': str},
                                 'write_threshold': int}],
    'query-block': [{'device': str, 'qdev': str, 'removable': bool, 'locked': bool,
                     'inserted': {'node-name': str, 'file': str, 'ro': bool}}],
    'query-blockstats': [{'stats': {'rd_bytes': int, 'wr_bytes': int, 'rd_operations': int, 'wr_operations': int,
                                    'flush_operations': int, 'rd_total_time_ns': int, 'wr_total_time_ns': int,
                                    'flush_total_time_ns': int, 'wr_highest_offset': int}}],
    'qom-list': [{'name': str, 'type': str}],
    'query-balloon': {'actual': int},
    'query-status': {'status': str, 'running': bool},
    'query-migrate-parameters': {'max-bandwidth': int, 'downtime-limit': int, 'tls-creds': str, 'tls-hostname': str,
                                 'cpu-throttle-initial': int, 'cpu-throttle-increment': int, 'xbzrle-cache-size': int},
    'query-dirty-rate': {'status': str, 'start-time': int, 'calc-time': int, 'mode': str, 'dirty-rate?': int},
    'query-dump': {'status': str, 'completed': int, 'total': int},
    'query-dump-guest-memory-capability': {'formats': [str]},
    'query-jobs': [{'id': str}],
    'query-block-jobs': [{'device': str}],
    'query-fdsets': [{'fdset-id': int}],
    'human-monitor-command': str,
}

PROPERTIES_OF = ('virtio-blk-pci', 'virtio-net-pci', 'virtio-scsi-pci', 'virtio-net-ccw', 'vfio-pci', 'scsi-hd', 'ide-hd',
                 'PIIX4_PM', 'usb-redir', 'kvm-pit', 'VGA', 'virtio-gpu-pci', 'ICH9-LPC', 'virtio-balloon-pci',
                 'virtio-balloon-device', 'nvdimm', 'pcie-root-port', 'usb-host', 'virtio-mem-pci', 'virtio-iommu-pci',
                 'scsi-generic', 'arm-smmuv3')
TYPES = ('memory-backend-file', 'memory-backend-memfd', 'none-machine')
# Commands whose absence ends probing; of those that may be missing only what we have.
PROBE_9_0 = ('query-version', 'query-target', 'query-qmp-schema', 'query-commands', 'query-kvm', 'qom-list-types',
             'query-machines', 'query-cpu-definitions', 'query-command-line-options', 'query-migrate-capabilities')
PROBE_12_8 = ('query-version', 'query-target', 'query-qmp-schema', 'query-accelerators', 'qom-list-types', 'query-machines',
              'query-cpu-definitions', 'query-command-line-options', 'query-gic-capabilities')

EVENTS = ('migrate-set-capabilities', {'capabilities': [{'capability': 'events', 'state': True}]})
START = (('query-migrate-capabilities', {}), EVENTS, ('query-chardev', {}), ('query-cpus-fast', {}), ('query-iothreads', {}))
DEVICES = (('qom-list', {'path': '/machine/peripheral'}), ('query-block', {}))
START_9_0 = START + (('query-balloon', {}), ('query-named-block-nodes', {'flat': True})) + DEVICES + (('cont', {}),)
START_12_8 = START + (('query-named-block-nodes', {'flat': True}), ('set-action', {'panic': 'pause'}),
                      ('qom-list', {'path': '/machine/peripheral'}), ('cont', {}))
BALLOON = '/machine/peripheral/balloon0'
RUN = (
    ('qom-list', {'path': BALLOON}), ('qom-set', {'path': BALLOON, 'property': 'guest-stats-polling-interval', 'value': 5}),
    ('qom-get', {'path': BALLOON, 'property': 'guest-stats'}), ('balloon', {'value': 64 << 20}), ('query-balloon', {}),
    ('query-blockstats', {}), ('query-blockstats', {'query-nodes': True}), ('query-named-block-nodes', {'flat': True}),
    ('query-block', {'flat': True}), ('calc-dirty-rate', {'calc-time': 1}), ('query-dirty-rate', {}), ('stop', {}),
    ('query-status', {}), ('cont', {}), ('query-jobs', {}), ('query-block-jobs', {}), ('query-migrate', {}),
    ('query-fdsets', {}), ('query-dump', {}), ('query-dump-guest-memory-capability', {}),
    ('human-monitor-command', {'command-line': 'info status'}), ('system_powerdown', {}), ('system_reset', {}),
)

# A capability is sent only if it is offered.
CAPABILITIES = ('xbzrle', 'auto-converge', 'rdma-pin-all', 'postcopy-ram', 'compress', 'pause-before-switchover',
                'late-block-activate', 'multifd', 'dirty-bitmaps', 'return-path', 'zero-copy-send', 'postcopy-preempt',
                'switchover-ack', 'mapped-ram')
MIGRATED = {'status': str, 'total-time': int, 'downtime': int, 'setup-time': int,
            'ram': {'transferred': int, 'remaining': int, 'total': int, 'duplicate': int, 'normal': int, 'normal-bytes': int,
                    'mbps': (int, float), 'dirty-pages-rate': int, 'page-size': int, 'dirty-sync-count': int}}


def check(value, need, where):
    """Raises unless the value has what libvirt reads of it."""
    if need is ANY:
        return
    if isinstance(need, dict):
        assert isinstance(value, dict), (where, value)
        for key, below in need.items():
            name = key.rstrip('?')
            if name in value or not key.endswith('?'):
                assert name in value, '%s: no member %s' % (where, name)
                check(value[name], below, where + '.' + name)
    elif isinstance(need, list):
        assert isinstance(value, list), (where, value)
        for i, element in enumerate(value):
            check(element, need[0], '%s[%d]' % (where, i))
    else:
        assert isinstance(value, need), '%s: %r is no %s' % (where, value, need)
        assert not isinstance(value, bool) or need is bool, '%s: %r is no number' % (where, value)


class Replay(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def send(self, qmp, command, arguments=None):
        answer = qmp.cmd(command, **(arguments or {}))
        check(answer, NEEDS.get(command, ANY), command)
        return answer

    def play(self, qmp, session):
        for command, arguments in session:
            with self.subTest(command=command):
                self.send(qmp, command, arguments)

    def guest(self, name, *extra, **kwargs):
        with open(self.path('disk'), 'ab') as disk:
            disk.truncate(1 << 20)
        return self.machine(
            name, '-no-shutdown', '-device', 'pcie-root-port,id=pci.1,chassis=1', '-device',
            'virtio-balloon-pci,id=balloon0,bus=pci.1', '-device', 'pcie-root-port,id=pci.2,chassis=2', '-blockdev',
            '{"driver":"raw","node-name":"format","file":{"driver":"file","filename":"%s"}}' % self.path('disk'),
            '-device', '{"driver":"virtio-blk-pci","id":"virtio-disk0","drive":"format","bus":"pci.2"}', *extra,
            append='window=4M rate=10', memory='64M', paused=True, **kwargs)


class Probing(Replay):
    needs_guests = False
    default_machine, cpu = 'virt-11.1', 'max-arm-cpu'

    def setUp(self):
        super().setUp()
        path = self.path('probe.monitor')
        accels = 'kvm:tcg'
        done = subprocess.run([
            self.binary, '-S', '-no-user-config', '-nodefaults', '-nographic', '-machine', 'none,accel=' + accels, '-qmp',
            'unix:%s,server=on,wait=off' % path, '-pidfile', self.path('probe.pid'), '-daemonize'],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        with open(self.path('probe.pid'), encoding='ascii') as pidfile:
            self.pid = int(pidfile.read())
        self.qmp = QMP(path, alive=lambda: os.path.exists('/proc/%d' % self.pid))
        self.addCleanup(self.end)

    def end(self):
        try:
            self.qmp.cmd('quit')
        except QMPClosed:
            pass
        self.qmp.close()

    def probe(self, commands):
        answers = {command: self.send(self.qmp, command) for command in commands}
        for typename in PROPERTIES_OF:
            try:
                self.send(self.qmp, 'device-list-properties', {'typename': typename})
            except QMPError as err:
                self.assertEqual(err.error_class, 'DeviceNotFound', typename)
        for typename in TYPES + (self.default_machine + '-machine', self.cpu):
            self.send(self.qmp, 'qom-list-properties', {'typename': typename})
        version = answers['query-version']['qemu']
        self.assertGreaterEqual((version['major'], version['minor']), (7, 2))
        types = {entry['name'] for entry in answers['qom-list-types']}
        self.assertFalse({'sev-guest', 'sgx-epc'} & types)      # would be asked about
        machine = next(m for m in answers['query-machines'] if m['name'] == self.default_machine)
        self.assertIn(machine['alias'], self.default_machine)
        self.assertTrue(machine['default-ram-id'])
        for model in ('host', 'max'):
            try:
                self.send(self.qmp, 'query-cpu-model-expansion', {'type': 'full', 'model': {'name': model}})
            except QMPError as err:
                self.assertIn('requires KVM', err.desc)
        return answers, types

    def schema(self, answers):
        """Look-ups in the schema: command, then features or members' names."""
        by_name = {entry['name']: entry for entry in answers['query-qmp-schema']}

        def variants(command):
            argument = by_name[by_name[command]['arg-type']]
            return {variant['case'] for variant in argument.get('variants', ())}
        self.assertIn('json-cli-hotplug', by_name['device_add'].get('features', ()))
        self.assertIn('user', variants('netdev_add'))
        self.assertIn('secret', variants('object-add'))
        return by_name

    def test_9_0(self):
        answers, types = self.probe(PROBE_9_0)
        self.schema(answers)
        self.assertLessEqual({'secret', 'memory-backend-ram', 'memory-backend-memfd'}, types)

    def test_12_8(self):
        answers, types = self.probe(PROBE_12_8)
        by_name = self.schema(answers)
        self.assertIn('monitor-qmp', types)
        incoming = by_name[by_name['migrate-incoming']['arg-type']]
        self.assertIn('exit-on-error', [member['name'] for member in incoming['members']])


class ProbingX86(Probing):
    arch = 'x86_64'
    accel = 'kvm'
    default_machine, cpu = 'microvm-11.1', 'max-x86_64-cpu'


class Running(Replay):
    def check_start(self, session):
        a = self.guest('a')
        self.play(a.qmp, session)
        a.qmp.wait_event('RESUME')
        a.wait_ready()
        return a

    def test_start_and_operations_9_0(self):
        a = self.check_start(START_9_0)
        self.play(a.qmp, RUN)
        for event in ('STOP', 'RESUME', 'POWERDOWN', 'RESET'):
            self.assertIn('seconds', a.qmp.wait_event(event)['timestamp'])

    def test_start_and_operations_12_8(self):
        self.play(self.check_start(START_12_8).qmp, RUN)

    def set_up(self, qmp, *wanted):
        offered = {entry['capability'] for entry in qmp.cmd('query-migrate-capabilities')}
        self.assertLessEqual({'return-path', 'events', 'pause-before-switchover'}, offered)
        self.play(qmp, [('query-migrate-parameters', {}), ('migrate-set-capabilities', {'capabilities': [
            {'capability': name, 'state': name in wanted} for name in CAPABILITIES if name in offered]})])

    def test_migration(self):
        a = self.check_start(START_9_0)
        b = self.guest('b', incoming='defer')
        self.play(b.qmp, START)
        before = self.send(a.qmp, 'query-migrate-parameters')
        self.set_up(b.qmp, 'late-block-activate', 'return-path')
        self.play(b.qmp, [('migrate-set-parameters', {'tls-creds': '', 'tls-hostname': ''}),
                          ('migrate-incoming', {'uri': self.uri('b'), 'exit-on-error': False})])
        self.set_up(a.qmp, 'pause-before-switchover', 'return-path')
        self.play(a.qmp, [('migrate-set-parameters', {'tls-creds': '', 'tls-hostname': '', 'max-bandwidth': 9223372036853727232})])
        with self.connected(self.uri('b')[5:]) as sock:
            a.qmp.cmd('getfd', fdname='migrate', fds=[sock.fileno()])
        self.send(a.qmp, 'migrate', {'detach': True, 'resume': False, 'uri': 'fd:migrate'})
        for status in ('setup', 'active', 'pre-switchover'):
            self.migration_event(a, status)
        self.send(a.qmp, 'migrate-continue', {'state': 'pre-switchover'})
        self.migration_event(a, 'completed')
        a.qmp.wait_event('STOP')
        check(a.qmp.cmd('query-migrate'), MIGRATED, 'query-migrate')
        self.migration_event(b, 'completed')
        self.play(b.qmp, DEVICES + (('cont', {}),))
        b.qmp.wait_event('RESUME')
        # what was reported is taken back
        self.set_up(b.qmp)
        self.send(b.qmp, 'migrate-set-parameters', {key: before[key] for key in NEEDS['query-migrate-parameters']})
        b.check_guest()

    @staticmethod
    def connected(path):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(path)
        return sock

    @staticmethod
    def migration_event(machine, status):
        machine.qmp.wait_event('MIGRATION', 60, match=lambda data: data['status'] == status)


if __name__ == '__main__':
    main()
