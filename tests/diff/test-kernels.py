#!/usr/bin/env python3
"""Run the arm64 benchmark kernels under run-a64 (both engines) and an oracle; compare results.

usage: test-kernels.py RUN-A64 KERNELS ENGINES ORACLE-COMMAND...   (ENGINES separated by commas)
"""

import subprocess
import sys

KERNELS = ['crc', 'sha', 'sort', 'fib', 'ind', 'copy', 'chase', 'mix', 'interp', 'memory', 'bytewise', 'lse',
           'llsc', 'nbody', 'mandel', 'single', 'saxpy', 'daxpy', 'dot', 'bytes', 'vint']


def output(command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60).stdout


def main():
    runner, kernels, engines = sys.argv[1:4]
    oracle = sys.argv[4:]
    failed = number = 0
    for name in KERNELS:
        arguments = [kernels, name, '2']
        want = output(oracle + arguments)
        for engine in engines.split(','):
            number += 1
            got = output([runner, '--engine', engine] + arguments)
            if got != want:
                failed += 1
                print(f'# {got} instead of {want}')
            print(f'{"not " if got != want else ""}ok {number} {name} {engine}')
    print(f'1..{number}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
