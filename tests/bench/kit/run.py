"""One migration, measured from outside."""

import os
import time

from lib import host, migration
from lib.machine import Machine
from lib.sockets import free_port

from . import process

BEAT_MS = 2                 # the guest's heartbeat; a gap is known no better than this
DOWNTIME_LIMIT_MS = 300
NO_LIMIT = 100 << 30        # bytes a second; QEMU 7.2 takes no 0
_STAT = r'STAT pass=\d+ written=(\d+) ns=\d+ host_ns=\d+\n'


class DidNotEnd(Exception):
    """The migration does not converge here; how far it came is the text."""


class Run:
    """Two machines of one emulator; measure() moves the guest from the first to the second."""

    def __init__(self, folder, binary, case, transport, mode):
        self.case, self.transport = case, transport
        self.folder = folder
        ours = host.is_tidemark(binary)
        self.counters, self.machines = [], []
        try:
            self.uri = self._uri()
            for name, incoming in (('source', None), ('target', self.uri)):
                counters = process.IoctlCounters(os.path.join(folder, name + '.counters'),
                                                 host.BUILD / 'tests' / 'bench' / 'count-ioctl.so')
                self.counters.append(counters)
                self.machines.append(Machine(
                    folder, name, binary=binary, memory=case.memory, incoming=incoming,
                    accel=mode.ours if ours else mode.qemu,
                    append='%s beat=%d' % (case.guest, BEAT_MS),
                    env=counters.environment(None if ours else mode.qemu_protect)))
        except Exception:
            self.close()
            raise
        self.source, self.target = self.machines
        self.vcpus = [process.vcpu_threads(machine) for machine in self.machines]

    def _uri(self):
        if self.transport == 'unix':
            return 'unix:%s/migrate' % self.folder
        return 'tcp:127.0.0.1:%d' % free_port()

    def close(self):
        for thing in self.machines + self.counters:
            thing.close()

    def _usage(self):
        return [process.usage(machine.pid, vcpus, counters) for machine, vcpus, counters
                in zip(self.machines, self.vcpus, self.counters)]

    def _written(self, machine):
        return int(machine.serial.command('s', _STAT).group(1))

    def _speed_before(self):
        """Pages a second, and a second of vCPU time, while nobody tracks."""
        first, before = self._written(self.source), self._usage()[0]
        time.sleep(1)
        pages, used = self._written(self.source) - first, self._usage()[0] - before
        return pages / used.wall, pages / used.vcpu

    def _ended(self, machine, timeout):
        """Wait for the event, so that asking costs the emulator nothing."""
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            event = machine.qmp.wait_event('MIGRATION', timeout=left)
            status = event['data']['status']
            if status in migration.ENDED:
                return status

    def _wait(self, timeout):
        try:
            status = self._ended(self.source, timeout)
            if status == 'completed':
                self._ended(self.target, 30)
        except TimeoutError:
            status = migration.status(self.source)
        info = self.source.qmp.cmd('query-migrate')
        if status != 'completed':
            raise DidNotEnd('%s after %d passes, %d MiB, %.1f s: %s' % (
                status, info['ram']['dirty-sync-count'], info['ram']['transferred'] >> 20,
                info.get('total-time', 0) / 1000, info.get('error-desc', '')))
        return info

    def measure(self, timeout):
        """Returns a flat dict of numbers; times in ms and CPU time in s."""
        self.source.wait_ready()
        for machine in self.machines:
            migration.set_capabilities(machine, events=True)
        migration.set_parameters(self.source, max_bandwidth=NO_LIMIT,
                                 downtime_limit=DOWNTIME_LIMIT_MS)
        speed = self._speed_before() if self.case.hot else None
        process.warm(self.source.memory)
        written = self._written(self.source)
        before = self._usage()
        migration.start(self.source, self.uri)
        info = self._wait(timeout)
        after = self._usage()
        written = self._written(self.target) - written if self.case.hot else None
        self.target.serial.wait(r'\.\.\.')
        source, target = (new - old for new, old in zip(after, before))
        result = self._result(info, source, target)
        if self.case.hot:
            result |= self._slowdown(speed, written, source, target)
        if self.case.hot and self.source.memory <= 1 << 31:
            self.target.check_guest()
        return result

    def _gap_ms(self):
        """Between the last heartbeat here and the first one there, as it arrived."""
        before, after = (machine.serial.arrivals(r'\.') for machine in self.machines)
        return (after[0][0] - before[-1][0]) * 1000

    def _result(self, info, source, target):
        clear, region = source.ioctls['clear'], source.ioctls['log-on']
        get, reset = source.ioctls['get'], source.ioctls['reset']
        return {
            'total': info['total-time'], 'setup': info.get('setup-time', 0),
            'downtime': info['downtime'], 'gap': self._gap_ms(),
            'source cpu': source.cpu, 'target cpu': target.cpu, 'cpu': source.cpu + target.cpu,
            'vcpu': source.vcpu, 'faults': source.faults + target.faults,
            'target faults': target.faults,
            'passes': info['ram']['dirty-sync-count'], 'sent': info['ram']['transferred'] / 1e6,
            'start calls': region[0], 'start': region[1] / 1e6,
            'get calls': get[0], 'get': get[1] / 1e6,
            'clear calls': clear[0], 'clear': clear[1] / 1e6, 'clear longest': clear[2] / 1e6,
            'clear pages': clear[3], 'reset calls': reset[0], 'reset': reset[1] / 1e6,
        } | {'x-downtime ' + part: ns / 1e6 for part, ns in info.get('x-downtime', {}).items()}

    def _slowdown(self, speed, written, source, target):
        wall, cpu = speed
        return {'pages/s': written / source.wall / wall,
                'pages/vcpu-s': written / (source.vcpu + target.vcpu) / cpu}
