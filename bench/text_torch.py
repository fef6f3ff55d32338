#!/usr/bin/env python3
"""Peer side of `train_text` at the level of characters, in PyTorch: the same network, windows, order and epochs.

usage: text_torch.py --data FILE [--epochs 20] [--seed 0] [--threads N]
Embedding 64, an LSTM of 2 x 128, a linear layer; Adam 3e-3; 16 streams of 32 steps with the state carried from window
to window; the last tenth of the text is for validation, its best epoch counts.
Prints one JSON object: epochs, best_epoch, seconds, step_ms (median), validation_loss.
"""
import argparse, json, os, statistics, time
import torch
import torch.nn as nn
import torch.nn.functional as F

STREAMS, STEPS, EMBEDDING, HIDDEN, LAYERS = 16, 32, 64, 128, 2
ap = argparse.ArgumentParser()
ap.add_argument("--data", required=True)
ap.add_argument("--epochs", type=int, default=20)
ap.add_argument("--seed", type=int, default=0)
ap.add_argument("--threads", type=int, default=os.cpu_count())
a = ap.parse_args()
torch.set_num_threads(a.threads)
torch.manual_seed(a.seed)


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = nn.Embedding(size, EMBEDDING)
        self.lstm = nn.LSTM(EMBEDDING, HIDDEN, LAYERS, batch_first=True)
        self.out = nn.Linear(HIDDEN, size)

    def forward(self, tokens, state):
        y, state = self.lstm(self.table(tokens), state)
        return self.out(y).flatten(0, 1), state


def windows(tokens):
    """(windows, streams, steps) of the tokens, and of those that follow each."""
    count = (len(tokens) - 1) // STEPS // STREAMS
    cut = lambda t: t[:count * STREAMS * STEPS].view(STREAMS, count, STEPS).transpose(0, 1).contiguous()
    return cut(tokens), cut(tokens[1:])


def state():
    return tuple(torch.zeros(LAYERS, STREAMS, HIDDEN) for _ in range(2))


text = open(a.data, encoding="utf-8", newline="").read()
places = {letter: i for i, letter in enumerate(dict.fromkeys(text))}
tokens = torch.tensor([places[letter] for letter in text])
held = (len(tokens) - 1) // 10  # as train_text counts: the last token only follows
training, validation = windows(tokens[:len(tokens) - 1 - held]), windows(tokens[len(tokens) - 1 - held:-1])
model = Model(len(places))
adam = torch.optim.Adam(model.parameters(), 3e-3)
best, best_epoch, steps, start = float("inf"), 0, [], time.perf_counter()
for epoch in range(a.epochs):
    carried = state()
    for x, y in zip(*training):
        began = time.perf_counter()
        adam.zero_grad(set_to_none=True)
        logits, carried = model(x, tuple(s.detach() for s in carried))
        F.cross_entropy(logits, y.flatten()).backward()
        adam.step()
        steps.append(time.perf_counter() - began)
    carried, losses = state(), []
    with torch.no_grad():
        for x, y in zip(*validation):
            logits, carried = model(x, carried)
            losses.append(F.cross_entropy(logits, y.flatten()).item())
    loss = sum(losses) / len(losses)
    if loss < best:
        best, best_epoch = loss, epoch + 1
print(json.dumps(dict(epochs=a.epochs, best_epoch=best_epoch, seconds=round(time.perf_counter() - start, 3),
                      step_ms=round(statistics.median(steps) * 1e3, 4), validation_loss=round(best, 5))))
