"""Tables of what was measured."""

import statistics

# Metric of kit.run, heading, digits after the point, whether less is better.
COLUMNS = (
    ('total', 'total time, ms', 0, True),
    ('cpu', 'CPU of both, s', 3, True),
    ('source cpu', '  of the source', 3, True),
    ('target cpu', '  of the target', 3, True),
    ('downtime', 'downtime reported, ms', 0, True),
    ('gap', 'gap seen outside, ms', 1, True),
    ('setup', 'setup, ms', 0, True),
    ('passes', 'passes', 0, True),
    ('sent', 'sent, MB', 1, True),
    ('faults', 'page faults', 0, True),
    ('start', 'start of tracking, ms', 2, True),
    ('get calls', 'GET calls', 0, True),
    ('get', '  in them, ms', 2, True),
    ('clear calls', 'CLEAR calls', 0, True),
    ('clear', '  in them, ms', 2, True),
    ('clear longest', '  the longest, ms', 2, True),
    ('reset calls', 'RESET calls', 0, True),
    ('pages/s', 'guest speed, of before', 2, False),
    ('pages/vcpu-s', '  per vCPU second', 2, False),
)


def spread(values, digits):
    return '%s / %s / %s' % tuple('%.*f' % (digits, value) for value in (
        min(values), statistics.median(values), max(values)))


def paired_ratios(rounds, metric, ours, others, less):
    """Ours to the better of the others in each round in which all of them ended."""
    best = min if less else max
    ratios = []
    for results in rounds:
        values = {name: results[name].get(metric) for name in (ours, *others) if name in results}
        rivals = [values[name] for name in others if values.get(name)]
        if values.get(ours) is not None and rivals:
            ratios.append(values[ours] / best(rivals))
    return ratios


def table(title, rounds, names):
    """rounds: a list of {name: result or text why there is none}; names[0] is compared to the rest.

    Returns lines of Markdown.
    """
    good = [{name: result for name, result in results.items() if isinstance(result, dict)}
            for results in rounds]
    lines = ['### ' + title, '', '| least / median / most | %s | ratio |' % ' | '.join(names),
             '|---|%s---|' % ('---|' * len(names))]
    for metric, heading, digits, less in COLUMNS:
        cells = []
        for name in names:
            values = [results[name][metric] for results in good if metric in results.get(name, ())]
            cells.append(spread(values, digits) if values else '-')
        if all(cell in ('-', spread([0], digits)) for cell in cells):
            continue
        ratios = paired_ratios(good, metric, names[0], names[1:], less)
        cells.append('%.2f (%.2f..%.2f)' % (statistics.median(ratios), min(ratios), max(ratios))
                     if ratios else '-')
        lines.append('| %s | %s |' % (heading, ' | '.join(cells)))
    for name in names:
        for text in sorted({str(results[name]) for results in rounds
                            if isinstance(results.get(name), str)}):
            lines.append('\n%s did not end: %s' % (name, text))
    return lines


def verdicts(rounds, names, bars):
    """One line a bar: (metric, most that the ratio may be)."""
    good = [{name: result for name, result in results.items() if isinstance(result, dict)}
            for results in rounds]
    lines = []
    for metric, most in bars:
        ratios = paired_ratios(good, metric, names[0], names[1:], True)
        if not ratios:
            continue
        ratio = statistics.median(ratios)
        lines.append('%s %s: %.2f of the better one, at most %.2f wanted' % (
            'ok    ' if ratio <= most else 'missed', metric, ratio, most))
    return lines
