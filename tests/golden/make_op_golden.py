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

index = whole(5, 3, 7)
add("gather", lambda x, i: torch.gather(x, 1, i), numbers(3, 5), index, axis=1)
add("gather", lambda x, i: torch.gather(x, 0, i), numbers(5, 9), index, axis=0)
add("index_select", lambda x, i: torch.index_select(x, 1, i), numbers(3, 5, 2), whole(5, 4), axis=1)
add("scatter_add", lambda x, i, s: torch.scatter_add(x, 1, i, s), numbers(3, 5), index, numbers(3, 7), axis=1)
add("scatter_sum", lambda s, i: torch.zeros(3, 5).scatter_add(1, i, s), numbers(3, 7), index, axis=1, start=5)
add("index_add", lambda x, i, s: torch.index_add(x, 0, i, s), numbers(5, 2), whole(5, 9), numbers(9, 2), axis=0)
add("index_sum", lambda s, i: torch.zeros(5, 2).index_add(0, i, s), numbers(9, 2), whole(5, 9), axis=0, start=5)
# Losses. options: what the case's function is given besides its inputs; "class_weights" is a list.
NAMES = {"mean": 0, "sum": 1, "none": 2, "batchmean": 3}


def signs(*shape):
    return whole(2, *shape) * 2 - 1


def signed(function):
    """Takes the signs as integers, so that the file asks for no gradient across their jump."""
    return lambda *x, **options: function(*x[:-1], x[-1].float(), **options)


def add_loss(op, function, *inputs, reduction="mean", class_weights=None, p=0, margin=0.0, **options):
    """The options of PyTorch's function, in its names; the file has those of test_op_golden.c."""
    given = dict(options)
    if class_weights is not None:
        given["weight"] = torch.tensor(class_weights)
    if p:
        given["p"] = p
    if margin:
        given["margin"] = margin
    number = options.get("delta", options.get("beta", options.get("label_smoothing", margin)))
    flag = any(options.get(name, False) for name in ("full", "log_target", "swap"))
    add(op, lambda *x: function(*x, reduction=reduction, **given), *inputs, reduction=NAMES[reduction], number=number,
        flag=flag, p=p, log_input=options.get("log_input", False), ignored=options.get("ignore_index", -100),
        class_weights=class_weights or [])


add_loss("mse", F.mse_loss, numbers(3, 5), numbers(3, 5), reduction="sum")
add_loss("l1", F.l1_loss, numbers(3, 5), numbers(3, 5))
add_loss("huber", F.huber_loss, numbers(3, 5), numbers(3, 5), reduction="none", delta=0.75)
add_loss("smooth_l1", F.smooth_l1_loss, numbers(3, 5), numbers(3, 5), beta=0.75)
add_loss("bce", F.binary_cross_entropy, numbers(3, 5, low=0.05, high=0.95), numbers(3, 5, low=0.1, high=0.9))
add_loss("bce_with_logits", F.binary_cross_entropy_with_logits, numbers(3, 5, low=-9, high=9),
         numbers(3, 5, low=0, high=1))
for smoothing, class_weights, ignored in [(0.1, None, 1), (0.0, [0.5, 2.0, 1.0, 0.0], -100),
                                          (0.25, [0.5, 2.0, 1.0, 0.25], 1)]:
    add_loss("cross_entropy", F.cross_entropy, numbers(6, 4, 2), whole(4, 6, 2), label_smoothing=smoothing,
             class_weights=class_weights, ignore_index=ignored)
for reduction in ("sum", "none"):
    add_loss("cross_entropy", F.cross_entropy, numbers(6, 4), whole(4, 6), reduction=reduction, label_smoothing=0.25,
             class_weights=[0.5, 2.0, 1.0, 0.25], ignore_index=1)
add_loss("nll", F.nll_loss, numbers(6, 4, 2), whole(4, 6, 2), class_weights=[0.5, 2.0, 1.0, 0.25], ignore_index=2)
add_loss("hinge_embedding", signed(F.hinge_embedding_loss), numbers(9, low=0, high=2), signs(9), margin=1.5)
add_loss("cosine_embedding", signed(F.cosine_embedding_loss), numbers(6, 5), numbers(6, 5), signs(6), margin=0.2)
add_loss("triplet_margin", F.triplet_margin_loss, numbers(6, 5), numbers(6, 5), numbers(6, 5), margin=1.5, p=2)
add_loss("cross_entropy", F.cross_entropy, numbers(6, 4, 2), numbers(6, 4, 2, low=0, high=1), label_smoothing=0.25,
         class_weights=[0.5, 2.0, 1.0, 0.25])
add_loss("cross_entropy", F.cross_entropy, numbers(4), torch.tensor(2), reduction="none")
add_loss("triplet_margin", F.triplet_margin_loss, numbers(6, 5), numbers(6, 5), numbers(6, 5), margin=1.5, p=1, swap=True)
add_loss("multi_margin", F.multi_margin_loss, numbers(6, 4), whole(4, 6), margin=1.0, p=1)
add_loss("multi_margin", F.multi_margin_loss, numbers(6, 4), whole(4, 6), margin=0.75, p=2, reduction="none",
         class_weights=[0.5, 2.0, 1.0, 0.25])
add_loss("margin_ranking", signed(F.margin_ranking_loss), numbers(9), numbers(9), signs(9), margin=0.5)
add_loss("soft_margin", signed(F.soft_margin_loss), numbers(3, 5), signs(3, 5))
add_loss("poisson_nll", F.poisson_nll_loss, numbers(3, 5), numbers(3, 5, low=0, high=4), log_input=True, full=True)
add_loss("poisson_nll", F.poisson_nll_loss, numbers(3, 5, low=0.1), numbers(3, 5, low=0, high=4), log_input=False,
         reduction="sum")
add_loss("gaussian_nll", F.gaussian_nll_loss, numbers(3, 5), numbers(3, 5), numbers(3, low=0.2, high=3))
add_loss("gaussian_nll", F.gaussian_nll_loss, numbers(3, 5), numbers(3, 5), numbers(3, 5, low=0.2, high=3), full=True,
         reduction="none")
add_loss("kl_div", F.kl_div, numbers(3, 5, low=-4, high=0), numbers(3, 5, low=0.05, high=1))
add_loss("kl_div", F.kl_div, numbers(3, 5, low=-4, high=0), numbers(3, 5, low=-4, high=0), reduction="batchmean",
         log_target=True)
add("bce_with_logits",
    lambda x, t: F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor([0.5, 2.0, 3.0])),
    numbers(4, 3, low=-9, high=9), numbers(4, 3, low=0, high=1), class_weights=[0.5, 2.0, 3.0])
add("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), numbers(3, 4, 2), numbers(3, 4, 2), axis=1)
tiny = torch.tensor([[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [1.0, 2.0, 3.0]], requires_grad=True)
add("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), tiny, numbers(3, 3), axis=1)
# PyTorch has no plain hinge; this is its definition.
add("hinge", signed(lambda x, t: (1 - t * x).clamp_min(0).mean()), numbers(3, 5), signs(3, 5))
# Reductions of more kinds. `order` and `correction` are parameters; 0 stands for infinity.
for op, function in [("min", torch.amin), ("prod", None), ("logsumexp", torch.logsumexp)]:
    for axes, keep in [([1], True), ([0, 2], False)]:
        if op == "prod":
            add(op, lambda x: x.prod(axes[0], keepdim=keep), numbers(3, 4, 5), axes=axes[:1], keep=keep)
        else:
            add(op, lambda x: function(x, dim=axes, keepdim=keep), numbers(3, 4, 5), axes=axes, keep=keep)
add("min", lambda x: torch.amin(x, dim=[1]), ties, axes=[1], keep=False)
add("prod", lambda x: x.prod(1), torch.tensor([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, -3.0]], requires_grad=True),
    axes=[1], keep=False)
add("prod", torch.prod, numbers(7), axes=[0], keep=False)
add("argmin", lambda x: torch.argmin(x, dim=1), numbers(4, 7), axes=[1], keep=False)
add("argmin", lambda x: torch.argmin(x, dim=1, keepdim=True), ties, axes=[1], keep=True)
for op, function in [("var", torch.var), ("std", torch.std)]:
    for correction in [0, 1]:
        for axes, keep in [([1], True), ([0, 2], False)]:
            add(op, lambda x: function(x, dim=axes, correction=correction, keepdim=keep), numbers(3, 4, 5), axes=axes,
                keep=keep, correction=correction)
add("std", lambda x: torch.std(x, dim=1, correction=0), torch.tensor([[1.0, 1.0], [1.0, 2.0]], requires_grad=True),
    axes=[1], keep=False, correction=0)
for order in [1, 2, 0]:
    norm = lambda x: torch.linalg.vector_norm(x, order or float("inf"), dim=axes, keepdim=keep)
    for axes, keep in [([1], True), ([0, 2], False)]:
        add("norm", norm, numbers(3, 4, 5), axes=axes, keep=keep, order=order)
    axes, keep = [1], False
    add("norm", norm, torch.tensor([[0.0, 0.0, 0.0], [2.0, -2.0, 0.0], [1.0, 3.0, -3.0]], requires_grad=True),
        axes=axes, keep=keep, order=order)
for op, function in [("any", torch.any), ("all", torch.all), ("count_nonzero", lambda x, dim: torch.count_nonzero(x, dim=dim))]:
    add(op, lambda x: function(x, dim=1), whole(2, 6, 3).bool(), axes=[1], keep=False)
    add(op, lambda x: function(x, dim=0), whole(2, 2, 5).float(), axes=[0], keep=False)
# axes; list holds axes, sizes, repeats or pairs of (axis, shift)
add("flatten_axes", lambda x: x.flatten(1, 2), numbers(2, 3, 2, 2), list=[1, 2])
add("squeeze", lambda x: x.squeeze(0).squeeze(1), numbers(1, 3, 1, 2), list=[0, 2])
add("unsqueeze", lambda x: x.unsqueeze(1), numbers(3, 2), axis=1)
add("swap_axes", lambda x: x.swapaxes(0, 2), numbers(2, 3, 4), list=[0, 2])
add("move_axis", lambda x: x.movedim(0, 2), numbers(2, 3, 4), list=[0, 2])
add("channels_last", lambda x: x.permute(0, 2, 3, 1), numbers(2, 3, 2, 2))
add("channels_first", lambda x: x.permute(0, 3, 1, 2), numbers(2, 3, 2, 2))
add("stack", lambda x, y: torch.stack([x, y], 1), numbers(3, 2), numbers(3, 2), axis=1)
add("slice_step", lambda x: x[:, 1:9:3], numbers(2, 10), axis=1, start=1, end=9, list=[3])
add("split", lambda x: torch.chunk(x, 3, 1)[1], numbers(2, 6), axis=1, list=[3])
add("split_sizes", lambda x: torch.split(x, [1, 3, 2], 1)[1], numbers(2, 6), axis=1, list=[1, 3, 2])
add("flip", lambda x: x.flip(0, 2), numbers(2, 3, 4), list=[0, 2])
add("diagonal", lambda x: x.diagonal(1, 0, 2), numbers(4, 2, 5), start=1, list=[0, 2])
add("diagonal", lambda x: x.diagonal(-2), numbers(4, 3), start=-2, list=[0, 1])
for mode, name, value in [("constant", 0, 1.5), ("reflect", 1, 0), ("replicate", 2, 0), ("circular", 3, 0)]:
    add("pad", lambda x: F.pad(x, (2, 1, 1, 2), mode, value), numbers(1, 2, 3, 4), mode=name, value=value,
        list=[0, 0, 1, 2, 0, 0, 2, 1])
add("roll", lambda x: x.roll((2, -1), (1, 0)), numbers(3, 5), list=[1, 2, 0, -1])
add("tile", lambda x: x.tile(2, 1, 3), numbers(2, 3), list=[2, 1, 3])
for diagonal in (-1, 0, 2):
    add("tril", lambda x: x.tril(diagonal), numbers(2, 3, 5), start=diagonal)
    add("triu", lambda x: x.triu(diagonal), numbers(2, 5, 3), start=diagonal)
add("masked_fill", lambda x, mask: x.masked_fill(mask, -3), numbers(3, 4), whole(2, 4).bool(), start=-3)
add("one_hot", lambda labels: F.one_hot(labels, 5), whole(5, 2, 3), start=5)
add("arange", lambda: torch.arange(-2.0, 9.0, 3.0), start=-2, end=9, list=[3])
add("full", lambda: torch.full((2, 3), 7.0), start=7, list=[2, 3])
add("eye", lambda: torch.eye(3, 4), list=[3, 4])

add("outer", torch.outer, numbers(3), numbers(4))
add("dot", torch.dot, numbers(5), numbers(5))
add("mv", torch.mv, numbers(3, 4), numbers(4))
add("bilinear_with", F.bilinear, numbers(3, 2), numbers(3, 4), numbers(5, 2, 4), numbers(5))
for equation, a, b in [("bij,bjk->bik", (2, 3, 4), (2, 4, 2)), ("zj,ja", (2, 3), (3, 4)), ("bj,jB", (2, 3), (3, 4)),
                       ("...ij,jk", (2, 2, 3), (3, 2)), ("...ij,jk->ik", (2, 2, 3), (3, 2)),
                       ("...i,...i->i...", (2, 1, 3), (4, 3)), ("ij,jk->ik", (1, 3), (3, 4)), ("ii,ij", (3, 3), (3, 2)),
                       ("bqhd,bkhd->bhqk", (2, 3, 2, 2), (2, 2, 2, 2))]:
    add("einsum", lambda x, y: torch.einsum(equation, x, y), numbers(*a), numbers(*b), equation=equation)
for equation, shape in [("ii", (4, 4)), ("iij->ji", (3, 3, 2)), ("ba", (2, 3)), ("...ij->...ji", (2, 3, 4))]:
    add("einsum", lambda x: torch.einsum(equation, x), numbers(*shape), equation=equation)


def linear_scan(a, b):
    rows = [b[0]]
    for j in range(1, len(b)):
        rows.append(a[j] * rows[-1] + b[j])
    return torch.stack(rows)


zeros = torch.tensor([[1.0, 0.0, 2.0, 3.0], [0.0, 2.0, 0.0, -1.0], [2.0, -1.5, 0.5, 0.0]], requires_grad=True)
add("cumsum", lambda x: torch.cumsum(x, 1), numbers(3, 20), axis=1)
add("cumsum", lambda x: torch.cumsum(x, 0).to(torch.int32), whole(99, 7, 3).int(), axis=0)
add("cumprod", lambda x: torch.cumprod(x, 0), numbers(9, 3), axis=0)
add("cumprod", lambda x: torch.cumprod(x, 1), zeros, axis=1)
add("linear_scan", linear_scan, numbers(9, 2, low=-1, high=1), numbers(9, 2), axis=0)
for descending in [False, True]:
    add("argsort", lambda x: torch.sort(x, stable=True, dim=1, descending=descending)[1], whole(4, 3, 17).float(), axis=1,
        keep=descending)
    add("sort", lambda x: torch.sort(x, 0, descending=descending)[0], numbers(9, 2), axis=0, keep=descending)
    add("topk", lambda x: torch.topk(x, 4, 1, largest=descending)[0], numbers(2, 20), axis=1, start=4, keep=descending)
    add("topk_indices", lambda x: torch.topk(x, 4, 0, largest=descending)[1], numbers(9, 3), axis=0, start=4,
        keep=descending)


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

# CTC, through log_softmax: PyTorch's gradient of the log-probabilities themselves takes that for granted.
def add_ctc(steps, batch, classes, labels, input_lengths, target_lengths, reduction="mean", blank=0, zero_infinity=False):
    targets = (whole(classes - 1, batch, labels) + 1 + blank) % classes
    add("ctc", lambda x, *more: F.ctc_loss(x.log_softmax(2), *more, blank=blank, reduction=reduction,
                                           zero_infinity=zero_infinity),
        numbers(steps, batch, classes), targets, torch.tensor(input_lengths), torch.tensor(target_lengths),
        reduction=NAMES[reduction], blank=blank, zero_infinity=zero_infinity)


add_ctc(12, 3, 4, 5, [12, 9, 11], [5, 0, 3])
add_ctc(9, 2, 3, 4, [9, 8], [4, 3], reduction="none", blank=2)
add_ctc(5, 3, 4, 3, [5, 2, 4], [2, 3, 1], reduction="sum", blank=1, zero_infinity=True)


def rms_norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * weight


add("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), numbers(2, 3, 4, 5), numbers(3),
    numbers(3))
add("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), numbers(7, 3))
add("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), numbers(2, 3, 4, 5), numbers(3), numbers(3))
for shape, groups in [((2, 6, 3, 2), 3), ((3, 6), 2)]:
    add("group_norm", lambda x, w, b: F.group_norm(x, groups, w, b), numbers(*shape), numbers(6), numbers(6),
        start=groups)
add("layer_norm", lambda x, w, b: F.layer_norm(x, (5,), w, b), numbers(3, 5), numbers(5), numbers(5), start=1)
add("layer_norm", lambda x, w, b: F.layer_norm(x, (2, 5), w, b), numbers(3, 2, 5), numbers(2, 5), numbers(2, 5), start=2)
add("rms_norm", rms_norm, numbers(3, 5), numbers(5), start=1)
# Images: window, stride, padding, dilation and sizes have one entry a spatial axis. Whole numbers have ties.
def add_pool(op, function, x, kernel_size, stride=None, padding=None, dilation=None, **options):
    given = dict(options)
    for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation)):
        if value is not None:
            given[name] = value
    add(op, lambda x: function(x, kernel_size=kernel_size, **given), x, window=list(kernel_size), stride=list(stride or []),
        padding=list(padding or []), dilation=list(dilation or []), ceil=options.get("ceil_mode", False),
        exclude=not options.get("count_include_pad", True), divisor=options.get("divisor_override") or 0)


pixel_ties = whole(3, 2, 3, 5, 6).float().requires_grad_(True)
add_pool("max_pool", F.max_pool2d, numbers(2, 3, 5, 6), (3, 3), (2, 2), (1, 1))
add_pool("max_pool", F.max_pool2d, pixel_ties, (3, 3), (1, 2), (1, 1))
add_pool("max_pool", F.max_pool2d, pixel_ties, (2, 2), (2, 3), (1, 1), (2, 1), ceil_mode=True)
add_pool("max_pool", F.max_pool1d, numbers(2, 3, 9), (4,), (3,), (2,), ceil_mode=True)
add_pool("max_pool", F.max_pool3d, numbers(1, 3, 4, 4, 5), (2, 3, 2), (2, 1, 2), (1, 0, 1))
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 5, 6), (3, 3), (2, 2), (1, 1))
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 6, 5), (3, 2), (2, 2), (1, 1), ceil_mode=True, count_include_pad=False)
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 6, 8), (4, 3), (3, 2), (1, 1), ceil_mode=True)
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 4, 5), (2, 2), (1, 2), divisor_override=3)
add_pool("avg_pool", F.avg_pool1d, numbers(2, 3, 9), (4,), (3,), (2,), count_include_pad=False)
add_pool("avg_pool", F.avg_pool3d, numbers(1, 3, 4, 4, 5), (2, 3, 2), (2, 1, 2), (1, 0, 1), ceil_mode=True)
add("max_pool2d", lambda x: F.max_pool2d(x, 2), numbers(2, 3, 4, 5), start=2)
add("avg_pool2d", lambda x: F.avg_pool2d(x, 2), numbers(2, 3, 4, 5), start=2)
with_zeros = F.relu(numbers(2, 3, 5, 6) - 1).detach().requires_grad_(True)
for p, ceil_mode in [(1, False), (2, True), (2.5, True)]:
    add("lp_pool", lambda x: F.lp_pool2d(x, p, (3, 2), (2, 2), ceil_mode), with_zeros, window=[3, 2], stride=[2, 2],
        padding=[], dilation=[], ceil=ceil_mode, p=p)
for op, two, three in [("adaptive_max_pool", F.adaptive_max_pool2d, F.adaptive_max_pool3d),
                       ("adaptive_avg_pool", F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)]:
    add(op, lambda x: two(x, (3, 4)), numbers(2, 3, 7, 5), sizes=[3, 4])
    add(op, lambda x: two(x, (5, 2)), pixel_ties, sizes=[5, 2])
    add(op, lambda x: three(x, (2, 4, 3)), numbers(1, 2, 3, 4, 5), sizes=[2, 4, 3])
add("global_max_pool", lambda x: F.adaptive_max_pool2d(x, 1), pixel_ties)
add("global_avg_pool", lambda x: F.adaptive_avg_pool2d(x, 1), numbers(2, 3, 4, 5))
for mode, shape, size, corners in [("nearest", (2, 3, 3, 5), (7, 3), None), ("nearest", (2, 3, 7), (11,), None),
                                   ("nearest", (1, 2, 2, 3, 4), (3, 5, 2), None),
                                   ("bilinear", (2, 3, 3, 5), (7, 3), False), ("bilinear", (2, 3, 3, 5), (7, 3), True),
                                   ("linear", (2, 3, 7), (11,), False), ("linear", (2, 3, 7), (4,), True),
                                   ("trilinear", (1, 2, 2, 3, 4), (3, 5, 2), False),
                                   ("trilinear", (1, 2, 2, 3, 4), (3, 5, 2), True)]:
    add("resample", lambda x: F.interpolate(x, size, mode=mode, align_corners=corners), numbers(*shape), sizes=list(size),
        factors=[], linear=mode != "nearest", corners=bool(corners))
for mode, factors, corners in [("nearest", (2.3, 0.7), None), ("bilinear", (2.3, 0.7), False), ("bilinear", (1.7, 2), True)]:
    add("resample", lambda x: F.interpolate(x, scale_factor=factors, mode=mode, align_corners=corners),
        numbers(2, 3, 4, 5), sizes=[], factors=list(factors), linear=mode != "nearest", corners=bool(corners))
add("upsample_nearest", lambda x: F.interpolate(x, scale_factor=2), numbers(2, 3, 3, 4), start=2)
for corners in (False, True):
    add("upsample_linear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=corners),
        numbers(2, 3, 3, 4), start=2, corners=corners)
add("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), numbers(2, 8, 2, 3), start=2)
add("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), numbers(2, 3, 4, 6), start=2)
for size, alpha, beta, k in [(5, 0.5, 0.75, 2.0), (4, 1.0, 1.25, 1.0)]:
    add("local_response_norm", lambda x: F.local_response_norm(x, size, alpha, beta, k), numbers(2, 9, 3, 2), start=size,
        numbers=[alpha, beta, k])
# Embedding: repeated tokens, and a padding index among them.
add("embedding", lambda t, i: F.embedding(i, t), numbers(7, 5), whole(7, 3, 6))
add("embedding", lambda t, i: F.embedding(i, t, padding_idx=2), numbers(4, 20), whole(4, 2, 9), padding=2)
# Convolutions: 1 to 3 axes; options are lists of a number an axis.
def add_conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, output_padding=None):
    axes = len(x) - 2
    as_list = lambda n: list(n) if isinstance(n, tuple) else [n] * axes
    stride, padding, dilation = as_list(stride), as_list(padding), as_list(dilation)
    inputs = [numbers(*x), numbers(*weight)] + ([numbers(bias)] if bias else [])
    bias_of = lambda more: more[0] if more else None
    if output_padding is None:
        function = [F.conv1d, F.conv2d, F.conv3d][axes - 1]
        add("conv_with", lambda x, w, *more: function(x, w, bias_of(more), stride, padding, dilation, groups), *inputs,
            stride=stride, padding=padding, dilation=dilation, groups=groups)
        return
    output_padding = as_list(output_padding)
    function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][axes - 1]
    add("conv_transpose_with",
        lambda x, w, *more: function(x, w, bias_of(more), stride, padding, output_padding, groups, dilation), *inputs,
        stride=stride, padding=padding, dilation=dilation, groups=groups, output_padding=output_padding)


add_conv((2, 3, 9), (4, 3, 3), bias=4, stride=2, padding=1)
add_conv((2, 3, 6, 5), (4, 3, 3, 2), bias=4, padding=(1, 0))
add_conv((2, 4, 7, 6), (6, 2, 3, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2)
add_conv((1, 3, 5, 5), (3, 1, 3, 3), bias=3, padding=1, groups=3)
add_conv((2, 5, 3, 4), (2, 5, 1, 1), bias=2)
add_conv((1, 2, 4, 3, 5), (3, 2, 2, 3, 2), bias=3, stride=(2, 1, 1), padding=(0, 1, 0), dilation=(1, 1, 2))
add_conv((2, 3, 5), (3, 2, 4), bias=2, stride=2, padding=1, output_padding=1)
add_conv((2, 3, 3, 4), (3, 2, 3, 3), bias=2, stride=2, padding=1, output_padding=(1, 0))
add_conv((1, 4, 4, 3), (4, 3, 2, 3), stride=(3, 2), dilation=(1, 2), padding=(0, 1), groups=2, output_padding=0)
add_conv((1, 2, 2, 3, 2), (2, 2, 2, 2, 3), bias=2, stride=(1, 2, 2), padding=(0, 1, 0), output_padding=(0, 1, 1))
# Recurrent: y, the last h and the last c side by side.
def side_by_side(*parts):
    return torch.cat([part.transpose(0, 1).flatten(1) if i and part.dim() == 3 else part.flatten(1)
                      for i, part in enumerate(parts)], 1)


def add_recurrent(gates, sequence, cell, batch=3, steps=4, inputs=5, units=6):
    weights = [numbers(*shape, low=-0.8, high=0.8)
               for shape in ((gates * units, inputs), (gates * units, units), (gates * units,), (gates * units,))]
    states = [numbers(batch, units, low=-1, high=1) for _ in range(2 if gates == 4 else 1)]

    def given(h):
        return h if len(h) == 2 else h[0]

    def run(x, *rest):
        first = [s.unsqueeze(0) for s in rest[4:]]
        return side_by_side(*getattr(torch, sequence)(x, given(first), rest[:4], True, 1, 0.0, False, False, True))

    def step(x, *rest):
        result = getattr(torch, cell)(x, given(rest[4:]), *rest[:4])
        return torch.cat(result, 1) if gates == 4 else result

    add(sequence.split("_")[0], run, numbers(batch, steps, inputs), *weights, *states)
    add(sequence.split("_")[0] + "_cell", step, numbers(batch, inputs), *weights, *states)


add_recurrent(4, "lstm", "lstm_cell")
add_recurrent(3, "gru", "gru_cell")
add_recurrent(1, "rnn_tanh", "rnn_tanh_cell")

print('{"pytorch": "%s", "cases": [' % torch.__version__)
print(",\n".join(json.dumps(case) for case in cases))
print("]}")
