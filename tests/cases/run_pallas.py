#!/usr/bin/env python3
"""Pallas kernels: run_pallas.py PODSIM SOURCE [NAME...].

Runs each tests/cases/pallas/NAME.mlir on the inputs in NAME.npz and compares with the outputs there (make.py wrote both): integers to the
bit, floats within a few roundings. The last line is `N passed, N failed`."""
import pathlib
import re
import subprocess
import sys

import numpy as np
from runner import CONFIGS, difference, run_cases


def wide(array):
    return (array.view("u2").astype("u4") << 16).view("f4") if array.dtype == np.dtype("V2") else array


def fault(got, want):
    narrow = np.dtype("V2") in (got.dtype, want.dtype)  # bf16
    if got.dtype != want.dtype:
        return f"is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    return difference(wide(got), wide(want), 1e-2 if narrow else 1e-5)


def faults(podsim, source, program, folder):
    arrays = np.load(program.with_suffix(".npz"))
    devices = int(re.search(r"mhlo.num_partitions = (\d+)", program.read_text())[1])
    words = []
    for i in range(sum(name.startswith("in") for name in arrays)):
        np.save(folder / f"in{i}.npy", arrays[f"in{i}"])
        words += ["-i", folder / f"in{i}.npy"]
    r = subprocess.run([podsim, source / "configs" / CONFIGS[devices], program, *words, "-o", folder, "--numbers", "on"],
                       capture_output=True, text=True)
    if r.returncode:
        return [f"exit {r.returncode}: {r.stderr.strip()}"]
    found = [(k, fault(np.load(folder / f"out{k}.npy"), arrays[f"out{k}"])) for k in range(sum(name.startswith("out") for name in arrays))]
    return [f"out{k} {what}" for k, what in found if what]


def main():
    podsim, source, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    programs = [p for p in sorted((source / "tests/cases/pallas").glob("*.mlir")) if not names or p.stem in names]
    return run_cases([(p.stem, p) for p in programs], lambda program, folder: faults(podsim, source, program, folder))


if __name__ == "__main__":
    sys.exit(main())
