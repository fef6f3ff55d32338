#!/usr/bin/env python3
"""Writes layers/{lstm,gru,rnn}_layer.golden.json: torch.nn.LSTM, GRU and RNN, outputs, last states and gradients.

Inputs and parameters are not stored: array number i of a case holds the numbers of a linear congruential generator that
begins at i, in -1 .. 1, times a scale, as test_recurrent_layer.c makes them too. Of results at most 48 elements are
stored, equally far apart. The loss is sum(y * a) + sum(h * b) + sum(c * d).
PyTorch computes in float64, so that the machine does not change the results. Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_recurrent_golden.py
"""
import json
from pathlib import Path

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.set_default_dtype(torch.float64)


def numbers(seed, shape, scale):
    bits, values = seed & 0xFFFFFFFF, []
    for _ in range(torch.Size(shape).numel()):
        bits = (bits * 1664525 + 1013904223) & 0xFFFFFFFF
        values.append(((bits >> 8) * 2.0**-23 - 1.0) * scale)
    return torch.tensor(values, dtype=torch.float32).double().reshape(shape)


def some(tensor):
    flat = tensor.detach().float().reshape(-1)
    step = max(1, -(-flat.numel() // 48))
    return [float(f"{x:.9g}") for x in flat[::step].tolist()]


def case(kind, inputs, hidden, batch, steps, layers=1, bidirectional=False, projection=0, lengths=None, states=True,
         bias=True, relu=False):
    options = {"lstm": {"proj_size": projection}, "gru": {}, "rnn": {"nonlinearity": "relu" if relu else "tanh"}}[kind]
    layer = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}[kind](
        inputs, hidden, layers, bias=bias, batch_first=True, bidirectional=bidirectional, **options)
    count, width, lstm = layers * (2 if bidirectional else 1), projection or hidden, kind == "lstm"
    x = numbers(1, (batch, steps, inputs), 1.0).requires_grad_(True)
    h0 = numbers(2, (count, batch, width), 0.5).requires_grad_(True) if states else None
    c0 = numbers(3, (count, batch, hidden), 0.5).requires_grad_(True) if states and lstm else None
    names = [n for n, _ in layer.named_parameters()]
    for i, p in enumerate(layer.parameters()):
        p.data = numbers(7 + i, p.shape, 1.0 / hidden**0.5)
    given = x if lengths is None else pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y, last = layer(given, None if not states else (h0, c0) if lstm else h0)
    if lengths is not None:
        y, _ = pad_packed_sequence(y, batch_first=True, total_length=steps)
    h, c = last if lstm else (last, None)
    loss = (y * numbers(4, y.shape, 1.0)).sum() + (h * numbers(5, h.shape, 1.0)).sum()
    if c is not None:
        loss = loss + (c * numbers(6, c.shape, 1.0)).sum()
    wanted = [x] + [s for s in (h0, c0) if s is not None] + list(layer.parameters())
    gradients = torch.autograd.grad(loss, wanted)
    result = dict(kind=kind, inputs=inputs, hidden=hidden, batch=batch, steps=steps, layers=layers,
                  bidirectional=bidirectional, projection=projection, lengths=lengths, states=states, bias=bias, relu=relu,
                  parameters=names, y=some(y), h=some(h), gradients=[some(g) for g in gradients])
    if c is not None:
        result["c"] = some(c)
    return result


cases = [
    case("lstm", 3, 1, 1, 1), case("lstm", 5, 7, 3, 2, layers=2), case("lstm", 6, 7, 3, 5, bidirectional=True, layers=2),
    case("lstm", 4, 64, 3, 35, states=False), case("lstm", 8, 200, 3, 2, bias=False), case("lstm", 8, 256, 1, 2),
    case("lstm", 3, 7, 128, 2), case("lstm", 5, 7, 4, 6, lengths=[3, 6, 1, 5]),
    case("lstm", 5, 7, 4, 6, layers=2, bidirectional=True, lengths=[3, 6, 1, 5]),
    case("lstm", 5, 7, 4, 3, layers=2, bidirectional=True, projection=3),
    case("lstm", 5, 7, 4, 6, projection=3, lengths=[3, 6, 1, 5]),
    case("gru", 3, 1, 1, 1), case("gru", 5, 7, 3, 2, layers=2, bidirectional=True), case("gru", 4, 64, 3, 35),
    case("gru", 5, 7, 4, 6, bidirectional=True, lengths=[3, 6, 1, 5]), case("gru", 5, 7, 3, 4, bias=False, states=False),
    case("rnn", 3, 1, 1, 1), case("rnn", 5, 7, 3, 4, layers=2, bidirectional=True, relu=True), case("rnn", 4, 64, 128, 2),
    case("rnn", 5, 7, 4, 6, bidirectional=True, lengths=[3, 6, 1, 5]),
]
for kind in ("lstm", "gru", "rnn"):
    lines = ",\n".join(json.dumps(c) for c in cases if c["kind"] == kind)
    path = Path(__file__).resolve().parent / "layers" / f"{kind}_layer.golden.json"
    path.write_text('{"cases": [\n' + lines + "\n]}\n", encoding="ascii")
