#!/usr/bin/env python3
"""Peer side of `weft bench gpt`, in PyTorch: the same GPT, a training step with AdamW, or a token with caches.

usage: gpt_torch.py [train|decode] [--device cpu|cuda] [--threads N] [--layers N] [--width N] [--vocabulary N] [--context N] [--batch N]
                    [--length N] [--steps N]
Prints one line: what, median milliseconds, least milliseconds.
"""
import argparse, os, statistics, time
ap = argparse.ArgumentParser()
ap.add_argument("what", nargs="?", default="train", choices=["train", "decode"])
ap.add_argument("--device", default="cpu")
ap.add_argument("--threads", type=int, default=os.cpu_count())
for name, value in dict(layers=12, width=768, vocabulary=50257, context=1024, batch=1, length=256, steps=5).items():
    ap.add_argument("--" + name, type=int, default=value)
a = ap.parse_args()
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.set_num_threads(a.threads)
torch.manual_seed(1)
torch.set_default_device(a.device)
torch.backends.cuda.matmul.allow_tf32 = False
HEADS = a.width // 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(a.width), nn.LayerNorm(a.width)
        self.all, self.out = nn.Linear(a.width, 3 * a.width), nn.Linear(a.width, a.width)
        self.wide, self.narrow = nn.Linear(a.width, 4 * a.width), nn.Linear(4 * a.width, a.width)

    def forward(self, x, cache=None, at=0):
        b, n, w = x.shape
        q, k, v = self.all(self.n1(x)).view(b, n, 3, HEADS, w // HEADS).permute(2, 0, 3, 1, 4)
        if cache is not None:
            cache[0][:, :, at:at + n], cache[1][:, :, at:at + n] = k, v
            k, v = cache[0][:, :, :at + n], cache[1][:, :, :at + n]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, w))
        return x + self.narrow(F.gelu(self.wide(self.n2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(a.vocabulary, a.width), nn.Embedding(a.context, a.width)
        self.blocks = nn.ModuleList(Block() for _ in range(a.layers))
        self.norm, self.head = nn.LayerNorm(a.width), nn.Linear(a.width, a.vocabulary)

    def forward(self, tokens, caches=None, at=0):
        x = self.tokens(tokens) + self.places(torch.arange(at, at + tokens.shape[1]))
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None, at)
        return self.head(self.norm(x))


def sync():
    if a.device == "cuda":
        torch.cuda.synchronize()


net = GPT()
times = []
if a.what == "train":
    adam = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.01)
    tokens = torch.arange(a.batch * a.length).view(a.batch, a.length) * 7919 % a.vocabulary
    for step in range(a.steps + 2):
        sync()
        begin = time.perf_counter()
        adam.zero_grad(set_to_none=True)
        F.cross_entropy(net(tokens).flatten(0, 1), tokens.flatten()).backward()
        adam.step()
        sync()
        times.append(time.perf_counter() - begin)
else:
    caches = [torch.zeros(2, 1, HEADS, a.context, a.width // HEADS) for _ in range(a.layers)]
    token = torch.ones(1, 1, dtype=torch.long)
    with torch.inference_mode():
        for step in range(a.steps + 2):
            begin = time.perf_counter()
            token = net(token, caches, step)[:, -1:].argmax(-1)
            token.item()
            times.append(time.perf_counter() - begin)
times = times[2:]
print(a.what, f"{1e3 * statistics.median(times):.2f} {1e3 * min(times):.2f}")
