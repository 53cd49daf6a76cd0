"""The figures of all runs as one table of text."""


def ms(value):
    return "%.1f" % value if value < 1000 else "%.0f" % value


def calls(run):
    return sum(c["calls"] for c in run["calls"].values())


def calls_ms(run):
    return sum(c["ns"] for c in run["calls"].values()) / 1e6


def check_word(run):
    return "ok" if run["guest_check"] == "ok" else "BAD"


# Group, head, width, and the cell of a completed run.
COLUMNS = [
    ("", "mode", 20, lambda r, c: r["mode"]),
    ("", "passes", 6, lambda r, c: str(r["passes"])),
    ("", "pages", 8, lambda r, c: str(r["pages"])),
    ("", "total ms", 8, lambda r, c: str(r["total_ms"])),
    ("downtime ms", "asked", 6, lambda r, c: str(c["downtime_ms"])),
    ("downtime ms", "predicted", 9, lambda r, c: ms(r["downtime_ms"].get("predicted", 0))),
    ("downtime ms", "real", 6, lambda r, c: ms(r["downtime_ms"]["total"])),
    ("of which", "stop", 6, lambda r, c: ms(r["downtime_ms"]["stop"])),
    ("of which", "sync", 6, lambda r, c: ms(r["downtime_ms"]["last-sync"])),
    ("of which", "ram", 6, lambda r, c: ms(r["downtime_ms"]["ram"])),
    ("of which", "device", 6, lambda r, c: ms(r["downtime_ms"]["device-state"])),
    ("of which", "resume", 6, lambda r, c: ms(r["downtime_ms"]["resume"])),
    ("tracking", "ioctls", 6, lambda r, c: str(calls(r))),
    ("tracking", "ms", 6, lambda r, c: ms(calls_ms(r))),
    ("guest", "stall ms", 8, lambda r, c: ms(r["stall_ms"])),
    ("proof", "verified", 8, lambda r, c: "yes" if r["verified"] else "NO"),
    ("proof", "guest", 5, lambda r, c: check_word(r)),
]


def groups_line():
    """Names of the groups, each over its columns."""
    parts, i = [], 0
    while i < len(COLUMNS):
        name, width = COLUMNS[i][0], COLUMNS[i][2]
        i += 1
        while i < len(COLUMNS) and COLUMNS[i][0] == name:
            width += 2 + COLUMNS[i][2]
            i += 1
        parts.append(name.center(width, "-" if name else " ") if len(name) + 2 > width else
                     (f" {name} " if name else "").center(width, "-" if name else " "))
    return "  ".join(parts).rstrip()


def cells_line(cells):
    first, *rest = [(cell, column[2]) for cell, column in zip(cells, COLUMNS)]
    return "  ".join([first[0].ljust(first[1])] + [c.rjust(w) for c, w in rest])


def problems(runs):
    for run in runs:
        if run["status"] != "completed":
            yield f"{run['mode']}: {run['status']}: {run['error']}"
        elif run["guest_check"] != "ok":
            yield f"{run['mode']}: {run['guest_check']}"


def render(runs, conditions):
    lines = ["Guest: {guest}".format(**conditions),
             "{size_mib} MiB RAM, {fill_mib} MiB of it filled, {rate_mib} MiB/s written to "
             "{window_mib} MiB; channel: {bandwidth_mib} MiB/s".format(**conditions), "",
             groups_line(), cells_line([column[1] for column in COLUMNS])]
    for run in runs:
        if run["status"] == "completed":
            lines.append(cells_line([column[3](run, conditions) for column in COLUMNS]))
        else:
            lines.append(run["mode"].ljust(COLUMNS[0][2]) + "  " + run["status"].upper())
    lines += ["", "real: without the time of the proof (x-verify), which hashes all of RAM on both "
              "sides while neither runs"]
    lines += list(problems(runs))
    return "\n".join(lines)
