#!/usr/bin/env python3
"""All-gathers on v5e against published measurements, with podsim's default constants: published_links.py PODSIM.

Source: JAX Scaling Book, "Sharded matrices": quiz 2 (profiles of an 8x4 slice, whose axes do not wrap) and the measured bandwidth of an
all-gather over the axis of 16 of an 8x16 slice, which wraps: about 95 % of a link from some 10 MB on. Each must come out within 10 %, and
exactly as hops and bytes say on ideal links. The last line is `N passed, N failed`."""
import json
import pathlib
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
BW = 4.5e10  # bytes a second of a link, one way
US = 1e-6


def gather(podsim, pod, shape, rows, columns, *flags):
    """Seconds to gather bf16[rows,columns] over the second axis of the pod, all lines of it at once; and its bytes."""
    outer, n = shape
    groups = ",".join("{" + ",".join(str(n * x + y) for y in range(n)) + "}" for x in range(outer))
    with tempfile.TemporaryDirectory() as folder:
        program, summary = pathlib.Path(folder, "program.hlo"), pathlib.Path(folder, "summary.json")
        program.write_text(
            f"HloModule one, num_partitions={outer * n}\n\nENTRY main (p: bf16[{rows // n},{columns}]) -> bf16[{rows},{columns}] {{\n"
            f"  p = bf16[{rows // n},{columns}] parameter(0)\n  ROOT r = bf16[{rows},{columns}] all-gather(p), channel_id=1, "
            f"replica_groups={{{groups}}}, use_global_device_ids=true, dimensions={{0}}\n}}\n")
        subprocess.run([podsim, CONFIGS / f"{pod}.ini", program, "--numbers", "off", "--json", summary, *flags], check=True,
                       capture_output=True)
        return json.loads(summary.read_text())["time_seconds"], rows * columns * 2


def checks(podsim):
    """(what, simulated, expected, the part that it may be off)."""
    large, _ = gather(podsim, "v5e_8x4", (8, 4), 2048, 8192)
    small, _ = gather(podsim, "v5e_8x4", (8, 4), 256, 256)
    yield "line of 4, bf16[2048,8192], us", large / US, 680, 0.1
    yield "line of 4, bf16[256,256], us", small / US, 8, 0.1
    for rows in 320, 1024, 4096:
        seconds, total = gather(podsim, "v5e_8x16", (8, 16), rows, 16384)
        yield f"ring of 16, {total / 1e6:.1f} MB, part of a link", total * 15 / 16 / 2 / seconds / BW, 0.95, 0.1
    exact, total = gather(podsim, "v5e_8x4", (8, 4), 2048, 8192, "--set", "ici.efficiency=100%", "--set", "ici.startup=0us")
    yield "line of 4, no protocol cost, us", exact / US, 3 + 3 / 4 * total / BW / US, 1e-6
    ideal, total = gather(podsim, "v5e_8x4", (8, 4), 2048, 8192, "--set", "ici.ideal=true")
    yield "line of 4, ideal links, us", ideal / US, 3 / 4 * total / BW / US, 1e-6


def main():
    podsim, passed, failed = sys.argv[1], 0, 0
    for what, got, want, within in checks(podsim):
        good = abs(got / want - 1) <= within
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {what}: {got:.6g}, published {want:.6g}, {got / want - 1:+.1%}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
