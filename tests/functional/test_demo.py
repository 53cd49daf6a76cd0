#!/usr/bin/env python3
"""The demo: its table, its report, its exit status, and that it leaves nothing behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

from lib import host, linux_arm64
from lib.testcase import FunctionalTest, main

DEMO = host.REPO / 'scripts' / 'demo.d' / 'demo.py'
MODES = ('legacy', 'manual', 'manual-initially-set', 'ring')


class DemoTest(FunctionalTest):
    def setUp(self):
        super().setUp()
        self.require_tidemark('the demo runs this project\'s emulator only')

    @staticmethod
    def prepare():
        """In the new process: a shell that runs us in the background ignores Ctrl-C for us."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        host.die_with_parent()

    def start(self, *args, env=None):
        """The demo as a process, with its temporary files in the test's directory."""
        return subprocess.Popen(
            [sys.executable, str(DEMO), '--build', str(host.BUILD), *args], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=self.prepare,
            env={**os.environ, 'TMPDIR': self.dir, **(env or {})})

    def run_demo(self, *args, env=None):
        """Returns exit status, stdout, stderr."""
        process = self.start(*args, env=env)
        self.addCleanup(process.kill)
        out, err = process.communicate(timeout=self.timeout)
        return process.returncode, out, err

    def leftovers(self):
        return [name for name in os.listdir(self.dir) if name.startswith('tidemark-demo-')]

    def emulators(self):
        """Processes whose command line names the test's directory."""
        found = []
        for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
            try:
                if self.dir.encode() in path.read_bytes():
                    found.append(path.parent.name)
            except OSError:
                pass
        return found


class Runs(DemoTest):
    timeout = 240
    modes = MODES

    def check_table(self, text):
        for mode in self.modes:
            row = re.search(r'^%s +(\d+) +(\d+) +(\d+) .* (\d+) +[\d.]+ +[\d.]+ +yes +ok$' % mode,
                            text, re.M)
            self.assertTrue(row, '%s in\n%s' % (mode, text))
            passes, pages, _, calls = map(int, row.groups())
            self.assertGreaterEqual(passes, 2)
            self.assertGreaterEqual(pages, 64 << 8)
            self.assertGreater(calls, 0)

    def check_report(self, path):
        page = pathlib.Path(path).read_text('utf-8')
        for mode in self.modes:
            self.assertIn('<h3>%s</h3>' % mode, page)
            self.assertIn('aria-label="%s: remaining pages and dirty rate' % mode, page)
        self.assertEqual(page.count('how often each page was sent, by its place'), len(self.modes))
        self.assertIn('prefers-color-scheme: dark', page)
        self.assertNotRegex(page, r'https?:|(src|href)=|url\(|@import')

    def check_results(self, directory):
        with open(os.path.join(directory, 'results.json'), encoding='utf-8') as f:
            runs = json.load(f)['runs']
        self.assertEqual([run['mode'] for run in runs], list(self.modes))
        for run in runs:
            self.assertEqual(run['info']['x-tracking']['mode'], run['mode'])
            self.assertEqual(run['verified_pages'] * 4096, run['info']['ram']['total'])
            counts = run['pages_sent']
            self.assertEqual(sum(sum(block['sent']) for block in counts['blocks']), run['pages'])
            self.assertGreater(sum(counts['times'][2:]), 0)
            remaining = [sample[1] for sample in run['samples']]
            self.assertGreater(len(set(remaining)), 10)
            causes = run['downtime_ms']
            self.assertAlmostEqual(causes['total'], sum(causes[c] for c in (
                'stop', 'last-sync', 'ram', 'device-state', 'resume')), delta=1)

    def test_every_mode(self):
        status, out, err = self.run_demo('--size', '64M', '--keep',
                                         '--report', self.path('report.html'))
        self.assertEqual(status, 0, out + err)
        self.check_table(out)
        self.check_report(self.path('report.html'))
        kept = self.leftovers()
        self.assertEqual(len(kept), 1)
        self.assertIn('Kept: ' + self.path(kept[0]), out)
        self.check_results(self.path(kept[0]))
        self.assertEqual(self.emulators(), [])

    def test_translated(self):
        """Where there is no KVM; the guest is arm64."""
        self.modes = ('tcg',)
        status, out, err = self.run_demo('--size', '64M', '--keep', '--kvm-device', self.path('kvm'),
                                         '--report', self.path('report.html'))
        self.assertEqual(status, 0, out + err)
        self.assertIn('going on with translation', err)
        self.assertIn('64M is less than the 512M that it needs', err)
        self.assertIn('Guest: the writer without an operating system, arm64', out)
        self.check_table(out)
        self.check_report(self.path('report.html'))
        self.check_results(self.path(self.leftovers()[0]))

    def test_interrupted(self):
        process = self.start('--size', '64M', '--report', self.path('report.html'))
        self.addCleanup(process.kill)
        while 'migrating' not in process.stderr.readline():
            self.assertIsNone(process.poll())
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn('interrupted', err)
        self.assertEqual(self.leftovers(), [])
        self.assertEqual(self.emulators(), [])
        self.assertFalse(os.path.exists(self.path('report.html')))


class Debian(Runs):
    """The guest is Debian's installer, its writer a program in the shell."""

    accel = None
    slow = True
    modes = ('tcg',)
    test_every_mode = test_translated = test_interrupted = None

    def test_moves(self):
        try:
            linux_arm64.kernel()
        except unittest.SkipTest as e:
            self.skipTest(str(e))
        status, out, err = self.run_demo('--accel', 'tcg', '--guest', 'debian', '--keep',
                                         '--report', self.path('report.html'))
        self.assertEqual(status, 0, out + err)
        self.assertIn('Debian boots to a shell prompt', err)
        self.assertIn('Guest: ' + linux_arm64.PACKAGE, out)
        self.check_table(out)
        self.check_report(self.path('report.html'))
        kept = self.path(self.leftovers()[0])
        self.check_results(kept)
        self.assertIn('/writer fill=256M', pathlib.Path(kept, 'tcg.source.serial.txt').read_text('utf-8'))
        target = pathlib.Path(kept, 'tcg.target.serial.txt').read_text('utf-8')
        self.assertRegex(target, r'OK pass=\d+ written=\d+\n')
        self.assertNotIn('READY', target)


class NoDebian(DemoTest):
    """Where its package cannot be had."""

    accel = None

    def setUp(self):
        super().setUp()
        self.build = pathlib.Path(self.dir, 'build')
        (self.build / 'tests' / 'guests').mkdir(parents=True)
        (self.build / 'qemu-system-aarch64').symlink_to(host.binary('aarch64'))
        for name in ('writer-aarch64.bin', 'writer-linux-aarch64'):
            (self.build / 'tests' / 'guests' / name).symlink_to(host.BUILD / 'tests' / 'guests' / name)

    def run_without(self, *args):
        return self.run_demo('--accel', 'tcg', '--build', str(self.build), '--size', '512M', *args,
                             env={'PATH': self.dir})

    def test_falls_back(self):
        status, out, err = self.run_without()
        self.assertEqual(status, 0, out + err)
        self.assertIn('no apt-get to download it with', err)
        self.assertIn('Guest: the writer without an operating system, arm64', out)
        self.assertRegex(out, r'\ntcg .* yes +ok\n')

    def test_is_refused_when_asked_for(self):
        status, out, err = self.run_without('--guest', 'debian')
        self.assertEqual(status, 1, out + err)
        self.assertIn('--guest debian: debian-installer-12-netboot-arm64: no apt-get', err)
        self.assertNotIn('Traceback', err)
        self.assertEqual(self.leftovers(), [])


class Failures(DemoTest):
    def test_emulator_does_not_start(self):
        build = pathlib.Path(self.dir, 'build')
        (build / 'tests' / 'guests').mkdir(parents=True)
        (build / 'tests' / 'guests' / 'writer.elf').write_text('')
        (build / 'qemu-system-x86_64').symlink_to('/bin/false')
        status, out, err = self.run_demo('--modes', 'legacy,ring', '--size', '64M',
                                         '--build', str(build))
        self.assertEqual(status, 1, out + err)
        self.assertNotIn('Traceback', err)
        for mode in ('legacy', 'ring'):
            self.assertRegex(out, mode + ' +FAILED')
            self.assertIn(mode + '.source did not start', out)
        self.assertIn('0 of 2', (build / 'demo.html').read_text('utf-8'))


class Refusals(DemoTest):
    accel = None

    def refused(self, status, pattern, *args):
        code, out, err = self.run_demo(*args)
        self.assertEqual(code, status, out + err)
        self.assertRegex(err, pattern)
        self.assertEqual(self.leftovers(), [])

    def test_options(self):
        self.refused(2, "'fast' is no tracking mode; there are legacy, manual,", '--modes', 'fast')
        self.refused(2, "'1M' is not from 64M to 2048M", '--size', '1M')
        self.refused(2, "'64Q' is not a size", '--size', '64Q')
        self.refused(2, '--downtime: 0 is not from 1', '--downtime', '0')

    def test_no_kvm(self):
        missing = self.path('kvm')
        self.refused(77, re.escape(missing) + ': No such file(.|\n)*modprobe',
                     '--accel', 'kvm', '--kvm-device', missing)
        self.refused(77, '/dev/null: Inappropriate ioctl', '--accel', 'kvm', '--kvm-device', '/dev/null')

    def test_mode_of_the_other(self):
        self.refused(2, 'ring is no mode of --accel tcg, which has tcg', '--accel', 'tcg', '--modes', 'ring')

    def test_guest_of_the_other(self):
        if host.kvm_problem():
            self.skipTest(host.kvm_problem())
        self.refused(2, 'debian is an arm64 guest: give --accel tcg', '--accel', 'kvm', '--guest', 'debian')

    def test_help(self):
        code, out, _ = self.run_demo('--help')
        self.assertEqual(code, 0)
        for option in ('--modes', '--guest', '--size', '--report', '--keep', 'exit status'):
            self.assertIn(option, out)


class ReportPlace(DemoTest):
    def test_no_directory(self):
        code, _, err = self.run_demo('--report', self.path('no/report.html'))
        self.assertEqual(code, 2)
        self.assertIn('there is no directory ' + self.path('no'), err)


if __name__ == '__main__':
    main()
