#!/usr/bin/env python3
"""Collectives on ideal links against the closed forms, through the whole of podsim: closed_forms.py PODSIM [MEBIBYTES...].

Each collective runs as a program of its own, time only, on a ring, a line and tori; its time must lie between the cut bound and 1.02
times the closed form. Formulas: JAX Scaling Book, "sharding". The last line is `N passed, N failed`."""
import json
import pathlib
import subprocess
import sys
import tempfile

BW = 4.5e10  # bytes a second of a link, one way
ADD = "add (x: f32[], y: f32[]) -> f32[] {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT sum = f32[] add(x, y)\n}\n"


def program(kind, n, bytes_, groups):
    """A program of one collective: the whole value of a gather, scatter or all-reduce, a chip's of an all-to-all, is `bytes_`."""
    total = bytes_ // 4 // n * n
    common = f"channel_id=1, replica_groups={groups}, use_global_device_ids=true"
    forms = {
        "all-gather": (total // n, total, f"all-gather(p), {common}, dimensions={{0}}"),
        "reduce-scatter": (total, total // n, f"reduce-scatter(p), {common}, dimensions={{0}}, to_apply=add"),
        "all-reduce": (total, total, f"all-reduce(p), {common}, to_apply=add"),
        "all-to-all": (total, total, f"all-to-all(p), channel_id=1, replica_groups={groups}, dimensions={{0}}"),
    }
    given, made, op = forms[kind]
    return total * 4, (f"HloModule one, num_partitions={n}\n\n{ADD}\nENTRY main (p: f32[{given}]) -> f32[{made}] {{\n"
                       f"  p = f32[{given}] parameter(0)\n  ROOT r = f32[{made}] {op}\n}}\n")


def bounds(kind, shape, wrap, v):
    """(cut bound, closed form) in seconds."""
    n = 1
    for s in shape:
        n *= s
    if len(shape) == 1:
        ways = 2 if wrap[0] else 1
        gather = v * (n - 1) / (n * ways * BW)
        exchange = v * n / ((8 if wrap[0] else 4) * BW)
        if kind == "all-to-all" and n % 2:
            exchange = v * (n * n - 1) / n / ((8 if wrap[0] else 4) * BW)
        least = gather if kind == "all-reduce" and not wrap[0] else 2 * gather
        return {"all-gather": (gather, gather), "reduce-scatter": (gather, gather), "all-reduce": (least, 2 * gather),
                "all-to-all": (exchange, exchange)}[kind]
    reduce = v * (1 - 1 / n) / (2 * BW)
    return (reduce, reduce) if kind == "all-reduce" else None


def run(podsim, folder, shape, wrap, text):
    config, source = folder / "pod.ini", folder / "program.hlo"
    flags = ", ".join("true" if w else "false" for w in wrap)
    config.write_text(f"[pod]\ngeneration = v5e\nshape = {'x'.join(map(str, shape))}\nwrap = {flags}\n")
    source.write_text(text)
    out = folder / "summary.json"
    r = subprocess.run([podsim, config, source, "--numbers", "off", "--allow-oom", "--set", "ici.ideal=true", "--json", out],
                       capture_output=True, text=True)
    if r.returncode:
        return None, r.stderr.strip()
    return json.loads(out.read_text())["collectives"][0], ""


def main():
    podsim, sizes = sys.argv[1], [float(m) for m in sys.argv[2:]] or [1, 32, 1024]
    pods = [((8,), (True,)), ((16,), (True,)), ((8,), (False,)), ((4,), (False,)), ((5,), (True,)), ((2,), (False,)),
            ((16, 16), (True, True)), ((16, 8), (True, True)), ((4, 8), (True, True))]
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for shape, wrap in pods:
            n = 1
            for s in shape:
                n *= s
            for kind in ("all-gather", "reduce-scatter", "all-reduce", "all-to-all"):
                for mebibytes in sizes:
                    v, text = program(kind, n, int(mebibytes * 2**20), "{{" + ",".join(map(str, range(n))) + "}}")
                    if (bound := bounds(kind, shape, wrap, v)) is None:
                        continue
                    got, why = run(podsim, pathlib.Path(name), shape, wrap, text)
                    good = got is not None and bound[0] * (1 - 1e-9) - 1e-12 <= got["seconds"] <= 1.02 * bound[1]
                    passed, failed = passed + good, failed + (not good)
                    at = f"{kind:15} {'x'.join(map(str, shape)):6} {'wraps' if all(wrap) else 'line '} {mebibytes:6g} MiB"
                    if not good:
                        print(f"FAIL {at}: {why or got['seconds']}, wanted {bound[0]:.6g} to {1.02 * bound[1]:.6g}")
                    else:
                        print(f"ok   {at}: {got['seconds'] * 1e6:.3f} us, x{got['seconds'] / bound[1]:.4f} of the closed form")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
