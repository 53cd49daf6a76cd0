"""The ways to track writes of a guest, as -accel options, and which of them can be tested here."""

from . import host

LOG_MODES = ('legacy', 'manual', 'manual-initially-set')
RING_SIZES = (1024, 4096, 65536)


def modes(binary):
    """Every mode of the emulator as (name, -accel argument)."""
    if host.is_tidemark(binary):
        log = [('log-' + mode, 'kvm,dirty-log-protect=' + mode) for mode in LOG_MODES]
    else:
        log = [('log', 'kvm')]
    return log + [('ring-%d' % size, 'kvm,dirty-ring-size=%d' % size) for size in RING_SIZES]


def ring_of(accel):
    """Ring size of an -accel argument, 0 for the log."""
    _, found, size = accel.partition('dirty-ring-size=')
    return int(size.split(',')[0]) if found else 0
