#!/usr/bin/env python3
"""Guest time that counts instructions (-icount), and all vCPUs on one thread (thread=single)."""

import subprocess

from lib import linux_arm64
from lib.testcase import FunctionalTest, main

# With one nanosecond for each instruction and a counter of 1 GHz: exact.
EXACT = """\
adjacent: 1
1 nop: 2
100 nops: 101
3000 nops: 3001
a barrier between: 4
loop of 2 x 1000: 2002
nested 50 x (20 x 3 + 3): 3152
branches taken and not, 8: 10
call and return, 4: 6
device read twice, 5: 6
"""
LATE = 18   # instructions of the handler before it looks at the counter


class Counting(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def prints(self, guest, *extra, cpus=1, icount='shift=0,sleep=off', **kwargs):
        """What a guest prints that runs to its end, and how many instructions that took."""
        a = self.machine('a%d' % len(self._cleanups), '-cpu', 'max', '-icount', icount, *extra, guest=guest,
                         smp=cpus, paused=True, machine='virt,gic-version=3', **kwargs)
        a.qmp.cmd('cont')
        a.serial.wait(r'END\n', 60)
        self.assertEqual(a.wait_exit(), 0)
        return a.serial.text()


class Exact(Counting):
    def check(self, **kwargs):
        text = self.prints('counter', **kwargs)
        self.assertMultiLineEqual(text[:len(EXACT)], EXACT)
        for ahead in (*range(500, 508), 123457):
            self.assertIn('timer %d ahead: seen %d late\n' % (ahead, LATE), text)
        self.assertIn('WFI for a millisecond: 0 late\n', text)
        return text

    def test_counter(self):
        self.check()

    def test_interpreter_counts_the_same(self):
        self.assertMultiLineEqual(self.check(), self.check(accel='tcg,jit=off'))

    def test_waiting_in_host_time(self):
        """The clock is at the timer when it fires, however long the host took."""
        self.check(icount='shift=0,sleep=on')

    def test_slower_clock(self):
        text = self.prints('counter', icount='shift=3,sleep=off')
        self.assertIn('100 nops: %d\n' % (101 * 8), text)
        self.assertIn('3000 nops: %d\n' % (3001 * 8), text)

    def test_timers_and_interrupts_still_work(self):
        for icount in ('shift=5,sleep=off', 'shift=auto', 'shift=4,align=on'):
            with self.subTest(icount=icount):
                self.assertIn('ticks: 20\n', self.prints('timer', cpus=2, icount=icount))


class Instructions(Counting):
    """The performance monitors count instructions, of one exception level or all."""

    def test_retired(self):
        for accel in ('tcg', 'tcg,jit=off'):
            with self.subTest(accel=accel):
                self.assertIn('instructions of EL0: 2002\n100 nops: 101\noverflow: 1, seen 2\n',
                              self.prints('pmu', accel=accel))


class Repeatable(Counting):
    def test_two_runs(self):
        self.assertMultiLineEqual(self.prints('counter'), self.prints('counter'))

    def test_several_cpus(self):
        """The order in which they come to a shared word is the same, and so is the total count."""
        first = self.prints('counter', cpus=2)
        self.assertIn('two CPUs: sum 60000', first)
        for accel in ('tcg', 'tcg,jit=off', 'tcg,thread=single'):
            with self.subTest(accel=accel):
                self.assertMultiLineEqual(self.prints('counter', cpus=2, accel=accel), first)

    def test_small_code_memory(self):
        """That translations are thrown away is not seen."""
        self.assertMultiLineEqual(self.prints('irq', cpus=2), self.prints('irq', cpus=2, accel='tcg,tb-size=1'))


class Machines(Counting):
    def start(self, *extra, guest='counter', **kwargs):
        return self.machine('a', '-icount', 'shift=0,sleep=off', *extra, guest=guest, paused=True,
                            machine='virt,gic-version=3', **kwargs)

    def test_stop_and_continue(self):
        a = self.start(smp=4, guest='writer', append='cpus=4 beat=1')
        self.assertIn('instructions executed 0\n', a.qmp.hmp('info jit').replace('\r', ''))
        for _ in range(10):
            a.qmp.cmd('cont')
            a.qmp.cmd('stop')
        count = a.qmp.hmp('info jit')
        self.assertEqual(count, a.qmp.hmp('info jit'))
        a.qmp.cmd('system_reset')
        a.qmp.cmd('cont')
        a.serial.wait(r'(?s)\..*\..*\.', 60)

    def test_one_thread(self):
        for accel in ('tcg,thread=single', 'tcg'):
            with self.subTest(accel=accel):
                a = self.machine('b' + accel[-1], *(['-icount', 'shift=1'] if accel == 'tcg' else []), guest='power',
                                 paused=True, smp=4, accel=accel)
                self.assertEqual(len({cpu['thread-id'] for cpu in a.qmp.cmd('query-cpus-fast')}), 1)
                a.close()

    def test_migration_is_refused(self):
        a = self.start()
        self.assert_refused(a, 'migrate', '-icount', uri=self.uri('x'))


class Single(FunctionalTest):
    """thread=single in host time: the guests see what they see on threads of their own."""

    arch = 'aarch64'
    accel = 'tcg,thread=single'

    def test_guests(self):
        from test_arm_irq import IRQ, TIMER   # what they print on any machine
        for guest, text in (('irq', IRQ), ('timer', TIMER)):
            for jit in ('on', 'off'):
                with self.subTest(guest=guest, jit=jit):
                    a = self.machine(guest + jit, guest=guest, smp=2, machine='virt,gic-version=3', paused=True,
                                     accel='tcg,thread=single,jit=' + jit)
                    a.qmp.cmd('cont')
                    a.serial.wait(r'END\n', 60)
                    self.assertEqual(a.wait_exit(), 0)
                    self.assertMultiLineEqual(a.serial.text(), text)

    def test_cpus_share(self):
        """Each vCPU gets its turn although none ever waits."""
        a = self.machine('a', guest='writer', smp=3, append='cpus=3 beat=5')
        a.serial.wait(r'(?s)\..*\..*\.', 60)


class Linux(FunctionalTest):
    """A boot to the shell. Two of them are not the same to the instruction yet."""

    arch = 'aarch64'
    accel = 'tcg'
    slow = True
    needs_guests = False
    timeout = 900

    def boot(self, name, cpus):
        a = self.machine(name, '-kernel', linux_arm64.kernel(), '-initrd', linux_arm64.initrd(), '-cpu', 'cortex-a72',
                         '-append', 'console=ttyAMA0', '-icount', 'shift=1,sleep=off', '-nic', 'none',
                         '-rtc', 'base=2026-01-01T00:00:00,clock=vm', '-no-reboot', guest=None, memory='512M',
                         machine='virt,dtb-randomness=off', smp=cpus, paused=True)
        a.qmp.cmd('cont')
        a.serial.wait('guest: ready', 400)
        text = a.serial.text()
        a.close()
        return text[:text.index('guest: ready')]

    def test_one_cpu(self):
        self.assertIn('Linux version', self.boot('a', 1))

    def test_two_cpus(self):
        self.assertIn('Linux version', self.boot('a', 2))


class Refusals(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'
    needs_guests = False

    def refused(self, *args):
        p = subprocess.run([self.binary, '-M', 'virt', '-display', 'none', '-nodefaults', *args],
                           capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(p.returncode, 1, args)
        return p.stderr

    def test_options(self):
        for option, word in (('sleep=off', 'shift'), ('shift=11', '10'), ('shift=-1', 'shift=-1'), ('shift=x', 'auto'),
                             ('auto,sleep=off', 'sleep=off'), ('shift=auto,align=on', 'align=on'),
                             ('1,align=on,sleep=off', 'sleep=off'), ('shift=1,sleep=maybe', 'sleep'),
                             ('shift=1,rr=record,rrfile=x', 'record'), ('shift=1,nonesuch=1', 'nonesuch')):
            with self.subTest(option=option):
                told = self.refused('-accel', 'tcg', '-icount', option)
                self.assertIn('-icount', told)
                self.assertIn(word, told)

    def test_threads(self):
        self.assertIn('thread=single', self.refused('-accel', 'tcg,thread=multi', '-icount', '0'))
        self.assertIn('thread=many', self.refused('-accel', 'tcg,thread=many'))

    def test_other_accelerators(self):
        self.assertIn('-accel tcg', self.refused('-accel', 'qtest', '-icount', '0'))

    def test_incoming(self):
        self.assertIn('-icount', self.refused('-accel', 'tcg', '-icount', '0', '-incoming', 'defer'))


if __name__ == '__main__':
    main()
