"""The ways to track writes of a KVM guest, as -accel options."""

from . import host

LOG_MODES = ('legacy', 'manual', 'manual-initially-set')
RING_SIZES = (1024, 4096, 65536)


def modes(binary):
    """Every mode of the emulator as (name, -accel argument)."""
    modes = [('log', 'kvm')]
    if host.is_tidemark(binary):
        modes += [('log-' + mode, 'kvm,dirty-log-protect=' + mode) for mode in LOG_MODES]
    return modes + [('ring-%d' % size, 'kvm,dirty-ring-size=%d' % size) for size in RING_SIZES]
