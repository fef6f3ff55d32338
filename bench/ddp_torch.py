#!/usr/bin/env python3
"""Losses of Weft on several processes beside those of PyTorch's DistributedDataParallel: the same weights, batches and shares.

usage: ddp_torch.py [--weft build/release/bin/weft] [--only digits-CNN|LSTM] [--ranks 2] [--steps 100] [--batch N]
`weft bench curve --shards 1` trains under mpirun, and PyTorch with the backend gloo, each with as many processes and SGD. digits-CNN learns the
digits of data/digits, the LSTM language model the bytes of data/text/alice.txt. All shares of a batch have as many labels, so that the mean
of the gradients that DistributedDataParallel takes is the gradient of the batch. Prints the largest relative difference of a step's losses, and
fails where it is above 1e-4.
"""
import argparse, csv, json, os, struct, subprocess, sys, tempfile
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = 1e-4


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--weft", default=ROOT / "build/release/bin/weft")
    ap.add_argument("--only", choices=tuple(NETWORKS))
    ap.add_argument("--ranks", type=int, default=2)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch", type=int, default=32, help="examples of all processes")
    return ap.parse_args()


# ---- networks: parameters in the order of their names in Weft's file ----

class DigitsCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Flatten(), nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x):
        return self.layers(x.permute(0, 3, 1, 2).contiguous())


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.head = nn.Embedding(10000, 256), nn.LSTM(256, 256, 2, batch_first=True), nn.Linear(256, 10000)

    def forward(self, x):
        return self.head(self.lstm(self.words(x.long()))[0]).flatten(0, 1)


# ---- batches: examples, and labels by example ----

def digits(random, a):
    def idx(name, header):
        return numpy.frombuffer((ROOT / "data/digits" / name).read_bytes(), numpy.uint8)[header:]

    labels = idx("train-labels-idx1-ubyte", 8)
    images = idx("train-images-idx3-ubyte", 16).reshape(len(labels), 8, 8, 1) / 255.0
    for _ in range(a.steps):
        chosen = random.integers(len(labels), size=a.batch)
        yield images[chosen].astype(numpy.float32), labels[chosen].astype(numpy.int32)


def text(random, a):
    tokens = numpy.frombuffer((ROOT / "data/text/alice.txt").read_bytes(), numpy.uint8).astype(numpy.int32)
    for _ in range(a.steps):
        rows = numpy.stack([tokens[i:i + 33] for i in random.integers(len(tokens) - 33, size=a.batch)])
        yield rows[:, :-1].copy(), rows[:, 1:].copy()


NETWORKS = {"digits-CNN": (digits, DigitsCNN, 0.05), "LSTM": (text, LanguageModel, 0.1)}


# ---- PyTorch ----

def read_weights(path, network):
    """Weft's parameters have the names of PyTorch's last ones, with other names of layers."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    entries = {name: entry for name, entry in json.loads(content[8:8 + size]).items() if name != "__metadata__"}
    own = dict(network.named_parameters())
    by_kind = {}
    for name in entries:
        by_kind.setdefault(name.split(".")[-1], []).append(name)
    with torch.no_grad():
        for name, parameter in own.items():
            kind = name.split(".")[-1]
            first = next(n for n in by_kind[kind] if entries[n]["shape"] == list(parameter.shape))
            by_kind[kind].remove(first)
            begin, end = (8 + size + offset for offset in entries[first]["data_offsets"])
            parameter.copy_(torch.from_numpy(numpy.frombuffer(content[begin:end], numpy.float32).copy().reshape(parameter.shape)))
    unused = [n for names in by_kind.values() for n in names]
    if unused:
        sys.exit(f"ddp_torch: Weft's parameters {unused} have no counterpart")


def torch_rank(rank, a, name, folder):
    """One process: its share of each batch. Rank 0 writes the losses of the whole batches."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=a.ranks)
    source, make, rate = NETWORKS[name]
    network = make()
    read_weights(folder / "weights.safetensors", network)
    network = nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.SGD(network.parameters(), rate)
    share = slice(rank * a.batch // a.ranks, (rank + 1) * a.batch // a.ranks)
    losses = []
    for x, labels in source(numpy.random.default_rng(1), a):
        optimizer.zero_grad()
        loss = F.cross_entropy(network(torch.from_numpy(x[share])), torch.from_numpy(labels[share]).long().flatten())
        loss.backward()
        optimizer.step()
        whole = loss.detach().clone()
        dist.all_reduce(whole)
        losses.append(whole.item() / a.ranks)
    if rank == 0:
        (folder / "torch.txt").write_text("".join(f"{x:.9g}\n" for x in losses))
    dist.destroy_process_group()


def torch_losses(a, name, folder):
    torch.multiprocessing.spawn(torch_rank, (a, name, folder), a.ranks)
    return numpy.array([float(x) for x in (folder / "torch.txt").read_text().split()])


# ---- Weft ----

def weft_losses(a, name, folder):
    command = ["mpirun", "-n", a.ranks, a.weft, "bench", "curve", name, "--batches", folder / "batches.bin", "--weights",
               folder / "weights.safetensors", "--steps", a.steps, "--batch", a.batch, "--rate", NETWORKS[name][2], "--shards", 1, "--csv-log",
               folder / "weft.csv"]
    one = {"POCL_MAX_PTHREAD_COUNT": "1", "POCL_CPU_MAX_CU_COUNT": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_hwloc_base_binding_policy": "none"}
    subprocess.run([str(x) for x in command], check=True, env=one | os.environ)
    with open(folder / "weft.csv", newline="") as log:
        return numpy.array([float(row["loss"]) for row in csv.DictReader(log) if row["event"] == "step"])


def compare(a, name, folder):
    folder.mkdir()
    batches = NETWORKS[name][0](numpy.random.default_rng(1), a)
    (folder / "batches.bin").write_bytes(b"".join(x.tobytes() + labels.tobytes() for x, labels in batches))
    ours, theirs = weft_losses(a, name, folder), torch_losses(a, name, folder)
    if len(ours) != a.steps or len(theirs) != a.steps:
        sys.exit(f"ddp_torch: {name}: {len(ours)} losses of Weft, {len(theirs)} of PyTorch, expected {a.steps}")
    worst = numpy.abs(ours / theirs - 1).max()
    print(f"{name}: {a.ranks} processes, {a.steps} steps of {a.batch} examples, loss {theirs[0]:.4f} to {theirs[-1]:.4f}: "
          f"relative difference at most {worst:.1e}", flush=True)
    return worst <= ALLOWED


def main():
    a = parse()
    if a.batch % a.ranks:
        sys.exit(f"ddp_torch: --batch {a.batch} is not a multiple of --ranks {a.ranks}")
    a.port = 20000 + os.getpid() % 20000
    with tempfile.TemporaryDirectory() as scratch:
        good = [compare(a, name, Path(scratch) / name) for name in ([a.only] if a.only else NETWORKS)]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
