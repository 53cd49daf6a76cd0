"""The guests that the demo moves: what they are started with, and how they are brought to write."""

import os
import subprocess

TIMEOUT_S = 120
LINUX_MIN_MIB = 512     # the installer's RAM disk alone takes 170 MB of it while it is unpacked
WRITER = "tests/guests/writer-linux-aarch64"

# Run by the kernel in place of the installer: a shell on the console, as on any Debian.
INIT = b"""#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
dmesg -n 1
exec sh -i </dev/console >/dev/console 2>&1
"""
PROMPT = r"# (\x1b\[6n)?$"     # its line editor asks where the cursor is


class NotAvailable(Exception):
    """The guest cannot be had here; the text says why."""


class Bare:
    """The writer alone, without an operating system."""

    text = "the writer without an operating system"
    boots = "the guest fills its memory"

    def __init__(self, arch):
        self.text += ", " + {"x86_64": "x86-64", "aarch64": "arm64"}[arch]

    def options(self, writer):
        return {"guest": "writer", "append": writer}

    def start_writer(self, source, writer, stage):
        source.wait_ready(TIMEOUT_S)


class Debian:
    """Debian's installer for arm64: its kernel and RAM disk, with the writer put into it."""

    boots = "Debian boots to a shell prompt"

    def __init__(self, build, directory):
        import unittest
        from lib import linux_arm64

        try:
            self._kernel = linux_arm64.kernel()
            installer = linux_arm64.installer_initrd()
        except unittest.SkipTest as e:
            raise NotAvailable(str(e)) from e
        self._initrd = os.path.join(directory, "initrd.gz")
        linux_arm64.add_files(installer, self._initrd, (
            ("demo-init", 0o100755, INIT),
            ("writer", 0o100755, (build / WRITER).read_bytes())))
        self.text = f"{linux_arm64.PACKAGE}, its kernel and RAM disk, with the writer in its shell"

    def options(self, writer):
        """Keyword arguments of Machine; the writer's options are given in the shell."""
        return {"guest": None, "kernel": self._kernel, "initrd": self._initrd,
                "append": "console=ttyAMA0 quiet rdinit=/demo-init"}

    def start_writer(self, source, writer, stage):
        source.serial.wait(PROMPT, TIMEOUT_S)
        stage("the guest fills its memory")
        source.serial.command(f"stty raw -echo; /writer {writer}\n", r"READY\n", TIMEOUT_S)


def choose(args, directory, note):
    """The guest that --guest names; auto takes Debian where that can be had."""
    arch = {"kvm": "x86_64", "tcg": "aarch64"}[args.accel]
    if args.guest == "bare" or (args.guest == "auto" and args.accel == "kvm"):
        return Bare(arch)
    try:
        if args.size < LINUX_MIN_MIB:
            raise NotAvailable(f"--size {args.size}M is less than the {LINUX_MIN_MIB}M that it needs")
        return Debian(args.build, directory)
    except (NotAvailable, OSError, subprocess.SubprocessError) as e:
        if args.guest == "debian":
            raise NotAvailable(f"--guest debian: {e}") from e
        note(f"Debian's installer is not the guest: {e}")
        note("going on with the writer alone (--guest bare)")
        return Bare(arch)
