#!/usr/bin/env python3
"""podsim against published closed forms: hardware_forms.py PODSIM [REGEX].

Each form is a question of the JAX Scaling Book (SB), or a figure of the TPU compiler, asked of podsim as a small program on a pod; what podsim
prints (summary.json, timeline.csv, `explain`, `config`) is compared with the published answer, within 2 % or the digits that the source
gives. Where the source idealises (no start-up, HBM at its nameplate, N - 1 counted as N), the form's keys and factors say so. The last
line is `N passed, N failed`."""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
ADD = "add (x: f32[], y: f32[]) -> f32[] {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT sum = f32[] add(x, y)\n}\n\n"
EXACT = ["ici.efficiency=100%", "ici.startup=0us"]
IDEAL = ["ici.ideal=true"]
US = 1e-6
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


class Podsim:
    """Runs podsim on texts."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, pathlib.Path(folder)

    def run(self, *words):
        return subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True)

    def pod(self, config):
        """A file of configs/, or the text of one."""
        if "\n" not in config:
            return CONFIGS / f"{config}.ini"
        path = self.folder / "pod.ini"
        path.write_text(config)
        return path

    def program(self, text):
        path = self.folder / "program.hlo"
        path.write_text(text)
        return path

    def simulate(self, config, text, sets=(), *flags):
        """summary.json and the rows of timeline.csv; (None, stderr) where the program does not fit."""
        words = [word for key in sets for word in ("--set", key)]
        summary, timeline = self.folder / "summary.json", self.folder / "timeline.csv"
        done = self.run(self.pod(config), self.program(text), "--numbers", "off", "--json", summary, "--csv", timeline, *words, *flags)
        if done.returncode == 4:
            return None, done.stderr
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(summary.read_text()), list(csv.DictReader(timeline.open()))

    def explain(self, config, text, op, sets=()):
        """The terms that `explain` prints, in seconds, and what else stands there as numbers."""
        words = [word for key in sets for word in ("--set", key)]
        done = self.run("explain", self.pod(config), self.program(text), op, "--allow-oom", *words)
        if done.returncode:
            raise RuntimeError(done.stderr)
        terms = {name: float(number) * UNITS[unit]
                 for name, number, unit in re.findall(r"^  (MXU|VPU|HBM|latency|link|closed form) +([\d.e+-]+) (\w+)", done.stdout, re.M)}
        if found := re.search(r"([\d.e+-]+) FLOP a byte of HBM", done.stdout):
            terms["intensity"] = float(found[1])
        return terms

    def totals(self, config, sets=()):
        words = [word for key in sets for word in ("--set", key)]
        done = self.run("config", self.pod(config), *words)
        return {name: float(number) for name, number in re.findall(r"^pod in all: (.*?) +([\d.e+]+)", done.stdout, re.M)}


def module(n, head, body):
    return f"HloModule form, num_partitions={n}\n\n{ADD}ENTRY main {head} {{\n{body}}}\n"


def lines(n, stride, count):
    """Replica groups of `count` devices a stride apart, over n devices."""
    groups = [[block + i + stride * k for k in range(count)] for block in range(0, n, stride * count) for i in range(stride)]
    return "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in groups) + "}"


def gather(n, groups, members, given, dtype="bf16"):
    """An all-gather of the first dimension."""
    shape = lambda d: f"{dtype}[{','.join(map(str, d))}]"
    result = [given[0] * members, *given[1:]]
    return module(n, f"(p: {shape(given)}) -> {shape(result)}",
                  f"  p = {shape(given)} parameter(0)\n  ROOT r = {shape(result)} all-gather(p), channel_id=1, replica_groups={groups}, "
                  "use_global_device_ids=true, dimensions={0}\n")


def exchange(n, groups, shape):
    return module(n, f"(p: {shape}) -> {shape}",
                  f"  p = {shape} parameter(0)\n  ROOT r = {shape} all-to-all(p), channel_id=1, replica_groups={groups}, dimensions={{0}}\n")


def permutes(n, pairs, sizes):
    """One permute after the other, each of so many floats, the first of what was given."""
    text, name, last = f"  p0 = f32[{sizes[0]}] parameter(0)\n", "p0", sizes[0]
    for i, size in enumerate(sizes):
        if size != last:
            text += f"  s{i} = f32[{size}] slice({name}), slice={{[0:{size}]}}\n"
            name, last = f"s{i}", size
        text += f"  {'ROOT ' if i == len(sizes) - 1 else ''}r{i} = f32[{size}] collective-permute({name}), channel_id={i + 1}, source_target_pairs={pairs}\n"
        name = f"r{i}"
    return module(n, f"(p0: f32[{sizes[0]}]) -> f32[{last}]", text)


def product(rows, k, columns, dtype, out=None, weights=None):
    """[rows,k] x [k,columns]; `weights`: a narrower type that they are stored in."""
    out, stored = out or dtype, weights or dtype
    convert = "" if stored == dtype else f"  w = {dtype}[{k},{columns}] convert(b)\n"
    return module(1, f"(a: {dtype}[{rows},{k}], b: {stored}[{k},{columns}]) -> {out}[{rows},{columns}]",
                  f"  a = {dtype}[{rows},{k}] parameter(0)\n  b = {stored}[{k},{columns}] parameter(1)\n{convert}"
                  f"  ROOT r = {out}[{rows},{columns}] dot(a, {'w' if convert else 'b'}), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n")


def knee(podsim, config, text_of, rows, sets):
    """Rows at which the MXU takes as long as HBM, on the line through two sizes."""
    (low, high), terms = rows, [podsim.explain(config, text_of(r), "r", sets) for r in rows]
    hbm = (terms[1]["HBM"] - terms[0]["HBM"]) / (high - low)
    mxu = (terms[1]["MXU"] - terms[0]["MXU"]) / (high - low)
    return low + (terms[0]["HBM"] - terms[0]["MXU"]) / (mxu - hbm)


FULL_HBM = ["hbm.efficiency=100%", "hbm.window_efficiency=100%"]
FORMS = []


def form(what, want, within=0.02):
    """A form: its function gives what podsim says."""
    def register(function):
        FORMS.append((what, want, within, function))
        return function
    return register


@form("SB tpus 1: weights of 200B bf16 from the HBM of 32 v4, ms", 10.2)
def _(podsim):
    text = module(32, "(p: bf16[50000,125000]) -> bf16[50000]",
                  "  p = bf16[50000,125000] parameter(0)\n  z = bf16[] constant(0)\n"
                  "  ROOT r = bf16[50000] reduce(p, z), dimensions={1}, to_apply=add\n").replace("f32", "bf16")
    return podsim.simulate("[pod]\ngeneration = v4\nshape = 4x4x2\n", text, FULL_HBM)[0]["time_seconds"] * 1e3


V5P_POD = "[pod]\ngeneration = v5p\nshape = 16x20x28\n"
for name, want in ("hosts", 2240), ("TensorCores", 17920), ("bf16 FLOP/s", 4.1e18), ("HBM bytes", 860e12):
    form(f"SB tpus 2: {name} of a v5p pod (of 96 GB a chip)", want)(
        lambda podsim, name=name: podsim.totals(V5P_POD, ["hbm.capacity=96GB"])[name])

ONE_PASS = ["chip.sum_length=65536", "chip.block=65536"]  # operands are gone through once
INT8 = ["hbm.bandwidth=810GB/s", *FULL_HBM, *ONE_PASS]


@form("SB tpus 4: rows of int8 by int8[16384,4096] on v5e from which on compute bounds", 263)
def _(podsim):
    return knee(podsim, "v5e_1x1", lambda rows: product(rows, 4096, 16384, "s8"), (240, 288), INT8)


@form("SB tpus 4: HBM time of int8[1024,4096] by int8[4096,16384], us", (16384 * 4096 + (16384 + 4096) * 1024) / 8.1e11 / US)
def _(podsim):
    return podsim.explain("v5e_1x1", product(1024, 4096, 16384, "s8"), "r", INT8)["HBM"] / US


@form("SB tpus 4: MXU time of the same, us", 2 * 16384 * 4096 * 1024 / 3.94e14 / US)
def _(podsim):
    return podsim.explain("v5e_1x1", product(1024, 4096, 16384, "s8"), "r", INT8)["MXU"] / US


CORNERS = module(16, "(p: bf16[8,128,8192]) -> bf16[8,128,8192]",
                 "  p = bf16[8,128,8192] parameter(0)\n"
                 "  ROOT r = bf16[8,128,8192] collective-permute(p), channel_id=1, source_target_pairs={{0,15}}\n")


@form("SB tpus 5: bf16[8,128,8192] from corner to corner of v5e 4x4, us", 194)
def _(podsim):
    return podsim.simulate("v5e_4x4", CORNERS, EXACT)[0]["time_seconds"] / US


@form("SB tpus 5: its first byte, us", 6)
def _(podsim):
    return podsim.explain("v5e_4x4", CORNERS, "r", EXACT)["latency"] / US


RIDGE = ["hbm.bandwidth=820GB/s", *FULL_HBM, *ONE_PASS]


@form("SB roofline: FLOP a byte at which v5e is balanced", 240)
def _(podsim):
    return podsim.totals("v5e_1x1", ["hbm.bandwidth=820GB/s"])["FLOP a byte of HBM"]


@form("SB roofline: rows from which on a bf16 product is bound by compute", 240)
def _(podsim):
    return knee(podsim, "v5e_1x1", lambda rows: product(rows, 65536, 65536, "bf16"), (208, 272), RIDGE)


@form("SB roofline 1: rows of int8 by int8", 243)
def _(podsim):
    return knee(podsim, "v5e_1x1", lambda rows: product(rows, 65536, 65536, "s8"), (208, 272), INT8)


@form("SB roofline 2: rows of bf16 by int8 weights", 120)
def _(podsim):
    return knee(podsim, "v5e_1x1", lambda rows: product(rows, 65536, 65536, "bf16", weights="s8"), (96, 144), RIDGE)


@form("SB roofline: contraction from which on two v5e that split it are bound by compute", 8755)
def _(podsim):
    d = 8192
    text = module(2, f"(a: bf16[4096,{d // 2}], b: bf16[{d // 2},4096]) -> bf16[4096,4096]",
                  f"  a = bf16[4096,{d // 2}] parameter(0)\n  b = bf16[{d // 2},4096] parameter(1)\n"
                  "  r = bf16[4096,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                  "  ROOT s = bf16[4096,4096] all-reduce(r), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, "
                  "to_apply=add\n").replace("f32", "bf16")
    pod = "[pod]\ngeneration = v5e\nshape = 2x1\n"
    exchange_s = podsim.simulate(pod, text, IDEAL)[0]["communication_seconds"]
    return d * exchange_s / podsim.explain(pod, text, "r", IDEAL)["MXU"]


@form("SB roofline: FLOP a byte of a product of two bf16 vectors", 0.5)
def _(podsim):
    n = 1 << 20
    text = module(1, f"(a: bf16[{n}], b: bf16[{n}]) -> bf16[]",
                  f"  a = bf16[{n}] parameter(0)\n  b = bf16[{n}] parameter(1)\n"
                  "  ROOT r = bf16[] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n")
    return podsim.explain("v5e_1x1", text, "r")["intensity"]


def slices(podsim):
    """Bytes that each device of a mesh X:2,Y:8,Z:2 holds of int8[128,2048], its rows over X and Y."""
    text = ('HloModule form, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["X"=2, "Y"=8, "Z"=2]>}}, num_partitions=32\n\n'
            "ENTRY main (p: s8[128,2048]) -> s8[128,2048] {\n  p = s8[128,2048] parameter(0)\n  ROOT r = s8[128,2048] negate(p)\n}\n")
    [output] = podsim.simulate("v5e_8x4", text, (), "--spec", 'arg0=P(("X","Y"),None)')[0]["outputs"]
    return [(rows[1] - rows[0]) * (columns[1] - columns[0]) for rows, columns in output["device_slices"]]


form("SB sharding 1: bytes a chip of int8[128,2048] over 16 of 32 chips", 16384, 0)(lambda podsim: max(slices(podsim)))
form("SB sharding 1: its bytes on all chips", 512 * 1024, 0)(lambda podsim: sum(slices(podsim)))

QUIZ = gather(32, lines(32, 1, 4), 4, (512, 8192))
RING_OF_4 = "[pod]\ngeneration = v5e\nshape = 8x4\nwrap = false,true\n"


@form("SB sharding quiz 2: all-gather of bf16[2048,8192] over 4 if they were a ring, N - 1 as N, us", 375)
def _(podsim):
    return podsim.simulate(RING_OF_4, QUIZ, IDEAL)[0]["time_seconds"] * 4 / 3 / US


@form("SB sharding quiz 2: the same over a line of 4, us", 560)
def _(podsim):
    return podsim.simulate("v5e_8x4", QUIZ, IDEAL)[0]["time_seconds"] / US


@form("SB sharding quiz 2: the same, measured, us", 680, 0.1)
def _(podsim):
    return podsim.simulate("v5e_8x4", QUIZ)[0]["time_seconds"] / US


SMALL = gather(32, lines(32, 1, 4), 4, (64, 256))


@form("SB sharding quiz 2: hops of bf16[256,256], us", 3)
def _(podsim):
    return podsim.explain("v5e_8x4", SMALL, "r")["latency"] / US


@form("SB sharding quiz 2: bf16[256,256], measured, us", 8, 0.1)
def _(podsim):
    return podsim.simulate("v5e_8x4", SMALL)[0]["time_seconds"] / US


@form("SB sharding 2: all-gather over X of bf16[1024,4096] over X and Y of v4 4x4x4, N - 1 as N, us", 23)
def _(podsim):
    return podsim.simulate("v4_4x4x4", gather(64, lines(64, 16, 4), 4, (256, 1024)), IDEAL)[0]["time_seconds"] * 4 / 3 / US


@form("SB sharding 2: with Z, where each chip brings a part, us", 11.5)
def _(podsim):
    groups = "{" + ",".join("{" + ",".join(str(16 * x + 4 * y + z) for x in range(4) for z in range(4)) + "}" for y in range(4)) + "}"
    return podsim.simulate("v4_4x4x4", gather(64, groups, 16, (64, 1024)), IDEAL)[0]["time_seconds"] * 16 / 15 / US


@form("SB sharding 3: all-gather of 256 bytes over a ring of 4 of v4, us", 2)
def _(podsim):
    return podsim.simulate("v4_4x4x4", gather(64, lines(64, 16, 4), 4, (32,)), EXACT)[0]["time_seconds"] / US


@form("SB sharding 10: all-to-all over all-gather of the same array on a ring both ways, N - 1 as N", 0.25)
def _(podsim):
    ring = "[pod]\ngeneration = v5e\nshape = 16x1\n"
    exchanged = podsim.simulate(ring, exchange(16, lines(16, 1, 16), "f32[65536,16]"), IDEAL)[0]["time_seconds"]
    gathered = podsim.simulate(ring, gather(16, lines(16, 1, 16), 16, (65536, 16), "f32"), IDEAL)[0]["time_seconds"]
    return exchanged / (gathered * 16 / 15)


def link_scalars(podsim, sizes):
    """Floats over the link from chip 0 to chip 1 of a ring of 8, of permutes one way round."""
    ring = "[pod]\ngeneration = v5e\nshape = 8x1\nwrap = true,false\n"
    pairs = "{" + ",".join(f"{{{i},{(i + 1) % 8}}}" for i in range(8)) + "}"
    rows = podsim.simulate(ring, permutes(8, pairs, sizes), IDEAL)[1]
    return sum(int(row["bytes"]) for row in rows if row["kind"] == "link" and row["chip"] == "0") / 4


N = 64  # of an N x N matrix over D = 8
form("SB sharding 10: scalars over a link of an all-gather one way round", N * N * (1 - 1 / 8), 0)(
    lambda podsim: link_scalars(podsim, [N * N // 8] * 7))
form("SB sharding 10: of an all-to-all one way round", N * N / 2 * (1 - 1 / 8), 0)(
    lambda podsim: link_scalars(podsim, [N * N // 64 * k for k in range(7, 0, -1)]))


@form("SB sharding: time of a hop's 45 kB over its latency", 1)
def _(podsim):
    text = module(2, "(p: s8[45000]) -> s8[45000]",
                  "  p = s8[45000] parameter(0)\n  ROOT r = s8[45000] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{1,0}}\n")
    terms = podsim.explain("[pod]\ngeneration = v5e\nshape = 2x1\n", text, "r", EXACT)
    return terms["link"] / terms["latency"]


@form("SB applied inference C: of 360 kB gathered over 8", 1)
def _(podsim):
    terms = podsim.explain("[pod]\ngeneration = v5e\nshape = 8x1\n", gather(8, lines(8, 1, 8), 8, (45000,), "s8"), "r", EXACT)
    return terms["link"] / terms["latency"]


def least_chips(podsim, dtype):
    """Chips of the smallest v5e slice that holds 70e9 weights."""
    for config, n in ("v5e_1x1", 1), ("v5e_2x2", 4), ("v5e_4x2", 8), ("v5e_4x4", 16), ("v5e_8x4", 32):
        shape = f"{dtype}[{70_000_000 // n},1000]"
        text = module(n, f"(p: {shape}) -> {dtype}[1000]",
                      f"  p = {shape} parameter(0)\n  r = {dtype}[1,1000] slice(p), slice={{[0:1], [0:1000]}}\n"
                      f"  ROOT s = {dtype}[1000] reshape(r)\n")
        if podsim.simulate(config, text)[0] is not None:
            return n
    return None


for dtype, want in ("bf16", 16), ("s8", 8), ("s4", 4):
    form(f"SB applied inference: v5e chips of the smallest slice for 70B in {dtype}", want, 0)(
        lambda podsim, dtype=dtype: least_chips(podsim, dtype))


@form("libtpu: product of bf16 4096 cubed on v5e, us", 1083068 / 1.5e3)
def _(podsim):
    return podsim.simulate("v5e_1x1", product(4096, 4096, 4096, "bf16"))[0]["time_seconds"] / US


@form("one-way ICI: all-gather of 33.5 MB over two v5e, us", 373)
def _(podsim):
    return podsim.simulate("[pod]\ngeneration = v5e\nshape = 2x1\n", gather(2, "{{0,1}}", 2, (1024, 8192)), IDEAL)[0]["time_seconds"] / US


LAYERS, WIDTH, HIDDEN, HEADS, VOCABULARY, EXPERTS, CHOSEN = 64, 4096, 16384, 2 * 256 * (32 + 8), 32128, 16, 2


def mixture(podsim):
    """A mixture of experts with every weight once, for 8 tokens, each by 2 of 16 experts: (parameters, those that a token uses)."""
    tokens, each = 8, 8 * CHOSEN // EXPERTS
    sizes = [(LAYERS * EXPERTS, each, WIDTH, 3 * HIDDEN), (LAYERS, tokens, WIDTH, HEADS), (1, tokens, WIDTH, VOCABULARY)]
    head, body, made = [], "", []
    for i, (batch, rows, k, n) in enumerate(sizes):
        head += [f"a{i}: s8[{batch},{rows},{k}]", f"w{i}: s8[{batch},{k},{n}]"]
        made.append(f"s8[{batch},{rows},{n}]")
        body += (f"  a{i} = s8[{batch},{rows},{k}] parameter({2 * i})\n  w{i} = s8[{batch},{k},{n}] parameter({2 * i + 1})\n"
                 f"  r{i} = {made[-1]} dot(a{i}, w{i}), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_batch_dims={{0}}, "
                 "rhs_contracting_dims={1}\n")
    body += f"  ROOT t = ({', '.join(made)}) tuple(r0, r1, r2)\n"
    summary = podsim.simulate("v5e_1x1", module(1, f"({', '.join(head)}) -> ({', '.join(made)})", body), (), "--allow-oom")[0]
    activations = sum(batch * rows * (k + n) for batch, rows, k, n in sizes)
    return summary["hbm_peak_bytes"] - activations, summary["flops"] / 2 / tokens


form("SB inference 5: parameters of a mixture of 16 experts", 212e9)(lambda podsim: mixture(podsim)[0])
form("SB inference 5: parameters that a token uses", 31.2e9)(lambda podsim: mixture(podsim)[1])


@form("SB inference 5: tokens from which on its experts are bound by compute", 1920)
def _(podsim):
    def experts(rows):
        return module(1, f"(a: bf16[16,{rows},32768], b: bf16[16,32768,32768]) -> bf16[16,{rows},32768]",
                      f"  a = bf16[16,{rows},32768] parameter(0)\n  b = bf16[16,32768,32768] parameter(1)\n"
                      f"  ROOT r = bf16[16,{rows},32768] dot(a, b), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
                      "rhs_batch_dims={0}, rhs_contracting_dims={1}\n")
    return knee(podsim, "v5e_1x1", experts, (208, 272), RIDGE) * EXPERTS / CHOSEN


def main():
    only, passed, failed = re.compile(sys.argv[2] if len(sys.argv) > 2 else ""), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        podsim = Podsim(sys.argv[1], folder)
        for what, want, within, function in FORMS:
            if not only.search(what):
                continue
            try:
                got = function(podsim)
            except (RuntimeError, KeyError, ValueError) as problem:
                got = None
                print(f"     {type(problem).__name__}: {problem}")
            good = got is not None and abs(got / want - 1) <= within + 1e-9
            passed, failed = passed + good, failed + (not good)
            print(f"{'ok  ' if good else 'FAIL'} {what}: {'nothing' if got is None else format(got, '.6g')}, published {want:.6g}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
