#!/usr/bin/env python3
"""Migrates a busy guest under every way to track its writes, and shows what each one costs."""

import argparse
import datetime
import errno
import fcntl
import json
import os
import pathlib
import platform
import shutil
import signal
import sys
import tempfile

import guests
import measure
import report
import table

TOP = pathlib.Path(__file__).resolve().parents[2]
NO_KVM = 77         # exit status: KVM was asked for and cannot be used
INTERRUPTED = 130
KVM_CREATE_VM = 0xae01
PARTS = {       # of the build
    "kvm": ("qemu-system-x86_64", "tests/guests/writer.elf"),
    "tcg": ("qemu-system-aarch64", "tests/guests/writer-aarch64.bin", guests.WRITER),
}
SIZE_MIN, SIZE_MAX = 64, 2048   # MiB; the guest's memory must lie below the hole for devices

KVM_ADVICE = {
    errno.ENOENT: "load the module (modprobe kvm_intel or kvm_amd) after switching on "
                  "virtualization in the firmware; in a virtual machine, its host must allow "
                  "nested virtualization; in a container, pass the device (--device /dev/kvm)",
    errno.EACCES: "join its group (usermod -aG kvm $USER) and log in again, or run as root",
    errno.EPERM: "run it where the device may be used: the container or sandbox forbids it",
    errno.ENODEV: "load the module that fits the processor: kvm_intel or kvm_amd",
    errno.EBUSY: "another hypervisor holds the processor's extensions: end it",
}


def fail(text, status=1):
    print(f"demo: {text}", file=sys.stderr)
    sys.exit(status)


def size_mib(text):
    units = {"M": 1, "G": 1024}
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "M")
    if not number.isdigit() or unit not in units:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 512M or 1G")
    mib = int(number) * units[unit]
    if not SIZE_MIN <= mib <= SIZE_MAX:
        raise argparse.ArgumentTypeError(f"'{text}' is not from {SIZE_MIN}M to {SIZE_MAX}M")
    return mib


def mode_list(text):
    names = text.split(",")
    known = [name for modes in measure.MODES.values() for name in modes]
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(
                f"'{name}' is no tracking mode; there are {', '.join(known)}")
    return list(dict.fromkeys(names))


def choose_modes(args, parser):
    """Those of the accelerator, unless some of them were asked for."""
    known = list(measure.MODES[args.accel])
    for name in args.modes or []:
        if name not in known:
            parser.error(f"argument --modes: {name} is no mode of --accel {args.accel}, which has "
                         f"{', '.join(known)}")
    return args.modes or known


def parse_args():
    p = argparse.ArgumentParser(
        prog="scripts/demo", description=__doc__,
        epilog="exit status: 0 every migration was proven, 1 one was not, 2 wrong options, "
               f"{NO_KVM} --accel kvm and the host has no usable KVM, {INTERRUPTED} interrupted")
    p.add_argument("--accel", choices=("auto", "kvm", "tcg"), default="auto",
                   help="what runs the guest: KVM (x86-64), or translation (arm64), which runs "
                        "anywhere [KVM where it can be used]")
    p.add_argument("--modes", type=mode_list, metavar="LIST",
                   help="comma-separated tracking modes [all: with KVM %s; with TCG %s]" % tuple(
                       ",".join(measure.MODES[accel]) for accel in ("kvm", "tcg")))
    p.add_argument("--guest", choices=("auto", "debian", "bare"), default="auto",
                   help="what writes: a program in the shell of Debian's installer (arm64, with TCG; "
                        f"from {guests.LINUX_MIN_MIB}M on; fetched by apt-get once), or one without "
                        "an operating system [debian with TCG where it can be had]")
    p.add_argument("--size", type=size_mib, default=512, metavar="SIZE",
                   help="guest RAM; half is filled and a quarter rewritten all the time [512M]")
    p.add_argument("--downtime", type=int, default=60, metavar="MS",
                   help="downtime to ask for, in ms [60]")
    p.add_argument("--report", type=pathlib.Path, metavar="FILE",
                   help="where the HTML report goes [build/demo.html]")
    p.add_argument("--keep", action="store_true",
                   help="keep the working directory: serial output, messages, figures as JSON")
    p.add_argument("--kvm-device", default="/dev/kvm", metavar="PATH",
                   help="KVM device node [/dev/kvm]")
    p.add_argument("--build", type=pathlib.Path, default=TOP / "build", help=argparse.SUPPRESS)
    p.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if not 1 <= args.downtime <= 10000:
        p.error(f"argument --downtime: {args.downtime} is not from 1 to 10000 ms")
    args.report = (args.report or args.build / "demo.html").absolute()
    if args.accel != "tcg":
        args.accel = choose_accel(args)
    args.modes = choose_modes(args, p)
    if args.guest == "debian" and args.accel == "kvm":
        p.error("argument --guest: debian is an arm64 guest: give --accel tcg with it")
    return args


def choose_accel(args):
    """KVM, or TCG where it cannot be used and need not be."""
    try:
        with open(args.kvm_device, "rb+", buffering=0) as kvm:
            os.close(fcntl.ioctl(kvm, KVM_CREATE_VM, 0))
        return "kvm"
    except OSError as e:
        print(f"demo: KVM cannot be used here: {args.kvm_device}: {e.strerror}", file=sys.stderr)
        print("demo: what helps: " + KVM_ADVICE.get(e.errno, "see the kernel's log (dmesg)"),
              file=sys.stderr)
        if args.accel == "kvm":
            sys.exit(NO_KVM)
        print("demo: going on with translation: an arm64 guest on the machine virt",
              file=sys.stderr)
        return "tcg"


def check_host(args):
    if not args.report.parent.is_dir() and args.report.parent != args.build.absolute():
        fail(f"--report {args.report}: there is no directory {args.report.parent}", 2)
    with open("/proc/meminfo", encoding="ascii") as f:
        free = next(int(line.split()[1]) >> 10 for line in f if line.startswith("MemAvailable:"))
    if free < 2 * args.size + 128:
        fail(f"--size {args.size}M: two machines need {2 * args.size + 128} MiB, and {free} MiB "
             "are available; a smaller size would work")


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def describe(args, guest, load):
    """What the report says about the conditions."""
    return {
        "guest": guest.text,
        "date": datetime.datetime.now().astimezone().isoformat(" ", "seconds"),
        "host": f"{cpu_model()}, {os.cpu_count()} CPUs, Linux {platform.release()}",
        "load": "%.1f" % os.getloadavg()[0],
        "size_mib": args.size,
        "downtime_ms": args.downtime,
        **load,
    }


class Progress:
    """One line that is rewritten on a terminal, one line per stage elsewhere."""

    def __init__(self, stream=sys.stderr):
        self._stream = stream
        self._live = stream.isatty()
        self._open = False

    def stage(self, text):
        self.end()
        self._write(text + ("" if self._live else "\n"))
        self._open = self._live

    def update(self, text):
        if self._live:
            self._write("\r\033[K" + text)
            self._open = True

    def end(self):
        if self._open:
            self._write("\r\033[K")
        self._open = False

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()


def run(args, directory):
    sys.path.insert(0, str(TOP / "tests" / "functional"))
    os.environ["TIDEMARK_BUILD"] = str(args.build)
    load = measure.load_for(args.size)
    progress = Progress()
    results = []
    guest = guests.choose(args, directory, lambda text: print(f"demo: {text}", file=sys.stderr))
    try:
        for number, mode in enumerate(args.modes, 1):
            title = f"[{number}/{len(args.modes)}] {mode}"
            results.append(measure.measure_or_fail(
                mode, guest, load, args, directory,
                lambda text, t=title: progress.update(f"{t}: {text}"),
                lambda text, t=title: progress.stage(f"{t}: {text}")))
    finally:
        progress.end()
    conditions = describe(args, guest, load)
    with open(os.path.join(directory, "results.json"), "w", encoding="utf-8") as f:
        json.dump({"conditions": conditions, "runs": results}, f)
    print(table.render(results, conditions))
    args.report.write_text(report.render(results, conditions), encoding="utf-8")
    print(f"\nReport: {args.report}")
    return 0 if all(r["proven"] for r in results) else 1


def on_term(signum, frame):
    sys.exit(128 + signum)


def main():
    args = parse_args()
    check_host(args)
    if args.check:
        print(" ".join(PARTS[args.accel]))
        return 0
    for part in PARTS[args.accel]:
        if not (args.build / part).exists():
            fail(f"{args.build / part} is missing: run scripts/demo, which builds it")
    signal.signal(signal.SIGTERM, on_term)
    directory = tempfile.mkdtemp(prefix="tidemark-demo-")
    try:
        return run(args, directory)
    except guests.NotAvailable as e:
        fail(e)
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return INTERRUPTED
    finally:
        if args.keep:
            print(f"Kept: {directory}")
        else:
            shutil.rmtree(directory, True)


if __name__ == "__main__":
    sys.exit(main())
