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

print('{"pytorch": "%s", "cases": [' % torch.__version__)
print(",\n".join(json.dumps(case) for case in cases))
print("]}")
