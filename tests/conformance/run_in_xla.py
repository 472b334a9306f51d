#!/usr/bin/env python3
"""XLA parses and runs what podsim partitions, and gets JAX's numbers: run_in_xla.py PODSIM CONFIGS XLA_RUN CASES [REGEX].

XLA_RUN is a script that takes PARTITIONED.hlo and a case's folder and prints `ok`; a case's folder holds program.hlo, case.json and the
arrays. Needs jax. The last line is `N passed, N failed`."""
import concurrent.futures
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile


def verdict(podsim, configs, xla_run, case):
    mesh = json.loads((case / "case.json").read_text())["mesh"]
    config = pathlib.Path(configs) / ("v5e_2x2.ini" if math.prod(mesh.values()) == 4 else "v5e_4x2.ini")
    r = subprocess.run([podsim, "partition", config, case / "program.hlo"], capture_output=True, text=True)
    if r.returncode:
        return r.stderr.strip()
    with tempfile.NamedTemporaryFile("w", suffix=".hlo") as f:
        f.write(r.stdout)
        f.flush()
        r = subprocess.run([sys.executable, xla_run, f.name, str(case)], capture_output=True, text=True)
    return (r.stdout.strip().splitlines() or [r.stderr.strip()[-300:]])[-1]


def main():
    podsim, configs, xla_run, cases = sys.argv[1:5]
    pattern = sys.argv[5] if len(sys.argv) > 5 else ""
    chosen = sorted(p.parent for p in pathlib.Path(cases).glob("*/case.json") if re.search(pattern, p.parent.name))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda case: verdict(podsim, configs, xla_run, case), chosen))
    for case, text in zip(chosen, verdicts):
        if text != "ok":
            print(f"FAIL {case.name}: {text}")
    failed = sum(v != "ok" for v in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return failed > 0 or not verdicts


if __name__ == "__main__":
    sys.exit(main())
