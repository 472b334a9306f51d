#!/usr/bin/env python3
"""StableHLO's own programs, which JAX made and which say what they must give: stablehlo_testdata.py PODSIM CONFIG FILE.mlir...

FILE is one of stablehlo/testdata of github.com/openxla/stablehlo. Its main compares what it computes with what it expects in custom calls
check.expect_*; here main returns both instead, and they are compared. CONFIG is a pod of one chip. Needs numpy. The last line is
`N passed, N failed`."""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

TYPE = r"tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>"
CHECK = re.compile(r"\n *stablehlo\.custom_call @check\.\w+\((%[\w#]+), (%[\w#]+)\)[^\n]*?: \(([^\n]*)\) -> \(\)[^\n]*")


def returning_both(text):
    """The same program, main giving back pairs of what is computed and what is expected; and their types."""
    pairs, types = [], []
    for got, wanted, of in CHECK.findall(text):
        pairs += [got, wanted]
        types += re.findall(TYPE, of)
    text = CHECK.sub("", text)
    head, body = re.split(r"(?<=@main\(\) -> )\(.*\)(?= \{\n)", text, maxsplit=1)
    body = re.sub(r"\n    return [^\n]*", f"\n    return {', '.join(pairs)} : {', '.join(types)}", body, count=1)
    return f"{head}({', '.join(types)}){body}", types


def numbers(array, type_text):
    if "bf16" in type_text:
        return (np.atleast_1d(array).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array if array.dtype.kind in "biuc" else array.astype(np.float64)


def equal(got, wanted, type_text):
    low = "f16" in type_text
    got, wanted = numbers(got, type_text), numbers(wanted, type_text)
    if got.dtype.kind in "biu":
        return (got == wanted).all()
    return np.allclose(got, wanted, rtol=2e-2 if low else 1e-3, atol=1e-2 if low else 1e-4, equal_nan=True)


def verdict(podsim, config, path):
    text, types = returning_both(path.read_text())
    if not types:
        return "checks nothing"
    with tempfile.TemporaryDirectory() as folder:
        program, out = pathlib.Path(folder) / "program.mlir", pathlib.Path(folder) / "out"
        program.write_text(text)
        r = subprocess.run([podsim, config, program, "--numbers", "on", "-o", out], capture_output=True, text=True)
        if r.returncode:
            return r.stderr.strip()
        arrays = [np.load(out / f"out{i}.npy") for i in range(len(types))]
    same = all(equal(arrays[i], arrays[i + 1], types[i]) for i in range(0, len(types), 2))
    return "ok" if same else "numbers differ"


def main():
    podsim, config = sys.argv[1:3]
    failed = 0
    for path in map(pathlib.Path, sys.argv[3:]):
        text = verdict(podsim, config, path)
        failed += text != "ok"
        if text != "ok":
            print(f"FAIL {path.name}: {text}")
    print(f"{len(sys.argv) - 3 - failed} passed, {failed} failed")
    return failed > 0 or len(sys.argv) == 3


sys.exit(main())
