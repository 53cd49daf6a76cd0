"""The kernel's source: fetched once, kept under git so that series are applied with git am.

src is where kernels are built. A series is applied in a worktree of its own and then checked out in
src, which touches only files that differ from what is there: make rebuilds no more than that.
"""

import re
import shutil
import subprocess

from kit.debian import Problem, download, run

from . import patches
from .base import KERNEL, cache, digest, logged, say

PACKAGE = 'linux-source-7.2'
SERIES = KERNEL / 'series'
# Only these are under git: adding the whole tree would cost more than it brings.
TRACKED = ('virt', 'arch/arm64', 'arch/riscv', 'arch/x86', 'include/linux', 'include/uapi',
           'include/trace', 'Documentation/virt/kvm', 'Documentation/arch',
           'tools/testing/selftests/kvm', 'tools/arch', 'MAINTAINERS')
IDENTITY = ('-c', 'user.name=Tidemark test bed', '-c', 'user.email=testbed@localhost')


def folder():
    return cache() / 'src'


def git(*args, where=None):
    return run(['git', '-C', str(where or folder()), *IDENTITY, *args])


def have_source():
    return (cache() / 'src.done').exists()


def fetch(suite='sid', may_download=True):
    """Brings the source into src; does nothing where it is there."""
    if have_source():
        return folder()
    if not may_download:
        raise Problem('no kernel source in %s; run kernel/testbed/fetch' % cache())
    packages = cache() / 'deb'
    packages.mkdir(parents=True, exist_ok=True)
    say('   fetching %s of Debian %s (160 MB)' % (PACKAGE, suite))
    debs = [d for d in download(packages, suite, PACKAGE, alone=True) if PACKAGE in d.name]
    if not debs:
        raise Problem('apt fetched no %s' % PACKAGE)
    unpack(debs[-1])
    track()
    (cache() / 'src.done').write_text(debs[-1].name + '\n', 'utf-8')
    return folder()


def unpack(deb):
    work = cache() / 'unpack'
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    logged('unpack package', ['dpkg', '-x', deb, work], cache() / 'log' / 'unpack.log')
    archive = next((work / 'usr/src').glob(PACKAGE + '.tar.*'))
    logged('unpack source', ['tar', '-C', work, '--checkpoint=20000', '-xf', archive],
           cache() / 'log' / 'unpack.log')
    shutil.rmtree(folder(), ignore_errors=True)
    (work / PACKAGE).rename(folder())
    shutil.rmtree(work)


def track():
    git('init', '-q')
    (folder() / '.git/info/exclude').write_text('*\n', 'ascii')
    git('add', '-f', *TRACKED)
    git('commit', '-q', '-m', 'as Debian ships it')
    git('tag', 'base')


def series_named(names):
    """The patch files of the series in names ('a,b'; '' or 'none' is none), in order."""
    chosen = []
    for name in [n for n in (names or '').split(',') if n and n != 'none']:
        found = sorted((SERIES / name).glob('[0-9]*.patch'))
        if not found:
            there = sorted(p.name for p in SERIES.iterdir() if p.is_dir()) if SERIES.exists() else []
            raise Problem("no series '%s'; there is %s" % (name, ', '.join(there) or 'none'))
        chosen += found
    return chosen


def tag_of(chosen):
    """A name for the source with the patches chosen; their messages do not matter."""
    diffs = ['\n'.join(patches.parts(p.read_text('utf-8'))[2]) for p in chosen]
    return 'level-' + digest(*diffs) if chosen else 'base'


def has_tag(tag):
    return subprocess.run(['git', '-C', str(folder()), 'rev-parse', '-q', '--verify',
                           'refs/tags/' + tag], capture_output=True, check=False).returncode == 0


def worktree():
    """The tree in which patches are applied, so that src is not touched."""
    tree = cache() / 'apply'
    if not (tree / '.git').exists():
        git('worktree', 'prune')
        git('worktree', 'add', '-q', '--detach', str(tree), 'base')
    return tree


def apply(chosen):
    """Applies the patches chosen on the source as fetched; the tag of the result. src is not touched."""
    tag = tag_of(chosen)
    if has_tag(tag):
        return tag
    tree = worktree()
    subprocess.run(['git', '-C', str(tree), 'am', '-q', '--abort'], capture_output=True, check=False)
    git('checkout', '-q', '--force', '--detach', 'base', where=tree)
    for patch in chosen:
        try:
            git('am', '-q', '-3', '--committer-date-is-author-date', str(patch), where=tree)
        except Problem as err:
            raise Problem('%s does not apply: %s' % (patch.name, err)) from err
    git('tag', tag, where=tree)
    return tag


def check_out(tag):
    """Makes src what tag says; returns the commit."""
    git('checkout', '-q', '--force', '--detach', tag)
    return git('rev-parse', 'HEAD').strip()


def version():
    """'7.2.13' of the source."""
    text = (folder() / 'Makefile').read_text('utf-8')
    found = dict(re.findall(r'^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$', text, re.M))
    return '.'.join(found[k] for k in ('VERSION', 'PATCHLEVEL', 'SUBLEVEL'))
