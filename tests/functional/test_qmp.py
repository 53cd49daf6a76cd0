#!/usr/bin/env python3
"""QMP: the schema against itself and the commands, every command once well and once wrong, HMP,
out-of-band execution, descriptors, several monitors."""

import contextlib
import json
import os
import pathlib
import socket

from lib.qmp import QMP, QMPClosed, QMPError
from lib.testcase import FunctionalTest, main

PARTS = ('-object', 'rng-builtin,id=rng0', '-device', 'virtio-rng,rng=rng0,id=rng',
         '-device', 'virtio-balloon,id=balloon0', '-netdev', 'user,id=net0', '-device', 'virtio-net,netdev=net0,id=nic0', '-device', 'virtio-serial,id=vs',
         '-chardev', 'ringbuf,id=ring', '-chardev', 'null,id=null0', '-name', 'guest=tested',
         '-uuid', '01234567-89ab-cdef-0123-456789abcdef')

ANY, NONE, OK = object(), object(), {}


class Row:
    """A command: arguments and what they must give; arguments that are wrong, the class and the text of the error."""

    def __init__(self, command, good, gives=ANY, bad=NONE, error='GenericError', text='.'):
        self.command, self.good, self.gives = command, good, gives
        self.bad = bad if bad is not NONE else {'nonesuch': 1}
        self.error, self.text = error, text if bad is not NONE else 'nonesuch.*unexpected'


def has(**wanted):
    """Accepts an object that has these members."""
    return lambda got: all(got.get(key.replace('_', '-')) == value for key, value in wanted.items())


def names(*wanted, key='name'):
    """Accepts a list of objects among whose names are these."""
    return lambda got: set(wanted) <= {entry[key] for entry in got}


# In an order in which they can follow each other. A good of NONE: there is none without a second machine or real
# CPUs, other tests have it.
ROWS = (
    Row('query-version', {}, lambda got: set(got['qemu']) == {'major', 'minor', 'micro'}),
    Row('query-commands', {}, names('quit', 'migrate', 'qom-list-types')),
    Row('query-qmp-schema', {}, names('quit', 'STOP', 'str')),
    Row('qmp_capabilities', NONE, bad={}, error='CommandNotFound', text='already complete'),
    Row('human-monitor-command', {'command-line': 'info name'}, 'tested\r\n', bad={}, text='command-line.*missing'),
    Row('query-status', {}, {'running': True, 'status': 'running'}),
    Row('query-name', {}, {'name': 'tested'}),
    Row('query-uuid', {}, {'UUID': '01234567-89ab-cdef-0123-456789abcdef'}),
    Row('query-target', {}, {'arch': 'x86_64'}),
    Row('query-machines', {}, names('microvm-11.1', 'none')),
    Row('query-current-machine', {}, {'wakeup-suspend-support': False}),
    Row('query-kvm', {}, has(enabled=False)),
    Row('query-accelerators', {}, has(enabled='qtest')),
    Row('query-iothreads', {}, []),
    Row('query-command-line-options', {'option': 'smp'},
        lambda got: names('cpus', 'maxcpus', 'sockets')(got[0]['parameters']), bad={'option': 'nonesuch'},
        text='invalid option name: nonesuch'),
    Row('query-gic-capabilities', {}, []),
    Row('inject-nmi', NONE, bad={}, text='qtest'),
    Row('query-cpus-fast', {}, lambda got: [(cpu['cpu-index'], cpu['qom-path'], cpu['target']) for cpu in got] == [
        (0, '/machine/unattached/device[0]', 'x86_64'), (1, '/machine/unattached/device[1]', 'x86_64')]),
    Row('query-hotpluggable-cpus', {}, lambda got: [cpu['props']['socket-id'] for cpu in got] == [0, 1]),
    Row('query-cpu-definitions', {}, names('host', 'max', 'qemu64')),
    Row('query-cpu-model-expansion', {'type': 'static', 'model': {'name': 'qemu64', 'props': {'sse2': False}}},
        lambda got: got['model']['props']['sse2'] is False and got['model']['props']['fpu'] is True,
        bad={'type': 'full', 'model': {'name': 'nonesuch'}}, text='nonesuch'),
    Row('qom-list-types', {'implements': 'accel', 'abstract': False}, names('kvm-accel', 'qtest-accel'),
        bad={'abstract': 'x'}, text="abstract.*boolean"),
    Row('qom-list', {'path': '/machine/peripheral'}, names('rng', 'balloon0', 'nic0'), bad={'path': '/nonesuch'},
        error='DeviceNotFound', text='/nonesuch'),
    Row('qom-get', {'path': '/machine/peripheral/rng', 'property': 'rng'}, 'rng0',
        bad={'path': '/machine/peripheral/rng', 'property': 'nonesuch'}, text='nonesuch'),
    Row('qom-set', {'path': '/machine/peripheral/balloon0', 'property': 'guest-stats-polling-interval', 'value': 5},
        OK, bad={'path': '/machine/peripheral/rng', 'property': 'rng', 'value': 'x'}, text='rng.*cannot be set'),
    Row('qom-list-get', {'paths': ['/objects/rng0']},
        lambda got: got[0]['properties'][0] == {'name': 'type', 'type': 'string', 'value': 'rng-builtin'},
        bad={'paths': ['/nonesuch']}, error='DeviceNotFound'),
    Row('qom-list-properties', {'typename': 'memory-backend-file'}, names('type', 'size', 'mem-path'),
        bad={'typename': 'nonesuch'}, error='DeviceNotFound'),
    Row('device-list-properties', {'typename': 'virtio-blk-device'}, names('drive', 'serial'),
        bad={'typename': 'nonesuch'}, error='DeviceNotFound'),
    Row('object-add', {'qom-type': 'memory-backend-ram', 'id': 'extra', 'size': 1 << 20}, OK,
        bad={'qom-type': 'memory-backend-ram', 'id': 'extra', 'size': 4095}, text='extra.*exists'),
    Row('query-memdev', {}, lambda got: [(m['id'], m['size']) for m in got] == [('extra', 1 << 20)]),
    Row('object-del', {'id': 'extra'}, OK, bad={'id': 'rng0'}, text='rng0.*in use'),
    Row('device_add', {'driver': 'virtconsole', 'chardev': 'null0', 'id': 'con', 'bus': 'vs.0'}, OK,
        bad={'driver': 'virtio-rng'}, text='hotplug'),
    Row('device_del', {'id': 'con'}, OK, bad={'id': 'nonesuch'}, error='DeviceNotFound', text='nonesuch'),
    Row('query-memory-size-summary', {}, {'base-memory': 128 << 20, 'plugged-memory': 0}),
    Row('balloon', {'value': 64 << 20}, OK, bad={'value': 0}, text='value'),
    Row('query-balloon', {}, {'actual': 128 << 20}),
    Row('pmemsave', {'val': 0, 'size': 4096, 'filename': '%(dir)s/mem'}, OK,
        bad={'val': 0, 'size': 1, 'filename': '/nonesuch/x'}, text='/nonesuch/x.*No such file'),
    Row('dump-guest-memory', {'paging': False, 'protocol': 'file:%(dir)s/core', 'begin': 0, 'length': 4096}, OK,
        bad={'paging': True, 'protocol': 'file:%(dir)s/core'}, text='paging=false'),
    Row('query-dump', {}, {'status': 'completed', 'completed': 4096, 'total': 4096}),
    Row('query-dump-guest-memory-capability', {}, {'formats': ['elf']}),
    Row('x-gdbserver', {'device': 'none'}, lambda got: got['human-readable-text'] == 'Disabled gdbserver\n',
        bad={'device': 'unix:%(dir)s/gdb'}, text='-gdb unix:.*tcg'),
    Row('x-query-jit', NONE, bad={}, text='qtest.*tcg'),
    Row('x-query-mtree', {}, lambda got: 'ram-below-4g' in got['human-readable-text']),
    Row('x-query-pci', NONE, bad={}, text='microvm-11.1 has no PCI bus'),
    Row('x-query-qtree', {}, lambda got: 'dev: virtio-net-device, id "nic0"' in got['human-readable-text']),
    Row('x-query-ramblock', {}, lambda got: 'microvm.ram' in got['human-readable-text']),
    Row('x-show-memory', {'address': 0x1000, 'count': 1, 'size': 1, 'format': 'x', 'physical': True},
        lambda got: got['human-readable-text'].startswith('0000000000001000: 0x'),
        bad={'address': 0, 'count': 1, 'size': 3, 'format': 'x', 'physical': True}, text='1, 2, 4 or 8'),
    Row('x-query-registers', {'cpu-index': 1}, lambda got: 'RIP=000000000000fff0' in got['human-readable-text'],
        bad={'cpu-index': 2}, text='CPU 2.*has 2'),
    Row('query-mice', {}, []),
    Row('send-key', NONE, bad={'keys': [{'type': 'qcode', 'data': 'a'}]}, text='no keyboard.*virtio-keyboard'),
    Row('input-send-event', {'events': []}, OK,
        bad={'events': [{'type': 'abs', 'data': {'axis': 'x', 'value': 1}}]}, text='no absolute pointer'),
    Row('screendump', NONE, bad={'filename': '/nonesuch/x'}, text='no display device'),
    Row('query-vnc', {}, has(enabled=True, auth='vnc', family='unix', clients=[])),
    Row('query-vnc-servers', {}, names('default', key='id')),
    Row('change-vnc-password', {'password': 'x'}, OK, bad={'password': 1}, text='password'),
    Row('set_password', {'protocol': 'vnc', 'password': 'x', 'connected': 'keep'}, OK,
        bad={'protocol': 'vnc', 'password': 'x', 'display': 'nonesuch'}, text='nonesuch.*query-vnc-servers'),
    Row('expire_password', {'protocol': 'vnc', 'time': '+60', 'display': 'default'}, OK,
        bad={'protocol': 'vnc', 'time': 'soon'}, text='soon.*never'),
    Row('client_migrate_info', NONE, bad={'protocol': 'spice', 'hostname': 'h'}, text='SPICE is not in use'),
    Row('query-chardev', {}, names('ring', 'null0', key='label')),
    Row('query-chardev-backends', {}, names('socket', 'pty', 'ringbuf')),
    Row('ringbuf-write', {'device': 'ring', 'data': 'aGVsbG8=', 'format': 'base64'}, OK,
        bad={'device': 'null0', 'data': 'x'}, text='null0.*ringbuf'),
    Row('ringbuf-read', {'device': 'ring', 'size': 100}, 'hello', bad={'device': 'ring', 'size': 0}, text='size'),
    Row('chardev-add', {'id': 'more', 'backend': {'type': 'file', 'data': {'out': '%(dir)s/out'}}}, OK,
        bad={'id': 'more', 'backend': {'type': 'null', 'data': {}}}, text='more'),
    Row('chardev-send-break', {'id': 'more'}, OK, bad={'id': 'nonesuch'}, text='nonesuch'),
    Row('chardev-remove', {'id': 'more'}, OK, bad={'id': 'compat_monitor0'}, text='compat_monitor0.*busy'),
    Row('netdev_add', {'type': 'user', 'id': 'net1', 'hostfwd': [{'str': 'tcp:127.0.0.1:0-:22'}]}, OK,
        bad={'type': 'user', 'id': 'net0'}, text='net0'),
    Row('netdev_del', {'id': 'net1'}, OK, bad={'id': 'nonesuch'}, error='DeviceNotFound', text='nonesuch'),
    Row('set_link', {'name': 'nic0', 'up': False}, OK, bad={'name': 'nonesuch', 'up': True}, error='DeviceNotFound',
        text='nonesuch'),
    Row('query-rx-filter', {'name': 'nic0'}, lambda got: (got[0]['promiscuous'], got[0]['unicast'], got[0]['main-mac']) == (
        True, 'normal', '52:54:00:12:34:56'), bad={'name': 'net0'}, text='net0.*no network card'),
    Row('x-query-network', {}, lambda got: 'link=down' in got['human-readable-text']),
    Row('x-hostfwd', {'id': 'net0', 'rule': 'tcp:127.0.0.1:0-:80', 'add': True}, OK,
        bad={'id': 'nonesuch', 'rule': 'tcp::1-:2', 'add': True}, text='no user network nonesuch'),
    Row('x-query-usernet', {}, lambda got: 'net0' in got['human-readable-text']),
    Row('blockdev-add', {'driver': 'null-co', 'node-name': 'disk0', 'size': 1 << 20}, OK,
        bad={'driver': 'file', 'node-name': 'f', 'filename': '/nonesuch'}, text='/nonesuch.*No such file'),
    Row('query-named-block-nodes', {}, lambda got: [(n['node-name'], n['image']['virtual-size']) for n in got] == [
        ('disk0', 1 << 20)]),
    Row('query-block', {}, []),
    Row('query-blockstats', {'query-nodes': True}, lambda got: [s['node-name'] for s in got] == ['disk0']),
    Row('query-jobs', {}, []),
    Row('query-block-jobs', {}, []),
    Row('block_resize', NONE, bad={'node-name': 'disk0', 'size': 1 << 21}, text='disk0'),
    Row('block_set_io_throttle', NONE, bad={'device': 'nonesuch', **dict.fromkeys(
        ('bps', 'bps_rd', 'bps_wr', 'iops', 'iops_rd', 'iops_wr'), 0)}, error='DeviceNotFound', text='nonesuch'),
    Row('blockdev-del', {'node-name': 'disk0'}, OK, bad={'node-name': 'disk0'}, text='disk0'),
    Row('query-fdsets', {}, []),
    Row('getfd', NONE, bad={'fdname': 'x'}, text='SCM_RIGHTS'),
    Row('closefd', NONE, bad={'fdname': 'x'}, text="^File descriptor named 'x' not found$"),
    Row('add-fd', NONE, bad={}, text='SCM_RIGHTS'),
    Row('remove-fd', NONE, bad={'fdset-id': 7}, text='7'),
    Row('migrate-set-capabilities', {'capabilities': [
        {'capability': 'events', 'state': True}, {'capability': 'x-page-counts', 'state': True}]}, OK,
        bad={'capabilities': [{'capability': 'nonesuch', 'state': True}]}, text='nonesuch'),
    Row('query-migrate-capabilities', {}, names('events', 'return-path', key='capability')),
    Row('migrate-set-parameters', {'downtime-limit': 200}, OK, bad={'downtime-limit': -1}, text='downtime[-_]limit'),
    Row('query-migrate-parameters', {}, has(downtime_limit=200)),
    Row('query-migrate', {}, {}),
    Row('migrate', {'uri': 'file:%(dir)s/state'}, OK, bad={'uri': 'nonesuch:'}, text='nonesuch'),
    Row('x-query-migration-pages', {'buckets': 4}, lambda got: got['blocks'][0]['pages'] == 32768,
        bad={'buckets': 'x'}, text='buckets'),
    Row('migrate-incoming', NONE, bad={'uri': 'unix:/nowhere'}, text='-incoming'),
    Row('migrate_cancel', {}, OK),
    Row('migrate-continue', NONE, bad={'state': 'pre-switchover'}, text='state'),
    Row('migrate-pause', NONE, bad={}, text='postcopy'),
    Row('migrate-recover', NONE, bad={'uri': 'unix:/nowhere'}, text='postcopy'),
    Row('migrate-start-postcopy', NONE, bad={}, text='(?i)postcopy'),
    Row('announce-self', {'initial': 50, 'max': 550, 'rounds': 2, 'step': 100}, OK,
        bad={'initial': -1, 'max': 550, 'rounds': 2, 'step': 100}, text='initial'),
    Row('calc-dirty-rate', {'calc-time': 1, 'mode': 'page-sampling'}, OK, bad={'calc-time': 61}, text='calc-time'),
    Row('query-dirty-rate', {}, lambda got: got['status'] in ('measuring', 'measured')),
    Row('query-dirty-state-engines', {}, []),
    Row('x-query-dirty-state-problems', {}, []),
    Row('x-dirty-state-inject', NONE, bad={'name': 'x-stale-tlb', 'value': 'on'}, text='no dirty-state engines'),
    Row('query-dirty-tracking', {}, lambda got: got['blocks'][0]['name'] == 'microvm.ram'),
    Row('set-vcpu-dirty-limit', NONE, bad={'dirty-rate': 1}, text='limit'),
    Row('cancel-vcpu-dirty-limit', NONE, bad={}, text='limit'),
    Row('query-vcpu-dirty-limit', NONE, bad={}, text='limit'),
    Row('set-action', {'panic': 'pause', 'shutdown': 'poweroff'}, OK, bad={'panic': 'nonesuch'}, text='nonesuch'),
    Row('watchdog-set-action', NONE, bad={'action': 'reset'}, text='watchdog'),
    Row('system_powerdown', {}, OK),
    Row('system_wakeup', NONE, bad={}, text='suspended'),
    Row('system_reset', {}, OK),
    Row('stop', {}, OK),
    Row('cont', {}, OK),
    Row('quit', {}, OK),
)

# Lines of the human monitor beside `info`, and what they must say.
HMP = (
    ('help', 'migrate_set_parameter'), ('help info', 'info migrate'), ('help quit', '^quit'), ('?', 'system_reset'),
    ('nonesuch', "unknown command: 'nonesuch'"), ('info nonesuch', "unknown command: 'info nonesuch'"),
    ('stop', ''), ('info status', '^VM status: paused'), ('c', ''), ('info status', '^VM status: running'),
    ('migrate_set_parameter downtime-limit 250', ''), ('info migrate_parameters', 'downtime-limit: 250'),
    ('migrate_set_capability xbzrle on', ''), ('info migrate_capabilities', 'xbzrle: on'),
    ('migrate_set_parameter nonesuch 1', 'nonesuch'), ('migrate_set_capability nonesuch on', 'nonesuch'),
    ('balloon 64', ''), ('balloon', 'missing'), ('set_link nic0 off', ''), ('info network', 'link=down'),
    ('object_add rng-builtin,id=r9', ''), ('object_del r9', ''), ('object_del r9', 'not found'),
    ('chardev-remove nonesuch', 'nonesuch'), ('ringbuf_write ring some words', ''),
    ('ringbuf_read ring 64', 'some words'),
    ('qom-list /machine', r'peripheral \(child<container>\)'), ('qom-get /machine rtc', 'auto'),
    ('qom-set /machine rtc on', 'cannot be set'), ('device_del nonesuch', 'nonesuch'), ('cpu 1', ''),
    ('netdev_add user,id=n7,restrict=on', ''), ('netdev_del n7', ''), ('device_add nonesuch', 'nonesuch'),
    ('closefd nonesuch', 'nonesuch'), ('watchdog_action reset', 'watchdog'), ('system_wakeup', 'suspend'),
    ('hostfwd_remove nonesuch tcp::1', 'no user network nonesuch'), ('hostfwd_remove tcp:127.0.0.1:1', '.'),
    ('hostfwd_add net0 tcp::x-:80', 'x'),
    ('xp /2xg 0x1000', '0000000000001000: 0x0000000000000000 0x0000000000000000'),
    ('xp/3c 0x1000', r"'\\x00' '\\x00' '\\x00'"), ('xp /1dw 4096', ': 0'), ('xp /1zz 0', "'/1zz' is not a format"),
    ('xp', 'missing'), ('xp /x somewhere', "'somewhere' is not a number"),
    ('xp /1xb 0x100000000000', 'cannot access memory'), ('x /1xb 0', 'xp takes physical ones'),
    ('pmemsave 0 16 %(dir)s/hmp-mem', ''), ('dump-guest-memory %(dir)s/hmp-core 0 4096', ''), ('announce_self', ''), ('migrate_cancel', ''),
)


class QMPTest(FunctionalTest):
    accel = 'qtest'
    needs_guests = False

    def machine_with_parts(self, *extra, **kwargs):
        return self.machine('a', *PARTS, '-vnc', 'unix:%s,password=on' % self.path('vnc'), *extra, guest=None, memory='128M', smp=2, **kwargs)

    def fill(self, value):
        """Put the test's directory into arguments."""
        return json.loads(json.dumps(value).replace('%(dir)s', self.dir))


class Commands(QMPTest):
    timeout = 180

    def test_every_command(self):
        self.require_tidemark('the rows know its devices')
        a = self.machine_with_parts()
        rows = {row.command for row in ROWS}
        self.assertEqual(rows, {entry['name'] for entry in a.qmp.cmd('query-commands')}, 'every command has a row')
        for row in ROWS:
            with self.subTest(command=row.command):
                if row.good is not NONE and row.command != 'quit':
                    self.good(a, row)
                if row.command == 'migrate':
                    a.qmp.wait_event('MIGRATION', match=lambda data: data['status'] == 'completed')
                    a.qmp.cmd('cont')
                with self.assertRaises(QMPError) as caught:
                    a.qmp.cmd(row.command, row.bad)
                self.assertEqual(caught.exception.error_class, row.error)
                self.assertRegex(caught.exception.desc, row.text)
        self.assertEqual(a.quit(), 0)
        self.assertEqual(a.stderr(), '')

    def good(self, a, row):
        got = a.qmp.cmd(row.command, self.fill(row.good))
        if callable(row.gives):
            self.assertTrue(row.gives(got), got)
        elif row.gives is not ANY:
            self.assertEqual(got, row.gives)

    def test_device_deleted(self):
        a = self.machine_with_parts()
        a.qmp.cmd('device_add', driver='virtserialport', chardev='null0', id='port', bus='vs.0')
        self.assertIn('port', [entry['name'] for entry in a.qmp.cmd('qom-list', path='/machine/peripheral')])
        a.qmp.cmd('device_del', id='port')
        self.assertEqual(a.qmp.wait_event('DEVICE_DELETED')['data'],
                         {'device': 'port', 'path': '/machine/peripheral/port'})
        self.assertNotIn('port', [entry['name'] for entry in a.qmp.cmd('qom-list', path='/machine/peripheral')])


class Tree(QMPTest):
    def walk(self, qmp, path, seen):
        """Read everything below path; returns how many properties there are."""
        count = 0
        for entry in qmp.cmd('qom-list', path=path):
            where = (path.rstrip('/') + '/' + entry['name'])
            if entry['type'].startswith('child<'):
                self.assertNotIn(where, seen)
                seen.add(where)
                count += self.walk(qmp, where, seen)
            else:
                with self.subTest(path=path, property=entry['name']):
                    value = qmp.cmd('qom-get', path=path, property=entry['name'])
                    if entry['type'] == 'bool':
                        self.assertIsInstance(value, bool)
                    elif entry['type'] == 'string':
                        self.assertIsInstance(value, str)
                    elif entry['type'] in ('int', 'uint32', 'size'):
                        self.assertIsInstance(value, int)
                    count += 1
        return count

    def test_every_listed_property_can_be_read(self):
        self.require_tidemark('others have properties that cannot be read')
        a = self.machine_with_parts()
        seen = set()
        self.assertGreater(self.walk(a.qmp, '/', seen), 100)
        self.assertTrue({'/machine/peripheral/rng', '/machine/unattached/device[1]', '/objects/rng0',
                         '/chardevs/ring'} <= seen, seen)
        types = {entry['name'] for entry in a.qmp.cmd('qom-list-types', abstract=True)}
        for path in seen:
            self.assertIn(a.qmp.cmd('qom-get', path=path, property='type'), types)

    def test_every_type(self):
        self.require_tidemark('others have types that cannot be asked')
        a = self.machine_with_parts()
        everything = a.qmp.cmd('qom-list-types', abstract=True)
        known = {entry['name'] for entry in everything}
        self.assertEqual(len(known), len(everything))
        self.assertEqual([e for e in everything if e.get('parent', 'object') not in known], [])
        for entry in everything:
            self.assertEqual(a.qmp.cmd('qom-list-properties', typename=entry['name'])[0]['name'], 'type')
        devices = {entry['name'] for entry in a.qmp.cmd('qom-list-types', implements='device')}
        self.assertIn('virtio-blk-device', devices)
        self.assertNotIn('qtest-accel', devices)
        for name in sorted(devices - {e['name'] for e in a.qmp.cmd('qom-list-types', implements='cpu')}):
            a.qmp.cmd('device-list-properties', typename=name)


class Schema(QMPTest):
    def setUp(self):
        super().setUp()
        self.a = self.machine_with_parts()
        self.entries = self.a.qmp.cmd('query-qmp-schema')
        self.by_name = {entry['name']: entry for entry in self.entries}

    def references(self, entry):
        """The types that an entry names."""
        kind = entry['meta-type']
        if kind == 'array':
            return [entry['element-type']]
        if kind == 'object':
            return ([m['type'] for m in entry['members']] + [v['type'] for v in entry.get('variants', ())])
        if kind == 'alternate':
            return [m['type'] for m in entry['members']]
        if kind == 'command':
            return [entry['arg-type'], entry['ret-type']]
        if kind == 'event':
            return [entry['arg-type']]
        return []

    def test_names_are_unique(self):
        self.assertEqual(len(self.by_name), len(self.entries))

    def test_every_type_that_is_named_is_there_and_used(self):
        used = set()
        for entry in self.entries:
            for name in self.references(entry):
                self.assertIn(name, self.by_name, entry)
                self.assertNotIn(self.by_name[name]['meta-type'], ('command', 'event'))
                used.add(name)
        unused = [entry['name'] for entry in self.entries
                  if entry['meta-type'] not in ('command', 'event') and entry['name'] not in used]
        self.assertEqual(unused, [])

    def test_unions(self):
        for entry in self.entries:
            if entry['meta-type'] != 'object' or 'tag' not in entry:
                continue
            tag, = [m for m in entry['members'] if m['name'] == entry['tag']]
            values = self.by_name[tag['type']]
            self.assertEqual(values['meta-type'], 'enum')
            self.assertLessEqual({v['case'] for v in entry['variants']}, {m['name'] for m in values['members']})

    def test_enums(self):
        for entry in self.entries:
            if entry['meta-type'] == 'enum':
                self.assertEqual([m['name'] for m in entry['members']], entry['values'])
                self.assertEqual(len(set(entry['values'])), len(entry['values']))

    def test_commands_are_those_of_query_commands(self):
        self.assertEqual({e['name'] for e in self.entries if e['meta-type'] == 'command'},
                         {e['name'] for e in self.a.qmp.cmd('query-commands')})

    def test_commands_take_what_the_schema_says(self):
        """A mandatory argument that is left out is refused by its name, and so is one too many."""
        self.require_tidemark('others word it differently')
        for entry in self.entries:
            if entry['meta-type'] != 'command' or entry['name'] in ('quit', 'device_add', 'query-qmp-schema'):
                continue
            members = self.by_name[entry['arg-type']]['members']
            wanted = [m['name'] for m in members if 'default' not in m]
            with self.subTest(command=entry['name']):
                with self.assertRaises(QMPError) as caught:
                    self.a.qmp.cmd(entry['name'], {'nonesuch': 1} if not wanted else None)
                if wanted:
                    self.assertIn("'%s'" % wanted[0], caught.exception.desc)
                else:
                    self.assertRegex(caught.exception.desc, "'nonesuch' is unexpected|already complete")


class Human(QMPTest):
    def test_every_info_topic_answers(self):
        self.require_tidemark('others have topics that need more')
        a = self.machine_with_parts()
        listed = a.qmp.hmp('help info')
        topics = [line.split()[1].split('|')[0] for line in listed.splitlines()]
        self.assertGreater(len(topics), 20)
        for topic in topics:
            with self.subTest(topic=topic):
                text = a.qmp.hmp('info ' + topic)
                if topic in ('block', 'blockstats', 'iothreads', 'memdev'):  # there is none
                    self.assertEqual(text, '')
                elif topic in ('jit', 'pci', 'vcpu_dirty_limit'):
                    self.assertRegex(text, '^Error: .*(only tcg does|no PCI bus|not supported)')
                else:
                    self.assertRegex(text, r'\S')
                    self.assertNotIn('Error', text)

    def test_lines(self):
        self.require_tidemark('the rows know its texts')
        a = self.machine_with_parts()
        for line, pattern in HMP:
            with self.subTest(line=line):
                text = a.qmp.hmp(line.replace('%(dir)s', self.dir))
                if pattern:
                    self.assertRegex(text, '(?m)' + pattern)
                else:
                    self.assertEqual(text, '')

    def test_cpu_of_the_line(self):
        a = self.machine_with_parts()
        text = a.qmp.cmd('human-monitor-command', {'command-line': 'info cpus', 'cpu-index': 1})
        self.assertRegex(text, r'(?m)^ +CPU #0:.*\n\* CPU #1:')

    def test_session(self):
        path = self.path('hmp')
        self.machine_with_parts('-monitor', 'unix:%s,server=on,wait=off' % path)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.settimeout(20)
            self.until(sock, b'monitor - type')
            sock.sendall(b'info name\n')
            self.until(sock, b'tested\r\n')
            sock.sendall(b'quit\n')
            while sock.recv(4096):
                pass

    @staticmethod
    def until(sock, text):
        got = b''
        while text not in got:
            more = sock.recv(4096)
            assert more, got
            got += more


class Sessions(QMPTest):
    def connect(self, path, **kwargs):
        qmp = QMP(path, **kwargs)
        self.addCleanup(qmp.close)
        return qmp

    def test_several_monitors(self):
        paths = [self.path('more%d' % n) for n in range(2)]
        a = self.machine_with_parts('-qmp', 'unix:%s,server=on,wait=off' % paths[0],
                                    '-qmp-pretty', 'unix:%s,server=on,wait=off' % paths[1])
        first = self.connect(paths[0])
        a.qmp.cmd('stop')
        self.assertEqual(first.wait_event('STOP')['event'], 'STOP')  # events go to all
        self.assertEqual(first.cmd('query-status')['status'], 'paused')
        first.close()
        again = self.connect(paths[0])  # a client that left makes room for the next
        again.cmd('cont')
        a.qmp.wait_event('RESUME')
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(20)
            sock.connect(paths[1])
            self.assertIn(b'\n    "', sock.recv(4096))

    def test_negotiation(self):
        path = self.path('raw')
        self.machine_with_parts('-qmp', 'unix:%s,server=on,wait=off' % path)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(20)
            sock.connect(path)
            stream = sock.makefile('rw', encoding='utf-8')
            self.assertIn('oob', json.loads(stream.readline())['QMP']['capabilities'])
            for line, pattern in (('{"execute":"query-status"}', 'qmp_capabilities'),
                                  ('{"execute":"qmp_capabilities","arguments":{"enable":["nonesuch"]}}', 'nonesuch'),
                                  ('nonsense', 'JSON'), ('{"execute":1}', 'string'), ('{}', "lacks member 'execute'"),
                                  ('[1]', 'object'), ('{"execute":"qmp_capabilities","id":7}', '"id": *7'),
                                  ('{"execute":"nonesuch","id":"x"}', 'CommandNotFound.*"id": *"x"'),
                                  ('{"exec-oob":"query-status"}', 'exec-oob.*unexpected')):
                with self.subTest(line=line):
                    stream.write(line + '\n')
                    stream.flush()
                    self.assertRegex(stream.readline(), pattern)

    def test_out_of_band(self):
        a = self.machine_with_parts(oob=True)
        with self.assertRaisesRegex(QMPError, 'postcopy'):
            a.qmp.cmd('migrate-pause', oob=True)
        with self.assertRaisesRegex(QMPError, 'does not support OOB'):
            a.qmp.cmd('query-status', oob=True)

    def test_out_of_band_overtakes(self):
        a = self.machine_with_parts(oob=True)
        for number in range(4):
            a.qmp.send('query-qmp-schema', ident=number)
        a.qmp.send('migrate-pause', oob=True, ident='oob')
        order = [a.qmp.read_reply().get('id') for _ in range(5)]
        self.assertEqual([number for number in order if number != 'oob'], [0, 1, 2, 3])
        self.assertIn('oob', order)

    def test_descriptors(self):
        a = self.machine_with_parts()
        out = self.path('written')
        with open(out, 'wb') as target:
            a.qmp.cmd('getfd', fdname='out', fds=[target.fileno()])
            info = a.qmp.cmd('add-fd', fds=[target.fileno()], **{'fdset_id': 4, 'opaque': 'test'})
        self.assertEqual(info['fdset-id'], 4)
        self.assertEqual(a.qmp.cmd('query-fdsets')[0]['fds'][0]['opaque'], 'test')
        a.qmp.cmd('pmemsave', val=0, size=8192, filename='/dev/fdset/4')
        self.assertEqual(os.stat(out).st_size, 8192)
        a.qmp.cmd('remove-fd', **{'fdset_id': 4})
        self.assertEqual(a.qmp.cmd('query-fdsets'), [])
        a.qmp.cmd('closefd', fdname='out')
        with self.assertRaisesRegex(QMPError, "File descriptor named 'out' not found"):
            a.qmp.cmd('closefd', fdname='out')

    def test_descriptors_that_no_command_takes_are_closed(self):
        a = self.machine_with_parts()
        with open(self.path('sent'), 'wb') as sent:
            for _ in range(5):
                a.qmp.cmd('query-status', fds=[sent.fileno()])
        links = []
        for fd in pathlib.Path('/proc/%d/fd' % a.pid).iterdir():
            with contextlib.suppress(FileNotFoundError):    # others come and go
                links.append(os.readlink(fd))
        self.assertNotIn(self.path('sent'), links)

    def test_monitor_as_an_object(self):
        path = self.path('object')
        a = self.machine_with_parts()
        a.qmp.cmd('chardev-add', id='c1', backend={'type': 'socket', 'data': {
            'addr': {'type': 'unix', 'data': {'path': path}}, 'server': True, 'wait': False}})
        a.qmp.cmd('object-add', {'qom-type': 'monitor-qmp', 'id': 'm1', 'chardev': 'c1'})
        other = self.connect(path)
        self.assertEqual(other.cmd('query-name'), {'name': 'tested'})
        with self.assertRaisesRegex(QMPError, 'in use'):
            other.cmd('object-del', id='m1')
        a.qmp.cmd('object-del', id='m1')
        a.qmp.cmd('chardev-remove', id='c1')
        with self.assertRaises(QMPClosed):
            other.cmd('query-name')

    def test_a_secret_is_kept(self):
        a = self.machine_with_parts()
        pathlib.Path(self.path('key')).write_bytes(bytes(range(32)))
        a.qmp.cmd('object-add', {'qom-type': 'secret', 'id': 'master', 'format': 'raw', 'file': self.path('key')})
        a.qmp.cmd('object-add', {'qom-type': 'secret', 'id': 'pass', 'data': 'letmein'})
        self.assertNotIn('letmein', json.dumps(a.qmp.cmd('qom-list-get', paths=['/objects/pass'])))


if __name__ == '__main__':
    main()
