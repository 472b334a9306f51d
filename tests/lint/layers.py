#!/usr/bin/env python3
"""Checks the one-way folder rule from the #include lines: a file sees its own folder and those listed here, nothing else; and
third-party headers stay in one folder each. Prints every breach; exit 1 where there is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEES = {
    "sim/base": (),
    "sim/config": ("sim/base",),
    "sim/ir": ("sim/base",),
    "sim/ledger": ("sim/base",),
    "sim/mosaic": ("sim/base", "sim/ir"),
    "models": ("sim/base", "sim/config", "sim/ir", "sim/mosaic"),
    "sim/read": ("sim/base", "sim/ir"),
    "sim/shard": ("sim/base", "sim/ir"),
    "sim/eval": ("sim/base", "sim/ir", "sim/mosaic"),
    "sim/partition": ("sim/base", "sim/ir", "sim/shard"),
    "sim/schedule": ("sim/base", "sim/config", "sim/ir", "models"),
    "sim/engine": ("sim/base", "sim/config", "sim/ir", "sim/ledger", "sim/mosaic", "sim/schedule", "models"),
    "traces": ("sim/base", "sim/config", "sim/ir", "sim/ledger"),
}
ENCLOSED = {"simgrid": "sim/engine", "xbt": "sim/engine", "cblas": "sim/eval", "lapacke": "sim/eval", "Random123": "sim/eval",
            "zip.h": "sim/eval", "ini.h": "sim/config", "csv.h": "traces", "yajl": "traces", "uthash": "sim/base"}


def folder(path):
    return max((f for f in SEES if str(path).startswith(f + "/")), key=len, default=None)


def breaches(path):
    own = folder(path)
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        if not (m := re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)):
            continue
        if m[1] == '"' and own is not None:
            other = folder(m[2])
            if other is None or (other != own and other not in SEES[own]):
                yield f"{path}:{number}: {own} may not see {m[2]}"
        if m[1] == "<":
            for name, home in ENCLOSED.items():
                if m[2].startswith(name) and own != home:
                    yield f"{path}:{number}: {m[2]} belongs in {home} alone"


def main():
    files = [p.relative_to(ROOT) for d in ("sim", "models", "traces") for p in sorted((ROOT / d).rglob("*.[ch]"))]
    found = [b for f in files for b in breaches(f)]
    names = {}
    for f in files:
        names.setdefault(f.name, []).append(str(f))
    found += [f"file name used twice: {', '.join(v)}" for v in names.values() if len(v) > 1]
    print("\n".join(found) or f"layers: {len(files)} files keep the folder rule")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
