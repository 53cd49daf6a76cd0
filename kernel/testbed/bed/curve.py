"""What cleaning costs as a function of what the engine needs for an entry, beside software."""

from . import suites

# Nanoseconds for an entry; the guest's CPU does an instruction a nanosecond.
COSTS = (0, 10, 20, 50, 100, 200)
MIB = 16
SOFTWARE = 'software'


class Row:
    """One phase of a run of dirty-probe; round 1, which is like all others but the first."""

    def __init__(self, name, phase, probe, text):
        self.name, self.phase, self.probe, self.text = name, phase, probe, text


ROWS = (
    Row('get', 'get', '-b 4k', 'GET without manual protect, all pages dirty'),
    Row('clear', 'clear', '-b 4k -c 3', 'CLEAR, all pages dirty'),
    Row('clear-sparse', 'clear', '-b 4k -c 1 -s 8', 'CLEAR, every 8th page dirty'),
    Row('ring', 'reset', '-b 4k -d 65536', 'RESET_DIRTY_RINGS, pages in order'),
    Row('ring-random', 'reset', '-b 4k -d 65536 -o 1317', 'RESET_DIRTY_RINGS, pages in random order'),
)


def cpu(cost):
    """HDBSS is off: how pages became dirty is another matter."""
    return 'max,hdbss=off,' + ('hacdbs=off' if cost == SOFTWARE else 'hacdbs-entry-ns=%d' % cost)


def command():
    return '; '.join('echo CASE %s; ./dirty-probe -m %d %s; echo END $?' % (r.name, MIB, r.probe)
                     for r in ROWS)


def read(text):
    """{row's name: nanoseconds a page} of one boot; without rows that failed."""
    found = {}
    cases = suites.split(text)
    for row in ROWS:
        status, lines = cases.get(row.name, (None, []))
        for m in suites.measured(lines) if status == 0 else []:
            if (m['phase'], m['round']) == (row.phase, 1):
                found[row.name] = m['ns'] / m['pages']
    return found


def break_even(curve, name):
    """The cost of an entry below which the engine is quicker than software, ns; None: never."""
    software = curve[SOFTWARE][name]
    points = [(c, curve[str(c)][name]) for c in COSTS if name in curve[str(c)]]
    if points[0][1] >= software:
        return None
    for (a, low), (b, high) in zip(points, points[1:]):
        if low < software <= high:
            return a + (software - low) * (b - a) / (high - low)
    return points[-1][0]


def table(runs):
    """runs: [{cost or 'software': {row's name: ns a page}}], one for each repetition; Markdown."""
    lines = ['| nanoseconds a page | software | '
             + ' | '.join('%d ns an entry' % c for c in COSTS) + ' | break-even |',
             '|---' * (len(COSTS) + 3) + '|']
    for row in ROWS:
        cells = []
        for column in (SOFTWARE, *map(str, COSTS)):
            values = [run[column][row.name] for run in runs if row.name in run.get(column, {})]
            if not values:
                cells.append('not measured')
            elif max(values) - min(values) < 0.05:
                cells.append('%.1f' % values[0])
            else:
                cells.append('%.1f to %.1f' % (min(values), max(values)))
        even = break_even(runs[0], row.name)
        cells.append('never' if even is None else '%.1f ns' % even)
        lines.append('| %s | %s |' % (row.text, ' | '.join(cells)))
    return lines
