#!/usr/bin/env python3
"""The kernel test bed's own parts, on small input: no kernel, no emulator."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / 'kernel' / 'testbed'))

from bed import cpio, kernel, machine, order, patches, programs, results, source, suites  # noqa: E402
from bed.base import ARCHES, Problem, arch_named, logged  # noqa: E402

ARM64 = ARCHES['arm64']

PATCH = '''From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: A Writer <a@localhost>
Date: Mon, 30 Nov 2026 12:00:00 +0000
Subject: [PATCH 1/2] KVM: Do one thing and
 not another

One thing is needed,
another is not.

Signed-off-by: A Writer <a@localhost>
---
 file | 1 +
 1 file changed, 1 insertion(+)

diff --git a/file b/file
index 257cc56..3bd1f0e 100644
--- a/file
+++ b/file
@@ -1 +1,2 @@
 one
+two
'''

CONSOLE = '''READY
CASE get
enable 0 ns=100 calls=1 pages=16384
get 0 ns=300 calls=1 pages=16384
get 1 ns=32768 calls=1 pages=16384
stat exits 77
stat hdbss_entries 16384
complete
END 0
CASE ring-signals
round 1: 4096 pages written, 4032 in the log
lost
END 1
CASE clear
clear 0 ns=5 ca'''


class Patches(unittest.TestCase):
    def test_good_one(self):
        self.assertEqual(patches.problems(PATCH), [])

    def test_each_fault_is_named(self):
        for what, broken in (
                ('subject', PATCH.replace('[PATCH 1/2] KVM: ', '')),
                ('Signed-off-by', PATCH.replace('Signed-off-by: A', 'From: A')),
                ('why', PATCH.replace('One thing is needed,\nanother is not.\n\n', '')),
                ('75', PATCH.replace('another is not.', 'x' * 76)),
                ('cut short', PATCH.replace('+two\n', '')),
                ('not as long', PATCH.replace(' one\n', ' one\n three\n')),
                ('no diff', PATCH[:PATCH.index('diff --git')])):
            with self.subTest(what):
                self.assertIn(what, '; '.join(patches.problems(broken)))


class Cpio(unittest.TestCase):
    def test_cpio_reads_what_was_packed(self):
        files = {'init': b'#!/bin/sh\n', 't/probe': bytes(range(256)) * 5}
        archive = cpio.pack(files, folders=('t', 'dev'))
        with tempfile.TemporaryDirectory() as where:
            done = subprocess.run(['cpio', '-idm', '--no-absolute-filenames', '--quiet', *files],
                                  input=archive, cwd=where, capture_output=True, check=False)
            self.assertEqual(done.stderr, b'')
            for name, content in files.items():
                path = pathlib.Path(where) / name
                self.assertEqual(path.read_bytes(), content)
                self.assertTrue(path.stat().st_mode & 0o100, name)
        listed = subprocess.run(['cpio', '-itv', '--quiet'], input=archive, capture_output=True,
                                check=True).stdout.decode()
        self.assertRegex(listed, r'(?m)^crw-------.* 5, +1 .*dev/console$')


class Configuration(unittest.TestCase):
    def test_fragments_name_each_option_once(self):
        for arch in ARCHES.values():
            lines = [line for line in kernel.fragment(arch, debug=True).splitlines()
                     if line and not line.startswith('#')]
            names = [line.split('=')[0] for line in lines]
            self.assertEqual(len(names), len(set(names)), arch.name)
            for line in lines:
                self.assertRegex(line, r'^CONFIG_[A-Z0-9_]+=(y|\d+)$')

    def test_refused_options(self):
        self.assertEqual(kernel.refused('# why\nCONFIG_A=y\nCONFIG_B=y\n',
                                        'CONFIG_A=y\n# CONFIG_B is not set\n'), ['CONFIG_B=y'])

    def test_unknown_architecture(self):
        with self.assertRaisesRegex(Problem, "no architecture 'vax'; there is arm64"):
            arch_named('vax')


class Series(unittest.TestCase):
    def test_none(self):
        self.assertEqual(source.series_named(''), [])
        self.assertEqual(source.series_named('none'), [])
        self.assertEqual(source.tag_of([]), 'base')

    def test_unknown(self):
        with self.assertRaisesRegex(Problem, "no series 'nonsense'; there is "):
            source.series_named('nonsense')

    def test_tag_depends_on_the_change_alone(self):
        with tempfile.TemporaryDirectory() as where:
            patch = pathlib.Path(where) / '0001-a.patch'
            patch.write_text(PATCH, 'utf-8')
            first = source.tag_of([patch])
            patch.write_text(PATCH.replace('+two', '+three'), 'utf-8')
            self.assertNotEqual(first, source.tag_of([patch]))
            patch.write_text(PATCH.replace('is not', 'is needless'), 'utf-8')
            self.assertEqual(first, source.tag_of([patch]))


class Order(unittest.TestCase):
    def test_levels_are_of_one_architecture(self):
        arm, x86 = order.levels('arm64'), order.levels('x86_64')
        self.assertEqual(arm[:2], ['', 'dirty-run'])
        self.assertNotIn('x86-', arm[-1])
        self.assertEqual(x86[-1], 'dirty-run,x86-tdp-leaf-batch')


class Console(unittest.TestCase):
    def setUp(self):
        self.outcome = machine.Outcome(CONSOLE, 1.0, 1.0)
        self.result = {'counted': results.counted([self.outcome], 'probe'), 'version': '7.2', 'emulator': 'e',
                       'compiler': 'c'}

    def test_cases_and_figures(self):
        counted = self.result['counted']
        self.assertEqual([counted[c]['status'] for c in ('get', 'ring-signals', 'clear')],
                         [0, 1, None])
        self.assertEqual(counted['get']['figures'][2],
                         {'phase': 'get', 'round': 1, 'ns': 32768, 'calls': 1, 'pages': 16384})
        self.assertEqual(counted['clear']['figures'], [])
        self.assertIn('lost', counted['ring-signals']['said'])

    def test_a_machine_that_never_ended_has_no_status(self):
        self.assertIsNone(self.outcome.status)
        self.assertEqual(machine.Outcome(CONSOLE + '\nSTATUS 3\n', 1, 1).status, 3)

    def test_complaints(self):
        text = 'x\n[ 1.0] WARNING: at kernel/a.c:1\n[ 2.0] Kernel panic - not syncing\n'
        self.assertEqual(len(machine.Outcome(text, 1, 1).complaints), 2)
        self.assertEqual(self.outcome.complaints, [])

    def test_table(self):
        faster = {'counted': {'get': {'status': 0, 'figures': [
            {'phase': 'get', 'round': 1, 'ns': 8192, 'calls': 1, 'pages': 16384}]}}}
        text = results.markdown([('arm64', [('as shipped', self.result), ('new', faster)])])
        self.assertIn('| GET without manual protect, all pages dirty | 32 768 (2.0 a page), one run '
                      '| 8 192 (0.5 a page), one run | -75.0 % | -83.6 % |', text)
        self.assertNotIn('| CLEAR, all pages dirty |', text)
        self.assertIn('| ring-signals | failed (1) | not run |', text)

    def test_counters(self):
        counted = results.counted([self.outcome], 'probe')
        self.assertEqual(counted['get']['counters'], {'exits': 77, 'hdbss_entries': 16384})
        self.assertEqual(counted['get']['said'], ['complete'])
        text = results.markdown([('arm64', [('as shipped', dict(self.result, unit='time'))])])
        self.assertIn('| get | 77 | 77 | 16384 |', text)
        self.assertNotIn('a page)', text)

    def test_injections(self):
        one = {'counted': results.counted([self.outcome], 'probe')}
        table = results.injection_table(lambda name: one if name == 'slow' else {})
        self.assertEqual(len(table), 3)
        self.assertIn('| slow | `hacdbs-entry-ns=200` | ring-signals, clear | 0 | 16384 |', table[2])
        for name in suites.INJECTIONS:
            self.assertLessEqual({*suites.injected_cases(name)},
                                 {*suites.CASES, *suites.SELFTESTS})
        self.assertNotIn('ring', suites.injected_cases('list cannot be written'))
        self.assertNotIn('dirty_log_test -M clear-log',
                         suites.injected_cases('entries of clean pages'))
        self.assertIn('dirty_log_test -M clear-log', suites.injected_cases('page is refused'))
        self.assertIn(' -x; ', suites.counted_command('arm64', ['get'],
                                                      suites.cpu_with('entries come twice')))
        self.assertNotIn(' -x', suites.counted_command('arm64', ['get'], suites.cpu_with('slow')))

    def test_results_of_other_cpus_are_other_files(self):
        version = 'An emulator whose name is already as long as a file name may be here'
        names = {results.path(ARCHES['arm64'], 'base', version + ', -cpu ' + suites.cpu_with(n)).name
                 for n in suites.INJECTIONS}
        self.assertEqual(len(names), len(suites.INJECTIONS))

    def test_engines_that_are_not_used(self):
        counted = {'get': {'status': 0, 'counters': {'hdbss_entries': 5, 'hacdbs_entries': 0}}}
        both = 'dirty-run,arm64-leaf-walk,arm64-hdbss,arm64-hacdbs'
        self.assertEqual(suites.unused(both, 'max', counted), ['get: hacdbs_entries'])
        self.assertEqual(suites.unused(both, 'max,hacdbs=off', counted), [])
        self.assertEqual(suites.unused(both, 'max,x-hacdbs-slice=1', counted), [])
        self.assertEqual(suites.unused('dirty-run', 'max', counted), [])

    def test_cases_are_of_one_architecture(self):
        self.assertEqual(suites.cases('arm64')['clear-thp'], '-b thp -c 3 -e 0x200000')
        self.assertEqual(suites.cases('riscv64')['clear-thp'], '-b thp -c 3')
        self.assertNotIn('clear-split', suites.cases('riscv64'))

    def test_selftests_are_runs_of_what_is_built(self):
        for name in suites.SELFTESTS:
            self.assertIn(suites.program(name), programs.SELFTESTS + programs.ADDED)

    def test_a_report_keeps_other_sections(self):
        old = '# Results\n\nold\n\n## riscv64\n\nr 1\n\n## arm64\n\na 1\n\n## What an entry costs\n\ne 1\n'
        new = '# Results\n\nnew\n\n## arm64\n\na 2\n'
        self.assertEqual(results.merged(old, new), '# Results\n\nnew\n\n## arm64\n\na 2\n\n## riscv64\n\nr 1\n\n'
                         '## What an entry costs\n\ne 1\n')

    def test_rows_name_cases(self):
        for row in suites.ROWS:
            self.assertIn(row.case, suites.CASES)


class Machine(unittest.TestCase):
    def test_command_line(self):
        words = machine.command_line(ARM64, 'emu', 'Image', 'cpio', 'ls; true', count=True, cpu='max')
        self.assertEqual(words[words.index('-smp') + 1], '1')
        self.assertIn('shift=0,sleep=off', words)
        self.assertTrue(words[-1].endswith(' -- "ls; true"'))
        with self.assertRaisesRegex(Problem, 'double quote'):
            machine.command_line(ARM64, 'emu', 'Image', 'cpio', 'echo "a"', cpu='max')

    def test_parameters_are_the_kernels(self):
        words = machine.command_line(ARM64, 'emu', 'Image', 'cpio', 'ls', cpu='max,hdbss=off',
                                     parameters='kvm.hacdbs=0')
        self.assertIn(' kvm.hacdbs=0 -- ', words[-1])
        self.assertEqual(words[words.index('-cpu') + 1], 'max,hdbss=off')

    def test_kernel_takes_each_batch(self):
        """arm64 and x86_64 Linux read 2048 bytes of their command line, riscv64 1024."""
        for arch, limit in (('arm64', 2048), ('riscv64', 1024), ('x86_64', 2048)):
            for names, command in ((suites.cases(arch), suites.counted_command),
                                   (suites.SELFTESTS, suites.selftest_command)):
                groups = suites.batches(names, lambda n, c=command: c(arch, n), machine.room(ARCHES[arch]))
                self.assertEqual([n for g in groups for n in g], list(names))
                for group in groups:
                    words = machine.command_line(ARCHES[arch], 'emu', 'Image', 'cpio', command(arch, group), cpu='max')
                    self.assertLess(len(words[-1]), limit)
                    self.assertNotRegex(words[-1], '[{}]')

    def test_tsc_is_an_instruction_counter(self):
        """Without ACPI x86 Linux has to be told what the TSC counts; and how to end the machine."""
        for count, khz in ((True, 1000000), (False, 2000000)):
            words = machine.command_line(ARCHES['x86_64'], 'emu', 'Image', 'cpio', 'ls', count=count,
                                         cpu='max', parameters='kvm.tdp_mmu=1')
            self.assertIn(' tsc_early_khz=%d kvm.tdp_mmu=1 -- "ls"' % khz, words[-1])
            self.assertIn(' reboot=t ', words[-1])
            self.assertIn('microvm,acpi=off,rtc=on', words)

    def test_a_command_that_the_kernel_would_cut_is_refused(self):
        with self.assertRaisesRegex(Problem, 'too long for the command line'):
            machine.command_line(ARCHES['riscv64'], 'emu', 'Image', 'cpio', 'x' * 1024, cpu='max')

    def test_each_architecture_has_a_machine(self):
        self.assertEqual(set(machine.MACHINES), set(ARCHES))

    def test_boot_ends_with_the_emulator(self):
        outcome = machine.boot(['sh', '-c', 'echo CASE a; echo END 0; echo STATUS 0'], 'test', 60)
        self.assertEqual(outcome.status, 0)
        self.assertEqual(suites.split(outcome.text), {'a': (0, [])})

    def test_boot_that_hangs_is_ended(self):
        outcome = machine.boot(['sh', '-c', 'echo READY; exec sleep 1000'], 'test', 1)
        self.assertIsNone(outcome.status)
        self.assertIn('ended after 1 s', outcome.text)

    def test_no_emulator(self):
        with self.assertRaisesRegex(Problem, 'no /nonexistent'):
            machine.emulator(ARCHES['arm64'], '/nonexistent')


class Steps(unittest.TestCase):
    def test_failure_shows_the_log(self):
        with tempfile.TemporaryDirectory() as where:
            log = pathlib.Path(where) / 'log'
            self.assertEqual(logged('good', ['true'], log), 0)
            with self.assertRaisesRegex(Problem, '(?s)bad failed:.*no such thing'):
                logged('bad', ['sh', '-c', 'echo no such thing; exit 3'], log)

    def test_every_script_has_help(self):
        for name in ('fetch', 'apply', 'build', 'boot', 'run', 'report'):
            done = subprocess.run([str(TOP / 'kernel/testbed' / name), '--help'], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('kernel/testbed/' + name, done.stdout)


if __name__ == '__main__':
    unittest.main()
