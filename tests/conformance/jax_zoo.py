#!/usr/bin/env python3
"""Small programs of JAX (zoo_programs.py), each lowered to HLO and StableHLO, for a CPU and for a TPU, whole and sharded over 2x2
chips, and compared with what JAX computes: jax_zoo.py PODSIM CONFIGS [--only REGEX] [--forms hlo,mlir,tpu,tpu_mlir,sharded,tpu_sharded] [--keep DIR].

Needs jax. With --keep the programs are written to DIR once and read from there. The last line is `N passed, N failed`."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

FORMS = ["hlo", "mlir", "tpu", "tpu_mlir", "sharded", "tpu_sharded"]
NARROW = ("float8", "float6_", "float4")
VIEWS = {"bfloat16": np.uint16, "int4": np.int8, "uint4": np.uint8, "int2": np.int8, "uint2": np.uint8}


def save(path, array):
    """Writes an array as podsim reads it; gives its type's name."""
    array = np.asarray(array)
    name = array.dtype.name
    if name in ("int4", "uint4", "int2", "uint2"):
        array = array.astype(VIEWS[name])
    elif name == "bfloat16":
        array = array.view(np.uint16)
    elif name.startswith(NARROW):
        array = array.view(np.uint8)
    np.save(path, array)
    return name


def load(path, name):
    array = np.load(path)
    if name == "bfloat16":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if name.startswith(NARROW):
        import ml_dtypes
        return array.view(getattr(ml_dtypes, name)).astype(np.float32)
    return array


class Maker:
    """Writes a program, its inputs and what JAX computes from them into a folder."""

    def __init__(self):
        os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        import zoo_programs
        self.jax, self.programs = jax, zoo_programs.PROGRAMS
        self.mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"),
                                      axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def sharding(self, x):
        axes = [axis if x.shape[d] % 2 == 0 and x.shape[d] else None for d, axis in zip(range(np.ndim(x)), ("x", "y"))]
        return self.jax.sharding.NamedSharding(self.mesh, self.jax.sharding.PartitionSpec(*axes))

    def make(self, name, folder):
        program = self.programs[name]
        jax = self.jax
        with jax.enable_x64(program.x64):
            jitted = jax.jit(program.function, keep_unused=True)
            args = [jax.numpy.asarray(x) for x in program.inputs]
            folder.mkdir(parents=True, exist_ok=True)
            outputs = jax.tree.leaves(jax.jit(program.reference or program.function, keep_unused=True)(*args))
            forms = []
            if program.cpu:
                lowered = jitted.lower(*args)
                (folder / "program.hlo").write_text(lowered.as_text(dialect="hlo"))
                (folder / "program.mlir").write_text(lowered.as_text())
                forms += ["hlo", "mlir"]
            if program.tpu:
                tpu = jitted.trace(*args).lower(lowering_platforms=("tpu",))
                (folder / "tpu.hlo").write_text(tpu.as_text(dialect="hlo"))
                (folder / "tpu.mlir").write_text(tpu.as_text())
                forms += ["tpu", "tpu_mlir"]
            if program.shard:
                shardings = [self.sharding(x) for x in args]
                abstract = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s) for x, s in zip(args, shardings)]
                (folder / "sharded.hlo").write_text(jitted.lower(*abstract).as_text(dialect="hlo"))
                forms += ["sharded"]
            if program.shard and program.tpu:
                tpu = jitted.trace(*abstract).lower(lowering_platforms=("tpu",))
                (folder / "tpu_sharded.hlo").write_text(tpu.as_text(dialect="hlo"))
                forms += ["tpu_sharded"]
        meta = {"tolerance": program.tolerance, "forms": forms}
        meta["inputs"] = [save(folder / f"in{k}.npy", x) for k, x in enumerate(args)]
        meta["outputs"] = [save(folder / f"out{k}.npy", x) for k, x in enumerate(outputs)]
        (folder / "case.json").write_text(json.dumps(meta) + "\n")


FILES = {"hlo": "program.hlo", "mlir": "program.mlir", "tpu": "tpu.hlo", "tpu_mlir": "tpu.mlir", "sharded": "sharded.hlo",
         "tpu_sharded": "tpu_sharded.hlo"}


def differences(folder, out, meta):
    for k, dtype in enumerate(meta["outputs"]):
        if not (out / f"out{k}.npy").exists():
            yield f"out{k} is not known"
            continue
        want, got = load(folder / f"out{k}.npy", dtype), load(out / f"out{k}.npy", dtype)
        tolerance = meta["tolerance"]
        if got.shape != want.shape or got.dtype != want.dtype:
            yield f"out{k} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
        elif want.dtype.kind in "biu":
            if not np.array_equal(got, want):
                yield f"out{k} differs in {int(np.sum(got != want))} of {want.size}: {got[got != want].ravel()[:1]} not {want[got != want].ravel()[:1]}"
        else:
            scale = np.max(np.abs(np.where(np.isfinite(want), want, 0)), initial=1e-6)
            same = np.isclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
            if not same.all():
                yield f"out{k} differs in {int(np.sum(~same))} of {want.size}: {got[~same].ravel()[:1]} not {want[~same].ravel()[:1]}"


def run(podsim, configs, folder, form, meta):
    config = pathlib.Path(configs) / ("v5e_2x2.ini" if form.endswith("sharded") else "v5e_1x1.ini")
    inputs = [word for k in range(len(meta["inputs"])) for word in ("-i", str(folder / f"in{k}.npy"))]
    with tempfile.TemporaryDirectory() as out:
        try:
            r = subprocess.run([podsim, str(config), str(folder / FILES[form]), *inputs, "-o", out], capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return ["no answer in 120 s"]
        if r.returncode:
            lines = [line for line in r.stderr.strip().splitlines() if "error" in line] or r.stderr.strip().splitlines()
            return [f"exit {r.returncode}: {lines[0] if lines else ''}"]
        return list(differences(folder, pathlib.Path(out), meta))


def is_the_same(folder, form, forms):
    """Whether a TPU's program is the CPU's, which is run too."""
    other = {"tpu": "hlo", "tpu_mlir": "mlir", "tpu_sharded": "sharded"}.get(form)
    if other is None or other not in forms.split(",") or not (folder / FILES[other]).exists():
        return False
    return (folder / FILES[form]).read_text() == (folder / FILES[other]).read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("podsim"), parser.add_argument("configs"), parser.add_argument("--only", default="")
    parser.add_argument("--forms", default=",".join(FORMS)), parser.add_argument("--keep")
    args = parser.parse_args()
    root = pathlib.Path(args.keep or tempfile.mkdtemp())
    maker, passed, failed = None, 0, 0
    podsim = os.path.abspath(args.podsim)
    names_file = root / "names"
    if names_file.exists():
        names = names_file.read_text().split()
    else:
        maker = Maker()
        names = list(maker.programs)
        root.mkdir(parents=True, exist_ok=True)
        names_file.write_text("\n".join(names) + "\n")
    for name in (n for n in names if re.search(args.only, n)):
        folder = root / name
        if not (folder / "case.json").exists() and not (folder / "error").exists():
            maker = maker or Maker()
            try:
                maker.make(name, folder)
            except Exception as error:  # a program that this JAX does not lower is no program of JAX
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "error").write_text(f"{type(error).__name__}: {error}"[:300])
        if (folder / "error").exists():
            print(f"left out {name}: {(folder / 'error').read_text().splitlines()[0][:150]}", flush=True)
            continue
        meta = json.loads((folder / "case.json").read_text())
        forms = [f for f in args.forms.split(",") if f in meta["forms"] and not is_the_same(folder, f, args.forms)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda form: run(podsim, args.configs, folder, form, meta), forms))
        for form, faults in zip(forms, found):
            passed, failed = passed + (not faults), failed + bool(faults)
            if faults:
                print(f"FAIL {name} {form}: {'; '.join(faults)[:300]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
