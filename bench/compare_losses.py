#!/usr/bin/env python3
"""The losses of a sample's first steps beside those of its twin in PyTorch (bench/programs), from the same weights and batches.

usage: compare_losses.py SAMPLE DIR [--losses FILE]
DIR is what the sample wrote with --record DIR: weights.safetensors, batches.bin (what it gave to its plans and drew in them)
and losses.txt. The twin runs as it is, except that its parameters begin as those weights and that what it draws (batches and
random numbers) comes from the trace, in order. Prints both losses of each step and the largest relative difference, and fails
beyond 1e-5. With --losses, writes PyTorch's losses to FILE: tests/golden/samples/SAMPLE.losses, which the tests compare with.
"""

import argparse
import importlib
import json
import re
import struct
import sys
from pathlib import Path

import numpy
import torch
from torch import nn

STEPS = 20
# The options under which the twin takes the steps that are in the trace; the others take 20 steps.
OPTIONS = {
    "dqn": ["--steps", "520"],
    "finetune": ["--steps", "0", "--head-steps", "20"],
    "lstm_cells": ["--steps", "20", "--iterations", "1"],
    "lora": ["--steps", "10", "--adapter-steps", "10"],
    "distillation": ["--steps", "10", "--student-steps", "10"],
}
sys.path.insert(0, str(Path(__file__).resolve().parent / "programs"))


class Done(Exception):
    """The trace has no further steps."""


class Trace:
    """The weights by name, and the arrays of batches.bin in order."""

    def __init__(self, folder):
        content = (folder / "weights.safetensors").read_bytes()
        size = struct.unpack("<Q", content[:8])[0]
        self.weights = {}
        for name, entry in json.loads(content[8 : 8 + size]).items():
            if name == "__metadata__":
                continue
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            values = numpy.frombuffer(content[begin:end], numpy.float32).reshape(entry["shape"])
            self.weights[name] = torch.from_numpy(values.copy())
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


def draw_image_pairs(count, trace):
    images, labels = trace.take(count, 2, 8, 8), trace.labels(count, 2)
    return images[:, :1], images[:, 1:], labels[:, 0] == labels[:, 1]


def take_rollout(count, trace):
    """The trace has the values now and a step later."""
    seen, actions, log_probs, alive, now, later = (
        trace.take(count, 4),
        trace.labels(count),
        *(trace.take(count) for _ in range(4)),
    )
    return seen, actions, log_probs, alive, torch.cat((now, later[-1:]))


def replace_draws(program, trace):
    """What the program draws is what the trace has."""
    support = sys.modules["program_support"]
    with_labels = program.__name__ in ("finetune", "vit", "multi_output", "lora", "distillation")
    drawn_times = 3 if program.__name__ == "pinn" else 1  # the trace has what the program makes of random numbers
    torch.randn = lambda *shape: trace.take(*shape)
    torch.rand = lambda *shape: trace.take(*shape) / drawn_times
    torch.randn_like = lambda x: trace.take(*x.shape)
    torch.randint = lambda _, shape: trace.labels(*shape)
    support.Digits.draw = lambda _, count, *__: (
        trace.take(count, 1, 8, 8),
        trace.labels(count) if with_labels else None,
    )
    support.Words.draw = lambda _, count: tuple(trace.labels(count, n) for n in (10, 11, 11))
    support.Memory.draw = lambda _, count: (
        trace.take(count, 4),
        trace.take(count, 4),
        trace.take(count),
        trace.labels(count),
    )
    program.draw_strokes = lambda _, count, __: (trace.take(count, 1, 8, 8), trace.take(count, 1, 8, 8))
    program.draw_pairs = lambda _, batch: (trace.labels(batch), trace.labels(batch, program.PICKED))
    if program.__name__ == "siamese":
        program.draw_pairs = lambda _: draw_image_pairs(program.BATCH_SIZE, trace)
    program.draw_ratings = lambda count: (trace.labels(count), trace.labels(count), trace.take(count))
    program.draw_scenes = lambda count: (
        trace.take(count, 1, 32, 32),
        trace.take(count, 4, 4, 4),
        trace.labels(count, 4, 4),
    )
    program.draw_recordings = lambda count: (
        trace.take(count, 48, 16),
        trace.labels(count),
        trace.labels(count, 6),
        trace.labels(count),
    )
    program.draw_graph = lambda: (trace.labels(2, 1600), trace.take(400, 16))
    program.draw_waves = lambda count, length: trace.take(count, length)
    program.play = lambda *_: take_rollout(512, trace)
    program.get_batch = lambda _, args: tuple(trace.labels(args.batch, args.context) for _ in range(2))
    if program.__name__ == "llama":
        program.get_batch = lambda _: tuple(trace.labels(program.BATCH_SIZE, program.CONTEXT) for _ in range(2))


KINDS = {
    nn.Linear: "linear",
    nn.Conv2d: "conv",
    nn.ConvTranspose2d: "convtranspose",
    nn.BatchNorm2d: "batchnorm",
    nn.LayerNorm: "layernorm",
    nn.GroupNorm: "groupnorm",
    nn.RMSNorm: "rmsnorm",
    nn.Embedding: "embedding",
    nn.GRU: "gru",
    nn.MultiheadAttention: "attention",
}


def scope_of(sample, path):
    """Where the sample has the layer that the twin has at this path, which begins with the name of a part of its loop."""
    block = re.match(r"model\.blocks\.(\d+)", path)
    if sample == "gpt":
        return f"gpt.block{block[1]}." if block else "gpt."
    if path.startswith("model."):
        if sample == "vae" and ".decoder." in path:
            return "decoder."
        return {"ddpm": "unet.", "llama": "llama.", "pinn": "y.", "siamese": "tower."}.get(sample, "")
    return path.split(".")[0] + "."


def load_weights(sample, modules, weights):
    """Layers have the sample's names, without the part's or with it, or are counted by their kinds in each scope, as in the
    sample."""
    made, left = {}, dict(weights)
    for part, module in modules.items():
        for path, layer in module.named_modules(prefix=part):
            own = dict(layer.named_parameters(recurse=False))
            if not own:
                continue
            name = next((n for n in (path, path.partition(".")[2]) if f"{n}.{[*own][0]}" in weights), path)
            if isinstance(layer, nn.GRU) and sample == "seq2seq":
                name = {"encoder": "reader", "decoder": "writer"}[path.split(".")[1]]
            elif path.endswith(".out_proj"):
                name = f"attention{made['attention']}.out_proj"
            elif type(layer) in KINDS and f"{name}.weight" not in weights:
                kind = scope_of(sample, path) + KINDS[type(layer)]
                made[kind] = made.get(kind, 0) + 1
                name = f"{kind}{made[kind]}"
            for key, p in own.items():
                values = left.pop(f"{name}.{key}" if f"{name}.{key}" in left else key)
                if p.shape != values.shape:
                    sys.exit(f"{name}.{key} is {tuple(values.shape)}, {path}.{key} {tuple(p.shape)}")
                p.data.copy_(values)
    rest = [name for name in left if not name.endswith(("running_mean", "running_var"))]
    if rest:
        sys.exit(f"the twin has no {', '.join(rest)}")


def replace_loop(program, trace, rows):
    """The loop begins with the weights of the trace, and ends with it. rows gets the losses, by step."""
    backward = torch.Tensor.backward

    class TracedLoop(program.TrainingLoop):
        def __init__(self, args, steps, **parts):
            super().__init__(args, steps, **parts)
            modules = {name: part for name, part in parts.items() if isinstance(part, nn.Module)}
            load_weights(program.__name__, modules, trace.weights)

        def __iter__(self):
            for step in super().__iter__():
                rows.append([])
                yield step
                if not rows[-1]:
                    rows.pop()
                if len(rows) == STEPS:
                    raise Done

    def noted(loss, *arguments, **options):
        # L-BFGS evaluates the loss several times in a step, and gives the first.
        if program.__name__ != "lstm_cells" or not rows[-1]:
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
        sys.exit(
            f"{len(rows)} steps, {len(trace.losses)} in the trace, {len(trace.bytes) - trace.at} bytes were not read"
        )
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
        sys.argv += ["--table", str(len(trace.weights["embedding1.weight"]))]
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
