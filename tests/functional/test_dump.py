#!/usr/bin/env python3
"""Core files of the guest: dump-guest-memory."""

import os
import pathlib
import re
import struct

from lib import migration
from lib.testcase import FunctionalTest, main

ELF_HEADER = struct.Struct('<16sHHIQQQIHHHHHH')
SEGMENT = struct.Struct('<IIQQQQQQ')
PT_LOAD, PT_NOTE, NT_PRSTATUS = 1, 4, 1
PRSTATUS_REGS = 112     # offset of the registers in the note
REGISTERS = {'aarch64': (183, 34, 32), 'x86_64': (62, 27, 16)}  # machine, number, which one is the PC


class Core:
    """A core file, taken apart."""

    def __init__(self, data):
        header = ELF_HEADER.unpack_from(data)
        assert data[:7] == b'\x7fELF\x02\x01\x01', data[:16]
        self.type, self.machine = header[1:3]
        self.loads, self.cpus = [], []
        for i in range(header[10]):
            kind, _, offset, _, paddr, size, _, _ = SEGMENT.unpack_from(data, header[5] + i * header[9])
            content = data[offset:offset + size]
            assert len(content) == size, 'the file is short'
            if kind == PT_LOAD:
                self.loads.append((paddr, content))
            elif kind == PT_NOTE:
                self._read_notes(content)

    def _read_notes(self, data):
        at = 0
        while at < len(data):
            name, size, kind = struct.unpack_from('<III', data, at)
            at += 12 + (name + 3 & ~3)
            if kind == NT_PRSTATUS:
                count = (size - PRSTATUS_REGS - 8) // 8
                self.cpus.append(struct.unpack_from('<%dQ' % count, data, at + PRSTATUS_REGS))
            at += size + 3 & ~3


class DumpArm64(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def setUp(self):
        super().setUp()
        self.a = self.machine('a', append='window=8M rate=20 cpus=2', memory='64M', smp=2)
        self.a.wait_ready()

    def dump(self, **kwargs):
        path = self.path('core')
        self.a.qmp.cmd('dump-guest-memory', **{'paging': False, 'protocol': 'file:' + path, **kwargs}, timeout=60)
        return path

    def memory(self):
        path = self.path('memory')
        self.a.qmp.cmd('pmemsave', val=self.a.ram_base, size=self.a.memory, filename=path)
        return pathlib.Path(path).read_bytes()

    def counters(self):
        """Program counter of each vCPU, as the human monitor shows it."""
        found = []
        for i in range(2):
            text = self.a.qmp.cmd('human-monitor-command', **{'command-line': 'info registers', 'cpu-index': i})
            found.append(int(re.search(r'(?:PC|RIP)=([0-9a-f]+)', text).group(1), 16))
        return found

    def test_content(self):
        self.a.qmp.cmd('stop')
        core = Core(pathlib.Path(self.dump()).read_bytes())
        machine, count, pc = REGISTERS[self.arch]
        self.assertEqual((core.type, core.machine), (4, machine))
        self.assertEqual([len(regs) for regs in core.cpus], [count, count])
        self.assertEqual([regs[pc] for regs in core.cpus], self.counters())
        memory, base = self.memory(), self.a.ram_base
        self.assertIn(base, [paddr for paddr, _ in core.loads])
        for paddr, content in core.loads:
            if base <= paddr < base + len(memory):
                self.assertTrue(content == memory[paddr - base:paddr - base + len(content)], hex(paddr))
        self.assertEqual(self.a.status(), 'paused')

    def test_part(self):
        begin = self.a.ram_base + 0x200000
        self.a.qmp.cmd('stop')
        core = Core(pathlib.Path(self.dump(begin=begin, length=0x3000)).read_bytes())
        self.assertEqual([(paddr, len(content)) for paddr, content in core.loads], [(begin, 0x3000)])
        self.assertTrue(core.loads[0][1] == self.memory()[0x200000:0x203000])

    def test_detached_through_a_pipe(self):
        """As libvirt does it: the guest stands meanwhile, and the event tells the end."""
        reader, writer = os.pipe()
        self.a.qmp.cmd('getfd', fdname='dump', fds=[writer])
        os.close(writer)
        self.assertEqual(self.a.qmp.cmd('query-dump')['status'], 'none')
        self.dump(protocol='fd:dump', detach=True, format='elf')
        self.assertEqual(self.a.qmp.cmd('query-dump')['status'], 'active')
        self.assertEqual(self.a.status(), 'save-vm')
        self.assert_refused(self.a, 'cont', 'dump in process')
        self.assert_refused(self.a, 'dump-guest-memory', 'dump in process', paging=False, protocol='file:/x')
        self.assert_refused(self.a, 'migrate', 'dump-guest-memory', uri=self.uri('b'))
        with os.fdopen(reader, 'rb') as pipe:
            core = Core(pipe.read())
        self.assertEqual(len(core.cpus), 2)
        result = self.a.qmp.wait_event('DUMP_COMPLETED')['data']['result']
        self.assertEqual(result['status'], 'completed')
        self.assertEqual(result['completed'], result['total'])
        self.assertEqual(sum(len(content) for _, content in core.loads), result['total'])
        self.assertEqual(self.a.qmp.cmd('query-dump'), result)
        self.a.check_guest()
        self.assertEqual(self.a.status(), 'running')

    def test_reader_goes_away(self):
        reader, writer = os.pipe()
        self.a.qmp.cmd('getfd', fdname='dump', fds=[writer])
        os.close(writer)
        self.dump(protocol='fd:dump', detach=True)
        os.close(reader)
        data = self.a.qmp.wait_event('DUMP_COMPLETED')['data']
        self.assertEqual(data['result']['status'], 'failed')
        self.assertIn('Broken pipe', data['error'])
        self.a.check_guest()

    def test_end_of_the_process_meanwhile(self):
        reader, writer = os.pipe()
        self.a.qmp.cmd('getfd', fdname='dump', fds=[writer])
        os.close(writer)
        self.dump(protocol='fd:dump', detach=True)
        self.assertEqual(self.a.quit(), 0)
        os.close(reader)

    def test_human_monitor(self):
        path = self.path('core')
        self.a.qmp.hmp('dump-guest-memory %s' % path)
        self.assertTrue(Core(pathlib.Path(path).read_bytes()).loads)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertIn('paging', self.a.qmp.hmp('dump-guest-memory -p %s' % path))
        self.a.check_guest()

    def test_refusals(self):
        refused = {'paging': {'paging': True}, 'must begin with': {'protocol': 'core'},
                   'cannot create': {'protocol': 'file:/nowhere/core'}, 'no RAM': {'begin': 0x10, 'length': 0x10},
                   'together': {'begin': 0}, 'addresses': {'begin': 0, 'length': 0},
                   'dump-fd': {'protocol': 'fd:dump-fd'}}
        if self.arch == 'x86_64':
            refused['no RAM'] = {'begin': 1 << 40, 'length': 0x1000}
        for pattern, arguments in refused.items():
            with self.subTest(pattern=pattern):
                self.assert_refused(self.a, 'dump-guest-memory', pattern,
                                    **{'paging': False, 'protocol': 'file:' + self.path('x'), **arguments})
                self.assertEqual(self.a.status(), 'running')
        b = self.machine('b', memory='64M', incoming='defer', smp=2)
        self.assert_refused(b, 'dump-guest-memory', 'incoming', paging=False, protocol='file:' + self.path('x'))
        # nothing of these attempts keeps a migration from working
        b.qmp.cmd('migrate-incoming', uri=self.uri('b'))
        migration.run(self.a, b, self.uri('b'))
        b.check_guest()

    def test_formats(self):
        self.assertEqual(self.a.qmp.cmd('query-dump-guest-memory-capability'), {'formats': ['elf']})


class DumpX86(DumpArm64):
    arch = 'x86_64'
    accel = 'kvm'


if __name__ == '__main__':
    main()
