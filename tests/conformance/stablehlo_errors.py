#!/usr/bin/env python3
"""StableHLO's own erroneous functions: stablehlo_errors.py PODSIM FILE.mlir...

FILE is one of stablehlo/tests of github.com/openxla/stablehlo (ops_stablehlo.mlir, verify_*.mlir ...), whose parts between lines
`// -----` say in `expected-error` what is wrong with them. Prints those that podsim reads all the same, each with what it should have
said; podsim does not look at accuracies, dot algorithms, layouts and aliases of custom calls, and names of composites. The last line is
`N refused, N read`."""
import pathlib
import re
import subprocess
import sys
import tempfile


def erroneous(path):
    """The parts of a file that are marked so, with the first thing that is wrong with each."""
    for part in re.split(r"^// -----.*$", path.read_text(), flags=re.M):
        marks = re.findall(r"expected-error[^{]*\{\{(.*)\}\}", part)
        if marks and "func.func" in part:
            yield part, marks[-1]


def is_refused(podsim, text):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as program:
        program.write(text)
        program.flush()
        done = subprocess.run([podsim, "print", program.name], capture_output=True, timeout=60)
    if done.returncode not in (0, 3):
        sys.exit(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}\n{text}")
    return done.returncode == 3


def main():
    podsim, counts = sys.argv[1], [0, 0]
    for path in map(pathlib.Path, sys.argv[2:]):
        for text, mark in erroneous(path):
            refused = is_refused(podsim, text)
            counts[not refused] += 1
            if not refused:
                print(f"{path.name}: {mark}")
    print(f"{counts[0]} refused, {counts[1]} read")


if __name__ == "__main__":
    main()
