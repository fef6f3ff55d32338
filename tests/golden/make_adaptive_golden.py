#!/usr/bin/env python3
"""Writes adaptive_golden.json: torch.nn.AdaptiveLogSoftmaxWithLoss with its gradients and log-probabilities.

Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_adaptive_golden.py > tests/golden/adaptive_golden.json
"""
import json

import torch

torch.manual_seed(4)


def numbers(tensor):
    return [float(f"{x:.9g}") for x in tensor.detach().reshape(-1).tolist()]


def case(width, classes, cutoffs, divisor, bias, rows):
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(width, classes, cutoffs, div_value=divisor, head_bias=bias)
    for parameter in layer.parameters():
        torch.nn.init.uniform_(parameter, -1, 1)
    x = (torch.rand(rows, width) * 4 - 2).requires_grad_(True)
    labels = torch.randint(0, classes, (rows,))
    loss = layer(x, labels).loss
    gradients = torch.autograd.grad(loss, [x, *layer.parameters()])
    return {"width": width, "classes": classes, "cutoffs": cutoffs, "divisor": divisor, "bias": bias, "rows": rows,
            "x": numbers(x), "labels": labels.tolist(), "loss": float(f"{loss.item():.9g}"),
            "x_gradient": numbers(gradients[0]), "log_prob": numbers(layer.log_prob(x)),
            "parameters": [{"name": n, "data": numbers(p), "gradient": numbers(g)}
                           for (n, p), g in zip(layer.named_parameters(), gradients[1:])]}


cases = [case(8, 20, [5, 12], 2.0, True, 18), case(17, 9, [4], 4.0, False, 5), case(9, 30, [3, 10, 11], 1.5, False, 12)]
print('{"pytorch": "%s", "cases": [' % torch.__version__)
print(",\n".join(json.dumps(c) for c in cases))
print("]}")
