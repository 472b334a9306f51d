#!/usr/bin/env python3
"""Programs with source locations against the same without: locations.py PODSIM CONFIG CASES.

For each folder of CASES with a program.mlir and a program_locations.mlir (what JAX prints with debug_info=True) both are run. Outputs and
timeline must be the same bytes, and the partitioned programs the same but for what they say of source lines. The last line is
`N passed, N failed`."""
import pathlib
import re
import subprocess
import sys
import tempfile


def without_metadata(text):
    return re.sub(r",? metadata=\{[^}]*\}", "", text)


def run(podsim, config, program, folder):
    inputs = [word for path in sorted(program.parent.glob("in*.npy"), key=lambda p: int(p.stem[2:])) for word in ("-i", path)]
    r = subprocess.run([podsim, config, program, *inputs, "-o", folder], capture_output=True, text=True)
    if r.returncode:
        return {"error": re.sub(r"^.*?: ", "", r.stderr.splitlines()[0])}
    texts = {"partitioned.hlo": without_metadata((folder / "partitioned.hlo").read_text())}
    texts["timeline.csv"] = (folder / "timeline.csv").read_text()
    return texts | {path.name: path.read_bytes() for path in sorted(folder.glob("out*.npy"))}


def faults(podsim, config, case):
    with tempfile.TemporaryDirectory() as folder:
        plain, located = (run(podsim, config, case / name, pathlib.Path(folder) / name)
                          for name in ("program.mlir", "program_locations.mlir"))
    return sorted(name for name in plain.keys() | located.keys() if plain.get(name) != located.get(name))


def main():
    podsim, config, cases = sys.argv[1:4]
    failed = tried = 0
    for located in sorted(pathlib.Path(cases).glob("*/program_locations.mlir")):
        found = faults(podsim, config, located.parent)
        tried += 1
        failed += bool(found)
        if found:
            print(f"FAIL {located.parent.name}: {', '.join(found)} differ")
    print(f"{tried - failed} passed, {failed} failed")
    return failed > 0 or not tried


if __name__ == "__main__":
    sys.exit(main())
