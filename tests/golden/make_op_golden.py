#!/usr/bin/env python3
"""Writes ops/OP.golden.json, one file an op: what PyTorch computes for it on small odd shapes.

Each case has an op (workloads/recorded_ops.c knows how to build it), a name, inputs, parameters, the output, the
gradients of sum(output * weights) with regard to the float inputs, and second gradients (second_gradients.py). The cases
stand in op_cases/; op_recorder.py draws their inputs. A changed or further case changes the file of its op only; without a change, nothing changes.

Recorded with PyTorch 1.13 of Debian 12, in float64. `tools/install-deps --goldens` installs it; then
    /usr/bin/python3 tests/golden/make_op_golden.py
"""
import importlib
import sys

sys.dont_write_bytecode = True
import op_recorder  # noqa: E402: after the line above, which keeps the tree clean
import second_gradients  # noqa: E402

op_recorder.observers.append(second_gradients.second_gradients)
for name in ("elementwise", "reduction", "movement", "product", "loss", "layer", "image"):
    importlib.import_module(f"op_cases.{name}_cases")
op_recorder.write()
