"""One migration of a busy guest under one tracking mode, with every figure that it gives."""

import contextlib
import time

# The ways to track writes, by accelerator, as its properties.
MODES = {
    "kvm": {
        "legacy": "dirty-log-protect=legacy",
        "manual": "dirty-log-protect=manual",
        "manual-initially-set": "dirty-log-protect=manual-initially-set",
        "ring": "dirty-ring-size=4096",
    },
    "tcg": {"tcg": "jit=on"},
}
ARCHES = {"kvm": "x86_64", "tcg": "aarch64"}     # what each accelerator runs here
SAMPLE_S = 0.005
TIMEOUT_S = 120
GOES_ON_MIB = 4         # must be written after the move
BUCKETS = 8192          # cells of the heat map
ENDED = ("completed", "failed", "cancelled")

# Counters of query-dirty-tracking: calls of the kernel, and the time in them.
CALLS = {
    "start": ("starts", "start-ns"),
    "get": ("get-calls", "get-ns"),
    "clear": ("clear-calls", "clear-ns"),
    "reset": ("reset-calls", "reset-ns"),
}


def load_for(size_mib):
    """What the guest does, and the channel: in proportion, so that the passes look alike."""
    return {
        "fill_mib": size_mib // 2,
        "window_mib": size_mib // 4,
        "rate_mib": max(size_mib // 4, 1),
        "bandwidth_mib": max(size_mib // 4, 1),
    }


def guest_options(load):
    return "fill={fill_mib}M window={window_mib}M rate={rate_mib} order=zipf".format(**load)


def sample(start, info):
    ram = info["ram"]
    return [round(time.monotonic() - start, 4), ram["remaining"], ram["dirty-pages-rate"],
            ram["dirty-sync-count"], ram["transferred"]]


def follow(source, update):
    """Query until the end; returns the samples and the last answer."""
    samples, start = [], time.monotonic()
    while True:
        info = source.qmp.cmd("query-migrate")
        if info.get("status") in ENDED:
            return samples, info
        if "ram" in info:
            samples.append(sample(start, info))
            update("pass %d, %.1f MiB remain" % (samples[-1][3], samples[-1][1] / 2**20))
        if time.monotonic() - start > TIMEOUT_S:
            source.qmp.cmd("migrate_cancel")
            raise TimeoutError(f"the migration took more than {TIMEOUT_S} s: {info}")
        time.sleep(SAMPLE_S)


def calls_between(before, after):
    """Number and ns of each kind of kernel call."""
    return {name: {"calls": after[calls] - before[calls], "ns": after[ns] - before[ns]}
            for name, (calls, ns) in CALLS.items()}


def downtime_ms(info):
    """By cause; what proving it took is told apart from what every migration has."""
    d = {key: value / 1e6 for key, value in info["x-downtime"].items()}
    verify = info.get("x-verify", {}).get("ns", 0) / 1e6
    if "total" in d:
        d["ram"] -= verify
        d["total"] -= verify
        d["verify"] = verify
    return d


def check_guest(target):
    """The guest compares its memory, and must go on writing."""
    try:
        written = target.check_guest(TIMEOUT_S)
        target.wait_written(written // 256 + GOES_ON_MIB)
    except (AssertionError, TimeoutError) as e:
        return str(e)
    return "ok" if written else "the guest wrote nothing"


def summarize(result, info, target):
    result["status"] = info["status"]
    result["error"] = info.get("error-desc")
    if info["status"] != "completed":
        return
    verify = info["x-verify"]
    result["passes"] = info["ram"]["dirty-sync-count"]
    result["pages"] = info["ram"]["normal"] + info["ram"]["duplicate"]
    result["transferred"] = info["ram"]["transferred"]
    result["total_ms"] = info["total-time"]
    result["downtime_ms"] = downtime_ms(info)
    result["stall_ms"] = info["x-tracking"]["guest-stall-ns"] / 1e6
    result["ring_full"] = info["x-tracking"]["ring-full-exits"]
    result["verified_pages"] = verify["pages"]
    result["verified"] = verify["mismatches"] == 0 and verify["pages"] > 0
    result["guest_check"] = check_guest(target)
    result["proven"] = result["verified"] and result["guest_check"] == "ok"


def keep_serial(machine):
    (machine.dir / (machine.name + ".serial.txt")).write_text(machine.serial.text(), "utf-8")


def measure(mode, guest, load, args, directory, update, stage):
    """Start both sides, migrate, and return the figures as plain data."""
    from lib import migration
    from lib.machine import Machine

    arch = ARCHES[args.accel]
    accel = f"{args.accel},{MODES[args.accel][mode]}"
    if args.accel == "kvm":
        accel += f",device={args.kvm_device}"
    writer = guest_options(load)
    uri = f"unix:{directory}/{mode}.migrate"
    result = {"mode": mode, "accel": accel, "proven": False}
    with contextlib.ExitStack() as stack:
        def machine(side, **kwargs):
            m = Machine(directory, f"{mode}.{side}", memory=f"{args.size}M", accel=accel, arch=arch,
                        binary=str(args.build / f"qemu-system-{arch}"), **guest.options(writer), **kwargs)
            stack.callback(m.close)
            stack.callback(keep_serial, m)
            return m

        stage(guest.boots)
        source, target = machine("source"), machine("target", incoming=uri)
        guest.start_writer(source, writer, stage)
        migration.set_capabilities(source, x_verify=True, x_page_counts=True)
        migration.set_parameters(source, downtime_limit=args.downtime,
                                 max_bandwidth=load["bandwidth_mib"] << 20)
        time.sleep(0.5)         # lets the guest reach its rate
        before = source.qmp.cmd("query-dirty-tracking")["counters"]
        stage("migrating")
        migration.start(source, uri)
        result["samples"], info = follow(source, update)
        after = source.qmp.cmd("query-dirty-tracking")["counters"]
        result["calls"] = calls_between(before, after)
        result["info"] = info
        stage("the guest checks its memory")
        summarize(result, info, target)
        result["pages_sent"] = source.qmp.cmd("x-query-migration-pages", buckets=BUCKETS)
    return result


def measure_or_fail(mode, guest, load, args, directory, update, stage):
    """As measure(); what goes wrong with one mode is its result, and the others go on."""
    from lib.qmp import QMPClosed, QMPError

    try:
        return measure(mode, guest, load, args, directory, update, stage)
    except (QMPClosed, QMPError, RuntimeError, TimeoutError, OSError) as e:
        return {"mode": mode, "proven": False, "status": "failed", "error": str(e), "samples": []}
