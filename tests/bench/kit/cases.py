"""What is migrated, and how writes are tracked."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    text: str
    memory: str
    guest: str      # options of the test guest 'writer'
    hot: bool       # it writes; an idle one is paused when it has filled its memory


CASES = {case.name: case for case in (
    Case('idle', '2 GiB, nothing in it', '2G', 'window=64K', False),
    Case('fill1g', '2 GiB, 1 GiB filled', '2G', 'window=64K fill=1G', False),
    Case('hot256', '2 GiB, 256 MiB written at 100 MiB/s', '2G', 'window=256M fill=256M rate=100', True),
    Case('hot1g', '2 GiB, 1 GiB written at 100 MiB/s', '2G', 'window=1G fill=1G rate=100', True),
    Case('hot256-max', '2 GiB, 256 MiB written without pause', '2G', 'window=256M fill=256M', True),
    Case('hot1g-max', '2 GiB, 1 GiB written without pause', '2G', 'window=1G fill=1G', True),
)}

TRANSPORTS = ('unix', 'tcp')


@dataclasses.dataclass(frozen=True)
class Mode:
    """A way to track writes: -accel options of ours and of QEMU, and what QEMU must not see."""
    name: str
    ours: str
    qemu: str
    qemu_protect: int = None


# QEMU takes the best protocol that the kernel has; the shim hides the better ones from it.
MODES = {mode.name: mode for mode in (
    Mode('default', 'kvm', 'kvm'),
    Mode('legacy', 'kvm,dirty-log-protect=legacy', 'kvm', 0),
    Mode('manual', 'kvm,dirty-log-protect=manual', 'kvm', 1),
    Mode('initially-set', 'kvm,dirty-log-protect=manual-initially-set', 'kvm', 3),
    Mode('ring', 'kvm,dirty-ring-size=65536', 'kvm,dirty-ring-size=65536'),
)}
