"""Configures and builds a kernel; one build folder an architecture, so that a second run is short."""

import os
import shutil

from kit.debian import Problem

from . import source
from .base import KERNEL, cache, digest, logged, say

CONFIG = KERNEL / 'config'
# What the kernel's makefiles call, and Debian's package of it.
TOOLS = {t: t for t in ('make', 'gcc', 'flex', 'bison', 'bc', 'rsync', 'perl')}


def build_folder(arch, debug=False):
    return cache() / ('build-%s%s' % (arch.name, '-debug' if debug else ''))


def image_folder(arch, tag, debug=False):
    return cache() / 'images' / ('%s-%s%s' % (arch.name, tag, '-debug' if debug else ''))


def fragment(arch, debug=False):
    names = ['common', arch.name] + (['debug'] if debug else [])
    return ''.join((CONFIG / (n + '.config')).read_text('utf-8') for n in names)


def make(arch, build, *args):
    """The command line of the kernel's make; ccache where it is installed."""
    compiler = arch.cross + 'gcc'
    if shutil.which('ccache'):
        compiler = 'ccache ' + compiler
    return ['make', '-C', source.folder(), 'O=%s' % build, 'ARCH=' + arch.make,
            'CROSS_COMPILE=' + arch.cross, 'CC=' + compiler, 'KBUILD_BUILD_TIMESTAMP=@0',
            'KBUILD_BUILD_USER=tidemark', 'KBUILD_BUILD_HOST=testbed', *args]


def refused(wanted, config):
    """The lines of the fragment wanted that the kernel's configuration did not take over."""
    have = set(config.splitlines())
    return [line for line in wanted.splitlines()
            if line.startswith('CONFIG_') and line not in have]


def need_tools(arch):
    """Names the Debian packages of what is not installed, before a build stops in the middle."""
    wanted = dict(TOOLS, **{arch.cross + 'gcc': 'gcc-' + arch.cross.rstrip('-'),
                            arch.cross + 'ld': 'binutils-' + arch.cross.rstrip('-')})
    missing = sorted({package for tool, package in wanted.items() if not shutil.which(tool)})
    if missing:
        raise Problem('install %s' % ' '.join(missing))


def configure(arch, debug=False):
    """Starts from nothing (allnoconfig) and turns on what the fragments name."""
    build = build_folder(arch, debug)
    build.mkdir(parents=True, exist_ok=True)
    wanted, stamp = fragment(arch, debug), build / 'fragment.config'
    if stamp.exists() and (build / '.config').exists() and stamp.read_text('utf-8') == wanted:
        return build
    need_tools(arch)
    stamp.write_text(wanted, 'utf-8')
    logged('configure', make(arch, build, 'KCONFIG_ALLCONFIG=%s' % stamp, 'allnoconfig'),
           build / 'configure.log')
    missing = refused(wanted, (build / '.config').read_text('utf-8'))
    if missing:
        stamp.unlink()
        raise Problem('the kernel did not take %s' % ', '.join(missing))
    return build


def build(arch, tag, debug=False, jobs=None):
    """The folder with the Image of what tag says; built only if it is not there already."""
    images = image_folder(arch, tag, debug)
    made_of = digest(tag, fragment(arch, debug))
    stamp = images / 'made-of'
    if stamp.exists() and stamp.read_text('ascii') == made_of:
        say('   kernel %s for %s: there already' % (tag, arch.name))
        return images
    source.check_out(tag)
    folder = configure(arch, debug)
    jobs = '-j%d' % (jobs or os.cpu_count() or 1)
    logged('build kernel', make(arch, folder, jobs, arch.target), folder / 'build.log')
    images.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / arch.image, images / 'Image')
    shutil.copy(folder / '.config', images / 'config')
    stamp.write_text(made_of, 'ascii')
    return images


def compile_kvm(arch, tag, *options):
    """Compiles only KVM at tag (W=1 or C=2 in options); the text of warnings, '' if there are none."""
    source.check_out(tag)
    folder = configure(arch)
    log = folder / 'compile-kvm.log'
    logged('compile KVM at %s' % tag, make(arch, folder, '-j1', *options,
                                           'arch/%s/kvm/' % arch.make), log)
    text = log.read_text('utf-8', 'replace')
    return '\n'.join(line for line in text.splitlines() if 'warning:' in line or 'error:' in line)
