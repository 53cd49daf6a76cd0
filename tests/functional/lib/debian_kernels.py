"""Debian's own arm64 kernels, with the small RAM disk of linux_arm64 and their modules.

They are fetched once, without being installed, into $TIDEMARK_CACHE/arm64-kernels (or the same in
~/.cache/tidemark).
"""

import lzma
import os
import pathlib
import re
import shutil
import sys
import unittest

from . import host, linux_arm64

sys.path.append(str(host.REPO / 'tests' / 'bench'))
from kit import debian      # noqa: E402  pylint: disable=wrong-import-position

# Suite, the package that depends on the newest kernel, and its page size.
KERNELS = {
    '6.1': ('bookworm', 'linux-image-arm64', 4096),
    'sid': ('sid', 'linux-image-arm64', 4096),
    'sid-16k': ('sid', 'linux-image-arm64-16k', 16384),
}


def _cache():
    root = os.environ.get('TIDEMARK_CACHE') or pathlib.Path.home() / '.cache' / 'tidemark'
    return pathlib.Path(root) / 'arm64-kernels'


def _packages(options, meta, modules):
    """The packages that hold image and modules: one, or since Linux 7 two."""
    depends = debian.run(['apt-cache', *options, 'depends', meta])
    image = re.search(r'Depends: (linux-image-\d\S*)', depends).group(1)
    inside = re.findall(r'Depends: (linux-(binary|modules)-\d\S*)',
                        debian.run(['apt-cache', *options, 'depends', image]))
    return [name for name, kind in inside if kind == 'binary' or modules] or [image]


def _unpack(package, folder):
    """Take the kernel and the modules that linux_arm64 loads out of a package."""
    root = folder / 'root'
    debian.run(['dpkg-deb', '-x', str(package), str(root)])
    package.unlink()
    for path in root.rglob('*'):
        name = path.name.removesuffix('.xz')
        if path.name.startswith('vmlinuz') and path.is_file():
            os.replace(path, folder / 'vmlinuz')
        elif name in linux_arm64.MODULES:
            data = path.read_bytes()
            (folder / name).write_bytes(lzma.decompress(data) if path.name.endswith('.xz') else data)
    shutil.rmtree(root)


def _fetch(name, folder, modules):
    suite, meta, _ = KERNELS[name]
    try:
        options = debian.private_apt(folder, suite, 'arm64')
        debian.run(['apt-get', *options, 'update'])
        packages = _packages(options, meta, modules)
        for package in packages:
            debian.run(['apt-get', *options, 'download', package], cwd=folder)
    except (debian.Problem, OSError) as err:
        raise unittest.SkipTest('%s of %s: %s' % (meta, suite, err)) from err
    for package in sorted(folder.glob('*.deb')):
        _unpack(package, folder)
    shutil.rmtree(folder / 'apt')


def files(name, modules=False):
    """Paths of kernel and RAM disk; raises unittest.SkipTest where they cannot be had.

    modules: with the drivers of virtio, for which some kernels need a package of 90 MB.
    """
    folder = _cache() / name
    folder.mkdir(parents=True, exist_ok=True)
    image, initrd = folder / 'vmlinuz', folder / ('initrd-%s.cpio' % linux_arm64.recipe())
    if not image.exists() or (modules and not (folder / 'virtio_blk.ko').exists()):
        _fetch(name, folder, modules)
        initrd.unlink(missing_ok=True)
    if not initrd.exists():
        found = {path.name: path.read_bytes() for path in folder.glob('*.ko')}
        linux_arm64.make_initrd(folder / 'new', modules=found)
        os.replace(folder / 'new', initrd)
    return str(image), str(initrd)


def page_size(name):
    return KERNELS[name][2]
