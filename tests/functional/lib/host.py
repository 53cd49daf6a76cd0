"""What the tests need to know about the host and the build."""

import ctypes
import fcntl
import functools
import os
import pathlib
import signal
import subprocess
import tempfile

REPO = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get('TIDEMARK_BUILD', REPO / 'build')).resolve()

_KVM_CREATE_VM = 0xae01
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def binary(arch='x86_64'):
    """The emulator under test: the one in the build directory, or as $TIDEMARK_QEMU says.

    That names one binary; another architecture's is looked for beside it.
    """
    name = 'qemu-system-' + arch
    other = os.environ.get('TIDEMARK_QEMU')
    if other:
        return str(pathlib.Path(other).with_name(name))
    for folder in ('.', 'system'):
        if (BUILD / folder / name).exists():
            return str(BUILD / folder / name)
    return str(BUILD / name)


@functools.lru_cache
def version(path):
    """What the binary prints for --version; empty if it cannot be run."""
    try:
        return subprocess.run([path, '--version'], capture_output=True, text=True,
                              timeout=30, check=False).stdout
    except OSError:
        return ''


def build_lacks(path):
    """Whether the build was configured without that emulator, so that it cannot be there."""
    try:
        rules = (BUILD / 'build.ninja').read_text('utf-8')
    except OSError:
        return False
    return 'build %s:' % pathlib.Path(path).name not in rules


def is_tidemark(path):
    """False for another emulator that is run for comparison."""
    return 'tidemark' in version(path).lower()


@functools.lru_cache
def qemu(arch, wanted):
    """QEMU's emulator of that version ('7.2') to move guests from and to, or None.

    $TIDEMARK_QEMU_7_2 may name it; else it is looked for among the host's programs and in the cache.
    """
    name = 'qemu-system-' + arch
    cache = pathlib.Path(os.environ.get('TIDEMARK_CACHE', '~/.cache/tidemark')).expanduser()
    for path in (os.environ.get('TIDEMARK_QEMU_' + wanted.replace('.', '_')), '/usr/bin/' + name,
                 *sorted(str(p) for p in cache.glob('qemu*/' + name))):
        if path and ('version %s.' % wanted) in version(path) and not is_tidemark(path):
            return path
    return None


@functools.lru_cache
def has_device(path, name):
    """Whether the emulator lists a device type."""
    try:
        listed = subprocess.run([path, '-M', 'none', '-device', 'help'], timeout=30,
                                capture_output=True, text=True, check=False)
    except OSError:
        return False
    return 'name "%s"' % name in listed.stdout


@functools.lru_cache
def virt_has_serial(path):
    """Whether the device tree of an emulator's machine virt tells of a serial port."""
    with tempfile.NamedTemporaryFile() as tree:
        subprocess.run([path, '-display', 'none', '-M', 'virt,dumpdtb=' + tree.name], timeout=30,
                       capture_output=True, check=False)
        return b'arm,pl011' in pathlib.Path(tree.name).read_bytes()


@functools.lru_cache
def kvm_problem():
    """Why KVM cannot be used here, or None."""
    try:
        with open('/dev/kvm', 'rb+', buffering=0) as kvm:
            os.close(fcntl.ioctl(kvm, _KVM_CREATE_VM, 0))
    except OSError as err:
        return '/dev/kvm: %s' % err.strerror
    return None


def guest(name, arch='x86_64'):
    """Path of a test guest of the build."""
    suffix = '.elf' if arch == 'x86_64' else '-%s.bin' % arch
    return BUILD / 'tests' / 'guests' / (name + suffix)


def helper(name):
    """Path of a helper program or library that the build made for these tests."""
    return BUILD / 'tests' / 'functional' / name


def die_with_parent():
    """For preexec_fn: a test that is killed takes its emulators along."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def resident_bytes(pid):
    """Resident set of a process, shared pages included."""
    with open('/proc/%d/smaps_rollup' % pid, encoding='ascii') as rollup:
        for line in rollup:
            if line.startswith('Rss:'):
                return int(line.split()[1]) * 1024
    raise OSError('no Rss in smaps_rollup')


def fd_count(pid):
    return len(os.listdir('/proc/%d/fd' % pid))
