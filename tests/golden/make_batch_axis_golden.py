#!/usr/bin/env python3
"""Writes batch_axis_golden.json: what PyTorch makes of slices, padding and joins along the first axis.

For each batch n the input x (n, WIDTH), and for each function that takes so many rows its output, and the gradients of
sum(output * weights) with regard to x and to `memory`, two rows that some functions read. Inputs depend on names only, and
PyTorch computes in float64 (op_recorder.py says why). Made with PyTorch 2.15:
    /usr/bin/python3 tests/golden/make_batch_axis_golden.py > tests/golden/batch_axis_golden.json
"""
import json
import random

import torch
from torch.nn.functional import pad

from op_recorder import flat, numbers

WIDTH = 3
memory = numbers(2, WIDTH).draw(random.Random("memory"))

# The least number of rows, and the function.
FUNCTIONS = {
    "changes": (2, lambda x: x[1:] - x[:-1]),
    "second_changes": (3, lambda x: (x[2:] - x[1:-1]) * (x[1:-1] - x[:-2])),
    "mean_of_changes": (2, lambda x: (x[1:] - x[:-1]).square().mean(0)),
    "from_first": (1, lambda x: x * x[:1]),
    "ends": (2, lambda x: x[-2:] * x[:2]),
    "middle": (7, lambda x: x[2:6].tanh()),
    "padded": (1, lambda x: pad(x, (0, 0, 2, 1), value=0.5).square()),
    "before_each": (2, lambda x: pad(x[:-1], (0, 0, 1, 0)) * x),
    "edges": (1, lambda x: torch.cat([x[:1], x[:1], x, x[-1:]]).square()),
    "mirrored": (3, lambda x: torch.cat([x[1:3].flip(0), x, x[-2:-1]]).square()),
    "wrapped": (2, lambda x: torch.cat([x[-2:], x, x[:1]]).square()),
    "joined": (1, lambda x: torch.cat([memory, x, memory * 2, x])),
    "scores": (2, lambda x: torch.logsumexp(x[1:] @ torch.cat([x, memory]).T, 1)),
}


def case(name, batch, function, x):
    y = function(x)
    weights = numbers(*y.shape).draw(random.Random(f"{name} {batch}")).detach()
    gradients = torch.autograd.grad((y * weights).sum(), [x, memory], allow_unused=True)
    return {"name": name, "weights": flat(weights), "output": flat(y),
            "gradients": [flat(g) for g in gradients if g is not None]}


def cases_of(batch):
    x = numbers(batch, WIDTH).draw(random.Random(f"batch {batch}"))
    return {"batch": batch, "x": flat(x), "cases": [
        case(name, batch, function, x) for name, (least, function) in FUNCTIONS.items() if batch >= least]}


print('{"memory": ' + json.dumps(flat(memory)) + ', "batches": [')
print(",\n".join(json.dumps(cases_of(batch)) for batch in (7, 1, 33, 2)))
print("]}")
