#!/usr/bin/env python3
"""Compute beside DMAs shares HBM with them: shared_hbm.py PODSIM.

A step runs while an all-gather is in flight, on links and HBM of round numbers. What HBM bounds takes (its bytes + the DMAs' meanwhile) /
bandwidth, to the picosecond; what the MXU bounds, a step alone and the all-gather itself take what they take alone. The last line is
`N passed, N failed`."""
import csv
import pathlib
import subprocess
import sys
import tempfile

HBM, LINK = 800e9, 50e9  # bytes a second; of the link one way
START = 1820 / 1.5e9  # of a kernel: chip.vector_start over chip.clock
SETS = ["hbm.bandwidth=800GB/s", "hbm.efficiency=100%", "ici.bandwidth=50GB/s", "ici.efficiency=100%", "ici.startup=0us", "ici.latency=0us"]
ADD = (3 * 4 * 2**24, "f32[16777216]", "f32[16777216]", "add(a, b)")  # bytes in HBM, operands, result, op
DOT = (None, "bf16[4096,4096]", "bf16[4096,4096]", "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
SMALL, LARGE = 2**20, 2**26  # elements of f32 that a chip brings to the all-gather


def program(chips, work, elements):
    """A step, and beside it an all-gather of so many elements a chip, or none."""
    _, operand, result, op = work
    total = elements * chips
    groups = "{{" + ",".join(map(str, range(chips))) + "}}"
    start = (f"  s = (f32[{elements}], f32[{total}]) all-gather-start(p), channel_id=1, replica_groups={groups}, "
             "use_global_device_ids=true, dimensions={0}\n")
    done = f"  d = f32[{total}] all-gather-done(s)\n"
    if not elements:
        start, done, total = "", "  d = f32[1] copy(p)\n", 1
    return (f"HloModule one, is_scheduled=true, num_partitions={chips}\n\nENTRY main (p: f32[{elements or 1}], a: {operand}, b: {operand}) -> "
            f"(f32[{total}], {result}) {{\n  p = f32[{elements or 1}] parameter(0)\n  a = {operand} parameter(1)\n  b = {operand} parameter(2)\n"
            f"{start}  work = {result} {op}\n{done}  ROOT t = (f32[{total}], {result}) tuple(d, work)\n}}\n")


def durations(podsim, shape, chips, work, elements):
    """Seconds of the step and of the all-gather on chip 0."""
    with tempfile.TemporaryDirectory() as folder:
        source, config, timeline = (pathlib.Path(folder, name) for name in ("program.hlo", "pod.ini", "timeline.csv"))
        source.write_text(program(chips, work, elements))
        config.write_text(f"[pod]\ngeneration = v5e\nshape = {shape}\n")
        sets = [word for key in SETS for word in ("--set", key)]
        subprocess.run([podsim, config, source, "--numbers", "off", "--allow-oom", "--csv", timeline, *sets], check=True,
                       capture_output=True)
        rows = [row for row in csv.DictReader(timeline.open()) if row["chip"] == "0"]
    took = {row["kind"]: float(row["duration_us"]) * 1e-6 for row in rows if row["name"] in ("work", "s")}
    return took["compute"], took.get("collective")


def checks(podsim):
    """(what, seconds simulated, seconds expected)."""
    bytes_ = ADD[0]
    alone, _ = durations(podsim, "2x1", 2, ADD, 0)
    yield "add alone", alone, bytes_ / HBM + START
    beside, gather = durations(podsim, "2x1", 2, ADD, LARGE)
    yield "add beside one DMA out and one in", beside, bytes_ / (HBM - 2 * LINK)
    yield "the all-gather beside it", gather, 4 * LARGE / LINK
    beside, gather = durations(podsim, "2x1", 2, ADD, SMALL)
    yield "add beside DMAs that end before it", beside, (bytes_ + 2 * 4 * SMALL) / HBM
    yield "the shorter all-gather", gather, 4 * SMALL / LINK
    beside, _ = durations(podsim, "16x1", 16, ADD, LARGE // 8)
    yield "add beside both ways of a ring", beside, bytes_ / (HBM - 4 * LINK)
    dot, _ = durations(podsim, "16x1", 16, DOT, 0)
    beside, _ = durations(podsim, "16x1", 16, DOT, LARGE // 8)
    yield "a product that the MXU bounds, beside the same", beside, dot


def main():
    podsim, passed, failed = sys.argv[1], 0, 0
    for what, got, want in checks(podsim):
        good = abs(got - want) <= 2e-12
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {what}: {got * 1e6:.6f} us, expected {want * 1e6:.6f}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
