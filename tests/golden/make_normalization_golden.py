#!/usr/bin/env python3
"""Writes normalization_golden.json: norms with running statistics as PyTorch has them, over several steps.

Each case is a layer: its inputs of each step, the parameters, then for each step the output, the gradients of
sum(output * weights) with regard to x and the parameters, and the states after it; last the output in eval mode of the
first step's input. Inputs depend on the case's name only, and PyTorch computes in float64 (op_recorder.py says why). Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_normalization_golden.py > tests/golden/normalization_golden.json
"""
import json
import random

import torch
from torch import nn

from op_recorder import flat, numbers

STEPS = 3


def states(layer):
    return {name: flat(value) for name, value in layer.named_buffers()
            if name != "num_batches_tracked" or layer.momentum is None}


def case(name, kind, layer, shape, **options):
    r = random.Random(f"normalization layer {name}")
    for parameter in layer.parameters():
        parameter.data = numbers(*parameter.shape, low=0.5, high=1.5).draw(r).detach()
    record = {"name": name, "kind": kind, "dims": list(shape), **options,
              "parameters": {n: flat(p) for n, p in layer.named_parameters()}, "steps": []}
    xs = [numbers(*shape, low=-2.0 + step, high=2.0 + step).draw(r) for step in range(STEPS)]
    for x in xs:
        weights = numbers(*shape).draw(r).detach()
        y = layer(x)
        wrt = [x, *layer.parameters()]
        gradients = torch.autograd.grad((y * weights).sum(), wrt)
        record["steps"].append({"x": flat(x), "weights": flat(weights), "output": flat(y),
                                "gradients": [flat(g) for g in gradients], "states": states(layer)})
    layer.eval()
    x = xs[0]
    y = layer(x)
    gradients = torch.autograd.grad((y * weights).sum(), [x, *layer.parameters()])
    record["eval"] = {"weights": flat(weights), "output": flat(y), "gradients": [flat(g) for g in gradients]}
    return record


cases = [
    case("rows", "batch", nn.BatchNorm1d(3), (5, 3)),
    case("images", "batch", nn.BatchNorm2d(3, momentum=0.25, eps=1e-3, affine=False), (2, 3, 3, 2), momentum=0.25, epsilon=1e-3,
         no_affine=True),
    case("cumulative", "batch", nn.BatchNorm2d(3, momentum=None), (2, 3, 3, 2), cumulative=True),
    case("forgetful", "batch", nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 3, 2), no_running=True),
    case("examples", "instance", nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 3, 2),
         affine=True, running=True),
]
print('{"cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
