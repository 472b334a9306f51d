"""Cases of the kernels that come with JAX (jax.experimental.pallas.ops.tpu): attention, grouped products, paged attention. KERNELS[name]
= (function, its inputs, and where JAX cannot interpret the kernel a function that computes the same). Read by make.py."""
import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu import flash_attention as flash
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention_kernel as paged
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as ragged
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

random = np.random.RandomState(1)
KERNELS = {}
gmm = importlib.import_module("jax.experimental.pallas.ops.tpu.megablox.gmm")


def eighths(*shape, dtype="float32"):
    """Multiples of 1/8, which take little room in a file."""
    return jnp.asarray(random.randint(-12, 13, shape) / 8, dtype)


def numbers(*values):
    return jnp.asarray(values, "int32")


def program(*inputs):
    """The function that follows."""

    def add(function):
        KERNELS[function.__name__] = function, inputs
        return function

    return add


FLASH = flash.BlockSizes(block_q=128, block_k_major=128, block_k=128, block_b=1, block_q_major_dkv=128, block_k_major_dkv=128, block_k_dkv=128,
                         block_q_dkv=128, block_k_major_dq=128, block_k_dq=128, block_q_dq=128)
SPLASH = splash.BlockSizes(block_q=128, block_kv=128, block_kv_compute=128, block_q_dkv=128, block_kv_dkv=128, block_kv_dkv_compute=128,
                           block_q_dq=128, block_kv_dq=128)


def heads(q, k, v, size):
    return eighths(1, 1, q, size), eighths(1, 1, k, size), eighths(1, 1, v, size)


@program(eighths(1, 1, 128, 64, dtype="bfloat16"), eighths(1, 1, 256, 64, dtype="bfloat16"), eighths(1, 1, 256, 64, dtype="bfloat16"))
def flash_attention(q, k, v):
    return flash.flash_attention(q, k, v, sm_scale=0.1, block_sizes=FLASH)


@program(*heads(256, 256, 256, 32))
def flash_attention_causal_gradients(q, k, v):
    def loss(*qkv):
        return jnp.sum(flash.flash_attention(*qkv, causal=True, sm_scale=0.1, block_sizes=FLASH) ** 2)

    return jax.grad(loss, argnums=(0, 1, 2))(q, k, v)


@program(*heads(256, 256, 256, 32), eighths(1, 1, 256, 256), numbers(*([0] * 128 + [1] * 128))[None])
def flash_attention_biased_segments(q, k, v, bias, segments):
    return flash.flash_attention(q, k, v, bias, flash.SegmentIds(segments, segments), sm_scale=0.1, block_sizes=FLASH)


def splash_attention(mask, q, k, v, **options):
    masks_of_heads = masks.MultiHeadMask([mask] * q.shape[0])
    return splash.make_splash_mha(masks_of_heads, head_shards=1, q_seq_shards=1, block_sizes=SPLASH, **options)(q, k, v)


@program(eighths(1, 256, 64), eighths(1, 256, 64), eighths(1, 256, 64))
def splash_attention_local(q, k, v):
    return splash_attention(masks.LocalMask((256, 256), (64, 0), 0), q, k, v, attn_logits_soft_cap=10.0)


@program(eighths(1, 256, 64), eighths(1, 256, 64), eighths(1, 256, 64))
def splash_attention_causal_gradients(q, k, v):
    return jax.grad(lambda *qkv: jnp.sum(splash_attention(masks.CausalMask((256, 256)), *qkv) ** 2), argnums=(0, 1, 2))(q, k, v)


@program(eighths(256, 128), eighths(3, 128, 128), numbers(100, 0, 156))
def grouped_matmul(rows, matrices, sizes):
    return gmm.gmm(rows, matrices, sizes, preferred_element_type=jnp.float32)


@program(eighths(128, 256), eighths(256, 128), numbers(100, 0, 156))
def grouped_matmul_transposed(columns, rows, sizes):
    return gmm.tgmm(columns, rows, sizes, preferred_element_type=jnp.float32)


@program(eighths(2, 8, 128), eighths(2, 12, 8, 128), eighths(2, 12, 8, 128), numbers(20, 45), jnp.asarray(random.permutation(12).reshape(2, 6), "int32"))
def paged_attention(q, k_pages, v_pages, lengths, pages):
    return paged.paged_attention(q, k_pages, v_pages, lengths, pages, pages_per_compute_block=3)


RAGGED = numbers(30, 17, 40), jnp.asarray(random.permutation(12).reshape(3, 4), "int32"), numbers(0, 8, 20, 24), numbers(3)


def ragged_paged_attention(q, kv_pages, lengths, pages, starts, n):
    return ragged.ragged_paged_attention(q, kv_pages, lengths, pages, starts, n, sm_scale=0.1, num_kv_pages_per_block=2, num_queries_per_block=8)


for name, dtype in ("ragged_paged_attention", "float32"), ("ragged_paged_attention_bf16", "bfloat16"):
    KERNELS[name] = (ragged_paged_attention, (eighths(24, 8, 128, dtype=dtype), eighths(12, 16, 4, 128, dtype=dtype), *RAGGED),
                     functools.partial(ragged.ref_ragged_paged_attention, sm_scale=0.1))
