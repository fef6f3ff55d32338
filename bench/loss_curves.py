#!/usr/bin/env python3
"""Losses in mixed precision beside those in f32, of Weft and of PyTorch: the same first weights and the same batches.

usage: loss_curves.py [--weft build/release/bin/weft] [--only ResNet-56|LSTM] [--steps 300] [--batch N] [--precision bf16]
                      [--threads N] [--folder DIR]
ResNet-56 learns the digits of data/digits, four times as large, in noise, a fifth of them with another label; the LSTM
language model learns the bytes of data/text/alice.txt. `weft bench curve` trains each twice in each precision, and the losses
of both runs must be equal; PyTorch trains in f32 and under autocast. FOLDER keeps batches, weights and losses.

The distance of a curve from its f32 curve is, step by step, (loss - f32 loss) / f32 loss, averaged over 25 steps in a row. Prints
the distances of both frameworks, and fails where they are more than 2 % apart. What rounding alone does shows between their f32
curves: from the same weights they part as training amplifies the last bits.
"""
import argparse, json, struct, subprocess, sys, tempfile
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parent.parent
WINDOW, ALLOWED = 25, 0.02
ap = argparse.ArgumentParser()
ap.add_argument("--weft", default=ROOT / "build/release/bin/weft")
ap.add_argument("--only", choices=("ResNet-56", "LSTM"))
ap.add_argument("--steps", type=int, default=300)
ap.add_argument("--batch", type=int, default=32)
ap.add_argument("--precision", choices=("bf16", "f16"), default="bf16")
ap.add_argument("--threads", type=int, default=2)
ap.add_argument("--folder", type=Path)
a = ap.parse_args()
torch.set_num_threads(a.threads)
random = numpy.random.default_rng(1)


def idx(name, header):
    return numpy.frombuffer((ROOT / "data/digits" / name).read_bytes(), numpy.uint8)[header:]


def digits():
    """One batch after the other: images (N, 32, 32, 3) and labels."""
    labels = idx("train-labels-idx1-ubyte", 8)
    images = idx("train-images-idx3-ubyte", 16).reshape(len(labels), 8, 8) / 255.0
    for _ in range(a.steps):
        chosen = random.integers(len(labels), size=a.batch)
        x = images[chosen].repeat(4, 1).repeat(4, 2)[..., None] + random.normal(0, 0.5, (a.batch, 32, 32, 3))
        other = random.integers(10, size=a.batch)
        yield x.astype(numpy.float32), numpy.where(random.random(a.batch) < 0.2, other, labels[chosen]).astype(numpy.int32)


def text():
    """Tokens (N, 32) and the ones after them."""
    tokens = numpy.frombuffer((ROOT / "data/text/alice.txt").read_bytes(), numpy.uint8).astype(numpy.int32)
    for _ in range(a.steps):
        begin = random.integers(len(tokens) - 33, size=a.batch)
        rows = numpy.stack([tokens[i:i + 33] for i in begin])
        yield rows[:, :-1].copy(), rows[:, 1:].flatten()


def resnet56(p, x):
    def norm(x, conv, bias, stride=1):
        x = F.conv2d(x, p[conv + ".weight"], stride=stride, padding=1)
        return F.batch_norm(x, None, None, p[bias + ".weight"], p[bias + ".bias"], True)

    x = F.relu(norm(x.permute(0, 3, 1, 2), "0", "1"))
    for layer in range(3, 30):
        width = p[f"{layer}.c1.weight"].shape[0]
        stride = width // x.shape[1]
        y = norm(F.relu(norm(x, f"{layer}.c1", f"{layer}.b1", stride)), f"{layer}.c2", f"{layer}.b2")
        x = F.relu(y + F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, width - x.shape[1])))
    return F.linear(x.mean((2, 3)), p["32.weight"], p["32.bias"])


LSTM = torch.nn.LSTM(256, 256, 2, batch_first=True)


def language_model(p, x):
    own = {name.split(".")[1]: value for name, value in p.items() if name.startswith("lstm")}
    h = torch.func.functional_call(LSTM, own, F.embedding(x.long(), p["embedding1.weight"]))[0]
    return F.linear(h, p["linear1.weight"], p["linear1.bias"]).flatten(0, 1)


NETWORKS = {"ResNet-56": (digits, resnet56, 0.003), "LSTM": (text, language_model, 0.1)}


def read_weights(path):
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    weights = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name == "__metadata__" or "running_" in name:
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = numpy.frombuffer(content[begin:end], numpy.float32).copy().reshape(entry["shape"])
        weights[name] = torch.from_numpy(values).requires_grad_(True)
    return weights


def torch_losses(name, path, batches, precision):
    _, network, rate = NETWORKS[name]
    weights = read_weights(path)
    optimizer = torch.optim.SGD(weights.values(), rate)
    scaler = torch.amp.GradScaler("cpu", enabled=precision == "f16")
    dtype = torch.float16 if precision == "f16" else torch.bfloat16
    for x, labels in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype, enabled=precision != "f32"):
            logits = network(weights, torch.from_numpy(x))
        loss = F.cross_entropy(logits.float(), torch.from_numpy(labels).long())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        yield loss.item()


def weft_losses(name, folder, precision):
    command = [a.weft, "bench", "curve", name, "--batches", folder / "batches.bin", "--weights", folder / "weights.safetensors",
               "--steps", a.steps, "--batch", a.batch, "--rate", NETWORKS[name][2], "--precision", precision]
    runs = [subprocess.run([str(x) for x in command], check=True, stdout=subprocess.PIPE, text=True).stdout for _ in range(2)]
    if runs[0] != runs[1]:
        sys.exit(f"{name} in {precision}: two runs have different losses")
    return [float(x) for x in runs[0].split()]


def smooth(values):
    return numpy.convolve(values, numpy.ones(WINDOW) / WINDOW, "valid")


def compare(name, folder):
    folder.mkdir(parents=True, exist_ok=True)
    batches = list(NETWORKS[name][0]())
    (folder / "batches.bin").write_bytes(b"".join(x.tobytes() + labels.tobytes() for x, labels in batches))
    distances = {}
    for framework in ("weft", "torch"):
        curves = []
        for precision in ("f32", a.precision):
            losses = (weft_losses(name, folder, precision) if framework == "weft" else
                      list(torch_losses(name, folder / "weights.safetensors", batches, precision)))
            (folder / f"{framework}.{precision}.txt").write_text("".join(f"{x:.9g}\n" for x in losses))
            curves.append(numpy.array(losses))
            print(f"{name} {framework} {precision}: first loss {losses[0]:.6f}, last {WINDOW} {numpy.mean(losses[-WINDOW:]):.4f}",
                  flush=True)
        distances[framework] = smooth(curves[1] / curves[0] - 1)
        of_weft = curves[0] if framework == "weft" else of_weft
    apart = numpy.abs(distances["weft"] - distances["torch"])
    rounding = numpy.abs(smooth(curves[0] / of_weft - 1)).max()
    far = {which: numpy.abs(d).max() for which, d in distances.items()}
    print(f"{name}: distance of {a.precision} from f32 at most {far['weft']:.2%} (Weft), {far['torch']:.2%} (PyTorch); "
          f"apart at most {apart.max():.2%}, {apart.mean():.2%} in the mean; in f32 both are at most {rounding:.2%} apart",
          flush=True)
    return apart.max() <= ALLOWED


with tempfile.TemporaryDirectory() as scratch:
    names = [a.only] if a.only else NETWORKS
    good = [compare(name, (a.folder or Path(scratch)) / name) for name in names]
sys.exit(not all(good))
