#!/usr/bin/env python3
"""Programs of JAX through the whole of podsim: run_jax.py PODSIM SOURCE [NAME...].

For each folder of tests/cases/jax it runs program.hlo with the case's inputs and compares with what JAX computed and where JAX put
it; then looks at the timeline and the trace of the run: they must end where the summary says, nothing may overlap on a track, and
every flow must begin and end inside a slice. The last line is `N passed, N failed`."""
import csv
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
from runner import CONFIGS, difference, run_cases


def load(path, dtype):
    array = np.load(path)
    if dtype == "bf16":
        array = (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array


def number_faults(case, meta, out):
    for k, output in enumerate(meta["outputs"]):
        want, got = load(case / output["file"], output["dtype"]), load(out / f"out{k}.npy", output["dtype"])
        fault = difference(got, want, meta["tolerance"])
        if fault:
            yield f"out{k} {fault}"


def timeline_faults(summary, out, devices):
    rows = list(csv.DictReader(open(out / "timeline.csv", newline="")))
    tracks, end = {}, 0
    for row in rows:
        start, stop = float(row["start_us"]), float(row["start_us"]) + float(row["duration_us"])
        end = max(end, stop)
        tracks.setdefault((row["chip"], row["track"]), []).append((start, stop))
    if abs(end - summary["time_ps"] * 1e-6) > 1e-6 * max(1, end):
        yield f"the timeline ends at {end} us"
    if {row["chip"] for row in rows} != {str(chip) for chip in range(devices)}:
        yield "the timeline lacks a chip"
    for (chip, track), spans in tracks.items():
        spans.sort()
        if any(b[0] < a[1] - 1e-6 for a, b in zip(spans, spans[1:])):
            yield f"events overlap on {track} of chip {chip}"


def trace_faults(out, devices):
    events = json.loads((out / "trace.json").read_text())["traceEvents"]
    slices, flows = {}, {}
    for event in events:
        if event["ph"] == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
        if event["ph"] in "stf":
            flows.setdefault(event["id"], []).append(event)
    if len({pid for pid, _ in slices if pid >= 100}) != devices:
        yield "the trace lacks a chip"
    for number, parts in flows.items():
        inside = all(any(a - 1e-9 <= e["ts"] <= b + 1e-9 for a, b in slices.get((e["pid"], e["tid"]), ())) for e in parts)
        parts.sort(key=lambda e: e["ts"])
        if parts[0]["ph"] != "s" or "s" in [e["ph"] for e in parts[1:]] or not inside:
            yield f"flow {number} is not whole"
            return


def faults(podsim, source, case, folder):
    meta = json.loads((case / "case.json").read_text())
    devices = math.prod(meta["mesh"].values())
    config = source / "configs" / CONFIGS[devices]
    inputs = [word for i in meta["inputs"] for word in ("-i", case / i["file"])]
    r = subprocess.run([podsim, config, case / "program.hlo", *inputs, "-o", folder], capture_output=True, text=True)
    if r.returncode:
        return [f"exit {r.returncode}: {r.stderr.strip()}"]
    summary = json.loads((folder / "summary.json").read_text())
    found = [*number_faults(case, meta, folder), *timeline_faults(summary, folder, devices), *trace_faults(folder, devices)]
    for k, output in enumerate(meta["outputs"]):
        if summary["outputs"][k]["device_slices"] != output["device_slices"]:
            found.append(f"out{k} lies as {summary['outputs'][k]['spec']}, in JAX as {output['sharding']}")
    return found


def main():
    podsim, source, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    cases = [p.parent for p in sorted((source / "tests/cases/jax").glob("*/case.json")) if not names or p.parent.name in names]
    return run_cases([(case.name, case) for case in cases], lambda case, folder: faults(podsim, source, case, folder))


if __name__ == "__main__":
    sys.exit(main())
