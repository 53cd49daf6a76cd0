"""Folders, architectures, and commands with a log and progress."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import subprocess
import sys
import time

from kit.debian import Problem

HERE = pathlib.Path(__file__).resolve().parent.parent
KERNEL = HERE.parent

PROGRESS_S = 20


class Arch:
    """What differs between the architectures that the test bed builds for."""

    def __init__(self, name, make, cross, image, target, debian):
        self.name = name
        self.make = make        # ARCH= of the kernel's makefiles
        self.cross = cross      # prefix of the tools
        self.image = image      # what is booted, below the build folder
        self.target = target    # make's target for it
        self.debian = debian    # Debian's name of the architecture


ARCHES = {a.name: a for a in (
    Arch('arm64', 'arm64', 'aarch64-linux-gnu-', 'arch/arm64/boot/Image', 'Image', 'arm64'),
    Arch('riscv64', 'riscv', 'riscv64-linux-gnu-', 'arch/riscv/boot/Image', 'Image', 'riscv64'),
    Arch('x86_64', 'x86', 'x86_64-linux-gnu-', 'arch/x86/boot/bzImage', 'bzImage', 'amd64'),
)}


def arch_named(name):
    if name not in ARCHES:
        raise Problem("no architecture '%s'; there is %s" % (name, ', '.join(ARCHES)))
    return ARCHES[name]


def cache():
    """The folder outside the repository that everything fetched or built goes to."""
    root = os.environ.get('TIDEMARK_CACHE') or pathlib.Path.home() / '.cache' / 'tidemark'
    return pathlib.Path(root).resolve() / 'kernel'


def say(text):
    print(text, flush=True)


def digest(*parts):
    """A short name for what parts (text or bytes) hold."""
    h = hashlib.sha256()
    for part in parts:
        h.update(part.encode() if isinstance(part, str) else part)
        h.update(b'\0')
    return h.hexdigest()[:12]


def logged(title, command, log, env=None, cwd=None, check=True):
    """Runs command with its output in the file log; prints how far it is every now and then."""
    log.parent.mkdir(parents=True, exist_ok=True)
    start = shown = time.monotonic()
    lines = 0
    with open(log, 'w', encoding='utf-8', errors='replace') as out, \
            subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                             errors='replace', cwd=cwd, env={**os.environ, **(env or {})}) as child:
        for line in child.stdout:
            out.write(line)
            out.flush()
            lines += 1
            if time.monotonic() - shown > PROGRESS_S:
                shown = time.monotonic()
                say('   %s: %d lines, %d s: %s' % (title, lines, shown - start, line.strip()[:70]))
        status = child.wait()
    say('   %s: %s, %d s' % (title, 'ok' if status == 0 else 'status %d' % status,
                             time.monotonic() - start))
    if check and status:
        raise Problem('%s failed:\n%s' % (title, tail(log)))
    return status


def tail(path, lines=30):
    with open(path, encoding='utf-8', errors='replace') as f:
        return ''.join(f.readlines()[-lines:])


@contextlib.contextmanager
def only_one():
    """Holds the cache for this process: two runs at a time would build in the same folders."""
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / 'lock', 'w', encoding='ascii') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say('   another run uses %s; waiting for it' % cache())
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def script(main):
    """Runs a script's main; a Problem is printed as one message, not as a traceback."""
    name = pathlib.Path(sys.argv[0]).name
    try:
        sys.exit(main())
    except (Problem, OSError) as err:
        sys.exit('%s: %s' % (name, err))
    except KeyboardInterrupt:
        sys.exit(130)
