#!/usr/bin/env python3
"""Writes the .npy files of tests/golden/npy with NumPy itself: every dtype that Weft reads, both byte orders, C and
Fortran order, the three versions of the format. Element i in row-major order is i - 2 in signed and float arrays, i
in unsigned ones, i % 3 == 0 in bool ones. Usage: make_npy_golden.py (in the root of the source tree)."""
import os

import numpy
from numpy.lib import format as npy

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npy")


def values(dtype, shape):
    count = int(numpy.prod(shape))
    kind = numpy.dtype(dtype).kind
    plain = numpy.arange(count)
    if kind == "b":
        plain = plain % 3 == 0
    elif kind != "u":
        plain = plain - 2
    return plain.astype(dtype).reshape(shape)


def write(name, array, version=(1, 0)):
    with open(os.path.join(folder, name + ".npy"), "wb") as file:
        npy.write_array(file, array, version=version, allow_pickle=False)


for code in ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"]:
    orders = ["|"] if code.endswith("1") else ["<", ">"]
    for order in orders:
        name = code + {"|": "", "<": "_little", ">": "_big"}[order]
        write(name, values(order + code, (2, 3)))
write("fortran", numpy.asfortranarray(values("<f4", (2, 3, 4))))
write("fortran_big", numpy.asfortranarray(values(">i2", (4, 3))))
write("version2", values("<i4", (5,)), (2, 0))
write("version3", values("<f4", (1, 5)), (3, 0))
write("scalar", values("<f4", ()))
write("empty", values("<f4", (0, 3)))
write("vector", values("<i8", (7,)))
write("text", numpy.array(["a", "bc"]))
write("complex", numpy.zeros(2, "<c8"))
write("record", numpy.zeros(2, [("a", "<f4"), ("b", "<i4")]))
