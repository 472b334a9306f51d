#!/usr/bin/env python3
"""Writes tests/cases/device_meshes.txt: where JAX's create_device_mesh puts meshes on slices of TPUs. Needs jax.

A line a mesh: generation, shape (2@4x2 for two slices of 4x2, laid by create_hybrid_device_mesh), sizes of the mesh, and the chip at each
of its positions, numbered as podsim does: slice by slice, row-major over the shape, the last axis fastest. Meshes of the slice's own
shape are left out: podsim lays them axis by axis."""
import itertools
import pathlib
from types import SimpleNamespace

import numpy as np
from jax._src import mesh_utils

KINDS = {"v4": "TPU v4", "v5e": "TPU v5 lite", "v5p": "TPU v5p", "v6e": "TPU v6 lite"}
SLICES = {"v5e": ["2x2", "4x2", "4x4", "8x4", "8x8", "8x16"], "v6e": ["4x2", "16x16"],
          "v4": ["2x2x4", "4x4x4", "4x4x8"], "v5p": ["2x2x2", "4x4x4", "4x8x4"]}
MOST_MESHES = 14
HYBRIDS = [("v5e", 2, "4x2", (8,), (2,)), ("v5e", 2, "4x2", (2, 4), (2, 1)), ("v5e", 4, "2x2", (1, 4), (4, 1)),
           ("v5e", 2, "4x4", (1, 2, 8), (2, 1, 1)), ("v5e", 4, "4x4", (1, 8, 2), (2, 2, 1)), ("v5e", 3, "8x4", (1, 2, 16), (3, 1, 1)),
           ("v4", 2, "4x4x4", (1, 16, 4), (2, 1, 1)), ("v4", 4, "2x2x4", (2, 8), (4, 1))]


def devices(kind, shape, slices=1):
    x, y, z = shape
    return [SimpleNamespace(id=i, coords=(a, b, c), core_on_chip=0, device_kind=kind, platform="tpu", process_index=0, slice_index=s)
            for i, (s, c, b, a) in enumerate(itertools.product(range(slices), range(z), range(y), range(x)))]


def factorings(n, axes):
    if axes == 1:
        yield (n,)
        return
    for size in (d for d in range(1, n + 1) if n % d == 0):
        for rest in factorings(n // size, axes - 1):
            yield (size, *rest)


def meshes(chips):
    """All of one and two axes, and some of three and four, spread over those that there are."""
    yield (chips,)
    yield from factorings(chips, 2)
    for axes in (3, 4):
        all_of = [m for m in factorings(chips, axes) if 1 not in m]
        yield from all_of[:: max(1, len(all_of) // MOST_MESHES)]


def chip(device, shape):
    x, y, z = device.coords
    return ((device.slice_index * shape[0] + x) * shape[1] + y) * shape[2] + z


def shape_of(text):
    shape = tuple(int(n) for n in text.split("x"))
    return shape + (1,) * (3 - len(shape))


def line(generation, text, mesh, made):
    chips = " ".join(str(chip(d, shape_of(text.split("@")[-1]))) for d in made.flat)
    return f"{generation} {text} {','.join(map(str, mesh))} {chips}"


def main():
    lines = []
    for generation, slices in SLICES.items():
        for text in slices:
            shape = shape_of(text)
            for mesh in meshes(int(np.prod(shape))):
                if [n for n in mesh if n > 1] == [n for n in shape if n > 1]:
                    continue
                made = mesh_utils.create_device_mesh(mesh, devices(KINDS[generation], shape), allow_split_physical_axes=True)
                lines.append(line(generation, text, mesh, made))
    for generation, slices, text, mesh, dcn_mesh in HYBRIDS:
        made = mesh_utils.create_hybrid_device_mesh(mesh, dcn_mesh, devices(KINDS[generation], shape_of(text), slices),
                                                    allow_split_physical_axes=True)
        lines.append(line(generation, f"{slices}@{text}", made.shape, made))
    out = pathlib.Path(__file__).resolve().parents[1] / "cases" / "device_meshes.txt"
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
