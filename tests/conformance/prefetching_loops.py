#!/usr/bin/env python3
"""Loops that fetch ahead give the numbers of those that do not: prefetching_loops.py PODSIM. Loops that gather a layer's weights each, of
several forms, run with run.loop_prefetch on and off: outputs, bytes on the wire and what runs ahead must be as told; of large layers all gathers
but the first must be hidden. The last line is `N passed, N failed`."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

GROUPS = "replica_groups={{0,2,4,6},{1,3,5,7}}, use_global_device_ids=true, dimensions={0}"
PAIRS = "source_target_pairs={{0,2},{2,4},{4,6},{6,0},{1,3},{3,5},{5,7},{7,1}}"
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
STATE = "(s32[], s32[4,8], s32[6,2,8], s32[6,2,8])"


def loop(test="LT", start=0, bound=6, step=1, layer="i", body=None, result="x"):
    """x = x @ gather(w[layer]) for each i."""
    body = body or f"  g = s32[8,8] all-gather(a), channel_id=1, {GROUPS}\n  y = s32[4,8] dot(x, g), {DOT}\n"
    return f"""HloModule m, num_partitions=8

condition {{
  t = {STATE} parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant({bound})
  ROOT r = pred[] compare(i, n), direction={test}
}}

body {{
  t = {STATE} parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = s32[4,8] get-tuple-element(t), index=1
  w = s32[6,2,8] get-tuple-element(t), index=2
  v = s32[6,2,8] get-tuple-element(t), index=3
  s = s32[] constant({step})
  j = s32[] add(i, s)
  z = s32[] constant(0)
  b = s32[4,8] slice(x), slice={{[0:4],[0:8]}}
  e = s32[2,8] slice(x), slice={{[0:2],[0:8]}}
  l = s32[1,2,8] dynamic-slice(w, {layer}, z, z), dynamic_slice_sizes={{1,2,8}}
  a = s32[2,8] reshape(l)
  m = s32[1,2,8] dynamic-slice(v, {layer}, z, z), dynamic_slice_sizes={{1,2,8}}
  c = s32[2,8] reshape(m)
{body}  ROOT o = {STATE} tuple(j, y, w, v)
}}

ENTRY entry {{
  x = s32[4,8] parameter(0)
  w = s32[6,2,8] parameter(1)
  v = s32[6,2,8] parameter(2)
  z = s32[] constant({start})
  t = {STATE} tuple(z, x, w, v)
  u = {STATE} while(t), condition=condition, body=body
  i = s32[] get-tuple-element(u), index=0
  k = s32[4,8] broadcast(i), dimensions={{}}
  y = s32[4,8] get-tuple-element(u), index=1
  q = s32[6,2,8] get-tuple-element(u), index=2
  p = s32[4,8] add(y, k)
  ROOT r = (s32[4,8], s32[6,2,8]) tuple(p, q)
}}
"""


TWO = (f"  g = s32[8,8] all-gather(a), channel_id=1, {GROUPS}\n  h = s32[8,8] all-gather(c), channel_id=2, {GROUPS}\n"
       f"  f = s32[4,8] dot(x, g), {DOT}\n  y = s32[4,8] dot(f, h), {DOT}\n")
COMBINED = (f"  gh = (s32[8,8], s32[8,8]) all-gather(a, c), channel_id=1, {GROUPS}\n  g = s32[8,8] get-tuple-element(gh), index=0\n"
            f"  h = s32[8,8] get-tuple-element(gh), index=1\n  f = s32[4,8] dot(x, g), {DOT}\n  y = s32[4,8] dot(f, h), {DOT}\n")
PERMUTED = (f"  g = s32[2,8] collective-permute(a), channel_id=1, {PAIRS}\n  h = s32[2,8] collective-permute(g), channel_id=2, {PAIRS}\n"
            f"  hh = s32[4,8] concatenate(g, h), dimensions={{0}}\n  y = s32[4,8] add(x, hh)\n")
FOLLOWS = f"  g = s32[8,8] all-gather(e), channel_id=1, {GROUPS}\n  y = s32[4,8] dot(b, g), {DOT}\n"
# program, how many collectives run ahead
LOOPS = {
    "a scan": (loop(), 1),
    "a scan that counts down": (loop("GT", 5, -1, -1), 1),
    "every second layer": (loop("LT", 1, 6, 2), 1),
    "until it is equal": (loop("NE", 2, 5), 1),
    "two trips": (loop("LE", 3, 4), 1),
    "one trip": (loop("LT", 5, 6), 0),
    "no trip": (loop("LT", 6, 6), 0),
    "by the next counter": (loop(layer="j"), 1),
    "the same each time": (loop(layer="z"), 1),
    "two gathers": (loop(body=TWO), 2),
    "one gather of two": (loop(body=COMBINED), 1),
    "a permute of a permute": (loop(body=PERMUTED), 1),
    "a gather of what the loop makes": (loop(body=FOLLOWS), 0),
}


def run(podsim, config, folder, setting):
    out = folder / setting
    command = [podsim, config, folder / "program.hlo", "-o", out, "--set", f"run.loop_prefetch={setting}",
               "--set", "run.collective_matmul=off"]
    r = subprocess.run(command, capture_output=True, text=True)
    if r.returncode:
        return None, r.stderr.strip(), 0
    rows = json.loads((out / "summary.json").read_text())["collectives"]
    outputs = b"".join((out / f"out{i}.npy").read_bytes() for i in range(2))
    return outputs, sum(row["wire_bytes"] for row in rows), sum(row["name"].endswith(".first") for row in rows)


def fault(podsim, config, folder, ahead):
    want, bytes_off, _ = run(podsim, config, folder, "false")
    got, bytes_on, first = run(podsim, config, folder, "true")
    if want is None or got is None:
        return f"fails: {bytes_off if want is None else bytes_on}"
    if got != want:
        return "other numbers"
    if first != ahead:
        return f"{first} collectives run ahead, not {ahead}"
    return f"{bytes_on} bytes on the wire, {bytes_off} without" if bytes_on != bytes_off else ""


def scaled(program):
    """The same with 512 times as much of each dimension that is no count of layers."""
    def grow(match):
        return match[1] + ",".join(d if d in "16" else str(512 * int(d)) for d in match[2].split(","))
    return re.sub(r"(sizes=\{|\[)([\d,]+)", grow, re.sub(r"\[0:(\d+)\]", lambda m: f"[0:{512 * int(m[1])}]", program))


def exposed_us(podsim, config, folder, setting):
    out = folder / "large.json"
    command = [podsim, config, folder / "program.hlo", "--numbers", "off", "--json", out, "--set", f"run.loop_prefetch={setting}",
               "--set", "run.collective_matmul=off"]
    subprocess.run(command, check=True, capture_output=True)
    return 1e6 * json.loads(out.read_text())["exposed_communication_seconds"]


def hiding_fault(podsim, config, folder):
    (folder / "program.hlo").write_text(scaled(loop()))
    off, on = exposed_us(podsim, config, folder, "false"), exposed_us(podsim, config, folder, "true")
    return "" if on < 1.1 * off / 6 else f"{on:.0f} us exposed, {off:.0f} us without"


def main():
    podsim, config = sys.argv[1], pathlib.Path(__file__).resolve().parents[2] / "configs/v5e_4x2.ini"
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, (program, ahead) in LOOPS.items():
            (folder / "program.hlo").write_text(program)
            what = fault(podsim, config, folder, ahead)
            failed += bool(what)
            print(f"{'FAIL' if what else 'ok  '} {name}{': ' + what if what else ''}")
        what = hiding_fault(podsim, config, folder)
        failed += bool(what)
        print(f"{'FAIL' if what else 'ok  '} large layers{': ' + what if what else ''}")
    print(f"{len(LOOPS) + 1 - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
