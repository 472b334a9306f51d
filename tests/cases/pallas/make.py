#!/usr/bin/env python3
"""Writes the cases of this folder with JAX (no TPU needed): make.py [NAME...].

Each is NAME.mlir, lowered for a TPU, and NAME.npz with its inputs in0.npy … and what JAX's own interpreter of TPU kernels computes,
out0.npy …. A bfloat16 is kept as its 16 bits."""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.pallas.mosaic import tpu_info
from jax.experimental.pallas import tpu as pltpu

# A kernel that asks what it is lowered for is told v5e.
tpu_info.registry["cpu"] = lambda: tpu_info.get_tpu_info_for_chip(tpu_info.ChipVersion.TPU_V5E, 1)
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 8)
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
import kernels  # noqa: E402  after the settings
import library  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def plain(array):
    array = np.asarray(array)
    return array.view("V2") if array.dtype == jnp.bfloat16 else array


def write(name, function, inputs, reference=None):
    text = jax.jit(function).trace(*inputs).lower(lowering_platforms=("tpu",)).as_text()
    with pltpu.force_tpu_interpret_mode():
        outputs = jax.tree.leaves((reference or jax.jit(function))(*inputs))
    (HERE / f"{name}.mlir").write_text(text)
    arrays = {f"in{i}": plain(x) for i, x in enumerate(jax.tree.leaves(inputs))} | {f"out{i}": plain(x) for i, x in enumerate(outputs)}
    np.savez_compressed(HERE / f"{name}.npz", **arrays)


def main():
    for name, (function, inputs, *reference) in (kernels.KERNELS | library.KERNELS).items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            write(name, function, inputs, *reference)
            print(name, flush=True)


if __name__ == "__main__":
    main()
