"""Private libvirt daemons on this machine, each in namespaces of its own.

A daemon sees its own directory in place of each of libvirt's and of PORTS, so that a domain's serial
port is another socket on either side of a migration. Nothing of a libvirt that is installed or runs is
touched; close() ends what was started, by process id.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import time

from . import host
from .serial import Serial
from .testcase import FunctionalTest

NAME = 'tide'   # of the domain
UUID = '71de71de-0000-4000-8000-000000000001'

# (folder below the daemon's own directory, where the daemon sees it)
PLACES = (('etc', '/etc/libvirt'), ('run', '/run/libvirt'), ('lib', '/var/lib/libvirt'),
          ('cache', '/var/cache/libvirt'), ('log', '/var/log/libvirt'))

QEMU_CONF = '''
user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
security_default_confined = 0
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
seccomp_sandbox = {sandbox}
max_core = 0
migration_port_min = {port}
migration_port_max = {last_port}
'''

LIBVIRTD_CONF = '''
unix_sock_dir = "{dir}/sock"
unix_sock_rw_perms = "0700"
auth_unix_ro = "none"
auth_unix_rw = "none"
host_uuid = "{uuid}"
log_level = 3
log_filters = "{level}:qemu_monitor_json 3:*"
log_outputs = "1:file:{dir}/log/libvirtd.log"
'''

DOMAIN = '''<domain type='{type}'><name>{name}</name><uuid>{uuid}</uuid>
<memory unit='MiB'>{memory}</memory><vcpu>{vcpus}</vcpu>
<os{os_attributes}><type arch='{arch}' machine='{machine}'>hvm</type>{boot}</os>
<features>{features}</features>{cpu}<clock offset='utc'/>
<on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
<devices><emulator>{emulator}</emulator>{devices}</devices></domain>
'''


class VirshError(Exception):
    """virsh ended with an error; the text is what it printed."""


def problem():
    """Why libvirt cannot be run here, or None."""
    if os.getuid():
        return 'only root can give libvirtd its namespaces'
    missing = [p for p in ('libvirtd', 'virsh', 'unshare') if not shutil.which(p, path=_path())]
    if missing:
        return 'not installed: ' + ', '.join(missing)
    done = subprocess.run(['unshare', '-m', '-u', 'true'], capture_output=True, text=True, check=False)
    return done.stderr.strip() or None


def _path():
    return os.environ.get('PATH', '') + ':/usr/sbin:/sbin'


class Daemon:
    """One libvirtd, as if it were the only one of a host."""

    def __init__(self, directory, tag, index, arch, sandbox=1, trace=False):
        """Start it below directory; index tells daemons of a test apart (host name, ports)."""
        self.dir = pathlib.Path(directory) / tag
        self.ports = pathlib.Path(directory) / 'ports'
        self.emulator = pathlib.Path(directory) / 'bin' / ('qemu-system-' + arch)
        self._pidfile = self.dir / 'libvirtd.pid'
        for folder in [p[0] for p in PLACES] + ['ports', 'sock']:
            (self.dir / folder).mkdir(parents=True)
        self.ports.mkdir(exist_ok=True)
        self.emulator.parent.mkdir(exist_ok=True)
        if not self.emulator.exists():
            self.emulator.symlink_to(host.binary(arch))
        port = 49400 + 32 * index + os.getpid() % 128 * 64
        values = {'dir': self.dir, 'port': port, 'last_port': port + 31, 'sandbox': sandbox,
                  'uuid': '71de0000-0000-4000-8000-%012x' % (os.getpid() * 16 + index),
                  'level': 1 if trace else 3}
        (self.dir / 'etc' / 'qemu.conf').write_text(QEMU_CONF.format(**values), 'utf-8')
        (self.dir / 'etc' / 'libvirtd.conf').write_text(LIBVIRTD_CONF.format(**values), 'utf-8')
        self.uri = 'qemu+unix:///system?socket=%s/sock/libvirt-sock' % self.dir
        self._name = 'tidemark-' + tag
        self._start(self._name)

    def _start(self, name):
        (self.dir / 'hosts').write_text('127.0.0.1 localhost %s\n' % name, 'utf-8')
        lines = ['set -e', 'mount --make-rprivate /']
        for folder, place in PLACES + (('ports', self.ports),):
            lines += ['mkdir -p %s' % place, 'mount --bind %s/%s %s' % (self.dir, folder, place)]
        lines += ['mount --bind %s/hosts /etc/hosts' % self.dir, 'hostname ' + name,
                  # libvirtd probes every emulator that it finds in PATH
                  'export PATH=%s:/usr/sbin:/sbin' % self.emulator.parent,
                  'exec libvirtd -d -f %s/etc/libvirtd.conf -p %s' % (self.dir, self._pidfile)]
        env = {'HOME': str(self.dir), 'PATH': _path()}
        done = subprocess.run(['unshare', '-m', '-u', '/bin/sh', '-c', '\n'.join(lines)], env=env,
                              capture_output=True, text=True, timeout=60, check=False)
        deadline = time.monotonic() + 60
        while done.returncode == 0 and time.monotonic() < deadline:
            if self._virsh(('uri',)).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError('libvirtd did not start: %s%s' % (done.stderr, self.log()))

    def restart(self):
        """End the daemon, and start it again in the same namespaces' places."""
        for pid in list(self._pids()):
            if 'libvirtd' in pathlib.Path('/proc/%d/cmdline' % pid).read_text('ascii'):
                os.kill(pid, signal.SIGTERM)
                while pid in self._pids():
                    time.sleep(0.05)
        self._start(self._name)

    def log(self):
        """What the daemon has reported."""
        try:
            return (self.dir / 'log' / 'libvirtd.log').read_text('utf-8', 'replace')
        except OSError:
            return ''

    def guest_log(self, name):
        """Command lines and standard error of a domain's processes."""
        return (self.dir / 'log' / 'qemu' / (name + '.log')).read_text('utf-8', 'replace')

    def capabilities(self):
        """What libvirt keeps of its questions to the emulator, as XML."""
        files = list((self.dir / 'cache' / 'qemu' / 'capabilities').glob('*.xml'))
        return files[0].read_text('utf-8') if files else ''

    def _virsh(self, args, timeout=120):
        return subprocess.run(['virsh', '-q', '-c', self.uri, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False)

    def virsh(self, *args, timeout=120):
        """Run virsh with the arguments; returns what it prints."""
        done = self._virsh(args, timeout)
        if done.returncode:
            raise VirshError('virsh %s: %s' % (' '.join(args), done.stderr.strip()))
        return done.stdout.strip()

    def virsh_begin(self, *args):
        """Start virsh and do not wait; returns the process, whose stderr is text."""
        return subprocess.Popen(['virsh', '-q', '-c', self.uri, *args], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def define(self, name, **values):
        """Make a domain known; values fill the text above."""
        xml = self.dir / (name + '.xml')
        xml.write_text(DOMAIN.format(name=name, emulator=self.emulator, **values), 'utf-8')
        self.virsh('define', str(xml))

    def domain_pid(self, name):
        return int((self.dir / 'run' / 'qemu' / (name + '.pid')).read_text('ascii').split()[0])

    def _pids(self):
        for path in [*(self.dir / 'run' / 'qemu').glob('*.pid'), self._pidfile]:
            try:
                pid = int(path.read_text('ascii').split()[0])
                command = pathlib.Path('/proc/%d/cmdline' % pid).read_bytes()
            except (OSError, ValueError, IndexError):
                continue
            if b'libvirtd' in command or b'guest=' in command:
                yield pid

    def close(self):
        """End the domains and the daemon."""
        for signum in (signal.SIGTERM, signal.SIGKILL):
            for pid in list(self._pids()):
                try:
                    os.kill(pid, signum)
                except ProcessLookupError:
                    pass
            deadline = time.monotonic() + 10
            while any(True for _ in self._pids()):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.05)
            else:
                return


class LibvirtTest(FunctionalTest):
    """A test with private daemons and a domain."""

    arch = 'aarch64'
    accel = 'tcg'
    timeout = 300

    def setUp(self):
        why = problem()
        if why:
            self.skipTest('libvirt: ' + why)
        super().setUp()
        self.daemons = []

    def daemon(self, **kwargs):
        """Start one more; its .serial is the port of the domain when that runs there."""
        tag = 'ab'[len(self.daemons)]
        daemon = Daemon(self.dir, tag, len(self.daemons), self.arch, **kwargs)
        self.addCleanup(daemon.close)
        self.new_serial(daemon)
        self.daemons.append(daemon)
        return daemon

    def new_serial(self, daemon):
        """For the next process of the domain: each connects once."""
        path = daemon.dir / 'ports' / 'serial'
        path.unlink(missing_ok=True)
        daemon.serial = Serial(str(path))
        self.addCleanup(daemon.serial.close)
        return daemon.serial

    def define(self, daemon, append='window=16M rate=20', vcpus=1, devices='', qcow2=None, **kwargs):
        """A domain with the guest that checks its own memory; its serial port is daemon.serial.

        qcow2: path of an image for vda, instead of a raw one of 1 MiB.
        """
        boot = '<kernel>%s</kernel><cmdline>%s</cmdline>' % (host.guest('writer', self.arch), append)
        serial = ("<serial type='unix'><source mode='connect' path='%s/serial'/><target port='0'/></serial>"
                  % daemon.ports)
        disk = qcow2 or self.path('disk.raw')
        if not qcow2:
            with open(disk, 'wb') as f:
                f.truncate(1 << 20)
        disk = ("<disk type='file' device='disk'><driver name='qemu' type='%s' cache='none'/>"
                "<source file='%s'/><target dev='vda' bus='virtio'/></disk>" % ('qcow2' if qcow2 else 'raw', disk))
        values = {'type': 'qemu', 'uuid': UUID, 'memory': 128, 'vcpus': vcpus, 'arch': self.arch,
                  'machine': 'virt', 'boot': boot, 'os_attributes': '', 'features': "<gic version='3'/>",
                  'cpu': "<cpu mode='custom' match='exact' check='none'>"
                         "<model fallback='forbid'>cortex-a57</model></cpu>",
                  'devices': disk + serial + devices, **kwargs}
        daemon.define(NAME, **values)
