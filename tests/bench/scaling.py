#!/usr/bin/env python3
"""Tells how podsim's own time grows with the size of a program.

usage: scaling.py PODSIM CONFIG [SIZE] [--most RATIO] [--only REGEX]

Writes programs of each kind in two sizes, SIZE and four times as much, runs both with --numbers off, and prints the CPU seconds
and their ratio: 4 is linear, 16 quadratic. With --most the exit code is 1 where a ratio is above it; what takes less than
0.1 s in the larger size is start-up, and passes. Kinds: `chain` ops one after the other, `fan_out` that use one parameter, `layers`
products that need collectives, `outputs`, `parameters`, `loop` a long body, `carry` a body with many values,
`calls` a call an op, `mlir` the chain as StableHLO, `chips` all-reduces on a torus of about so many chips, of which one is simulated."""
import argparse
import math
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

GROWTH, LEAST_SECONDS = 4, 0.1
ROWS, COLUMNS = "sharding={devices=[8,1]<=[8]}", "sharding={devices=[1,8]<=[8]}"
SHAPE = "f32[64,64]"


def entry(lines, before=""):
    return f"HloModule m\n{before}\nENTRY main {{\n" + "\n".join("  " + line for line in lines) + "\n}\n"


def two_parameters():
    return [f"p = {SHAPE} parameter(0), {ROWS}", f"q = {SHAPE} parameter(1), {COLUMNS}"]


def chain(n):
    lines, last = two_parameters(), "p"
    for i in range(n):
        lines.append(f"v{i} = {SHAPE} add({last}, {'q' if i % 2 else 'p'})")
        last = f"v{i}"
    return entry(lines + [f"ROOT r = {SHAPE} negate({last})"])


def fan_out(n):
    lines = two_parameters() + [f"v{i} = {SHAPE} multiply(p, q)" for i in range(n)]
    lines += [f"s{i} = {SHAPE} subtract({f's{i - 1}' if i else 'p'}, v{i})" for i in range(n)]
    return entry(lines + [f"ROOT r = {SHAPE} negate(s{n - 1})"])


def layers(n):
    lines, last = two_parameters(), "p"
    for i in range(n):
        dims = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
        lines += [f"d{i} = {SHAPE} dot({last}, q), {dims}", f"t{i} = {SHAPE} tanh(d{i})"]
        last = f"t{i}"
    return entry(lines + [f"ROOT r = {SHAPE} negate({last})"])


def outputs(n):
    lines = two_parameters() + [f"v{i} = {SHAPE} add(p, q)" for i in range(n)]
    shapes, names = ", ".join([SHAPE] * n), ", ".join(f"v{i}" for i in range(n))
    return entry(lines + [f"ROOT r = ({shapes}) tuple({names})"])


def parameters(n):
    lines = [f"p{i} = {SHAPE} parameter({i}), {ROWS if i % 2 else COLUMNS}" for i in range(n)]
    lines += [f"v{i} = {SHAPE} add({f'v{i - 1}' if i else 'p0'}, p{i})" for i in range(n)]
    return entry(lines + [f"ROOT r = {SHAPE} negate(v{n - 1})"])


def while_loop(carry, body, start, element):
    """A program of one loop of three trips whose body's lines make j, the counter, and `element` of the carry is the result."""
    head = [f"c = {carry} parameter(0)", "i = s32[] get-tuple-element(c), index=0"]
    bodies = {"body": head + ["one = s32[] constant(1)", "j = s32[] add(i, one)"] + body,
              "condition": head + ["n = s32[] constant(3)", "ROOT lt = pred[] compare(i, n), direction=LT"]}
    before = "".join(f"{name} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n" for name, lines in bodies.items())
    lines = ["zero = s32[] constant(0)"] + start + [f"w = {carry} while(t), condition=condition, body=body",
                                                    f"ROOT r = {SHAPE} get-tuple-element(w), index={element}"]
    return entry(lines, before)


def loop(n):
    carry = f"(s32[], {SHAPE})"
    body = [f"v = {SHAPE} get-tuple-element(c), index=1"]
    body += [f"v{i} = {SHAPE} add({f'v{i - 1}' if i else 'v'}, v)" for i in range(n)]
    start = [f"p = {SHAPE} parameter(0), {ROWS}", f"t = {carry} tuple(zero, p)"]
    return while_loop(carry, body + [f"ROOT t = {carry} tuple(j, v{n - 1})"], start, 1)


def carry(n):
    carried = f"(s32[], {', '.join([SHAPE] * n)})"
    body = [f"v{i} = {SHAPE} get-tuple-element(c), index={i + 1}" for i in range(n)]
    body += [f"u{i} = {SHAPE} negate(v{i})" for i in range(n)]
    body.append(f"ROOT t = {carried} tuple(j, {', '.join(f'u{i}' for i in range(n))})")
    start = [f"p = {SHAPE} parameter(0), {ROWS}", f"t = {carried} tuple(zero, {', '.join(['p'] * n)})"]
    return while_loop(carried, body, start, n)


def calls(n):
    called = f"f {{\n  x = {SHAPE} parameter(0)\n  ROOT y = {SHAPE} sine(x)\n}}\n"
    lines = two_parameters() + [f"v{i} = {SHAPE} call({f'v{i - 1}' if i else 'p'}), to_apply=f" for i in range(n)]
    return entry(lines + [f"ROOT r = {SHAPE} negate(v{n - 1})"], called)


def mlir(n):
    kind = "tensor<64x64xf32>"
    lines = ["module @m {", '  sdy.mesh @mesh = <["x"=8]>',
             f'  func.func public @main(%a: {kind} {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}}) -> {kind} {{']
    lines += [f"    %{i} = stablehlo.add {f'%{i - 1}' if i else '%a'}, %a : {kind}" for i in range(n)]
    return "\n".join(lines + [f"    return %{n - 1} : {kind}", "  }", "}"]) + "\n"


def side(n):
    return 2 * math.isqrt(n // 4)


def chips(n):
    """Sums over the columns, the rows and all chips of a square torus."""
    s = side(n)
    adder = "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    lines, last = [f"p = f32[{s * s},64] parameter(0), sharding={{replicated}}"], "p"
    for i, groups in enumerate((f"[{s},{s}]<=[{s * s}]", f"[{s},{s}]<=[{s},{s}]T(1,0)", f"[1,{s * s}]<=[{s * s}]")):
        lines.append(f"v{i} = f32[{s * s},64] all-reduce({last}), channel_id={i + 1}, replica_groups={groups}, "
                     "use_global_device_ids=true, to_apply=add")
        last = f"v{i}"
    program = entry(lines + [f"ROOT r = f32[{s * s},64] negate({last})"], adder)
    return program.replace("HloModule m", f"HloModule m, num_partitions={s * s}")


PODS = {"chips": lambda n: f"[pod]\ngeneration = v5e\nshape = {side(n)}x{side(n)}\nwrap = true,true\n"}
KINDS = {make.__name__: make for make in (chain, fan_out, layers, outputs, parameters, loop, carry, calls, mlir, chips)}


def cpu_seconds(podsim, config, program):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([podsim, config, program, "--numbers", "off"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{program.name}: {done.stderr.strip()}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("podsim")
    parser.add_argument("config")
    parser.add_argument("size", type=int, nargs="?", default=5000)
    parser.add_argument("--most", type=float)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    too_steep = []
    print(f"{'kind':<12}{'ops':>8}{'seconds':>9}{'ops':>8}{'seconds':>9}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, make in KINDS.items():
            if not re.search(options.only, name):
                continue
            seconds = []
            for size in (options.size, GROWTH * options.size):
                program = pathlib.Path(folder) / f"{name}_{size}{'.mlir' if name == 'mlir' else '.hlo'}"
                program.write_text(make(size))
                config = options.config
                if name in PODS:
                    config = program.with_suffix(".ini")
                    config.write_text(PODS[name](size))
                seconds.append(cpu_seconds(options.podsim, config, program))
            small, large = seconds
            ratio = large / max(small, 1e-3)
            print(f"{name:<12}{options.size:>8}{small:>9.2f}{GROWTH * options.size:>8}{large:>9.2f}{ratio:>7.1f}")
            if options.most is not None and large > LEAST_SECONDS and ratio > options.most:
                too_steep.append(name)
    if too_steep:
        sys.exit(f"steeper than {options.most:g}: {', '.join(too_steep)}")


if __name__ == "__main__":
    main()
