"""Base class of the functional tests and the main program of a test file."""

import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest

from . import host
from .machine import Machine
from .qmp import QMPError


class FunctionalTest(unittest.TestCase):
    """A test with its own directory; what it starts is ended after it.

    timeout: seconds that each test of the class may take.
    accel:   accelerator that the tests need; they are skipped where it does not work.
    arch:    architecture of the machines.
    slow:    belongs to the slow stage, which runs nothing else.
    needs_guests: skip where the build has no test guests for the architecture.
    """

    timeout = 120
    accel = 'kvm'
    arch = 'x86_64'
    slow = False
    needs_guests = True

    def setUp(self):
        problem = host.kvm_problem() if self.accel == 'kvm' else None
        if problem:
            self.skipTest(problem)
        self.binary = host.binary(self.arch)
        if not host.version(self.binary):
            if host.build_lacks(self.binary):
                self.skipTest('the build is without %s' % os.path.basename(self.binary))
            self.fail('no emulator at %s (TIDEMARK_BUILD names the build)' % self.binary)
        if self.needs_guests and not host.guest('writer', self.arch).exists():
            self.skipTest('no test guests for %s in the build' % self.arch)
        # a UNIX socket's path must stay short
        self.dir = tempfile.mkdtemp(prefix='tidemark-')
        self.addCleanup(shutil.rmtree, self.dir, True)

    def machine(self, name, *extra, **kwargs):
        """Start a Machine that ends with the test; arguments as for Machine."""
        kwargs = {'accel': self.accel, 'arch': self.arch, **kwargs}
        machine = Machine(self.dir, name, *extra, **kwargs)
        self.addCleanup(machine.close)
        return machine

    @staticmethod
    def wait_for(condition, what, timeout=20):
        """Poll until condition() is true."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError('%s: not in time' % what)
            time.sleep(0.005)

    @staticmethod
    def wait_near(measure, wanted, delta, what, timeout=90):
        """Measure until a figure is as it must be, to within delta (a part of it).

        A busy host spoils single measurements of a rate or a clock; what is wrong stays wrong.
        """
        seen, deadline = [], time.monotonic() + timeout
        while True:
            seen.append(measure())
            if abs(seen[-1] / wanted - 1) <= delta:
                return seen[-1]
            if time.monotonic() > deadline:
                raise AssertionError('%s: never near %g: %s' % (
                    what, wanted, ' '.join('%.4g' % value for value in seen)))

    def path(self, name):
        return '%s/%s' % (self.dir, name)

    def uri(self, name):
        """A UNIX address for a migration."""
        return 'unix:%s/%s.migrate' % (self.dir, name)

    def is_tidemark(self):
        """False when another emulator is tested for comparison."""
        return host.is_tidemark(self.binary)

    def require_tidemark(self, reason):
        """Skip on other emulators, which are known to fail here for the reason given.

        With TIDEMARK_ALL in the environment they are shown to.
        """
        if not self.is_tidemark() and 'TIDEMARK_ALL' not in os.environ:
            self.skipTest('not Tidemark: ' + reason)

    def assert_refused(self, machine, command, pattern='.', **arguments):
        """The command must end in a GenericError whose text matches."""
        with self.assertRaises(QMPError, msg=command) as caught:
            machine.qmp.cmd(command, **arguments)
        self.assertEqual(caught.exception.error_class, 'GenericError')
        self.assertRegex(caught.exception.desc, pattern)

    def assert_running(self, machine, timeout=20):
        """The machine runs and its guest prints."""
        self.assertEqual(machine.status(), 'running')
        machine.serial.wait_more(timeout)


def note(text):
    """A line for whoever reads the results: figures of a test that passes."""
    print('#   ' + text, flush=True)


class _Result(unittest.TestResult):
    """One line a test on stdout, then what went wrong as '#' lines."""

    def startTest(self, test):
        super().startTest(test)
        self._start = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, getattr(test, 'timeout', 120))

    def stopTest(self, test):
        signal.setitimer(signal.ITIMER_REAL, 0)
        super().stopTest(test)

    def _line(self, word, test, note=''):
        name = test.id().replace('__main__.', '')
        print('%s %s (%.1f s)%s' % (word, name, time.monotonic() - self._start, note), flush=True)

    def _problem(self, test, err):
        self._line('not ok', test)
        for line in ''.join(traceback.format_exception(*err)).rstrip().split('\n'):
            print('#   ' + line, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line('ok', test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._problem(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._problem(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._problem(subtest, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line('skip', test, ' # ' + reason)


def _on_alarm(signum, frame):
    raise TimeoutError('the test took too long')


def _flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _flatten(item)
        else:
            yield item


def main():
    """Run the tests of the calling file: test_FILE.py [--slow] [PATTERN]."""
    args = sys.argv[1:]
    want_slow = '--slow' in args
    pattern = re.compile(''.join(arg for arg in args if arg != '--slow'))
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    tests = [test for test in _flatten(suite)
             if pattern.search(test.id()) and test.slow == want_slow]
    print('1..%d within %d s' % (len(tests), sum(t.timeout + 30 for t in tests)), flush=True)
    signal.signal(signal.SIGALRM, _on_alarm)
    result = _Result()
    unittest.TestSuite(tests).run(result)
    sys.exit(not result.wasSuccessful())
