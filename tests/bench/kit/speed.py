"""Figures of tests/bench/translator: the least of some runs, ratios with their spread, tables."""

import math
import os

from . import loads

LEAST = 0.005       # seconds; less than that is not told from nothing


class Result:
    """User CPU seconds of one load: a list for each emulator (the first is ours), by round."""

    def __init__(self, name, rounds, ways):
        self.name, self.rounds = name, rounds
        self.group = loads.group_of(name)
        self.took = {way: [] for way in ways}
        self.times = {way: 1 for way in ways}

    def add(self, way, seconds, times=1):
        """One run that did the work so many times; kept as what once would have taken."""
        self.took[way].append(seconds / times)
        self.times[way] = times

    def is_known(self, way, seconds):
        return seconds * self.times[way] >= LEAST

    def least(self, way):
        """Seconds, or None if it was not run or is too short to be known."""
        runs = self.took.get(way)
        return min(runs) if runs and self.is_known(way, min(runs)) else None

    def ratio(self, way, ours):
        """How much faster ours is: (least by least, smallest, largest of the rounds), or None."""
        if not self.least(way) or not self.least(ours):
            return None
        rounds = [a / b for a, b in zip(self.took[way], self.took[ours]) if self.is_known(ours, b)]
        return self.least(way) / self.least(ours), min(rounds), max(rounds)

    def best_ratio(self, others, ours):
        """The same to the best of the others; None without any."""
        known = [r for r in (self.ratio(way, ours) for way in others) if r]
        return min(known) if known else None

    def nanoseconds(self, way):
        least = self.least(way)
        return least / self.rounds * 1e9 if least else None


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def number(value, form):
    return '-' if value is None else form % value


def spread(ratio):
    return '-' if ratio is None else '%.2f (%.2f..%.2f)' % ratio


class Table:
    """Rows of text, printed as they come and kept for Markdown."""

    def __init__(self, head, widths):
        self.widths, self.lines = widths, []
        self.row(head)
        self.lines.append('|' + '---|' * len(head))

    def row(self, cells):
        print('  '.join(c.ljust(w) if i == 0 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(cells, self.widths))), flush=True)
        self.lines.append('| ' + ' | '.join(cells) + ' |')


class Report:
    """All tables of one run of the benchmark."""

    def __init__(self, native, emulators):
        self.native = native
        self.ours, self.others = emulators[0], emulators[1:]
        self.results, self.tables = [], []

    def load_table(self, title):
        head = ['load', *([self.native] if self.native else []), self.ours, *self.others,
                *(['ours/native'] if self.native else []), *('%s/ours' % o for o in self.others)]
        print('\n' + title)
        table = Table(head, [12] + [12] * (len(head) - 1 - len(self.others)) + [22] * len(self.others))
        self.tables.append((title, table))
        return table

    def load(self, table, result):
        ways = [*([self.native] if self.native else []), self.ours, *self.others]
        cells = [result.name, *(number(result.least(way), '%.3f') for way in ways)]
        if self.native:
            native, ours = result.least(self.native), result.least(self.ours)
            cells.append(number(ours / native if native and ours else None, '%.2f'))
        table.row(cells + [spread(result.ratio(way, self.ours)) for way in self.others])
        self.results.append(result)

    def operation_table(self):
        title = 'Single operations, nanoseconds'
        head = ['operation', 'target', self.ours, *self.others,
                *('%s/ours' % other for other in self.others)]
        print('\n' + title)
        table = Table(head, [14, 8] + [12] * (1 + len(self.others)) + [22] * len(self.others))
        self.tables.append((title, table))
        return table

    def operation(self, table, result):
        target = loads.OPERATIONS[result.name][1]
        cells = [result.name, number(target, '%d')]
        cells += [number(result.nanoseconds(way), '%.1f') for way in (self.ours, *self.others)]
        table.row(cells + [spread(result.ratio(way, self.ours)) for way in self.others])
        self.results.append(result)

    def means(self):
        """Geometric means of the groups beside their bars. Return: whether all are met."""
        head = ['group', *('%s/ours' % o for o in self.others), 'best/ours', 'slowest', 'bar', 'goal', '']
        print('\nGeometric means')
        table = Table(head, [8] + [14] * len(self.others) + [10, 20, 6, 6, 8])
        self.tables.append(('Geometric means', table))
        fine = True
        for group, (bar, goal) in loads.BARS.items():
            some = [r for r in self.results if r.group == group and
                    all(r.ratio(way, self.ours) for way in self.others)]
            if not some or not self.others:
                continue
            best = mean([r.best_ratio(self.others, self.ours)[0] for r in some])
            slowest = min(some, key=lambda r: r.best_ratio(self.others, self.ours)[0])
            least = slowest.best_ratio(self.others, self.ours)[0]
            met = best >= bar and least >= 1
            fine &= met
            table.row([group, *('%.2f' % mean([r.ratio(way, self.ours)[0] for r in some])
                                for way in self.others), '%.2f' % best,
                       '%s %.2f' % (slowest.name, least), '%.1f' % bar, '%.1f' % goal,
                       'met' if met else 'not met'])
        return fine

    def markdown(self, repeat, loadavg):
        """The tables as a section for docs/performance.md."""
        out = ['## The arm64 translator', '']
        out += ['`tests/bench/translator`, %d rounds, %s. User CPU seconds of the whole process, the '
                'least of the rounds; ratios are least to least (and the range over rounds), more '
                'than 1 meaning that this emulator is faster. %s' %
                (repeat, host_name(), loadavg), '']
        for title, table in self.tables:
            out += ['### ' + title, '', *table.lines, '']
        if any(r.group is None for r in self.results):
            out += ['| operation | what it is |', '|---|---|']
            out += ['| %s | %s |' % (r.name, loads.MEANING[r.name])
                    for r in self.results if r.group is None]
            out.append('')
        return '\n'.join(out)


def host_name():
    try:
        with open('/proc/cpuinfo', encoding='utf-8') as file:
            names = [line.split(':', 1)[1].strip() for line in file if line.startswith('model name')]
    except OSError:
        names = []
    return '%d CPUs%s' % (os.cpu_count(), ' (%s)' % names[0] if names else '')
