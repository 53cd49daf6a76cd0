"""Results of one level (a kernel with some series) as JSON, and the table of several as Markdown."""

import json

from kit.debian import Problem

from . import mutants, points, suites
from .base import ARCHES, cache, digest


def path(arch, tag, emulator, debug=False):
    short = ''.join(c if c.isalnum() or c in '.-' else '-' for c in emulator)
    if len(short) > 60 and '-cpu' in short:
        short = short[:47] + '-' + digest(emulator)
    return cache() / 'results' / ('%s-%s%s-%s.json' % (arch.name, tag, '-debug' if debug else '',
                                                      short[:60]))


def points_path(tag, debug=False):
    """Results of kernel/testbed/mutants."""
    return cache() / 'results' / ('points-%s%s.json' % (tag, '-debug' if debug else ''))


def curve_path(tag):
    """Results of kernel/testbed/curve."""
    return cache() / 'results' / ('curve-%s.json' % tag)


def load(where):
    try:
        return json.loads(where.read_text('utf-8'))
    except FileNotFoundError:
        return {}
    except ValueError as err:
        raise Problem('%s is not JSON: %s' % (where, err)) from err


def store(where, result):
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(json.dumps(result, indent=1, sort_keys=True) + '\n', 'utf-8')


def counted(outcomes, probe):
    """The part of a result that counted boots of the same kind give; the worst status counts."""
    runs = [suites.split(outcome.text) for outcome in outcomes]
    found = {}
    for name, (_, lines) in runs[0].items():
        statuses = [run.get(name, (None, []))[0] for run in runs]
        figures = suites.measured(lines)
        for run in runs[1:]:
            for figure, again in zip(figures, suites.measured(run.get(name, (None, []))[1])):
                figure.setdefault('again', []).append(again['ns'])
        found[name] = {'status': next((s for s in statuses if s != 0), 0), 'probe': probe,
                       'figures': figures, 'counters': suites.counters(lines),
                       'said': [line for line in lines if line and not suites.MEASURED.match(line)
                                and not suites.COUNTER.match(line)][-8:]}
    return found


def tested(outcome):
    """The part of a result that a boot with selftests gives."""
    return {name: {'status': status, 'said': [line for line in lines if line][-6:]}
            for name, (status, lines) in suites.split(outcome.text).items()}


def change(new, old):
    return '' if not old or new is None else '%+.1f %%' % (100.0 * (new - old) / old)


def grouped(number):
    return f'{number:,}'.replace(',', ' ')


def spread(values):
    """How far apart the values of several runs are, as text."""
    if len(values) < 2:
        return ', one run'
    apart = max(values) - min(values)
    return ', &plusmn;%s' % grouped((apart + 1) // 2) if apart else ''


def table(levels, arch):
    """levels: [(name, result)], the first is what the others are compared with."""
    lines = ['| what | ' + ' | '.join('%s | change' % n if i else n
                                      for i, (n, _) in enumerate(levels)) + ' | trial |',
             '|---' * (2 * len(levels) + 1) + '|']
    ours = 'tidemark' in levels[0][1].get('emulator', '')
    for row in suites.ROWS:
        # There the wait for a grace period counts, and it has a length of its own.
        if row.phase in ('enable', 'disable') and ours:
            continue
        if not any(suites.figure(result, row) for _, result in levels):
            continue
        base = suites.figure(levels[0][1], row)
        cells = []
        for i, (_, result) in enumerate(levels):
            here = suites.figure(result, row)
            cells.append('%s (%.1f a page)%s' % (grouped(here[0]), here[0] / here[1],
                                                 spread(here[2]))
                         if here else 'not measured')
            if i:
                cells.append(change(here[0], base[0]) if here and base else '')
        bar = row.bars.get(arch)
        cells.append('%+.1f %%' % bar if bar is not None else '')
        lines.append('| %s | %s |' % (row.text, ' | '.join(cells)))
    return lines


COUNTERS = ('exits', 'hdbss_entries', 'hdbss_full', 'hacdbs_entries', 'hacdbs_err_unmapped',
            'hacdbs_err_mismatch', 'hacdbs_fallbacks')


def counter_table(levels):
    """KVM's counters, case by case, of the last of levels; beside them exits of the first."""
    (first, base), (_, last) = levels[0], levels[-1]
    lines = ['| case | exits, %s | ' % first + ' | '.join(COUNTERS) + ' |',
             '|---' * (len(COUNTERS) + 2) + '|']
    for case in suites.CASES:
        here = last.get('counted', {}).get(case, {}).get('counters')
        before = base.get('counted', {}).get(case, {}).get('counters', {})
        if here:
            cells = [str(before.get('exits', '')), *(str(here.get(n, '')) for n in COUNTERS)]
            lines.append('| %s | %s |' % (case, ' | '.join(cells)))
    return lines


def selftest_table(levels):
    names = [n for n in suites.SELFTESTS if any(n in r.get('selftests', {}) for _, r in levels)]
    names += [n for n in suites.CASES if n not in {r.case for r in suites.ROWS}]
    lines = ['| test | ' + ' | '.join(n for n, _ in levels) + ' |', '|---' * (len(levels) + 1) + '|']
    for name in names:
        cells = []
        for _, result in levels:
            one = result.get('selftests', {}).get(name) or result.get('counted', {}).get(name)
            cells.append(suites.verdict(one['status']) if one else 'not run')
        lines.append('| %s | %s |' % (name, ' | '.join(cells)))
    return lines


def injection_table(load_one):
    """One line for each injection of which load_one(name) has a result."""
    shown = ('hdbss_entries', 'hdbss_full', 'hdbss_lost', 'hacdbs_entries', 'hacdbs_err_unmapped',
             'hacdbs_err_mismatch', 'hacdbs_err_list', 'hacdbs_err_stall', 'hacdbs_fallbacks')
    lines = ['| injection | properties | failed | complaints | ' + ' | '.join(shown) + ' |',
             '|---' * (len(shown) + 4) + '|']
    for name, properties in suites.INJECTIONS.items():
        result = load_one(name)
        if not result:
            continue
        runs = {**result.get('counted', {}), **result.get('selftests', {})}
        failed = [n for n, one in runs.items() if one['status'] not in (0, suites.KSFT_SKIP)]
        sums = [sum(one.get('counters', {}).get(n, 0) for one in runs.values()) for n in shown]
        said = suites.unexpected(result.get('complaints', []), suites.cpu_with(name))
        lines.append('| %s | `%s` | %s | %d | %s |' % (
            name, properties or 'none', ', '.join(failed) or '0 of %d' % len(runs), len(said),
            ' | '.join(map(str, sums))))
    return lines


def points_table(result):
    """A line for each of the points and each mutant that its test has to catch."""
    lines = ['| point | test | as it is | mistake made on purpose | the test then says |',
             '|---' * 5 + '|']
    for point in points.POINTS:
        mine = [m for m in mutants.MUTANTS if m.caught_by == point.name]
        here = result.get('points', {}).get(point.name)
        verdict = 'not run' if here is None else '; '.join(here) or 'ok'
        for mutant in mine:
            found = result.get('mutants', {}).get(mutant.name)
            says = 'not run' if found is None else '; '.join(map(short, found)) or '**nothing**'
            lines.append('| %s | %s | %s | %s | %s |' % (point.number or '', point.name, verdict,
                                                        mutant.text, says))
    lines += ['| %d | none: %s | | | |' % (n, why) for n, why in points.UNTESTED.items()]
    return lines


def short(text):
    """What a table has room for of a complaint."""
    if 'dirty-state-check:' in text:
        return 'dirty-state-check: ' + text.split('dirty-state-check:')[1].split(': ')[1]
    if 'Oops' in text:
        return 'Oops'
    return text.replace('|', '\\|').partition(' round 2')[0]


def sections(text):
    """{heading: text} of a page; what stands before the first heading of level 2 is under ''."""
    found, at = {'': ''}, ''
    for line in text.splitlines(keepends=True):
        if line.startswith('## '):
            at = line[3:].strip()
            found[at] = ''
        found[at] += line
    return found


def merged(old, new):
    """The page new, with the sections of old that it lacks; those of architectures come first."""
    both = {**sections(old), **sections(new)}
    arches = list(ARCHES)
    order = sorted(both, key=lambda name: (name != '', arches.index(name) if name in arches else len(arches)))
    return '\n'.join(both[name].rstrip('\n') + '\n' for name in order)


def markdown(parts):
    """parts: [(heading, [(name, result)])]; the whole text of RESULTS.md."""
    lines = ['# Results', '',
             'Written by `kernel/testbed/report`; do not edit. Figures are instructions per ioctl '
             '(the emulated',
             'machine\'s clock counts them) for %d pages, a row being one round of one case of '
             '`dirty-probe`.' % suites.PAGES,
             '"trial" is the change that a throw-away trial of the idea gave with QEMU 7.2; a '
             'series has to reach it.',
             'Where runs differ, by how much is said.', '']
    for heading, levels in parts:
        first = levels[0][1]
        lines += ['## ' + heading, '',
                  'Linux %s, %s, %s.' % (first.get('version', '?'), first.get('compiler', '?'),
                                        first.get('emulator', '?')), '']
        if first.get('unit', 'instructions') == 'instructions':
            lines += table(levels, heading) + ['']
        else:
            lines += ['Not counted in instructions; KVM counts events:', '',
                      *counter_table(levels), '']
        lines += selftest_table(levels) + ['']
        for name, result in levels:
            for said in result.get('complaints', []):
                lines.append('- %s: the kernel said `%s`' % (name, said))
    return '\n'.join(lines).rstrip() + '\n'
