"""What is run on a booted kernel: counted cases of dirty-probe, and KVM's selftests."""

import re

MIB = 64
PAGES = MIB * 256
# Where instructions are not counted, less will do.
UNCOUNTED_MIB = 16

# name -> arguments of dirty-probe; {split} has blocks split by the ioctl where that has to be asked for
CASES = {
    'get': '-b 4k',
    'clear': '-b 4k -c 3',
    'clear-chunks': '-b 4k -c 3 -k 4096',
    'clear-split': '-b 4k -c 3 {split}',
    'clear-thp': '-b thp -c 3 {split}',
    'enable-thp': '-b thp -c 1 {split}',
    'clear-sparse': '-b 4k -c 1 -s 8',
    'clear-rare': '-b 4k -c 1 -s 2048',
    'ring': '-b 4k -d 65536',
    'ring-random': '-b 4k -d 65536 -o 5241',
    'recover-dirty': '-b thp -c 1 -i 1 -W',
    'ring-signals': '-b 4k -d 65536 -m 16 -S 30000',
}
SPLIT = {'arm64': '-e 0x200000'}
# Cases that mean something on one architecture only.
ONLY = {'clear-split': 'arm64'}


def cases(arch):
    """{name: arguments of dirty-probe} for the architecture of this name."""
    return {name: text.format(split=SPLIT.get(arch, '')).strip() for name, text in CASES.items()
            if ONLY.get(name, arch) == arch}


class Row:
    """One line of the table: a phase of a case, one of its rounds, and what is held beside it."""

    def __init__(self, case, phase, round_, text, arm64=None, riscv64=None, x86_64=None):
        self.case, self.phase, self.round, self.text = case, phase, round_, text
        self.bars = {'arm64': arm64, 'riscv64': riscv64, 'x86_64': x86_64}


# Of an architecture: change in percent that a throw-away trial of a loop over leaf tables gave with QEMU 7.2.
ROWS = (
    Row('get', 'get', 1, 'GET without manual protect, all pages dirty', -83.6, -93.5, -42.1),
    Row('clear', 'clear', 1, 'CLEAR, all pages dirty', -83.5, -93.5, -36.5),
    Row('clear-chunks', 'clear', 1, 'CLEAR in calls of 4096 pages'),
    Row('clear-split', 'clear', 1, 'CLEAR with eager splitting, all is split already', -86.4),
    Row('clear-thp', 'clear', 0, 'first CLEAR of 2 MiB blocks, with splitting where it is eager', -29.3, None,
        -25.1),
    Row('enable-thp', 'enable', 0,
        'enable without initially-set, 2 MiB blocks, with splitting where it is eager', -17.8),
    Row('get', 'enable', 0, 'enable without initially-set, 4 KiB pages', None, -80.0),
    Row('clear-sparse', 'clear', 1, 'CLEAR, every 8th page dirty', -80.1, -91.9, -77.8),
    Row('clear-rare', 'clear', 1, 'CLEAR, 8 pages dirty, 8 MiB apart'),
    Row('ring', 'reset', 1, 'RESET_DIRTY_RINGS, pages in order', -60.5, -79.9, -29.9),
    Row('ring-random', 'reset', 1, 'RESET_DIRTY_RINGS, pages in random order'),
    Row('clear-thp', 'disable', 0, 'disable, memory in 2 MiB blocks'),
    Row('clear-thp', 'after', 0, 'the guest writes all pages after that'),
    Row('recover-dirty', 'after', 0, 'the same, pages were left writable'),
)

# {mode}: one guest mode with pages of 4 KiB
SELFTESTS = {
    'dirty_log_test -M dirty-log': './dirty_log_test -M dirty-log -i 4 {mode}',
    'dirty_log_test -M clear-log': './dirty_log_test -M clear-log -i 4 {mode}',
    'dirty_log_test -M dirty-ring': './dirty_log_test -M dirty-ring -i 4 {mode}',
    'dirty_log_perf_test': './dirty_log_perf_test -b 32M {mode}',
    'dirty_log_perf_test, THP': './dirty_log_perf_test -b 32M {mode} -s anonymous_thp -e',
    'dirty_log_perf_test, ring': './dirty_log_perf_test -b 32M {mode} -d 16384',
    'dirty_log_perf_test, not initially set': './dirty_log_perf_test -b 32M {mode} -l 1',
    'dirty_log_mask_test': './dirty_log_mask_test -r 1',
    'dirty_log_content_test': './dirty_log_content_test',
    'dirty_log_content_test, THP, pages in order': './dirty_log_content_test -t -q',
    'dirty_log_content_test, small ring': './dirty_log_content_test -M ring -d 1024 -v 1 -q',
    'dirty_log_content_test, signals': './dirty_log_content_test -M ring -S 300 -i 64 -q',
    'memslot_modification_stress_test': './memslot_modification_stress_test -b 16M -i 50',
    'demand_paging_test': './demand_paging_test -b 32M {mode}',
    'kvm_page_table_test': './kvm_page_table_test -b 32M {mode}',
    'kvm_page_table_test, THP': './kvm_page_table_test -b 32M {mode} -s anonymous_thp',
    'dirty_log_disable_test': './dirty_log_disable_test',
}
MODE = {'arm64': '-m 3', 'riscv64': '-m 18'}

# The emulator looks at what KVM does with the engines.
CHECK = 'dirty-state-check=on'

# What the engines of this project's emulator are made to do wrong: properties of -cpu max.
INJECTIONS = {
    'none': '',
    'list is full at 7 entries': 'x-hdbss-full-at=7',
    'list is full at once': 'x-hdbss-full-at=0',
    'list cannot be written': 'x-hdbss-abort-at=3',
    'list cannot be written, abort': 'x-hdbss-abort-at=3,x-hdbss-abort-sync=on',
    'entries come twice': 'x-hdbss-duplicate-every=3',
    'entries of clean pages': 'x-hdbss-spurious-every=3',
    'page is refused': 'x-hacdbs-error-at=5,x-hacdbs-error=ipahacf',
    'page is unmapped': 'x-hacdbs-error-at=0,x-hacdbs-error=ipaf',
    'list cannot be read': 'x-hacdbs-error-at=9,x-hacdbs-error=structf',
    'ahead of INDEX': 'x-hacdbs-error-at=5,x-hacdbs-ahead=16',
    'slow': 'hacdbs-entry-ns=200',
    'slower than the time-out': 'x-hacdbs-slice=1,x-hacdbs-slice-ns=3000000',
}
# Bitmaps and rings, blocks and pages; a lost page fails.
BITMAP_CASES = ('get', 'clear-thp', 'clear-sparse', 'dirty_log_test -M dirty-log',
                'dirty_log_test -M clear-log')
RING_CASES = ('ring', 'dirty_log_test -M dirty-ring')


# With a series, on CPUs that have the engine and no injection for it, a case must have used it:
# (series, property of -cpu that may turn it off, case, counter).
USED = (('arm64-hdbss', 'hdbss', 'get', 'hdbss_entries'),
        ('arm64-hdbss', 'hdbss', 'ring', 'hdbss_entries'),
        ('arm64-hacdbs', 'hacdbs', 'get', 'hacdbs_entries'),
        ('arm64-hacdbs', 'hacdbs', 'ring', 'hacdbs_entries'))


def unused(series, cpu, counted):
    """What should have been used and was not: ['get: hdbss_entries', ...]."""
    return ['%s: %s' % (case, counter) for name, engine, case, counter in USED
            if name in series.split(',') and engine + '=off' not in cpu.split(',')
            and ',x-%s-' % engine not in cpu
            and counted.get(case, {}).get('status') == 0
            and not counted[case].get('counters', {}).get(counter)]


def reports_more(cpu):
    """Whether CPUs with these properties make KVM report pages that the guest did not write."""
    return bool(cpu) and any(',x-hdbss-%s-' % p in cpu for p in ('abort', 'spurious', 'duplicate'))


def unexpected(complaints, cpu):
    """Complaints that count: a list that cannot be written makes the checker remind of what follows."""
    lost = bool(cpu) and 'x-hdbss-abort-' in cpu
    return [c for c in complaints if not (lost and 'entries-lost-before' in c)]


def injected_cases(injection):
    """dirty_log_test wants an exact log. A VM with rings is stopped if its list cannot be written."""
    cpu = cpu_with(injection)
    cases = BITMAP_CASES if 'x-hdbss-abort-' in cpu else BITMAP_CASES + RING_CASES
    return tuple(c for c in cases if c in CASES or not reports_more(cpu))


def cpu_with(injection):
    """The argument of -cpu that has the injection of this name."""
    properties = INJECTIONS[injection]
    return 'max,' + CHECK + (',' + properties if properties else '')


MEASURED = re.compile(r'^(\w+) (\d+) ns=(\d+) calls=(\d+) pages=(\d+)$')
COUNTER = re.compile(r'^stat (\w+) (\d+)$')
KSFT_SKIP = 4


def counted_command(arch, names=None, cpu=None, mib=MIB):
    """One shell command for the cases in names (all); each announces itself and its status."""
    more = ' -x' if reports_more(cpu) else ''
    known = cases(arch)
    return '; '.join('echo CASE %s; ./dirty-probe -m %d %s%s; echo END $?' % (name, mib, known[name],
                                                                             more)
                     for name in names or known)


def program(selftest):
    """The program that a selftest of this name is a run of."""
    return SELFTESTS[selftest].split()[0].removeprefix('./')


def selftest_command(arch, names=None):
    return '; '.join('echo CASE %s; %s; echo END $?' % (name, SELFTESTS[name].format(
        mode=MODE.get(arch, ''))) for name in names or SELFTESTS)


def batches(names, command, room):
    """names in groups whose command(group) is not longer than room, as few as there can be."""
    groups = []
    for name in names:
        if groups and len(command(groups[-1] + [name])) <= room:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def split(text):
    """What each case printed, and its status (None: it never ended): {name: (status, lines)}."""
    cases, name = {}, None
    for line in text.splitlines():
        if line.startswith('CASE '):
            name = line[5:].strip()
            cases[name] = (None, [])
        elif name and line.startswith('END '):
            cases[name] = (int(line[4:]), cases[name][1])
            name = None
        elif name:
            cases[name][1].append(line.strip())
    return cases


def measured(lines):
    """The probe's figures: [{phase, round, ns, calls, pages}]."""
    found = []
    for line in lines:
        m = MEASURED.match(line)
        if m:
            numbers = map(int, m.groups()[1:])
            found.append({'phase': m.group(1), **dict(zip(('round', 'ns', 'calls', 'pages'),
                                                          numbers))})
    return found


def counters(lines):
    """KVM's own counters at the end of a case: {name: value}."""
    return {m.group(1): int(m.group(2)) for m in map(COUNTER.match, lines) if m}


def verdict(status):
    if status is None:
        return 'did not end'
    return {0: 'ok', KSFT_SKIP: 'skipped'}.get(status, 'failed (%d)' % status)


def figure(result, row):
    """(ns, pages, ns of all runs) of a row in a level's result, or None."""
    for m in result.get('counted', {}).get(row.case, {}).get('figures', []):
        if m['phase'] == row.phase and m['round'] == row.round:
            return m['ns'], m['pages'], [m['ns'], *m.get('again', [])]
    return None
