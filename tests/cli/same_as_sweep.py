#!/usr/bin/env python3
"""Every row of a sweep equals its own run: same_as_sweep.py PODSIM CONFIG PROGRAM ROWS."""
import csv
import json
import subprocess
import sys

podsim, config, program, rows_wanted = sys.argv[1:]
subprocess.run([podsim, "sweep", config, program, "--csv", "sweep.csv"], check=True, stdout=subprocess.DEVNULL)
rows = list(csv.DictReader(open("sweep.csv", newline="")))
assert len(rows) == int(rows_wanted), rows
times = [float(r["time_seconds"]) for r in rows]
assert times == sorted(times), "ranked by step time"
for row in rows:
    subprocess.run([podsim, config, program, "--mesh", row["mesh"], "--json", "s.json"], check=True, stdout=subprocess.DEVNULL)
    run = json.load(open("s.json"))
    assert abs(run["time_seconds"] - float(row["time_seconds"])) < 1e-12, (row, run["time_seconds"])
    assert run["hbm_peak_bytes"] == int(row["hbm_peak_bytes"]), row
print("equal")
