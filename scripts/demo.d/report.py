"""The figures of all runs as one HTML page that needs nothing else."""

import pathlib
from html import escape

import charts
import table

CAUSES = {"stop": "c-stop", "last sync": "c-sync", "ram": "c-ram", "device state": "c-device",
          "resume": "c-resume"}
KEYS = {"stop": "stop", "last sync": "last-sync", "ram": "ram", "device state": "device-state",
        "resume": "resume"}
CALLS = {"start": "c-stop", "get": "c-sync", "clear": "c-ram", "reset": "c-device"}
CALL_TEXT = {"start": "start: log on (memory slot update)", "get": "get: harvest the log",
             "clear": "clear: protect again", "reset": "reset: protect again (ring)"}
WHAT = {
    "legacy": "One call harvests the whole log and protects every reported page again, under the "
              "MMU lock.",
    "manual": "The harvest only copies the log; pages are protected again just before they are "
              "sent, in batches.",
    "manual-initially-set": "As manual, and nothing is protected at the start: the first pass "
                            "arms each batch as it sends it.",
    "ring": "Each vCPU lists the pages it writes; harvested entries are protected again in one "
            "reset. No scan of a bitmap.",
    "tcg": "Translated stores: a page that was reported has a fast entry in the soft TLB, one that "
           "was not has none. Re-arming drops the entries for stores; no call of the kernel.",
}


def number(value):
    return f"{value:,}".replace(",", "\u202f")


def span(values):
    low, high = table.ms(min(values)), table.ms(max(values))
    return f"{low} ms" if low == high else f"{low} \u2013 {high} ms"


def cards(runs, conditions):
    moved = [r for r in runs if r["status"] == "completed"]
    proven = sum(r["proven"] for r in runs)
    items = [(f"{proven} of {len(runs)}", "migrations proven page by page"),
             (number(sum(r.get("verified_pages", 0) for r in moved)), "pages compared"),
             (f"{conditions['downtime_ms']} ms", "downtime asked for")]
    if moved:
        items += [(span([r["downtime_ms"]["total"] for r in moved]), "real downtime"),
                  (span([table.calls_ms(r) for r in moved]), "in the kernel's calls for tracking")]
    return '<div class="cards">' + "".join(
        f"<div><b>{escape(big)}</b><span>{escape(small)}</span></div>"
        for big, small in items) + "</div>"


def html_table(runs, conditions):
    groups = []
    for group, *_ in table.COLUMNS:
        if groups and groups[-1][0] == group:
            groups[-1][1] += 1
        else:
            groups.append([group, 1])
    out = ['<div class="scroll"><table><thead><tr>']
    out += [f'<th colspan="{n}" class="group">{escape(g)}</th>' for g, n in groups]
    out.append("</tr><tr>" + "".join(f"<th>{escape(c[1])}</th>" for c in table.COLUMNS) +
               "</tr></thead><tbody>")
    for run in runs:
        if run["status"] == "completed":
            cells = [c[3](run, conditions) for c in table.COLUMNS]
            good = 'class="ok"' if run["proven"] else 'class="bad"'
            out.append("<tr>" + "".join(f"<td>{escape(c)}</td>" for c in cells[:-2]) +
                       "".join(f"<td {good}>{escape(c)}</td>" for c in cells[-2:]) + "</tr>")
        else:
            out.append(f'<tr><td>{escape(run["mode"])}</td><td class="bad wide" '
                       f'colspan="{len(table.COLUMNS) - 1}">{escape(run["status"])}: '
                       f'{escape(str(run["error"]))}</td></tr>')
    return "".join(out) + "</tbody></table></div>"


def downtime(runs, conditions):
    rows = [(r["mode"], {name: r["downtime_ms"][key] for name, key in KEYS.items()},
             {"asked": conditions["downtime_ms"],
              "predicted": r["downtime_ms"].get("predicted", 0)}) for r in runs]
    return (charts.legend([(css, name) for name, css in CAUSES.items()] +
                          [("m-asked", "asked for"), ("m-predicted", "predicted")]) +
            charts.stacked_bars("downtime by cause", rows, CAUSES,
                                {"asked": "m-asked", "predicted": "m-predicted"}))


def cost(runs):
    rows = [("%s" % r["mode"], {k: r["calls"][k]["ns"] / 1e6 for k in CALLS}, {}) for r in runs]
    counts = "; ".join("%s %s" % (r["mode"], ", ".join(
        f"{c['calls']} {k}" for k, c in r["calls"].items() if c["calls"])) for r in runs)
    return (charts.legend([(css, CALL_TEXT[name]) for name, css in CALLS.items()]) +
            charts.stacked_bars("time in calls for tracking", rows, CALLS, {}) +
            f'<p class="note">Calls: {escape(counts)}.</p>')


def main_block(run):
    return max(run["pages_sent"]["blocks"], key=lambda b: b["pages"])


def sent_line(run):
    times = run["pages_sent"]["times"]
    more = sum(n for i, n in enumerate(times) if i >= 2)
    again = sum(n * (i - 1) for i, n in enumerate(times) if i >= 2)
    most = max((i for i, n in enumerate(times) if n), default=0)
    return (f"{number(more)} pages were sent more than once, which took {number(again)} extra "
            f"sendings; the busiest page went {most} times.")


def mode_sections(runs, conditions):
    scale = {
        "xmax": max(r["samples"][-1][0] for r in runs) * 1.02,
        "pages": conditions["size_mib"] * 256 * 1.3,
        "rate": max(max(s[2] for s in r["samples"]) for r in runs) * 4096 / 2**20 * 1.15 or 1,
    }
    out = []
    for r in runs:
        out.append(f'<section class="card"><h3>{escape(r["mode"])}</h3>'
                   f'<p class="note">{escape(WHAT[r["mode"]])}</p>'
                   f"{charts.passes(r, conditions, scale)}</section>")
    return '<div class="pair">' + "".join(out) + "</div>"


def heat_sections(runs):
    out = []
    for r in runs:
        out.append(f'<section class="card"><h3>{escape(r["mode"])}</h3>'
                   f'<p class="note">{escape(sent_line(r))}</p>'
                   f"{charts.heat_map(main_block(r))}</section>")
    pages = main_block(runs[0])["bucket-pages"]
    cells = f"a cell is {pages} pages" if pages > 1 else "a cell is a page"
    return (charts.legend([("heat0", "never")] + [(f"heat{i}", name) for i, (_, name) in
                                                  enumerate(charts.HEAT, 1)]) +
            f'<p class="note">Guest RAM from top left to bottom right; {cells} and shows the one '
            "that was sent most often.</p>"
            '<div class="pair">' + "".join(out) + "</div>")


def render(runs, conditions):
    moved = [r for r in runs if r["status"] == "completed" and r["samples"]]
    style = (pathlib.Path(__file__).parent / "report.css").read_text("utf-8")
    body = ["<h1>Tidemark <small>live migration under every tracking mode</small></h1>",
            '<p class="lead">A guest with {size_mib} MiB of RAM, {fill_mib} MiB of it filled, '
            "writes {rate_mib} MiB of pages a second into a window of {window_mib} MiB, some pages "
            "far more often than others. It is moved over a channel of {bandwidth_mib} MiB/s while "
            "it runs, once under each way to track its writes. Then both sides hash every page and "
            "compare, and the guest checks its own memory. The guest: {guest}.</p>".format(**conditions),
            cards(runs, conditions), "<h2>Figures</h2>", html_table(runs, conditions)]
    if moved:
        body += ["<h2>Downtime by cause</h2>",
                 '<p class="note">Time in which the guest runs on neither side, without the proof, '
                 "which hashes all of RAM then.</p>",
                 '<section class="card bars">' + downtime(moved, conditions) + "</section>",
                 "<h2>What tracking costs</h2>",
                 '<p class="note">Time in the kernel\u2019s calls for tracking. While they protect '
                 "pages, a vCPU that writes may have to wait.</p>",
                 '<section class="card bars">' + cost(moved) + "</section>",
                 "<h2>Passes</h2>",
                 '<p class="note">Each pass sends what was dirty when it began (number at the '
                 "dot); its sync finds what was written meanwhile. When the rest can be sent "
                 "within the downtime asked for, the machine moves.</p>",
                 mode_sections(moved, conditions),
                 "<h2>Pages sent more than once</h2>", heat_sections(moved)]
    body.append(f'<footer>{escape(conditions["date"])} \u00b7 {escape(conditions["host"])} \u00b7 '
                f'load {escape(conditions["load"])}</footer>')
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="color-scheme" content="light dark">'
            f"<title>Tidemark: tracking modes compared</title><style>{style}</style></head>"
            f"<body><main>{''.join(body)}</main></body></html>\n")
