#!/usr/bin/env python3
"""Checks tracking.pml with spin: holds in every mode, and breaks for each broken rule.

Prints TAP. Arguments: path of tracking.pml, C compiler.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

MODES = ["LEGACY", "MANUAL", "INITSET", "RING", "TCG"]
# Rule -> modes in which breaking it must give a counterexample. Rule 3 is about the ring; rule 4
# (clears that reach too far, or do not wait for the flush) about back ends with a clear of their own.
BROKEN = {
    1: MODES,
    2: MODES,
    3: ["RING"],
    4: ["MANUAL", "INITSET", "TCG"],
    5: MODES,
    6: ["LEGACY", "MANUAL", "INITSET", "RING"],
}


def errors(model, cc, mode, rule):
    """Number of errors that an exhaustive search finds; None if it could not be completed."""
    with tempfile.TemporaryDirectory() as d:
        shutil.copy(model, os.path.join(d, "m.pml"))
        subprocess.run(["spin", "-a", f"-DMODE={mode}", f"-DBREAK={rule}", "m.pml"], cwd=d,
                       check=True, capture_output=True)
        subprocess.run([cc, "-O1", "-w", "-DSAFETY", "-DVECTORSZ=2048", "-DCOLLAPSE", "-o", "pan",
                        "pan.c"], cwd=d, check=True, capture_output=True)
        out = subprocess.run(["./pan", "-m200000", "-w24"], cwd=d, text=True,
                             capture_output=True).stdout
    found = re.search(r"errors: (\d+)", out)
    if not found or "max search depth too small" in out or "out of memory" in out:
        print("# " + out.replace("\n", "\n# "))
        return None
    return int(found.group(1))


def main():
    model, cc = sys.argv[1:3]
    if not shutil.which("spin"):
        print("1..0 # SKIP spin is not installed")
        return 0
    cases = [(m, 0) for m in MODES] + [(m, r) for r, ms in BROKEN.items() for m in ms]
    failed = 0
    print(f"1..{len(cases)}")
    for n, (mode, rule) in enumerate(cases, 1):
        got = errors(model, cc, mode, rule)
        ok = got is not None and (got == 0 if rule == 0 else got > 0)
        failed += not ok
        what = "no write is lost" if rule == 0 else f"broken rule {rule} is found"
        print(f"{'ok' if ok else 'not ok'} {n} - {mode}: {what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
