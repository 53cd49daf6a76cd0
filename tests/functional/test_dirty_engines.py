#!/usr/bin/env python3
"""FEAT_HDBSS and FEAT_HACDBS, by a bare-metal hypervisor: one line of the guest for each sentence."""

import re
import subprocess
import time

from lib import migration
from lib.testcase import FunctionalTest, main


# Tests of the guest in its order: properties of -cpu, and the kinds of problems that the checker must report.
INJECTED = (
    ('full-at-5', 'x-hdbss-full-at=5', []),
    ('abort-at-3', 'x-hdbss-abort-at=3', []),
    ('abort-at-3-at-once', 'x-hdbss-abort-at=3,x-hdbss-abort-sync=on', []),
    ('duplicates', 'x-hdbss-duplicate-every=2', []),
    ('spurious', 'x-hdbss-spurious-every=2', []),
    ('structf-at-4', 'x-hacdbs-error-at=4,x-hacdbs-error=structf', []),
    ('ipaf-at-4', 'x-hacdbs-error-at=4,x-hacdbs-error=ipaf', []),
    ('ipahacf-at-4', 'x-hacdbs-error-at=4,x-hacdbs-error=ipahacf', []),
    ('ahead-by-3', 'x-hacdbs-ahead=3', []),
    ('late', 'x-hacdbs-slice=10,x-hacdbs-slice-ns=10000000000', []),
    ('pieces', 'x-hacdbs-slice=10', []),
    ('irq-lost', 'x-hacdbs-irq-lose=1', []),
    ('irq-late', 'x-hacdbs-irq-delay-ns=10000000000', []),
    ('irq-a-little-late', 'x-hacdbs-irq-delay-ns=1000000', []),
    ('stale', 'x-stale-tlb=on', []),
    ('check-nothing', 'dirty-state-check=on', []),
    ('check-read-before-tlbi', 'dirty-state-check=on', ['read-before-tlbi']),
    ('check-half-a-tlbi', 'dirty-state-check=on', ['read-before-tlbi']),
    ('check-untracked', 'dirty-state-check=on', ['untracked-page']),
    ('check-dropped', 'dirty-state-check=on', ['entries-dropped']),
    ('check-two-guests', 'dirty-state-check=on', ['two-guests-in-one-list']),
    ('check-fsc', 'dirty-state-check=on', ['entries-lost-before']),
    ('check-tge', 'dirty-state-check=on', ['started-with-tge']),
    ('check-dsb', 'dirty-state-check=on', ['no-dsb-after-stop']),
    ('check-isb', 'dirty-state-check=on,x-hacdbs-slice=1', ['progress-without-isb']),
    ('check-vmid', 'dirty-state-check=on', ['one-vmid-for-two-guests']),
    ('check-slow', 'dirty-state-check=on,hacdbs-entry-ns=1000', []),
)


class DirtyEngines(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def setUp(self):
        super().setUp()
        self.require_tidemark('no other emulator has these features')

    def run_guest(self, cpus, accel='tcg', cpu='max,hacdbs-irq=17', extra=()):
        a = self.machine('a', '-cpu', cpu, *extra, guest='el2', smp=cpus, append=f'cpus={cpus}', accel=accel,
                         machine='virt,virtualization=on,gic-version=3', paused=True)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 120)
        self.assertEqual(a.wait_exit(), 0)
        return a.serial.text()

    def check(self, text):
        self.assertEqual(re.findall(r'^not ok .*', text, re.M), [])
        self.assertIn('failures: 0\n', text)
        self.assertGreaterEqual(len(re.findall(r'^ok [0-9.]+/\S+$', text, re.M)), 85)

    def test_one_cpu(self):
        self.check(self.run_guest(1))

    def test_two_cpus(self):
        self.check(self.run_guest(2))

    def test_one_cpu_in_the_interpreter(self):
        self.check(self.run_guest(1, accel='tcg,jit=off'))

    def test_two_cpus_in_the_interpreter(self):
        self.check(self.run_guest(2, accel='tcg,jit=off'))

    def test_shared_tables(self):
        text = self.run_guest(2)
        for name in ('one-entry-among-two-cpus', 'cleaning-beside-a-writer'):
            self.assertIn('ok shared/%s\n' % name, text)

    def test_trace(self):
        path = self.dir + '/trace'
        self.run_guest(1, extra=('-d', 'trace', '-D', path))
        with open(path, encoding='utf-8') as f:
            told = f.read()
        for event in (r'hdbss_append cpu=0 ipa=0x[0-9a-f]+ level=3 index=\d+', r'hdbss_full cpu=0 index=\d+',
                      r'hacdbs_clean cpu=0 ipa=0x[0-9a-f]+ level=3 index=\d+', r'hacdbs_error cpu=0 index=\d+ reason=3'):
            self.assertRegex(told, '(?m)^%s$' % event)

    def test_under_icount(self):
        self.check(self.run_guest(1, cpu='max,hacdbs-irq=17,hdbss-append-ns=100', extra=('-icount', 'shift=0')))

    def test_a_short_list_takes_what_its_entries_take(self):
        a = self.machine('a', '-cpu', 'max,hacdbs-entry-ns=1000', '-icount', 'shift=0', guest='el2', paused=True,
                         append='test=%d' % (len(INJECTED) + 1), machine='virt,virtualization=on,gic-version=3')
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 60)
        self.assertEqual(a.serial.text(), 'ok short-list\nfailures: 0\nEND\n')

    def test_repeats_under_icount(self):
        seen = []
        for _ in range(2):
            a = self.machine('a', '-cpu', 'max,hacdbs-irq=17,x-hacdbs-slice=10,hacdbs-entry-ns=1000,hdbss-append-ns=50',
                             '-icount', 'shift=0', '-no-shutdown', guest='el2', append='test=11', paused=True,
                             machine='virt,virtualization=on,gic-version=3')
            a.qmp.cmd('cont')
            a.serial.wait(r'END\n', 60)
            self.assertEqual(a.serial.text(), 'ok pieces\nfailures: 0\nEND\n')
            seen.append(a.qmp.cmd('query-dirty-state-engines'))
            a.close()
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0][0]['hacdbs']['slices'], 52)

    def injected(self, accel):
        for number, (name, props, problems) in enumerate(INJECTED, 1):
            with self.subTest(name):
                a = self.machine('a', '-cpu', 'max,hacdbs-irq=17,' + props, '-no-shutdown', guest='el2',
                                 append=f'test={number}', accel=accel, paused=True,
                                 machine='virt,virtualization=on,gic-version=3')
                a.qmp.cmd('cont')
                a.serial.wait(r'END\n', 60)
                self.assertEqual(a.serial.text(), f'ok {name}\nfailures: 0\nEND\n')
                found = a.qmp.cmd('x-query-dirty-state-problems')
                self.assertEqual([p['kind'] for p in found], problems)
                for p in found:
                    self.assertIn(p['text'], a.stderr())
                a.close()

    def test_injections_and_checks(self):
        self.injected('tcg')

    def test_injections_and_checks_in_the_interpreter(self):
        self.injected('tcg,jit=off')

    def test_instruments(self):
        a = self.machine('a', '-cpu', 'max,hacdbs-irq=17', '-no-shutdown', guest='el2', smp=2, append='cpus=2',
                         paused=True, machine='virt,virtualization=on,gic-version=3')
        for cpu, e in enumerate(a.qmp.cmd('query-dirty-state-engines')):
            self.assertEqual(e['cpu-index'], cpu)
            self.assertEqual({e['hdbss'][k] for k in ('index', 'fsc', 'entries', 'full-faults')}, {0})
            self.assertEqual({e['hacdbs'][k] for k in ('index', 'entries', 'starts', 'interrupts')}, {0})
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 120)
        for e in a.qmp.cmd('query-dirty-state-engines'):
            for key in ('entries', 'table-entries', 'full-faults', 'error-faults', 'aborts', 'resets'):
                self.assertGreater(e['hdbss'][key], 0, key)
            for key in ('starts', 'entries', 'cleaned', 'were-clean', 'skipped', 'structf-errors', 'ipaf-errors',
                        'ipahacf-errors', 'slices', 'interrupts', 'ignored-writes'):
                self.assertGreater(e['hacdbs'][key], 0, key)
            self.assertGreaterEqual(e['hacdbs']['entries'], e['hacdbs']['cleaned'] + e['hacdbs']['skipped'])
        self.assertRegex(a.qmp.hmp('info hdbss'), r'(?s)CPU 0: HDBSS .*entries \d+.*CPU 1')
        self.assertRegex(a.qmp.hmp('info hacdbs'), r'(?s)CPU 0: HACDBS .*cleaned \d+.*CPU 1')

    def test_inject_by_qmp(self):
        a = self.machine('a', '-cpu', 'max', '-no-shutdown', guest='el2', append='test=1', paused=True,
                         machine='virt,virtualization=on,gic-version=3')
        self.assert_refused(a, 'x-dirty-state-inject', 'x-hdbss-full-at', name='hdbss', value='off')
        self.assert_refused(a, 'x-dirty-state-inject', 'neither off nor', name='x-hdbss-full-at', value='-1')
        self.assert_refused(a, 'x-dirty-state-inject', 'no CPU 1', **{'cpu-index': 1}, name='x-stale-tlb', value='on')
        a.qmp.cmd('x-dirty-state-inject', name='x-hdbss-full-at', value='5')
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 60)
        self.assertIn('failures: 0', a.serial.text())

    def test_stop_while_an_entry_takes_long(self):
        a = self.machine('a', '-cpu', 'max,hdbss-append-ns=1000000000', guest='el2', append='cpus=1',
                         machine='virt,virtualization=on,gic-version=3', paused=True)
        a.qmp.cmd('cont')
        while not a.qmp.cmd('query-dirty-state-engines')[0]['hdbss']['entries']:
            time.sleep(0.05)
        for _ in range(3):
            a.qmp.cmd('stop')
            self.assertEqual(a.qmp.cmd('query-status')['status'], 'paused')
            a.qmp.cmd('cont')

    def test_without_engines(self):
        a = self.machine('a', '-cpu', 'max', paused=True, machine='virt,gic-version=3')
        self.assertEqual(a.qmp.cmd('query-dirty-state-engines'), [])
        self.assert_refused(a, 'x-dirty-state-inject', 'virtualization=on', name='x-stale-tlb', value='on')
        self.assertEqual(a.qmp.hmp('info hdbss').strip(), 'No CPU has HDBSS')

    def test_registers_travel(self):
        machine = 'virt,virtualization=on,gic-version=3'
        kwargs = {'guest': 'el2', 'append': 'test=1 hold=1', 'machine': machine}
        a = self.machine('a', '-cpu', 'max,x-hdbss-full-at=5', paused=True, **kwargs)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 60)
        there = a.qmp.cmd('query-dirty-state-engines')[0]
        b = self.machine('b', '-cpu', 'max', incoming=self.uri('b'), **kwargs)
        migration.run(a, b, self.uri('b'))
        here = b.qmp.cmd('query-dirty-state-engines')[0]
        for key in ('enabled', 'base', 'size', 'index', 'fsc'):
            self.assertEqual(here['hdbss'][key], there['hdbss'][key], key)
        self.assertEqual(here['hdbss']['index'], 5)
        self.assertEqual(here['hacdbs']['base'], there['hacdbs']['base'])

    def test_registers_do_not_get_lost(self):
        machine = 'virt,virtualization=on,gic-version=3'
        kwargs = {'guest': 'el2', 'append': 'test=1 hold=1', 'machine': machine}
        a = self.machine('a', '-cpu', 'max,x-hdbss-full-at=5', paused=True, **kwargs)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 60)
        b = self.machine('b', '-cpu', 'max,hdbss=off', incoming=self.uri('b'), **kwargs)
        a.qmp.cmd('migrate', uri=self.uri('b'))
        b.wait_exit()
        self.assertRegex(b.stderr(), 'hdbss=on there and off here|-cpu must be the same')

    def tree(self, cpu):
        path = self.path('dtb')
        subprocess.run([self.binary, '-display', 'none', '-cpu', cpu,
                        '-M', 'virt,virtualization=on,dumpdtb=' + path], check=True, timeout=60)
        with open(path, 'rb') as f:
            return f.read()

    def test_device_tree_tells_only_when_asked(self):
        self.assertNotIn(b'tidemark,hacdbs', self.tree('max,hacdbs-irq=17'))
        self.assertNotIn(b'tidemark,hacdbs', self.tree('max,hacdbs-irq-dt=on'))
        self.assertIn(b'tidemark,hacdbs', self.tree('max,hacdbs-irq=17,hacdbs-irq-dt=on'))


if __name__ == '__main__':
    main()
