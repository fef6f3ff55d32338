#!/usr/bin/env python3
"""Writes lbfgs_golden.json: the paths of torch.optim.LBFGS over Rosenbrock's function and a small network.

Each case has the options, the vector of parameters at the start, and after each step the loss that the step returned and the
vector. PyTorch computes in float64, and the paths end before those of float32 leave them, PyTorch's own too. Recorded with PyTorch 2.15, whose Python runs
    python3 tests/golden/make_lbfgs_golden.py
"""
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import torch  # noqa: E402: after the line above, which keeps the tree clean

torch.set_default_dtype(torch.float64)
HIDDEN, POINTS = 6, 16


def rosenbrock(v):
    return (1 - v[0]) ** 2 + 100 * (v[1] - v[0] ** 2) ** 2


def network(v):
    """tanh layers of 2 inputs, 6 and 1 outputs: weights and biases in this order."""
    x = torch.tensor([[i % 4 - 1.5, i // 4 - 1.5] for i in range(POINTS)]) / 2
    target = torch.sin(2 * x[:, :1]) * x[:, 1:]
    w1, b1, w2, b2 = v.split([2 * HIDDEN, HIDDEN, HIDDEN, 1])
    y = torch.tanh(x @ w1.reshape(HIDDEN, 2).T + b1) @ w2.reshape(1, HIDDEN).T + b2
    return ((y - target) ** 2).mean()


def start_of_network():
    return [((7 * i) % 11 - 5) / 8 for i in range(4 * HIDDEN + 1)]


def follow(name, function, start, steps, **options):
    v = torch.tensor(start, dtype=torch.float32).double().requires_grad_(True)
    first = v.tolist()
    optimizer = torch.optim.LBFGS([v], **options)

    def closure():
        optimizer.zero_grad()
        loss = function(v)
        loss.backward()
        return loss

    path = [{"loss": optimizer.step(closure).item(), "vector": v.tolist()} for _ in range(steps)]
    state = optimizer.state[v]
    options["line_search_fn"] = options.get("line_search_fn") or "none"
    return {"name": name, "start": first, "options": options, "path": path, "evaluations": state["func_evals"],
            "iterations": state["n_iter"]}


WOLFE = {"line_search_fn": "strong_wolfe"}
cases = [
    follow("rosenbrock", rosenbrock, [-1.2, 1.0], 8, max_iter=4, **WOLFE),
    follow("rosenbrock", rosenbrock, [-1.2, 1.0], 3, max_iter=40, max_eval=7, history_size=3, **WOLFE),
    follow("rosenbrock", rosenbrock, [0.5, 2.0], 6, max_iter=3, lr=0.01),
    follow("network", network, start_of_network(), 8, max_iter=3, **WOLFE),
    follow("network", network, start_of_network(), 4, max_iter=5, history_size=4, **WOLFE),
    follow("network", network, start_of_network(), 6, max_iter=2, lr=0.25),
]
path = Path(__file__).resolve().parent / "lbfgs_golden.json"
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n", encoding="ascii")
