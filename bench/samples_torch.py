#!/usr/bin/env python3
"""Peer side of samples in PyTorch: the same network from the same first weights, over the same batches.

usage: samples_torch.py SAMPLE DIR [--losses FILE]
DIR is what the sample wrote with --trace DIR: weights.safetensors, batches.bin (what it gave to its plan, step by step) and
losses.txt. Prints PyTorch's losses beside the sample's and the largest relative difference, and fails beyond 1e-5.
With --losses, writes PyTorch's losses to FILE: tests/golden/samples/SAMPLE.losses, which the tests compare samples with.
"""
import argparse, json, struct, sys
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
from torch import nn

STEPS = 20
torch.set_num_threads(1)


class Trace:
    """The weights by name, and the arrays of batches.bin in order."""

    def __init__(self, folder):
        content = (folder / "weights.safetensors").read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8:8 + size])
        header.pop("__metadata__", None)
        self.p = {}
        for name, entry in header.items():
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            values = numpy.frombuffer(content[begin:end], numpy.float32).copy().reshape(entry["shape"])
            self.p[name] = torch.from_numpy(values).requires_grad_(True)
        self.bytes = (folder / "batches.bin").read_bytes()
        self.losses = [[float(x) for x in line.split()] for line in (folder / "losses.txt").read_text().splitlines()]
        self.at = 0

    def take(self, *shape, dtype=numpy.float32):
        """The next array."""
        count = int(numpy.prod(shape))
        values = numpy.frombuffer(self.bytes, dtype, count, self.at).copy()
        self.at += values.nbytes
        tensor = torch.from_numpy(values).reshape(shape)
        return tensor.long() if dtype == numpy.int32 else tensor

    def of(self, prefix):
        return [p for name, p in self.p.items() if name.startswith(prefix)]

    def load(self, module, scope=""):
        """Gives a module the weights of a scope, whose layers are numbered by their kinds, as in the sample."""
        kinds = {nn.Linear: "linear", nn.Conv2d: "conv", nn.ConvTranspose2d: "convtranspose", nn.BatchNorm2d: "batchnorm"}
        made = dict.fromkeys(kinds, 0)
        for layer in module.modules():
            kind = type(layer)
            if kind in kinds:
                made[kind] += 1
                for name, p in layer.named_parameters():
                    p.data = self.p.pop(f"{scope}{kinds[kind]}{made[kind]}.{name}").data

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p.get(name + ".bias"))

    def layer_norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p[name + ".weight"], self.p[name + ".bias"])


def step(optimizer, loss, clipped=()):
    optimizer.zero_grad()
    loss.backward()
    if clipped:
        torch.nn.utils.clip_grad_norm_(clipped, 1)
    optimizer.step()
    return loss.item()


def gpt(t, batch=16, heads=4):
    places, width = t.p["gpt.embedding2.weight"].shape
    layers = sum(name.endswith("linear1.weight") for name in t.p) - 1
    adam = torch.optim.AdamW(t.p.values(), 3e-3, weight_decay=0.01)

    def block(x, name):
        q, k, v = (y.view(batch, places, heads, -1).transpose(1, 2) for y in
                   t.linear(t.layer_norm(x, name + "layernorm1"), name + "linear1").split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
        x = x + t.linear(y, name + "linear2")
        return x + t.linear(F.gelu(t.linear(t.layer_norm(x, name + "layernorm2"), name + "linear3")), name + "linear4")

    for _ in range(STEPS):
        seen, wanted = (t.take(batch, places, dtype=numpy.int32) for _ in range(2))
        x = F.embedding(seen, t.p["gpt.embedding1.weight"]) + t.p["gpt.embedding2.weight"]
        for i in range(layers):
            x = block(x, f"gpt.block{i}.")
        logits = t.linear(t.layer_norm(x, "gpt.layernorm1"), "gpt.linear1")
        yield step(adam, F.cross_entropy(logits.flatten(0, 1), wanted.flatten()))


def dqn(t, batch=64):
    online = t.of("online.")
    target = {name: p.detach().clone() for name, p in t.p.items() if name.startswith("target.")}
    adam = torch.optim.Adam(online, 5e-4)

    def values(p, scope, x):
        for i in (1, 2, 3):
            x = F.linear(x, p[f"{scope}.linear{i}.weight"], p[f"{scope}.linear{i}.bias"])
            x = F.relu(x) if i < 3 else x
        return x

    for _ in range(STEPS):
        seen, after = t.take(batch, 4), t.take(batch, 4)
        alive, action = t.take(batch), t.take(batch, dtype=numpy.int32)
        best = values(target, "target", after).amax(1)
        taken = values(t.p, "online", seen).gather(1, action[:, None])[:, 0]
        yield step(adam, F.huber_loss(taken, best * 0.99 * alive + 1))
        with torch.no_grad():
            for name, p in target.items():
                p.mul_(0.99).add_(t.p[name.replace("target", "online")], alpha=0.01)


def seq2seq(t, batch=64, longest=10, hidden=64):
    readers = {name: torch.nn.GRU(hidden, hidden, batch_first=True) for name in ("reader", "writer")}
    adam = torch.optim.Adam(t.p.values(), 3e-3)

    def gru(name, *inputs):
        own = {key.split(".")[1]: p for key, p in t.p.items() if key.startswith(name)}
        return torch.func.functional_call(readers[name], own, inputs)

    for _ in range(STEPS):
        word, given, wanted = (t.take(batch, n, dtype=numpy.int32) for n in (longest, longest + 1, longest + 1))
        packed = torch.nn.utils.rnn.pack_padded_sequence(F.embedding(word, t.p["embedding1.weight"]), (word != 0).sum(1),
                                                         True, False)
        read, state = gru("reader", packed)
        read = torch.nn.utils.rnn.pad_packed_sequence(read, True, total_length=longest)[0]
        h = gru("writer", F.embedding(given, t.p["embedding2.weight"]), state)[0]
        seen = F.scaled_dot_product_attention(h, read, read, (word != 0)[:, None])
        logits = t.linear(torch.tanh(t.linear(torch.cat((h, seen), 2), "linear1")), "linear2")
        yield step(adam, F.cross_entropy(logits.flatten(0, 1), wanted.flatten()), t.p.values())


def finetune(t, batch=64):
    head = t.of("new.")
    sgd = torch.optim.SGD(head, 0.1, momentum=0.9)

    def norm(x, conv, name, stride=1):
        x = F.conv2d(x, t.p[f"body.{conv}.weight"], stride=stride, padding=1)
        return F.batch_norm(x, *(t.p[f"body.{name}.{part}"].detach() for part in
                                 ("running_mean", "running_var", "weight", "bias")))

    def features(x):
        x = F.relu(norm(x, 0, 1))
        for layer in range(3, 12):
            width = t.p[f"body.{layer}.c1.weight"].shape[0]
            stride = width // x.shape[1]
            y = norm(F.relu(norm(x, f"{layer}.c1", f"{layer}.b1", stride)), f"{layer}.c2", f"{layer}.b2")
            x = F.relu(y + F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, width - x.shape[1])))
        return x.mean((2, 3))

    for _ in range(STEPS):
        images, labels = t.take(batch, 1, 8, 8), t.take(batch, dtype=numpy.int32)
        with torch.no_grad():
            seen = features(images)
        yield step(sgd, F.cross_entropy(t.linear(seen, "new"), labels))


def vae(t, batch=64, width=128, code=8):
    encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU())
    mean, log_variance = nn.Linear(width, code), nn.Linear(width, code)
    decoder = nn.Sequential(nn.Linear(code, width), nn.ReLU(), nn.Linear(width, 64))
    networks = nn.ModuleList((encoder, mean, log_variance))
    t.load(networks)
    t.load(decoder, "decoder.")
    adam = torch.optim.Adam((*networks.parameters(), *decoder.parameters()), 2e-3)
    for _ in range(STEPS):
        image, noise = t.take(batch, 64), t.take(batch, code)
        h = encoder(image)
        m, v = mean(h), log_variance(h)
        y = decoder(m + noise * (0.5 * v).exp())
        divergence = 0.5 * (v.exp() + m**2 - v - 1).sum(1).mean()
        yield step(adam, F.binary_cross_entropy_with_logits(y, image, reduction="sum") / batch + divergence)


def digit_generator(width=32):
    return nn.Sequential(
        nn.Linear(16, 8 * width), nn.Unflatten(1, (2 * width, 2, 2)),
        nn.BatchNorm2d(2 * width), nn.SiLU(), nn.ConvTranspose2d(2 * width, width, 4, 2, 1),
        nn.BatchNorm2d(width), nn.SiLU(), nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Sigmoid())


def dcgan(t, batch=64, width=32):
    generator = digit_generator()
    discriminator = nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1), nn.SiLU(),
        nn.Conv2d(width, 2 * width, 4, 2, 1), nn.BatchNorm2d(2 * width), nn.SiLU(),
        nn.Flatten(), nn.Linear(8 * width, 1))
    t.load(generator, "generator.")
    t.load(discriminator, "discriminator.")
    adam_d = torch.optim.Adam(discriminator.parameters(), 1e-3, (0.5, 0.999), 1e-6)
    adam_g = torch.optim.Adam(generator.parameters(), 2e-3, (0.5, 0.999), 1e-6)
    for _ in range(STEPS):
        image, noise, other = t.take(batch, 1, 8, 8), t.take(batch, 16), t.take(batch, 16)
        fake = generator(noise).detach()
        caught = step(adam_d, (F.softplus(-discriminator(image)) + F.softplus(discriminator(fake))).mean())
        yield caught, step(adam_g, F.softplus(-discriminator(generator(other))).mean())


def wgan_gp(t, batch=64, width=32):
    generator = digit_generator()
    critic = nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1), nn.SiLU(), nn.Conv2d(width, 2 * width, 4, 2, 1), nn.SiLU(),
        nn.Flatten(), nn.Linear(8 * width, 1))
    t.load(generator, "generator.")
    t.load(critic, "critic.")
    adam_c = torch.optim.Adam(critic.parameters(), 1e-3, (0.5, 0.9))
    adam_g = torch.optim.Adam(generator.parameters(), 2e-3, (0.5, 0.9))
    for i in range(1, STEPS + 1):
        image, noise, share = t.take(batch, 1, 8, 8), t.take(batch, 16), t.take(batch, 1, 1, 1)
        if i % 6 == 0:
            yield step(adam_g, -critic(generator(noise)).mean())
            continue
        fake = generator(noise).detach()
        between = (fake + share * (image - fake)).requires_grad_(True)
        slope, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        steep = (slope.norm(2, (1, 2, 3)) - 1) ** 2
        yield step(adam_c, critic(fake).mean() - critic(image).mean() + 10 * steep.mean())


def unet(t, batch=64, width=16):
    def twice(inputs, filters):
        return nn.Sequential(
            nn.Conv2d(inputs, filters, 3, 1, 1), nn.BatchNorm2d(filters), nn.SiLU(),
            nn.Conv2d(filters, filters, 3, 1, 1), nn.BatchNorm2d(filters), nn.SiLU())

    fine, middle, coarse = twice(1, width), twice(width, 2 * width), twice(2 * width, 4 * width)
    low, up = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), twice(4 * width, 2 * width)
    high, top = nn.ConvTranspose2d(2 * width, width, 2, 2), twice(2 * width, width)
    networks = nn.ModuleList((fine, middle, coarse, low, up, high, top, nn.Conv2d(width, 1, 1)))
    t.load(networks)
    adam = torch.optim.Adam(networks.parameters(), 3e-3)
    for _ in range(STEPS):
        image, strokes = t.take(batch, 1, 8, 8), t.take(batch, 1, 8, 8)
        a = fine(image)
        b = middle(F.avg_pool2d(a, 2))
        x = up(torch.cat((b, low(coarse(F.avg_pool2d(b, 2)))), 1))
        logits = networks[-1](top(torch.cat((a, high(x)), 1)))
        yield step(adam, F.binary_cross_entropy_with_logits(logits, strokes))


SAMPLES = {function.__name__: function for function in (gpt, dqn, seq2seq, finetune, vae, dcgan, wgan_gp, unet)}
ap = argparse.ArgumentParser()
ap.add_argument("sample", choices=SAMPLES)
ap.add_argument("folder", type=Path)
ap.add_argument("--losses", type=Path)
a = ap.parse_args()
trace = Trace(a.folder)
rows = [x if isinstance(x, tuple) else (x,) for x in SAMPLES[a.sample](trace)]
worst = 0
for number, (wanted, got) in enumerate(zip(rows, trace.losses), 1):
    difference = max(abs(w - g) / max(abs(w), 1e-30) for w, g in zip(wanted, got))
    worst = max(worst, difference)
    print(f"step {number:2}: PyTorch {wanted}, Weft {got}, {difference:.1e}")
if len(rows) != STEPS or len(trace.losses) != STEPS or trace.at != len(trace.bytes):
    sys.exit(f"{len(trace.losses)} steps, and {len(trace.bytes) - trace.at} bytes that were not read")
if a.losses:
    a.losses.write_text("".join(" ".join(f"{x:.9g}" for x in row) + "\n" for row in rows))
print(f"largest relative difference: {worst:.1e}")
sys.exit(worst > 1e-5)
