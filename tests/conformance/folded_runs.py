#!/usr/bin/env python3
"""A folded run is the whole run: folded_runs.py PODSIM CONFIGS.

Each program runs on its pod folded and with run.fold=false. Summaries must be the same text, timelines the same events at the same
picosecond; only which of the lanes beside each other an event is drawn in may differ. How many chips are simulated is checked too."""
import pathlib
import re
import subprocess
import sys

PODSIM, CONFIGS = sys.argv[1], pathlib.Path(sys.argv[2])
ADD = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"


def program(chips, lines, before=""):
    """Lines make `r` of p, f32[1024,128] on each chip."""
    body = "\n".join("  " + line for line in [f"p = f32[1024,128] parameter(0), sharding={{devices=[{chips},1]<=[{chips}]}}", *lines])
    return f"HloModule m, num_partitions={chips}\n{ADD}{before}\nENTRY main {{\n{body}\n}}\n"


def groups(text):
    return f"channel_id=1, replica_groups={text}, use_global_device_ids=true"


def all_reduce(name, operand, where, size="1024,128"):
    return f"{name} = f32[{size}] all-reduce({operand}), {groups(where)}, to_apply=add"


def layer(chips, rows, columns, transposed):
    """Gather over rows, compute, scatter and exchange over columns; the second gather has nothing to do with the first."""
    return program(chips, [
        f"g = f32[{1024 * rows},128] all-gather(p), {groups(columns)}, dimensions={{0}}",
        f"h = f32[1024,{128 * rows}] all-gather(p), {groups(transposed)}, dimensions={{1}}",
        f"t = f32[{1024 * rows},128] tanh(g)",
        f"s = f32[1024,128] reduce-scatter(t), {groups(columns)}, to_apply=add, dimensions={{0}}",
        f"x = f32[1024,128] all-to-all(s), channel_id=2, replica_groups={transposed}, dimensions={{0}}",
        f"k = f32[1024,128] slice(h), slice={{[0:1024], [0:128]}}",
        "m = f32[1024,128] add(x, k)",
        "ROOT r = f32[1024,128] exponential(m)"])


def permute(chips, pairs):
    text = ",".join(f"{{{a},{b}}}" for a, b in pairs)
    return program(chips, [f"c = f32[1024,128] collective-permute(p), channel_id=1, source_target_pairs={{{text}}}",
                           "ROOT r = f32[1024,128] add(c, p)"])


def loop(chips, where):
    carry = "(s32[], f32[1024,128])"
    before = (f"body {{\n  c = {carry} parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n  v = f32[1024,128] get-tuple-element(c), index=1\n"
              f"  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  {all_reduce('u', 'v', where)}\n  w = f32[1024,128] tanh(u)\n"
              f"  ROOT t = {carry} tuple(j, w)\n}}\ncondition {{\n  c = {carry} parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
              "  n = s32[] constant(20)\n  ROOT lt = pred[] compare(i, n), direction=LT\n}\n")
    return program(chips, ["zero = s32[] constant(0)", f"t = {carry} tuple(zero, p)", f"w = {carry} while(t), condition=condition, body=body",
                           "ROOT r = f32[1024,128] get-tuple-element(w), index=1"], before)


def reduced(chips, where):
    return program(chips, [all_reduce("a", "p", where), "ROOT r = f32[1024,128] negate(a)"])


WRAPS = ["pod.wrap=true,true"]
RING = [(c, c // 8 * 8 + (c + 1) % 8) for c in range(64)]
TWO_AXES = [(c, (c + 8 * 3) % 64 // 8 * 8 + (c + 5) % 8) for c in range(64)]
LINE = [(c, c + 1) for c in range(63)]
HALVES = [",".join("{" + ",".join(map(str, part)) + "}" for part in halves) for halves in (
    [*(range(8 * row, 8 * row + 8) for row in range(4)), *([c] for c in range(32, 64))],
    [*([c] for c in range(32)), *(range(8 * row, 8 * row + 8) for row in range(4, 8))])]
TURNS = program(64, [all_reduce("a", "p", "{" + HALVES[0] + "}"), "t = f32[1024,128] tanh(a)", all_reduce("b", "t", "{" + HALVES[1] + "}"),
                     "ROOT r = f32[1024,128] negate(b)"])
UNEVEN = "{{" + "},{".join(",".join(map(str, part)) for part in (range(2), range(2, 64))) + "}}"
CASES = [  # name, config, sets, program, chips that are simulated
    ("both axes", "v5e_8x8", WRAPS, layer(64, 8, "[8,8]<=[64]", "[8,8]<=[8,8]T(1,0)"), 1),
    ("all chips", "v5e_16x16", [], reduced(256, "[1,256]<=[256]"), 1),
    ("segments of an axis", "v5e_8x8", WRAPS, reduced(64, "[16,4]<=[64]"), 4),
    ("boxes and every second chip", "v5e_8x8", WRAPS, layer(64, 4, "[16,4]<=[4,2,4,2]T(0,2,1,3)", "[16,4]<=[8,4,2]T(0,2,1)"), 16),
    ("one axis wraps", "v5e_8x4", ["pod.wrap=true,false"], reduced(32, "[1,32]<=[32]"), 4),
    ("no axis wraps", "v5e_4x2", [], reduced(8, "[1,8]<=[8]"), 8),
    ("three axes", "v4_4x4x4", [], reduced(64, "[1,64]<=[64]"), 1),
    ("three axes of other lengths", "v4_4x4x4", ["pod.shape=4x4x8"], layer(128, 8, "[16,8]<=[128]", "[16,8]<=[16,8]"), 1),
    ("cubes", "v4_4x4x4", [], reduced(64, "[8,8]<=[2,2,2,2,2,2]T(0,2,4,1,3,5)"), 8),
    ("planes", "v5p_4x4x4", [], layer(64, 16, "[4,16]<=[64]", "[4,16]<=[16,4]T(1,0)"), 1),
    ("several slices", "v5e_2x16x16", ["pod.shape=4x4", *WRAPS], reduced(32, "[16,2]<=[2,16]T(1,0)"), 2),
    ("a ring of permutes", "v5e_8x8", WRAPS, permute(64, RING), 1),
    ("permutes over two axes", "v5e_8x8", WRAPS, permute(64, TWO_AXES), 1),
    ("a line of permutes", "v5e_8x8", WRAPS, permute(64, LINE), 64),
    ("a loop", "v5e_8x8", WRAPS, loop(64, "[8,8]<=[8,8]T(1,0)"), 1),
    ("uneven groups", "v5e_8x8", WRAPS, reduced(64, UNEVEN), 64),
    ("halves of the pod that take turns", "v5e_8x8", WRAPS, TURNS, 8),
]


def run(case, fold, sets, config):
    outputs = pathlib.Path(fold)
    outputs.mkdir(exist_ok=True)
    command = [PODSIM, CONFIGS / f"{config}.ini", "case.hlo", "--numbers", "off", "--csv", outputs / "t.csv", "--json", outputs / "s.json",
               "--set", f"run.fold={fold}"]
    for key in sets:
        command += ["--set", key]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (case, done.stderr)
    rows = sorted(re.sub(r" #\d+,", ",", line, count=1) for line in (outputs / "t.csv").read_text().splitlines())
    found = re.search(r"(\d+) chips(?:, (\d+) simulated)?", done.stdout)
    return rows, (outputs / "s.json").read_text(), int(found.group(2) or found.group(1))


def main():
    for case, config, sets, text, simulated in CASES:
        pathlib.Path("case.hlo").write_text(text)
        rows, summary, chips = run(case, "true", sets, config)
        all_rows, whole, _ = run(case, "false", sets, config)
        assert chips == simulated, f"{case}: {chips} chips are simulated, not {simulated}"
        assert summary == whole, f"{case}: the summaries differ"
        other = next(((a, b) for a, b in zip(rows, all_rows) if a != b), None)
        assert rows == all_rows, f"{case}: {len(rows)} and {len(all_rows)} events, first {other}"
        print(f"same: {case}")


main()
