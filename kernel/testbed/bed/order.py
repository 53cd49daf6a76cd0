"""Which series there are, in the order in which they build on one another."""

from . import source

ORDER = ('dirty-run', 'arm64-leaf-walk', 'arm64-hdbss', 'arm64-hacdbs', 'arm64-recover-blocks',
         'x86-tdp-leaf-batch', 'riscv-dirty-batch')
# Is no level: KVM's selftests of every level are built with it.
BESIDE = ('selftests',)
# A series whose name begins so is for one architecture; others are for all.
PREFIXES = {'arm64-': 'arm64', 'x86-': 'x86_64', 'riscv-': 'riscv64'}


def there():
    return [name for name in ORDER if (source.SERIES / name).is_dir()]


def is_for(name, arch):
    """Whether the series changes what is built for the architecture of this name."""
    return all(not name.startswith(p) or arch == a for p, a in PREFIXES.items())


def levels(arch):
    """'', 'a', 'a,b', ...: what is built and compared for an architecture."""
    names = [name for name in there() if is_for(name, arch)]
    return [','.join(names[:i]) for i in range(len(names) + 1)]
