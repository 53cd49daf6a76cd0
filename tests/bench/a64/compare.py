#!/usr/bin/env python3
"""CPU seconds of the kernels natively, under qemu-aarch64 and under run-a64, as ratios.

usage: compare.py NATIVE-KERNELS ARM64-KERNELS RUN-A64 [KERNEL...]

All runs of one kernel are interleaved; the figure is the least user time of five.
"""

import math
import os
import subprocess
import sys

ROUNDS = {'crc': 900, 'sha': 60000, 'sort': 25, 'fib': 2000, 'ind': 2500, 'copy': 1500,
          'chase': 600}
REPEAT = 5


def user_seconds(command):
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    if status:
        sys.exit(f'{" ".join(command)}: status {status}')
    return usage.ru_utime, output


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    native, arm64, runner = sys.argv[1:4]
    ways = {'native': [native], 'qemu': ['qemu-aarch64', arm64], 'ours': [runner, arm64]}
    product = 1.0
    names = sys.argv[4:] or list(ROUNDS)
    print(f'{"kernel":8}{"native":>9}{"qemu":>9}{"ours":>9}{"ours/native":>13}{"qemu/ours":>11}')
    for name in names:
        least = dict.fromkeys(ways, math.inf)
        results = set()
        for _ in range(REPEAT):
            for way, command in ways.items():
                seconds, output = user_seconds(command + [name, str(ROUNDS[name])])
                least[way] = min(least[way], seconds)
                results.add(output)
        if len(results) != 1:
            sys.exit(f'{name}: results differ: {results}')
        product *= least['qemu'] / least['ours']
        print(f'{name:8}{least["native"]:9.3f}{least["qemu"]:9.3f}{least["ours"]:9.3f}'
              f'{least["ours"] / least["native"]:13.2f}{least["qemu"] / least["ours"]:11.2f}',
              flush=True)
    print(f'geometric mean qemu/ours: {product ** (1 / len(names)):.2f}')


if __name__ == '__main__':
    main()
