"""The loads of tests/bench/translator: how much work each does, and what is wanted of it."""

# Bare-metal kernels (tests/bench/a64): rounds by name.
INTEGER = {
    'crc': 700, 'sha': 40000, 'sort': 12, 'fib': 400, 'ind': 1000, 'copy': 1000, 'mix': 7000,
    'interp': 6000, 'memory': 9000, 'bytewise': 6000, 'lse': 100000, 'llsc': 60000, 'chase': 300,
    'chase-big': 150,
}
FP = {
    'nbody': 150000, 'mandel': 400, 'single': 30000, 'saxpy': 30000, 'daxpy': 40000, 'dot': 50000,
    'sdot': 80000, 'bytes': 60000, 'vint': 60000,
}
# On Linux (tests/bench/guest/linux.c).
SYSTEM = {'getpid': 200000, 'fault': 40000, 'fork': 200, 'pipe': 15000}
KPTI = ('off', 'on')

# Single operations (tests/bench/guest/micro.c): rounds, target in nanoseconds (None: no target).
OPERATIONS = {
    'svc': (300000, 150), 'svc-el1': (300000, 150), 'fault': (48000, None), 'daif': (2000000, 6),
    'daif-save': (2000000, 6), 'counter': (2000000, 30), 'sysreg': (6000000, 2),
    'sp-el0': (6000000, 2), 'ttbr': (1500000, 40), 'pan': (1500000, 6), 'dmb': (30000000, 2),
    'mmio': (600000, 120), 'refill': (800000, 40), 'refill-wide': (700000, 120),
    'refill-store': (700000, 120), 'refill-exec': (500000, 120), 'asid': (800000, 10),
    'tlbi-all': (100000, 600), 'tlbi-page': (500000, 60), 'rewrite': (10000, 3000),
    'translate': (30000, 3000),
}
MEANING = {
    'svc': 'SVC from EL0 and ERET, with eight registers saved',
    'svc-el1': 'the same within EL1',
    'fault': 'page fault of EL0 that maps the page, with TLBI',
    'daif': 'DAIFClr and DAIFSet',
    'daif-save': 'MRS DAIF, DAIFSet, MSR DAIF',
    'counter': 'MRS CNTVCT_EL0',
    'sysreg': 'MRS and MSR TPIDR_EL1',
    'sp-el0': 'MRS and MSR SP_EL0',
    'ttbr': 'MSR TTBR0_EL1 and ISB',
    'pan': 'PAN set and cleared',
    'dmb': 'DMB ISH',
    'mmio': "read of the PL011's flag register",
    'refill': 'load from one of 3000 pages in turn',
    'refill-wide': 'load from one of 16383 pages in turn',
    'refill-store': 'store to one of 16383 pages in turn',
    'refill-exec': 'call into one of 2048 pages in turn',
    'asid': 'load after a change of the ASID, 64 pages each time',
    'tlbi-all': 'TLBI VMALLE1, DSB, ISB',
    'tlbi-page': 'TLBI VAE1IS, DSB',
    'rewrite': 'code rewritten, IC IVAU, called',
    'translate': 'new region of ten instructions, executed once',
}

# Group: (least ratio to the better of the others, what is hoped for), as geometric means.
BARS = {'integer': (1.5, 2.0), 'fp': (4.0, 8.0), 'system': (2.0, 4.0), 'boot': (1.4, 2.0)}


def group_of(name):
    """Group of a load; None for a single operation."""
    if name in INTEGER:
        return 'integer'
    if name in FP:
        return 'fp'
    return {'boot': 'boot'}.get(name.split('/')[0], 'system' if '/' in name else None)


def linux_names():
    """Loads on Linux by their full names: load/kpti state."""
    return ['%s/%s' % (load, kpti) for kpti in KPTI for load in ('boot', *SYSTEM)]


def all_names():
    return [*INTEGER, *FP, *linux_names(), *OPERATIONS]


def chosen(words):
    """Full names that the words mean: names, groups ("micro" is the single operations), loads on
    Linux without their kpti state. Raises KeyError with a word that means nothing."""
    if not words:
        return all_names()
    found = []
    for word in words:
        some = [name for name in all_names()
                if word in (name, group_of(name) or 'micro', name.split('/')[0])]
        if not some:
            raise KeyError(word)
        found += some
    return [name for name in all_names() if name in found]
