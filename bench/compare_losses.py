#!/usr/bin/env python3
"""The losses of a sample's first steps beside those of its twin in PyTorch (bench/programs), from the same weights and batches.

usage: compare_losses.py SAMPLE DIR [--losses FILE]
DIR is what the sample wrote with --trace DIR: weights.safetensors, batches.bin (what it gave to its plans and drew in them)
and losses.txt. The twin runs as it is, except that its parameters begin as those weights and that what it draws (batches and
random numbers) comes from the trace, in order. Prints both losses of each step and the largest relative difference, and fails
beyond 1e-5. With --losses, writes PyTorch's losses to FILE: tests/golden/samples/SAMPLE.losses, which the tests compare with.
"""

import argparse
import importlib
import json
import struct
import sys
from pathlib import Path

import numpy
import torch

STEPS = 20
# The options under which the twin takes the steps that are in the trace; the others take 20 steps.
OPTIONS = {"dqn": ["--steps", "520"], "finetune": ["--steps", "0", "--head-steps", "20"]}
sys.path.insert(0, str(Path(__file__).resolve().parent / "programs"))


class Done(Exception):
    """The trace has no further steps."""


class Trace:
    """The parameters in the order in which they were made, and the arrays of batches.bin."""

    def __init__(self, folder):
        content = (folder / "weights.safetensors").read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        entries = json.loads(content[8 : 8 + size])
        self.parameters = []
        for name, entry in sorted(
            (item for item in entries.items() if item[0] != "__metadata__"),
            key=lambda item: item[1]["data_offsets"][0],
        ):
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            values = numpy.frombuffer(content[begin:end], numpy.float32).reshape(entry["shape"])
            if not name.endswith(("running_mean", "running_var")):
                self.parameters.append((name, torch.from_numpy(values.copy())))
        self.bytes = (folder / "batches.bin").read_bytes()
        self.losses = [[float(x) for x in line.split()] for line in (folder / "losses.txt").read_text().splitlines()]
        self.at = 0

    def take(self, *shape, dtype=numpy.float32):
        """The next array."""
        if self.at == len(self.bytes):
            raise Done
        values = numpy.frombuffer(self.bytes, dtype, int(numpy.prod(shape)), self.at).copy()
        self.at += values.nbytes
        tensor = torch.from_numpy(values).reshape(shape)
        return tensor.long() if dtype == numpy.int32 else tensor

    def labels(self, *shape):
        return self.take(*shape, dtype=numpy.int32)


def replace_draws(program, trace):
    """What the program draws is what the trace has."""
    support = sys.modules["program_support"]
    with_labels = program.__name__ == "finetune"
    torch.randn = torch.rand = lambda *shape: trace.take(*shape)
    torch.randn_like = lambda x: trace.take(*x.shape)
    support.Digits.draw = lambda _, count, *__: (trace.take(count, 1, 8, 8), trace.labels(count) if with_labels else None)
    support.Words.draw = lambda _, count: tuple(trace.labels(count, n) for n in (10, 11, 11))
    support.Memory.draw = lambda _, count: (trace.take(count, 4), trace.take(count, 4), trace.take(count), trace.labels(count))
    program.draw_strokes = lambda _, count, __: (trace.take(count, 1, 8, 8), trace.take(count, 1, 8, 8))
    program.draw_pairs = lambda _, batch: (trace.labels(batch), trace.labels(batch, program.PICKED))
    program.get_batch = lambda _, args: tuple(trace.labels(args.batch, args.context) for _ in range(2))


def replace_loop(program, trace, rows):
    """The loop begins with the weights of the trace, and ends with it. rows gets the losses, by step."""
    backward = torch.Tensor.backward

    class TracedLoop(program.TrainingLoop):
        def __init__(self, args, steps, **parts):
            super().__init__(args, steps, **parts)
            modules = [part for part in parts.values() if isinstance(part, torch.nn.Module)]
            own = [p for module in modules for p in module.parameters()]
            if len(own) != len(trace.parameters):
                sys.exit(f"{len(own)} parameters, the trace has {len(trace.parameters)}")
            for p, (name, values) in zip(own, trace.parameters):
                if p.shape != values.shape:
                    sys.exit(f"{name} is {tuple(values.shape)}, its twin {tuple(p.shape)}")
                p.data.copy_(values)

        def __iter__(self):
            for step in super().__iter__():
                rows.append([])
                yield step
                if not rows[-1]:
                    rows.pop()
                if len(rows) == STEPS:
                    raise Done

    def noted(loss, *arguments, **options):
        rows[-1].append(loss.item())
        return backward(loss, *arguments, **options)

    torch.Tensor.backward = noted
    program.TrainingLoop = TracedLoop


def compare(rows, trace):
    worst = 0
    for number, (wanted, got) in enumerate(zip(rows, trace.losses), 1):
        if len(wanted) != len(got):
            sys.exit(f"step {number}: {len(wanted)} losses, the trace has {len(got)}")
        difference = max(abs(w - g) / max(abs(w), 1e-30) for w, g in zip(wanted, got))
        worst = max(worst, difference)
        print(f"step {number:2}: PyTorch {wanted}, Weft {got}, {difference:.1e}")
    if len(rows) != STEPS or len(trace.losses) != STEPS or trace.at != len(trace.bytes):
        sys.exit(f"{len(rows)} steps, {len(trace.losses)} in the trace, {len(trace.bytes) - trace.at} bytes were not read")
    print(f"largest relative difference: {worst:.1e}")
    return worst


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sample")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--losses", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    trace, rows = Trace(args.folder), []
    program = importlib.import_module(args.sample)
    replace_draws(program, trace)
    replace_loop(program, trace, rows)
    sys.argv = [args.sample, *OPTIONS.get(args.sample, ["--steps", "20"])]
    if args.sample == "skip_gram":
        sys.argv += ["--table", str(len(trace.parameters[0][1]))]
    try:
        program.main()
    except Done:
        pass
    worst = compare(rows, trace)
    if args.losses:
        args.losses.write_text("".join(" ".join(f"{x:.9g}" for x in row) + "\n" for row in rows))
    sys.exit(worst > 1e-5)


if __name__ == "__main__":
    main()
