"""The Pallas kernels of the cases in this folder: KERNELS[name] = (function of JAX, its inputs). Read by make.py."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.sharding import PartitionSpec as P

random = np.random.RandomState(0)
KERNELS = {}
ANY = pl.BlockSpec(memory_space=pl.ANY)
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)
VMEM = pl.BlockSpec(memory_space=pltpu.VMEM)
ROWS = pl.BlockSpec((8, 128), lambda i: (i, 0))


def f32(*shape):
    return jnp.asarray(random.randn(*shape), "float32")


def bf16(*shape):
    return jnp.asarray(random.randn(*shape), "bfloat16")


def i32(*shape, low=-100, high=100):
    return jnp.asarray(random.randint(low, high, shape), "int32")


def numbers(*values, dtype="int32"):
    return jnp.asarray(values, dtype)


def like(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def calling(kernel, **options):
    """Made when it is called, since it is then that JAX decides whether to interpret."""
    return lambda *inputs: pl.pallas_call(kernel, **options)(*inputs)


def case(*inputs, **options):
    """The kernel that follows, called by pallas_call with these options on these inputs."""

    def add(kernel):
        KERNELS[kernel.__name__] = (calling(kernel, **options), inputs)
        return kernel

    return add


def program(*inputs):
    """A function that calls kernels itself."""

    def add(function):
        KERNELS[function.__name__] = (function, inputs)
        return function

    return add


def each(functions, *inputs, dtype="float32"):
    """A kernel that applies each function to all inputs; results one below the other."""

    def kernel(*refs):
        *ins, out = refs
        for i, function in enumerate(functions):
            out[8 * i:8 * i + 8] = function(*(r[...] for r in ins)).astype(dtype)

    return calling(kernel, out_shape=like(8 * len(functions), 128, dtype=dtype)), inputs


# --- each element ---

KERNELS["math"] = each([jnp.exp, lambda x: jnp.log(jnp.abs(x) + 0.1), jnp.tanh, jax.nn.sigmoid, lambda x: lax.rsqrt(jnp.abs(x) + 0.1),
                        lambda x: jnp.sqrt(jnp.abs(x)), jnp.sin, jnp.cos, lax.erf, jnp.floor, jnp.ceil, jnp.round, jnp.abs, jnp.negative,
                        lambda x: jnp.log1p(jnp.abs(x)), jnp.exp2, jax.nn.gelu, jax.nn.softplus, lambda x: lax.integer_pow(x, 3)], f32(8, 128))
KERNELS["float_pairs"] = each([jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.minimum, lax.rem,
                               lambda x, y: jnp.power(jnp.abs(x) + 0.1, y), lambda x, y: jnp.where(x > y, x, -y), lambda x, y: x <= y,
                               lambda x, y: (x > 0) & (y > 0) | ~(x != y)], f32(8, 128), f32(8, 128))
KERNELS["integer_pairs"] = each([jnp.add, jnp.multiply, lax.div, lax.rem, lambda x, y: x << (y & 7), lambda x, y: x >> (y & 7),
                                 lambda x, y: lax.shift_right_logical(x, y & 7), jnp.bitwise_xor, jnp.bitwise_or, lambda x, y: ~x & y,
                                 jnp.maximum, lambda x, y: x.astype("uint32") // y.astype("uint32"), lambda x, y: lax.population_count(x),
                                 lambda x, y: lax.clz(x), lambda x, y: x.astype("int16") + y.astype("int16")],
                                i32(8, 128), i32(8, 128, low=1, high=30), dtype="int32")
KERNELS["conversions"] = each([lambda x: (x * 10).astype("int32"), lambda x: x.astype("bfloat16"), lambda x: (x * 10).astype("int8"),
                               lambda x: (x > 0).astype("int32"), lambda x: x.astype(jnp.float8_e5m2).astype("float32"),
                               lambda x: lax.bitcast_convert_type(x, jnp.int32) >> 8, lambda x: (x * 10).astype("int32").astype("uint32")], f32(8, 128))


@case(bf16(16, 128), bf16(16, 128), out_shape=like(16, 128, dtype="bfloat16"))
def bf16_rounds_each_op(x, y, out):
    out[...] = jnp.exp(x[...]) * y[...] + x[...]


@case(f32(16, 128) > 0, f32(16, 128), out_shape=like(16, 128, dtype="bool"))
def booleans(x, y, out):
    out[...] = x[...] & (y[...] > 0)


# --- vectors as a whole ---

KERNELS["moves"] = each([lambda x: pltpu.roll(x, 3, 1), lambda x: pltpu.roll(x, 5, 0), lambda x: pltpu.roll(x, 3, 1, stride=1, stride_axis=0),
                         lambda x: jnp.concatenate([x[:4], x[:4] * 2], 0), lambda x: jnp.concatenate(jnp.split(x, 2, 1)[::-1], 1),
                         lambda x: x + x[0:1, :], lambda x: x * x[:, 0:1], lambda x: x + x[0], lambda x: x.reshape(16, 64).reshape(8, 128),
                         lambda x: x.T[:8, :8].sum() + x, lambda x: jnp.where(lax.broadcasted_iota("int32", x.shape, 0) * 9 >=
                                                                           lax.broadcasted_iota("int32", x.shape, 1), x, 0.0),
                         lambda x: jnp.take_along_axis(x, lax.broadcasted_iota("int32", x.shape, 0) * 7 % 8, 0)], f32(8, 128))
KERNELS["reductions"] = each([lambda x: jnp.sum(x, 0, keepdims=True) + x, lambda x: jnp.sum(x, 1, keepdims=True) + x, lambda x: x - jnp.max(x, 0, keepdims=True),
                              lambda x: x - jnp.min(x, 1, keepdims=True), lambda x: jnp.argmax(x, 1, keepdims=True) + 0 * x,
                              lambda x: jnp.argmin(x, 1, keepdims=True) + 0 * x, lambda x: jnp.where(jnp.any(x > 3), x, 1.0),
                              lambda x: jnp.where(jnp.all(x > -9), x, 1.0)], f32(8, 128))


@case(bf16(16, 128), out_shape=like(8, 128, dtype="int32"))
def rows_packed_in_words(x, out):
    out[...] = pltpu.bitcast(x[...], jnp.int32)


@case(f32(4, 8, 128), out_shape=like(8, 4, 128))
def transposed_outer(x, out):
    out[...] = jnp.swapaxes(x[...], 0, 1)


@case(f32(16, 128), f32(1, 128), f32(1, 128), grid=(2,), in_specs=[ROWS] + 2 * [pl.BlockSpec((1, 128), lambda i: (0, 0))], out_specs=ROWS,
      out_shape=like(16, 128))
def layernorm(x, scale, bias, out):
    mean = jnp.mean(x[...], -1, keepdims=True)
    variance = jnp.mean((x[...] - mean) ** 2, -1, keepdims=True)
    out[...] = (x[...] - mean) * lax.rsqrt(variance + 1e-5) * scale[...] + bias[...]


@case(f32(16, 128), grid=(2,), in_specs=[ROWS], out_specs=ROWS, out_shape=like(16, 128))
def softmax(x, out):
    e = jnp.exp(x[...] - jnp.max(x[...], -1, keepdims=True))
    out[...] = e / jnp.sum(e, -1, keepdims=True)


# --- products ---

def matmul(x, y, out, sums):
    @pl.when(pl.program_id(2) == 0)
    def _():
        sums[...] = jnp.zeros_like(sums)

    sums[...] += jnp.dot(x[...], y[...], preferred_element_type=sums.dtype)

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        out[...] = sums[...].astype(out.dtype)


def add_matmul(name, x, y, out, sums):
    spec = pltpu.PrefetchScalarGridSpec(0, grid=(2, 1, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
                                        out_specs=pl.BlockSpec((8, 128), lambda i, j, k: (i, j)), scratch_shapes=[pltpu.VMEM((8, 128), sums)])
    semantics = pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary"))
    KERNELS[name] = calling(matmul, out_shape=like(16, 128, dtype=out), grid_spec=spec, compiler_params=semantics), (x, y)


add_matmul("matmul_f32", f32(16, 256), f32(256, 128), "float32", "float32")
add_matmul("matmul_bf16", bf16(16, 256), bf16(256, 128), "bfloat16", "float32")
add_matmul("matmul_int8", i32(16, 256).astype("int8"), i32(256, 128).astype("int8"), "int32", "int32")


@case(f32(8, 128), f32(16, 128), f32(2, 8, 128), f32(2, 128, 16), out_shape=[like(8, 16), like(128, 128), like(2, 8, 16)])
def products_of_all_kinds(x, y, a, b, nt, tn, batch):
    nt[...] = lax.dot_general(x[...], y[...], (((1,), (1,)), ((), ())))
    tn[...] = lax.dot_general(x[...], y[:8, :], (((0,), (0,)), ((), ())), precision=lax.Precision.HIGHEST)
    batch[...] = lax.dot_general(a[...], b[...], (((2,), (1,)), ((0,), (0,))))


# --- grids ---

@case(f32(20, 200), grid=(3, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))], out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)), out_shape=like(20, 200))
def last_block_is_cut(x, out):
    out[...] = jnp.exp(x[...])


@case(numbers(3, 0, 5, 1), f32(6, 8, 128), out_shape=like(4, 8, 128),
      grid_spec=pltpu.PrefetchScalarGridSpec(1, grid=(4,), in_specs=[pl.BlockSpec((None, 8, 128), lambda i, at: (at[i], 0, 0))],
                                             out_specs=pl.BlockSpec((None, 8, 128), lambda i, at: (i, 0, 0))))
def scalar_prefetch(at, x, out):
    out[...] = x[...] * at[pl.program_id(0)].astype("float32")


@case(f32(32, 128), grid=(4,), in_specs=[ROWS], out_specs=ROWS, out_shape=like(32, 128), scratch_shapes=[pltpu.VMEM((8, 128), "float32")])
def prefix_sum(x, out, sums):
    @pl.when(pl.program_id(0) == 0)
    def _():
        sums[...] = jnp.zeros_like(sums)

    sums[...] += x[...]
    out[...] = sums[...]


@case(f32(24, 128), grid=(2,), in_specs=[pl.BlockSpec((pl.Element(16), pl.Element(128)), lambda i: (i * 8, 0))], out_specs=ROWS, out_shape=like(16, 128))
def windows_that_overlap(x, out):
    out[...] = x[0:8] + x[8:16]


@program(numbers(2)[0], f32(16, 128))
def grid_of_run_time_size(n, x):
    def kernel(x, out):
        out[...] = x[...] + 1

    return pl.pallas_call(kernel, grid=(n,), in_specs=[ROWS], out_specs=ROWS, out_shape=like(16, 128))(x)


@program(f32(3, 16, 128))
def batched(x):
    def kernel(x, out):
        out[...] = x[...] * 2

    return jax.vmap(pl.pallas_call(kernel, grid=(2,), in_specs=[ROWS], out_specs=ROWS, out_shape=like(16, 128)))(x)


@case(f32(8, 128), f32(8, 128), out_shape=like(8, 128), input_output_aliases={0: 0})
def result_in_an_operand(x, y, out):
    out[...] = x[...] + y[...]


@case(f32(8, 128), out_shape=[like(8, 128), like(8, 128, dtype="bfloat16")])
def two_results(x, out, narrow):
    out[...] = x[...] + 1
    narrow[...] = x[...].astype("bfloat16")


# --- control flow and memory ---

@case(numbers(5), f32(64, 128), in_specs=[SMEM, VMEM], out_shape=like(8, 128))
def loop_of_run_time_length(n, x, out):
    out[...] = lax.fori_loop(0, n[0], lambda i, sums: sums + x[pl.ds(pl.multiple_of(i * 8, 8), 8), :], jnp.zeros((8, 128), "float32"))


@case(numbers(15), f32(8, 128), in_specs=[SMEM, VMEM], out_shape=like(8, 128))
def while_loop(n, x, out):
    def body(state):
        out[...] = out[...] * 2 + 1
        return state[0] + state[1], state[1] + 1

    out[...] = x[...]
    lax.while_loop(lambda state: state[0] < n[0], body, (jnp.int32(0), jnp.int32(1)))


@case(numbers(5, 2), f32(8, 128), in_specs=[SMEM, VMEM], out_shape=like(8, 128))
def branches(n, x, out):
    out[...] = lax.cond(n[0] > 3, lambda v: v * 2, lambda v: v - 1, x[...])
    out[0:1, :] = lax.switch(n[1], [lambda: x[0:1, :], lambda: x[1:2, :], lambda: x[2:3, :] * 3])


@case(numbers(5), f32(8, 128), in_specs=[SMEM, VMEM], out_shape=like(8, 128))
def branches_that_use_nothing_around_them(n, x, out):
    before, more = x[...], x[...] * 2
    scale = lax.cond(n[0] > 3, lambda: jnp.full((8, 128), 2.0) + 5.0, lambda: jnp.full((8, 128), 3.0) - 7.0)
    out[...] = before * scale + more


@case(numbers(3, 4, dtype="float32"), f32(8, 128), in_specs=[SMEM, VMEM], out_shape=like(8, 128))
def scalars(a, x, out):
    out[...] = x[...] * a[0] + jnp.sqrt(a[1])


@case(f32(16, 128), out_shape=[like(8, 128), like(16, 128)])
def every_other_row(x, even, spread):
    even[...] = x[pl.ds(0, 8, 2), :]
    spread[...] = jnp.zeros_like(spread)
    spread[pl.ds(0, 8, 2), :] = x[:8, :]


@case(numbers(5, 2), f32(8, 128), in_specs=[SMEM, VMEM], out_shape=like(16, 128))
def rows_of_run_time_places(at, x, out):
    out[...] = jnp.zeros_like(out)
    out[pl.ds(at[0], 1), :] = x[pl.ds(at[1], 1), :]


@case(f32(8, 128), out_shape=like(8, 128))
def masked_store(x, out):
    out[...] = jnp.zeros_like(out)
    pltpu.store(out.at[...], x[...], mask=x[...] > 0)


# --- DMAs within the chip ---

@case(f32(16, 128), in_specs=[ANY], out_specs=ANY, out_shape=like(16, 128), scratch_shapes=[pltpu.SemaphoreType.DMA])
def copy_in_hbm(x, out, semaphore):
    copy = pltpu.make_async_copy(x, out, semaphore)
    copy.start()
    copy.wait()


@case(f32(32, 128), in_specs=[ANY], out_shape=like(8, 128), scratch_shapes=[pltpu.VMEM((2, 8, 128), "float32"), pltpu.SemaphoreType.DMA((2,))])
def double_buffered(x, out, buffers, semaphores):
    def copy(i, slot):
        return pltpu.make_async_copy(x.at[pl.ds(i * 8, 8)], buffers.at[slot], semaphores.at[slot])

    def body(i, _):
        slot = lax.rem(i, 2)

        @pl.when(i + 1 < 4)
        def _():
            copy(i + 1, 1 - slot).start()

        copy(i, slot).wait()
        out[...] += buffers[slot]
        return 0

    copy(0, 0).start()
    out[...] = jnp.zeros_like(out)
    lax.fori_loop(0, 4, body, 0)


@case(f32(16, 128), in_specs=[ANY], out_shape=like(16, 128))
def scratch_of_a_scope(x, out):
    def body(buffer, semaphore):
        pltpu.async_copy(x, buffer, semaphore).wait()
        out[...] = buffer[...] + 1

    pl.run_scoped(body, pltpu.VMEM((16, 128), "float32"), pltpu.SemaphoreType.DMA)


@case(f32(32, 128), in_specs=[ANY], out_specs=ANY, out_shape=like(32, 128))
def pipeline(x, out):
    def body(x, out):
        out[...] = x[...] * 3 + 1

    pltpu.emit_pipeline(body, grid=(4,), in_specs=[ROWS], out_specs=[ROWS])(x, out)


@case(f32(16, 256), f32(256, 128), in_specs=[ANY, ANY], out_specs=ANY, out_shape=like(16, 128))
def pipelined_matmul(x, y, out):
    def body(x, y, out):
        @pl.when(pl.program_id(1) == 0)
        def _():
            out[...] = jnp.zeros_like(out)

        out[...] += jnp.dot(x[...], y[...], preferred_element_type="float32")

    pltpu.emit_pipeline(body, grid=(2, 2), in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k)), pl.BlockSpec((128, 128), lambda i, k: (k, 0))],
                        out_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, 0))])(x, y, out)


# --- DMAs between chips, on a mesh of 8 and one of 4 x 2 ---

RING = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
GRID = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
MESH, DMA, COUNT = pl.DeviceIdType.MESH, pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.REGULAR


def on_each(mesh, spec, *inputs, result=None, **options):
    """The kernel that follows on every device's shards."""

    def add(kernel):
        def run(*shards):
            out = pl.pallas_call(kernel, **options)(*shards)
            return out[0] if isinstance(out, (list, tuple)) else out

        KERNELS[kernel.__name__] = (jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=result or spec, check_vma=False), inputs)
        return kernel

    return add


def ring_place():
    me = lax.axis_index("x")
    return me, lax.rem(me + 7, 8), lax.rem(me + 1, 8)


@on_each(RING, P("x"), f32(64, 128), in_specs=[ANY], out_specs=ANY, out_shape=like(8, 128), scratch_shapes=[DMA, DMA])
def right_permute(x, out, sent, received):
    me, left, right = ring_place()
    copy = pltpu.make_async_remote_copy(x, out, sent, received, device_id=(right,), device_id_type=MESH)
    copy.start()
    copy.wait()


@on_each(RING, P("x"), f32(64, 128), in_specs=[ANY], out_specs=ANY, out_shape=like(8, 128), scratch_shapes=[DMA, DMA])
def permute_by_logical_id(x, out, sent, received):
    copy = pltpu.make_async_remote_copy(x, out, sent, received, device_id=lax.rem(lax.axis_index("x") + 3, 8), device_id_type=pl.DeviceIdType.LOGICAL)
    copy.start()
    copy.wait()


@on_each(GRID, P(("x", "y")), f32(64, 128), in_specs=[ANY], out_specs=ANY, out_shape=like(8, 128), scratch_shapes=[DMA, DMA])
def permute_on_an_axis(x, out, sent, received):
    copy = pltpu.make_async_remote_copy(x, out, sent, received, device_id=(lax.axis_index("x"), 1 - lax.axis_index("y")), device_id_type=MESH)
    copy.start()
    copy.wait()


@on_each(RING, P("x"), f32(64, 128), out_shape=like(8, 8, 128),
         grid_spec=pltpu.PrefetchScalarGridSpec(0, grid=(7,), in_specs=[ANY], out_specs=ANY, scratch_shapes=[DMA, DMA, DMA((7,))]))
def all_gather(x, out, copied, sent, received):
    step, (me, left, right) = pl.program_id(0), ring_place()
    slot = lax.rem(me - step + 8, 8)

    @pl.when(step == 0)
    def _():
        copy = pltpu.make_async_copy(x, out.at[me], copied)
        copy.start()
        copy.wait()

    copy = pltpu.make_async_remote_copy(out.at[slot], out.at[slot], sent, received.at[step], device_id=(right,), device_id_type=MESH)
    copy.start()
    copy.wait()


@on_each(RING, P(None, "x"), f32(8, 1024), out_shape=[like(8, 128), like(2, 8, 128)], compiler_params=pltpu.CompilerParams(collective_id=0),
         grid_spec=pltpu.PrefetchScalarGridSpec(0, grid=(8,), in_specs=[VMEM], out_specs=[VMEM, ANY], scratch_shapes=[DMA, DMA, DMA, COUNT, pltpu.VMEM((8, 128), "float32")]))
def all_reduce(x, out, slots, copied, received, sent, credits, buffer):
    step, (me, left, right) = pl.program_id(0), ring_place()
    slot = lax.rem(step, 2)

    @pl.when(step == 0)
    def _():
        barrier = pltpu.get_barrier_semaphore()
        pl.semaphore_signal(barrier, 1, device_id=(left,), device_id_type=MESH)
        pl.semaphore_signal(barrier, 1, device_id=(right,), device_id_type=MESH)
        pl.semaphore_wait(barrier, 2)
        out[...] = jnp.zeros_like(out)
        first = pltpu.make_async_remote_copy(x, slots.at[slot], sent, received, device_id=(right,), device_id_type=MESH)
        first.start()
        first.wait()

    pl.semaphore_signal(credits, 1, device_id=(left,), device_id_type=MESH)
    here = pltpu.make_async_copy(slots.at[slot], buffer, copied)
    here.start()
    pl.semaphore_wait(credits, 1)
    onward = pltpu.make_async_remote_copy(slots.at[slot], slots.at[1 - slot], sent, received, device_id=(right,), device_id_type=MESH)
    onward.start()
    here.wait()
    out[...] += buffer[...]
    onward.wait()


@on_each(RING, P(None, "x"), f32(64, 1024), result=P("x"), out_shape=[like(8, 128), like(2, 8, 128)], compiler_params=pltpu.CompilerParams(collective_id=1),
         grid_spec=pltpu.PrefetchScalarGridSpec(0, grid=(7,), in_specs=[VMEM], out_specs=[VMEM, VMEM], scratch_shapes=[DMA, DMA((2,)), COUNT]))
def reduce_scatter(x, out, slots, sent, received, credits):
    step, (me, left, right) = pl.program_id(0), ring_place()
    slot = lax.rem(step, 2)

    def block(n):
        return x[pl.ds(pl.multiple_of(lax.rem(me + 16 - n, 8) * 8, 8), 8), :]

    @pl.when(step == 0)
    def _():
        barrier = pltpu.get_barrier_semaphore()
        pl.semaphore_signal(barrier, 1, device_id=(left,), device_id_type=MESH)
        pl.semaphore_signal(barrier, 1, device_id=(right,), device_id_type=MESH)
        pl.semaphore_wait(barrier, 2)
        out[...] = block(1)

    @pl.when(step >= 2)
    def _():
        pl.semaphore_wait(credits, 1)

    copy = pltpu.make_async_remote_copy(out, slots.at[slot], sent, received.at[slot], device_id=(right,), device_id_type=MESH)
    copy.start()
    copy.wait()
    out[...] = slots[slot] + block(step + 2)

    @pl.when(step < 5)
    def _():
        pl.semaphore_signal(credits, 1, device_id=(left,), device_id_type=MESH)
