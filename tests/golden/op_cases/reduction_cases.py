"""Reductions along axes, and what goes along an axis: sums, sorts, scans."""
import torch

from op_recorder import add, flags, given, numbers, whole, whole_floats

for op, function in [("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax)]:
    for axes, keep in [([0], False), ([1], True), ([0, 2], False), ([0, 1, 2], False)]:
        add(op, lambda x: function(x, dim=axes, keepdim=keep), numbers(3, 4, 5), axes=axes, keep=keep)
ties = given([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
add("max", lambda x: torch.amax(x, dim=[1]), ties, axes=[1], keep=False)
add("argmax", lambda x: torch.argmax(x, dim=1), numbers(4, 7), axes=[1], keep=False)
add("argmax", lambda x: torch.argmax(x, dim=0, keepdim=True), ties, axes=[0], keep=True)



def masked_mean(axes, keep):
    """x[mask].mean() along axes, where it is of nothing 0."""
    def of(x, mask):
        counts = (mask != 0).expand(x.shape)
        number = counts.sum(dim=axes, keepdim=keep).clamp_min(1)
        return torch.where(counts, x, 0.0).sum(dim=axes, keepdim=keep) / number
    return of


for axes, keep in [([1], False), ([0, 2], True), ([0, 1, 2], False)]:
    add("masked_mean", masked_mean(axes, keep), numbers(3, 4, 5), flags(3, 4, 5), axes=axes, keep=keep)
    add("masked_mean", masked_mean(axes, keep), numbers(3, 4, 5), whole(3, 4, 1), axes=axes, keep=keep)
add("masked_mean", masked_mean([1], False), numbers(2, 3), torch.tensor([[True, False, True], [False, False, False]]),
    axes=[1], keep=False, case="nothing counts")

# Reductions of more kinds. `order` and `correction` are parameters; 0 stands for infinity.
for op, function in [("min", torch.amin), ("prod", None), ("logsumexp", torch.logsumexp)]:
    for axes, keep in [([1], True), ([0, 2], False)]:
        if op == "prod":
            add(op, lambda x: x.prod(axes[0], keepdim=keep), numbers(3, 4, 5), axes=axes[:1], keep=keep)
        else:
            add(op, lambda x: function(x, dim=axes, keepdim=keep), numbers(3, 4, 5), axes=axes, keep=keep)
add("min", lambda x: torch.amin(x, dim=[1]), ties, axes=[1], keep=False)
add("prod", lambda x: x.prod(1), given([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, -3.0]]),
    axes=[1], keep=False)
add("prod", torch.prod, numbers(7), axes=[0], keep=False)
add("argmin", lambda x: torch.argmin(x, dim=1), numbers(4, 7), axes=[1], keep=False)
add("argmin", lambda x: torch.argmin(x, dim=1, keepdim=True), ties, axes=[1], keep=True)
for op, function in [("var", torch.var), ("std", torch.std)]:
    for correction in [0, 1]:
        for axes, keep in [([1], True), ([0, 2], False)]:
            add(op, lambda x: function(x, dim=axes, correction=correction, keepdim=keep), numbers(3, 4, 5), axes=axes,
                keep=keep, correction=correction)
add("std", lambda x: torch.std(x, dim=1, correction=0), given([[1.0, 1.0], [1.0, 2.0]]),
    axes=[1], keep=False, correction=0)
for order in [1, 2, 0]:
    norm = lambda x: torch.linalg.vector_norm(x, order or float("inf"), dim=axes, keepdim=keep)
    for axes, keep in [([1], True), ([0, 2], False)]:
        add("norm", norm, numbers(3, 4, 5), axes=axes, keep=keep, order=order)
    axes, keep = [1], False
    add("norm", norm, given([[0.0, 0.0, 0.0], [2.0, -2.0, 0.0], [1.0, 3.0, -3.0]]),
        axes=axes, keep=keep, order=order)
    add("normalize", lambda x: torch.nn.functional.normalize(x, order or float("inf"), 1, 0.5), numbers(3, 5), order=order, axis=1,
        value=0.5)
for op, function in [("any", torch.any), ("all", torch.all), ("count_nonzero", lambda x, dim: torch.count_nonzero(x, dim=dim))]:
    add(op, lambda x: function(x, dim=1), flags(6, 3), axes=[1], keep=False)
    add(op, lambda x: function(x, dim=0), whole_floats(2, 2, 5), axes=[0], keep=False)
def linear_scan(a, b):
    rows = [b[0]]
    for j in range(1, len(b)):
        rows.append(a[j] * rows[-1] + b[j])
    return torch.stack(rows)


zeros = given([[1.0, 0.0, 2.0, 3.0], [0.0, 2.0, 0.0, -1.0], [2.0, -1.5, 0.5, 0.0]])
add("cumsum", lambda x: torch.cumsum(x, 1), numbers(3, 20), axis=1)
add("cumsum", lambda x: torch.cumsum(x, 0).to(torch.int32), whole(99, 7, 3), axis=0)
add("cumprod", lambda x: torch.cumprod(x, 0), numbers(9, 3), axis=0)
add("cumprod", lambda x: torch.cumprod(x, 1), zeros, axis=1)
add("linear_scan", linear_scan, numbers(9, 2, low=-1, high=1), numbers(9, 2), axis=0)
for descending in [False, True]:
    add("argsort", lambda x: torch.sort(x, stable=True, dim=1, descending=descending)[1], whole_floats(4, 3, 17), axis=1,
        keep=descending)
    add("sort", lambda x: torch.sort(x, 0, descending=descending)[0], numbers(9, 2), axis=0, keep=descending)
    add("topk", lambda x: torch.topk(x, 4, 1, largest=descending)[0], numbers(2, 20), axis=1, start=4, keep=descending)
    add("topk_indices", lambda x: torch.topk(x, 4, 0, largest=descending)[1], numbers(9, 3), axis=0, start=4,
        keep=descending)


