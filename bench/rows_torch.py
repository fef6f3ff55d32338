#!/usr/bin/env python3
"""Peer side of `weft bench rows`, in PyTorch: a skip-gram's step with sparse gradients.

usage: rows_torch.py [--rule adam|adagrad|sgd] [--rows N] [--width N] [--batch N] [--steps N] [--threads N]
Prints one line: rule, rows, median milliseconds, least milliseconds.
"""
import argparse, os, statistics, time
ap = argparse.ArgumentParser()
ap.add_argument("--rule", default="adam", choices=["adam", "adagrad", "sgd"])
for name, value in dict(rows=200000, width=128, batch=1024, steps=200, threads=os.cpu_count()).items():
    ap.add_argument("--" + name, type=int, default=value)
a = ap.parse_args()
import torch
import torch.nn.functional as F
torch.set_num_threads(a.threads)
torch.manual_seed(1)
inner, outer = (torch.nn.Embedding(a.rows, a.width, sparse=True) for _ in range(2))
parameters = list(inner.parameters()) + list(outer.parameters())
rule = {"adam": lambda: torch.optim.SparseAdam(parameters, lr=1e-3), "sgd": lambda: torch.optim.SGD(parameters, lr=0.1),
        "adagrad": lambda: torch.optim.Adagrad(parameters, lr=0.1)}[a.rule]()
sign = torch.tensor([-1.0, 1, 1, 1, 1, 1])
times = []
for step in range(a.steps + 5):
    word, other = torch.randint(a.rows, (a.batch,)), torch.randint(a.rows, (a.batch, 6))
    begin = time.perf_counter()
    rule.zero_grad(set_to_none=True)
    logits = (inner(word).unsqueeze(1) * outer(other)).sum(2)
    F.softplus(logits * sign).sum(1).mean().backward()
    rule.step()
    times.append(time.perf_counter() - begin)
times = times[5:]
print(a.rule, a.rows, f"{1e3 * statistics.median(times):.3f} {1e3 * min(times):.3f}")
