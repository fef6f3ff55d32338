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


# Equal inputs are one input of the test's graph, so that ops of the same input share a kernel.
shared_weights = {}
inner, outer = numbers(3, 5, low=0.15, high=0.95), numbers(3, 5, low=-3, high=3)


def weights_of(shape):
    if shape not in shared_weights:
        shared_weights[shape] = numbers(*shape).detach()
    return shared_weights[shape]


def add(op, function, *inputs, **parameters):
    output = function(*inputs)
    case = {"op": op, "inputs": [as_json(x) for x in inputs], "output": as_json(output), **parameters}
    floats = [x for x in inputs if x.requires_grad]
    if output.requires_grad:
        weights = weights_of(output.shape)
        gradients = torch.autograd.grad((output * weights).sum(), floats)
        case["weights"] = as_json(weights)
        case["gradients"] = [as_json(g) for g in gradients]
    cases.append(case)


for op, function, low, high in [
    ("neg", torch.neg, -2, 2), ("exp", torch.exp, -3, 3), ("log", torch.log, 0.1, 9), ("sqrt", torch.sqrt, 0.1, 9),
    ("tanh", torch.tanh, -3, 3), ("sigmoid", torch.sigmoid, -5, 5), ("relu", torch.relu, -2, 2),
    ("square", torch.square, -2, 2), ("abs", torch.abs, -2, 2), ("sign", torch.sign, -2, 2),
    ("floor", torch.floor, -4, 4), ("ceil", torch.ceil, -4, 4), ("round", torch.round, -4, 4),
    ("trunc", torch.trunc, -4, 4), ("rsqrt", torch.rsqrt, 0.1, 9), ("reciprocal", torch.reciprocal, 0.2, 4),
    ("exp2", torch.exp2, -4, 4), ("expm1", torch.expm1, -3, 3), ("log2", torch.log2, 0.1, 9),
    ("log1p", torch.log1p, -0.9, 4), ("sin", torch.sin, -9, 9), ("cos", torch.cos, -9, 9), ("tan", torch.tan, -1.3, 1.3),
    ("asin", torch.asin, -0.9, 0.9), ("acos", torch.acos, -0.9, 0.9), ("atan", torch.atan, -4, 4),
    ("erf", torch.erf, -3, 3), ("gelu", F.gelu, -3, 3), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), -3, 3),
    ("silu", F.silu, -5, 5), ("softplus", F.softplus, -5, 5), ("softsign", F.softsign, -4, 4), ("mish", F.mish, -5, 5),
    ("selu", F.selu, -4, 4), ("relu6", F.relu6, -2, 8), ("hardsigmoid", F.hardsigmoid, -5, 5),
    ("hardswish", F.hardswish, -5, 5)]:
    add(op, function, inner if low > -1 else outer)
add("relu", torch.relu, torch.tensor([0.0, -0.0, 1.0, -1.0], requires_grad=True))
left, right = numbers(3, 5, low=0.5), numbers(3, 5, low=0.5)
stretched, column = numbers(4, 1, 5, low=0.5), numbers(3, 1, low=0.5)
for op, function in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div),
                     ("maximum", torch.maximum), ("minimum", torch.minimum), ("pow", torch.pow),
                     ("remainder", torch.remainder), ("atan2", torch.atan2)]:
    add(op, function, left, right)
    add(op, function, stretched, column)
add("maximum", torch.maximum, torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
    torch.tensor([1.0, 3.0, 2.0], requires_grad=True))
ties, ties_row = whole(3, 3, 5).float(), whole(3, 5).float()
kinks = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, 2.5, -0.5]
at_kinks = torch.tensor(kinks, requires_grad=True)
for op, function in [("abs", torch.abs), ("sign", torch.sign), ("relu6", F.relu6), ("hardsigmoid", F.hardsigmoid),
                     ("hardswish", F.hardswish), ("selu", F.selu), ("round", torch.round), ("gelu", F.gelu)]:
    add(op, function, at_kinks)
add("minimum", torch.minimum, torch.tensor([1.0, 2.0, 3.0], requires_grad=True),
    torch.tensor([1.0, 3.0, 2.0], requires_grad=True))
add("pow", torch.pow, torch.tensor([0.0, 0.0, 2.0, 1.0], requires_grad=True),
    torch.tensor([0.0, 2.0, 0.0, 3.0], requires_grad=True))
add("remainder", torch.remainder, torch.tensor([5.0, -5.0, 5.0, -5.0, 6.0, -6.5], requires_grad=True),
    torch.tensor([3.0, 3.0, -3.0, -3.0, 4.0, 4.0], requires_grad=True))
add("remainder", torch.remainder, whole(19, 3, 5).int() - 9, whole(4, 5).int() * 2 - 3)
add("abs", torch.abs, whole(9, 7).int() - 4)
for op, function in [("clamp", torch.clamp), ("hardtanh", F.hardtanh)]:
    add(op, lambda x: function(x, -1.0, 3.0), at_kinks, numbers=[-1, 3])
    add(op, lambda x: function(x, -1.0, 3.0), outer, numbers=[-1, 3])
for op, function in [("leaky_relu", F.leaky_relu), ("elu", F.elu)]:
    add(op, lambda x: function(x, 0.25), at_kinks, numbers=[0.25])
    add(op, lambda x: function(x, 0.25), outer, numbers=[0.25])
add("prelu", F.prelu, numbers(2, 3, 4), numbers(3))
add("prelu", F.prelu, torch.tensor([kinks], requires_grad=True), numbers(1))
for op, function in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div), ("pow", torch.pow),
                     ("remainder", torch.remainder)]:
    add(op + "_number", lambda x: function(x, 1.25), inner, numbers=[1.25])
add("pow_number", lambda x: torch.pow(x, 3), inner, numbers=[3])
add("pow_number", lambda x: torch.pow(x, -1), inner, numbers=[-1])
for op, function in [("maximum", torch.maximum), ("minimum", torch.minimum)]:
    add(op + "_number", lambda x: function(x, torch.tensor(0.5)), inner, numbers=[0.5])
for op, function in [("equal", torch.eq), ("not_equal", torch.ne), ("less", torch.lt), ("less_equal", torch.le),
                     ("greater", torch.gt), ("greater_equal", torch.ge)]:
    add(op + "_number", lambda x: function(x, 1), ties, numbers=[1])
for op, function in [("logical_and", torch.logical_and), ("logical_or", torch.logical_or), ("logical_xor", torch.logical_xor)]:
    add(op, function, whole(2, 3, 5).bool(), whole(2, 5).bool())
add("logical_not", torch.logical_not, whole(2, 9).bool())
for op, function in [("isnan", torch.isnan), ("isinf", torch.isinf), ("isfinite", torch.isfinite)]:
    add(op, function, numbers(3).detach())
add("where", torch.where, whole(2, 3, 5).bool(), numbers(3, 5), numbers(5))
for op, function in [("equal", torch.eq), ("less", torch.lt), ("less_equal", torch.le), ("not_equal", torch.ne),
                     ("greater", torch.gt), ("greater_equal", torch.ge)]:
    add(op, function, ties, ties_row)

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

print('{"pytorch": "%s", "cases": [' % torch.__version__)
print(",\n".join(json.dumps(case) for case in cases))
print("]}")
