"""Records what PyTorch computes for an op: the drawing of inputs, and the files tests/golden/ops/OP.golden.json.

A case's random inputs depend on the names of its op and of the case, and on nothing else: not on other cases, their order,
or PyTorch's generator. PyTorch computes in float64 and the result is rounded to float32 once, so that the files do not
depend on the vector instructions of the machine either, as float32 results do in their last bits.
"""
import json
import random
from pathlib import Path

import torch

torch.set_default_dtype(torch.float64)
FOLDER = Path(__file__).resolve().parent / "ops"
files = {}  # op: {name of a case: the case}
observers = []  # called with op, name, function and inputs of each case that has gradients; return further fields of it


def spread(r, count):
    """Numbers of 0 .. 1 in random order, one in each of `count` equal parts, so that a range is covered."""
    order = sorted(range(count), key=[r.random() for _ in range(count)].__getitem__)
    return [(k + r.random()) / count for k in order]


def rounded(x):
    """To multiples of 2^-16. The mean of two is then a float32 number, too; of any two float32 numbers it may lie halfway
    between float32 numbers, where the last bit of a float64 result would decide how it is rounded."""
    return round(x * 65536) / 65536


def float32(values, shape=None):
    """A float64 tensor of numbers that are float32 numbers."""
    tensor = torch.tensor(values, dtype=torch.float32).double()
    return tensor if shape is None else tensor.reshape(shape)


class Random:
    """An input that is drawn when its case is recorded. `draw` makes a tensor of a random generator."""

    def __init__(self, shape, draw):
        self.shape, self.draw = shape, draw

    def map(self, function):
        return Random(self.shape, lambda r: function(self.draw(r)))


def numbers(*shape, low=-2.0, high=2.0):
    def draw(r):
        values = [rounded(low + (high - low) * u) for u in spread(r, torch.Size(shape).numel())]
        return float32(values, shape).requires_grad_(True)

    return Random(shape, draw)


def whole(count, *shape, low=0, step=1):
    """Integers: low, low + step, ..., `count` different ones."""
    def draw(r):
        values = [low + step * int(count * u) for u in spread(r, torch.Size(shape).numel())]
        return torch.tensor(values).reshape(shape)

    return Random(shape, draw)


def whole_floats(count, *shape, low=0):
    """Whole numbers as floats, for ties; without gradients."""
    return whole(count, *shape, low=low).map(lambda x: x.double())


def flags(*shape):
    return whole(2, *shape).map(lambda x: x.bool())


def signs(*shape):
    return whole(2, *shape, low=-1, step=2)


def given(values):
    """An input of numbers written down in the case; it has a gradient."""
    return float32(values).requires_grad_(True)


def weights_of(shape):
    """The same for every result of this shape: equal inputs are one input of the test's graph."""
    return numbers(*shape).draw(random.Random(f"weights {name_of_shape(shape)}")).detach()


def name_of_shape(shape):
    return "x".join(str(n) for n in shape) or "scalar"


def name_of(inputs, parameters):
    options = [f"{name}={value}" for name, value in parameters.items() if value not in (0, [], "")]
    return " ".join([name_of_shape(x.shape) for x in inputs] + options).replace(", ", ",")


def flat(tensor):
    """The numbers as float32 numbers, which nine digits name exactly. What only rounding keeps from zero becomes zero."""
    values = tensor.detach().reshape(-1)
    limit = 1e-13 * max(values.abs().tolist(), default=0)
    values = [0.0 if 0 < abs(x) < limit else x for x in values.tolist()]
    return [float(f"{x:.9g}") for x in float32(values).tolist()]


def as_json(tensor):
    if tensor.dtype == torch.float64:
        dtype, data = "f32", flat(tensor)
    else:
        dtype = {torch.int64: "i32", torch.int32: "i32", torch.bool: "bool"}[tensor.dtype]
        data = [int(x) for x in tensor.reshape(-1).tolist()]
    return {"dtype": dtype, "dims": list(tensor.shape), "data": data}


def add(op, function, *inputs, case=None, **parameters):
    """Records a case. `case` tells cases apart whose inputs' shapes and parameters are equal."""
    name = f"{name_of(inputs, parameters)} {case or ''}".strip()
    cases = files.setdefault(op, {})
    if name in cases:
        raise ValueError(f'{op} has two cases "{name}": give one of them a case="..."')
    r = random.Random(f"{op} {name}")
    inputs = [x.draw(r) if isinstance(x, Random) else x for x in inputs]
    output = function(*inputs)
    result = {"op": op, "name": name, "inputs": [as_json(x) for x in inputs], "output": as_json(output), **parameters}
    if output.requires_grad:
        weights = weights_of(output.shape)
        gradients = torch.autograd.grad((output * weights).sum(), [x for x in inputs if x.requires_grad])
        result["weights"] = as_json(weights)
        result["gradients"] = [as_json(g) for g in gradients]
        for observer in observers:
            result.update(observer(op, name, function, inputs))
    cases[name] = result


def text_of(cases):
    """A file: an array with a case a line, in the order of their names."""
    return "[\n" + ",\n".join(json.dumps(cases[name], allow_nan=False) for name in sorted(cases)) + "\n]\n"


def write():
    """Writes the files of all ops and removes those of ops that are no more."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.golden.json"):
        if old.name.split(".")[0] not in files:
            old.unlink()
    for op, cases in files.items():
        (FOLDER / f"{op}.golden.json").write_text(text_of(cases), encoding="ascii")
