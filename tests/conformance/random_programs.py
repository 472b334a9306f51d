"""Random programs in HLO text, for the property test of the partitioner (partition_property.py).

Every value is made of small integers, in f32 or s32, and every op keeps them exact: a sum is then the same in whatever order it is
made, and one device must compute to the bit what many do. A value knows the largest number it may hold (`bound`); where an op would
leave the range of exact floats its operands are clamped first."""
import math
import random

MOST_ELEMENTS, MOST_RANK, EXACT = 2048, 4, 2 ** 22
MESHES = [(2,), (4,), (3,), (8,), (2, 2), (4, 2), (2, 4), (3, 2), (2, 2, 2), (4, 1), (2, 3, 2), (4, 4), (2, 2, 4), (5,), (16,), (1, 6)]
SIZES = [1, 2, 3, 4, 4, 5, 6, 8, 8, 8, 12, 16]


class Value:
    """An instruction: its text is `name = dtype[dims] op(operands), attrs`."""

    def __init__(self, name, dtype, dims, op, operands, attrs, bound):
        self.name, self.dtype, self.dims, self.op = name, dtype, tuple(dims), op
        self.operands, self.attrs, self.bound = operands, attrs, bound

    @property
    def rank(self):
        return len(self.dims)

    def shape(self):
        return self.dtype if self.dtype.startswith("(") else f"{self.dtype}[{ints(self.dims)}]"


def ints(numbers):
    return ",".join(map(str, numbers))


def braces(numbers):
    return "{" + ints(numbers) + "}"


class TooLarge(Exception):
    """An op that would leave the limits: it is left out."""


class Program:
    def __init__(self, mesh, comps=None, values=None, outputs=None):
        self.mesh, self.comps, self.values, self.outputs = mesh, comps or {}, values or [], outputs or []

    def text(self):
        axes = ", ".join(f'"{chr(97 + i)}"={n}' for i, n in enumerate(self.mesh))
        lines = [f"HloModule random, frontend_attributes={{xla.sdy.meshes={{mesh = #sdy.mesh<[{axes}]>}}}}", ""]
        used = " ".join(v.attrs for v in self.values)
        needed, known = [], {**LIBRARY, **self.comps}

        def need(name):
            for other in known:
                if other != name and other not in needed and other in known[name].split("{", 1)[1].replace(",", " ").replace("=", " ").split():
                    need(other)
            if name not in needed:
                needed.append(name)

        words = used.replace(",", " ").replace("=", " ").replace("{", " ").replace("}", " ").split()
        for name in known:
            if name in words:
                need(name)
        lines += [known[name] for name in needed]
        lines.append("ENTRY main {")
        number = 0
        for v in self.values:
            operands = ", ".join(o if isinstance(o, str) else o.name for o in v.operands)
            if v.op == "parameter":
                operands, number = str(number), number + 1
            lines.append(f"  {v.name} = {v.shape()} {v.op}({operands})" + (f", {v.attrs}" if v.attrs else ""))
        shapes = ", ".join(o.shape() for o in self.outputs)
        lines.append(f"  ROOT root = ({shapes}) tuple({', '.join(o.name for o in self.outputs)})")
        return "\n".join(lines + ["}", ""])


def reducer(name, op, dtype):
    return f"{name} {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  ROOT c = {dtype}[] {op}(a, b)\n}}\n"


def comparer(name, dtype, direction, n):
    lines = []
    for i in range(n):
        kind = dtype if i == 0 else "s32"
        lines += [f"  a{i} = {kind}[] parameter({2 * i})", f"  b{i} = {kind}[] parameter({2 * i + 1})"]
    return f"{name} {{\n" + "\n".join(lines) + f"\n  ROOT c = pred[] compare(a0, b0), direction={direction}\n}}\n"


def argmax(name, dtype):
    return (f"{name} {{\n  a = {dtype}[] parameter(0)\n  i = s32[] parameter(1)\n  b = {dtype}[] parameter(2)\n  k = s32[] parameter(3)\n"
            "  g = pred[] compare(a, b), direction=GT\n  e = pred[] compare(a, b), direction=EQ\n  l = pred[] compare(i, k), direction=LT\n"
            f"  t = pred[] and(e, l)\n  f = pred[] or(g, t)\n  v = {dtype}[] select(f, a, b)\n  j = s32[] select(f, i, k)\n"
            f"  ROOT r = ({dtype}[], s32[]) tuple(v, j)\n}}\n")


LIBRARY = {}
for _t in ("f32", "s32"):
    for _name, _op in (("sum", "add"), ("product", "multiply"), ("max", "maximum"), ("min", "minimum")):
        LIBRARY[f"{_name}_{_t}"] = reducer(f"{_name}_{_t}", _op, _t)
    LIBRARY[f"second_{_t}"] = f"second_{_t} {{\n  a = {_t}[] parameter(0)\n  ROOT b = {_t}[] parameter(1)\n}}\n"
    LIBRARY[f"argmax_{_t}"] = argmax(f"argmax_{_t}", _t)
    for _d in ("LT", "GT", "GE", "LE"):
        for _n in (1, 2):
            LIBRARY[f"{_d}{_n}_{_t}"] = comparer(f"{_d}{_n}_{_t}", _t, _d, _n)

OPS = []


def op(weight):
    def add(f):
        OPS.extend([f] * weight)
        return f
    return add


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.program = Program(self.random.choice(MESHES))
        self.dtype = self.random.choice(["f32", "f32", "f32", "s32"])
        self.names, self.constants, self.pool = 0, {}, []  # pool: values that ops take

    # --- chance
    def below(self, n):
        return self.random.randrange(n)

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def spec(self, rank):
        """Every axis, or each of its halves, on a random dimension or none."""
        parts = []
        for i, n in enumerate(self.program.mesh):
            axis = f'\\"{chr(97 + i)}\\"'
            parts += [f"{axis}:(1)2", f"{axis}:(2){n // 2}"] if n % 2 == 0 and n > 2 and self.chance(15) else [axis]
        dims = [[] for _ in range(rank + 1)]
        if self.chance(30):
            self.random.shuffle(parts)
        for part in parts:
            dims[self.below(rank + 1)].append(part)
        for d in dims:  # two neighbouring halves of an axis are written as the axis
            for a, b in zip(d[:], d[1:]):
                if ":(1)" in a and b.startswith(a.split(":")[0] + ":(2)"):
                    d[d.index(a):d.index(b) + 1] = [a.split(":")[0]]
        return "[" + ", ".join("{" + ", ".join(d) + "}" for d in dims[:rank]) + "]"

    # --- values
    def add(self, dtype, dims, op, operands, attrs="", bound=0.0, pool=True):
        if len(dims) > MOST_RANK or math.prod(dims) > MOST_ELEMENTS or min(dims, default=1) < 1 or bound > EXACT:
            raise TooLarge
        value = Value(f"v{self.names}", dtype, dims, op, operands, attrs, bound)
        self.names += 1
        self.program.values.append(value)
        if pool and dtype == self.dtype:
            self.pool.append(value)
        return value

    def like(self, value, op, operands, attrs="", bound=None, pool=True):
        return self.add(value.dtype, value.dims, op, operands, attrs, value.bound if bound is None else bound, pool)

    def constant(self, number, dtype=None):
        dtype = dtype or self.dtype
        if (number, dtype) not in self.constants:
            self.constants[number, dtype] = self.add(dtype, (), "constant", [str(number)], bound=0 if "inf" in str(number) else abs(number), pool=False)
        return self.constants[number, dtype]

    def parameter(self, dims, dtype=None):
        attrs = f'frontend_attributes={{xla.sdy.sharding="#sdy.sharding<@mesh, {self.spec(len(dims))}>"}}'
        return self.add(dtype or self.dtype, dims, "parameter", [], attrs, 8)

    def any(self, least_rank=0):
        found = [v for v in self.pool if v.rank >= least_rank]
        if not found:
            raise TooLarge
        return self.random.choice(found)

    def same(self, value):
        return self.random.choice([v for v in self.pool if v.dims == value.dims])

    def bounded(self, value, bound):
        if value.bound <= bound:
            return value
        return self.like(value, "clamp", [self.constant(-bound, value.dtype), value, self.constant(bound, value.dtype)], bound=bound, pool=False)

    def index(self, low, high):
        """A scalar s32: a constant, or a parameter (which holds -4 to 8)."""
        if self.chance(50):
            return self.add("s32", (), "parameter", [], "", 8, pool=False)
        return self.constant(self.random.randint(low, high), "s32")

    def indices(self, dims):
        """An s32 array of -4 to 8: a parameter that is sharded somehow."""
        return self.parameter(dims, "s32") if self.dtype != "s32" or self.chance(60) else self.any_of("s32", dims)

    def counted(self, dims, at, operand):
        """Indices whose first column is a coordinate of theirs that is as long as what it looks up in `operand`."""
        fits = [d for d, n in enumerate(dims) if d != at and n == operand]
        if not fits or not self.chance(40):
            return self.indices(dims)
        column = self.add("s32", [n for d, n in enumerate(dims) if d != at], "iota", [], f"iota_dimension={fits[0] - (fits[0] > at)}", operand, pool=False)
        parts = [self.add("s32", [1 if d == at else n for d, n in enumerate(dims)], "reshape", [column], bound=operand, pool=False)]
        if dims[at] > 1:
            parts.append(self.parameter([dims[at] - 1 if d == at else n for d, n in enumerate(dims)], "s32"))
        return self.add("s32", dims, "concatenate", parts, f"dimensions={{{at}}}", bound=8, pool=False) if len(parts) > 1 else parts[0]

    def any_of(self, dtype, dims):
        found = [v for v in self.pool if v.dtype == dtype and v.dims == tuple(dims)]
        return self.random.choice(found) if found else self.parameter(dims, dtype)

    def element(self, value, dtype, dims, number, bound):
        return self.add(dtype, dims, "get-tuple-element", [value], f"index={number}", bound)


# --- ops: each takes values of the pool and adds one or more

@op(3)
def constraint(m):
    v = m.any()
    m.like(v, "custom-call", [v], f'custom_call_target="Sharding", sharding={{replicated}}, frontend_attributes='
           f'{{xla.sdy.sharding="#sdy.sharding_per_value<[<@mesh, {m.spec(v.rank)}>]>"}}')


@op(2)
def unary(m):
    v = m.any()
    m.like(v, m.random.choice(["negate", "abs", "copy", "sign"]), [v])


@op(4)
def binary(m):
    a = m.any()
    b = m.same(a)
    kind = m.random.choice(["add", "subtract", "maximum", "minimum", "multiply"])
    if kind == "multiply":
        a, b = m.bounded(a, 1000), m.bounded(b, 1000)
    m.like(a, kind, [a, b], bound={"multiply": a.bound * b.bound, "add": a.bound + b.bound, "subtract": a.bound + b.bound}.get(kind, max(a.bound, b.bound)))


@op(1)
def bits(m):
    a = m.any()
    b = m.same(a)
    wide = [m.add("s32", a.dims, "convert", [x], bound=x.bound, pool=False) if a.dtype != "s32" else x for x in (a, b)]
    both = m.add("s32", a.dims, m.random.choice(["and", "or", "xor"]), wide, bound=2 * max(a.bound, b.bound, 1), pool=False)
    m.like(a, "convert", [both], bound=both.bound)


@op(2)
def choose(m):
    a = m.any()
    b = m.same(a)
    mask = m.add("pred", a.dims, "compare", [a, b], "direction=" + m.random.choice(["LT", "EQ", "GE"]), pool=False)
    m.like(a, "select", [mask, a, m.same(a)], bound=max(v.bound for v in m.pool if v.dims == a.dims))


@op(2)
def broadcast(m):
    v = m.any()
    rank = v.rank + m.below(MOST_RANK - v.rank + 1)
    at = sorted(m.random.sample(range(rank), v.rank))
    dims = [m.random.choice(SIZES) for _ in range(rank)]
    for d, k in enumerate(at):
        dims[k] = v.dims[d]
    m.add(v.dtype, dims, "broadcast", [v], f"dimensions={braces(at)}", v.bound)


@op(1)
def iota(m):
    v = m.any(1)
    d = m.below(v.rank)
    m.like(v, "iota", [], f"iota_dimension={d}", bound=v.dims[d])


@op(2)
def transpose(m):
    v = m.any(1)
    perm = m.random.sample(range(v.rank), v.rank)
    m.add(v.dtype, [v.dims[p] for p in perm], "transpose", [v], f"dimensions={braces(perm)}", v.bound)


@op(4)
def reshape(m):
    """Some dimensions merged, some split."""
    v = m.any()
    dims = list(v.dims)
    for _ in range(1 + m.below(2)):
        d = m.below(len(dims)) if dims else 0
        if len(dims) > 1 and d + 1 < len(dims) and m.chance(50):
            dims[d:d + 2] = [dims[d] * dims[d + 1]]
        elif dims:
            major = m.random.choice([k for k in range(1, dims[d] + 1) if dims[d] % k == 0])
            dims[d:d + 1] = [major, dims[d] // major]
    m.add(v.dtype, dims, "reshape", [v], bound=v.bound)


@op(4)
def dot(m):
    """Pairs of dimensions of one size are batches or contracted."""
    a, b = m.bounded(m.any(), 500), m.bounded(m.any(), 500)
    pairs, batch, contract = [], [], []
    for i in range(a.rank):
        free = [k for k in range(b.rank) if b.dims[k] == a.dims[i] and k not in [p[1] for p in pairs]]
        if free and m.chance(70):
            pairs.append((i, m.random.choice(free)))
            (batch if m.chance(35) else contract).append(pairs[-1])
    dims = [a.dims[i] for i, _ in batch]
    dims += [a.dims[i] for i in range(a.rank) if i not in [p[0] for p in pairs]]
    dims += [b.dims[k] for k in range(b.rank) if k not in [p[1] for p in pairs]]
    attrs = [f"lhs_batch_dims={braces([p[0] for p in batch])}, rhs_batch_dims={braces([p[1] for p in batch])}"] * bool(batch)
    attrs += [f"lhs_contracting_dims={braces([p[0] for p in contract])}, rhs_contracting_dims={braces([p[1] for p in contract])}"]
    m.add(a.dtype, dims, "dot", [a, b], ", ".join(attrs), a.bound * b.bound * math.prod(a.dims[i] for i, _ in contract))


@op(4)
def reduce(m):
    v = m.any(1)
    over = sorted(m.random.sample(range(v.rank), 1 + m.below(v.rank)))
    n = math.prod(v.dims[d] for d in over)
    kind = m.random.choice(["sum", "max", "min", "product"])
    if kind == "product":
        v = m.bounded(v, 2 if n <= 12 else 1)
    bound = {"sum": v.bound * n + 8, "product": v.bound ** n * 8}.get(kind, v.bound + 8)
    start = m.constant(m.random.choice([0, 1, 3]) if kind != "product" else m.random.choice([1, 2]))
    m.add(v.dtype, [v.dims[d] for d in range(v.rank) if d not in over], "reduce", [v, start],
          f"dimensions={braces(over)}, to_apply={kind}_{v.dtype}", bound)


@op(1)
def reduce_argmax(m):
    v = m.any(1)
    d = m.below(v.rank)
    places = m.add("s32", v.dims, "iota", [], f"iota_dimension={d}", pool=False)
    left = [n for i, n in enumerate(v.dims) if i != d]
    both = m.add(f"({v.dtype}[{ints(left)}], s32[{ints(left)}])", (), "reduce", [v, places, m.constant(-EXACT), m.constant(0, "s32")],
                 f"dimensions={{{d}}}, to_apply=argmax_{v.dtype}", pool=False)
    m.element(both, v.dtype, left, 0, EXACT) if m.chance(30) else m.add(
        v.dtype, left, "convert", [m.element(both, "s32", left, 1, v.dims[d])], bound=v.dims[d])


@op(3)
def slice_(m):
    v = m.any()
    parts, dims = [], []
    for n in v.dims:
        start, stride = (m.below(n), 1 + m.below(3)) if m.chance(60) else (0, 1)
        stop = n if m.chance(50) else start + 1 + m.below(n - start)
        parts.append(f"[{start}:{stop}:{stride}]")
        dims.append(-(-(stop - start) // stride))
    m.add(v.dtype, dims, "slice", [v], "slice={" + ", ".join(parts) + "}", v.bound)


@op(3)
def pad(m):
    v = m.any(1)
    parts, dims = [], []
    for n in v.dims:
        low, high, inside = (m.random.randint(-1, 4), m.random.randint(-1, 4), m.random.choice([0, 0, 1, 2])) if m.chance(60) else (0, 0, 0)
        parts.append(f"{low}_{high}_{inside}")
        dims.append(n + low + high + (n - 1) * inside)
    m.add(v.dtype, dims, "pad", [v, m.constant(m.random.choice([0, 1, -2]))], "padding=" + "x".join(parts), max(v.bound, 2))


@op(1)
def pad_and_crop(m):
    v = m.any(1)
    low, high = [m.below(4) for _ in v.dims], [m.below(4) for _ in v.dims]
    dims = [n + a + b for n, a, b in zip(v.dims, low, high)]
    wide = m.add(v.dtype, dims, "pad", [v, m.constant(1)], "padding=" + "x".join(f"{a}_{b}" for a, b in zip(low, high)), max(v.bound, 1), m.chance(30))
    cuts = [(m.below(n // 2 + 1), n - m.below((n + 1) // 2)) for n in dims]
    m.add(v.dtype, [b - a for a, b in cuts], "slice", [wide], "slice={" + ", ".join(f"[{a}:{b}]" for a, b in cuts) + "}", wide.bound)


@op(3)
def concatenate(m):
    a = m.any(1)
    d = m.below(a.rank)
    parts = [a] + [m.random.choice([v for v in m.pool if v.rank == a.rank and all(v.dims[i] == a.dims[i] for i in range(a.rank) if i != d)])
                   for _ in range(1 + m.below(2))]
    m.random.shuffle(parts)
    dims = [sum(p.dims[d] for p in parts) if i == d else n for i, n in enumerate(a.dims)]
    m.add(a.dtype, dims, "concatenate", parts, f"dimensions={{{d}}}", max(p.bound for p in parts))


@op(2)
def roll(m):
    """Two slices of one value, put together the other way round."""
    v = m.any(1)
    d = m.below(v.rank)
    cut = m.below(v.dims[d]) + 1
    parts = []
    for start, stop in ((cut, v.dims[d]), (0, cut)):
        if start < stop:
            text = ", ".join(f"[{start}:{stop}]" if i == d else f"[0:{n}]" for i, n in enumerate(v.dims))
            parts.append(m.add(v.dtype, [stop - start if i == d else n for i, n in enumerate(v.dims)], "slice", [v], f"slice={{{text}}}", v.bound))
    m.like(v, "concatenate", parts, f"dimensions={{{d}}}")


@op(2)
def reverse(m):
    v = m.any(1)
    m.like(v, "reverse", [v], f"dimensions={braces(m.random.sample(range(v.rank), 1 + m.below(v.rank)))}")


@op(3)
def dynamic_slice(m):
    v = m.any(1)
    sizes = [1 + m.below(n) if m.chance(60) else n for n in v.dims]
    m.add(v.dtype, sizes, "dynamic-slice", [v] + [m.index(-1, n) for n in v.dims], f"dynamic_slice_sizes={braces(sizes)}", v.bound)


@op(3)
def dynamic_update(m):
    v = m.any(1)
    fits = [u for u in m.pool if u.rank == v.rank and all(a <= b for a, b in zip(u.dims, v.dims))]
    u = m.random.choice(fits)
    m.like(v, "dynamic-update-slice", [v, u] + [m.index(-1, n) for n in v.dims], bound=max(v.bound, u.bound))


def indexed_dims(m, v):
    """Dimensions of a gather or scatter: those that are looked up, those that lie beside the indices, the others with their windows."""
    looked = sorted(m.random.sample(range(v.rank), 1 + m.below(min(v.rank, 2))))
    beside = [d for d in range(v.rank) if d not in looked and m.chance(30)][:1]
    sizes = [1 if d in looked or d in beside else v.dims[d] for d in range(v.rank)]
    for d in range(v.rank):
        if d not in beside and m.chance(20):
            sizes[d] = 1 + m.below(v.dims[d])
    dropped = [d for d in looked if sizes[d] == 1 and m.chance(80)]
    return looked, beside, sizes, dropped


@op(4)
def gather(m):
    v = m.any(1)
    looked, beside, sizes, dropped = indexed_dims(m, v)
    lengths = [1, 3, 4, 8] + [v.dims[looked[0]]] * 3
    batch = [v.dims[d] for d in beside] + [m.random.choice(lengths) for _ in range(m.below(2) + (not beside))]
    flat = len(looked) == 1 and m.chance(30)
    at = len(batch) if flat or m.chance(70) else m.below(len(batch) + 1)
    index_dims = batch if flat else batch[:at] + [len(looked)] + batch[at:]
    windows = [sizes[d] for d in range(v.rank) if d not in dropped and d not in beside]
    rank = len(batch) + len(windows)
    offset = sorted(m.random.sample(range(rank), len(windows)))
    dims, rest, inside = [], iter(batch), iter(windows)
    for d in range(rank):
        dims.append(next(inside) if d in offset else next(rest))
    attrs = f"offset_dims={braces(offset)}, collapsed_slice_dims={braces(dropped)}, start_index_map={braces(looked)}"
    if beside:
        where = 0 if flat or at > 0 else 1
        attrs += f", operand_batching_dims={braces(beside)}, start_indices_batching_dims={{{where}}}"
    m.add(v.dtype, dims, "gather", [v, m.indices(index_dims) if flat else m.counted(index_dims, at, v.dims[looked[0]])], attrs + f", index_vector_dim={at}, slice_sizes={braces(sizes)}", v.bound)


@op(4)
def scatter(m):
    v = m.any(1)
    looked, beside, sizes, dropped = indexed_dims(m, v)
    lengths = [1, 3, 4, 8] + [v.dims[looked[0]]] * 3
    batch = [v.dims[d] for d in beside] + [m.random.choice(lengths) for _ in range(m.below(2) + (not beside))]
    at = len(batch)
    windows = [sizes[d] for d in range(v.rank) if d not in dropped and d not in beside]
    rank = len(batch) + len(windows)
    inside = sorted(m.random.sample(range(rank), len(windows)))
    dims, rest, window = [], iter(batch), iter(windows)
    for d in range(rank):
        dims.append(next(window) if d in inside else next(rest))
    kind = m.random.choice(["sum", "sum", "max", "min", "product", "second"])
    limit = {"product": 1, "second": EXACT}.get(kind, EXACT // 4096)
    v, u = m.bounded(v, limit), m.bounded(m.any_of(v.dtype, dims), limit)
    if kind == "second":  # the order of updates to one place is not told: all are alike
        u = m.add(v.dtype, dims, "broadcast", [m.constant(5)], "dimensions={}", 5, pool=False)
    attrs = f"update_window_dims={braces(inside)}, inserted_window_dims={braces(dropped)}, scatter_dims_to_operand_dims={braces(looked)}"
    if beside:
        attrs += f", input_batching_dims={braces(beside)}, scatter_indices_batching_dims={{0}}"
    m.like(v, "scatter", [v, m.counted(batch + [len(looked)], at, v.dims[looked[0]]), u], attrs + f", index_vector_dim={at}, to_apply={kind}_{v.dtype}",
           bound={"sum": v.bound + u.bound * math.prod(batch)}.get(kind, max(v.bound, u.bound)))


@op(2)
def sort(m):
    v = m.any(1)
    d, direction = m.below(v.rank), m.random.choice(["LT", "GT"])
    if m.chance(50):
        m.like(v, "sort", [v], f"dimensions={{{d}}}, is_stable=true, to_apply={direction}1_{v.dtype}")
        return
    places = m.add("s32", v.dims, "iota", [], f"iota_dimension={d}", pool=False)
    both = m.add(f"({v.shape()}, s32[{ints(v.dims)}])", (), "sort", [v, places], f"dimensions={{{d}}}, is_stable=true, to_apply={direction}2_{v.dtype}", pool=False)
    m.add(v.dtype, v.dims, "convert", [m.element(both, "s32", v.dims, 1, v.dims[d])], bound=v.dims[d])


@op(1)
def topk(m):
    v = m.any(1)
    if v.dtype != "f32":
        return
    k = 1 + m.below(v.dims[-1])
    dims = v.dims[:-1] + (k,)
    both = m.add(f"(f32[{ints(dims)}], s32[{ints(dims)}])", (), "topk", [v], f"k={k}, largest=true", pool=False)
    m.element(both, "f32", dims, 0, v.bound)
    m.element(both, "s32", dims, 1, v.dims[-1])


def window_of(m, rows, dilates=True):
    """A window along a dimension: its text's parts, its size and the number of places."""
    size, stride = 1 + m.below(4), 1 + m.below(3)
    inside = m.random.choice([1, 1, 1, 2, 3]) if dilates else 1
    spread = m.random.choice([1, 1, 1, 2]) if dilates else 1
    low, high = m.below(size + 1), m.below(size + 1)
    reach = (size - 1) * spread + 1
    count = ((rows - 1) * inside + 1 + low + high - reach) // stride + 1
    if count < 1:
        raise TooLarge
    return (size, stride, low, high, inside, spread), count


def window_text(parts):
    keys = [f"size={'x'.join(str(p[0]) for p in parts)}", f"stride={'x'.join(str(p[1]) for p in parts)}",
            f"pad={'x'.join(f'{p[2]}_{p[3]}' for p in parts)}", f"lhs_dilate={'x'.join(str(p[4]) for p in parts)}",
            f"rhs_dilate={'x'.join(str(p[5]) for p in parts)}"]
    return "window={" + " ".join(keys) + "}"


PLAIN = (1, 1, 0, 0, 1, 1)


@op(4)
def reduce_window(m):
    v = m.any(1)
    kind = m.random.choice(["sum", "max", "min"])
    start = m.constant({"sum": 0, "max": -8, "min": 8}[kind])
    if m.chance(25):  # around and between its rows what windows have there anyway
        edges = [(m.below(3), m.below(3), m.random.choice([0, 1])) for _ in v.dims]
        dims = [n + low + high + (n - 1) * inside for n, (low, high, inside) in zip(v.dims, edges)]
        v = m.add(v.dtype, dims, "pad", [v, start], "padding=" + "x".join(f"{a}_{b}_{c}" for a, b, c in edges), max(v.bound, 8))
    parts, dims = [], []
    for n in v.dims:
        if m.chance(60):
            part, count = window_of(m, n)
        elif m.chance(30):  # a cumulative sum
            part, count = ((n, 1, n - 1, 0, 1, 1), n) if m.chance(50) else ((n, 1, 0, n - 1, 1, 1), n)
        else:
            part, count = PLAIN, n
        parts.append(part)
        dims.append(count)
    n = math.prod(p[0] for p in parts)
    m.add(v.dtype, dims, "reduce-window", [v, start], f"{window_text(parts)}, to_apply={kind}_{v.dtype}", v.bound * n + 8)


@op(3)
def select_and_scatter(m):
    v = m.any(1)
    parts, dims = [], []
    for n in v.dims:
        part, count = window_of(m, n, dilates=False) if m.chance(60) else (PLAIN, n)
        if part[2] >= part[0] or part[3] >= part[0]:
            raise TooLarge  # a window of padding alone selects nothing
        parts.append(part)
        dims.append(count)
    source = m.any_of(v.dtype, dims)
    kind = m.random.choice(["GE", "GE", "GT", "LE"])
    text = "window={" + " ".join(window_text(parts)[8:-1].split(" ")[:3]) + "}"
    m.like(v, "select-and-scatter", [v, source, m.constant(0)], f"{text}, select={kind}1_{v.dtype}, scatter=sum_{v.dtype}",
           bound=source.bound * math.prod(p[0] for p in parts))


@op(4)
def convolution(m):
    """Images of one or two dimensions by a kernel of its own; groups of features or of batches."""
    spatial = 1 + m.below(2)
    v = m.any(spatial + 2) if m.chance(70) and any(x.rank == spatial + 2 for x in m.pool) else m.parameter(
        [m.random.choice([2, 4, 8])] * 2 + [m.random.choice([4, 5, 8, 9])] * spatial)
    if v.rank != spatial + 2:
        raise TooLarge
    order = m.random.sample(range(v.rank), v.rank)
    batch, feature, images = v.dims[order[0]], v.dims[order[1]], order[2:]
    groups = m.random.choice([g for g in (1, 1, 1, 2, 4, feature) if feature % g == 0]) if m.chance(50) else 1
    batches = m.random.choice([g for g in (1, 2, 4) if batch % g == 0]) if groups == 1 and m.chance(20) else 1
    parts, counts = zip(*(window_of(m, v.dims[d]) for d in images))
    out_features = groups * batches * m.random.choice([1, 2, 4])
    kernel_order, out_order = m.random.sample(range(v.rank), v.rank), m.random.sample(range(v.rank), v.rank)
    kernel_dims, out_dims = [0] * v.rank, [0] * v.rank
    for d, n in zip(kernel_order, [feature // groups, out_features] + [p[0] for p in parts]):
        kernel_dims[d] = n
    for d, n in zip(out_order, [batch // batches, out_features] + list(counts)):
        out_dims[d] = n

    def label(where, letters):
        return "".join(x for _, x in sorted(zip(where, letters)))
    digits = "01"[:spatial]
    labels = f"{label(order, 'bf' + digits)}_{label(kernel_order, 'io' + digits)}->{label(out_order, 'bf' + digits)}"
    attrs = f"{window_text(parts)}, dim_labels={labels}"
    attrs += f", feature_group_count={groups}" * (groups > 1) + f", batch_group_count={batches}" * (batches > 1)
    v, kernel = m.bounded(v, 100), m.bounded(m.any_of(v.dtype, kernel_dims), 100)
    m.add(v.dtype, out_dims, "convolution", [v, kernel], attrs, v.bound * kernel.bound * math.prod(p[0] for p in parts) * feature)


@op(1)
def fft(m):
    """Of one, two or four points: the roots of unity are then whole numbers."""
    v = m.any(1)
    if v.dtype != "f32" or v.dims[-1] not in (1, 2, 4):
        return
    wide = m.add("c64", v.dims, "convert", [v], pool=False)
    moved = m.add("c64", v.dims, "fft", [wide], f"fft_type=FFT, fft_length={{{v.dims[-1]}}}", pool=False)
    part = m.add("f32", v.dims, m.random.choice(["real", "imag"]), [moved], pool=False)
    m.like(v, "round-nearest-even", [part], bound=4 * v.bound)


@op(1)
def triangular_solve(m):
    fits = [v for v in m.pool if v.rank >= 2 and v.dims[-1] == v.dims[-2] <= 4 and v.dtype == "f32"]
    if not fits:
        return
    a = m.bounded(m.random.choice(fits), 1)
    b = m.bounded(m.same(a), 100)
    m.like(b, "triangular-solve", [a, b], "left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE", bound=b.bound * 2 ** a.dims[-1])


@op(1)
def random_bits(m):
    v = m.any(1)
    state = m.add("u64", (2,), "constant", ["{7, 42}"], pool=False)
    both = m.add(f"(u64[2], u32[{ints(v.dims)}])", (), "rng-bit-generator", [state], "algorithm=rng_three_fry", pool=False)
    bits = m.add("u32", v.dims, "get-tuple-element", [both], "index=1", pool=False)
    most = m.add("u32", (), "constant", ["7"], pool=False)
    mask = m.add("u32", v.dims, "broadcast", [most], "dimensions={}", pool=False)
    m.like(v, "convert", [m.add("u32", v.dims, "and", [bits, mask], pool=False)], bound=7)


@op(2)
def loop(m):
    """Three trips of a body that mixes a value with its own sum, reversal and one row, picked by the trip."""
    v = m.any(1)
    n, t = m.names, v.shape()
    m.names += 1
    element = v.dtype + "[]"
    row = ints((1,) + v.dims[1:])
    rest = "".join(", zero" for _ in v.dims[1:])
    m.program.comps[f"body{n}"] = (
        f"body{n} {{\n  t = (s32[], {t}) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n  one = s32[] constant(1)\n"
        f"  zero = s32[] constant(0)\n  k = s32[] add(i, one)\n  v = {t} get-tuple-element(t), index=1\n  none = {element} constant(0)\n"
        f"  s = {element} reduce(v, none), dimensions={braces(range(v.rank))}, to_apply=sum_{v.dtype}\n"
        f"  b = {t} broadcast(s), dimensions={{}}\n  r = {t} reverse(v), dimensions={{{m.below(v.rank)}}}\n  a = {t} add(b, r)\n"
        f"  row = {v.dtype}[{row}] dynamic-slice(a, i{rest}), dynamic_slice_sizes={{{row}}}\n"
        f"  u = {t} dynamic-update-slice(a, row, k{rest})\n  low = {element} constant(-9)\n  high = {element} constant(9)\n"
        f"  w = {t} clamp(low, u, high)\n  ROOT o = (s32[], {t}) tuple(k, w)\n}}\n")
    m.program.comps[f"cond{n}"] = (f"cond{n} {{\n  t = (s32[], {t}) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
                                   f"  n = s32[] constant(3)\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n")
    v = m.bounded(v, 9)
    start = m.add(f"(s32[], {t})", (), "tuple", [m.constant(0, "s32"), v], pool=False)
    end = m.add(f"(s32[], {t})", (), "while", [start], f"condition=cond{n}, body=body{n}", pool=False)
    m.element(end, v.dtype, v.dims, 1, 9)


@op(2)
def conditional(m):
    v = m.any(1)
    other, n, t = m.same(v), m.names, v.shape()
    m.names += 1
    m.program.comps[f"yes{n}"] = f"yes{n} {{\n  v = {t} parameter(0)\n  ROOT r = {t} reverse(v), dimensions={{0}}\n}}\n"
    m.program.comps[f"no{n}"] = f"no{n} {{\n  v = {t} parameter(0)\n  ROOT n = {t} negate(v)\n}}\n"
    m.like(v, "conditional", [m.index(0, 1), v, other], f"branch_computations={{yes{n}, no{n}}}", bound=max(v.bound, other.bound))


@op(1)
def optimization_barrier(m):
    v = m.any()
    m.like(v, "opt-barrier", [v])


def random_program(seed):
    m = Maker(seed)
    for _ in range(2 + m.below(2)):
        m.parameter([m.random.choice(SIZES[:9]) for _ in range(1 + m.below(3))])
    for _ in range(3 + m.below(12)):
        mark = len(m.program.values), len(m.pool), dict(m.constants)
        try:
            m.random.choice(OPS)(m)
        except TooLarge:
            del m.program.values[mark[0]:], m.pool[mark[1]:]
            m.constants = mark[2]
    m.program.outputs = m.pool[-4:]
    return m.program
