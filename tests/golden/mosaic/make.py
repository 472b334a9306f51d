#!/usr/bin/env python3
"""Writes the kernels in this folder with JAX: make.py (needs jax; no TPU). Each .bc is the Mosaic bytecode of the custom call in the
.mlir. The last ones have an error that a run must tell."""
import base64
import pathlib
import re

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

jax.config.update("jax_num_cpu_devices", 8)
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


def reads_too_early(x_ref, out_ref, buffer, semaphore):
    copy = pltpu.make_async_copy(x_ref, buffer, semaphore)
    copy.start()
    out_ref[...] = buffer[...]
    copy.wait()


def never_waits(x_ref, out_ref, buffer, semaphore):
    pltpu.make_async_copy(x_ref, buffer, semaphore).start()
    out_ref[...] = jnp.zeros_like(out_ref)


def waits_in_vain(x_ref, out_ref, semaphore):
    pl.semaphore_signal(semaphore, 1)
    pl.semaphore_wait(semaphore, 2)
    out_ref[...] = x_ref[...]


def out_of_bounds(x_ref, out_ref):
    out_ref[...] = x_ref[pl.ds(pl.program_id(0) + 8, 8), :]


def random_bits(x_ref, out_ref):
    pltpu.prng_seed(0)
    out_ref[...] = x_ref[...] + pltpu.prng_random_bits(x_ref.shape).astype("float32")


def to_the_right(x_ref, landing, sent, received):
    right = jax.lax.rem(jax.lax.axis_index("x") + 1, 8)
    return pltpu.make_async_remote_copy(x_ref, landing, sent, received, device_id=right, device_id_type=pl.DeviceIdType.LOGICAL)


def reads_before_arrival(x_ref, out_ref, landing, sent, received):
    copy = to_the_right(x_ref, landing, sent, received)
    copy.start()
    copy.wait_send()
    out_ref[...] = landing[...]
    copy.wait_recv()


def one_does_not_send(x_ref, out_ref, sent, received):
    copy = to_the_right(x_ref, out_ref, sent, received)

    @pl.when(jax.lax.axis_index("x") != 2)
    def _():
        copy.start()
        copy.wait_send()

    copy.wait_recv()


def on_each(call):
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    return jax.shard_map(call, mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P("x"), check_vma=False)


def write(name, call, *shapes):
    args = [jax.ShapeDtypeStruct(s, "float32") for s in shapes]
    text = jax.jit(call).trace(*args).lower(lowering_platforms=("tpu",)).as_text()
    (HERE / f"{name}.mlir").write_text(text)
    (HERE / f"{name}.bc").write_bytes(base64.b64decode(re.search(r"body\\22: \\22([A-Za-z0-9+/=]*)", text)[1]))


write("scale", pl.pallas_call(scale, grid=(2,), in_specs=[ROWS, ROWS], out_specs=ROWS, out_shape=jax.ShapeDtypeStruct((16, 256), "float32")),
      (16, 256), (16, 256))
write("doubled", pl.pallas_call(doubled, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=jax.ShapeDtypeStruct((8, 256), "float32"),
                                scratch_shapes=[pltpu.VMEM((8, 256), "float32"), pltpu.SemaphoreType.DMA]), (32, 256))

HBM, OUT = pl.BlockSpec(memory_space=pl.ANY), jax.ShapeDtypeStruct((8, 256), "float32")
SCRATCH = [pltpu.VMEM((8, 256), "float32"), pltpu.SemaphoreType.DMA]
write("reads_too_early", pl.pallas_call(reads_too_early, in_specs=[HBM], out_shape=OUT, scratch_shapes=SCRATCH), (8, 256))
write("never_waits", pl.pallas_call(never_waits, in_specs=[HBM], out_shape=OUT, scratch_shapes=SCRATCH), (8, 256))
write("waits_in_vain", pl.pallas_call(waits_in_vain, out_shape=OUT, scratch_shapes=[pltpu.SemaphoreType.REGULAR]), (8, 256))
write("out_of_bounds", pl.pallas_call(out_of_bounds, grid=(2,), out_shape=OUT), (16, 256))
write("random_bits", pl.pallas_call(random_bits, out_shape=OUT), (8, 256))
write("reads_before_arrival", on_each(pl.pallas_call(reads_before_arrival, out_shape=OUT, scratch_shapes=[SCRATCH[0], pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA])),
      (64, 256))
write("one_does_not_send", on_each(pl.pallas_call(one_does_not_send, out_shape=OUT, scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA])), (64, 256))


def credit_too_early(x_ref, out_ref, landing, sent, received, credit):
    left = jax.lax.rem(jax.lax.axis_index("x") + 7, 8)
    out_ref[...] = jnp.zeros_like(out_ref)
    for _ in range(2):
        copy = to_the_right(x_ref, landing, sent, received)
        copy.start()
        copy.wait()
        pl.semaphore_signal(credit, 1, device_id=left, device_id_type=pl.DeviceIdType.LOGICAL)
        out_ref[...] += landing[...]
        pl.semaphore_wait(credit, 1)


write("credit_too_early",
      on_each(pl.pallas_call(credit_too_early, out_shape=OUT,
                             scratch_shapes=[SCRATCH[0], pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR])), (64, 256))
