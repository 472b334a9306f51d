#!/usr/bin/env python3
"""Train steps against published measurements, with podsim's default constants: published_steps.py PODSIM. Programs are those of
tests/bench/published_pods.py, which measures many more. Each step time must come out within 20 %. The last line is `N passed, N failed`."""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STEPS = (  # program, generation, shape, seconds, flags, source
    ("llama3_8b_v6e_8", "v6e", "4x2", 3.443, ("run.collective_matmul=off",), "AI-Hypercomputer/tpu-recipes, Llama3.1-8B-MaxText/v6e-8"),
)


def step_seconds(podsim, program, generation, shape, sets):
    with tempfile.TemporaryDirectory() as folder:
        pod, summary = pathlib.Path(folder, "pod.ini"), pathlib.Path(folder, "summary.json")
        pod.write_text(f"[pod]\ngeneration = {generation}\nshape = {shape}\n")
        words = [word for key in sets for word in ("--set", key)]
        subprocess.run([podsim, pod, HERE / "published" / f"{program}.mlir", "--numbers", "off", "--json", summary, *words], check=True,
                       capture_output=True)
        return json.loads(summary.read_text())["time_seconds"]


def main():
    failed = 0
    for program, generation, shape, measured, sets, source in STEPS:
        seconds = step_seconds(sys.argv[1], program, generation, shape, sets)
        good = abs(seconds / measured - 1) <= 0.2
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {program}: {seconds:.4g} s, measured {measured} s ({source}), {seconds / measured - 1:+.1%}")
    print(f"{len(STEPS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
