"""Elementwise ops. Each row of workloads/oracle/elementwise_rows.h is recorded over the row's own range of inputs."""
import re
from pathlib import Path

import torch
import torch.nn.functional as F

from op_recorder import add, flags, given, numbers, whole, whole_floats

ROWS = Path(__file__).resolve().parents[3] / "workloads/oracle/elementwise_rows.h"
# PyTorch's function, where it has another name than the op.
OTHER_NAMES = {
    "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le, "greater": torch.gt,
    "greater_equal": torch.ge, "floor_divide": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "trunc_divide": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def function_of(op):
    function = OTHER_NAMES.get(op) or getattr(torch, op, None) or getattr(F, op, None)
    if function is None:
        raise ValueError(f"PyTorch has no {op}: name its function in OTHER_NAMES")
    return function


def rows():
    """op: (kind, low, high), as declared for the tests against float64 formulas."""
    pattern = r"^ROW\((\w+), *(\w+), .*, *([-0-9.]+), *([-0-9.]+)\)$"
    found = re.findall(pattern, ROWS.read_text(encoding="utf-8"), re.MULTILINE)
    return {op: (kind, float(low), float(high)) for op, kind, low, high in found}


def add_row(op, kind, low, high):
    function = function_of(op)
    if kind in ("FLOAT1", "NUMBER1"):
        add(op, function, numbers(3, 5, low=low, high=high))
    elif kind in ("FLOAT2", "NUMBER2"):
        add(op, function, numbers(3, 5, low=low, high=high), numbers(3, 5, low=low, high=high))
        add(op, function, numbers(4, 1, 5, low=low, high=high), numbers(3, 1, low=low, high=high))
    elif kind == "COMPARE":
        count = int(high - low) + 1
        add(op, function, whole_floats(count, 3, 5, low=int(low)), whole_floats(count, 3, 5, low=int(low)))
    elif kind == "CHOOSE":
        add(op, function, flags(3, 5), numbers(3, 5, low=low, high=high), numbers(5, low=low, high=high))
    elif kind == "TEST1":
        add(op, function, numbers(3, low=low, high=high).map(lambda x: x.detach()))
    elif kind == "LOGIC2":
        add(op, function, flags(3, 5), flags(2, 1, 5))
    elif kind == "LOGIC1":
        add(op, function, flags(9))
    else:
        raise ValueError(f"{op}: no case for rows of kind {kind}")


ranges = rows()
for op, row in ranges.items():
    add_row(op, *row)

# Where a function has a kink or a tie. Where PyTorch 1.13 and 2.15 differ, nothing is recorded, so that either writes these
# files: test_activation.c has these numbers.
kinks = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, 2.5, -0.5]
positive_zero = [x for x in kinks if str(x) != "-0.0"]  # elu and selu of -0: 0, or -0
for op in ("abs", "sign", "relu6", "hardsigmoid", "round", "gelu"):
    add(op, function_of(op), given(kinks), case="kinks")
add("selu", F.selu, given(positive_zero), case="kinks")
# The gradient of hardswish: at 3 it is 1 where vector code computes it, else 1.5; at -3 it is -0.5, or 0.
add("hardswish", F.hardswish, given([x for x in kinks if abs(x) != 3]), case="kinks")
add("relu", torch.relu, given([0.0, -0.0, 1.0, -1.0]), case="kinks")
for op in ("maximum", "minimum"):
    add(op, function_of(op), given([1.0, 2.0, 3.0]), given([1.0, 3.0, 2.0]), case="ties")
add("pow", torch.pow, given([0.0, 0.0, 2.0, 1.0]), given([0.0, 2.0, 0.0, 3.0]), case="zeros")
add("remainder", torch.remainder, given([5.0, -5.0, 5.0, -5.0, 6.0, -6.5]), given([3.0, 3.0, -3.0, -3.0, 4.0, 4.0]),
    case="signs")
add("remainder", torch.remainder, whole(19, 3, 5, low=-9), whole(4, 5, low=-3, step=2), case="integers")
for op in ("fmod", "floor_divide", "trunc_divide"):
    add(op, function_of(op), given([5.0, -5.0, 5.0, -5.0, 6.0, -6.5]), given([3.0, 3.0, -3.0, -3.0, 4.0, 4.0]), case="signs")
    add(op, function_of(op), whole(19, 3, 5, low=-9), whole(4, 5, low=-3, step=2), case="integers")
add("abs", torch.abs, whole(9, 7, low=-4), case="integers")

# With numbers as parameters.
for op in ("clamp", "hardtanh"):
    inside = [x for x in kinks if x not in (-1, 3)]  # at a bound the gradient of clamp is 1, or 0
    add(op, lambda x: function_of(op)(x, -1.0, 3.0), given(inside if op == "clamp" else kinks), numbers=[-1, 3])
    add(op, lambda x: function_of(op)(x, -1.0, 3.0), numbers(3, 5, low=-4, high=4), numbers=[-1, 3])
for op in ("leaky_relu", "elu"):
    add(op, lambda x: getattr(F, op)(x, 0.25), given(positive_zero if op == "elu" else kinks), numbers=[0.25])
    add(op, lambda x: getattr(F, op)(x, 0.25), numbers(3, 5, low=-4, high=4), numbers=[0.25])
add("glu", lambda x: F.glu(x, 1), numbers(3, 6), axis=1)
add("prelu", F.prelu, numbers(2, 3, 4), numbers(3))
add("prelu", F.prelu, given([kinks]), numbers(1), case="kinks")


def add_number(op, number):
    """The form with a number, over the range of the op with two tensors."""
    _, low, high = ranges[op]
    inputs = numbers(3, 5, low=low, high=high)
    if op in ("maximum", "minimum"):
        add(op + "_number", lambda x: function_of(op)(x, torch.tensor(number)), inputs, numbers=[number])
    else:
        add(op + "_number", lambda x: function_of(op)(x, number), inputs, numbers=[number])


for op in ("add", "sub", "mul", "div", "pow", "remainder", "floor_divide"):
    add_number(op, 1.25)
for op in ("sub", "div", "pow", "remainder"):
    _, low, high = ranges[op]
    add("number_" + op, lambda x: function_of(op)(torch.tensor(1.25), x), numbers(3, 5, low=low, high=high), numbers=[1.25])
add_number("pow", 3)
add_number("pow", -1)
add_number("maximum", 0.5)
add_number("minimum", 0.5)
for op in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    add(op + "_number", lambda x: function_of(op)(x, 1), whole_floats(3, 3, 5), numbers=[1])
