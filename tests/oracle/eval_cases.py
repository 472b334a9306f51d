#!/usr/bin/env python3
"""Writes tests/cases/eval/*.hlo: programs that hold their inputs and the values that XLA computes from them on a CPU.
Needs jax. A case is HLO text with parameters; XLA runs it so (constants would be folded by other code than JAX runs), then
each parameter becomes a constant and each result is paired with the value wanted. usage: eval_cases.py [NAME...]"""
import pathlib
import re
import sys

import jax
import ml_dtypes
import numpy as np
from jax._src.lib import _jax, lapack as jax_lapack
from jax._src.lib import xla_client as xc

OUT = pathlib.Path(__file__).resolve().parents[1] / "cases/eval"
DTYPES = {"pred": bool, "s4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "s8": np.int8, "s16": np.int16, "s32": np.int32,
          "s64": np.int64, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
          "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
          "f8e8m0fnu": ml_dtypes.float8_e8m0fnu, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "f16": np.float16,
          "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "c64": np.complex64, "c128": np.complex128}
TEXTS = {np.dtype(v): k for k, v in DTYPES.items()}
CASES = {}


def shape_text(a):
    return f"{TEXTS[a.dtype]}[{','.join(map(str, a.shape))}]"


def real_text(x):
    x = float(x)
    return "nan" if x != x else "inf" if x == np.inf else "-inf" if x == -np.inf else repr(x)


def float_text(x):
    """The shortest decimal that reads back as the same value of its type."""
    if x.dtype == np.float64 or not np.isfinite(float(x)):
        return real_text(x)
    return f"{float(x):.9g}" if x.dtype == np.float32 else real_text(x)


def literal(a):
    if a.ndim:
        return "{" + ", ".join(map(literal, a)) + "}"
    if a.dtype.kind == "c":
        return f"({float_text(a.real)}, {float_text(a.imag)})"
    if a.dtype == bool:
        return "true" if a else "false"
    return str(int(a)) if a.dtype.kind in "iu" or TEXTS[a.dtype] in ("s4", "u4") else float_text(a)


def literal_of(a):
    text = literal(np.asarray(a))
    return text if a.ndim == 0 or a.dtype != bool else text.replace("true", "1").replace("false", "0")


def run(text, inputs):
    module = xc.hlo.hlo_module_from_text(text)
    computation = xc.hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    mlir = _jax.mlir.xla_computation_to_mlir_module(computation)
    client = jax.devices("cpu")[0].client
    devices = _jax.DeviceList(tuple(jax.devices("cpu")[:1]))
    executable = client.compile_and_load(mlir, devices, xc.CompileOptions())
    results = executable.execute_sharded([jax.device_put(x) for x in inputs]).disassemble_into_single_device_arrays()
    return [np.asarray(r[0]) for r in results]


def case(name, inputs, body, results, computations="", tolerance=0, wanted=None):
    """Registers a case. `body` lines use p0, p1, …; `results` are names of instructions. What XLA cannot run on a CPU brings
    the values `wanted`."""
    CASES.setdefault(name, []).append((inputs, body, results, computations, tolerance, wanted))


def shapes_in(body):
    return dict(re.findall(r"^\s*([\w.]+) = (\S+?)(?:\{[\d,]*\})? ", body, re.M))


def rename(text, names, suffix):
    return re.sub(r"(?<![\w.])(" + "|".join(map(re.escape, names)) + r")\b(?![=(])", lambda m: m[1] + suffix, text)


def program(inputs, body, results, computations):
    shapes = shapes_in(body)
    params = "\n".join(f"  p{i} = {shape_text(x)} parameter({i})" for i, x in enumerate(inputs))
    root = f"  ROOT out = ({', '.join(shapes[r] for r in results)}) tuple({', '.join(results)})"
    return f"HloModule case\n\n{computations}\nENTRY main {{\n{params}\n{body}\n{root}\n}}\n"


def write(name, parts):
    entry, computations, pairs, types, tolerance = [], [], [], [], 0
    for number, (inputs, body, results, comps, part_tolerance, known) in enumerate(parts):
        try:
            wanted = known or run(program(inputs, body, results, comps), inputs)
        except Exception as error:  # a type that XLA lacks on a CPU is left out
            print(f"{name} part {number} left out: {str(error).splitlines()[0][:150]}")
            continue
        tolerance = max(tolerance, part_tolerance)
        suffix = f".{number}"
        shapes = shapes_in(body)
        names = [f"p{i}" for i in range(len(inputs))] + list(shapes) + re.findall(r"^%?([\w.]+) \{", comps, re.M)
        entry += [f"  p{i}{suffix} = {shape_text(x)} constant({literal_of(x)})" for i, x in enumerate(inputs)]
        entry += [rename(body, names, suffix)]
        computations += [rename(comps, names, suffix)]
        for r, want in zip(results, wanted):
            entry.append(f"  want.{r}{suffix} = {shapes[r]} constant({literal_of(want)})")
            pairs += [f"{r}{suffix}", f"want.{r}{suffix}"]
            types += [shapes[r]] * 2
    head = f"// tolerance: {tolerance:g}\n" if tolerance else ""
    root = f"  ROOT out = ({', '.join(types)}) tuple({', '.join(pairs)})"
    text = f"{head}HloModule {name}\n\n" + "\n".join(c for c in computations if c) + "\nENTRY main {\n" + "\n".join(entry)
    (OUT / f"{name}.hlo").write_text(f"{text}\n{root}\n}}\n")


RNG = np.random.default_rng(1)


def floats(dtype, n=24, scale=3.0):
    edges = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 0.5])
    return np.concatenate([edges, RNG.normal(size=n) * scale]).astype(DTYPES[dtype])


def integers(dtype, n=24):
    bits = int(re.sub(r"\D", "", dtype))
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype[0] == "s" else (0, (1 << bits) - 1)
    edges = [0, 1, low, high, high - 1, low + 1]
    values = [int(x) for x in RNG.integers(max(low, -2**62), min(high, 2**62), size=n)]
    small = [int(x) for x in RNG.integers(max(low, -7), min(high, 7), size=8)]
    return np.array([x if dtype != "u64" else np.uint64(x) for x in edges + values + small]).astype(DTYPES[dtype])


def values(dtype):
    if dtype == "pred":
        return np.array([0, 1, 1, 0, 1, 0, 0, 1], bool)
    if dtype[0] == "c":
        real = {"c64": "f32", "c128": "f64"}[dtype]
        return (floats(real)[7:] + 1j * floats(real)[7:][::-1]).astype(DTYPES[dtype])
    return floats(dtype) if dtype[0] in "fb" else integers(dtype)


FLOATS, COMPLEX = ("f32", "f64", "f16", "bf16"), ("c64", "c128")
INTS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")
SMALL = ("f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2fnuz")
EPS = {"f32": 1e-6, "f64": 1e-13, "f16": 1e-3, "bf16": 8e-3, "c64": 2e-6, "c128": 1e-13}
UNARY = {
    "exact": "abs ceil floor negate round-nearest-afz round-nearest-even sign".split(),
    "near": ("acos acosh asin asinh atanh cbrt cosine cosh erf exponential exponential-minus-one log log-plus-one logistic rsqrt "
             "sine sinh sqrt tan tanh").split(),
    "complex": ("negate cosine exponential exponential-minus-one log log-plus-one logistic rsqrt sign sine sqrt tan tanh").split(),
    "integer": "abs negate not popcnt count-leading-zeros sign".split(),
}
BINARY = {
    "float": "add subtract multiply divide maximum minimum remainder power atan2".split(),
    "complex": "add subtract multiply divide power".split(),
    "integer": ("add subtract multiply divide maximum minimum remainder power and or xor shift-left shift-right-arithmetic "
                "shift-right-logical").split(),
    "pred": "add multiply maximum minimum and or xor".split(),
}


def unary_cases():
    for dtype in FLOATS + COMPLEX + INTS + ("s4", "u4", "pred"):
        kind = "complex" if dtype in COMPLEX else "float" if dtype in FLOATS else "pred" if dtype == "pred" else "integer"
        ops = {"float": UNARY["exact"] + UNARY["near"], "pred": ["not"]}.get(kind) or UNARY[kind]
        for op in ops:
            x = values(dtype)
            if dtype[0] == "u" and op in ("abs", "negate", "sign") and op != "negate":
                continue
            if op in ("acosh",):
                x = np.abs(x) + np.asarray(1, x.dtype)
            if op in ("acos", "asin", "atanh"):
                x = (x / np.asarray(9, x.dtype)).astype(x.dtype)
            near = kind == "complex" or op in UNARY["near"]
            shape = shape_text(x)
            case(f"{op}{'_near' if near and op in UNARY['exact'] else ''}_{dtype}" if near else f"unary_{dtype}", [x],
                 f"  {op.replace('-', '_')} = {shape} {op}(p0)", [op.replace("-", "_")], tolerance=EPS.get(dtype, 0) if near else 0)
        if kind == "complex":
            real = {"c64": "f32", "c128": "f64"}[dtype] + shape_text(values(dtype))[len(dtype):]
            for op in ("abs", "real", "imag"):
                case(f"unary_{dtype}", [values(dtype)], f"  {op}.r = {real} {op}(p0)", [f"{op}.r"], tolerance=EPS[dtype])
    for dtype in FLOATS + SMALL:
        x = values(dtype)
        case("is_finite", [x], f"  finite = pred[{x.size}] is-finite(p0)", ["finite"])


def pairs(dtype):
    x = values(dtype)
    y = np.roll(x, 5)
    if dtype in FLOATS:
        edge = np.array([0.0, -0.0, np.nan, np.inf, 1, -2, 2, 3]).astype(x.dtype)
        a, b = np.meshgrid(edge, edge)
        x, y = np.concatenate([x, a.ravel()]), np.concatenate([y, b.ravel()])
    return x, y


def binary_cases():
    for dtype in FLOATS + COMPLEX + INTS + ("s4", "u4", "pred"):
        kind = "complex" if dtype in COMPLEX else "float" if dtype in FLOATS else "pred" if dtype == "pred" else "integer"
        for op in BINARY[kind]:
            x, y = pairs(dtype)
            if op == "power" and kind == "integer":
                y = (y % np.asarray(7, y.dtype)).astype(y.dtype) if dtype[0] == "u" else np.roll(np.arange(x.size) % 9 - 3, 2).astype(y.dtype)
            near = op in ("power", "atan2", "remainder") and kind == "float" or kind == "complex"
            name = op.replace("-", "_")
            case(f"{name}_{dtype}" if near else f"binary_{dtype}", [x, y], f"  {name} = {shape_text(x)} {op}(p0, p1)", [name],
                 tolerance=EPS.get(dtype, 0) if near else 0)


def compare_cases():
    for dtype in FLOATS + SMALL + COMPLEX + INTS + ("s4", "u4", "pred"):
        x, y = pairs(dtype)
        y[::3] = x[::3]
        directions = ("EQ", "NE") if dtype in COMPLEX else ("EQ", "NE", "LT", "LE", "GT", "GE")
        for kind in ("",) + ((", type=TOTALORDER",) if dtype in FLOATS else ()):
            body = "\n".join(f"  {d.lower()} = pred[{x.size}] compare(p0, p1), direction={d}{kind}" for d in directions)
            case(f"compare_{dtype}", [x, y], body, [d.lower() for d in directions])


def convert_cases():
    every = ("pred", "s4", "u4") + INTS + SMALL + FLOATS + COMPLEX
    for source in every:
        x = values(source)
        if source in FLOATS:
            extra = [300.5, -300.5, 7.9, -8.9, 15.5, 1e5, 2e9, -3e9, 1e19, 2e19, 1e-7, 65519.9, 464.0, 1.00390625, 57345, 61440]
            x = np.concatenate([x, np.array(extra).astype(x.dtype)])
        if source in ("s16", "s32", "s64", "u16", "u32", "u64"):
            x = np.concatenate([x, np.array([257, 259, 2049, 2051, 16777217 % 65521]).astype(x.dtype)])
        for target in every:
            if source == target or (source in COMPLEX and target not in COMPLEX + ("f32", "f64", "pred")):
                continue
            case(f"convert_{source}", [x], f"  to_{target} = {target}[{x.size}] convert(p0)", [f"to_{target}"])


def clamp_select_cases():
    for dtype in FLOATS + INTS:
        x, y = pairs(dtype)
        low, high = (x.dtype.type(v) for v in (1, 5))
        case("clamp", [np.asarray(low), x, np.asarray(high)], f"  c = {shape_text(x)} clamp(p0, p1, p2)", ["c"])
        case("clamp", [x, y, np.roll(x, 3)], f"  c = {shape_text(x)} clamp(p0, p1, p2)", ["c"])
    for dtype in ("pred", "s8", "bf16", "f32", "f64", "c128"):
        x, y = pairs(dtype)
        p = RNG.integers(0, 2, x.size).astype(bool)
        case("select", [p, x, y], f"  s = {shape_text(x)} select(p0, p1, p2)", ["s"])


def array(dtype, *shape):
    n = int(np.prod(shape))
    if dtype[0] in "fb":
        return (RNG.normal(size=shape)).astype(DTYPES[dtype])
    if dtype[0] == "c":
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(DTYPES[dtype])
    return np.asarray(RNG.integers(0, 2 if dtype == "pred" else 100, n).reshape(shape)).astype(DTYPES[dtype])


def move_cases():
    x = array("s32", 4, 6)
    case("slice", [x], "  s = s32[2,2] slice(p0), slice={[1:4:2], [2:6:3]}", ["s"])
    case("pad", [x, np.int32(7) * np.ones((), np.int32)], "  a = s32[6,14] pad(p0, p1), padding=1_1x2_1_1\n"
         "  b = s32[1,8] pad(p0, p1), padding=-1_-2x3_-1\n  c = s32[9,6] pad(p0, p1), padding=-1_0_2x0_0", ["a", "b", "c"])
    case("concatenate", [x, array("s32", 4, 2), array("s32", 4, 0)], "  c = s32[4,14] concatenate(p0, p1, p2, p0), dimensions={1}", ["c"])
    case("reverse", [x], "  r = s32[4,6] reverse(p0), dimensions={0,1}", ["r"])
    y = array("f32", 2, 3, 4, 5)
    case("transpose", [y], "  t = f32[5,2,4,3] transpose(p0), dimensions={3,0,2,1}\n  u = f32[3,2,4,5] transpose(p0), dimensions={1,0,2,3}", ["t", "u"])
    case("broadcast", [array("f32", 3, 2)], "  b = f32[4,3,5,2] broadcast(p0), dimensions={1,3}\n  t = f32[2,3] broadcast(p0), dimensions={1,0}", ["b"])
    case("iota", [], "  a = s8[3,200] iota(), iota_dimension=1\n  b = bf16[300] iota(), iota_dimension=0\n  c = c64[2,3] iota(), iota_dimension=0", ["a", "b", "c"])
    for at in ((0, 0), (2, 3), (-4, 100)):
        starts = [np.asarray(v, np.int32) for v in at]
        case("dynamic_slice", [x, *starts], "  d = s32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}", ["d"])
        case("dynamic_update_slice", [x, array("s32", 2, 3), *starts], "  d = s32[4,6] dynamic-update-slice(p0, p1, p2, p3)", ["d"])
    case("dynamic_slice", [x, np.asarray(2**32 - 1, np.uint32), np.asarray(1, np.uint32)],
         "  d = s32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}", ["d"])
    for source, target, dims, out in (("f32", "u32", (4,), "4"), ("u32", "u8", (3,), "3,4"), ("u8", "f32", (2, 4), "2"),
                                      ("s16", "bf16", (5,), "5"), ("f64", "u16", (2,), "2,4")):
        case("bitcast_convert", [array(source, *dims)], f"  b = {target}[{out}] bitcast-convert(p0)", ["b"])


ADD = "add {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT c = {0}[] {1}(a, b)\n}}"


def reduce_cases():
    for dtype, tolerance in (("f32", 1e-6), ("f64", 1e-14), ("bf16", 8e-3), ("f16", 1e-3), ("c64", 2e-6), ("s32", 0), ("u8", 0), ("s64", 0)):
        for op in ("add", "multiply") + (() if dtype == "c64" else ("maximum", "minimum")):
            x, init = array(dtype, 3, 4, 5), np.asarray(array(dtype, 1)[0])
            body = (f"  r0 = {dtype}[4,5] reduce(p0, p1), dimensions={{0}}, to_apply=add\n"
                    f"  r1 = {dtype}[3,5] reduce(p0, p1), dimensions={{1}}, to_apply=add\n"
                    f"  r2 = {dtype}[3] reduce(p0, p1), dimensions={{2,1}}, to_apply=add\n"
                    f"  r3 = {dtype}[] reduce(p0, p1), dimensions={{0,1,2}}, to_apply=add")
            case(f"reduce_{dtype}", [x, init], body, ["r0", "r1", "r2", "r3"], ADD.format(dtype, op), tolerance)
    for op in ("and", "or", "xor"):
        x, init = array("pred", 3, 7), np.asarray(op == "and")
        case("reduce_pred", [x, init], "  r = pred[3] reduce(p0, p1), dimensions={1}, to_apply=add", ["r"], ADD.format("pred", op))
    argmax = """argmax {
  av = f32[] parameter(0)
  ai = s32[] parameter(1)
  bv = f32[] parameter(2)
  bi = s32[] parameter(3)
  gt = pred[] compare(av, bv), direction=GT
  nan = pred[] compare(av, av), direction=NE
  left = pred[] or(gt, nan)
  eq = pred[] compare(av, bv), direction=EQ
  lt = pred[] compare(ai, bi), direction=LT
  tie = pred[] and(eq, lt)
  pick = pred[] or(left, tie)
  v = f32[] select(left, av, bv)
  i = s32[] select(pick, ai, bi)
  ROOT t = (f32[], s32[]) tuple(v, i)
}"""
    x = np.round(array("f32", 5, 9) * 2)
    x[1, 4] = np.nan
    index = np.broadcast_to(np.arange(9, dtype=np.int32), (5, 9)).copy()
    case("reduce_argmax", [x, index, np.asarray(-np.inf, np.float32), np.asarray(0, np.int32)],
         "  r = (f32[5], s32[5]) reduce(p0, p1, p2, p3), dimensions={1}, to_apply=argmax\n"
         "  v = f32[5] get-tuple-element(r), index=0\n  i = s32[5] get-tuple-element(r), index=1", ["v", "i"], argmax)


def dot_cases():
    for lhs, rhs, out, tolerance in (("f32", "f32", "f32", 2e-6), ("f64", "f64", "f64", 1e-13), ("bf16", "bf16", "bf16", 8e-3),
                                     ("bf16", "bf16", "f32", 1e-5), ("f16", "f16", "f16", 1e-3), ("s8", "s8", "s32", 0),
                                     ("s32", "s32", "s32", 0), ("u8", "u8", "u8", 0), ("c64", "c64", "c64", 5e-6),
                                     ("f8e4m3fn", "f8e4m3fn", "f32", 1e-5), ("f8e5m2", "f8e5m2", "bf16", 8e-3)):
        x, y = array(lhs, 3, 2, 5), array(rhs, 5, 4, 3)
        case(f"dot_{lhs}_{out}", [x, y], f"  d = {out}[3,2,4] dot(p0, p1), lhs_batch_dims={{0}}, rhs_batch_dims={{2}}, "
             "lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"
             f"  e = {out}[2,4] dot(p0, p1), lhs_contracting_dims={{2,0}}, rhs_contracting_dims={{0,2}}", ["d", "e"], tolerance=tolerance)


def gather_cases():
    x = array("f32", 5, 6)
    for at in ([[0, 0], [4, 5], [-3, 2], [9, 1]], [[1, 3], [2, 2], [3, 4], [0, 9]]):
        case("gather", [x, np.array(at, np.int32)], "  g = f32[4,2,3] gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={}, "
             "start_index_map={0,1}, index_vector_dim=1, slice_sizes={2,3}", ["g"])
    case("gather", [x, np.array([[4, 1, 7], [0, -1, 2]], np.int64)], "  g = f32[2,6,3] gather(p0, p1), offset_dims={1}, "
         "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=2, slice_sizes={1,6}", ["g"])
    case("gather", [array("s8", 3, 4, 5), np.array([[[1], [2]], [[0], [3]], [[2], [9]]], np.uint8)], "  g = s8[3,2,5] gather(p0, p1), "
         "offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, "
         "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,5}", ["g"])
    case("gather", [x, np.array([[1, 0, 2], [5, 2, 0]], np.int32)], "  g = f32[3] gather(p0, p1), offset_dims={}, "
         "collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=0, slice_sizes={1,1}", ["g"])


REPLACE = "add {{\n  a = {0}[] parameter(0)\n  ROOT b = {0}[] parameter(1)\n}}"
SCALED = "add {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  m = {0}[] multiply(b, b)\n  ROOT c = {0}[] add(a, m)\n}}"


def scatter_cases():
    for dtype in ("f32", "s32", "bf16"):
        x, u = array(dtype, 6, 4), array(dtype, 5, 4)
        at = np.array([[1], [5], [1], [-1], [6]], np.int32)
        for comp in (ADD.format(dtype, "add"), ADD.format(dtype, "multiply"), REPLACE.format(dtype), SCALED.format(dtype)):
            case("scatter", [x, at, u], f"  s = {dtype}[6,4] scatter(p0, p1, p2), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add", ["s"], comp, EPS.get(dtype, 0))
    x, u = array("f32", 6, 5), array("f32", 3, 2, 2)
    at = np.array([[0, 1], [4, 4], [5, 0]], np.int32)
    case("scatter", [x, at, u], "  s = f32[6,5] scatter(p0, p1, p2), update_window_dims={1,2}, inserted_window_dims={}, "
         "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add", ["s"], ADD.format("f32", "add"))
    case("scatter", [array("f32", 3, 4), np.array([[1, 3], [2, 0], [9, 1]], np.int32), array("f32", 3, 2)],
         "  s = f32[3,4] scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
         "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add", ["s"], ADD.format("f32", "add"))
    two = ("add {\n  a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d = s32[] parameter(3)\n"
           "  e = f32[] maximum(a, c)\n  f = s32[] add(b, d)\n  ROOT t = (f32[], s32[]) tuple(e, f)\n}")
    case("scatter", [array("f32", 5), array("s32", 5), np.array([[1], [3], [1]], np.int32), array("f32", 3), array("s32", 3)],
         "  s = (f32[5], s32[5]) scatter(p0, p1, p2, p3, p4), update_window_dims={}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n  x = f32[5] get-tuple-element(s), index=0\n"
         "  y = s32[5] get-tuple-element(s), index=1", ["x", "y"], two)


def sort_cases():
    less = "less {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n{1}  ROOT c = pred[] compare(a, b), direction={2}\n}}"
    for dtype, direction in (("f32", "LT, type=TOTALORDER"), ("f32", "GT, type=TOTALORDER"), ("bf16", "LT, type=TOTALORDER"),
                             ("f64", "LT, type=TOTALORDER"), ("s32", "LT"), ("u8", "GT"), ("s64", "LT"), ("f16", "GT, type=TOTALORDER")):
        x = np.stack([pairs(dtype)[0], pairs(dtype)[1]])
        case("sort", [x], f"  s = {shape_text(x)} sort(p0), dimensions={{1}}, is_stable=true, to_apply=less\n"
             f"  t = {shape_text(x)} sort(p0), dimensions={{0}}, is_stable=true, to_apply=less", ["s", "t"], less.format(dtype, "", direction))
    x, y = np.round(array("f32", 3, 37) * 3), np.broadcast_to(np.arange(37, dtype=np.int32), (3, 37)).copy()
    by_key = "less {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] parameter(3)\n"
    by_two = by_key + ("  lt = pred[] compare(a, b), direction=LT\n  eq = pred[] compare(a, b), direction=EQ\n"
                       "  gt = pred[] compare(i, j), direction=GT\n  tie = pred[] and(eq, gt)\n  ROOT c = pred[] or(lt, tie)\n}")
    by_square = by_key + "  aa = f32[] multiply(a, a)\n  bb = f32[] multiply(b, b)\n  ROOT c = pred[] compare(aa, bb), direction=LT\n}"
    for comp in (by_key + "  ROOT c = pred[] compare(a, b), direction=LT\n}", by_two, by_square):
        case("sort_keys", [x, y], "  s = (f32[3,37], s32[3,37]) sort(p0, p1), dimensions={1}, is_stable=true, to_apply=less\n"
             "  v = f32[3,37] get-tuple-element(s), index=0\n  i = s32[3,37] get-tuple-element(s), index=1", ["v", "i"], comp)
    for dtype in ("f32", "bf16", "s32"):
        x = pairs(dtype)[0]
        x = np.stack([x, x[::-1]])
        case("topk", [x], f"  t = ({dtype}[2,5], s32[2,5]) topk(p0), k=5, largest=true\n"
             f"  v = {dtype}[2,5] get-tuple-element(t), index=0\n  i = s32[2,5] get-tuple-element(t), index=1", ["v", "i"])


def window_cases():
    for dtype, op, init, tolerance in (("f32", "add", 0, 1e-6), ("f32", "maximum", -np.inf, 0), ("s32", "add", 1, 0), ("bf16", "add", 0, 8e-3),
                                       ("f32", "multiply", 1, 1e-6)):
        x, z = array(dtype, 2, 7, 9), np.asarray(init).astype(DTYPES[dtype])
        body = (f"  a = {dtype}[2,4,3] reduce-window(p0, p1), window={{size=1x2x3 stride=1x2x3 pad=0_0x0_1x0_0}}, to_apply=add\n"
                f"  b = {dtype}[2,7,9] reduce-window(p0, p1), window={{size=1x1x9 pad=0_0x0_0x8_0}}, to_apply=add\n"
                f"  c = {dtype}[2,7,9] reduce-window(p0, p1), window={{size=1x7x1 pad=0_0x0_6x0_0}}, to_apply=add\n"
                f"  d = {dtype}[2,3,19] reduce-window(p0, p1), window={{size=1x3x2 stride=1x2x1 pad=0_0x1_1x1_2 lhs_dilate=1x1x2 rhs_dilate=1x2x1}}, to_apply=add\n"
                f"  e = {dtype}[1,7,7] reduce-window(p0, p1), window={{size=2x1x2 stride=1x1x1 rhs_dilate=1x1x2}}, to_apply=add")
        results = list("abde" if dtype == "bf16" else "abcde")  # XLA sums c from its other end
        case("reduce_window", [x, z], body, results, ADD.format(dtype, op), tolerance)
        case("reduce_window", [array(dtype, 4, 4), z], f"  a = {dtype}[4,4] reduce-window(p0, p1), window={{size=3x3 pad=1_1x1_1}}, to_apply=add", ["a"],
             SCALED.format(dtype), tolerance)


def conv(name, lhs, rhs, out, window, labels, more="", dtype="f32", tolerance=3e-5):
    case(name, [array(dtype, *lhs), array(dtype, *rhs)], f"  c = {dtype}[{','.join(map(str, out))}] convolution(p0, p1), "
         f"window={{{window}}}, dim_labels={labels}{more}", ["c"], tolerance=tolerance)


def convolution_cases():
    conv("convolution", (2, 8, 9, 3), (3, 3, 3, 4), (2, 8, 9, 4), "size=3x3 pad=1_1x1_1", "b01f_01io->b01f")
    conv("convolution", (2, 3, 8, 9), (4, 3, 3, 2), (2, 4, 3, 4), "size=3x2 stride=2x2 pad=0_0x0_0", "bf01_oi01->bf01")
    conv("convolution", (2, 8, 3), (3, 3, 5), (2, 15, 5), "size=3 pad=2_0 lhs_dilate=2", "b0f_0io->b0f")
    conv("convolution", (2, 11, 3), (3, 3, 5), (2, 4, 5), "size=3 stride=2 pad=1_0 rhs_dilate=2 rhs_reversal=1", "b0f_0io->b0f")
    conv("convolution", (2, 6, 6, 6), (3, 3, 1, 12), (2, 4, 4, 12), "size=3x3", "b01f_01io->b01f", ", feature_group_count=6")
    conv("convolution", (2, 6, 6, 6), (3, 3, 2, 9), (2, 4, 4, 9), "size=3x3", "b01f_01io->b01f", ", feature_group_count=3")
    conv("convolution", (4, 6, 6, 3), (3, 3, 3, 6), (2, 4, 4, 6), "size=3x3", "b01f_01io->b01f", ", batch_group_count=2")
    conv("convolution", (3, 5), (5, 4), (3, 4), "", "bf_io->bf")
    conv("convolution", (2, 4, 5, 6, 2), (2, 2, 2, 2, 3), (2, 3, 4, 5, 3), "size=2x2x2", "b012f_012io->b012f")
    conv("convolution", (2, 8, 3), (3, 3, 5), (2, 5, 5), "size=3 pad=-1_0", "b0f_0io->b0f")
    conv("convolution_bf16", (2, 8, 9, 3), (3, 3, 3, 4), (2, 8, 9, 4), "size=3x3 pad=1_1x1_1", "b01f_01io->b01f", dtype="bf16", tolerance=8e-3)
    conv("convolution", (2, 8, 3), (3, 3, 5), (2, 6, 5), "size=3", "b0f_0io->b0f", dtype="s32", tolerance=0)


def random_cases():
    for algorithm, words in (("rng_three_fry", 2), ("rng_philox", 2), ("rng_philox", 3), ("rng_default", 3)):
        state = np.array([2**63 + 5, 2**64 - 2, 9][:words], np.uint64)
        for shape in ("u32[5]", "u64[3]", "u32[3,2,3]", "u8[6]", "u16[5,3]", "u32[]", "u64[2,2]"):
            case("rng_bit_generator", [state], f"  r = (u64[{words}], {shape}) rng-bit-generator(p0), algorithm={algorithm}\n"
                 f"  s = u64[{words}] get-tuple-element(r), index=0\n  b = {shape} get-tuple-element(r), index=1", ["s", "b"])


def linalg_cases():
    for dtype in ("f32", "f64", "c64"):
        x = array(dtype, 2, 5, 5)
        a = (x @ np.conj(np.swapaxes(x, 1, 2)) + 5 * np.eye(5)).astype(x.dtype)
        shape = shape_text(a)
        case("cholesky", [a], f"  l = {shape} cholesky(p0), lower=true\n  u = {shape} cholesky(p0), lower=false", ["l", "u"], tolerance=3e-6)
        for left in ("true", "false"):
            b = array(dtype, 2, 5, 3) if left == "true" else array(dtype, 2, 3, 5)
            for lower in ("true", "false"):
                for transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
                    unit = "true" if transpose == "TRANSPOSE" else "false"
                    tame = (a * 0.1).astype(a.dtype) if unit == "true" else a  # else small pivots make rounding errors large
                    case("triangular_solve", [tame, b], f"  x = {shape_text(b)} triangular-solve(p0, p1), left_side={left}, lower={lower}, "
                         f"unit_diagonal={unit}, transpose_a={transpose}", ["x"], tolerance=3e-5)


def column_major(dims):
    """A shape's layout for LAPACK."""
    order = list(range(len(dims)))[::-1]
    order[:2] = order[:2][::-1] if len(dims) > 1 else order[:2]
    return "{" + ",".join(map(str, order)) + "}"


def lapack(name, routine, inputs, results, config="", compare=None, tolerance=2e-5):
    """A case of the custom call that JAX makes on a CPU; results are "f32[2,3,3] s32[2]"."""
    letter = {"f32": "s", "f64": "d", "c64": "c", "c128": "z"}[TEXTS[inputs[0].dtype]]
    shapes = results.split()
    rank = max(x.ndim for x in inputs)

    def laid_out(shape):
        dims = shape[shape.index("[") + 1:-1].split(",") if "[]" not in shape else []
        return shape + (column_major(dims) if len(dims) == rank else "")
    whole = ", ".join(map(laid_out, shapes))
    body = (f"  call = {'(' + whole + ')' if len(shapes) > 1 else whole} custom-call({', '.join(f'p{i}' for i in range(len(inputs)))}), "
            f'custom_call_target="lapack_{letter}{routine}_ffi", operand_layout_constraints={{{", ".join(laid_out(shape_text(x)) for x in inputs)}}}, '
            f"api_version=API_VERSION_TYPED_FFI, backend_config={{{config}}}\n")
    if len(shapes) == 1:
        case(name, inputs, body, ["call"], tolerance=tolerance)
        return
    compare = list(range(len(shapes))) if compare is None else compare
    body += "\n".join(f"  r{i} = {shapes[i]} get-tuple-element(call), index={i}" for i in compare)
    case(name, inputs, body, [f"r{i}" for i in compare], tolerance=tolerance)


def lapack_cases():
    for dtype, real, tolerance in (("f32", "f32", 5e-5), ("f64", "f64", 1e-11), ("c64", "f32", 5e-5), ("c128", "f64", 1e-11)):
        o = dict(tolerance=tolerance)
        is_complex = dtype[0] == "c"
        wide, name = {"f32": "c64", "f64": "c128"}.get(dtype, dtype), f"lapack_{dtype}"
        x = array(dtype, 2, 4, 4)
        definite = (x @ np.conj(np.swapaxes(x, 1, 2)) + 4 * np.eye(4)).astype(x.dtype)
        tall, wide_matrix, right = array(dtype, 5, 3), array(dtype, 3, 5), array(dtype, 2, 4, 3)
        lapack(name, "potrf", [definite], f"{dtype}[2,4,4] s32[2]", "uplo = 76 : ui8", [1], **o)
        lapack(name, "getrf", [tall], f"{dtype}[5,3] s32[3] s32[]", **o)
        lapack(name, "getrf", [array(dtype, 2, 3, 5)], f"{dtype}[2,3,5] s32[2,3] s32[2]", **o)
        lapack(name, "geqrf", [tall], f"{dtype}[5,3] {dtype}[3]", **o)
        lapack(name, "geqrf", [wide_matrix], f"{dtype}[3,5] {dtype}[3]", **o)
        lapack(name, "geqp3", [tall, np.array([0, 0, 1], np.int32)], f"{dtype}[5,3] s32[3] {dtype}[3]", **o)
        lapack(name, "ungqr" if is_complex else "orgqr", [array(dtype, 2, 5, 3), array(dtype, 2, 2)], f"{dtype}[2,5,3]", **o)
        for left in ("true", "false"):
            for transpose in ("true", "false"):
                c = array(dtype, 5, 2) if left == "true" else array(dtype, 2, 5)
                lapack(name, "unmqr" if is_complex else "ormqr", [tall, array(dtype, 3), c], shape_text(c), f"left = {left}, transpose = {transpose}", **o)
        for side in "LR":
            for uplo in "LU":
                for trans in "NT" + "C" * is_complex:
                    b = right if side == "L" else np.swapaxes(right, 1, 2).copy()
                    lapack(name, "trsm", [definite, b], shape_text(b), f"diag = {ord('U' if trans == 'T' else 'N')} : ui8, side = {ord(side)} : ui8, "
                           f"trans_x = {ord(trans)} : ui8, uplo = {ord(uplo)} : ui8", **o)
        vectors = [array(dtype, 2, 4), array(dtype, 2, 4) + DTYPES[dtype](6), array(dtype, 2, 4)]
        lapack(name, "gtsv", [*vectors, right], f"{dtype}[2,4] {dtype}[2,4] {dtype}[2,4] {shape_text(right)} s32[2]", "", [3, 4], **o)
        for uplo in "LU":
            lapack(name, "heevd" if is_complex else "syevd", [definite], f"{dtype}[2,4,4] {real}[2,4] s32[2]", f"mode = 86 : ui8, uplo = {ord(uplo)} : ui8", [1, 2], **o)
            lapack(name, "hetrd" if is_complex else "sytrd", [definite], f"{dtype}[2,4,4] {real}[2,4] {real}[2,3] {dtype}[2,3] s32[2]", f"uplo = {ord(uplo)} : ui8", **o)
        lapack(name, "gehrd", [x], f"{dtype}[2,4,4] {dtype}[2,3] s32[2]", "high = 4 : i32, low = 1 : i32", **o)
        values = f"{dtype}[2,4]" if is_complex else f"{dtype}[2,4] {dtype}[2,4]"
        last = 3 + (not is_complex)
        lapack(name, "geev", [x], f"{values} {wide}[2,4,4] {wide}[2,4,4] s32[2]", "compute_left = 86 : ui8, compute_right = 86 : ui8", **o)
        lapack(name, "geev", [x], f"{values} {wide}[2,4,4] {wide}[2,4,4] s32[2]", "compute_left = 78 : ui8, compute_right = 86 : ui8", [0, last - 1, last], **o)
        lapack(name, "gees", [x], f"{dtype}[2,4,4] {dtype}[2,4,4] {values} s32[2] s32[2]", "mode = 86 : ui8, sort = 78 : ui8", [2, 4] if is_complex else None, **o)
        for routine in ("gesdd", "gesvd"):
            lapack(name, routine, [tall], f"{dtype}[5,3] {real}[3] {dtype}[5,5] {dtype}[3,3] s32[]", "mode = 65 : ui8", [1, 4], **o)
            lapack(name, routine, [tall], f"{dtype}[5,3] {real}[3] {dtype}[5,3] {dtype}[3,3] s32[]", "mode = 83 : ui8", [1, 2, 3, 4], **o)
            lapack(name, routine, [wide_matrix], f"{dtype}[3,5] {real}[3] {dtype}[3,3] {dtype}[3,5] s32[]", "mode = 78 : ui8", [1, 4], **o)
        broken = x.copy()
        broken[1, 2, 1] = np.nan
        lapack(name, "geev", [broken], f"{values} {wide}[2,4,4] {wide}[2,4,4] s32[2]", "compute_left = 78 : ui8, compute_right = 86 : ui8", [last], **o)
        lapack(name, "potrf", [-definite], f"{dtype}[2,4,4] s32[2]", "uplo = 85 : ui8", [1], **o)


def fft_cases():
    for shape, lengths in (((3, 8), "8"), ((2, 6, 5), "6,5"), ((2, 3, 4, 7), "3,4,7"), ((2, 12), "12")):
        n = ",".join(map(str, shape))
        half = ",".join(map(str, shape[:-1] + (shape[-1] // 2 + 1,)))
        z, x = array("c64", *shape), array("f32", *shape)
        h = np.fft.rfft(x).astype(np.complex64)
        body = (f"  a = c64[{n}] fft(p0), fft_type=FFT, fft_length={{{lengths}}}\n  b = c64[{n}] fft(p0), fft_type=IFFT, fft_length={{{lengths}}}\n"
                f"  c = c64[{half}] fft(p1), fft_type=RFFT, fft_length={{{lengths}}}\n  d = f32[{n}] fft(p2), fft_type=IRFFT, fft_length={{{lengths}}}")
        case("fft", [z, x, h], body, list("abcd"), tolerance=1e-4)


def other_cases():
    for dtype, bits in (("f32", ((5, 10), (8, 7), (4, 3), (5, 2), (8, 23))), ("bf16", ((5, 2), (4, 3))), ("f16", ((4, 3), (5, 2))), ("f64", ((8, 23), (5, 10)))):
        x = np.concatenate([pairs(dtype)[0], np.array([1e-5, -7e-6, 6e-8, 65519, 65520, 1.0009765625, 250, 3e-3]).astype(DTYPES[dtype])])
        for e, m in bits:
            case("reduce_precision", [x], f"  r = {shape_text(x)} reduce-precision(p0), exponent_bits={e}, mantissa_bits={m}", ["r"])
    case("map", [array("f32", 2, 3), array("f32", 2, 3)], "  m = f32[2,3] map(p0, p1), dimensions={0,1}, to_apply=add", ["m"], SCALED.format("f32"), 1e-6)
    greater = "ge {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = pred[] compare(x, y), direction=GE\n}\n"
    for window, out in (("size=2x3 stride=2x3", "4,3"), ("size=3x3 stride=2x1 pad=1_1x0_1", "4,8"), ("size=3x2 stride=1x2 pad=1_1x0_1", "8,5")):
        dims = tuple(map(int, out.split(",")))
        case("select_and_scatter", [array("f32", 8, 9), array("f32", *dims), np.zeros((), np.float32)],
             f"  s = f32[8,9] select-and-scatter(p0, p1, p2), window={{{window}}}, select=ge, scatter=add", ["s"],
             greater + ADD.format("f32", "add"), 1e-6)


def batch_norm_cases():
    for dtype, tolerance in (("f32", 2e-5), ("bf16", 2e-2)):
        for dims, feature in (((4, 3, 5), 1), ((6, 4), 1), ((3, 2, 2, 2), 0)):
            x, gradient = array(dtype, *dims), array(dtype, *dims)
            scale, offset, mean = (array(dtype, dims[feature]) for _ in range(3))
            variance = np.abs(array(dtype, dims[feature])) + DTYPES[dtype](0.5)
            whole, vector = shape_text(x), shape_text(scale)
            o = f"epsilon=0.01, feature_index={feature}"
            elements = "".join(f"\n  {{0}}{i} = {s} get-tuple-element({{0}}), index={i}" for i, s in enumerate((whole, vector, vector)))
            case("batch_norm", [x, scale, offset], f"  t = ({whole}, {vector}, {vector}) batch-norm-training(p0, p1, p2), {o}" + elements.format("t"), ["t0", "t1", "t2"], tolerance=tolerance)
            case("batch_norm", [x, scale, offset, mean, variance], f"  i = {whole} batch-norm-inference(p0, p1, p2, p3, p4), {o}", ["i"], tolerance=tolerance)
            case("batch_norm", [x, scale, mean, variance, gradient], f"  g = ({whole}, {vector}, {vector}) batch-norm-grad(p0, p1, p2, p3, p4), {o}" + elements.format("g"), ["g0", "g1", "g2"], tolerance=tolerance)


def scan_cases():
    comp = ("step {\n  x = f32[4] parameter(0)\n  c = f32[4] parameter(1)\n  h = f32[4] multiply(c, c)\n  a = f32[4] add(x, h)\n"
            "  ROOT t = (f32[4], f32[4]) tuple(a, h)\n}")
    for axis, reverse in ((0, "false"), (1, "true")):
        x, first = array("f32", *((3, 4) if axis == 0 else (4, 3))), array("f32", 4)
        carry, slices = first, []
        for i in range(3)[::-1 if reverse == "true" else 1]:
            carry = carry * carry
            slices.append((i, np.take(x, i, axis) + carry))
        out = np.stack([s for _, s in sorted(slices, key=lambda s: s[0])], axis)
        case("scan", [x, first], f"  s = ({shape_text(x)}, f32[4]) scan(p0, p1), dimensions={{{axis}}}, num_carries=1, is_reverse={reverse}, to_apply=step\n"
             f"  o = {shape_text(x)} get-tuple-element(s), index=0\n  c = f32[4] get-tuple-element(s), index=1", ["o", "c"], comp, 1e-6, [out, carry])


def scaled_dot_cases():
    for dtype in ("f8e4m3fn", "f8e5m2", "bf16"):
        x, y = array(dtype, 3, 64), array(dtype, 64, 5)
        a, b = (np.exp2(RNG.integers(-3, 4, s)).astype(np.float32) for s in ((3, 2), (2, 5)))
        wide = [(np.repeat(s, 32, axis) * v.astype(np.float32)).astype(ml_dtypes.bfloat16).astype(np.float32) for v, s, axis in ((x, a, 1), (y, b, 0))]
        scales = [s.astype(ml_dtypes.float8_e8m0fnu) for s in (a, b)]
        case("scaled_dot", [x, y, *scales], "  d = f32[3,5] scaled-dot(p0, p1, p2, p3), lhs_contracting_dims={1}, rhs_contracting_dims={0}", ["d"], tolerance=1e-5,
             wanted=[wide[0] @ wide[1]])


def sparse_cases():
    starts, columns = np.array([0, 2, 2, 5], np.int32), np.array([3, 0, 1, 1, 2], np.int32)
    for dtype in ("f32", "c128", "s32"):
        values, matrix = array(dtype, 5), np.zeros((3, 4), DTYPES[dtype])
        for row in range(3):
            for e in range(starts[row], starts[row + 1]):
                matrix[row, columns[e]] += values[e]
        for dense in (array(dtype, 4), array(dtype, 4, 2)):
            wanted = (matrix @ dense).astype(dense.dtype)
            case("csr_product", [values, starts, columns, dense], f"  p = {shape_text(wanted)} custom-call(p0, p1, p2, p3), "
                 'custom_call_target="cpu_csr_sparse_dense_ffi", api_version=API_VERSION_TYPED_FFI', ["p"], tolerance=1e-6, wanted=[wanted])


def stochastic_convert_cases():
    x = np.array([0.25, -0.25, 1.75, -1.75, 2, 300, -300, np.nan, np.inf, -np.inf, 0.5, 0.5], np.float32)
    random = np.array([0, 0x3fffffff, 0xbfffffff, 0xc0000000, 0xffffffff, 0, 0, 0, 0, 0, 0x7fffffff, 0x80000000], np.uint32)
    wanted = np.array([1, -1, 2, -1, 2, 127, -128, 0, 127, -128, 1, 0], np.int8)
    case("stochastic_convert", [x, random], "  s = s8[12] stochastic-convert(p0, p1)", ["s"], wanted=[wanted])


def ragged_dot_cases():
    sizes = np.array([2, 0, 3, 1], np.int32)
    x, w = array("f32", 7, 3), array("f32", 4, 3, 5)
    case("ragged_dot", [x, w, sizes], "  d = f32[7,5] ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
         "lhs_ragged_dims={0}, rhs_group_dims={0}", ["d"], tolerance=3e-5, wanted=[np.asarray(jax.lax.ragged_dot(x, w, sizes))])
    x, y, ends = array("f32", 3, 7), array("f32", 7, 5), np.cumsum(sizes)
    case("ragged_dot", [x, y, sizes], "  d = f32[4,3,5] ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
         "lhs_ragged_dims={1}, rhs_group_dims={}", ["d"], tolerance=3e-5,
         wanted=[np.stack([x[:, e - n:e] @ y[e - n:e] for n, e in zip(sizes, ends)])])
    x, w = array("f32", 2, 7, 3), array("f32", 2, 4, 3, 5)
    groups = np.repeat(np.arange(5), [2, 0, 3, 1, 1])
    rows = [[x[b, r] @ w[b, g] if g < 4 else np.zeros(5) for r, g in enumerate(groups)] for b in range(2)]
    case("ragged_dot", [x, w, sizes], "  d = f32[2,7,5] ragged-dot(p0, p1, p2), lhs_batch_dims={0}, rhs_batch_dims={0}, "
         "lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={1}", ["d"], tolerance=3e-5,
         wanted=[np.array(rows, np.float32)])
    sizes = np.array([[2, 0, 3, 1], [0, 4, 1, 2]], np.int32)
    groups = [np.repeat(np.arange(5), [*s, 7 - sum(s)]) for s in sizes]
    rows = [[x[b, r] @ w[b, g] if g < 4 else np.zeros(5) for r, g in enumerate(groups[b])] for b in range(2)]
    case("ragged_dot", [x, w, sizes], "  d = f32[2,7,5] ragged-dot(p0, p1, p2), lhs_batch_dims={0}, rhs_batch_dims={0}, "
         "lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={1}", ["d"], tolerance=3e-5,
         wanted=[np.array(rows, np.float32)])
    y, ends = array("f32", 2, 7, 5), np.cumsum(sizes, 1)
    products = [[x[b, e - n:e].T @ y[b, e - n:e] for n, e in zip(sizes[b], ends[b])] for b in range(2)]
    case("ragged_dot", [x, y, sizes], "  d = f32[4,2,3,5] ragged-dot(p0, p1, p2), lhs_batch_dims={0}, rhs_batch_dims={0}, "
         "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={1}, rhs_group_dims={}", ["d"], tolerance=3e-5,
         wanted=[np.array(products, np.float32).swapaxes(0, 1)])


def main():
    jax.config.update("jax_enable_x64", True)
    jax_lapack._lapack.initialize()
    OUT.mkdir(parents=True, exist_ok=True)
    for make in [v for k, v in sorted(globals().items()) if k.endswith("_cases")]:
        make()
    for name, parts in CASES.items():
        if not sys.argv[1:] or name in sys.argv[1:]:
            write(name, parts)


if __name__ == "__main__":
    main()
