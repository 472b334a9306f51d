#!/usr/bin/env python3
"""Collective matmuls give the numbers of the collective and the product: windowed_products.py PODSIM. Each operand of an integer product is
gathered along each kind of dimension, each dimension of the result scattered, over rings of several shapes; with
run.collective_matmul on the outputs and the bytes on the wire must be those with it off. Two rings of eight run as loops: each copies
the parameter that it passes on, and the second passes on nothing before the first has ended. By itself podsim windows over at most 32 chips. The last line is `N passed, N failed`."""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

ADD = "add (x: s32[], y: s32[]) -> s32[] {\n  x = s32[] parameter(0)\n  y = s32[] parameter(1)\n  ROOT sum = s32[] add(x, y)\n}\n"
# pod, groups of devices
RINGS = {
    "all of 4x2": ("4x2", "{{0,1,2,3,4,5,6,7}}"),
    "all of 4x2 in another order": ("4x2", "{{5,2,7,0,1,6,3,4}}"),
    "lines of 4": ("4x2", "{{0,2,4,6},{1,3,5,7}}"),
    "pairs": ("4x2", "{{0,1},{2,3},{4,5},{6,7}}"),
    "any four": ("4x2", "{{0,3,4,7},{1,2,5,6}}"),
    "lines of 3": ("3x2", "{{0,2,4},{1,3,5}}"),
    "all of 5": ("5", "{{0,1,2,3,4}}"),
    "all of 3x3": ("3x3", "{{0,1,2,3,4,5,6,7,8}}"),
}
# lhs[batch, row, k] x rhs[batch, k, column]
DOT = "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
LHS, RHS, OUT = "brk", "bkc", "brc"
SIZE = dict(b=2, r=3, k=4, c=5)


def shape(dims, cut="", n=1):
    return "s32[" + ",".join(str(SIZE[d] * (n if d in cut else 1)) for d in dims) + "]"


def gathered(side, dim, groups, n):
    """Dimension `dim` of one operand is gathered; the other has all of it."""
    whole = [shape(LHS, dim, n), shape(RHS, dim, n)]
    own = list(whole)
    own[side] = shape((LHS, RHS)[side])
    dot = ["l", "r"]
    dot[side] = "g"
    return (f"  l = {own[0]} parameter(0)\n  r = {own[1]} parameter(1)\n"
            f"  g = {whole[side]} all-gather({'lr'[side]}), channel_id=1, replica_groups={groups}, use_global_device_ids=true, "
            f"dimensions={{{(LHS, RHS)[side].index(dim)}}}\n  ROOT d = {shape(OUT, dim, n)} dot({dot[0]}, {dot[1]}), {DOT}\n")


def scattered(dim, groups, n):
    return (f"  l = {shape(LHS, dim, n)} parameter(0)\n  r = {shape(RHS, dim, n)} parameter(1)\n"
            f"  d = {shape(OUT, dim, n)} dot(l, r), {DOT}\n  ROOT s = {shape(OUT)} reduce-scatter(d), channel_id=1, "
            f"replica_groups={groups}, use_global_device_ids=true, dimensions={{{OUT.index(dim)}}}, to_apply=add\n")


def products(groups, n):
    for side, dims in enumerate((LHS, RHS)):
        for dim in dims:
            yield f"{('lhs', 'rhs')[side]} gathered along {dim}", gathered(side, dim, groups, n)
    for dim in OUT:
        yield f"result scattered along {dim}", scattered(dim, groups, n)


# Two products, each with a ring of its own.
LOOPS = """HloModule m, num_partitions=8

ENTRY e {
  l = s32[3,16] parameter(0)
  r = s32[2,5] parameter(1)
  q = s32[2,5] parameter(2)
  one = s32[16,5] all-gather(r), channel_id=1, replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true, dimensions={0}
  two = s32[16,5] all-gather(q), channel_id=2, replica_groups={{0,1,2,3,4,5,6,7}}, use_global_device_ids=true, dimensions={0}
  d = s32[3,5] dot(l, one), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  f = s32[3,5] dot(l, two), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT sum = s32[3,5] add(d, f)
}
"""

# Without a channel the groups are of replicas: each device is alone.
ALONE = """HloModule m, num_partitions=8

ENTRY e {
  l = s32[3,4] parameter(0)
  r = s32[4,5] parameter(1)
  g = s32[4,5] all-gather(r), replica_groups={{0}}, dimensions={0}
  ROOT d = s32[3,5] dot(l, g), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


def run(podsim, config, folder, setting):
    out = folder / setting
    command = [podsim, config, folder / "program.hlo", "-o", out, "--set", f"run.collective_matmul={setting}"]
    r = subprocess.run(command, capture_output=True, text=True)
    if r.returncode:
        return None, r.stderr.strip(), []
    rows = json.loads((out / "summary.json").read_text())["collectives"]
    return (out / "out0.npy").read_bytes(), sum(row["wire_bytes"] for row in rows), [row["kind"] for row in rows]


def fault(podsim, config, folder):
    want, bytes_off, _ = run(podsim, config, folder, "off")
    got, bytes_on, kinds = run(podsim, config, folder, "on")
    if want is None or got is None:
        return f"fails: {bytes_off if want is None else bytes_on}"
    if got != want:
        return "other numbers"
    if set(kinds) != {"collective-permute"}:
        return f"is not windowed: {kinds}"
    return f"{bytes_on} bytes on the wire, {bytes_off} without" if bytes_on > bytes_off else ""


def fault_of_loops(podsim, config, folder):
    what = fault(podsim, config, folder)
    if what:
        return what
    rows = [r for r in csv.DictReader((folder / "on" / "timeline.csv").open()) if r["chip"] == "0"]
    if sum(r["kind"] == "compute" and r["name"].startswith("copy") for r in rows) != 2:
        return "not each ring copies its parameter"
    permutes = [r for r in rows if r["kind"] == "collective"]
    start, stop = (lambda r: float(r["start_us"])), (lambda r: float(r["start_us"]) + float(r["duration_us"]))
    ends = [stop(r) for r in permutes if r["name"].startswith("one.")]
    starts = [start(r) for r in permutes if r["name"].startswith("two.") and r["name"] != "two.up.1"]
    return "" if len(ends) == 7 and len(starts) == 6 and min(starts) >= max(ends) else "rings run at once"


def chosen(podsim, folder, shape, n):
    """What becomes of a gather over all of a pod's `n` chips before a product that could hide it."""
    (folder / "pod.ini").write_text(f"[pod]\ngeneration = v5e\nshape = {shape}\n")
    groups = "{{" + ",".join(map(str, range(n))) + "}}"
    (folder / "program.hlo").write_text(f"""HloModule m, num_partitions={n}

ENTRY e {{
  l = bf16[8192,4096] parameter(0)
  r = bf16[{4096 // n},8192] parameter(1)
  g = bf16[4096,8192] all-gather(r), channel_id=1, replica_groups={groups}, use_global_device_ids=true, dimensions={{0}}
  ROOT d = bf16[8192,8192] dot(l, g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
}}
""")
    out = folder / "chosen.json"
    subprocess.run([podsim, folder / "pod.ini", folder / "program.hlo", "--numbers", "off", "--json", out], capture_output=True)
    return {row["kind"] for row in json.loads(out.read_text())["collectives"]}


def main():
    podsim, passed, failed = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for ring, (pod, groups) in RINGS.items():
            config = folder / "pod.ini"
            config.write_text(f"[pod]\ngeneration = v5e\nshape = {pod}\n")
            devices = groups.count(",") + 1
            n = groups.split("}")[0].count(",") + 1
            for name, body in products(groups, n):
                (folder / "program.hlo").write_text(f"HloModule m, num_partitions={devices}\n\n{ADD}\nENTRY e {{\n{body}}}\n")
                what = fault(podsim, config, folder)
                passed, failed = passed + (not what), failed + bool(what)
                if what:
                    print(f"FAIL {ring}, {name}: {what}")
        config.write_text("[pod]\ngeneration = v5e\nshape = 4x2\n")
        (folder / "program.hlo").write_text(LOOPS)
        what = fault_of_loops(podsim, config, folder)
        passed, failed = passed + (not what), failed + bool(what)
        if what:
            print(f"FAIL two rings: {what}")
        (folder / "program.hlo").write_text(ALONE)
        off, on = run(podsim, config, folder, "off"), run(podsim, config, folder, "on")
        passed, failed = passed + (off == on and off[0] is not None), failed + (off != on or off[0] is None)
        if off != on or off[0] is None:
            print(f"FAIL groups of replicas: {off[1:]}, windowed {on[1:]}")
        for shape, n, want in (("8x4", 32, "collective-permute"), ("8x8", 64, "all-gather")):
            kinds = chosen(podsim, folder, shape, n)
            passed, failed = passed + (kinds == {want}), failed + (kinds != {want})
            if kinds != {want}:
                print(f"FAIL {n} chips: {kinds}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
