#!/usr/bin/env python3
"""The property of the partitioner on random programs, and on those that once failed.

usage: partition_property.py CHECKER [--programs N] [--seed S] [--cases DIR] [--shrink DIR]

Whatever the program, mesh and shardings, the devices together must compute what one device computes, to the bit. CHECKER is the built
tests/conformance/partition_property.c. It is given N programs from seed S on (random_programs.py), and all of DIR/*.hlo. With --shrink
every program that fails is made as small as it goes while it still fails and written to DIR/seed<S>.hlo: such a file belongs into
tests/cases/property. The last line is `N passed, M failed`."""
import argparse
import copy
import pathlib
import re
import subprocess
import sys

import random_programs


def verdicts(checker, programs):
    """What the checker says of each (name, text); a program that it crashes on is said to crash."""
    said, left = {}, list(programs)
    while left:
        text = "".join(f"// {name}\n{program}" for name, program in left)
        run = subprocess.run([checker], input=text, capture_output=True, text=True, timeout=3600)
        lines = [line.split(" ", 1) for line in run.stdout.splitlines()]
        said.update(lines)
        left = left[len(lines):]
        if left:
            said[left[0][0]] = "crashes: " + (run.stderr.strip().splitlines() or [f"exit {run.returncode}"])[-1][:200]
            left = left[1:]
    return said


def kind(verdict):
    return verdict.split(":")[0]


# --- shrinking: smaller programs that still fail in the same way

def without_dead(program):
    needed, stack = set(), list(program.outputs)
    while stack:
        v = stack.pop()
        if v.name not in needed:
            needed.add(v.name)
            stack += [o for o in v.operands if not isinstance(o, str)]
    program.values = [v for v in program.values if v.name in needed]
    return program


def fewer_outputs(program):
    for output in program.outputs:
        if len(program.outputs) > 1:
            smaller = copy.copy(program)
            smaller.outputs = [output]
            yield smaller


def earlier_outputs(program):
    """An operand of the one output in its place."""
    for output in program.outputs[:1]:
        for operand in output.operands:
            if not isinstance(operand, str) and not operand.dtype.startswith("(") and operand.op != "parameter":
                smaller = copy.copy(program)
                smaller.outputs = [operand]
                yield smaller


def replaced(program, old, new):
    """`new` takes the place of the instruction `old`."""
    smaller = copy.copy(program)
    made = {old.name: new}

    def of(v):
        if isinstance(v, str):
            return v
        return made.get(v.name, v)

    smaller.values = []
    for v in program.values:
        if v is old:
            if new not in program.values:
                smaller.values.append(new)
            continue
        if any(not isinstance(o, str) and o.name in made for o in v.operands):
            w = copy.copy(v)
            w.operands = [of(o) for o in v.operands]
            made[v.name] = w
            v = w
        smaller.values.append(v)
    smaller.outputs = [of(v) for v in program.outputs]
    return smaller


def parameters_for_values(program):
    spec = 'frontend_attributes={xla.sdy.sharding="#sdy.sharding<@mesh, [%s]>"}'
    for v in reversed(program.values):
        if v.op in ("parameter", "constant") or v.dtype not in ("f32", "s32"):
            continue
        bare = spec % ", ".join("{}" for _ in v.dims)
        yield replaced(program, v, random_programs.Value(v.name, v.dtype, v.dims, "parameter", [], bare, 8))


def operands_for_values(program):
    for v in reversed(program.values):
        for o in v.operands:
            if not isinstance(o, str) and (o.dtype, o.dims) == (v.dtype, v.dims):
                yield replaced(program, v, o)


def fewer_shardings(program):
    for v in program.values:
        for axes in re.findall(r"\{((?:\\\"\w\\\"(?::\(\d+\)\d+)?(?:, )?)+)\}", v.attrs):
            for part in axes.split(", "):
                rest = ", ".join(a for a in axes.split(", ") if a != part)
                w = copy.copy(v)
                w.attrs = v.attrs.replace("{" + axes + "}", "{" + rest + "}", 1)
                yield replaced(program, v, w)


def smaller_meshes(program):
    for i, n in enumerate(program.mesh):
        if any(f'{chr(97 + i)}\\":(' in v.attrs for v in program.values):
            continue
        for size in {2, 3, n // 2} - {n}:
            if 1 < size < n:
                smaller = copy.copy(program)
                smaller.mesh = program.mesh[:i] + (size,) + program.mesh[i + 1:]
                yield smaller


STEPS = (fewer_outputs, earlier_outputs, operands_for_values, parameters_for_values, fewer_shardings, smaller_meshes)


def shrunk(checker, program, verdict):
    shrinks = True
    while shrinks:
        shrinks = False
        for step in STEPS:
            tries = [without_dead(p) for p in step(program)]
            said = verdicts(checker, [(f"try{i}", p.text()) for i, p in enumerate(tries)])
            found = next((p for i, p in enumerate(tries) if kind(said[f"try{i}"]) == kind(verdict)), None)
            if found is not None:
                program, shrinks = found, True
                break
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checker")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=pathlib.Path)
    parser.add_argument("--shrink", type=pathlib.Path)
    args = parser.parse_args()
    made = {f"seed{s}": random_programs.random_program(s) for s in range(args.seed, args.seed + args.programs)}
    programs = [(name, program.text()) for name, program in made.items()]
    programs += [(path.stem, path.read_text()) for path in sorted(args.cases.glob("*.hlo"))] if args.cases else []
    said = verdicts(args.checker, programs)
    failed = {name: verdict for name, verdict in said.items() if verdict != "ok"}
    for name, verdict in failed.items():
        print(name, verdict)
        if args.shrink and name in made:
            args.shrink.mkdir(parents=True, exist_ok=True)
            (args.shrink / f"{name}.hlo").write_text(shrunk(args.checker, made[name], verdict).text())
    print(f"{len(said) - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
