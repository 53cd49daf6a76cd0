"""What the test bed's scripts share. Debian's packages are fetched by tests/bench/kit."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / 'tests' / 'bench'))
