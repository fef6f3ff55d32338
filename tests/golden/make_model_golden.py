#!/usr/bin/env python3
"""Records what PyTorch computes for the networks of weft/models.h.

usage: make_model_golden.py [NAME...] > model_golden.json         (torch 1.13 or newer, torchvision, numpy; minutes, 6 GB)

model_golden.json has all networks but googlenet, inception_v3, vgg11 and vgg16.

The modules are in model_networks.py. Weights and images are made by a formula of their name and index, which
tests/nn/model_values.h has, too, so none are stored. All is computed in float64 from those float32 values, without
dropout: in inference mode the logits of 2 images; in training mode, of one step at batch 2, the loss and the norm of
every parameter's gradient, and 20 steps of SGD with momentum for two networks. The same in float32 must agree well
within the tests' tolerance: a case that does not is badly conditioned and fails here.
"""
import json
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

from golden_formula import hashed, rounded, value_of
from model_networks import NETWORKS

torch.set_num_threads(2)


# ---- values ----

# Biases stand away from 0, so that fewer activations stand where relu turns: else deep networks with norms amplify
# rounding. The further, the deeper.
SHIFTS = {"mobilenet_v2": 2.0, "resnet34": 2.0}


def image_of(name, shape):
    return torch.from_numpy(hashed(name, int(np.prod(shape))).reshape(shape) * np.float32(math.sqrt(3.0)))


CURVES = {"resnet20": (8, 0.001), "alexnet_r": (8, 0.0005)}  # batch, rate
STEPS, IMAGES, MOMENTUM = 20, 4, 0.9


def prepare(net, dtype, network):
    with torch.no_grad():
        for name, p in [*net.named_parameters(), *net.named_buffers()]:
            if not name.endswith("num_batches_tracked"):
                p.copy_(value_of(name, tuple(p.shape), SHIFTS.get(network, 1.0)))
    for module in net.modules():  # dropout and stochastic depth
        if isinstance(getattr(module, "p", None), float):
            module.p = 0.0
    return net.to(dtype).train()


def labels_of(step, batch, classes):
    return torch.tensor([(7 * i + 3 * step + 3) % classes for i in range(batch)])


def one_step(name, shape, classes, make, dtype):
    net = prepare(make(), dtype, name)
    image = image_of("image0", (2,) + shape).to(dtype)
    with torch.no_grad():
        logits = net.eval()(image).flatten().tolist()
    loss = F.cross_entropy(net.train()(image), labels_of(0, 2, classes))
    loss.backward()
    return logits, loss.item(), {name: float(p.grad.double().norm()) for name, p in net.named_parameters()}


def curve(name, shape, classes, make, dtype):
    batch, rate = CURVES[name]
    net = prepare(make(), dtype, name)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        image = image_of(f"image{step % IMAGES}", (batch,) + shape).to(dtype)
        loss = F.cross_entropy(net(image), labels_of(step % IMAGES, batch, classes))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def check_conditioned(name, exact, rough, largest, most=5e-4):
    for what in exact:
        error = abs(rough[what] - exact[what]) / max(abs(exact[what]), 1e-4 * largest)
        if error > most:
            print(f"{name}: {what} is {exact[what]} in float64 and {rough[what]} in float32", file=sys.stderr)
            check_conditioned.bad = True


check_conditioned.bad = False
cases = []
for row in NETWORKS:
    if len(sys.argv) > 1 and row[0] not in sys.argv[1:]:
        continue
    logits, loss, norms = one_step(*row, torch.float64)
    rough_logits, rough_loss, rough = one_step(*row, torch.float32)
    largest = max(norms.values())
    check_conditioned(row[0], dict(enumerate(logits)), dict(enumerate(rough_logits)), 1e4 * max(map(abs, logits)), 5e-5)
    check_conditioned(row[0], {"loss": loss, **norms}, {"loss": rough_loss, **rough}, largest)
    case = {"name": row[0], "image": row[1], "classes": row[2], "shift": SHIFTS.get(row[0], 1.0),
            "logits": [rounded(x) for x in logits], "loss": rounded(loss),
            "norms": {name: rounded(norm) for name, norm in norms.items()}}
    worst = max(abs(rough[n] - norms[n]) / max(norms[n], 1e-4 * largest) for n in norms)
    print(f"{row[0]}: loss {loss:.6f}, gradient norms {min(norms.values()):.3g} .. {largest:.3g}, "
          f"float32 differs by {abs(rough_loss / loss - 1):.1e} and {worst:.1e}", file=sys.stderr)
    if row[0] in CURVES:
        losses, rough_losses = curve(*row, torch.float64), curve(*row, torch.float32)
        check_conditioned(row[0], dict(enumerate(losses)), dict(enumerate(rough_losses)), 0)
        case["curve"] = {"batch": CURVES[row[0]][0], "rate": CURVES[row[0]][1], 
                         "losses": [rounded(l) for l in losses]}
        print(f"{row[0]}: {' '.join(f'{l:.4f}' for l in losses)}, float32 differs by "
              f"{max(abs(a / b - 1) for a, b in zip(rough_losses, losses)):.1e}", file=sys.stderr)
    cases.append(case)
if check_conditioned.bad:
    sys.exit("a case is badly conditioned")
print('{"momentum": %s, "images": %s, "networks": [' % (json.dumps(MOMENTUM), json.dumps(IMAGES)))
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
