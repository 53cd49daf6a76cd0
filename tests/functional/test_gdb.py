#!/usr/bin/env python3
"""GDB's view of the guest: registers, memory, breakpoints, watchpoints, steps, threads."""

import shutil
import struct
import subprocess
import xml.etree.ElementTree as ElementTree

from lib import host
from lib.gdb import Gdb
from lib.qmp import QMPClosed
from lib.testcase import FunctionalTest, main

CODE = 0x40100000
DATA = 0x40200000
SP, PC, CPSR, V0 = 31, 32, 33, 34

# A loop that counts in x0 and keeps the count at [x1].
LOOP = struct.pack('<5I',
                   0xd2800020,   # mov x0, #1
                   0x91000400,   # add x0, x0, #1
                   0xf9000020,   # str x0, [x1]
                   0xf9400022,   # ldr x2, [x1]
                   0x17fffffd)   # b .-12
ADD, STORE, LOAD, BRANCH = (CODE + 4 * n for n in (1, 2, 3, 4))


class GdbTest(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def start(self, *extra, **kwargs):
        """A machine that has not started, and the debugger; the loop is in memory."""
        machine = self.machine('a', '-gdb', 'unix:' + self.path('gdb'), *extra, guest='power',
                               paused=True, **kwargs)
        gdb = Gdb(self.path('gdb'))
        self.addCleanup(gdb.close)
        self.assertEqual(gdb.write(CODE, LOOP), 'OK')
        self.assertEqual(gdb.set_reg(PC, CODE), 'OK')
        self.assertEqual(gdb.set_reg(0, 0), 'OK')   # counts before the first instruction too
        self.assertEqual(gdb.set_reg(1, DATA), 'OK')
        return machine, gdb


    def wait_counting(self, machine, beyond):
        """Wait until the loop has stored a greater number."""
        def number():
            text = machine.qmp.cmd('human-monitor-command', command_line='x /1xg 0x%x' % DATA)
            return int(text.split()[1], 16)
        self.wait_for(lambda: number() > beyond, 'a loop that counts', 60)

    def monitor(self, gdb, line):
        gdb.send('qRcmd,' + line.encode().hex())
        text = ''
        while (answer := gdb.receive()) != 'OK':
            self.assertEqual(answer[0], 'O')
            text += bytes.fromhex(answer[1:]).decode()
        return text


class Registers(GdbTest):
    def test_description_matches_what_is_read(self):
        _, gdb = self.start()
        text, at = '', 0
        while True:
            part = gdb.ask('qXfer:features:read:target.xml:%x,%x' % (at, 0x700))
            text, at = text + part[1:], at + len(part) - 1
            if part[0] == 'l':
                break
        tree = ElementTree.fromstring(text)
        names = [feature.get('name') for feature in tree.iter('feature')]
        self.assertEqual(names[:2], ['org.gnu.gdb.aarch64.core', 'org.gnu.gdb.aarch64.fpu'])
        bits = sum(int(reg.get('bitsize')) for reg in tree.iter('reg'))
        self.assertEqual(len(gdb.ask('g')) * 4, bits)

    def test_write_and_read_back(self):
        _, gdb = self.start()
        for number in range(SP + 1):
            gdb.set_reg(number, 0x1122334455667700 + number)
        self.assertEqual(gdb.set_reg(V0 + 31, 7 << 100, 16), 'OK')
        for number in range(SP + 1):
            self.assertEqual(gdb.reg(number), 0x1122334455667700 + number)
        self.assertEqual(gdb.reg(V0 + 31), 7 << 100)

    def test_write_all(self):
        _, gdb = self.start()
        before = gdb.ask('g')
        changed = (5).to_bytes(8, 'little').hex() + before[16:]
        self.assertEqual(gdb.ask('G' + changed), 'OK')
        self.assertEqual(gdb.ask('g'), changed)

    def test_what_does_not_exist(self):
        _, gdb = self.start()
        self.assertRegex(gdb.ask('p3e7'), 'E..')
        self.assertRegex(gdb.ask('P3e7=00'), 'E..')
        self.assertRegex(gdb.ask('P0=00'), 'E..')   # too short
        self.assertEqual(gdb.ask('no-such-packet'), '')


class Memory(GdbTest):
    def test_monitor_shows_a_register(self):
        """xp reads a register in one access: UARTFR of a PL011 at reset, Arm DDI 0183, 3.3.3."""
        machine, _ = self.start()
        text = machine.qmp.cmd('human-monitor-command', command_line='xp /1xw 0x09000018')
        self.assertEqual(text.split(), ['0000000009000018:', '0x00000090'])
        text = machine.qmp.cmd('human-monitor-command', command_line='xp /1xg 0x%x' % (DATA + 0xffc))
        self.assertEqual(text.split(), ['%016x:' % (DATA + 0xffc), '0x%016x' % 0])

    def test_write_and_read_back(self):
        _, gdb = self.start()
        data = bytes(range(256)) * 20
        self.assertEqual(gdb.write(DATA - 100, data), 'OK')
        self.assertEqual(gdb.read(DATA - 100, len(data)), data)

    def test_binary_write(self):
        _, gdb = self.start()
        data = bytes(range(256))
        self.assertEqual(gdb.ask(b'X%x,%x:' % (DATA, len(data)) + data), 'OK')
        self.assertEqual(gdb.read(DATA, len(data)), data)

    def test_unmapped(self):
        _, gdb = self.start()
        self.assertRegex(gdb.ask('m%x,8' % (1 << 45)), 'E..')
        self.assertRegex(gdb.ask('M%x,1:00' % (1 << 45)), 'E..')

    def test_malformed(self):
        _, gdb = self.start()
        for packet in ('m', 'm,', 'mzz,1', 'M0', 'M%x,2:00' % DATA, 'M%x,1:0' % DATA, 'X%x,4:a' % DATA,
                       'Z', 'Z0', 'Z0,1', 'Z0,1,0', 'Hg99', 'T99', 'vCont;x', 'qRcmd,0'):
            self.assertRegex(gdb.ask(packet), 'E..', packet)
        self.assertEqual(gdb.read(CODE, len(LOOP)), LOOP)

    def test_bad_checksum_is_asked_for_again(self):
        _, gdb = self.start()
        gdb.close()
        raw = Gdb(self.path('gdb'))
        self.addCleanup(raw.close)
        raw.send_raw(b'$?#00')   # acknowledgements are off: it is taken all the same
        self.assertRegex(raw.receive(), 'T')


class Running(GdbTest):
    def test_step(self):
        _, gdb = self.start()
        for pc in (ADD, STORE, LOAD, BRANCH, ADD):
            self.assertRegex(gdb.ask('s'), '^T05thread:01')
            self.assertEqual(gdb.reg(PC), pc)
        self.assertEqual(gdb.reg(2), 2)

    def test_breakpoint(self):
        _, gdb = self.start()
        self.assertEqual(gdb.ask('Z0,%x,4' % LOAD), 'OK')
        self.assertRegex(gdb.ask('vCont;c'), '^T05thread:01;hwbreak:;')
        self.assertEqual((gdb.reg(PC), gdb.reg(0)), (LOAD, 2))
        # over it, as GDB does
        self.assertEqual(gdb.ask('z0,%x,4' % LOAD), 'OK')
        self.assertRegex(gdb.ask('vCont;s:1'), '^T05')
        self.assertEqual(gdb.reg(PC), BRANCH)
        self.assertEqual(gdb.ask('Z0,%x,4' % LOAD), 'OK')
        self.assertRegex(gdb.ask('vCont;c'), '^T05')
        self.assertEqual((gdb.reg(PC), gdb.reg(0)), (LOAD, 3))

    def test_breakpoint_in_code_that_ran(self):
        """Translations that were chained before the breakpoint came must not run past it."""
        machine, gdb = self.start()
        gdb.send('c')
        self.wait_counting(machine, 1000)
        gdb.send_raw(b'\3')
        self.assertRegex(gdb.receive(), '^T02')
        count = gdb.reg(0)
        self.assertEqual(gdb.ask('Z1,%x,4' % STORE), 'OK')
        self.assertRegex(gdb.ask('c'), '^T05')
        self.assertEqual(gdb.reg(PC), STORE)
        self.assertLessEqual(gdb.reg(0), count + 1)

    def test_breakpoint_in_another_page(self):
        _, gdb = self.start()
        # b .+0x2000 behind the loop's add; the target is a loop of its own
        self.assertEqual(gdb.write(STORE, struct.pack('<I', 0x14000800)), 'OK')
        self.assertEqual(gdb.write(STORE + 0x2000, struct.pack('<2I', 0xd503201f, 0x14000000)), 'OK')
        gdb.ask('Z0,%x,4' % (STORE + 0x2004))
        self.assertRegex(gdb.ask('c'), '^T05')
        self.assertEqual(gdb.reg(PC), STORE + 0x2004)

    def watch(self, kind, word, pc):
        _, gdb = self.start()
        gdb.send('c')
        self.assertTrue(gdb.silent())   # translated, with fast entries for the page
        gdb.send_raw(b'\3')
        gdb.receive()
        self.assertEqual(gdb.ask('Z%d,%x,4' % (kind, DATA + 4)), 'OK')
        self.assertRegex(gdb.ask('c'), '^T05thread:01;%s:%x;' % (word, DATA + 4))
        self.assertEqual(gdb.reg(PC), pc)
        return gdb

    def test_watch_writes(self):
        gdb = self.watch(2, 'watch', STORE)
        self.assertEqual(gdb.ask('z2,%x,4' % (DATA + 4)), 'OK')
        self.assertRegex(gdb.ask('s'), '^T05')
        self.assertEqual(int.from_bytes(gdb.read(DATA, 8), 'little'), gdb.reg(0))

    def test_watch_reads(self):
        self.watch(3, 'rwatch', LOAD)

    def test_watch_of_other_bytes(self):
        """Neighbours in the page do not stop anything."""
        machine, gdb = self.start()
        gdb.ask('Z4,%x,8' % (DATA + 8))
        gdb.send('c')
        self.wait_counting(machine, 1000)
        self.assertTrue(gdb.silent())
        gdb.send_raw(b'\3')
        self.assertRegex(gdb.receive(), '^T02')

    def test_points_that_are_not_there(self):
        _, gdb = self.start()
        self.assertRegex(gdb.ask('z0,%x,4' % ADD), 'E..')
        self.assertEqual(gdb.ask('Z9,%x,4' % ADD), '')

    def test_detach_goes_on(self):
        machine, gdb = self.start()
        gdb.ask('Z0,%x,4' % ADD)
        self.assertEqual(gdb.ask('D'), 'OK')
        self.wait_counting(machine, 1)
        self.assertEqual(machine.status(), 'running')
        gdb.close()
        again = Gdb(self.path('gdb'))
        self.addCleanup(again.close)
        self.assertEqual(machine.status(), 'paused')

    def test_lost_connection_leaves_it_stopped(self):
        machine, gdb = self.start()
        gdb.ask('Z0,%x,4' % ADD)
        gdb.close()
        machine.qmp.cmd('cont')
        machine.wait_status('running')   # the breakpoint went with the debugger
        self.assertEqual(machine.status(), 'running')

    def lose(self, machine, gdb):
        """The connection goes while the guest runs: it must stop, and no point may be left."""
        gdb.send('c')
        machine.wait_status('running')
        gdb.close()
        machine.wait_status('paused')
        machine.qmp.cmd('cont')
        machine.wait_status('running')
        again = Gdb(self.path('gdb'))
        self.addCleanup(again.close)
        count = again.reg(0)
        again.send('c')
        self.wait_counting(machine, count + 1000)
        self.assertTrue(again.silent())
        again.send_raw(b'\3')
        self.assertRegex(again.receive(), '^T02')

    def test_lost_connection_while_it_runs(self):
        machine, gdb = self.start()
        gdb.ask('Z0,%x,4' % (BRANCH + 4))   # never reached
        self.lose(machine, gdb)

    def test_lost_connection_with_a_watchpoint(self):
        machine, gdb = self.start()
        gdb.ask('Z2,%x,8' % (DATA + 64))
        self.lose(machine, gdb)

    def test_lost_connection_without_points(self):
        machine, gdb = self.start()
        self.lose(machine, gdb)

    def test_lost_connection_of_a_guest_that_a_monitor_runs(self):
        machine, gdb = self.start()
        gdb.ask('Z0,%x,4' % (BRANCH + 4))
        machine.qmp.cmd('cont')
        gdb.close()
        machine.wait_status('paused')

    def test_pause_by_a_monitor(self):
        machine, gdb = self.start()
        gdb.send('c')
        machine.wait_status('running')
        machine.qmp.cmd('stop')
        self.assertRegex(gdb.receive(), '^T02')

    def test_kill(self):
        machine, gdb = self.start()
        gdb.send('k')
        self.assertEqual(machine.wait_exit(), 0)

    def test_end_of_the_process(self):
        machine, gdb = self.start()
        try:
            machine.qmp.cmd('quit')
        except QMPClosed:
            pass
        self.assertEqual(gdb.receive(), 'W00')

    def test_monitor_command(self):
        _, gdb = self.start()
        self.assertIn('paused', self.monitor(gdb, 'info status'))


class Interpreted(Running):
    accel = 'tcg,jit=off'


class Threads(GdbTest):
    def test_list(self):
        _, gdb = self.start(smp=3)
        self.assertEqual(gdb.ask('qfThreadInfo'), 'm01,02,03')
        self.assertEqual(gdb.ask('qsThreadInfo'), 'l')
        self.assertIn('CPU#1', bytes.fromhex(gdb.ask('qThreadExtraInfo,2')).decode())
        self.assertEqual(gdb.ask('T3'), 'OK')

    def test_registers_of_another(self):
        _, gdb = self.start(smp=2)
        self.assertEqual(gdb.ask('Hg2'), 'OK')
        self.assertNotEqual(gdb.reg(PC), CODE)
        gdb.set_reg(5, 55)
        self.assertEqual(gdb.ask('Hg1'), 'OK')
        self.assertNotEqual(gdb.reg(5), 55)


class Server(GdbTest):
    """HMP gdbserver."""

    def test_moves_and_ends(self):
        machine = self.machine('a', guest='power', paused=True)
        path = self.path('later')
        with self.assertRaises(OSError):
            Gdb(path)
        self.assertEqual(machine.qmp.hmp('gdbserver unix:' + path),
                         "Waiting for gdb connection on device 'unix:%s'\r\n" % path)
        gdb = Gdb(path)
        self.addCleanup(gdb.close)
        self.assertEqual(gdb.write(CODE, LOOP), 'OK')
        self.assertEqual(gdb.set_reg(PC, CODE), 'OK')
        self.assertEqual(gdb.ask('Z0,%x,4' % LOAD), 'OK')
        self.assertIn('another monitor', self.monitor(gdb, 'gdbserver none'))
        self.assertEqual(machine.qmp.hmp('gdbserver none'), 'Disabled gdbserver\r\n')
        with self.assertRaises(ConnectionError):
            gdb.receive()
        machine.qmp.cmd('cont')   # not into the breakpoint
        machine.wait_status('running')
        self.assertEqual(machine.qmp.hmp('gdbserver unix:' + path)[:7], 'Waiting')
        again = Gdb(path)
        self.addCleanup(again.close)
        self.assertEqual(machine.status(), 'paused')

    def test_bad_device(self):
        machine = self.machine('a', '-gdb', 'unix:' + self.path('gdb'), guest='power', paused=True)
        self.assertIn('gdbserver', machine.qmp.hmp('help gdbserver'))
        self.assertIn('tcp:nowhere', machine.qmp.hmp('gdbserver tcp:nowhere'))


class Refusals(FunctionalTest):
    """What the others share; no tests of its own."""

    def refused(self, *args):
        p = subprocess.run([self.binary, '-display', 'none', *args], capture_output=True, text=True,
                           timeout=30, check=False)
        self.assertEqual(p.returncode, 1)
        return p.stderr


class WithoutTcg(Refusals):
    def test_kvm(self):
        told = self.refused('-M', 'microvm', '-accel', 'kvm', '-kernel', str(host.guest('writer')), '-s')
        self.assertIn('-gdb tcp::1234', told)
        self.assertIn('tcg', told)


class BadAddress(Refusals):
    accel = 'tcg'
    arch = 'aarch64'

    def test_address(self):
        told = self.refused('-M', 'virt', '-accel', 'tcg', '-kernel', str(host.guest('power', self.arch)),
                            '-gdb', 'tcp:nowhere')
        self.assertIn('-gdb tcp:nowhere', told)


class RealGdb(GdbTest):
    def test_session(self):
        """Debian's GDB: what a person types."""
        if not shutil.which('gdb-multiarch'):
            self.skipTest('gdb-multiarch is not installed')
        _, gdb = self.start()
        gdb.close()
        script = ['set architecture aarch64', 'target remote ' + self.path('gdb'),
                  'break *%#x' % LOAD, 'continue', 'print/x $pc', 'print $x0', 'delete',
                  'watch *(long *)%#x' % DATA, 'continue', 'print $x0', 'delete', 'stepi',
                  'set $v0.d.u[1] = 77', 'print $v0.d.u[1]', 'print $v0.s.u[2]',
                  'info threads', 'monitor info status', 'x/i $pc', 'detach']
        out = subprocess.run(
            ['gdb-multiarch', '-nx', '-batch'] + [a for line in script for a in ('-ex', line)],
            capture_output=True, text=True, timeout=60, check=False)
        text = out.stdout + out.stderr
        for wanted in ('$1 = %#x' % LOAD, '$2 = 2', 'Old value = 2', 'New value = 3', '$3 = 3',
                       '$4 = 77', '$5 = 77', 'CPU#0', 'VM status: paused', 'detached'):
            self.assertIn(wanted, text)


if __name__ == '__main__':
    main()
