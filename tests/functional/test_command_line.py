#!/usr/bin/env python3
"""The command line: what scripts paste is understood, what cannot be had is refused by name.

Every row starts a process. The rows that start are answered by QMP and end by quit.
"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from lib import host
from lib.qmp import QMP, QMPClosed, QMPError
from lib.qtest import QTest
from lib.testcase import FunctionalTest, main

QTEST = '-M microvm -accel qtest -nodefaults -display none'

# Help: arguments, patterns that the output must have.
HELP = (
    ('--version', [r'QEMU emulator version \d+\.\d+\.\d+']),
    ('-version', [r'QEMU emulator version']),
    ('-h', [r'-machine ', r'-device ', r'-incoming ']),
    ('--help', [r'-machine ']),
    ('-machine ?', [r'(?m)^microvm +microvm', r'(?m)^none ']),
    ('-M help', [r'(?m)^microvm +microvm']),
    ('-machine microvm,?', [r'(?m)^ *pic=', r'(?m)^ *rtc=']),
    ('-machine microvm,help', [r'(?m)^ *acpi=']),
    ('-device ?', [r'name "virtio-blk-device", bus virtio-bus', r'name "isa-serial", bus ISA']),
    ('-M microvm -device help', [r'name "virtserialport"', r'name "isa-debug-exit"']),
    ('-device virtio-blk-device,help', [r'(?m)^ *drive=', r'(?m)^ *serial=']),
    ('-device virtio-net-device,?', [r'(?m)^ *mac=', r'(?m)^ *netdev=']),
    ('-chardev ?', [r'(?m)^socket$', r'(?m)^testdev$', r'(?m)^stdio$']),
    ('-M microvm -chardev help', [r'(?m)^ringbuf$']),
    ('-netdev help', [r'(?m)^user$', r'(?m)^tap$']),
    ('-M none -netdev ?', [r'(?m)^socket$']),
    ('-cpu help', [r'\bhost\b', r'\bqemu64\b', r'\bmax\b']),
    ('-cpu help -machine microvm', [r'\bhost\b']),
    ('-accel help', [r'\n', r'(?m)^kvm$', r'(?m)^qtest$']),
    ('-M none -accel ?', [r'(?m)^kvm$']),
    ('-accel kvm,help', [r'dirty-ring-size=']),
    ('-object help', [r'memory-backend-memfd', r'rng-random', r'secret']),
    ('-object memory-backend-file,help', [r'mem-path=', r'share=']),
    ('-d help', [r'guest_errors', r'unimp']),
    ('-d ?', [r'guest_errors']),
    ('-display help', [r'(?m)^none$']),
)

# Accepted: arguments in the spellings that people and programs use. %(dir)s is a directory.
STARTS = (
    QTEST,
    '--machine microvm --accel qtest --nodefaults --display none --no-reboot',
    '-M microvm, -accel qtest -nodefaults',
    '-machine type=microvm -machine accel=qtest -nodefaults',
    '-machine microvm -machine accel=qtest,rtc=off -machine rtc=on -machine isa-serial=on -nographic',
    '-M microvm,isa_serial=off,auto_kernel_cmdline=on -accel qtest',
    '-M microvm -accel nonesuch -accel hvf -accel qtest',
    '-machine microvm,accel=hvf:qtest',
    '-M none -accel qtest -m 64',
    '-M none,accel=qtest',
    QTEST + ' -cpu nonesuch -cpu host -cpu max,+avx,-sse4.1,aes=on,migratable=off',
    QTEST + ' -smp 4',
    QTEST + ' -smp cpus=2,maxcpus=4,sockets=2,cores=2',
    QTEST + ' -smp 4,sockets=1,dies=2,cores=2,threads=1 -smp maxcpus=4',
    QTEST + ' -m 1.5G', QTEST + ' -m 256M', QTEST + ' -m 1g', QTEST + ' -m size=64k',
    QTEST + ' -m size=65536k,slots=0,maxmem=64M',
    QTEST + ' -name guest=a,,b,process=tidemark,debug-threads=on -uuid 01234567-89ab-cdef-0123-456789abcdef',
    QTEST + ' -object {"qom-type":"memory-backend-ram","id":"ram","size":67108864}'
            ' -machine memory-backend=ram -m size=65536k -overcommit mem-lock=off',
    QTEST + ' -object memory-backend-memfd,id=mem,size=64M,share=on -numa node,memdev=mem -m 64',
    QTEST + ' -object memory-backend-file,id=mem,size=16M,mem-path=%(dir)s/ram,share -M memory-backend=mem -m 16',
    QTEST + ' -mem-path %(dir)s -m 16', QTEST + ' -mem-prealloc -m 16',
    QTEST + ' -object secret,id=masterKey0,format=raw,file=%(dir)s/disk',
    QTEST + ' -drive file=%(dir)s/disk,if=virtio,format=raw,readonly',
    QTEST + ' -drive file=%(dir)s/disk,if=virtio,format=raw,index=1,media=disk,cache=unsafe,snapshot=on',
    QTEST + ' -drive file=%(dir)s/disk,if=none,format=raw,id=hd0 -device virtio-blk-device,drive=hd0,serial=x',
    QTEST + ' -drive file=%(dir)s/disk,if=none,id=d,format=raw -device {"driver":"virtio-blk","drive":"d","id":"v"}',
    QTEST + ' -blockdev driver=raw,node-name=m,file.driver=file,file.filename=%(dir)s/disk'
            ' -device virtio-blk,drive=m,bootindex=1',
    QTEST + ' -blockdev {"driver":"file","filename":"%(dir)s/disk","node-name":"f","auto-read-only":true}'
            ' -blockdev {"driver":"raw","file":"f","node-name":"m","read-only":false}'
            ' -device {"driver":"virtio-blk","drive":"m","id":"virtio-disk0","write-cache":"on"}',
    QTEST + ' -snapshot -drive file=%(dir)s/disk,if=virtio,format=raw',
    QTEST + ' -netdev user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:0-:22,hostfwd=tcp::0-:80'
            ' -device virtio-net,netdev=n,mac=52:54:00:00:00:01',
    QTEST + ' -netdev {"type":"user","id":"n","hostfwd":[{"str":"tcp:127.0.0.1:0-:22"}]}'
            ' -device {"driver":"virtio-net","netdev":"n","mac":"52:54:00:00:00:01"}',
    QTEST + ' -netdev type=user,id=n,net=172.20.0.0/24,host=172.20.0.2,dhcpstart=172.20.0.9,hostname=h',
    QTEST + ' -nic user,model=virtio,hostfwd=tcp:127.0.0.1:0-:22',
    QTEST + ' -nic none', QTEST + ' -net none',
    QTEST + ' -net nic,model=virtio -net user',
    QTEST + ' -device virtio-serial -chardev null,id=c -device virtconsole,chardev=c'
            ' -chardev file,id=f,path=%(dir)s/out -device virtserialport,chardev=f,name=port.0',
    QTEST + ' -device virtio-rng -device virtio-balloon,free-page-reporting=on',
    QTEST + ' -object rng-random,filename=/dev/urandom,id=rng0 -device virtio-rng-device,rng=rng0',
    QTEST + ' -device isa-debug-exit,iobase=0xf4,iosize=0x4 -device pvpanic',
    QTEST + ' -global virtio-rng-device.max-bytes=100 -device virtio-rng',
    QTEST + ' -serial null', QTEST + ' -serial none', QTEST + ' -serial file:%(dir)s/serial',
    QTEST + ' -serial pty -parallel none -vga none -monitor none',
    QTEST + ' -serial unix:%(dir)s/s,server,nowait -serial telnet:127.0.0.1:0,server,nowait',
    QTEST + ' -chardev socket,id=c,path=%(dir)s/c,server=on,wait=off,logfile=%(dir)s/log -serial chardev:c',
    QTEST + ' -chardev socket,id=c,host=localhost,port=0,server,nowait -mon c',
    QTEST + ' -chardev null,id=c -mon chardev=c,mode=readline -echr 2',
    QTEST + ' -chardev ringbuf,id=c,size=4096 -object monitor-qmp,id=m,chardev=c',
    QTEST + ' -monitor unix:%(dir)s/m,server=on,wait=off -qmp-pretty unix:%(dir)s/q2,server=on,wait=off',
    '-M microvm -accel qtest -nographic -serial mon:stdio',
    '-M microvm -accel qtest -display none -vga none -audio none -audiodev none,id=a',
    QTEST + ' -audiodev {"id":"audio1","driver":"none"}',
    QTEST + ' -boot order=c,strict=on -rtc base=utc,clock=host,driftfix=slew -no-user-config',
    QTEST + ' -rtc base=2006-06-17T16:01:21,clock=vm', QTEST + ' -rtc base=localtime',
    QTEST + ' -fw_cfg name=opt/x,string=hello -fw_cfg opt/y,file=%(dir)s/disk',
    QTEST + ' -no-reboot -no-shutdown -S',
    QTEST + ' -action reboot=shutdown,shutdown=pause,panic=none',
    QTEST + ' -run-with exit-with-parent=on', QTEST + ' -sandbox off', QTEST + ' -sandbox on,obsolete=deny',
    QTEST + ' -msg timestamp=on -d guest_errors,unimp -D %(dir)s/emulator.log',
    QTEST + ' -only-migratable -incoming defer', QTEST + ' -incoming unix:%(dir)s/in',
    QTEST + ' -pidfile %(dir)s/pid',
    QTEST + ' -L %(dir)s',
)

# Accepted with a warning, which must match.
WARNS = (
    ('-no-hpet', 'no-hpet'), ('-realtime mlock=off', 'mem-lock'),
    ('-soundhw hda', 'soundhw'), ('-usb', 'usb'), ('-localtime', 'localtime'),
    ('-k de', '-k de'), ('-boot menu=on', 'menu'),
    ('-accel hvf -accel qtest', '(?s)-accel hvf.*falling back to qtest'),
    ('-global virtio-rng-device.max-bytes=5', 'virtio-rng-device.max-bytes'),
)

# Refused: arguments, what the one-line message must name.
REFUSED = (
    ('-nonesuch', '-nonesuch'), ('-m', "'-m' needs"), ('', 'no machine given'),
    ('-M nonesuch', "'nonesuch'.*-machine help"),
    ('-M microvm,nonesuch=3', r'nonesuch.*has: .*rtc'),
    ('-M microvm,rtc=maybe', 'rtc.*maybe'), ('-M microvm,pcie=on', 'pcie=on'),
    ('-M microvm,usb=on', 'usb=on'),
    ('-smp -1', 'smp.*-1'), ('-smp 0', 'smp.*cpus=0'), ('-smp x', 'smp.*x'), ('-smp 2,nonesuch=3', 'smp.*nonesuch=3'),
    ('-smp 300', '300.*255'), ('-smp 4,maxcpus=2', '4.*2'), ('-smp 3,sockets=2,cores=2,threads=1,maxcpus=3', 'smp'),
    ('-m x', '-m.*x'), ('-m 1Q', '-m.*1Q'), ('-m -1', '-m.*-1'), ('-m 1G,nonesuch=1', '-m.*nonesuch=1'),
    ('-m 1G,maxmem=2G,slots=2', '-m'),
    ('-cpu nonesuch', 'nonesuch'), ('-cpu qemu64,+nonesuch', 'nonesuch'), ('-cpu qemu64,nonesuch=1', 'nonesuch=1'),
    ('-cpu qemu64,sse2=maybe', 'sse2=maybe'), ('-cpu qemu64,hv-relaxed=on', 'hv-relaxed'),
    ('-accel nonesuch', 'accelerator nonesuch'), ('-accel qtest,nonesuch=1', 'qtest.*nonesuch=1'),
    ('-accel nonesuch -accel hvf', '-accel hvf'),
    ('-device nonesuch', "'nonesuch'"), ('-device virtio-rng,nonesuch=1', r'nonesuch.*has: .*period'),
    ('-device virtio-rng,max-bytes=x', "max-bytes.*x"), ('-device virtio-rng,bus=nonesuch', 'nonesuch'),
    ('-device virtio-rng,id=a -device virtio-rng,id=a', "ID 'a'"), ('-device virtio-rng,id=1a', '1a'),
    ('-device virtio-rng,rng=nonesuch', 'nonesuch'), ('-device virtio-blk,drive=nonesuch', 'nonesuch'),
    ('-device virtio-net,netdev=nonesuch', 'nonesuch'), ('-device virtio-net,mac=1:2', 'mac.*1:2'),
    ('-device {"driver":"virtio-rng"', 'JSON'), ('-device id=x', 'driver'),
    ('-drive file=/nonesuch,if=virtio,format=raw', '/nonesuch.*No such file'),
    ('-drive file=%(dir)s/disk,if=virtio,format=qcow2', 'qcow2 image.*disk.*does not begin'),
    ('-drive file=%(dir)s/disk,if=virtio,format=vmdk', 'vmdk.*raw and qcow2'),
    ('-drive file=%(dir)s/disk,if=ide,format=raw', 'if=ide.*if=virtio'),
    ('-drive file=%(dir)s/disk,if=none,nonesuch=1', 'nonesuch=1'),
    ('-blockdev driver=nonesuch,node-name=x', 'nonesuch'), ('-blockdev driver=file,node-name=x', 'filename'),
    ('-netdev nonesuch,id=n', 'nonesuch'), ('-netdev user', 'id='), ('-netdev user,id=n,nonesuch=1', 'nonesuch=1'),
    ('-netdev user,id=n,hostfwd=tcp:127.0.0.1::80-:80', 'hostfwd=tcp:127.0.0.1::80-:80'),
    ('-netdev user,id=n,hostfwd=nonsense', 'hostfwd=nonsense'),
    ('-chardev nonesuch,id=x', 'nonesuch'), ('-chardev null', 'id='), ('-chardev socket,id=x', 'path='),
    ('-chardev file,id=x,path=/nonesuch/x', '/nonesuch/x.*No such file'),
    ('-chardev null,id=x,nonesuch=1', 'nonesuch=1'), ('-chardev null,id=x -chardev null,id=x', "'x'"),
    ('-mon nonesuch', 'nonesuch'), ('-chardev null,id=c -mon c,mode=nonesuch', 'nonesuch'),
    ('-serial nonesuch', 'nonesuch'), ('-serial chardev:nonesuch', 'nonesuch'), ('-monitor nonesuch', 'nonesuch'),
    ('-object nonesuch,id=x', 'nonesuch'), ('-object rng-random', 'id'),
    ('-object rng-random,id=x,filename=/nonesuch', '/nonesuch'),
    ('-object memory-backend-ram,id=x', 'size'), ('-object memory-backend-ram,id=x,size=4097', '4097'),
    ('-M memory-backend=nonesuch', "'nonesuch'"), ('-object secret,id=x', 'data'),
    ('-initrd /etc/passwd', '-initrd.*-kernel'), ('-append x', '-append.*-kernel'),
    ('-kernel /nonesuch', '/nonesuch'), ('-kernel %(dir)s/disk', 'disk'), ('-bios /nonesuch', '/nonesuch'),
    ('-dtb %(dir)s/disk', '-dtb'), ('-uuid x', '-uuid x'), ('-rtc base=nonsense', 'base=nonsense'),
    ('-boot nonesuch=1', 'nonesuch=1'), ('-name nonesuch=1', 'nonesuch=1'), ('-global nonesense', 'nonesense'),
    ('-global virtio-rng-device.nonesuch=1', 'nonesuch'), ('-fw_cfg opt/x', 'opt/x'),
    ('-fw_cfg opt/x,file=/nonesuch', '/nonesuch'), ('-echr x', '-echr x'), ('-msg nonesuch=1', 'nonesuch=1'),
    ('-action panic=nonesuch', 'panic=nonesuch'), ('-action nonesuch=1', 'nonesuch=1'),
    ('-run-with nonesuch=1', 'nonesuch=1'), ('-run-with user=nonesuch', 'nonesuch'), ('-sandbox nonesuch', 'nonesuch'),
    ('-overcommit cpu-pm=on', 'cpu-pm=on'), ('-add-fd fd=77,set=1', 'fd=77'), ('-add-fd set=1', 'fd='),
    ('-numa cpu,node-id=0', '-numa cpu'), ('-d nonesuch', 'nonesuch'), ('-D /nonesuch/x -d unimp', '/nonesuch/x'),
    ('-incoming nonesuch:1', 'nonesuch'), ('-incoming tcp:nonsense', 'nonsense'),
    ('-incoming defer -incoming defer', '-incoming'), ('-pidfile /nonesuch/pid', '/nonesuch/pid'),
    ('-qtest nonesuch', 'nonesuch'), ('-qtest-log /nonesuch/x -qtest null', '/nonesuch/x'),
    # Known, and not there: the message says what would work.
    ('-display gtk', '-display gtk.*-display none'), ('-vga std', '-vga std.*-vga none'), ('-vnc 0', '-vnc 0: expected none'),
    ('-spice port=1', '-spice'), ('-gdb tcp::1', '-gdb'), ('-smbios type=1', '-smbios'), ('-tpmdev x', '-tpmdev'),
    ('-fsdev local,id=x', '-fsdev.*virtio-blk'), ('-virtfs local', '-virtfs'), ('-readconfig x', '-readconfig'),
    ('-loadvm x', '-loadvm.*-incoming'), ('-icount 3', '-icount'), ('-preconfig', '-preconfig.*-S'),
    ('-audiodev pa,id=x', '-audiodev pa.*none'), ('-usbdevice tablet', '-usbdevice'), ('-trace x', '-trace.*-d'),
)


class CommandLineTest(FunctionalTest):
    """Runs the binary with arguments of its own."""

    accel = 'qtest'
    needs_guests = False

    def setUp(self):
        super().setUp()
        self.require_tidemark('the rows name its machine and its texts')
        pathlib.Path(self.path('disk')).write_bytes(bytes(1 << 20))

    def words(self, text):
        return [word.replace('%(dir)s', self.dir) for word in text.split()]

    def run_to_end(self, *args, timeout=20, **kwargs):
        """Run until the process ends by itself; returns status, stdout and stderr."""
        done = subprocess.run([self.binary, *args], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=timeout, check=False, **kwargs)
        return done.returncode, done.stdout, done.stderr

    @contextlib.contextmanager
    def running(self, *args, **kwargs):
        """Start a process with a QMP monitor; ends with quit if it still runs."""
        path = self.path('qmp')
        pathlib.Path(path).unlink(missing_ok=True)
        with open(self.path('stderr'), 'w+', encoding='utf-8') as stderr:
            process = subprocess.Popen(
                [self.binary, *args, '-qmp', 'unix:%s,server=on,wait=off' % path], stdin=subprocess.DEVNULL,
                stdout=stderr, stderr=stderr, preexec_fn=host.die_with_parent, **kwargs)
            try:
                qmp = QMP(path, alive=lambda: process.poll() is None)
                try:
                    yield process, qmp
                    if process.poll() is None:
                        with contextlib.suppress(QMPClosed):
                            qmp.cmd('quit')
                finally:
                    qmp.close()
                process.wait(20)
            except (OSError, QMPClosed) as err:
                raise AssertionError('%s: %s' % (err, self.stderr())) from err
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def stderr(self):
        return pathlib.Path(self.path('stderr')).read_text('utf-8')


class CommandLine(CommandLineTest):
    def test_help(self):
        for args, patterns in HELP:
            with self.subTest(args=args):
                status, out, err = self.run_to_end(*args.split())
                self.assertEqual((status, err), (0, ''))
                for pattern in patterns:
                    self.assertRegex(out, pattern)

    def test_accelerators_are_listed_one_a_line_below_a_heading(self):
        _, out, _ = self.run_to_end('-accel', 'help')
        heading, *names = out.splitlines()
        self.assertIn(' ', heading)
        self.assertEqual([name for name in names if not re.fullmatch(r'\w+', name)], [])

    def test_starts(self):
        for args in STARTS:
            with self.subTest(args=args):
                with self.running(*self.words(args)) as (process, _):
                    pass
                self.assertEqual(process.returncode, 0)
                noise = [line for line in self.stderr().splitlines()
                         if not re.search('accel|falling back|pty', line)]
                self.assertEqual(noise, [])

    def test_warns(self):
        for args, pattern in WARNS:
            with self.subTest(args=args):
                base = '-M microvm -nodefaults' + ('' if '-accel' in args else ' -accel qtest')
                with self.running(*(base + ' ' + args).split()):
                    pass
                self.assertRegex(self.stderr(), pattern)

    def test_refused(self):
        for args, pattern in REFUSED:
            with self.subTest(args=args):
                base = [] if not args or args.startswith('-M nonesuch') else ['-M', 'microvm', '-nodefaults']
                base += [] if '-accel' in args else ['-accel', 'qtest']
                status, out, err = self.run_to_end(*base, *self.words(args))
                self.assertEqual((status, out), (1, ''))
                self.assertRegex(err, pattern)
                errors = [line for line in err.splitlines() if 'warning' not in line]
                self.assertEqual(len(errors), 1, err)
                self.assertTrue(errors[0].startswith(self.binary + ': '), err)

    def test_repeated_machine_options_merge_and_the_last_value_counts(self):
        with self.running('-machine', 'microvm,rtc=off,pic=off', '-M', 'accel=qtest', '-machine', 'rtc=on',
                          '-nodefaults') as (_, qmp):
            values = [qmp.cmd('qom-get', path='/machine', property=p) for p in ('rtc', 'pic', 'acpi')]
        self.assertEqual(values, ['on', 'off', 'auto'])

    def test_last_cpu_counts(self):
        with self.running(*QTEST.split(), '-cpu', 'nonesuch', '-cpu', 'qemu64,-sse2') as (_, qmp):
            cpu = qmp.cmd('query-cpus-fast')[0]
            self.assertEqual(cpu['qom-type'], 'qemu64-x86_64-cpu')
            self.assertIs(qmp.cmd('qom-get', path=cpu['qom-path'], property='sse2'), False)

    def test_sizes(self):
        for text, size in (('1.5G', 3 << 29), ('64', 64 << 20), ('64M', 64 << 20), ('1g', 1 << 30),
                           ('size=65536k', 64 << 20)):
            with self.subTest(m=text):
                with self.running(*QTEST.split(), '-m', text) as (_, qmp):
                    self.assertEqual(qmp.cmd('query-memory-size-summary')['base-memory'], size)

    def test_hostfwd_error_names_address_port_and_cause(self):
        with socket.socket() as busy:
            busy.bind(('127.0.0.1', 0))
            busy.listen()
            port = busy.getsockname()[1]
            status, _, err = self.run_to_end(
                *QTEST.split(), '-netdev', 'user,id=n,hostfwd=tcp:127.0.0.1:%d-:80' % port)
        self.assertEqual(status, 1)
        self.assertRegex(err, r'127\.0\.0\.1:%d.*Address already in use' % port)
        status, _, err = self.run_to_end(
            *QTEST.split(), '-netdev', 'user,id=n,hostfwd=tcp:192.0.2.1:8080-:80')
        self.assertEqual(status, 1)
        self.assertRegex(err, r'192\.0\.2\.1:8080.*Cannot assign requested address')

    def test_add_fd(self):
        with open('/dev/null', 'rb') as null:
            with self.running(*QTEST.split(), '-add-fd', 'fd=%d,set=3,opaque=nothing' % null.fileno(),
                              pass_fds=[null.fileno()]) as (_, qmp):
                sets = qmp.cmd('query-fdsets')
        self.assertEqual([(s['fdset-id'], s['fds'][0]['opaque']) for s in sets], [(3, 'nothing')])

    def test_monitor_on_an_inherited_listening_socket(self):
        path = self.path('given')
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen(1)
            process = subprocess.Popen(
                [self.binary, *QTEST.split(), '-chardev', 'socket,id=m,fd=%d,server=on,wait=off' % listener.fileno(),
                 '-mon', 'chardev=m,mode=control'], pass_fds=[listener.fileno()], preexec_fn=host.die_with_parent)
        qmp = QMP(path)
        qmp.cmd('quit')
        self.assertEqual(process.wait(20), 0)
        qmp.close()

    def test_signals_end_with_status_0(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(signal=number):
                with self.running(*QTEST.split(), '-no-shutdown') as (process, qmp):
                    process.send_signal(number)
                    event = qmp.wait_event('SHUTDOWN')
                    self.assertEqual(event['data'], {'guest': False, 'reason': 'host-signal'})
                    self.assertEqual(process.wait(20), 0)

    def test_exits_with_its_parent(self):
        script = '"$0" "$@" & echo $!'
        done = subprocess.run(['sh', '-c', script, self.binary, *QTEST.split(), '-pidfile', self.path('pid'),
                               '-run-with', 'exit-with-parent=on'],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, timeout=20, check=True)
        pid, deadline = int(done.stdout), time.monotonic() + 10
        with contextlib.suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                if pathlib.Path('/proc/%d/stat' % pid).read_text('ascii').split()[2] == 'Z':
                    return
                os.kill(pid, 0)
                time.sleep(0.05)
            os.kill(pid, signal.SIGKILL)
            self.fail('the emulator outlived its parent')

    def test_pidfile_goes_with_the_process(self):
        with self.running(*QTEST.split(), '-pidfile', self.path('pid')) as (process, _):
            self.assertEqual(int(pathlib.Path(self.path('pid')).read_text('ascii')), process.pid)
            status, _, err = self.run_to_end(*QTEST.split(), '-pidfile', self.path('pid'))
            self.assertEqual(status, 1)
            self.assertRegex(err, '-pidfile .*another process')
        self.assertFalse(os.path.exists(self.path('pid')))


class Daemon(CommandLineTest):
    """-daemonize: the parent's exit means that everything is set up."""

    def daemonize(self, *args):
        status, out, err = self.run_to_end(*QTEST.split(), '-daemonize', '-pidfile', self.path('pid'), *args)
        return status, out + err

    def test_parent_returns_when_the_sockets_exist(self):
        path = self.path('d')
        status, text = self.daemonize('-qmp', 'unix:%s,server=on,wait=off' % path)
        self.assertEqual((status, text), (0, ''))
        pid = int(pathlib.Path(self.path('pid')).read_text('ascii'))
        self.addCleanup(self._kill, pid)
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(path)  # no retry: it must be there
        self.assertEqual(os.readlink('/proc/%d/fd/0' % pid), '/dev/null')
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        qmp = QMP(path)
        qmp.cmd('quit')
        qmp.close()
        deadline = time.monotonic() + 20
        while os.path.exists(self.path('pid')):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    @staticmethod
    def _kill(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def test_errors_reach_the_terminal(self):
        for args, pattern in ((('-device', 'nonesuch'), 'nonesuch'), (('-pidfile', '/nonesuch/x'), '/nonesuch/x'),
                              (('-incoming', 'tcp:192.0.2.1:1'), r'192\.0\.2\.1')):
            with self.subTest(args=args):
                status, text = self.daemonize(*args)
                self.assertEqual(status, 1)
                self.assertRegex(text, pattern)


class Exits(CommandLineTest):
    """What happens, and is told, when the guest ends; a test plays the guest through qtest."""

    # Registers of microvm's power management and of the panic device.
    SLEEP, RESET, PVPANIC = 0xfea00200, 0xfea00202, 0x505
    POWER_OFF, DO_RESET = 0x34, 0x42

    @contextlib.contextmanager
    def guest(self, *args):
        """Yields process, QMP and qtest."""
        path = self.path('qtest')
        pathlib.Path(path).unlink(missing_ok=True)
        qtest = QTest(path)
        try:
            with self.running(*QTEST.split(), '-device', 'pvpanic', '-qtest', 'unix:' + path, *args) as (process, qmp):
                yield process, qmp, qtest
        finally:
            qtest.close()

    def events(self, qmp, *names):
        """Names of the events, of those given, that came up to the last one."""
        last = qmp.wait_event(names[-1])
        return [event['event'] for event in qmp.events + [last] if event['event'] in names]

    def test_isa_debug_exit(self):
        for value, status in ((0, 1), (0x10, 33), (0x31, 99)):
            with self.subTest(value=value):
                with self.guest('-device', 'isa-debug-exit,iobase=0xf4,iosize=0x4') as (process, _, qtest):
                    qtest.command('outl 0xf4 %d' % value)
                    self.assertEqual(process.wait(20), status)

    def test_testdev_exit(self):
        with self.guest('-chardev', 'testdev,id=t', '-serial', 'chardev:t') as (process, _, qtest):
            for byte in b'5q':
                qtest.command('outb 0x3f8 %d' % byte)
            self.assertEqual(process.wait(20), 11)

    def test_escape_of_the_terminal(self):
        process = subprocess.Popen([self.binary, '-M', 'microvm', '-accel', 'qtest', '-nographic', '-no-shutdown'],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=host.die_with_parent)
        self.addCleanup(process.stdout.close)
        process.stdin.write(b'\x01x')
        process.stdin.flush()
        self.assertEqual(process.wait(20), 0)
        process.stdin.close()

    def test_power_off(self):
        with self.guest() as (process, qmp, qtest):
            qtest.command('writeb 0x%x 0x%x' % (self.SLEEP, self.POWER_OFF))
            self.assertEqual(qmp.wait_event('SHUTDOWN')['data'], {'guest': True, 'reason': 'guest-shutdown'})
            self.assertEqual(process.wait(20), 0)

    def test_power_off_with_no_shutdown(self):
        for option in (['-no-shutdown'], ['-action', 'shutdown=pause']):
            with self.subTest(option=option):
                with self.guest(*option) as (process, qmp, qtest):
                    qtest.command('writeb 0x%x 0x%x' % (self.SLEEP, self.POWER_OFF))
                    self.assertEqual(self.events(qmp, 'SHUTDOWN', 'STOP'),
                                     ['SHUTDOWN', 'STOP'])
                    self.assertEqual(qmp.cmd('query-status'), {'running': False, 'status': 'shutdown'})
                    with self.assertRaises(QMPError):
                        qmp.cmd('cont')
                    qmp.cmd('system_reset')
                    qmp.wait_event('RESET')
                    self.assertEqual(qmp.cmd('query-status')['status'], 'paused')
                    qmp.cmd('cont')
                    qmp.wait_event('RESUME')
                    self.assertIsNone(process.poll())

    def test_reset(self):
        with self.guest() as (process, qmp, qtest):
            qtest.command('writeb 0x%x 0x%x' % (self.RESET, self.DO_RESET))
            self.assertEqual(qmp.wait_event('RESET')['data'], {'guest': True, 'reason': 'guest-reset'})
            qmp.cmd('system_reset')
            self.assertEqual(qmp.wait_event('RESET')['data'], {'guest': False, 'reason': 'host-qmp-system-reset'})
            self.assertIsNone(process.poll())

    def test_no_reboot(self):
        for option in (['-no-reboot'], ['-action', 'reboot=shutdown']):
            with self.subTest(option=option):
                with self.guest(*option) as (process, qmp, qtest):
                    qmp.cmd('system_reset')  # the user's own is none of the guest's
                    qmp.wait_event('RESET')
                    qtest.command('writeb 0x%x 0x%x' % (self.RESET, self.DO_RESET))
                    self.assertEqual(qmp.wait_event('SHUTDOWN')['data'], {'guest': True, 'reason': 'guest-reset'})
                    self.assertEqual(process.wait(20), 0)

    def test_panic(self):
        rows = (([], 'poweroff', 0), (['-action', 'panic=exit-failure'], 'poweroff', 1),
                (['-action', 'panic=pause'], 'pause', None), (['-no-shutdown'], 'pause', None),
                (['-action', 'panic=none'], 'run', None))
        for option, action, status in rows:
            with self.subTest(option=option):
                with self.guest(*option) as (process, qmp, qtest):
                    qtest.command('outb 0x%x 1' % self.PVPANIC)
                    self.assertEqual(qmp.wait_event('GUEST_PANICKED')['data'], {'action': action})
                    if status is not None:
                        self.assertEqual(self.events(qmp, 'STOP', 'SHUTDOWN'),
                                         ['STOP', 'SHUTDOWN'])
                        self.assertEqual(process.wait(20), status)
                    elif action == 'pause':
                        qmp.wait_event('STOP')
                        self.assertEqual(qmp.cmd('query-status')['status'], 'guest-panicked')
                    else:
                        self.assertEqual(qmp.cmd('query-status')['status'], 'running')

    def test_crash_kernel(self):
        with self.guest() as (_, qmp, qtest):
            qtest.command('outb 0x%x 2' % self.PVPANIC)
            self.assertEqual(qmp.wait_event('GUEST_CRASHLOADED')['data'], {'action': 'run'})
            self.assertEqual(qmp.cmd('query-status')['status'], 'running')

    def test_states(self):
        with self.guest('-S') as (_, qmp, _):
            self.assertEqual(qmp.cmd('query-status'), {'running': False, 'status': 'prelaunch'})
            qmp.cmd('cont')
            self.assertEqual(qmp.cmd('query-status'), {'running': True, 'status': 'running'})
            qmp.cmd('cont')  # no effect, no event
            qmp.cmd('stop')
            qmp.cmd('stop')
            self.assertEqual(qmp.cmd('query-status'), {'running': False, 'status': 'paused'})
            self.assertEqual([event['event'] for event in qmp.poll_events()], ['RESUME', 'STOP'])


if __name__ == '__main__':
    main()
