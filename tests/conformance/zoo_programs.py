"""Small programs of JAX, a family of operations each, for jax_zoo.py: PROGRAMS maps a name to a Program.

A program's function takes arrays and gives an array or a tuple of them, of which each is well defined (what is unique only up to a
sign or an order is given by its size or by what it makes up)."""
import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax


@dataclasses.dataclass
class Program:
    function: callable
    inputs: list
    tolerance: float = 2e-5
    x64: bool = False
    tpu: bool = True  # whether it lowers for a TPU to the same numbers
    cpu: bool = True  # whether it lowers for a CPU
    reference: callable = None  # in place of the function, for the numbers
    shard: bool = True


PROGRAMS = {}


def add(name, function, *inputs, **options):
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Program(function, list(inputs), **options)


RNG = np.random.default_rng(7)


def arr(*dims, dtype="float32", scale=1.0):
    """Random values of a shape."""
    dtype = jnp.dtype(dtype)
    if dtype == bool:
        return RNG.random(dims) < 0.5
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return (scale * (RNG.standard_normal(dims) + 1j * RNG.standard_normal(dims))).astype(dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        return RNG.integers(max(int(info.min), -9), min(int(info.max), 9), dims).astype(dtype)
    return (scale * RNG.standard_normal(dims)).astype(dtype)


def uniform(*dims, low=0.1, high=0.9, dtype="float32"):
    return RNG.uniform(low, high, dims).astype(dtype)


def ints(*dims, low=0, high=8, dtype="int32"):
    return RNG.integers(low, high, dims).astype(dtype)


def spd(*dims, dtype="float32"):
    """Positive definite matrices."""
    x = arr(*dims, dims[-1], dtype=dtype)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + dims[-1] * np.eye(dims[-1])).astype(dtype)


def sym(*dims, dtype="float32"):
    x = arr(*dims, dims[-1], dtype=dtype)
    return x + np.conj(np.swapaxes(x, -1, -2))


def adjoint(x):
    return jnp.conj(jnp.swapaxes(x, -1, -2))


# --- linear algebra ---------------------------------------------------------------------------------------------------

def eigh_checks(a, lower=True):
    w, v = lax.linalg.eigh(a, lower=lower, symmetrize_input=False)[::-1]
    return w, (v * w[..., None, :].astype(v.dtype)) @ adjoint(v), jnp.abs(v)


def svd_checks(a, full=False):
    u, s, vh = jnp.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    return s, (u[..., :, :k] * s[..., None, :].astype(u.dtype)) @ vh[..., :k, :], adjoint(u) @ u, vh @ adjoint(vh)


def qr_checks(a, mode="reduced"):
    q, r = jnp.linalg.qr(a, mode=mode)
    return q, r, q @ r


def eig_checks(a):
    w, v = jnp.linalg.eig(a)
    order = jnp.lexsort((jnp.imag(w), jnp.real(w)))
    return jnp.take_along_axis(w, order, -1), 1 + a.astype(v.dtype) @ v - v * w[..., None, :]


def linalg():
    for t, tol in (("float32", 5e-5), ("float64", 1e-11), ("complex64", 5e-5), ("complex128", 1e-11)):
        x64 = t in ("float64", "complex128")
        o = dict(tolerance=tol, x64=x64, tpu=False) if x64 else dict(tolerance=tol)
        add(f"cholesky_{t}", jnp.linalg.cholesky, spd(2, 6, dtype=t), **o)
        add(f"lu_{t}", lambda a: jsp.linalg.lu(a), arr(5, 5, dtype=t), **o)
        add(f"lu_factor_{t}", lambda a: lax.linalg.lu(a), arr(3, 4, 6, dtype=t), **o)
        add(f"lu_tall_{t}", lambda a: lax.linalg.lu(a), arr(7, 4, dtype=t), **o)
        add(f"qr_{t}", qr_checks, arr(2, 7, 4, dtype=t), **o)
        add(f"qr_full_{t}", lambda a: qr_checks(a, "complete"), arr(6, 4, dtype=t), **o)
        add(f"qr_wide_{t}", qr_checks, arr(3, 6, dtype=t), **o)
        add(f"eigh_{t}", eigh_checks, sym(3, 6, dtype=t), **o)
        add(f"eigh_upper_{t}", lambda a: eigh_checks(a, False), arr(5, 5, dtype=t), **o)
        add(f"eigvalsh_{t}", jnp.linalg.eigvalsh, sym(4, dtype=t), **o)
        add(f"svd_{t}", svd_checks, arr(2, 6, 4, dtype=t), **o)
        add(f"svd_full_{t}", lambda a: svd_checks(a, True), arr(4, 6, dtype=t), **o)
        add(f"svdvals_{t}", lambda a: jnp.linalg.svd(a, compute_uv=False), arr(2, 5, 3, dtype=t), **o)
        add(f"eig_{t}", eig_checks, arr(2, 5, 5, dtype=t), tolerance=max(tol, 1e-10), x64=x64, tpu=False)
        add(f"eigvals_{t}", lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), arr(6, 6, dtype=t), tolerance=tol, x64=x64, tpu=False)
        add(f"eig_left_{t}", lambda a: tuple(jnp.abs(x) for x in lax.linalg.eig(a, compute_left_eigenvectors=True)),
            arr(4, 4, dtype=t), tolerance=max(tol, 1e-4 if not x64 else 1e-10), x64=x64, tpu=False)
        add(f"schur_{t}", lambda a: (lambda s, q: (q @ s @ adjoint(q), jnp.abs(jnp.diagonal(s))))(*jsp.linalg.schur(a)),
            arr(5, 5, dtype=t), tolerance=max(tol, 1e-4 if not x64 else 1e-11), x64=x64, tpu=False)
        add(f"hessenberg_{t}", lambda a: jsp.linalg.hessenberg(a, calc_q=True), arr(5, 5, dtype=t), tolerance=max(tol, 1e-4 if not x64 else 1e-11), x64=x64, tpu=False)
        add(f"tridiagonal_{t}", lambda a: lax.linalg.tridiagonal(a), sym(2, 5, dtype=t), tolerance=max(tol, 1e-4 if not x64 else 1e-11), x64=x64, tpu=False)
        add(f"solve_{t}", jnp.linalg.solve, arr(2, 5, 5, dtype=t) + 4 * np.eye(5, dtype=t), arr(2, 5, 3, dtype=t), **o)
        add(f"triangular_solve_{t}", lambda a, b: (lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
                                                   lax.linalg.triangular_solve(a, b, left_side=True, lower=False, transpose_a=True, conjugate_a=True),
                                                   lax.linalg.triangular_solve(a, jnp.swapaxes(b, -1, -2), lower=True, unit_diagonal=True)),
            arr(2, 4, 4, dtype=t) + 4 * np.eye(4, dtype=t), arr(2, 4, 3, dtype=t), **o)
        add(f"inv_{t}", jnp.linalg.inv, arr(4, 4, dtype=t) + 4 * np.eye(4, dtype=t), **o)
        add(f"det_{t}", lambda a: (jnp.linalg.det(a), *jnp.linalg.slogdet(a)), arr(3, 5, 5, dtype=t), **o)
        add(f"lstsq_{t}", lambda a, b: jnp.linalg.lstsq(a, b)[0], arr(6, 3, dtype=t), arr(6, 2, dtype=t), **o)
        add(f"expm_{t}", jsp.linalg.expm, arr(4, 4, dtype=t, scale=0.5), **o)
        add(f"pinv_{t}", jnp.linalg.pinv, arr(5, 3, dtype=t), **o)
    add("cho_solve", lambda a, b: jsp.linalg.cho_solve(jsp.linalg.cho_factor(a), b), spd(5), arr(5))
    add("lu_solve", lambda a, b: jsp.linalg.lu_solve(jsp.linalg.lu_factor(a), b), arr(5, 5) + 4 * np.eye(5, dtype="float32"), arr(5))
    add("lu_solve_trans", lambda a, b: jsp.linalg.lu_solve(jsp.linalg.lu_factor(a), b, trans=1), arr(5, 5) + 4 * np.eye(5, dtype="float32"), arr(5, 2))
    add("sqrtm", jsp.linalg.sqrtm, spd(4), tolerance=1e-4, tpu=False)
    add("funm", lambda a: jsp.linalg.funm(a, jnp.sin, disp=False)[0], arr(4, 4, scale=0.3), tolerance=1e-3, tpu=False)
    add("rsf2csf", lambda a: jnp.abs(jsp.linalg.rsf2csf(*jsp.linalg.schur(a))[0]), arr(4, 4), tolerance=1e-3, tpu=False)
    add("polar", jsp.linalg.polar, arr(5, 3), tolerance=1e-4)
    add("matrix_rank", jnp.linalg.matrix_rank, arr(5, 3))
    add("matrix_power", lambda a: jnp.linalg.matrix_power(a, 5), arr(4, 4, scale=0.5))
    add("cond", jnp.linalg.cond, arr(4, 4), tolerance=1e-3)
    add("norms", lambda a: tuple(jnp.linalg.norm(a, o) for o in ("fro", "nuc", 1, -1, 2, -2, np.inf)), arr(4, 5), tolerance=1e-4)
    add("multi_dot", lambda a, b, c: jnp.linalg.multi_dot([a, b, c]), arr(3, 8), arr(8, 4), arr(4, 6))
    add("eigh_tridiagonal", lambda d, e: jsp.linalg.eigh_tridiagonal(d, e, eigvals_only=True), arr(6), arr(5), tolerance=1e-4)
    add("tridiagonal_solve", lax.linalg.tridiagonal_solve, arr(2, 6), arr(2, 6) + 5, arr(2, 6), arr(2, 6, 3), tolerance=1e-4, tpu=False)
    add("householder_product", lambda a, t: lax.linalg.householder_product(a, t), arr(2, 6, 4), arr(2, 4))
    add("qr_pivoting", lambda a: (lambda q, r, p: (jnp.abs(r), p, q @ r))(*lax.linalg.qr(a, pivoting=True, full_matrices=False)), arr(2, 6, 4), tolerance=1e-4, tpu=False)
    add("svd_qr_algorithm", lambda a: lax.linalg.svd(a, compute_uv=False, algorithm=lax.linalg.SvdAlgorithm.QR), arr(5, 3), tpu=False, tolerance=1e-4)
    add("solve_triangular", lambda a, b: jsp.linalg.solve_triangular(a, b, trans="T", lower=True), arr(5, 5) + 4 * np.eye(5, dtype="float32"), arr(5))
    add("block_diag", lambda a, b: jsp.linalg.block_diag(a, b), arr(2, 3), arr(4, 2))
    add("toeplitz", jsp.linalg.toeplitz, arr(5))
    add("cholesky_not_definite", jnp.linalg.cholesky, -spd(4))
    add("cholesky_grad", jax.grad(lambda a: jnp.sum(jnp.linalg.cholesky(a) ** 2)), spd(4))
    add("qr_grad", jax.grad(lambda a: jnp.sum(jnp.linalg.qr(a)[1] ** 2)), arr(5, 3), tolerance=1e-3)
    add("eigh_grad", jax.grad(lambda a: jnp.sum(jnp.linalg.eigh(a)[0] ** 2)), sym(4), tolerance=1e-4)
    add("svd_grad", jax.grad(lambda a: jnp.sum(jnp.linalg.svd(a, full_matrices=False)[1])), arr(5, 3), tolerance=1e-3)
    add("solve_grad", jax.grad(lambda a, b: jnp.sum(jnp.linalg.solve(a, b) ** 2)), arr(4, 4) + 4 * np.eye(4, dtype="float32"), arr(4))
    add("slogdet_grad", jax.grad(lambda a: jnp.linalg.slogdet(a)[1]), arr(4, 4) + 2 * np.eye(4, dtype="float32"), tolerance=1e-4)
    add("linalg_empty", lambda a: (jnp.linalg.cholesky(a), jnp.linalg.det(a)), np.zeros((0, 0), "float32"))
    add("linalg_vmap", jax.vmap(jax.vmap(jnp.linalg.inv)), arr(2, 3, 4, 4) + 4 * np.eye(4, dtype="float32"), tolerance=1e-4)
    add("cg", lambda a, b: jsp.sparse.linalg.cg(lambda v: a @ v, b, maxiter=20)[0], spd(6), arr(6), tolerance=1e-4)
    add("gmres", lambda a, b: jsp.sparse.linalg.gmres(lambda v: a @ v, b, maxiter=3)[0], spd(6), arr(6), tolerance=1e-3)


# --- elementwise and special functions --------------------------------------------------------------------------------

def special():
    one = {"gammaln": (0.2, 6), "digamma": (0.2, 6), "erf": (-2, 2), "erfc": (-2, 3), "erfinv": (-0.95, 0.95), "logit": (0.05, 0.95),
           "expit": (-5, 5), "i0": (-4, 4), "i0e": (-4, 4), "i1": (-4, 4), "i1e": (-4, 4), "log_ndtr": (-6, 4), "ndtr": (-4, 4), "ndtri": (0.05, 0.95),
           "entr": (0.1, 3), "gamma": (0.2, 5), "factorial": (0.5, 5), "log_softmax": (-3, 3), "softmax": (-3, 3), "logsumexp": (-3, 3),
           "spence": (0.1, 4), "expi": (0.1, 4), "exp1": (0.2, 4), "sici": (0.2, 6), "fresnel": (-2, 2), "wofz": (-2, 2)}
    for name, (low, high) in one.items():
        f = getattr(jsp.special, name, None)
        if f is not None:
            add(f"special_{name}", f, uniform(3, 8, low=low, high=high), tolerance=1e-4)
    two = {"betainc": 3, "beta": 2, "betaln": 2, "gammainc": 2, "gammaincc": 2, "zeta": 2, "xlogy": 2, "xlog1py": 2, "kl_div": 2, "rel_entr": 2,
           "hyp1f1": 3, "poch": 2, "polygamma": 2, "comb": 2}
    for name, n in two.items():
        f = getattr(jsp.special, name, None)
        if f is None:
            continue
        if name == "polygamma":
            add(f"special_{name}", lambda x: jsp.special.polygamma(2, x), uniform(2, 4, low=0.5, high=4), tolerance=1e-4)
            continue
        args = [uniform(2, 4, low=1.2 if name == "zeta" else 0.3, high=3) for _ in range(n)]
        if name == "betainc":
            args[2] = uniform(2, 4)
        add(f"special_{name}", f, *args, tolerance=2e-4)
    add("special_multigammaln", lambda x: jsp.special.multigammaln(x, 3), uniform(6, low=2, high=6), tolerance=1e-4)
    add("special_bessel_jn", lambda x: jsp.special.bessel_jn(x, v=3), uniform(4, low=0.5, high=5), tolerance=1e-3)
    add("special_sph_harm", lambda t, p: jsp.special.sph_harm_y(jnp.array([2]), jnp.array([1]), t, p, n_max=2), uniform(4), uniform(4), tolerance=1e-4)
    add("special_bernoulli", lambda: jsp.special.bernoulli(5))
    add("random_gamma_grad", lambda a, x: lax.random_gamma_grad(a, x), uniform(5, low=0.5, high=4), uniform(5, low=0.5, high=4), tolerance=1e-3)
    for grad in ("gammaln", "erf", "erfinv", "i0e", "log_ndtr", "digamma"):
        add(f"special_grad_{grad}", jax.vmap(jax.grad(getattr(jsp.special, grad))), uniform(6), tolerance=1e-4)


def elementwise():
    unary = "abs sign neg floor ceil round exp exp2 expm1 log log1p sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh logistic erf erfc erf_inv lgamma digamma is_finite square reciprocal bessel_i0e bessel_i1e".split()
    domain = {"log": (0.1, 4), "log1p": (-0.5, 4), "sqrt": (0, 4), "rsqrt": (0.1, 4), "asin": (-1, 1), "acos": (-1, 1), "acosh": (1, 4), "atanh": (-0.9, 0.9),
              "erf_inv": (-0.9, 0.9), "lgamma": (0.2, 5), "digamma": (0.2, 5), "reciprocal": (0.2, 3)}
    for name in unary:
        f = getattr(lax, name)
        low, high = domain.get(name, (-3, 3))
        for t, tol in (("float32", 2e-5), ("bfloat16", 1e-2), ("float16", 2e-3), ("float64", 1e-9)):
            add(f"{name}_{t}", f, uniform(2, 8, low=low, high=high, dtype=t), tolerance=tol, x64=t == "float64", tpu=t != "float64", shard=t == "float32")
    for name in "abs sign neg exp exp2 expm1 log log1p sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh logistic square reciprocal real imag conj is_finite".split():
        f = getattr(lax, name)
        for t, tol in (("complex64", 3e-5), ("complex128", 1e-11)):
            if name in ("is_finite", "cbrt"):
                continue
            add(f"{name}_{t}", f, arr(2, 6, dtype=t), tolerance=tol, x64=t == "complex128", tpu=t != "complex128", shard=False)
    for name in "abs sign neg bitwise_not population_count clz".split():
        for t in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "int4", "uint4"):
            if name == "abs" and (t[0] == "u" or t == "int4") or name in ("neg", "sign") and t == "uint4":
                continue
            if name == "population_count" and t == "int4":  # XLA on a CPU counts the sign's copies too
                continue
            add(f"{name}_{t}", getattr(lax, name), arr(12, dtype=t), shard=False)
    binary = "add sub mul div rem max min pow atan2 nextafter igamma igammac".split()
    for name in binary:
        for t, tol in (("float32", 2e-5), ("bfloat16", 1e-2), ("float16", 2e-3), ("float64", 1e-9)):
            if name in ("igamma", "igammac") and t == "float64":
                continue
            add(f"{name}_{t}", getattr(lax, name), uniform(2, 8, low=0.2, high=3, dtype=t), uniform(2, 8, low=0.2, high=3, dtype=t), tolerance=max(tol, 1e-4 if name[:2] == "ig" and tol < 1e-4 and t != "float64" else 0),
                x64=t == "float64", tpu=t != "float64", shard=t == "float32")
    for name in "add sub mul div pow".split():
        add(f"{name}_complex64", getattr(lax, name), arr(2, 6, dtype="complex64"), arr(2, 6, dtype="complex64"), tolerance=3e-5, shard=False)
    for name in "max min".split():
        add(f"{name}_complex64", getattr(lax, name), arr(12, dtype="complex64"), arr(12, dtype="complex64"), shard=False)
    for name in "add sub mul div rem max min bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical shift_right_arithmetic".split():
        for t in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "int4", "uint4"):
            right = ints(12, low=1, high=4).astype(jnp.dtype(t))
            add(f"{name}_{t}", getattr(lax, name), arr(12, dtype=t), np.asarray(right), shard=False)
    add("integer_pow", lambda x: (lax.integer_pow(x, 3), lax.integer_pow(x, -2), lax.integer_pow(x, 0)), arr(5) + 3)
    add("pow_int", lambda x, y: lax.pow(x, y), arr(6), ints(6, low=0, high=5))
    add("clamp", lambda x: (lax.clamp(-0.5, x, 0.5), lax.clamp(jnp.zeros(8), x[0], jnp.ones(8))), arr(2, 8))
    add("select_n", lambda w, a, b, c: lax.select_n(w, a, b, c), ints(9, high=3), arr(9), arr(9), arr(9))
    add("select_bool", lambda w, a, b: lax.select(w, a, b), arr(9, dtype=bool), arr(9), arr(9))
    add("reduce_precision", lambda x: (lax.reduce_precision(x, 5, 2), lax.reduce_precision(x, 8, 7), lax.reduce_precision(x, 4, 1)), arr(20, scale=100))
    add("reduce_precision_f64", lambda x: (lax.reduce_precision(x, 5, 0), lax.reduce_precision(x, 11, 20)), arr(20, dtype="float64"), x64=True, tpu=False)
    add("is_nan_inf", lambda x: (jnp.isnan(x), jnp.isinf(x), jnp.isposinf(x), jnp.isneginf(x), jnp.nan_to_num(x), jnp.signbit(x)), np.array([0, -0.0, 1, np.inf, -np.inf, np.nan], "float32"))
    add("frexp_ldexp", lambda x: (*jnp.frexp(x), jnp.ldexp(x, 3), *jnp.modf(x)), arr(8) * 10)
    add("floor_divide", lambda x, y: (x // y, x % y, jnp.fmod(x, y), jnp.divmod(x, y)[0], jnp.remainder(x, y)), arr(8) * 10, arr(8))
    add("floor_divide_int", lambda x, y: (x // y, x % y, jnp.fmod(x, y), jnp.gcd(x, y), jnp.lcm(x, y)), ints(8, low=-20, high=20), ints(8, low=1, high=7))
    add("round_decimals", lambda x: (jnp.round(x, 2), jnp.trunc(x), jnp.rint(x)), arr(8) * 10)
    add("hypot_logaddexp", lambda x, y: (jnp.hypot(x, y), jnp.logaddexp(x, y), jnp.logaddexp2(x, y), jnp.copysign(x, y), jnp.heaviside(x, y), jnp.float_power(x ** 2, y)), arr(8), arr(8))
    add("angle_polar", lambda x: (jnp.angle(x), jnp.abs(x), jnp.conj(x), x.real, x.imag), arr(8, dtype="complex64"))
    add("unwrap_sinc", lambda x: (jnp.unwrap(x * 4), jnp.sinc(x), jnp.deg2rad(x), jnp.i0(x)), arr(8))
    add("packbits", lambda x: (jnp.packbits(x), jnp.unpackbits(jnp.packbits(x))), arr(16, dtype=bool))
    add("bitcasts", lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.int16), lax.bitcast_convert_type(x, jnp.uint8),
                               lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.bfloat16), jnp.float32)), arr(3, 4))
    add("bitcast_narrow", lambda x: (lax.bitcast_convert_type(x, jnp.int4), lax.bitcast_convert_type(x, jnp.float8_e4m3fn).astype(jnp.float32)), arr(6, dtype="int8"))
    add("mulhi_like", lambda x, y: ((x.astype(jnp.uint32) * y.astype(jnp.uint32)) >> 16), ints(8, high=60000), ints(8, high=60000))
    add("custom_jvp", jax.vmap(jax.grad(jax.nn.relu)), arr(8))


FLOAT8 = "float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2fnuz float8_e4m3 float8_e3m4 float8_e8m0fnu float4_e2m1fn".split()
WIDE = "bool int4 uint4 int8 int16 int32 uint8 uint16 uint32 bfloat16 float16 float32".split()
EDGES = np.array([0.0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3.25, 6, 7, 100, -100, 240, 448, 449, 464, 465, 480, 1e3, 57344, 61440, 65504, 1e5, -1e5, 1e-3, 1e-5, 2e-10, 3e9, -3e9, np.inf, -np.inf, np.nan], "float32")


def conversions():
    for to in WIDE + FLOAT8:
        dtype = jnp.dtype(to)
        back = jnp.float32 if to in FLOAT8 or "int4" in to else dtype
        if "int4" in to:
            back = jnp.int8
        for source in ("float32", "bfloat16", "float16", "int32", "int8", "uint8", "bool"):
            x = EDGES if source in ("float32", "bfloat16", "float16") else ints(20, low=-100 if source[0] == "i" else 0, high=120)
            if dtype.kind in "iu" or "int" in to:
                x = x[~np.isnan(x)] if x.dtype.kind == "f" else x
            add(f"convert_{source}_{to}", functools.partial(lambda x, t, b: x.astype(t).astype(b), t=dtype, b=back), np.asarray(jnp.asarray(x).astype(source)), tolerance=0, shard=False)
    for source in FLOAT8:
        bits = np.arange(16 if source.startswith("float4") else 256, dtype="uint8")
        values = bits.view(source) if not source.startswith("float4") else bits.astype(source)
        for to in ("float32", "bfloat16", "float16", "int8", "int32", "bool"):
            x = values
            if to in ("int8", "int32") and source.startswith("float4"):  # XLA on a CPU takes them for infinite
                continue
            if to in ("int8", "int32"):
                x = values[np.isfinite(values.astype("float32"))]
            add(f"convert_{source}_to_{to}", functools.partial(lambda x, t: x.astype(t), t=to), x, tolerance=0, shard=False)
    for source, to in itertools.product(("float64", "int64", "uint64", "complex128"), ("float32", "bfloat16", "float16", "int32", "uint8", "int64", "complex64", "bool", "float8_e4m3fn", "float8_e5m2", "float64")):
        if source.startswith("complex") and not to.startswith(("complex", "bool")):
            continue
        x = EDGES.astype("float64") if source == "float64" else arr(8, dtype=source)
        if source == "float64" and to.startswith(("int", "uint")):
            x = x[np.isfinite(x)]
        add(f"convert_{source}_{to}", functools.partial(lambda x, t: x.astype(t), t=to), x, tolerance=0, x64=True, tpu=False, shard=False)


# --- dots and convolutions --------------------------------------------------------------------------------------------

def dots():
    def dot(a, b, **k):
        return lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))), **k)
    narrow = {"bfloat16": 1e-2, "float16": 2e-3, "float32": 2e-5, "int8": 0, "uint8": 0, "int4": 0, "uint4": 0, "int32": 0, "float8_e4m3fn": 1e-2, "float8_e5m2": 1e-2, "complex64": 2e-5}
    for t, tol in narrow.items():
        a, b = arr(2, 4, 8, dtype=t), arr(2, 8, 6, dtype=t)
        wide = "int32" if "int" in t else "complex64" if t[0] == "c" else "float32"
        wider = functools.partial(dot, preferred_element_type=jnp.dtype(wide))
        own = dict(cpu=False, shard=False, reference=lambda a, b: dot(a.astype(jnp.int32), b.astype(jnp.int32))) if "int4" in t else {}
        add(f"dot_{t}", wider, a, b, tolerance=max(tol, 0 if wide == "int32" else 1e-5), **own)
        if not t.startswith("float8") and "int4" not in t:
            add(f"dot_{t}_plain", dot, a, b, tolerance=tol)
    add("dot_mixed_f8", lambda a, b: dot(a, b, preferred_element_type=jnp.float32), arr(2, 4, 8, dtype="float8_e4m3fn"), arr(2, 8, 6, dtype="float8_e5m2"), tolerance=1e-3)
    add("dot_mixed_int", lambda a, b: dot(a, b, preferred_element_type=jnp.int32), arr(2, 4, 8, dtype="int8"), arr(2, 8, 6, dtype="uint8"), tolerance=0)
    add("dot_mixed_float", lambda a, b: dot(a, b, preferred_element_type=jnp.float32), arr(2, 4, 8, dtype="bfloat16"), arr(2, 8, 6), tolerance=1e-4)
    for p in ("default", "high", "highest"):
        add(f"dot_precision_{p}", functools.partial(dot, precision=p), arr(2, 4, 8), arr(2, 8, 6))
    for a in ("F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9", "F16_F16_F32", "TF32_TF32_F32", "TF32_TF32_F32_X3", "BF16_BF16_BF16"):
        cpu = a in ("F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6")
        add(f"dot_algorithm_{a}", functools.partial(dot, precision=getattr(lax.DotAlgorithmPreset, a), preferred_element_type=jnp.float32), arr(2, 4, 8), arr(2, 8, 6), tolerance=2e-2,
            cpu=cpu, shard=cpu, reference=dot)
    add("einsum", lambda a, b: (jnp.einsum("bij,bjk->bik", a, b), jnp.einsum("bij,bjk->", a, b), jnp.einsum("bij,bjk->kbi", a, b)), arr(2, 3, 4), arr(2, 4, 5))
    add("tensordot_kron", lambda a, b: (jnp.tensordot(a, b, ((1, 2), (0, 1))), jnp.kron(a[0], b[..., 0]), jnp.outer(a, b), jnp.inner(a[0], b[:, :, 0]), jnp.vdot(a, a)), arr(2, 3, 4), arr(3, 4, 5))
    add("dot_grad", jax.grad(lambda a, b: jnp.sum(jnp.sin(a @ b)), (0, 1)), arr(4, 8), arr(8, 4))
    add("ragged_dot", lambda x, w, n: lax.ragged_dot(x, w, n), arr(8, 4), arr(3, 4, 6), np.array([3, 1, 4], "int32"))
    add("ragged_dot_short", lambda x, w, n: lax.ragged_dot(x, w, n, preferred_element_type=jnp.float32), arr(8, 4, dtype="bfloat16"), arr(3, 4, 6, dtype="bfloat16"), np.array([3, 0, 2], "int32"), tolerance=1e-2)
    add("ragged_dot_grad", lambda x, w, n: jax.grad(lambda x, w: jnp.sum(lax.ragged_dot(x, w, n) ** 2), (0, 1))(x, w), arr(8, 4), arr(3, 4, 6), np.array([3, 1, 4], "int32"))
    for mode, (l, r, c) in {"contracting": ((4, 8), (8, 6), dict(dot=(((1,), (0,)), ((), ())), ragged=[1], group=[])),
                            "batch": ((8, 2, 4), (8, 4, 6), dict(dot=(((2,), (1,)), ((0,), (0,))), ragged=[0], group=[]))}.items():
        dims = lax.RaggedDotDimensionNumbers(dot_dimension_numbers=c["dot"], lhs_ragged_dimensions=c["ragged"], rhs_group_dimensions=c["group"])
        add(f"ragged_dot_{mode}", functools.partial(lambda x, y, n, d: lax.ragged_dot_general(x, y, n, d), d=dims), arr(*l), arr(*r), np.array([3, 1, 4], "int32"))
    if hasattr(lax, "scaled_dot"):
        add("scaled_dot", lambda a, b, x, y: lax.scaled_dot(a, b, lhs_scale=x, rhs_scale=y, preferred_element_type=jnp.float32), arr(4, 64, dtype="float8_e4m3fn"), arr(64, 6, dtype="float8_e4m3fn"),
            np.asarray(np.full((4, 2), 2, "float32").astype("float8_e8m0fnu")), np.asarray(np.full((2, 6), 0.5, "float32").astype("float8_e8m0fnu")), tolerance=1e-3, tpu=False)


def convolutions():
    def conv(**k):
        def f(x, w):
            return lax.conv_general_dilated(x, w, **k)
        return f
    nhwc = dict(dimension_numbers=("NHWC", "HWIO", "NHWC"))
    forms = {
        "same": ((2, 8, 8, 3), (3, 3, 3, 4), dict(window_strides=(1, 1), padding="SAME", **nhwc)),
        "valid_stride": ((2, 9, 8, 3), (3, 2, 3, 4), dict(window_strides=(2, 3), padding="VALID", **nhwc)),
        "nchw": ((2, 3, 8, 8), (4, 3, 3, 3), dict(window_strides=(1, 2), padding=((1, 2), (0, 1)))),
        "lhs_dilated": ((2, 5, 5, 3), (3, 3, 3, 4), dict(window_strides=(1, 1), padding=((2, 2), (1, 1)), lhs_dilation=(2, 3), **nhwc)),
        "rhs_dilated": ((2, 9, 9, 3), (3, 3, 3, 4), dict(window_strides=(1, 1), padding="SAME", rhs_dilation=(2, 3), **nhwc)),
        "depthwise": ((2, 8, 8, 4), (3, 3, 1, 8), dict(window_strides=(1, 1), padding="SAME", feature_group_count=4, **nhwc)),
        "grouped": ((2, 8, 8, 6), (3, 3, 3, 4), dict(window_strides=(1, 1), padding="SAME", feature_group_count=2, **nhwc)),
        "batch_grouped": ((4, 8, 8, 3), (3, 3, 3, 4), dict(window_strides=(1, 1), padding="SAME", batch_group_count=2, **nhwc)),
        "negative_padding": ((2, 8, 8, 3), (3, 3, 3, 4), dict(window_strides=(1, 1), padding=((-1, 2), (-2, -1)), **nhwc)),
        "1d": ((2, 8, 3), (3, 3, 4), dict(window_strides=(2,), padding="SAME", dimension_numbers=("NWC", "WIO", "NWC"))),
        "3d": ((2, 4, 5, 6, 3), (2, 3, 2, 3, 4), dict(window_strides=(1, 2, 1), padding="SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))),
        "0d": ((2, 3), (3, 4), dict(window_strides=(), padding=(), dimension_numbers=((0, 1), (1, 0), (0, 1)) if False else lax.ConvDimensionNumbers((0, 1), (1, 0), (0, 1)))),
    }
    for name, (x, w, k) in forms.items():
        for t, tol in (("float32", 3e-5), ("bfloat16", 2e-2), ("complex64", 3e-5), ("int32", 0)):
            if t != "float32" and name not in ("same", "grouped", "lhs_dilated", "batch_grouped"):
                continue
            add(f"conv_{name}_{t}", conv(**k), arr(*x, dtype=t), arr(*w, dtype=t), tolerance=tol, shard=t == "float32")
        add(f"conv_{name}_grad", (lambda f: jax.grad(lambda x, w: jnp.sum(f(x, w) ** 2), (0, 1)))(conv(**k)), arr(*x), arr(*w), tolerance=5e-5)
    add("conv_int8", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", preferred_element_type=jnp.int32, **nhwc), arr(2, 6, 6, 3, dtype="int8"), arr(3, 3, 3, 4, dtype="int8"), tolerance=0)
    add("conv_transpose", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", **nhwc), arr(2, 5, 5, 3), arr(3, 3, 3, 4))
    add("conv_transpose_kernel", lambda x, w: lax.conv_transpose(x, w, (2, 2), "VALID", transpose_kernel=True, **nhwc), arr(2, 5, 5, 4), arr(3, 3, 3, 4))
    add("conv_patches", lambda x: lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME"), arr(2, 3, 6, 6))
    add("conv_local", lambda x, w: lax.conv_general_dilated_local(x, w, (1,), "VALID", (3,)), arr(2, 3, 8), arr(4, 9, 6))
    add("np_convolve", lambda x, w: (jnp.convolve(x, w, "full"), jnp.convolve(x, w, "same"), jnp.correlate(x, w, "valid")), arr(10), arr(3))
    add("signal_convolve2d", lambda x, w: jsp.signal.convolve2d(x, w), arr(6, 5), arr(3, 2))
    add("signal_fftconvolve", lambda x, w: jsp.signal.fftconvolve(x, w), arr(12), arr(5), tolerance=1e-4)
    add("signal_stft", lambda x: jsp.signal.stft(x, nperseg=8)[2], arr(32), tolerance=1e-4)
    add("signal_detrend", lambda x: jsp.signal.detrend(x), arr(12), tolerance=1e-4)
    add("signal_welch", lambda x: jsp.signal.welch(x, nperseg=8)[1], arr(32), tolerance=1e-3)


# --- fft --------------------------------------------------------------------------------------------------------------

def ffts():
    z, x = arr(4, 6, 8, dtype="complex64"), arr(4, 6, 8)
    o = dict(tolerance=1e-4)
    for name in "fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split():
        real = name.startswith(("rfft", "ihfft"))
        add(f"fft_{name}", getattr(jnp.fft, name), x if real else z, **o)
    for n in (5, 7, 12, 16):
        add(f"fft_n{n}", functools.partial(lambda z, x, n: (jnp.fft.fft(z, n), jnp.fft.rfft(x, n), jnp.fft.irfft(z, n), jnp.fft.ifft(z, n, axis=1)), n=n), z, x, **o)
    add("fft_norms", lambda z: (jnp.fft.fft(z, norm="ortho"), jnp.fft.ifft(z, norm="forward"), jnp.fft.fftshift(z), jnp.fft.ifftshift(z)), z, **o)
    add("fft_freq", lambda x: (jnp.fft.fftfreq(7) + x, jnp.fft.rfftfreq(12) + x), arr(7))
    add("fft_f64", lambda x: (jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(x.astype("complex128"))), arr(3, 9, dtype="float64"), tolerance=1e-11, x64=True, tpu=False)
    add("fft_grad", jax.grad(lambda x: jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2)), arr(3, 8), **o)
    add("dct", lambda x: (jsp.fft.dct(x), jsp.fft.idct(x), jsp.fft.dctn(x)), arr(4, 8), **o)


# --- random -----------------------------------------------------------------------------------------------------------

def randoms():
    r = jax.random
    distributions = {
        "uniform": lambda k: r.uniform(k, (3, 5)), "uniform_range": lambda k: r.uniform(k, (7,), minval=-2, maxval=5), "uniform_bf16": lambda k: r.uniform(k, (6,), jnp.bfloat16),
        "normal": lambda k: r.normal(k, (3, 5)), "normal_bf16": lambda k: r.normal(k, (6,), jnp.bfloat16), "normal_f16": lambda k: r.normal(k, (6,), jnp.float16), "normal_complex": lambda k: r.normal(k, (4,), jnp.complex64),
        "bits32": lambda k: r.bits(k, (7,)), "bits8": lambda k: r.bits(k, (7,), jnp.uint8), "bits16": lambda k: r.bits(k, (5, 3), jnp.uint16),
        "randint": lambda k: r.randint(k, (9,), -5, 17), "randint8": lambda k: r.randint(k, (9,), -5, 17, jnp.int8), "bernoulli": lambda k: r.bernoulli(k, 0.3, (8,)),
        "permutation": lambda k: r.permutation(k, 9), "permutation_rows": lambda k: r.permutation(k, jnp.arange(12.).reshape(4, 3), independent=True), "choice": lambda k: r.choice(k, 20, (5,)),
        "choice_no_replace": lambda k: r.choice(k, 20, (5,), replace=False), "choice_p": lambda k: r.choice(k, 4, (6,), p=jnp.array([.1, .2, .3, .4])),
        "categorical": lambda k: r.categorical(k, jnp.arange(12.).reshape(3, 4)), "gumbel": lambda k: r.gumbel(k, (5,)), "exponential": lambda k: r.exponential(k, (5,)),
        "laplace": lambda k: r.laplace(k, (5,)), "logistic": lambda k: r.logistic(k, (5,)), "cauchy": lambda k: r.cauchy(k, (5,)), "gamma": lambda k: r.gamma(k, jnp.array([0.5, 1.0, 3.0])),
        "beta": lambda k: r.beta(k, 2.0, 3.0, (4,)), "dirichlet": lambda k: r.dirichlet(k, jnp.array([1., 2., 3.]), (2,)), "poisson": lambda k: r.poisson(k, jnp.array([1.0, 5.0, 20.0])),
        "truncated_normal": lambda k: r.truncated_normal(k, -1, 2, (5,)), "rademacher": lambda k: r.rademacher(k, (6,)), "maxwell": lambda k: r.maxwell(k, (4,)), "double_sided_maxwell": lambda k: r.double_sided_maxwell(k, 0.0, 1.0, (4,)),
        "weibull": lambda k: r.weibull_min(k, 1.0, 2.0, (4,)), "pareto": lambda k: r.pareto(k, 2.0, (4,)), "t": lambda k: r.t(k, 3.0, (4,)), "chisquare": lambda k: r.chisquare(k, 3.0, shape=(4,)), "f": lambda k: r.f(k, 3.0, 4.0, (4,)),
        "generalized_normal": lambda k: r.generalized_normal(k, 2.0, (4,)), "loggamma": lambda k: r.loggamma(k, 0.3, (4,)), "orthogonal": lambda k: jnp.abs(r.orthogonal(k, 4)), "ball": lambda k: r.ball(k, 3, 2.0, (4,)),
        "rayleigh": lambda k: r.rayleigh(k, 2.0, (4,)), "wald": lambda k: r.wald(k, 2.0, (4,)), "geometric": lambda k: r.geometric(k, 0.3, (4,)), "triangular": lambda k: r.triangular(k, 0.0, 0.3, 1.0, (4,)),
        "lognormal": lambda k: r.lognormal(k, 1.0, (4,)), "binomial": lambda k: r.binomial(k, 10, 0.4, (4,)), "multinomial": lambda k: r.multinomial(k, 10, jnp.array([.2, .3, .5])),
        "multivariate_normal": lambda k: r.multivariate_normal(k, jnp.zeros(3), jnp.eye(3) + 0.2), "split": lambda k: r.key_data(r.split(k, 3)), "fold_in": lambda k: r.key_data(r.fold_in(k, 7)),
        "dropout": lambda k: jnp.where(r.bernoulli(k, 0.9, (4, 8)), jnp.ones((4, 8)), 0)}
    for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
        for name, f in distributions.items():
            if impl != "threefry2x32" and name in ("gamma", "beta", "dirichlet", "poisson", "t", "chisquare", "f", "loggamma", "generalized_normal", "wald", "binomial", "multinomial", "orthogonal", "multivariate_normal", "weibull", "pareto", "rayleigh"):
                continue
            data = np.array([1, 2], "uint32") if impl == "threefry2x32" else np.array([1, 2, 3, 4], "uint32")
            add(f"random_{impl}_{name}", functools.partial(lambda d, f, impl: f(jax.random.wrap_key_data(d, impl=impl)), f=f, impl=impl), data, tolerance=1e-4, shard=impl == "threefry2x32", tpu=impl == "threefry2x32")
        add(f"random_{impl}_seed", functools.partial(lambda s, impl: jax.random.key_data(jax.random.key(s, impl=impl)), impl=impl), np.int32(42))
        add(f"random_{impl}_vmap", functools.partial(lambda d, impl: jax.vmap(lambda k: jax.random.uniform(k, (3,)))(jax.random.wrap_key_data(d, impl=impl)), impl=impl), ints(4, 2 if impl == "threefry2x32" else 4, dtype="uint32"), tpu=impl == "threefry2x32")
    for a in ("RNG_DEFAULT", "RNG_THREE_FRY", "RNG_PHILOX"):
        add(f"rng_bits_{a}", functools.partial(lambda k, a: (*lax.rng_bit_generator(k, (5, 3), algorithm=a), *lax.rng_bit_generator(k, (4, 2), jnp.uint8, algorithm=a), *lax.rng_bit_generator(k, (7,), jnp.uint16, algorithm=a)), a=getattr(lax.RandomAlgorithm, a)),
            ints(4 if a != "RNG_THREE_FRY" else 2 * 2, dtype="uint32"), tpu=False, shard=False)
    add("random_partitionable_off", lambda d: jax.random.normal(jax.random.wrap_key_data(d), (8, 4)), np.array([3, 4], "uint32"))


# --- windows, sorts, indices ------------------------------------------------------------------------------------------

def windows():
    forms = {"max_pool": (lax.max, -np.inf, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"), "sum_pool": (lax.add, 0.0, (1, 3, 3, 1), (1, 1, 1, 1), "VALID"), "min_pool": (lax.min, np.inf, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")}
    for name, (op, init, size, stride, padding) in forms.items():
        f = functools.partial(lambda x, op, init, size, stride, padding: lax.reduce_window(x, init, op, size, stride, padding), op=op, init=init, size=size, stride=stride, padding=padding)
        add(name, f, arr(2, 8, 8, 3))
        add(f"{name}_bf16", f, arr(2, 8, 8, 3, dtype="bfloat16"), tolerance=2e-2)
        add(f"{name}_grad", (lambda f: jax.grad(lambda x: jnp.sum(f(x) ** 2)))(f), arr(2, 8, 8, 3))
    add("avg_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4, arr(2, 7, 8, 3))
    add("window_dilated", lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), ((1, 1), (0, 2)), base_dilation=(2, 1), window_dilation=(1, 2)), arr(6, 9))
    add("window_product", lambda x: lax.reduce_window(x, 1.0, lax.mul, (2, 2), (1, 1), "VALID"), arr(6, 6))
    add("window_general", lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b * b, (2, 2), (1, 1), "VALID"), arr(6, 6))
    add("window_logical", lambda x: lax.reduce_window(x > 0, False, lax.bitwise_or, (2, 2), (1, 1), "SAME"), arr(6, 6))
    add("window_several", lambda x, y: lax.reduce_window((x, y), (0.0, jnp.int32(0)), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), (2, 2), (1, 1), "VALID"), arr(6, 6), ints(6, 6))
    add("select_and_gather_grad", lambda x: jax.jvp(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "VALID"), (x,), (x * 2,))[1], arr(6, 6))
    add("max_pool_overlap_grad", jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), "SAME") ** 2)), arr(7, 9))
    for name in "cumsum cumprod cummax cummin cumlogsumexp".split():
        f = getattr(lax, name)
        add(name, functools.partial(lambda x, f: (f(x, 0), f(x, 1, reverse=True)), f=f), arr(8, 12, scale=0.7), tolerance=5e-5)
        if name != "cumlogsumexp":
            add(f"{name}_int", functools.partial(lambda x, f: f(x, 1), f=f), ints(4, 8, low=-3, high=4))
        add(f"{name}_grad", functools.partial(jax.grad(lambda x, f: jnp.sum(jnp.sin(f(x, 0)))), f=f), arr(8, 4, scale=0.7), tolerance=5e-5)
    add("associative_scan", lambda x: (lax.associative_scan(jnp.add, x), lax.associative_scan(lambda a, b: a * b + b, x, reverse=True)), arr(9, 3, scale=0.5))
    add("nn_pools", lambda x: (jnp.max(x.reshape(2, 4, 2, 4, 2, 3), (2, 4)), jnp.mean(x, (1, 2))), arr(2, 8, 8, 3))


def sorts():
    special = np.array([3, np.nan, -0.0, 0.0, np.inf, -np.inf, 1, 2, 1, -5, np.nan, 0], "float32")
    add("sort_nan", lambda x: (jnp.sort(x), jnp.argsort(x), jnp.sort(x, descending=True), jnp.argsort(x, descending=True)), special)
    add("sort_2d", lambda x: (jnp.sort(x, 0), jnp.sort(x, 1), jnp.argsort(x, 0), jnp.argsort(x, 1, stable=False)), arr(8, 6))
    add("sort_complex", lambda x: jnp.sort(x), np.round(arr(10, dtype="complex64")))
    for t in ("int8", "uint32", "bfloat16", "float16", "bool", "int4"):
        add(f"sort_{t}", lambda x: (jnp.sort(x), jnp.argsort(x)), arr(16, dtype=t))
    add("sort_keys", lambda a, b, c: lax.sort((a, b, c), num_keys=2), ints(16, high=3).astype("float32"), ints(16, high=4), arr(16))
    add("sort_five", lambda a, b: lax.sort((a, b, a + 1, b * 2, a * b.astype("float32")), dimension=0, num_keys=1), ints(16, high=5).astype("float32"), ints(16, high=4))
    add("lexsort", lambda a, b: jnp.lexsort((a, b)), ints(16, high=3), ints(16, high=3))
    add("sort_grad", jax.grad(lambda x: jnp.sum(jnp.sort(x) * jnp.arange(8.))), arr(8))
    add("unique", lambda x: jnp.unique(x, size=6, fill_value=-1, return_index=True, return_inverse=True, return_counts=True), ints(12, high=5))
    add("nonzero", lambda x: (*jnp.nonzero(x > 0, size=10, fill_value=-1), *jnp.where(x > 0, size=4), jnp.argwhere(x > 0, size=5)), arr(4, 5))
    add("searchsorted", lambda a, v: tuple(jnp.searchsorted(a, v, side=s, method=m) for s in ("left", "right") for m in ("scan", "scan_unrolled", "sort", "compare_all")), np.sort(arr(12)), arr(7))
    add("digitize_hist", lambda x: (jnp.digitize(x, jnp.array([-1., 0., 1.])), jnp.histogram(x, 5)[0], jnp.bincount(jnp.abs(x * 3).astype(int), length=6), jnp.histogram2d(x, x, 3)[0]), arr(20))
    for k in (1, 3, 8):
        add(f"top_k_{k}", functools.partial(lambda x, k: lax.top_k(x, k), k=k), arr(4, 8))
    add("top_k_ties", lambda x: lax.top_k(x, 4), ints(3, 9, high=3).astype("float32"))
    add("top_k_nan", lambda x: lax.top_k(x, 5), special)
    add("top_k_int", lambda x: lax.top_k(x, 4), ints(3, 9, low=-9))
    add("top_k_bf16", lambda x: lax.top_k(x, 4), arr(3, 9, dtype="bfloat16"))
    add("top_k_grad", jax.grad(lambda x: jnp.sum(lax.top_k(x, 3)[0] ** 2)), arr(4, 8))
    add("approx_max_k", lambda x: lax.approx_max_k(x, 4, recall_target=1.0), arr(4, 64))
    add("approx_min_k", lambda x: lax.approx_min_k(x, 3, recall_target=1.0), arr(4, 64))
    add("approx_max_k_default", lambda x: lax.approx_max_k(x, 4), arr(4, 32))
    add("argminmax", lambda x: (jnp.argmax(x), jnp.argmin(x, 0), jnp.argmax(x, 1), jnp.nanargmax(x)), arr(5, 7))
    add("median_quantile", lambda x: (jnp.median(x), jnp.quantile(x, 0.3, axis=1), jnp.percentile(x, jnp.array([10., 90.])), jnp.nanmedian(x, 0)), arr(5, 7))
    add("partition", lambda x: (jnp.partition(x, 3), jnp.argpartition(x, 3)[..., :1] * 0), arr(4, 9))
    add("rankdata", lambda x: jsp.stats.rankdata(x), ints(10, high=5))
    add("mode", lambda x: jsp.stats.mode(x).mode, ints(12, high=4))
    add("setops", lambda a, b: (jnp.isin(a, b), jnp.intersect1d(a, b, size=4), jnp.union1d(a, b, size=8), jnp.setdiff1d(a, b, size=4)), ints(6), ints(5))


def indices():
    x, i = arr(6, 8), np.array([1, 5, -1, 7, -9], "int32")
    for mode in ("clip", "fill", "wrap", "promise_in_bounds", None):
        j = np.array([1, 5, 0, 3], "int32") if mode == "promise_in_bounds" else i
        add(f"take_{mode}", functools.partial(lambda x, i, mode: (jnp.take(x, i, axis=0, mode=mode), jnp.take(x, i, axis=1, mode=mode)) if mode != "promise_in_bounds" else x.at[i].get(mode=mode), mode=mode), x, j)
    for mode in ("drop", "clip", "promise_in_bounds", None):
        j = np.array([1, 5, 1, 3], "int32") if mode == "promise_in_bounds" else np.array([1, 5, -1, 7], "int32")
        add(f"scatter_{mode}", functools.partial(lambda x, i, u, mode: (x.at[i].add(u, mode=mode), x.at[i].mul(u, mode=mode), x.at[i].min(u, mode=mode), x.at[i].max(u, mode=mode), x.at[i].subtract(u, mode=mode)), mode=mode), x, j, arr(4, 8))
        add(f"scatter_set_{mode}", functools.partial(lambda x, i, u, mode: x.at[:, i].set(u, mode=mode), mode=mode), x, np.array([1, 5, 2, 7], "int32"), arr(6, 4))
    add("scatter_apply", lambda x, i: x.at[i].apply(jnp.sin), x, np.array([1, 5, 2], "int32"))
    add("scatter_2d", lambda x, i, j, u: x.at[i, j].add(u), x, ints(9, high=6), ints(9), arr(9))
    add("scatter_bf16", lambda x, i, u: x.at[i].add(u), arr(6, 8, dtype="bfloat16"), np.array([1, 5, 1], "int32"), arr(3, 8, dtype="bfloat16"), tolerance=2e-2)
    add("scatter_pow", lambda x, i: (x.at[i].power(2.0), x.at[i].divide(3.0)), x, np.array([1, 5], "int32"))
    add("scatter_bool", lambda x, i: (x > 0).at[i].set(True), x, np.array([1, 5], "int32"))
    add("gather_2d", lambda x, i, j: (x[i, j], x[i][:, j], x[:, j, None]), x, ints(5, high=6), ints(5))
    add("gather_grad", jax.grad(lambda x, i: jnp.sum(x[i] ** 2)), x, np.array([1, 5, 1], "int32"))
    add("take_along", lambda x, i: (jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x, i % 6, 0)), x, ints(6, 8))
    add("take_along_grad", jax.grad(lambda x, i: jnp.sum(jnp.take_along_axis(x, i, 1) ** 2)), x, ints(6, 3))
    add("put_along", lambda x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False), x, ints(6, 1), arr(6, 1))
    add("gather_vmap", jax.vmap(lambda x, i: x[i]), arr(4, 8, 3), ints(4, 5))
    add("gather_vmap_dynamic", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, 0), (3, 2))), arr(4, 8, 3), ints(4))
    add("scatter_vmap", jax.vmap(lambda x, i, u: x.at[i].add(u)), arr(4, 8), ints(4, 5), arr(4, 5))
    add("scatter_vmap_update", jax.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0))), arr(4, 8, 3), arr(4, 2, 3), ints(4))
    add("dynamic_slices", lambda x, i: (lax.dynamic_slice(x, (i, i), (2, 3)), lax.dynamic_update_slice(x, x[:2, :3], (i, 7)), lax.dynamic_index_in_dim(x, i), lax.dynamic_slice_in_dim(x, i - 20, 2)), x, np.int32(4))
    add("index_negative_step", lambda x: (x[::-1, ::2], x[-2:, 3:-1], x[..., None, 2], x[jnp.array([True, False, True, True, False, True])]) if False else (x[::-1, ::2], x[-2:, 3:-1], x[..., None, 2]), x)
    add("segment_sum", lambda x, s: (jax.ops.segment_sum(x, s, 5), jax.ops.segment_max(x, s, 5), jax.ops.segment_min(x, s, 5), jax.ops.segment_prod(x, s, 5)), arr(12, 3), ints(12, high=5))
    add("bincount_weights", lambda i, w: jnp.bincount(i, w, length=6), ints(12, high=6), arr(12))
    add("one_hot", lambda i: jax.nn.one_hot(i, 6), ints(8))
    add("tril_diag", lambda x: (jnp.tril(x), jnp.triu(x, 1), jnp.diag(x), jnp.diag(x[0]), jnp.diagonal(x, 1), jnp.trace(x), jnp.fill_diagonal(x, 3.0, inplace=False)), arr(8, 8))
    add("roll_flip", lambda x: (jnp.roll(x, 3, 1), jnp.roll(x, (1, -2), (0, 1)), jnp.flip(x), jnp.rot90(x), jnp.fliplr(x), jnp.moveaxis(x, 0, 1)), x)
    add("roll_dynamic", lambda x, n: jnp.roll(x, n, 1), x, np.int32(3))
    add("repeat_tile", lambda x: (jnp.repeat(x, 2, 0), jnp.repeat(x, jnp.array([1, 2, 0, 1, 1, 1]), 0, total_repeat_length=6), jnp.tile(x, (2, 1)), jnp.resize(x, (5, 7))), x)
    add("pads", lambda x: tuple(jnp.pad(x, ((1, 2), (0, 3)), m) for m in ("constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "minimum", "empty")[:9]), x)
    add("lax_pad", lambda x: (lax.pad(x, 1.0, ((1, -2, 1), (-1, 2, 0))), lax.pad(x, 0.0, ((0, 0, 2), (-3, -2, 1)))), x)
    add("stacks", lambda x: (jnp.stack([x, x]), jnp.concatenate([x, x[:2]]), jnp.hstack([x, x]), *jnp.split(x, 2), *jnp.array_split(x, 3, 1), jnp.block([[x, x], [x, x]]), jnp.dstack([x, x])), x)
    add("insert_delete", lambda x: (jnp.insert(x, 2, 9.0, axis=0), jnp.delete(x, 1, axis=1), jnp.append(x, x[:1], 0)), x)
    add("select_choose", lambda x: (jnp.select([x > 0, x < -1], [x, -x], 7.0), jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * 2])), x)
    add("interp", lambda x: jnp.interp(x, jnp.linspace(-2, 2, 9), jnp.sin(jnp.linspace(-2, 2, 9))), arr(10))
    add("map_coordinates", lambda x, c: (jsp.ndimage.map_coordinates(x, list(c), 1, mode="nearest"), jsp.ndimage.map_coordinates(x, list(c), 0, mode="wrap"), jsp.ndimage.map_coordinates(x, list(c), 1, mode="mirror")), x, uniform(2, 5, low=-1, high=7), tolerance=1e-4)
    add("embedding_grad", jax.grad(lambda w, i: jnp.sum(jnp.sin(w[i]))), arr(10, 4), ints(3, 5, high=10))


# --- reductions, control flow, nn -------------------------------------------------------------------------------------

def reductions():
    x = arr(4, 6, 8)
    add("reductions", lambda x: (jnp.sum(x), jnp.prod(x, 1), jnp.max(x, (0, 2)), jnp.min(x), jnp.mean(x, 0), jnp.var(x, 1), jnp.std(x), jnp.ptp(x), jnp.median(x, 0)), x)
    add("reductions_nan", lambda x: (jnp.nansum(x), jnp.nanmean(x), jnp.nanmax(x), jnp.nanstd(x), jnp.max(x)), np.array([1, np.nan, 3, -2], "float32"))
    add("reductions_bool", lambda x: (jnp.all(x > 0, 0), jnp.any(x > 1, 1), jnp.count_nonzero(x > 0), lax.reduce_xor(x > 0, (0,)) if hasattr(lax, "reduce_xor") else x), x)
    add("reductions_int", lambda x: (jnp.sum(x, 0), jnp.prod(x, 1), jnp.max(x), lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,)), lax.reduce_xor(x, (0, 1))), ints(4, 6, low=-3))
    add("reductions_bf16", lambda x: (jnp.sum(x), jnp.mean(x, 0), jnp.max(x, 1), jnp.var(x)), arr(4, 8, dtype="bfloat16"), tolerance=2e-2)
    add("reductions_complex", lambda x: (jnp.sum(x), jnp.prod(x, 0), jnp.mean(x, 1), jnp.var(x)), arr(4, 6, dtype="complex64"))
    add("reduce_general", lambda x: lax.reduce(x, 0.0, lambda a, b: a + b + a * b, (1,)), arr(4, 6))
    add("reduce_several", lambda x, i: lax.reduce((x, i), (-jnp.inf, jnp.int32(0)), lambda a, b: (lax.max(a[0], b[0]), a[1] + b[1]), (1,)), arr(4, 6), ints(4, 6))
    add("average_cov", lambda x: (jnp.average(x, 0, jnp.arange(4.) + 1), jnp.cov(x), jnp.corrcoef(x)), arr(4, 9))
    add("stats", lambda x: (jsp.stats.norm.logpdf(x), jsp.stats.norm.cdf(x), jsp.stats.t.logpdf(x, 3.0), jsp.stats.poisson.logpmf(jnp.abs(jnp.round(x)), 2.0), jsp.stats.laplace.cdf(x), jsp.stats.gamma.logpdf(jnp.abs(x) + .1, 2.0),
                            jsp.stats.beta.logpdf(jax.nn.sigmoid(x), 2., 3.), jsp.stats.norm.ppf(jax.nn.sigmoid(x)), jsp.stats.cauchy.pdf(x), jsp.stats.uniform.pdf(x)), arr(8), tolerance=1e-4)
    add("stats_discrete", lambda x: (jsp.stats.binom.logpmf(x, 10, 0.3), jsp.stats.geom.pmf(x + 1, 0.3), jsp.stats.nbinom.logpmf(x, 5, 0.3), jsp.stats.betabinom.logpmf(x, 10, 2., 3.), jsp.stats.gaussian_kde(x.astype("float32") + jnp.arange(6.) * 0.1).evaluate(jnp.arange(3.))), ints(6), tolerance=1e-3)
    add("polynomials", lambda p, x: (jnp.polyval(p, x), jnp.polyadd(p, p[:2]), jnp.polymul(p, p), jnp.polyder(p), jnp.polyint(p)), arr(4), arr(6))
    add("polyfit", lambda x, y: jnp.polyfit(x, y, 2), arr(8), arr(8), tolerance=1e-3)
    add("roots", lambda p: jnp.sort(jnp.abs(jnp.roots(p, strip_zeros=False))), arr(4), tolerance=1e-3, tpu=False)
    add("trapezoid_diff", lambda x: (jnp.trapezoid(x), jnp.diff(x, 2), jnp.ediff1d(x), jnp.gradient(x), jnp.cross(x[:, :3], x[:, 3:6])), arr(3, 8))
    add("vander_meshgrid", lambda x: (jnp.vander(x, 4), *jnp.meshgrid(x, x[:3]), jnp.linspace(x[0], x[1], 5), jnp.geomspace(1., 8., 4) + x[0], jnp.tri(4) + x[0], jnp.hanning(8) + x[0], jnp.kaiser(8, 3.0) + x[0]), arr(5), tolerance=1e-4)
    add("integrals", lambda x: jsp.integrate.trapezoid(x, dx=0.5), arr(3, 8))


def control():
    add("fori", lambda x, n: lax.fori_loop(0, n, lambda i, v: jnp.sin(v) + i, x), arr(4, 4), np.int32(5))
    add("fori_static", lambda x: lax.fori_loop(0, 4, lambda i, v: v.at[i].set(i * 2.0), x), arr(4, 4))
    add("while", lambda x: lax.while_loop(lambda v: jnp.sum(v) < 50, lambda v: v * 1.5 + 1, x), uniform(4))
    add("scan", lambda x, c: lax.scan(lambda c, v: (c * 0.5 + v, c @ v[:, None]), c, x), arr(6, 4), arr(4))
    add("scan_reverse", lambda x: lax.scan(lambda c, v: (c + v, c * v), jnp.zeros(4), x, reverse=True), arr(6, 4))
    add("scan_grad", jax.grad(lambda x, c: jnp.sum(lax.scan(lambda c, v: (jnp.tanh(c * 0.5 + v), c), c, x)[1] ** 2), (0, 1)), arr(6, 4), arr(4))
    add("scan_remat", jax.grad(lambda x, c: jnp.sum(lax.scan(jax.checkpoint(lambda c, v: (jnp.tanh(c * 0.5 + v), c)), c, x)[1] ** 2), (0, 1)), arr(6, 4), arr(4))
    add("scan_unroll", lambda x: lax.scan(lambda c, v: (c + v, c), jnp.zeros(4), x, unroll=2)[1], arr(6, 4))
    add("lax_map", lambda x: (lax.map(lambda v: jnp.sum(v) * v, x), lax.map(jnp.sin, x, batch_size=4)), arr(6, 4))
    add("cond_branches", lambda p, x: lax.cond(p, lambda v: v * 2, lambda v: v - 1, x), np.bool_(True), arr(4, 4))
    add("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda v: v * 0], x), np.int32(1), arr(4, 4))
    add("cond_vmap", jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x)), arr(4, dtype=bool), arr(4, 4))
    add("while_vmap", jax.vmap(lambda x: lax.while_loop(lambda v: v < 10, lambda v: v * 2, x)), uniform(8))
    add("custom_root", lambda a: lax.custom_root(lambda x: x * x - a, 1.0, lambda f, x0: lax.fori_loop(0, 20, lambda i, x: x - f(x) / (2 * x), x0), lambda g, y: y / g(1.0)), np.float32(3.0))
    add("custom_linear_solve", lambda a, b: lax.custom_linear_solve(lambda v: a @ v, b, lambda mv, b: jnp.linalg.solve(a, b)), spd(4), arr(4))
    add("jacobians", lambda x: (jax.jacfwd(lambda v: jnp.sin(v) * v[0])(x), jax.jacrev(lambda v: jnp.cos(v) * v[1])(x), jax.hessian(lambda v: jnp.sum(v ** 3))(x)), arr(4))
    add("optimization_barrier", lambda x: lax.optimization_barrier((x, x * 2)), arr(4, 4))
    add("stop_gradient", jax.grad(lambda x: jnp.sum(lax.stop_gradient(x) * x)), arr(4, 4))
    add("iotas", lambda x: (lax.iota(jnp.float32, 6) + x[0, 0], lax.broadcasted_iota(jnp.int32, (3, 4), 1), jnp.arange(2, 20, 3), jnp.indices((2, 3))), arr(2, 2))
    add("token_order", lambda x: lax.after_all(lax.create_token()) and x * 2 if False else x * 2, arr(4))


def networks():
    nn = jax.nn
    for name in "relu relu6 sigmoid softplus soft_sign silu log_sigmoid leaky_relu hard_sigmoid hard_silu hard_tanh elu celu selu gelu glu squareplus mish sparse_plus sparse_sigmoid identity tanh".split():
        f = getattr(nn, name)
        add(f"nn_{name}", f, arr(4, 8), tolerance=5e-5)
        add(f"nn_{name}_grad", (lambda f: jax.grad(lambda x: jnp.sum(f(x) ** 2)))(f), arr(4, 8), tolerance=5e-5)
    add("nn_softmax", lambda x: (nn.softmax(x), nn.log_softmax(x, 0), nn.logsumexp(x), nn.standardize(x), nn.log1mexp(jnp.abs(x) + 0.1), nn.softmax(x, where=x > -1)), arr(4, 8), tolerance=5e-5)
    add("nn_softmax_bf16", lambda x: (nn.softmax(x), nn.log_softmax(x)), arr(4, 8, dtype="bfloat16"), tolerance=2e-2)
    for causal in (False, True):
        add(f"attention_causal{int(causal)}", functools.partial(lambda q, k, v, c: nn.dot_product_attention(q, k, v, is_causal=c), c=causal), arr(2, 8, 4, 8), arr(2, 8, 2, 8), arr(2, 8, 2, 8), tolerance=5e-5)
    add("attention_bf16", lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), arr(2, 8, 4, 8, dtype="bfloat16"), arr(2, 8, 4, 8, dtype="bfloat16"), arr(2, 8, 4, 8, dtype="bfloat16"), tolerance=2e-2)
    add("attention_grad", jax.grad(lambda q, k, v: jnp.sum(nn.dot_product_attention(q, k, v) ** 2), (0, 1, 2)), arr(2, 8, 4, 8), arr(2, 8, 4, 8), arr(2, 8, 4, 8), tolerance=1e-4)
    init = nn.initializers
    for name in "he_normal lecun_uniform orthogonal glorot_normal truncated_normal delta_orthogonal".split():
        shape = (3, 4, 4) if name == "delta_orthogonal" else (8, 4)
        add(f"init_{name}", functools.partial(lambda d, f, s: jnp.abs(f()(jax.random.wrap_key_data(d), s)), f=getattr(init, name), s=shape), np.array([1, 2], "uint32"), tolerance=1e-4)
    for method in ("nearest", "linear", "cubic", "lanczos3", "lanczos5"):
        add(f"resize_{method}", functools.partial(lambda x, m: (jax.image.resize(x, (2, 12, 5, 3), m), jax.image.resize(x, (2, 4, 16, 3), m, antialias=False)), m=method), arr(2, 8, 8, 3), tolerance=1e-4)
    add("scale_and_translate", lambda x: jax.image.scale_and_translate(x, (10, 10), (0, 1), jnp.array([1.5, 0.8]), jnp.array([0.3, 0.1]), "linear"), arr(8, 8), tolerance=1e-4)
    add("batch_norm_like", lambda x, g, b: (lambda m, v: (x - m) * lax.rsqrt(v + 1e-5) * g + b)(jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))), arr(4, 6, 6, 4), arr(4), arr(4))
    add("transformer_grad", jax.grad(lambda w, x: jnp.sum(nn.softmax(x @ w["q"] @ (x @ w["k"]).T) @ (x @ w["v"])) if False else jnp.sum((nn.softmax((x @ w[0]) @ (x @ w[1]).T) @ (x @ w[2])) ** 2)), arr(3, 8, 8), arr(4, 8), tolerance=1e-4)
    add("lstm", lambda x, w, u: lax.scan(lambda c, v: (lambda g: (lambda i, f, o, z: (lambda s: ((o * jnp.tanh(s), s), o * jnp.tanh(s)))(f * c[1] + i * z))(nn.sigmoid(g[:, :4]), nn.sigmoid(g[:, 4:8]), nn.sigmoid(g[:, 8:12]), jnp.tanh(g[:, 12:])))(v @ w + c[0] @ u),
                                      (jnp.zeros((2, 4)), jnp.zeros((2, 4))), x)[1], arr(5, 2, 3), arr(3, 16), arr(4, 16))
    add("moe_dispatch", lambda x, g, w: jnp.einsum("etd,te->td", jax.vmap(lambda w: x @ w)(w), nn.softmax(x @ g)), arr(8, 4), arr(4, 4), arr(4, 4, 4))
    add("cross_entropy_grad", jax.grad(lambda w, x, y: -jnp.mean(jnp.take_along_axis(nn.log_softmax(x @ w), y[:, None], 1))), arr(8, 6), arr(4, 8), ints(4, high=6))
    add("adam_step", lambda p, g, m, v: (lambda m, v: (p - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v))(0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g), arr(8, 4), arr(8, 4), arr(8, 4), uniform(8, 4))
    add("quantized_matmul", lambda x, w, s: (jnp.round(x * 10).astype(jnp.int8) @ w).astype(jnp.float32) * s if False else lax.dot(jnp.clip(jnp.round(x * 10), -127, 127).astype(jnp.int8), w, preferred_element_type=jnp.int32).astype(jnp.float32) * s, arr(4, 8), arr(8, 4, dtype="int8"), uniform(4))
    add("fp8_cast_matmul", lambda x, w: lax.dot(x.astype(jnp.float8_e4m3fn), w.astype(jnp.float8_e4m3fn), preferred_element_type=jnp.float32), arr(4, 8), arr(8, 4), tolerance=1e-4)
    add("int4_matmul", lambda x, w: lax.dot(x, w.astype(jnp.bfloat16), preferred_element_type=jnp.float32), arr(4, 8, dtype="bfloat16"), arr(8, 4, dtype="int4"), tolerance=1e-4)


def extras():
    from jax.experimental import pallas, sparse
    x = arr(6, 8)
    add("sparse_bcoo", lambda a, b: sparse.BCOO.fromdense(a * (a > 0), nse=30) @ b, x, arr(8, 4))
    add("sparse_bcsr", lambda a, b: sparse.BCSR.fromdense(a * (a > 0), nse=30) @ b, x, arr(8))
    add("pallas_interpreted", lambda a, b: pallas.pallas_call(lambda i, j, o: o.__setitem__(..., i[...] * 2 + j[...]), out_shape=jax.ShapeDtypeStruct((8, 8), "float32"),
                                                              grid=(2,), in_specs=[pallas.BlockSpec((4, 8), lambda i: (i, 0))] * 2, out_specs=pallas.BlockSpec((4, 8), lambda i: (i, 0)), interpret=True)(a, b), arr(8, 8), arr(8, 8), tpu=False)
    add("sparse_bcsr_matrix", lambda a, b: sparse.BCSR.fromdense(a * (a > 0), nse=30) @ b, arr(6, 8, dtype="complex64").real, arr(8, 4))
    add("tensorsolve", lambda a, b: jnp.linalg.tensorsolve(a, b), arr(2, 3, 6) + np.eye(6, dtype="float32").reshape(2, 3, 6) * 4, arr(2, 3), tolerance=1e-4)
    add("tensorinv", lambda a: jnp.linalg.tensorinv(a, 1), (arr(6, 6) + 4 * np.eye(6, dtype="float32")).reshape(6, 2, 3), tolerance=1e-4)
    add("matrix_transposes", lambda a: (jnp.linalg.matrix_norm(a), jnp.linalg.vector_norm(a), jnp.linalg.vecdot(a, a), jnp.linalg.outer(a[0], a[1]), jnp.linalg.diagonal(a)), x)
    add("vq", lambda a, b: jsp.cluster.vq.vq(a, b), arr(8, 3), arr(4, 3))
    add("grid_interpolator", lambda v, p: jsp.interpolate.RegularGridInterpolator((jnp.arange(6.), jnp.arange(8.)), v)(p), x, uniform(5, 2, low=0, high=5))
    add("custom_vjp", jax.grad(lambda x: jnp.sum(jax.nn.initializers.variance_scaling and jax.numpy.clip(x, -1, 1) ** 2)), x)
    add("jvp_while", lambda x: jax.jvp(lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, jnp.sin(c[1])), (0, x))[1], (x,), (x,)), x)
    add("vmap_scan", jax.vmap(lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x)), x)
    add("vmap_switch", jax.vmap(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x)), ints(6, high=3), x)
    add("nested_scan", lambda x: lax.scan(lambda c, v: (lax.scan(lambda d, w: (d * 0.5 + w, d), c, v)[0], c), jnp.float32(0), x), x)
    add("scan_many_carries", lambda x: lax.scan(lambda c, v: ((c[1], c[0] + v, c[2] + 1), (c[0], v)), (x[0], x[1], jnp.int32(0)), x), x)
    add("associative_scan_matrices", lambda x: lax.associative_scan(jnp.matmul, x), arr(5, 3, 3, scale=0.5), tolerance=1e-4)
    add("hessian_vector", lambda x, v: jax.jvp(jax.grad(lambda y: jnp.sum(jnp.tanh(y) ** 3)), (x,), (v,))[1], x, arr(6, 8))
    add("f64_network", lambda x, w: jax.grad(lambda w: jnp.sum(jax.nn.gelu(x @ w) ** 2))(w), arr(4, 6, dtype="float64"), arr(6, 5, dtype="float64"), tolerance=1e-10, x64=True, tpu=False)
    add("conv_f64", lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME"), arr(2, 3, 8, dtype="float64"), arr(4, 3, 3, dtype="float64"), tolerance=1e-11, x64=True, tpu=False)
    add("int64_ops", lambda x, y: (x * y, x // (y * y + 1), x << 3, x >> 1, jnp.bitwise_count(x), jnp.sort(x), lax.clz(x)), arr(9, dtype="int64") * 10 ** 12, arr(9, dtype="int64"), x64=True, tpu=False)
    add("uint64_ops", lambda x: (x * x, x >> 3, x.astype("float64"), x.astype("float32"), jnp.max(x)), np.array([1, 2**40 + 5, 2**63 + 7, 2**64 - 1], "uint64"), x64=True, tpu=False)
    add("float16_network", lambda x, w: jax.nn.softmax(jnp.tanh(x @ w)), arr(4, 6, dtype="float16"), arr(6, 8, dtype="float16"), tolerance=5e-3)
    add("layer_norm_grad", jax.grad(lambda x, g: jnp.sum(((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g) ** 3)), x, arr(8), tolerance=1e-4)
    add("rope", lambda x: (lambda a, c: jnp.concatenate([a[..., :4] * jnp.cos(c) - a[..., 4:] * jnp.sin(c), a[..., 4:] * jnp.cos(c) + a[..., :4] * jnp.sin(c)], -1))(x, jnp.arange(6.)[:, None] / 10 ** (jnp.arange(4.) / 4)), x)
    add("beam_step", lambda s, l: (lambda t: (t[0], t[1] // 8, t[1] % 8))(lax.top_k((s[:, None] + l).reshape(-1), 4)), arr(4), arr(4, 8))
    add("nucleus", lambda l: (lambda i, p: jnp.where(jnp.cumsum(p, -1) < 0.9, i, -1))(jnp.argsort(-l), jnp.sort(jax.nn.softmax(l))[..., ::-1]), arr(4, 8))
    add("topk_routing", lambda x, w: (lambda g, i: jnp.einsum("tk,tkd->td", jax.nn.softmax(g), w[i]))(*lax.top_k(x @ w.T, 2)), arr(6, 4), arr(5, 4))
    add("sliding_window", lambda q, k: jax.nn.softmax(jnp.where(jnp.abs(jnp.arange(8)[:, None] - jnp.arange(8)) < 3, q @ k.T, -1e9)), arr(8, 4), arr(8, 4))
    add("ctc_like", lambda l, i: lax.scan(lambda a, v: (jnp.logaddexp(a, jnp.roll(a, 1)) + v[i], None), jnp.zeros(4), jax.nn.log_softmax(l))[0], arr(6, 8), ints(4), tolerance=1e-4)
    add("kv_update", lambda c, k, i: lax.dynamic_update_slice_in_dim(c, k, i, 1), arr(2, 8, 4), arr(2, 1, 4), np.int32(5))
    add("weight_norm", lambda w: w / jnp.linalg.norm(w, axis=0), x)
    add("newton_schulz", lambda g: lax.fori_loop(0, 5, lambda i, x: 1.5 * x - 0.5 * x @ x.T @ x, g / jnp.linalg.norm(g)), x, tolerance=1e-4)
    add("ema_cosine", lambda s: (0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(s, 10) / 10)), jnp.where(s < 5, s / 5, 1.0)), ints(8, high=15))
    add("complex_network", lambda z, w: jnp.abs(jnp.exp(1j * jnp.angle(z @ w)) * (z @ w)), arr(4, 6, dtype="complex64"), arr(6, 3, dtype="complex64"), tolerance=1e-4)
    add("debug_print", lambda x: (jax.debug.print("{}", x[0, 0]), x * 2)[1], x, tpu=False)
    add("debug_print_ordered", lambda x: (jax.debug.print("{}", x[0, 0], ordered=True), x * 2)[1], x, tpu=False, shard=False)
    add("checkify_like", lambda x: jnp.where(jnp.any(jnp.isnan(x)), jnp.nan, x), x)
    add("named_calls", lambda x: jax.named_call(jnp.sin, name="s")(x) + jax.jit(jnp.cos)(x), x)
    add("composite", lambda x: lax.composite(lambda x: x * jax.nn.sigmoid(x), name="my.silu")(x), x)
    add("dynamic_shapes_free", lambda x: (x[: x.shape[0] // 2], x.reshape(-1, 4), jnp.swapaxes(x, 0, 1), jnp.expand_dims(x, 1), jnp.squeeze(x[:1])), x)


for family in (linalg, special, elementwise, conversions, dots, convolutions, ffts, randoms, windows, sorts, indices, reductions, control, networks, extras):
    family()
