"""Mutants: fixes that are taken back one by one, to show that a test notices.

mutants.patch puts all of them into one kernel, where kvm.mutant= chooses; so there is one build.
"""

import subprocess

from kit.debian import Problem

from . import source
from .base import HERE, digest

PATCH = HERE / 'mutants.patch'


class Mutant:
    """Mistake number, its name, the test of bed/points.py that has to fail, and what is wrong."""

    def __init__(self, number, name, caught_by, text):
        self.number, self.name, self.caught_by, self.text = number, name, caught_by, text


MUTANTS = (
    Mutant(1, 'not-detected', 'feature-found', 'the feature is not used, as if the field of the ID '
           'register were not sanitised'),
    Mutant(2, 'shown-to-guests', 'feature-hidden', 'guests see HACDBS'),
    Mutant(3, 'hdbss-shown-to-guests', 'feature-hidden', 'guests see HDBSS'),
    Mutant(4, 'old-vmid', 'current-vmid', 'the VMID is not brought up to date'),
    Mutant(5, 'no-dsb', 'dsb-after-stop', 'no DSB after the engine was stopped'),
    Mutant(6, 'with-tge', 'tge-clear', 'TGE stays set'),
    Mutant(7, 'errors-end-it', 'unmapped-pages', 'an entry that is refused ends the use of the '
           'engine for the run'),
    Mutant(8, 'words-dropped', 'failure-half-way', 'words that the engine has done are taken out of '
           'what user space gets'),
    Mutant(9, 'full-list', 'full-lists', 'the end of a list without a stop entry is an error'),
    Mutant(10, 'offset-of-buffer', 'clear-in-parts', "pages are counted from the start of the "
           "caller's bitmap"),
    Mutant(11, 'split-first', 'split-after-cleaning', 'blocks are split before the engine runs'),
    Mutant(12, 'blocks-ignored', 'blocks', 'an entry of another level or without DBM counts as '
           'clean'),
    Mutant(13, 'slot-unchecked', 'bad-ring-entries', 'a ring entry may name a slot that is not '
           'there'),
    Mutant(14, 'page-unchecked', 'bad-ring-entries', 'a ring entry may name a page beyond its slot'),
    Mutant(15, 'allocates', 'no-allocation', 'memory is allocated under mmu_lock'),
    Mutant(16, 'stop-entry-error', 'stop-entry', 'an error of the stop entry has to be the one of '
           'the level'),
    # Not noticed: to read the clock in the loop is an ISB as well, on CPUs without FEAT_ECV.
    Mutant(17, 'no-isb', 'isb-when-polling', 'polling without an ISB of its own'),
    Mutant(18, 'no-time-out', 'slow-engine', 'polling without a limit'),
    Mutant(19, 'signal-drops', 'signals-while-resetting', 'a signal drops the entries that were '
           'gathered'),
)


def named(names=None):
    """The mutants of these names, None: all."""
    unknown = set(names or ()) - {m.name for m in MUTANTS}
    if unknown:
        raise Problem('no mutant %s; there are %s' % (', '.join(sorted(unknown)),
                                                      ', '.join(m.name for m in MUTANTS)))
    return [m for m in MUTANTS if names is None or m.name in names]


def apply(tag):
    """Puts them all on what tag says; the tag of the result."""
    patch = PATCH.read_text('utf-8')
    name = 'mutants-' + digest(tag, patch)
    if source.has_tag(name):
        return name
    tree = source.worktree()
    source.git('checkout', '-q', '--force', '--detach', tag, where=tree)
    done = subprocess.run(['git', '-C', str(tree), 'apply', '--index', '-'], input=patch, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise Problem('%s does not apply: %s' % (PATCH.name, done.stderr))
    source.git('commit', '-q', '-m', 'mutants', where=tree)
    source.git('tag', name, where=tree)
    return name
