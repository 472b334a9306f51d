#!/usr/bin/env python3
"""Writes the kernels in this folder with JAX: make.py (needs jax; no TPU). Each .bc is the Mosaic bytecode of a custom call."""
import base64
import pathlib
import re

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
HERE = pathlib.Path(__file__).resolve().parent
ROWS = pl.BlockSpec((8, 256), lambda i: (i, 0))


def scale(x_ref, y_ref, out_ref):
    out_ref[...] = jnp.exp(x_ref[...]) * y_ref[...] + 1.0


def doubled(x_ref, out_ref, buffer, semaphore):
    out_ref[...] = jnp.zeros_like(out_ref)

    def body(i, _):
        copy = pltpu.make_async_copy(x_ref.at[pl.ds(i * 8, 8)], buffer, semaphore)
        copy.start()
        copy.wait()
        out_ref[...] += jnp.where(buffer[...] > 0, buffer[...], 0)
        return 0

    jax.lax.fori_loop(0, 4, body, 0)


def write(name, call, *shapes):
    args = [jax.ShapeDtypeStruct(s, "float32") for s in shapes]
    text = jax.jit(call).trace(*args).lower(lowering_platforms=("tpu",)).as_text()
    (HERE / f"{name}.mlir").write_text(text)
    (HERE / f"{name}.bc").write_bytes(base64.b64decode(re.search(r"body\\22: \\22([A-Za-z0-9+/=]*)", text)[1]))


write("scale", pl.pallas_call(scale, grid=(2,), in_specs=[ROWS, ROWS], out_specs=ROWS, out_shape=jax.ShapeDtypeStruct((16, 256), "float32")),
      (16, 256), (16, 256))
write("doubled", pl.pallas_call(doubled, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=jax.ShapeDtypeStruct((8, 256), "float32"),
                                scratch_shapes=[pltpu.VMEM((8, 256), "float32"), pltpu.SemaphoreType.DMA]), (32, 256))
