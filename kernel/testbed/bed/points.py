"""A named test for each of the points that cleaning pages by hardware has to get right.

The numbers are those of kernel/series/arm64-hacdbs/README.md. Each test is a run of dirty-probe on
this project's emulator, whose engines misbehave or which watches what KVM does, and is judged by
the probe's status, by KVM's counters, and by what kernel and emulator complain about.
"""

import operator
import re

from . import suites

EXITS = re.compile(r'^exits (\d+) (\d+)$')
COMPARE = {'==': operator.eq, '>=': operator.ge, '<=': operator.le}


class Point:
    """One test: what the probe is called with, on which CPU, and what KVM's counters must say."""

    def __init__(self, number, name, probe, counters=(), cpu='', debug=False):
        self.number, self.name, self.probe = number, name, probe
        self.counters = counters    # (name, comparison, value); 'exits' is of the last round
        self.cpu = ','.join(c for c in ('max', suites.CHECK, cpu) if c)
        self.debug = debug          # only the kernel with lockdep can tell

    def command(self):
        return 'echo CASE %s; ./dirty-probe %s; echo END $?' % (self.name, self.probe)


POINTS = (
    Point(1, 'feature-found', '-m 16 -b 4k', [('hacdbs_entries', '==', 12288)]),
    Point(1, 'feature-hidden', '-m 1 -I'),
    Point(2, 'current-vmid', '-m 16 -V', [('hacdbs_err_unmapped', '>=', 1)]),
    Point(3, 'dsb-after-stop', '-m 4 -b 4k -c 1', [('hacdbs_entries', '==', 3072)]),
    Point(4, 'tge-clear', '-m 4 -b 4k -d 4096', [('hacdbs_entries', '==', 3072)]),
    Point(5, 'unmapped-pages', '-m 16 -b 4k -u 5',
          [('hacdbs_err_unmapped', '==', 15), ('hacdbs_fallbacks', '==', 0),
           ('hacdbs_entries', '==', 12273)]),
    Point(6, 'failure-half-way', '-m 16 -b 4k',
          [('hacdbs_err_list', '==', 1), ('hacdbs_fallbacks', '==', 1)],
          cpu='x-hacdbs-error-at=100,x-hacdbs-error=structf'),
    Point(7, 'full-lists', '-m 2 -b 4k',
          [('hacdbs_entries', '==', 1536), ('hacdbs_fallbacks', '==', 0)]),
    Point(8, 'clear-in-parts', '-m 16 -b 4k -c 1 -k 1024', [('hacdbs_entries', '==', 12288)]),
    Point(10, 'split-after-cleaning', '-m 16 -b thp -c 3 -e 0x200000',
          [('hacdbs_err_mismatch', '==', 9), ('hacdbs_fallbacks', '==', 1)]),
    Point(11, 'blocks', '-m 2 -b thp -c 3 -e 0x200000',
          [('hacdbs_err_mismatch', '==', 9), ('hacdbs_entries', '>=', 1024)]),
    Point(12, 'bad-ring-entries', '-m 16 -b 4k -d 65536 -B', [('exits', '<=', 2100)],
          cpu='hdbss=off'),
    Point(14, 'no-allocation', '-m 4 -b 4k', [('hacdbs_entries', '==', 3072)], debug=True),
    Point(15, 'stop-entry', '-m 1 -b 4k',
          [('hacdbs_err_unmapped', '==', 0), ('hacdbs_fallbacks', '==', 0),
           ('hacdbs_entries', '==', 768)],
          cpu='x-hacdbs-error-at=256,x-hacdbs-error=ipaf'),
    Point(16, 'isb-when-polling', '-m 4 -b 4k', [('hacdbs_entries', '==', 3072)],
          cpu='hacdbs-entry-ns=200'),
    Point(16, 'slow-engine', '-m 4 -b 4k',
          [('hacdbs_err_stall', '==', 1), ('hacdbs_fallbacks', '==', 1)],
          cpu='x-hacdbs-slice=1,x-hacdbs-slice-ns=3000000'),
    Point(0, 'signals-while-resetting', '-m 16 -b 4k -d 65536 -S 30000', cpu='hdbss=off,hacdbs=off'),
)

# Why a point has no test here.
UNTESTED = {
    9: 'no emulator at hand has FEAT_NV2, so there are no tables of nested guests',
    13: 'the update that a plain store would undo is in the list already: the page is reported all '
        'the same, and the only effect is one entry more',
}


def named(name):
    return next(p for p in POINTS if p.name == name)


def groups(points):
    """Points that can be run in one boot: [[point, ...], ...]."""
    found = {}
    for point in points:
        found.setdefault(point.cpu, []).append(point)
    return list(found.values())


def problems(point, outcome):
    """What is wrong after a boot that ran the point's command; [] if nothing is."""
    status, lines = suites.split(outcome.text).get(point.name, (None, []))
    if status is None:
        return ['did not end'] + outcome.complaints[:1]
    found = outcome.complaints[:1]
    if status:
        found.append(' '.join(line for line in lines if line.startswith('round'))
                     or suites.verdict(status))
    have = suites.counters(lines)
    exits = [m for m in map(EXITS.match, lines) if m]
    if exits:
        have['exits'] = int(exits[-1].group(2))
    for name, compare, value in point.counters:
        if not COMPARE[compare](have.get(name, 0), value):
            found.append('%s is %d' % (name, have.get(name, 0)))
    return found
