#!/usr/bin/env python3
"""Pallas kernels: run_pallas.py PODSIM SOURCE [NAME...].

Runs each NAME.mlir of this folder on the inputs in NAME.npz and compares with the outputs there (make.py wrote both): integers to the
bit, floats within a few roundings. The last line is `N passed, N failed`."""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

CONFIGS = {1: "v5e_1x1.ini", 4: "v5e_2x2.ini", 8: "v5e_4x2.ini"}


def wide(array):
    return (array.view("u2").astype("u4") << 16).view("f4") if array.dtype == np.dtype("V2") else array


def difference(got, want):
    """What stands against an output, or None."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    narrow, got, want = got.dtype == np.dtype("V2"), wide(got), wide(want)
    if want.dtype.kind in "biu":
        return None if np.array_equal(got, want) else "differs"
    tolerance = 1e-2 if narrow else 1e-5
    scale = np.nanmax(np.abs(np.where(np.isfinite(want), want, 0)), initial=1e-6)
    close = np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return None if close else f"differs by {np.nanmax(np.abs(got - want)):.3g} of {scale:.3g}"


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
    found = [(k, difference(np.load(folder / f"out{k}.npy"), arrays[f"out{k}"])) for k in range(sum(name.startswith("out") for name in arrays))]
    return [f"out{k} {what}" for k, what in found if what]


def main():
    podsim, source, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    programs = [p for p in sorted((source / "tests/cases/pallas").glob("*.mlir")) if not names or p.stem in names]
    failed = 0
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            found = faults(podsim, source, program, pathlib.Path(folder))
        failed += bool(found)
        if found:
            print(f"FAIL {program.stem}: {'; '.join(found)}")
    print(f"{len(programs) - failed} passed, {failed} failed")
    return failed > 0 or not programs


if __name__ == "__main__":
    sys.exit(main())
