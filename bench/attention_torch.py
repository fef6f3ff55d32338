#!/usr/bin/env python3
"""Attention beside PyTorch's, in alternation: the same sizes, in the same minutes, on the same two threads.

usage: attention_torch.py [--weft build/release/bin/weft] [--rounds 5] [--threads 2] [--device cpu|cuda] [--causal] [--bf16|--f16]
                          [BATCHxHEADSxLENGTHxWIDTH ...]
PyTorch computes softmax(q @ k.T / sqrt(d)) @ v as users of 1.13 write it (scaled_dot_product_attention came with 2.0),
training adds the gradients of q, k and v for a given gradient of the result. --bf16, --f16: PyTorch's
scaled_dot_product_attention of such tensors, beside `weft bench attention --precision bf16` or f16. --device cuda: without TF32, and
Weft takes the device of WEFT_DEVICE=gpu. Each round runs `weft bench attention` and
then PyTorch; each figure is the median of a round. Prints one JSON object a size and pass: milliseconds of both by
rounds, the median of the rounds' ratios (weft / PyTorch: below 1 is faster), Weft's arena and the scores' bytes.
"""
import argparse, json, os, statistics, subprocess, time
import torch

ap = argparse.ArgumentParser()
ap.add_argument("--weft", default="build/release/bin/weft")
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--causal", action="store_true")
ap.add_argument("--bf16", action="store_true")
ap.add_argument("--f16", action="store_true")
ap.add_argument("--device", default="cpu")
ap.add_argument("sizes", nargs="*", default=["1x8x1024x64", "4x8x1024x64"])
a = ap.parse_args()
torch.set_num_threads(a.threads)
precision = "bf16" if a.bf16 else "f16" if a.f16 else "f32"
if a.device != "cpu":
    os.environ.setdefault("WEFT_DEVICE", "gpu")
    torch.backends.cuda.matmul.allow_tf32 = False


def sync():
    if a.device == "cuda":
        torch.cuda.synchronize()


def attention(q, k, v, mask):
    if precision != "f32":
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=mask is not None)
    s = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return torch.softmax(s if mask is None else s.masked_fill(mask, float("-inf")), -1) @ v


def torch_ms(size, training):
    b, h, l, d = size
    q, k, v, slope = (torch.rand(b, h, l, d, device=a.device) * 2 - 1 for _ in range(4))
    if precision != "f32":
        q, k, v, slope = (x.to(torch.bfloat16 if a.bf16 else torch.float16) for x in (q, k, v, slope))
    mask = torch.ones(l, l, dtype=torch.bool, device=a.device).triu(1) if a.causal else None
    if training:
        for x in (q, k, v):
            x.requires_grad_(True)
    times = []
    with torch.set_grad_enabled(training):
        for _ in range(13):
            sync()
            begin = time.perf_counter()
            y = attention(q, k, v, mask)
            if training:
                torch.autograd.grad(y, (q, k, v), slope)
            sync()
            times.append(time.perf_counter() - begin)
    return statistics.median(times[2:]) * 1e3


for name in a.sizes:
    size = [int(x) for x in name.split("x")]
    ours, theirs = {"forward": [], "training": []}, {"forward": [], "training": []}
    arena = {}
    for _ in range(a.rounds):
        command = [a.weft, "bench", "attention", "--json", *(["--causal"] if a.causal else []),
                   *(["--precision", precision] if precision != "f32" else []), name]
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            figure = json.loads(line)
            ours[figure["pass"]].append(figure["milliseconds"])
            arena[figure["pass"]] = figure["arena_bytes"]
        for which in ours:
            theirs[which].append(round(torch_ms(size, which == "training"), 3))
    for which in ours:
        ratios = [x / y for x, y in zip(ours[which], theirs[which])]
        print(json.dumps({"size": name, "pass": which, "causal": a.causal, "precision": precision, "weft_ms": ours[which], "torch_ms": theirs[which],
                          "ratio": round(statistics.median(ratios), 3), "weft_arena_bytes": arena[which],
                          "scores_bytes": size[0] * size[1] * size[2] * size[2] * 4}))
