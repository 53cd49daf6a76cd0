"""What runs inside the booted machine: busybox, KVM's selftests, our probe; packed as an initramfs."""

import gzip
import pathlib
import re
import shutil
import tempfile

from kit.debian import Problem, download, run

from . import cpio, kernel, source
from .base import HERE, cache, digest, logged, say

# Those that deal with dirty logging, or that would notice broken stage 2 tables.
SELFTESTS = ('dirty_log_test', 'dirty_log_perf_test', 'memslot_modification_stress_test',
             'demand_paging_test', 'kvm_page_table_test')
# Those that a series adds.
ADDED = ('dirty_log_disable_test', 'dirty_log_mask_test', 'dirty_log_content_test')
FOLDER = 'tools/testing/selftests/kvm'


def busybox(arch, suite='sid'):
    """A statically linked busybox for arch, from Debian's package."""
    folder = cache() / ('busybox-' + arch.name)
    program = folder / 'busybox'
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        debs = [d for d in download(folder, suite, 'busybox-static', arch.debian, alone=True)
                if 'busybox-static' in d.name]
        root = folder / 'root'
        run(['dpkg', '-x', str(debs[-1]), str(root)])
        found = next((p for p in (root / 'usr/bin/busybox', root / 'bin/busybox') if p.exists()),
                     None)
        if not found:
            raise Problem('%s holds no busybox' % debs[-1].name)
        shutil.copy(found, program)
        shutil.rmtree(root)
    return program


def headers(arch):
    """The kernel's headers for programs, of the source as fetched."""
    folder = cache() / ('headers-' + arch.name)
    if not (folder / 'include/linux/kvm.h').exists():
        build = kernel.configure(arch)
        logged('kernel headers', kernel.make(arch, build, 'INSTALL_HDR_PATH=%s' % folder,
                                             'headers_install'), build / 'headers.log')
    return folder / 'include'


def tests_of(names):
    """The tag of which the selftests for a level (names as in --series) are: with those of our own."""
    return source.apply(source.series_named(','.join(filter(None, (names, 'selftests')))))


def selftest_names(tag):
    """Which of KVM's selftests are built of what tag has."""
    have = source.git('ls-tree', '--name-only', tag, FOLDER + '/').split()
    return SELFTESTS + tuple(t for t in ADDED if '%s/%s.c' % (FOLDER, t) in have)


def all_selftests(arch, tag):
    """The names of all KVM selftests that tag has for arch, in the order of its makefile."""
    text = source.git('show', '%s:%s/Makefile.kvm' % (tag, FOLDER))
    found = re.findall(r'^TEST_GEN_PROGS_(?:COMMON|%s) \+?= (\w\S*)$' % arch.make, text, re.M)
    if not found:
        raise Problem('the makefile of the selftests names none for %s' % arch.name)
    return found


def selftest_folder(arch, tag):
    """Where the selftests of what tag has are."""
    where = source.git('rev-parse', '%s:%s' % (tag, FOLDER)).strip()
    return cache() / 'selftests' / ('%s-%s' % (arch.name, where[:12]))


def selftests(arch, tag, names=None):
    """Builds KVM's selftests (selftest_names) as tag has them, statically; their paths."""
    names = names or selftest_names(tag)
    folder = selftest_folder(arch, tag)
    programs = [folder / t for t in names]
    if all(p.exists() for p in programs):
        return programs
    include = headers(arch)
    source.check_out(tag)
    build = folder / 'build'
    build.mkdir(parents=True, exist_ok=True)
    log = folder / 'build.log'
    # Only what is listed is built; the Makefile knows one target a program.
    logged('build selftests', [
        'make', '-C', source.folder() / FOLDER, '-j1', 'ARCH=' + arch.make,
        'CROSS_COMPILE=' + arch.cross, 'OUTPUT=%s' % build, 'LDFLAGS=-static -pthread',
        'KHDR_INCLUDES=-isystem %s' % include, 'LINUX_HDR_PATH=%s/' % include,
        *[build / t for t in names]], log)
    for name, program in zip(names, programs):
        program.parent.mkdir(exist_ok=True)
        run([arch.cross + 'strip', '-o', str(program), str(build / name)])
    return programs


def probe(arch):
    """Builds dirty-probe; its path."""
    text = b''.join(p.read_bytes() for p in sorted((HERE / 'probe').iterdir()) if p.is_file())
    folder = cache() / 'probe' / ('%s-%s' % (arch.name, digest(text)))
    program = folder / 'dirty-probe'
    if not program.exists():
        include = headers(arch)
        folder.mkdir(parents=True, exist_ok=True)
        files = sorted(str(p) for p in (HERE / 'probe').glob('*.c'))
        run([arch.cross + 'gcc', '-std=gnu11', '-O2', '-Wall', '-Wextra', '-Werror', '-static', '-s',
             '-isystem', str(include), '-o', str(program), *files])
    return program


def initramfs(arch, tag, tests=True):
    """The packed initramfs for tag, with KVM's selftests if tests; its path."""
    files = {'bin/busybox': busybox(arch), 'init': HERE / 'init',
             't/dirty-probe': probe(arch)}
    if tests:
        files.update({'t/' + p.name: p for p in selftests(arch, tag)})
    content = {name: path.read_bytes() for name, path in files.items()}
    name = digest(*[part for item in sorted(content.items()) for part in item])
    archive = cache() / 'initramfs' / ('%s-%s.cpio.gz' % (arch.name, name))
    if archive.exists():
        return archive
    say('   packing %d programs' % len(files))
    archive.parent.mkdir(parents=True, exist_ok=True)
    packed = cpio.pack(content, folders=('bin', 't', 'dev', 'proc', 'sys', 'tmp'))
    with tempfile.NamedTemporaryFile(dir=archive.parent, delete=False) as out:
        out.write(gzip.compress(packed, 1, mtime=0))
    pathlib.Path(out.name).rename(archive)
    return archive
