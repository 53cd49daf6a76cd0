#!/usr/bin/env python3
"""The kernel series are well formed; and, where the source is cached, apply one after the other."""

import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / 'kernel' / 'testbed'))

from bed import order, patches, source  # noqa: E402

SKIP = 77


def applies(chosen):
    """Applies chosen on an index of its own, so that nothing else sees it; the first complaint or ''."""
    with tempfile.TemporaryDirectory() as where:
        env = {**os.environ, 'GIT_INDEX_FILE': str(pathlib.Path(where) / 'index')}

        def git(*args):
            return subprocess.run(['git', '-C', str(source.folder()), *args], env=env, text=True,
                                  capture_output=True, check=False)

        done = git('read-tree', 'base')
        if done.returncode:
            return done.stderr
        for patch in chosen:
            done = git('apply', '--cached', '--whitespace=error', str(patch))
            if done.returncode:
                return '%s: %s' % (patch.name, done.stderr)
    return ''


def main():
    bad = 0
    known = [*order.there(), *order.BESIDE]
    chosen = source.series_named(','.join(known))
    for patch in chosen:
        found = patches.problems(patch.read_text('utf-8'))
        print('%s/%s: %s' % (patch.parent.name, patch.name, '; '.join(found) or 'well formed'))
        bad += bool(found)
    folders = source.SERIES.iterdir() if source.SERIES.exists() else ()
    unlisted = {p.name for p in folders if p.is_dir()} - set(known)
    if unlisted:
        print('not in the order of series: %s' % ', '.join(sorted(unlisted)))
        bad += 1
    if bad:
        return 1
    if not source.have_source():
        print('skipped: whether they apply: no source in the cache (kernel/testbed/fetch)')
        return SKIP
    complaint = applies(chosen)
    print(complaint or '%d patches apply to %s' % (len(chosen), source.version()))
    return 1 if complaint else 0


sys.exit(main())
