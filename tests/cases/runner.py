"""What run_jax.py and run_pallas.py share: the pod for so many devices, the comparison of an output, the count of cases."""
import pathlib
import tempfile

import numpy as np

CONFIGS = {1: "v5e_1x1.ini", 4: "v5e_2x2.ini", 8: "v5e_4x2.ini"}


def difference(got, want, tolerance):
    """What stands against an output, or None: integers to the bit, floats within `tolerance` of themselves and of the largest."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return None if np.array_equal(got, want) else "differs"
    scale = np.nanmax(np.abs(np.where(np.isfinite(want), want, 0)), initial=1e-6)
    close = np.allclose(got, want, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return None if close else f"differs by {np.nanmax(np.abs(got - want)):.3g} of {scale:.3g}"


def run_cases(cases, faults):
    """`cases` are pairs of a name and a case, `faults(case, folder)` what stands against one. Returns whether any failed or none is there."""
    failed = 0
    for name, case in cases:
        with tempfile.TemporaryDirectory() as folder:
            found = faults(case, pathlib.Path(folder))
        failed += bool(found)
        if found:
            print(f"FAIL {name}: {'; '.join(found)}")
    print(f"{len(cases) - failed} passed, {failed} failed")
    return failed > 0 or not cases
