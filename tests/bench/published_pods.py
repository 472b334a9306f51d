#!/usr/bin/env python3
"""podsim against published measurements of TPU pods: published_pods.py PODSIM [--only REGEX] [--keep DIR].

A row is a measurement that somebody published with all that is needed to repeat it: the program, the pod, the mesh. `train` rows are
train steps of transformers, lowered from tests/bench/transformer.py for the mesh and the rematerialisation that the source names (needs
jax); `collective` and `kernel` rows are single operations. podsim runs each with its default constants, in time alone. Where the source
gives TFLOP/s a chip, the step time follows from its own count of FLOPs. Prints a table in Markdown; programs and summaries stay in
DIR."""
import argparse
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
RECIPES = "github.com/AI-Hypercomputer/tpu-recipes, "
MAXTEXT = "github.com/AI-Hypercomputer/maxtext, src/maxtext/configs/tpu/"
BOOK = "JAX Scaling Book, "
ROWS = []


def row(name, pod, measured_s, source, text, *flags):
    """`pod`: of configs/, or "generation shape"; `text`: gives the program."""
    ROWS.append((name, pod, measured_s, source, text, flags))


def pod_file(pod, folder):
    if " " not in pod:
        return CONFIGS / f"{pod}.ini"
    generation, shape, *slices = pod.split()
    path = folder / (pod.replace(" ", "_") + ".ini")
    path.write_text(f"[pod]\ngeneration = {generation}\nshape = {shape}\n" + "".join(f"slices = {n}\n" for n in slices))
    return path


# ---- single operations


def hlo(devices, types, body):
    """ENTRY with parameters p0 …; the last line of `body` is ROOT."""
    head = ", ".join(f"p{i}: {t}" for i, t in enumerate(types))
    lines = [f"  p{i} = {t} parameter({i})" for i, t in enumerate(types)] + ["  " + line for line in body]
    result = re.search(r"ROOT \w+ = (\S+) ", body[-1])[1]
    add = "add (x: bf16[], y: bf16[]) -> bf16[] {\n  x = bf16[] parameter(0)\n  y = bf16[] parameter(1)\n  ROOT s = bf16[] add(x, y)\n}\n\n"
    return (f"HloModule published, num_partitions={devices}\n\n{add}ENTRY main ({head}) -> {result} {{\n" + "\n".join(lines) + "\n}\n")


def product(m, k, n):
    return lambda: hlo(1, [f"bf16[{m},{k}]", f"bf16[{k},{n}]"], [
        f"ROOT r = bf16[{m},{n}] dot(p0, p1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"])


def groups(devices, members, stride):
    """Replica groups of `members` devices, `stride` apart."""
    starts = [d for d in range(devices) if d // stride % members == 0]
    return "{" + ",".join("{" + ",".join(str(d + i * stride) for i in range(members)) + "}" for d in starts) + "}"


def all_reduce(devices, members, stride, shape):
    return lambda: hlo(devices, [f"bf16[{shape}]"], [
        f"ROOT r = bf16[{shape}] all-reduce(p0), channel_id=1, replica_groups={groups(devices, members, stride)}, "
        f"use_global_device_ids=true, to_apply=add"])


def all_gather(devices, members, stride, rows, columns):
    return lambda: hlo(devices, [f"bf16[{rows // members},{columns}]"], [
        f"ROOT r = bf16[{rows},{columns}] all-gather(p0), channel_id=1, replica_groups={groups(devices, members, stride)}, "
        f"use_global_device_ids=true, dimensions={{0}}"])


ONE_CORE = ("--set", "chip.cores=1", "--set", "chip.mxu_count=4", "--set", "chip.peak_flops=1153.5TFLOP/s", "--set", "hbm.bandwidth=3.69TB/s",
            "--set", "vmem.capacity=64MiB", "--set", "vmem.bandwidth=80TB/s", "--set", "chip.vpu_alus=4")


def kernels():
    bench = RECIPES + "microbenchmarks"
    row("kernel: product 8192 cubed", "v6e 1x1", 1.328756e-3, bench, product(8192, 8192, 8192))
    row("kernel: copy of 33.6 MB", "v6e 1x1", 4.9359e-5, bench,
        lambda: hlo(1, ["bf16[16777216]"], ["ROOT r = bf16[16777216] copy(p0)"]))
    for size, gbps in ((2097152, 1379.335), (33554432, 3009.836), (8589934592, 3210.481)):
        row(f"kernel: copy of {size / 1e6:.3g} MB, one core of two", "tpu7x 1x1x1", 2 * size / gbps / 1e9, bench + "/ironwood/hbm",
            lambda n=size // 2048: hlo(1, [f"bf16[{n},1024]"], [f"ROOT r = bf16[{n},1024] copy(p0)"]), *ONE_CORE)
    for n, tflops in ((512, 105.078), (1024, 349.727), (2048, 679.285), (4096, 892.945), (16384, 950.129), (32768, 956.382)):
        row(f"kernel: product {n} cubed, one core of two", "tpu7x 1x1x1", 2 * n**3 / tflops / 1e12, bench + "/ironwood", product(n, n, n), *ONE_CORE)


def collectives():
    row("collective: all-reduce of 606 MB over 256", "v6e_16x16", 2 * 17408 * 17408 * 2 * 255 / 256 / 235.7595e9,
        RECIPES + "microbenchmarks/trillium/collectives", all_reduce(256, 256, 1, "17408,17408"))
    for n, gbps in ((65536, 71.7703), (262144, 129.1869), (1048576, 161.9041), (4194304, 174.7655), (16777216, 178.7714)):
        # of n floats of each of a chip's two devices, over the four chips; GB/s a chip
        row(f"collective: all-gather of {32 * n / 1e6:.3g} MB over 4", "tpu7x 2x2x1", 24 * n / gbps / 1e9, RECIPES + "microbenchmarks/ironwood/collectives",
            all_gather(4, 4, 1, n // 512, 8192))
    row("collective: all-gather of 33.6 MB over a line of 4", "v5e_8x4", 680e-6, BOOK + "Sharded matrices, quiz 2", all_gather(32, 4, 1, 2048, 8192))
    row("collective: all-gather of 131 kB over a line of 4", "v5e_8x4", 8e-6, BOOK + "Sharded matrices, quiz 2", all_gather(32, 4, 1, 256, 256))
    for rows in 320, 1024, 4096:
        total = rows * 16384 * 2
        row(f"collective: all-gather of {total / 1e6:.3g} MB over a ring of 16", "v5e_8x16", total * 15 / 16 / 2 / (0.95 * 4.5e10),
            BOOK + "Sharded matrices", all_gather(128, 16, 1, rows, 16384))


# ---- train steps

OFFLOAD = "decoder_layer_input,query_proj,key_proj,value_proj"
SCALES = {  # MaxText's global_parameter_scale
    16: (32, 4096, 28672, 64, 64), 32: (32, 8192, 28672, 64, 64), 64: (64, 8192, 28672, 64, 64), 128: (64, 8192, 57344, 128, 128),
    256: (64, 16384, 57344, 128, 128), 512: (128, 16384, 57344, 128, 128)}


# where the source switches collective matmuls off in the compiler, or has reductions run beside compute
UNSPLIT, OFFLOADED = ("--set", "run.collective_matmul=off"), ("--set", "run.async_reductions=true")


def train(name, pod, model, run, source, seconds=None, tflops=None, flags=()):
    import transformer
    model, run = transformer.Model(*model), transformer.Run(**run)
    row("train: " + name, pod, seconds or model.flops(run.batch, run.seq) / tflops / 1e12, source, lambda: transformer.lower(model, run), "--allow-oom", *flags)


def scaled(billions, pod, tflops, source, **run):
    layers, embed, mlp, heads, kv = SCALES[billions]
    train(f"MaxText {billions}B", pod, (layers, embed, mlp, heads, kv, 128, 32000), dict(seq=2048, fused_backward=False, **run), source, tflops=tflops)


def trains():
    llama8, llama70 = (32, 4096, 14336, 32, 8, 128, 128256), (80, 8192, 28672, 64, 8, 128, 128256)
    mistral, llama2 = (32, 4096, 14336, 32, 8, 128, 32000), (80, 8192, 28672, 64, 8, 128, 32000)
    wide = dict(seq=8192, block=2048)
    trillium = RECIPES + "training/trillium/"
    for chips, shape, batch, seconds, flags in ((8, "4x2", 3, 3.443, UNSPLIT), (16, "4x4", 3, 3.393, UNSPLIT), (32, "4x8", 3, 3.495, UNSPLIT),
                                                (64, "8x8", 5, 5.652, ()), (256, "16x16", 4, 4.546, ())):
        train("Llama 3.1 8B", f"v6e {shape}", llama8, dict(batch=batch, fsdp=chips, remat=OFFLOAD + ",out_proj", **wide), trillium + "Llama3.1-8B-MaxText",
              seconds, flags=flags)
    for chips, shape, batch, seconds, weights, flags in ((32, "4x8", 2, 17.790, "bfloat16", UNSPLIT), (64, "8x8", 2, 18.688, "float32", ()),
                                                         (256, "16x16", 5, 42.656, "float32", ())):
        train("Llama 3.1 70B", f"v6e {shape}", llama70, dict(batch=batch, fsdp=chips, remat=OFFLOAD, weights=weights, **wide),
              trillium + "Llama3.1-70B-MaxText", seconds, flags=flags)
    train("Mistral 7B", "v6e 4x2", mistral, dict(batch=6, fsdp=8, remat=OFFLOAD + ",out_proj", **wide), trillium + "Mistral-7B-MaxText", 6.320, flags=UNSPLIT)
    train("Llama 2 70B", "v6e 16x16", llama2, dict(batch=2, seq=4096, block=1024, fsdp=256, remat="query_proj,key_proj,value_proj"), trillium + "Llama2-70B-MaxText", 9.052)
    train("GPT-3 175B", "v6e 16x16", (96, 12288, 49152, 96, 96, 128, 50304, False), dict(batch=3, seq=2048, block=1024, fsdp=256), trillium + "GPT3-175B-MaxText/bf16", 17.182)
    for pod, batch, seconds in (("tpu7x 4x4x4", 4, 12.20),):
        train("Llama 3.1 70B", pod, llama70, dict(batch=batch, fsdp=64, remat="decoder_layer_input", **wide), RECIPES + "training/ironwood", seconds, flags=OFFLOADED)
    v4, v5e, v5p = MAXTEXT + "v4", MAXTEXT + "v5e", MAXTEXT + "v5p"
    scaled(32, "v5p 4x4x4", 328, v5p, batch=6, fsdp=16, tensor=4, remat="minimal")
    scaled(64, "v5p 4x4x4", 323, v5p, batch=3, fsdp=16, tensor=4, remat="minimal")
    scaled(128, "v5p 4x4x8", 315, v5p, batch=1, fsdp=16, tensor=8, remat="minimal")
    train("MaxText 22B", "v4 4x4x4", (48, 6144, 24576, 24, 24, 256, 32000), dict(batch=13, seq=2048, fsdp=64, fused_backward=False, iota_embed=False), v4, tflops=156)
    scaled(16, "v5e 16x16", 120, v5e, batch=6, fsdp=256)
    scaled(32, "v5e 16x16", 132, v5e, batch=4, fsdp=256)
    scaled(64, "v5e 16x16", 118, v5e, batch=2, fsdp=256)
    scaled(128, "v5e 16x16", 110, v5e, batch=1, fsdp=16, tensor=16, remat="query_proj,key_proj,value_proj")


def simulate(podsim, pod, text, flags, stem):
    program, summary = stem.with_suffix(".txt"), stem.with_suffix(".json")
    if not summary.exists():
        program.write_text(text())
        done = subprocess.run([podsim, pod, program, "--numbers", "off", "--json", summary, *flags], capture_output=True, text=True)
        if done.returncode:
            return None, done.stderr.splitlines()[0]
    return json.loads(summary.read_text()), ""


def time_text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            break
    return f"{seconds * scale:.4g} {unit}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("podsim")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    options = parser.parse_args()
    has_jax = importlib.util.find_spec("jax") is not None
    for fill in (kernels, collectives, trains) if has_jax else (kernels, collectives):
        fill()
    if not has_jax:
        print("train steps are left out: they need jax", file=sys.stderr)
    folder = pathlib.Path(options.keep or tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    print("| what | pod | measured | podsim | error | exposed | source |\n|---|---|---|---|---|---|---|")
    for name, pod, measured, source, text, flags in ROWS:
        if not re.search(options.only, f"{name}, {pod}"):
            continue
        stem = folder / re.sub(r"\W+", "_", f"{name}_{pod}")
        summary, why = simulate(options.podsim, pod_file(pod, folder), text, flags, stem)
        got = summary and summary["time_seconds"]
        shown = f"{time_text(got)} | {got / measured - 1:+.1%} | {summary['exposed_communication_seconds'] / got:.0%}" if got else f"{why} | |"
        print(f"| {name} | {pod.replace('_', ' ')} | {time_text(measured)} | {shown} | {source} |", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
