"""Makes program.hlo: a tensor-parallel MLP as JAX lowers it for a mesh of 4x2 devices. Needs jax; no TPU."""
import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))


def argument(shape, *spec):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, P(*spec)))


def mlp(x, w_up, w_down):
    return jax.nn.gelu(x @ w_up) @ w_down


x = argument((512, 1024), "data", None)          # each row of chips holds a part of the batch
w_up = argument((1024, 4096), None, "model")     # columns split: no communication
w_down = argument((4096, 1024), "model", None)   # rows split: the products are summed over "model"
print(jax.jit(mlp).lower(x, w_up, w_down).as_text(dialect="hlo"), end="")
