#!/usr/bin/env python3
"""Compares podsim's times and memory with what the TPU compiler says of the same programs.

usage: compare_tpu.py PODSIM CONFIGS PROGRAMS [--form hlo|tpu|both] [--only REGEX] [--markdown]

PROGRAMS holds a folder a program: program.hlo as JAX emits it, tpu_v5e.hlo as the TPU compiler partitioned, fused and
scheduled it, and case.json with the compiler's figures: estimated_cycles (at 1.5 GHz), optimal_seconds, bytes of memory,
compute_reference_seconds, the time of its kernels, and other_hbm_bytes, what those of them move that hold no product. CONFIGS
holds the pods (v5e_4x2.ini ...). Nothing is judged here: the table shows each error, and the last lines the median and the
worst of each kind; of the bytes only where they make up a twentieth of the reference's time."""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

CLOCK_HZ, NAMEPLATE_BPS, KERNEL_BPS = 1.5e9, 8.19e11, 7.377e11
LEAST_SHARE = 1 / 20
FIGURES = {"time": 1e6, "bytes": 1e-6, "peak": 1e-6}  # and the units that the table shows
FORMS = {"hlo": "program.hlo", "tpu": "tpu_v5e.hlo"}


def reference_seconds(name, case):
    """A matrix product is held to the slower of the compiler's cycles and its bytes; other single kernels to the compiler's
    own time; layers and train steps to the sum over their kernels."""
    if name.startswith("mm_"):
        io_bytes = case["argument_bytes"] + case["output_bytes"]
        return max(case["estimated_cycles"] / CLOCK_HZ, io_bytes / NAMEPLATE_BPS), "matmul"
    if case.get("compute_reference_seconds") is None:
        return None, "oom"
    if case["dot_cycles"]:
        return case["compute_reference_seconds"], "layer"
    if case["collectives"]:
        return case["compute_reference_seconds"], "collective"
    return case["optimal_seconds"] if name in ("add_64m", "reduce_rows") else case["compute_reference_seconds"], "kernel"


def config_of(configs, case):
    shape = re.fullmatch(r"v5e:(.*)", case["topology"])[1]
    return configs / f"v5e_{'1x1' if shape == '2x2' and len(case['mesh']) == 1 else shape}.ini"


def run(podsim, config, program):
    """summary.json of a run, or the first line that podsim says instead."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([podsim, config, program, "--numbers", "off", "--allow-oom", "--json", out.name],
                              capture_output=True, text=True, errors="replace", timeout=600)
        if done.returncode != 0:
            return None, (done.stderr.strip().splitlines() or ["no word"])[0]
        return json.load(open(out.name)), ""


def peak_of(case):
    if case.get("temp_bytes") is None:
        return None
    return case["argument_bytes"] + case["output_bytes"] + case["temp_bytes"] - case["alias_bytes"]


def row_of(args, folder, form):
    case = json.loads((folder / "case.json").read_text())
    summary, why = run(args.podsim, config_of(args.configs, case), folder / FORMS[form])
    seconds, kind = reference_seconds(folder.name, case)
    bytes_count = seconds is not None and case["other_hbm_bytes"] / KERNEL_BPS > LEAST_SHARE * seconds
    row = {"name": folder.name, "form": form, "kind": kind, "why": why, "bytes_count": bytes_count}
    row["want"] = {"time": seconds, "bytes": case.get("other_hbm_bytes"), "peak": peak_of(case)}
    row["got"] = {"time": None, "bytes": None, "peak": None}
    if summary is not None:
        row["got"] = {"time": summary["compute_seconds"], "bytes": summary["other_hbm_bytes"], "peak": summary["hbm_peak_bytes"]}
    return row


def error(row, figure):
    got, want = row["got"][figure], row["want"][figure]
    return None if got is None or not want else 100 * (got / want - 1)


def percent(value):
    return "" if value is None else f"{value:+.1f} %"


def scaled(value, unit):
    return "" if value is None else f"{value * unit:.4g}"


def cells_of(row):
    cells = [row["name"], row["form"], row["kind"]]
    for figure, unit in FIGURES.items():
        cells += [scaled(row["got"][figure], unit), scaled(row["want"][figure], unit), percent(error(row, figure))]
    cells[-1] = cells[-1] or row["why"][:90]
    return tuple(cells)


def print_table(rows, markdown):
    lines = [("program", "from", "kind", "us", "reference", "error", "other MB", "reference", "error", "peak MB", "reference", "error")]
    lines += [cells_of(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)] + [0]
    for i, line in enumerate(lines):
        cells = [cell.ljust(width) for cell, width in zip(line, widths)]
        print("| " + " | ".join(cells) + " |" if markdown else "  ".join(cells).rstrip())
        if markdown and i == 0:
            print("|" + "---|" * len(line))


def errors_of(rows, kind, form, figure):
    rows = [r for r in rows if r["kind"] == kind and r["form"] == form and (figure != "bytes" or r["bytes_count"])]
    return [abs(e) for r in rows if (e := error(r, figure)) is not None]


def print_medians(rows):
    print()
    for kind in ("matmul", "kernel", "layer"):
        for form in FORMS:
            for figure in FIGURES:
                if errors := errors_of(rows, kind, form, figure):
                    print(f"{kind:8}{form:5}{figure:6}median {statistics.median(errors):5.1f} %   worst {max(errors):5.1f} %   of {len(errors)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("podsim")
    parser.add_argument("configs", type=pathlib.Path)
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--form", default="both", choices=["hlo", "tpu", "both"])
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    forms = FORMS if args.form == "both" else [args.form]
    folders = [d for d in sorted(args.programs.iterdir()) if (d / "case.json").exists() and re.search(args.only, d.name)]
    rows = [row_of(args, folder, form) for folder in folders for form in forms]
    print_table(rows, args.markdown)
    print_medians(rows)


if __name__ == "__main__":
    main()
