"""Charts as inline SVG; colours are CSS classes, so that a page's theme decides them."""

import math
from html import escape


def num(value):
    return ("%.1f" % value).rstrip("0").rstrip(".")


def human(value):
    if value >= 10000:
        return "%dk" % round(value / 1000)
    if value >= 100 or value == int(value):
        return "%d" % round(value)
    return "%.1f" % value if value >= 1 else "%.2g" % value


def text(x, y, content, css="", anchor="start"):
    return (f'<text x="{num(x)}" y="{num(y)}" class="{css}" text-anchor="{anchor}">'
            f'{escape(content)}</text>')


def line(x1, y1, x2, y2, css):
    return f'<line x1="{num(x1)}" y1="{num(y1)}" x2="{num(x2)}" y2="{num(y2)}" class="{css}"/>'


def rect(x, y, w, h, css, title=""):
    return (f'<rect x="{num(x)}" y="{num(y)}" width="{num(max(w, 0))}" height="{num(h)}" '
            f'class="{css}">' + (f"<title>{escape(title)}</title>" if title else "") + "</rect>")


def svg(width, height, parts, label):
    return (f'<svg viewBox="0 0 {num(width)} {num(height)}" role="img" '
            f'aria-label="{escape(label, True)}">' + "".join(parts) + "</svg>")


def nice_step(span, ticks):
    raw = span / ticks
    power = 10 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)


def ticks(top, count=4):
    step = nice_step(top, count)
    return [i * step for i in range(int(top / step + 1e-6) + 1)]


class Panel:
    """A plot area with a linear x axis and a linear or logarithmic y axis."""

    def __init__(self, x, y, width, height, xmax, ymax, ymin=None):
        self.x, self.y, self.width, self.height = x, y, width, height
        self.xmax, self.ymax, self.ymin = xmax, ymax, ymin      # ymin: logarithmic

    def px(self, value):
        return self.x + self.width * value / self.xmax

    def py(self, value):
        if self.ymin is None:
            part = value / self.ymax
        else:
            part = math.log(max(value, self.ymin) / self.ymin) / math.log(self.ymax / self.ymin)
        return self.y + self.height * (1 - min(part, 1))

    def y_values(self):
        if self.ymin is None:
            return [v for v in ticks(self.ymax, 3) if v <= self.ymax]
        first = math.ceil(math.log10(self.ymin) - 1e-9)
        return [10 ** e for e in range(first, math.floor(math.log10(self.ymax) + 1e-9) + 1)]

    def frame(self, title, x_axis):
        parts = [text(self.x, self.y - 8, title, "lab")]
        for v in self.y_values():
            parts.append(line(self.x, self.py(v), self.x + self.width, self.py(v), "grid"))
            parts.append(text(self.x - 6, self.py(v) + 4, human(v), "tick", "end"))
        bottom = self.y + self.height
        parts.append(line(self.x, bottom, self.x + self.width, bottom, "axis"))
        if x_axis:
            for v in ticks(self.xmax, 7):
                parts.append(text(self.px(v), bottom + 16, human(v) + " s", "tick", "middle"))
        return parts

    def path(self, points, css, area=False):
        d = "M" + "L".join(f"{num(self.px(x))} {num(self.py(y))}" for x, y in points)
        if area:
            bottom = num(self.y + self.height)
            d += f"L{num(self.px(points[-1][0]))} {bottom}L{num(self.px(points[0][0]))} {bottom}Z"
        return f'<path d="{d}" class="{css}"/>'


def pass_starts(samples):
    """First sample of each pass."""
    found, last = [], None
    for s in samples:
        if s[3] != last:
            found.append(s)
            last = s[3]
    return found


def thin(points, width):
    """Keeps first, lowest, highest and last of the points that share a pixel column."""
    kept, column = [], []

    def flush():
        if column:
            low, high = min(column, key=lambda p: p[1]), max(column, key=lambda p: p[1])
            kept.extend(sorted({column[0], low, high, column[-1]}))

    span = points[-1][0] / width or 1
    for p in points:
        if column and int(p[0] / span) != int(column[0][0] / span):
            flush()
            column = []
        column.append(p)
    flush()
    return kept


def passes(run, conditions, scale):
    """Remaining pages and dirty rate over time. scale: xmax (s), pages, rate (MiB/s)."""
    samples = run["samples"]
    left, width = 56, 440
    remain = Panel(left, 26, width, 150, scale["xmax"], scale["pages"], 10)
    rate = Panel(left, 220, width, 80, scale["xmax"], scale["rate"])
    points = [(s[0], s[1] / 4096) for s in samples]
    parts = remain.frame("pages still to send (logarithmic)", False)
    parts += rate.frame("dirty rate found by each sync, MiB/s", True)
    starts = pass_starts(samples)
    for s in starts:
        parts.append(line(remain.px(s[0]), remain.y, remain.px(s[0]), rate.y + rate.height,
                          "pass"))
    shown = thin(points, width)
    parts += [remain.path(shown, "area", True), remain.path(shown, "curve")]

    limit = conditions["bandwidth_mib"] * 256 * conditions["downtime_ms"] / 1000
    if limit > remain.ymin:
        parts.append(line(left, remain.py(limit), left + width, remain.py(limit), "limit"))
        parts.append(text(left + 6, remain.py(limit) - 5,
                          f"can be sent in {conditions['downtime_ms']} ms", "limit-text"))
    last_label = -100
    for s in starts:
        if s[1] / 4096 <= remain.ymin:
            continue        # over before it was seen
        x, y = remain.px(s[0]), remain.py(s[1] / 4096)
        parts.append(f'<circle cx="{num(x)}" cy="{num(y)}" r="3" class="dot">'
                     f"<title>pass {s[3]}: {s[1] // 4096} pages at {s[0]:.2f} s</title></circle>")
        if x - last_label > 12:
            parts.append(text(x + 6, y + 14 if y < remain.y + 14 else y - 4, str(s[3]), "num"))
            last_label = x
    steps = []
    for i, s in enumerate(starts):
        value = s[2] * 4096 / 2**20
        end = starts[i + 1][0] if i + 1 < len(starts) else samples[-1][0]
        steps += [(s[0], value), (end, value)]
    parts += [rate.path(steps, "area rate", True), rate.path(steps, "curve rate")]
    return svg(left + width + 14, 326, parts,
               f"{run['mode']}: remaining pages and dirty rate over time")


def stacked_bars(label, rows, causes, marks, unit="ms"):
    """Horizontal bars. rows: (label, {cause: value}, {mark: value}); marks: name -> css."""
    left, width, row_h = 168, 820, 36
    top = max([sum(values.values()) for _, values, _ in rows] +
              [v for _, _, m in rows for v in m.values()] + [1e-3]) * 1.06
    p = Panel(left, 14, width, row_h * len(rows), top, 1)
    parts = []
    for v in ticks(top, 6):
        parts.append(line(p.px(v), p.y, p.px(v), p.y + p.height, "grid"))
        parts.append(text(p.px(v), p.y + p.height + 16, f"{human(v)} {unit}", "tick", "middle"))
    for i, (name, values, row_marks) in enumerate(rows):
        y, at = p.y + i * row_h + 7, 0
        parts.append(text(left - 10, y + 15, name, "name", "end"))
        for cause, css in causes.items():
            value = values.get(cause, 0)
            parts.append(rect(p.px(at), y, p.px(at + value) - p.px(at), 20, css,
                              f"{cause}: {human(value)} {unit}"))
            at += value
        parts.append(text(p.px(at) + 6, y + 15, f"{human(at)} {unit}", "value"))
        for mark, value in row_marks.items():
            parts.append(f'<g class="{marks[mark]}"><title>{mark}: {human(value)} {unit}</title>'
                         + line(p.px(value), y - 4, p.px(value), y + 24, "") + "</g>")
    return svg(left + width + 80, p.y + p.height + 24, parts, label)


def legend(items):
    """items: (css class of the swatch, text)."""
    return '<p class="legend">' + "".join(
        f'<span><i class="{css}"></i>{escape(name)}</span>' for css, name in items) + "</p>"


# Levels of the heat map: the least number of times that a page was sent.
HEAT = [(1, "once"), (2, "twice"), (3, "3 times"), (4, "4 times"), (5, "5 times"),
        (6, "6 times or more")]


def heat_level(times):
    return sum(times >= least for least, _ in HEAT)


def heat_map(block, columns=128, cell=4):
    """One cell a run of pages, by the page of the run that was sent most often."""
    values = [heat_level(v) for v in block["max"]]
    rows = -(-len(values) // columns)
    left, top = 66, 6
    paths = {level: [] for level in range(1, len(HEAT) + 1)}
    for row in range(rows):
        cells = values[row * columns:(row + 1) * columns]
        start = 0
        for i in range(1, len(cells) + 1):
            if i == len(cells) or cells[i] != cells[start]:
                if cells[start]:
                    paths[cells[start]].append(f"M{start} {row}h{i - start}v1H{start}z")
                start = i
    parts = [f'<g transform="translate({left} {top}) scale({cell})" shape-rendering="crispEdges">',
             rect(0, 0, columns, rows, "heat0")]
    parts += [f'<path d="{"".join(d)}" class="heat{level}"/>' for level, d in paths.items() if d]
    parts.append("</g>")
    row_mib = columns * block["bucket-pages"] / 256
    total = rows * row_mib
    for v in ticks(total, 4):
        if v < total - total / 20 or v == total:
            parts.append(text(left - 6, top + 4 + v / row_mib * cell, f"{human(v)} MiB", "tick",
                              "end"))
    return svg(left + columns * cell + 4, top + rows * cell + 6, parts,
               "how often each page was sent, by its place in guest RAM")
