"""The second gradients of recorded cases (op_recorder.py), computed by PyTorch.

A case has gradients g of sum(output * weights). `directions` are arrays v, one for each input with a gradient, and
`seconds` the gradients of sum(g * v) over all these inputs, with regard to each of them. Where PyTorch has no second
gradient, they are central differences of its first one in float64.
"""
import random

import torch

import op_recorder

NONE_IN_WEFT = ("ctc",)
# At a bend a second gradient is a convention, or infinite: PyTorch takes the other side, Weft that of the first gradient.
BENDS = {("elu", "9 numbers=[0.25]"), ("selu", "9 kinks"), ("hardsigmoid", "10 kinks"), ("hardswish", "8 kinks"),
         ("prelu", "1x10 1 kinks"), ("cosine_similarity", "2x3 2x3 axis=1")}


def first(function, inputs, **options):
    """The gradients, and the inputs that they are for."""
    wrt = [x for x in inputs if x.requires_grad]
    output = function(*inputs)
    loss = (output * op_recorder.weights_of(output.shape)).sum()
    return torch.autograd.grad(loss, wrt, **options), wrt


def directions_of(wrt):
    shapes = [op_recorder.name_of_shape(x.shape) for x in wrt]
    return [op_recorder.numbers(*x.shape).draw(random.Random(f"direction {i} {shape}")).detach()
            for i, (x, shape) in enumerate(zip(wrt, shapes))]


def differentiated(function, inputs):
    gradients, wrt = first(function, inputs, create_graph=True)
    directions = directions_of(wrt)
    loss = sum((g * v).sum() for g, v in zip(gradients, directions))
    if not loss.requires_grad:
        return directions, [torch.zeros_like(x) for x in wrt]
    seconds = torch.autograd.grad(loss, wrt, allow_unused=True)
    return directions, [torch.zeros_like(x) if s is None else torch.zeros_like(x) + s for x, s in zip(wrt, seconds)]


def differences(function, inputs, step=1e-6):
    wrt = [x for x in inputs if x.requires_grad]
    directions = directions_of(wrt)

    def along(x, i, by):
        with torch.no_grad():
            x.view(-1)[i] += by
        total = sum((g * v).sum() for g, v in zip(first(function, inputs)[0], directions))
        with torch.no_grad():
            x.view(-1)[i] -= by
        return total

    return directions, [torch.stack([(along(x, i, step) - along(x, i, -step)) / (2 * step) for i in range(x.numel())])
                        .reshape(x.shape) for x in wrt]


def second_gradients(op, name, function, inputs):
    """Fields of the case; empty if a second gradient is not to be recorded."""
    if op in NONE_IN_WEFT or (op, name) in BENDS:
        return {}
    try:
        directions, found = differentiated(function, inputs)
    except RuntimeError as error:
        if "is not implemented" not in str(error) and "is not differentiable" not in str(error):
            raise
        print(f"{op}: differences: {error}")
        directions, found = differences(function, inputs)
    if not all(x.isfinite().all() for x in found):
        print(f"{op}: {name}: PyTorch's second gradient is not finite, it is left out")
        return {}
    return {"directions": [op_recorder.as_json(x) for x in directions], "seconds": [op_recorder.as_json(x) for x in found]}
