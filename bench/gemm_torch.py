#!/usr/bin/env python3
"""A matrix product beside PyTorch's, in alternation: the same sizes, in the same minutes.

usage: gemm_torch.py [--weft build/release/bin/weft] [--rounds 5] [--device cpu|cuda] [--threads 2] [--bf16] [MxNxK ...]
PyTorch is torch.mm into a result that exists, in f32 without TF32, or of bf16 tensors beside `weft bench gemm --precision bf16`.
On a GPU that is the vendor's library; Weft then takes the device of WEFT_DEVICE=gpu. Each round runs `weft bench gemm` and then
PyTorch; each figure is the median of a round. Prints one JSON object a size: GFLOP/s of both by rounds, Weft's kernel,
and the median of the rounds' ratios (weft / PyTorch: above 1 is faster).
"""
import argparse, json, os, statistics, subprocess, time
import torch

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--weft", default="build/release/bin/weft")
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--device", default="cpu")
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--bf16", action="store_true")
ap.add_argument("sizes", nargs="*", default=["1024x1024x1024", "2048x2048x2048", "4096x4096x4096"])
a = ap.parse_args()
torch.set_num_threads(a.threads)
torch.backends.cuda.matmul.allow_tf32 = False
environment = dict(os.environ)
if a.device != "cpu":
    environment.setdefault("WEFT_DEVICE", "gpu")


def wait():
    if a.device == "cuda":
        torch.cuda.synchronize()


def torch_gflops(m, n, k):
    kind = torch.bfloat16 if a.bf16 else torch.float32
    x, y, z = (torch.rand(s, device=a.device).to(kind) for s in ((m, k), (k, n), (m, n)))
    flops, times = 2 * m * n * k, []
    repeats = max(1, int(2e9 // flops))
    for _ in range(11):
        wait()
        begin = time.perf_counter()
        for _ in range(repeats):
            torch.mm(x, y, out=z)
        wait()
        times.append((time.perf_counter() - begin) / repeats)
    return flops / statistics.median(times[2:]) * 1e-9


def weft_figure(name):
    command = [a.weft, "bench", "gemm", "--json", "--precision", "bf16" if a.bf16 else "f32", name]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


for name in a.sizes:
    ours, theirs, kernel = [], [], ""
    for _ in range(a.rounds):
        figure = weft_figure(name)
        ours.append(round(figure["gflops"], 1))
        kernel = figure["implementation"]
        theirs.append(round(torch_gflops(*(int(x) for x in name.split("x"))), 1))
    ratio = statistics.median(x / y for x, y in zip(ours, theirs))
    print(json.dumps({"size": name, "weft": ours, "torch": theirs, "implementation": kernel,
                      "ratio": round(ratio, 3)}), flush=True)
