"""Train steps of decoder-only transformers as MaxText builds them, lowered for TPUs that are not there: weights and Adam's moments
sharded over `fsdp` and `tensor`, compute in bf16, a scan over layers under rematerialisation, JAX's splash attention on each chip's heads.
Needs jax."""
import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as splash_mask
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = ("data", "fsdp")
STREAM = P(BATCH, None, "tensor")  # what goes from layer to layer


@dataclasses.dataclass(frozen=True)
class Model:
    layers: int
    embed: int
    mlp: int
    heads: int
    kv_heads: int
    head: int
    vocab: int
    gated: bool = True  # silu(x w0) * (x w1), or gelu(x w0)

    def flops(self, batch, seq):
        """Of a train step by MaxText's count: 6 a weight of a product and token, and all of the scores."""
        weights = (self.mlp * (3 if self.gated else 2) + self.head * (2 * self.heads + 2 * self.kv_heads)) * self.embed
        scores = 12 * seq * self.heads * self.head
        return batch * seq * (self.layers * (6 * weights + scores) + 6 * self.embed * self.vocab)


@dataclasses.dataclass(frozen=True)
class Run:
    """Of a batch of `batch` sequences a chip, on a mesh of these axes."""
    batch: float
    seq: int
    data: int = 1
    fsdp: int = 1
    tensor: int = 1
    remat: str = "full"  # "full", "minimal": the results of products stay; or names to be offloaded, with commas
    weights: str = "float32"  # and Adam's moments
    block: int = 512  # of attention
    fused_backward: bool = True  # attention's gradients in one kernel, or one for queries and one for keys and values
    iota_embed: bool = True  # tokens choose rows of the table by a product

    def chips(self):
        return self.data * self.fsdp * self.tensor


def weights(model):
    """name: (shape of a layer, its spec)."""
    m, rows = model, {}
    rows["norm0"] = rows["norm1"] = ((m.embed,), P("tensor"))
    rows["query"] = (m.embed, m.heads, m.head), P("fsdp", "tensor", None)
    rows["key"] = rows["value"] = (m.embed, m.kv_heads, m.head), P("fsdp", "tensor", None)
    rows["out"] = (m.heads, m.head, m.embed), P("tensor", None, "fsdp")
    rows["wi0"] = (m.embed, m.mlp), P("fsdp", "tensor")
    if m.gated:
        rows["wi1"] = rows["wi0"]
    rows["wo"] = (m.mlp, m.embed), P("tensor", "fsdp")
    return rows


def parameters(model):
    """All of them: (shape, spec)."""
    rows = {name: ((model.layers, *shape), P(None, *spec)) for name, (shape, spec) in weights(model).items()}
    rows["table"] = (model.vocab, model.embed), P("tensor", "fsdp")
    rows["logits"] = (model.embed, model.vocab), P("fsdp", "tensor")
    rows["norm"] = (model.embed,), P("tensor")
    return rows


def norm(x, scale):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5)).astype(x.dtype) * scale.astype(x.dtype)


def rotate(x, at):
    """Rotary embedding."""
    half = x.shape[-1] // 2
    angle = at[:, :, None, None] * (1e4 ** (-jnp.arange(half) / half))
    left, right = jnp.split(x.astype(jnp.float32), 2, -1)
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    return jnp.concatenate([left * cos - right * sin, right * cos + left * sin], -1).astype(x.dtype)


def attention(mesh, run, q, k, v):
    """Causal; [batch, length, heads, head] of each chip's sequences and heads."""
    spec = P(BATCH, "tensor", None, None)
    b = min(run.block, run.seq)
    apart = {} if run.fused_backward else dict(block_q_dq=b, block_kv_dq=b)
    sizes = splash.BlockSizes(block_q=b, block_kv=b, block_kv_compute=b, block_q_dkv=b, block_kv_dkv=b, block_kv_dkv_compute=b,
                              use_fused_bwd_kernel=run.fused_backward, **apart)

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(spec, spec, spec), out_specs=spec, check_vma=False)
    def on_chip(q, k, v):
        mask = splash_mask.MultiHeadMask([splash_mask.CausalMask((run.seq, run.seq))] * q.shape[1])
        kernel = splash.make_splash_mha(mask=mask, head_shards=1, q_seq_shards=1, block_sizes=sizes)
        return jax.vmap(kernel)(q, k, v)

    heads_first = (x.transpose(0, 2, 1, 3) for x in (q * q.shape[-1] ** -0.5, k, v))
    return on_chip(*heads_first).transpose(0, 2, 1, 3)


def layer(model, run, mesh, at, x, w):
    put = lambda value, *spec: jax.lax.with_sharding_constraint(value, NamedSharding(mesh, P(*spec)))
    stream = lambda value: put(value, *STREAM)
    w = {name: value if name.startswith("norm") else value.astype(jnp.bfloat16) for name, value in w.items()}
    x = checkpoint_name(stream(x), "decoder_layer_input")
    h = stream(norm(x, w["norm0"]))
    q, k, v = (checkpoint_name(put(jnp.einsum("bse,ehd->bshd", h, w[name]), BATCH, None, "tensor", None), name + "_proj")
               for name in ("query", "key", "value"))
    context = checkpoint_name(attention(mesh, run, rotate(q, at), rotate(k, at), v), "context")
    x = x + checkpoint_name(stream(jnp.einsum("bshd,hde->bse", context, w["out"])), "out_proj")
    h = stream(norm(x, w["norm1"]))
    wide = checkpoint_name(put(jnp.einsum("bse,ef->bsf", h, w["wi0"]), BATCH, None, "tensor"), "mlpwi_0")
    if model.gated:
        wide = jax.nn.silu(wide) * checkpoint_name(put(jnp.einsum("bse,ef->bsf", h, w["wi1"]), BATCH, None, "tensor"), "mlpwi_1")
    else:
        wide = jax.nn.gelu(wide)
    down = checkpoint_name(stream(jnp.einsum("bsf,fe->bse", wide, w["wo"])), "mlpwo")
    return stream(x + down)


def policy(remat):
    if remat == "full":
        return jax.checkpoint_policies.nothing_saveable
    if remat == "minimal":
        return jax.checkpoint_policies.checkpoint_dots_with_no_batch_dims
    return jax.checkpoint_policies.save_and_offload_only_these_names(names_which_can_be_saved=[], names_which_can_be_offloaded=remat.split(","),
                                                                     offload_src="device", offload_dst="pinned_host")


def embed(run, table, tokens):
    table = table.astype(jnp.bfloat16)
    return jax.nn.one_hot(tokens, table.shape[0], dtype=jnp.bfloat16) @ table if run.iota_embed else table[tokens]


def loss(model, run, mesh, params, tokens):
    at = jnp.broadcast_to(jnp.arange(run.seq, dtype=jnp.float32), tokens.shape)
    put = lambda value, *spec: jax.lax.with_sharding_constraint(value, NamedSharding(mesh, P(*spec)))
    x = put(embed(run, params["table"], tokens), *STREAM)
    step = jax.checkpoint(lambda x, w: (layer(model, run, mesh, at, x, w), None), policy=policy(run.remat), prevent_cse=False)
    x, _ = jax.lax.scan(step, x, {name: params[name] for name in weights(model)})
    logits = jnp.einsum("bse,ev->bsv", norm(x, params["norm"]), params["logits"].astype(jnp.bfloat16))
    logits = put(logits, BATCH, None, "tensor").astype(jnp.float32)
    one_hot = jax.nn.one_hot(tokens, model.vocab)
    return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.sum(logits * one_hot, -1))


def train(model, run, mesh, params, mean, square, tokens):
    """A step of Adam, gradients clipped by their norm."""
    grads = jax.grad(functools.partial(loss, model, run, mesh))(params, tokens)
    scale = jnp.minimum(1.0, jax.lax.rsqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads))))
    grads = jax.tree.map(lambda g: g * scale, grads)
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
    square = jax.tree.map(lambda s, g: 0.95 * s + 0.05 * g * g, square, grads)
    params = jax.tree.map(lambda p, m, s: p - 3e-4 * (m / (jnp.sqrt(s) + 1e-8) + 0.1 * p), params, mean, square)
    return params, mean, square


def lower(model, run):
    """The text of a train step."""
    mesh = AbstractMesh((run.data, run.fsdp, run.tensor), ("data", "fsdp", "tensor"))
    put = lambda shape, dtype, spec: jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))
    params = {name: put(shape, jnp.dtype(run.weights), spec) for name, (shape, spec) in parameters(model).items()}
    shardings = {name: value.sharding for name, value in params.items()}
    tokens = put((int(run.batch * run.chips()), run.seq), jnp.int32, P(BATCH, None))
    step = jax.jit(functools.partial(train, model, run, mesh), donate_argnums=(0, 1, 2), out_shardings=(shardings,) * 3)
    return step.trace(params, params, params, tokens).lower(lowering_platforms=("tpu",)).as_text()
