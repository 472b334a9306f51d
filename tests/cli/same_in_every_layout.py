#!/usr/bin/env python3
"""Layouts change how long a program takes, and nothing else: same_in_every_layout.py PODSIM CONFIG PROGRAM LAYOUT=MICROSECONDS...

The program must not reduce: the order of sums is that of the ring."""
import json
import pathlib
import subprocess
import sys

podsim, config, program, *wanted = sys.argv[1:]
first = None
for number, pair in enumerate(wanted):
    layout, microseconds = pair.rsplit("=", 1)
    out = pathlib.Path(str(number))
    subprocess.run([podsim, config, program, "--set", "ici.startup=0us", "--set", f"mesh.layout={layout}", "-o", out], check=True, stdout=subprocess.DEVNULL)
    summary = json.loads((out / "summary.json").read_text())
    assert abs(summary["time_seconds"] * 1e6 - float(microseconds)) < 0.01, (layout, summary["time_seconds"])
    same = ((out / "partitioned.hlo").read_text(), [o["device_slices"] for o in summary["outputs"]],
            (out / "out0.npy").read_bytes())
    first = first or same
    assert same == first, layout
print("equal")
