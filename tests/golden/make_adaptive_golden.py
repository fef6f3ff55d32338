#!/usr/bin/env python3
"""Writes adaptive_golden.json: torch.nn.AdaptiveLogSoftmaxWithLoss with its gradients and log-probabilities.

Inputs depend on the case's options only, and PyTorch computes in float64 (op_recorder.py says why). Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_adaptive_golden.py > tests/golden/adaptive_golden.json
"""
import json
import random

import torch

from op_recorder import flat, numbers, whole


def case(width, classes, cutoffs, divisor, bias, rows):
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(width, classes, cutoffs, div_value=divisor, head_bias=bias)
    r = random.Random(f"adaptive softmax {width} {classes} {cutoffs} {divisor} {bias} {rows}")
    for parameter in layer.parameters():
        parameter.data = numbers(*parameter.shape, low=-1, high=1).draw(r).detach()
    x = numbers(rows, width).draw(r)
    labels = whole(classes, rows).draw(r)
    labels[: len(cutoffs)] = torch.tensor(cutoffs)  # each cluster has an example
    loss = layer(x, labels).loss
    gradients = torch.autograd.grad(loss, [x, *layer.parameters()])
    return {"width": width, "classes": classes, "cutoffs": cutoffs, "divisor": divisor, "bias": bias, "rows": rows,
            "x": flat(x), "labels": labels.tolist(), "loss": flat(loss)[0],
            "x_gradient": flat(gradients[0]), "log_prob": flat(layer.log_prob(x)),
            "parameters": [{"name": n, "data": flat(p), "gradient": flat(g)}
                           for (n, p), g in zip(layer.named_parameters(), gradients[1:])]}


cases = [case(8, 20, [5, 12], 2.0, True, 18), case(17, 9, [4], 4.0, False, 5), case(9, 30, [3, 10, 11], 1.5, False, 12)]
print('{"cases": [')
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
