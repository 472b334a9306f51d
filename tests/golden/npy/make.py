"""Makes the .npy and .npz files of this folder (needs numpy and ml_dtypes). Element i of six is i - 2; of an unsigned type i; of
bool i % 2; of complex (i - 2) + i j."""
import io
import pathlib

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
SHAPE = (2, 3)


def save(name, array, version=None):
    with open(HERE / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def values(dtype):
    i = np.arange(6)
    if dtype == "bool":
        i = i % 2
    elif np.dtype(dtype).kind == "c":
        i = (i - 2) + 1j * i
    elif np.dtype(dtype).kind != "u":
        i = i - 2
    return i.astype(dtype).reshape(SHAPE)


for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
              "complex64", "complex128"):
    save(f"{dtype}.npy", values(dtype))
for dtype in ("int16", "float32", "float64", "complex64"):
    save(f"{dtype}_big_endian.npy", values(dtype).astype(np.dtype(dtype).newbyteorder(">")))
save("float32_fortran.npy", np.asfortranarray(values("float32")))
save("int64_fortran_big_endian.npy", np.asfortranarray(values("int64").astype(">i8")))
save("float32_version2.npy", values("float32"), (2, 0))
save("float32_version3.npy", values("float32"), (3, 0))
save("float32_scalar.npy", np.float32(-2))
save("float32_empty.npy", np.zeros((0, 3), "float32"))
save("float32_vector.npy", values("float32").reshape(6))
save("float32_rank4.npy", values("float32").reshape(1, 2, 1, 3))
save("bfloat16.npy", values("float32").astype(ml_dtypes.bfloat16))
save("bfloat16_bits.npy", values("float32").astype(ml_dtypes.bfloat16).view("uint16"))
save("float8_e4m3fn.npy", values("float32").astype(ml_dtypes.float8_e4m3fn))
save("float8_e4m3fn_bits.npy", values("float32").astype(ml_dtypes.float8_e4m3fn).view("uint8"))
save("int4.npy", values("int8").astype(ml_dtypes.int4))
np.savez(HERE / "stored.npz", arg0=values("float32"), arg1=values("int32"))
np.savez_compressed(HERE / "deflated.npz", x=values("float32"), y=values("int32"))
np.savez_compressed(HERE / "unnamed.npz", values("float32"), values("int32"))
