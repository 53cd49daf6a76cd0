"""What a process has used so far: CPU time, page faults, dirty-tracking ioctls."""

import dataclasses
import mmap
import pathlib
import struct
import time

from lib.qmp import QMPError

# The order and layout of tests/bench/count-ioctl.c: calls, ns, max_ns, pages.
COUNTERS = ('get', 'clear', 'reset', 'set-region', 'log-on')
_COUNTER = struct.Struct('=4Q')
_FILE_BYTES = 4096


class IoctlCounters:
    """The counters that the preloaded library keeps in a shared file."""

    def __init__(self, path, library):
        self.path, self.library = path, library
        with open(path, 'w+b') as file:
            file.truncate(_FILE_BYTES)
            self._map = mmap.mmap(file.fileno(), _FILE_BYTES, prot=mmap.PROT_READ)

    def environment(self, protect=None):
        """Variables for the process; protect cuts down what the kernel offers (see the library)."""
        env = {'LD_PRELOAD': str(self.library), 'COUNT_IOCTL_FILE': str(self.path)}
        if protect is not None:
            env['COUNT_IOCTL_PROTECT'] = str(protect)
        return env

    def read(self):
        """{name: (calls, ns, longest ns, pages)}."""
        return {name: _COUNTER.unpack_from(self._map, i * _COUNTER.size)
                for i, name in enumerate(COUNTERS)}

    def close(self):
        self._map.close()


_MADV_POPULATE_WRITE = 23       # Linux, asm-generic/mman-common.h


def warm(size):
    """Touch and free memory, so that what a receiver allocates next is there already.

    A virtual machine that hands free memory back to its host pays for fresh memory many times what
    it costs to clear it, and not every run gets as much fresh memory as the others.
    """
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as area:
        area.madvise(mmap.MADV_HUGEPAGE)
        area.madvise(_MADV_POPULATE_WRITE)


def _cpu_clock(pid):
    """Nanosecond CPU time of a whole process, ended threads included (clock_getcpuclockid)."""
    return time.clock_gettime(~pid << 3 | 2)


def vcpu_threads(machine):
    """Thread ids of the vCPUs, by QMP or, where it lacks the command, by the names of the threads."""
    try:
        return [cpu['thread-id'] for cpu in machine.qmp.cmd('query-cpus-fast')]
    except QMPError:
        tasks = pathlib.Path('/proc/%d/task' % machine.pid)
        return [int(task.name) for task in tasks.iterdir()
                if (task / 'comm').read_text('ascii').startswith('CPU ')]


@dataclasses.dataclass
class Usage:
    """A snapshot, or with '-' the difference of two."""

    wall: float         # seconds
    cpu: float          # all threads but the vCPUs', seconds
    vcpu: float         # seconds
    faults: int         # page faults
    ioctls: dict        # as IoctlCounters.read(); the longest call is never a difference

    def __sub__(self, old):
        ioctls = {name: (new[0] - old.ioctls[name][0], new[1] - old.ioctls[name][1], new[2],
                         new[3] - old.ioctls[name][3]) for name, new in self.ioctls.items()}
        return Usage(self.wall - old.wall, self.cpu - old.cpu, self.vcpu - old.vcpu,
                     self.faults - old.faults, ioctls)


def usage(pid, vcpus, counters):
    """What the process has used; vcpus are thread ids."""
    vcpu = sum(int(pathlib.Path('/proc/%d/task/%d/schedstat' % (pid, tid)).read_text('ascii').split()[0])
               for tid in vcpus) / 1e9
    fields = pathlib.Path('/proc/%d/stat' % pid).read_text('ascii').rsplit(')', 1)[1].split()
    return Usage(time.monotonic(), _cpu_clock(pid) - vcpu, vcpu, int(fields[7]) + int(fields[9]),
                 counters.read())
