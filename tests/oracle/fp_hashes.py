#!/usr/bin/env python3
"""Prints the table that tests/unit/test_fp.c holds: for each small float format a hash of all its values as f32, and one of the bits
that ml_dtypes (numpy for f16) makes of a sweep of floats. No doubles: ml_dtypes takes them by way of a float, which rounds twice.
Needs numpy and ml_dtypes."""
import warnings

import ml_dtypes
import numpy as np

NAMES = {"F4E2M1FN": "float4_e2m1fn", "F6E2M3FN": "float6_e2m3fn", "F6E3M2FN": "float6_e3m2fn", "F8E3M4": "float8_e3m4",
         "F8E4M3": "float8_e4m3", "F8E4M3FN": "float8_e4m3fn", "F8E4M3FNUZ": "float8_e4m3fnuz",
         "F8E4M3B11FNUZ": "float8_e4m3b11fnuz", "F8E5M2": "float8_e5m2", "F8E5M2FNUZ": "float8_e5m2fnuz",
         "F8E8M0FNU": "float8_e8m0fnu", "BF16": "bfloat16", "F16": None}
LOW_BITS = (0, 1, 0x1000, 0x7FFF, 0x8000, 0x8001, 0xFFFF)


def fnv(values):
    state = 0xCBF29CE484222325
    for value in values:
        state = ((state ^ int(value)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state


def quiet(bits, nan):
    return np.where(nan, 0x7FC00000, bits)


def main():
    warnings.simplefilter("ignore")
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    singles = np.concatenate([high | low for low in LOW_BITS]).view(np.float32)
    for name, ml in NAMES.items():
        dtype = np.dtype(getattr(ml_dtypes, ml) if ml else np.float16)
        unsigned = np.uint16 if dtype.itemsize == 2 else np.uint8
        count = {"F4E2M1FN": 16, "F6E2M3FN": 64, "F6E3M2FN": 64}.get(name, 1 << (8 * dtype.itemsize))
        values = np.arange(count).astype(unsigned).view(dtype).astype(np.float32)
        to_float = fnv(quiet(values.view(np.uint32), np.isnan(values)))
        singles_ = singles[~np.isnan(singles)]
        if name == "F8E8M0FNU":  # ml_dtypes rounds subnormal floats up, though not the same doubles: no oracle
            singles_ = singles_[(singles_ == 0) | (np.abs(singles_) >= 2.0**-126)]
        from_float = fnv(singles_.astype(dtype).view(unsigned))
        print(f"    {{DTYPE_{name}, {count}, 0x{to_float:016x}, 0x{from_float:016x}}},")


main()
