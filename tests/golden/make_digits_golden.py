"""Records digits_golden.json: the losses of an MLP 64-128-10 over the first 20 batches of 32 digits, in PyTorch.

Run in the root of the tree with a Python that has torch (Debian: python3-torch):
    /usr/bin/python3 tests/golden/make_digits_golden.py

The first weights come from a formula (golden_weights.py), which tests/train/test_golden.c computes alike, so that the
file holds the curves alone.
"""
import json
import struct

import numpy
import torch

from golden_weights import weights

STEPS, BATCH = 20, 32
FOLDER = "data/digits/"
PARAMETERS = [  # name, shape, scale
    ("linear1.weight", (128, 64), 0.125),
    ("linear1.bias", (128,), 0.125),
    ("linear2.weight", (10, 128), 0.0625),
    ("linear2.bias", (10,), 0.0625),
]


def read_idx(name):
    with open(FOLDER + name, "rb") as file:
        content = file.read()
    rank = content[3]
    dims = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
    return numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * rank).reshape(dims)


def curve(make_optimizer):
    images = torch.from_numpy(read_idx("train-images-idx3-ubyte").astype(numpy.float32) / numpy.float32(255))
    labels = torch.from_numpy(read_idx("train-labels-idx1-ubyte").astype(numpy.int64))
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    with torch.no_grad():
        for number, (parameter, (_, shape, scale)) in enumerate(zip(model.parameters(), PARAMETERS)):
            parameter.copy_(weights(number, shape, scale))
    optimizer = make_optimizer(model.parameters())
    losses = []
    for step in range(STEPS):
        batch = slice(step * BATCH, (step + 1) * BATCH)
        loss = torch.nn.functional.cross_entropy(model(images[batch].reshape(BATCH, 64)), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.set_num_threads(1)
    golden = {
        "torch": torch.__version__,
        "batch": BATCH,
        "sgd": curve(lambda p: torch.optim.SGD(p, lr=0.1)),
        "sgd_momentum": curve(lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01)),
        "adam": curve(lambda p: torch.optim.Adam(p, lr=0.001)),
    }
    with open("tests/golden/digits_golden.json", "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")


main()
