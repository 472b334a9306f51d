#!/usr/bin/env python3
"""Numbers come out of the DMA steps: broken_steps.py PODSIM. For each collective one skipped wait and one skipped DMA must change the
outputs or end with exit code 5, and no jitter may change them. The last line is `N passed, N failed`."""
import pathlib
import subprocess
import sys
import tempfile

ADD = "add (x: f32[], y: f32[]) -> f32[] {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT sum = f32[] add(x, y)\n}\n"
ALL = "channel_id=1, replica_groups={{0,1,2,3,4,5,6,7}}"
ROWS = "channel_id=1, replica_groups={{0,1},{2,3},{4,5},{6,7}}"
COLLECTIVES = {
    "all-gather": ("f32[8,4]", "f32[64,4]", f"all-gather(p), {ALL}, use_global_device_ids=true, dimensions={{0}}"),
    "reduce-scatter": ("f32[64,4]", "f32[8,4]", f"reduce-scatter(p), {ALL}, use_global_device_ids=true, dimensions={{0}}, to_apply=add"),
    "all-reduce": ("f32[640,40]", "f32[640,40]", f"all-reduce(p), {ALL}, use_global_device_ids=true, to_apply=add"),
    "all-reduce of rows": ("f32[64,4]", "f32[64,4]", f"all-reduce(p), {ROWS}, use_global_device_ids=true, to_apply=add"),
    "all-to-all": ("f32[8,4]", "f32[8,4]", f"all-to-all(p), {ALL}, dimensions={{0}}"),
    "collective-permute": ("f32[8,4]", "f32[8,4]", "collective-permute(p), channel_id=1, source_target_pairs="
                           "{{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}"),
    "all-reduce hidden behind a product": (
        "f32[256,256]", "f32[256,256]", "add(g, d)", f"  g = f32[256,256] all-reduce(p), {ALL}, use_global_device_ids=true, to_apply=add\n",
        "  d = f32[256,256] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"),
    "collective-broadcast": ("f32[8,4]", "f32[8,4]", f"collective-broadcast(p), {ALL}"),
}
TRIES = 6


def run(podsim, config, folder, *flags):
    out = folder / "out"
    r = subprocess.run([podsim, config, folder / "program.hlo", "-o", out, *flags], capture_output=True, text=True)
    return r.returncode, (out / "out0.npy").read_bytes() if r.returncode == 0 else b""


def faults(podsim, config, folder):
    code, want = run(podsim, config, folder)
    if code:
        yield f"exit {code}"
        return
    for seed in "1", "2":
        if run(podsim, config, folder, "--jitter", seed) != (0, want):
            yield f"--jitter {seed} changes the numbers"
    for what in "wait", "dma":
        results = [run(podsim, config, folder, "--break", f"{what}:{n}") for n in range(1, TRIES + 1)]
        if not any(code == 5 or (code == 0 and got != want) for code, got in results):
            yield f"no --break {what}:N is noticed"


def main():
    podsim, config = sys.argv[1], pathlib.Path(__file__).resolve().parents[2] / "configs/v5e_4x2.ini"
    failed = 0
    for name, (given, made, op, *before) in COLLECTIVES.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "program.hlo").write_text(f"HloModule one, num_partitions=8\n\n{ADD}\nENTRY main (p: {given}) -> {made} {{\n"
                                                f"  p = {given} parameter(0)\n{''.join(before)}  ROOT r = {made} {op}\n}}\n")
            found = list(faults(podsim, config, folder))
        failed += bool(found)
        print(f"{'FAIL' if found else 'ok  '} {name}", *found, sep="; " if found else "")
    print(f"{len(COLLECTIVES) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
