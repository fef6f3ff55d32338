#!/usr/bin/env python3
"""Writes op_golden.json: what PyTorch computes for every op, with gradients, on small odd shapes.

Each case has an op (test_op_golden.c knows how to build it), inputs, parameters, the output, and the gradients of
sum(output * weights) with regard to the float inputs. Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_op_golden.py > tests/golden/op_golden.json
"""
import json

import torch
import torch.nn.functional as F

generator = torch.Generator().manual_seed(2)
cases = []


def numbers(*shape, low=-2.0, high=2.0):
    return (torch.rand(shape, generator=generator) * (high - low) + low).requires_grad_(True)


def whole(high, *shape):
    return torch.randint(0, high, shape, generator=generator)


def as_json(tensor):
    dtype = {torch.float32: "f32", torch.int64: "i32", torch.int32: "i32", torch.bool: "bool"}[tensor.dtype]
    flat = tensor.detach().reshape(-1).tolist()
    return {"dtype": dtype, "dims": list(tensor.shape), "data": [round9(x) if dtype == "f32" else int(x) for x in flat]}


def round9(x):
    """Nine digits name a float32 exactly."""
    return float(f"{x:.9g}")


def add(op, function, *inputs, **parameters):
    output = function(*inputs)
    case = {"op": op, "inputs": [as_json(x) for x in inputs], "output": as_json(output), **parameters}
    floats = [x for x in inputs if x.requires_grad]
    if output.requires_grad:
        weights = numbers(*output.shape).detach()
        gradients = torch.autograd.grad((output * weights).sum(), floats)
        case["weights"] = as_json(weights)
        case["gradients"] = [as_json(g) for g in gradients]
    cases.append(case)


for op, function, low, high in [
    ("neg", torch.neg, -2, 2), ("exp", torch.exp, -3, 3), ("log", torch.log, 0.1, 9), ("sqrt", torch.sqrt, 0.1, 9),
    ("tanh", torch.tanh, -3, 3), ("sigmoid", torch.sigmoid, -5, 5), ("relu", torch.relu, -2, 2),
    ("square", torch.square, -2, 2)]:
    add(op, function, numbers(3, 7, low=low, high=high))
add("relu", torch.relu, torch.tensor([0.0, -0.0, 1.0, -1.0], requires_grad=True))
for op, function in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div),
                     ("maximum", torch.maximum)]:
    add(op, function, numbers(3, 5, low=0.5), numbers(3, 5, low=0.5))
    add(op, function, numbers(4, 1, 5, low=0.5), numbers(3, 1, low=0.5))
add("maximum", torch.maximum, torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
    torch.tensor([1.0, 3.0, 2.0], requires_grad=True))
add("where", torch.where, whole(2, 3, 5).bool(), numbers(3, 5), numbers(5))
for op, function in [("equal", torch.eq), ("less", torch.lt), ("less_equal", torch.le)]:
    add(op, function, whole(3, 3, 5).float(), whole(3, 5).float())

for op, function in [("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)]:
    for axes, keep in [([0], False), ([1], True), ([0, 2], False), ([0, 1, 2], False)]:
        add(op, lambda x: function(x, dim=axes, keepdim=keep), numbers(3, 4, 5), axes=axes, keep=keep)
ties = torch.tensor([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]], requires_grad=True)
add("max", lambda x: torch.amax(x, dim=[1]), ties, axes=[1], keep=False)
add("argmax", lambda x: torch.argmax(x, dim=1), numbers(4, 7), axes=[1], keep=False)
add("argmax", lambda x: torch.argmax(x, dim=0, keepdim=True), ties, axes=[0], keep=True)

add("matmul", torch.matmul, numbers(3, 5), numbers(5, 4))
add("matmul", torch.matmul, numbers(2, 1, 3, 5), numbers(3, 5, 4))
add("linear_with", F.linear, numbers(3, 5), numbers(4, 5), numbers(4))
for op, function in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
    add(op, lambda x: function(x, 1), numbers(3, 7, low=-9, high=9), axis=1)
    add(op, lambda x: function(x, 0), numbers(3, 4, 2), axis=0)
add("cross_entropy", F.cross_entropy, numbers(5, 7), whole(7, 5))
add("cross_entropy", F.cross_entropy, numbers(2, 3, 4, 2), whole(3, 2, 4, 2))
add("mse", F.mse_loss, numbers(3, 5), numbers(3, 5))

add("reshape", lambda x: x.reshape(4, 3), numbers(2, 6), list=[4, 3])
add("permute", lambda x: x.permute(2, 0, 1), numbers(2, 3, 4), list=[2, 0, 1])
add("transpose", lambda x: x.transpose(-2, -1), numbers(2, 3, 4))
add("flatten", lambda x: x.flatten(1), numbers(2, 3, 4))
add("expand", lambda x: x.expand(2, 3, 4), numbers(3, 1), list=[2, 3, 4])
add("slice", lambda x: x[:, 1:-1], numbers(3, 7), axis=1, start=1, end=-1)
add("concat", lambda x, y: torch.cat([x, y], 1), numbers(3, 2), numbers(3, 5), axis=1)
add("cast", lambda x: x.half().float(), numbers(9), list=[])



def attention(q, k, v, mask=None, causal=False):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


add("attention", attention, numbers(2, 3, 5), numbers(2, 4, 5), numbers(2, 4, 3))
add("attention", lambda q, k, v: attention(q, k, v, causal=True), numbers(2, 7, 4), numbers(2, 7, 4), numbers(2, 7, 4),
    causal=True)
add("attention", attention, numbers(2, 4, 5), numbers(2, 3, 5), numbers(2, 3, 4),
    torch.tensor([[True, False, True]] * 3 + [[True, True, True]]))

print('{"pytorch": "%s", "cases": [' % torch.__version__)
print(",\n".join(json.dumps(case) for case in cases))
print("]}")
