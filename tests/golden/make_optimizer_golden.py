#!/usr/bin/env python3
"""Writes optimizer_golden.json: what PyTorch's optimizers and schedulers do in 50 runs, in float64.

The loss is the mean over a batch of two of sum((p - x)^2) / 2 for two parameters p (17) and q (2, 9);
tests/nn/test_optimizer_golden.c builds the same. LAMB (You et al. 2020) and Lion (Chen et al. 2023) are not in
PyTorch and stand here as their papers' algorithms; NAdam stands here, too. Made with PyTorch 1.13 of Debian 12:
    /usr/bin/python3 tests/golden/make_optimizer_golden.py > tests/golden/optimizer_golden.json
"""
import json
import warnings

import torch
from torch.optim import lr_scheduler

warnings.filterwarnings("ignore")
RUNS, RECORDED = 50, (1, 10, 50)
FIRST, SECOND = 17, 18
SIZE = FIRST + SECOND


class Lamb(torch.optim.Optimizer):
    """Algorithm 2, with the identity for phi; the quotient is 1 where a norm is 0."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["t"] += 1
                state["m"] = beta1 * state["m"] + (1 - beta1) * p.grad
                state["v"] = beta2 * state["v"] + (1 - beta2) * p.grad**2
                m, v = state["m"] / (1 - beta1 ** state["t"]), state["v"] / (1 - beta2 ** state["t"])
                step = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p
                norm, length = p.norm(), step.norm()
                p -= group["lr"] * (norm / length if norm > 0 and length > 0 else 1.0) * step


class NAdam(torch.optim.Optimizer):
    """Dozat 2016 as PyTorch has it from 2.0 on; 1.13 multiplies the momenta's product by one factor twice."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=0.004):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, psi=momentum_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p), product=1.0)
                state["t"] += 1
                g = p.grad + group["weight_decay"] * p
                mu, after = (beta1 * (1 - 0.5 * 0.96 ** (t * group["psi"])) for t in (state["t"], state["t"] + 1))
                state["product"] *= mu
                state["m"] = beta1 * state["m"] + (1 - beta1) * g
                state["v"] = beta2 * state["v"] + (1 - beta2) * g**2
                root = (state["v"] / (1 - beta2 ** state["t"])).sqrt() + group["eps"]
                p -= group["lr"] * (1 - mu) / (1 - state["product"]) * g / root
                p -= group["lr"] * after / (1 - state["product"] * after) * state["m"] / root


class Lion(torch.optim.Optimizer):
    """Program 1 of the paper."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                step = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p -= group["lr"] * (step + group["weight_decay"] * p)
                self.state[p]["m"] = beta2 * m + (1 - beta2) * p.grad


CLASSES = {
    "SGD": torch.optim.SGD, "Adam": torch.optim.Adam, "AdamW": torch.optim.AdamW, "NAdam": NAdam,
    "RMSprop": torch.optim.RMSprop, "Adagrad": torch.optim.Adagrad, "Adadelta": torch.optim.Adadelta,
    "LAMB": Lamb, "Lion": Lion}
# The fields of weft_optimizer and PyTorch's names; rho is RMSprop's alpha.
NAMES = {
    "rate": "lr", "momentum": "momentum", "weight_decay": "weight_decay", "epsilon": "eps", "rho": "rho",
    "dampening": "dampening", "rate_decay": "lr_decay", "first_sum": "initial_accumulator_value",
    "momentum_decay": "momentum_decay", "nesterov": "nesterov", "centered": "centered", "amsgrad": "amsgrad"}


def numbers(tensor):
    return [float(f"{x:.9g}") for x in tensor.detach().tolist()]


def data(t):
    """The two examples of run t (from 1)."""
    first = [((i * 5 + t * 3) % 7) * 0.5 for i in range(SIZE)]
    second = [i * 0.25 for i in range(SIZE)]
    return torch.tensor([first, second], dtype=torch.float64)


def arguments(kind, fields):
    result = {NAMES[name]: value for name, value in fields.items() if name in NAMES}
    if kind == "RMSprop" and "rho" in result:
        result["alpha"] = result.pop("rho")
    if "beta1" in fields:
        result["betas"] = (fields["beta1"], fields["beta2"])
    if kind == "AdamW":
        result.setdefault("weight_decay", 0.0)
    return result


def follow(kind, fields):
    start = torch.tensor([1 + i / 8 if i < FIRST else -2.0625 + (i - FIRST) / 4 for i in range(SIZE)],
                         dtype=torch.float64)
    parameters = {"p": start[:FIRST].clone(), "q": start[FIRST:].clone()}
    groups = {g["parameters"]: g for g in fields.get("groups", [])}
    lists = []
    for name, p in parameters.items():
        p.requires_grad_(name != fields.get("frozen"))
        group = {"params": [p]}
        if name in groups:
            group["lr"] = fields["rate"] * groups[name]["rate_factor"]
            group["weight_decay"] = groups[name]["weight_decay"]
        if p.requires_grad:
            lists.append(group)
    trained = [p for group in lists for p in group["params"]]
    optimizer = CLASSES[kind](lists, **arguments(kind, fields))
    every = fields.get("accumulate", 1)
    average = None
    recorded = {}
    for t in range(1, RUNS + 1):
        x = data(t)
        loss = sum(((p - y) ** 2).sum(1).mean() / 2
                   for p, y in ((parameters["p"], x[:, :FIRST]), (parameters["q"], x[:, FIRST:])))
        (loss / every).backward()
        if t % every == 0:
            if "clip_value" in fields:
                torch.nn.utils.clip_grad_value_(trained, fields["clip_value"])
            if "clip_norm" in fields:
                torch.nn.utils.clip_grad_norm_(trained, fields["clip_norm"])
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            flat = torch.cat([p.detach() for p in parameters.values()])
            keep = fields.get("average_decay", 0)
            average = flat.clone() if average is None else keep * average + (1 - keep) * flat
        if t in RECORDED:
            recorded[str(t)] = numbers(torch.cat(list(parameters.values())))
    case = {"kind": kind, **fields, "values": recorded}
    if "average_decay" in fields:
        case["average"] = numbers(average)
    return case


BETAS = {"beta1": 0.9, "beta2": 0.999}
UNUSUAL = {"beta1": 0.5, "beta2": 0.75}
ADAM = {"rate": 0.05, **BETAS, "epsilon": 1e-8}
RMSPROP = {"rate": 0.01, "rho": 0.99, "epsilon": 1e-8}
LION = {"rate": 0.03, "beta1": 0.9, "beta2": 0.99}
GROUPS = [{"parameters": "q", "rate_factor": 0.25, "weight_decay": 0.5}]
EVERYTHING = {"clip_value": 1.5, "clip_norm": 2.0, "accumulate": 3, "average_decay": 0.9}
CASES = [
    ("SGD", {"rate": 0.1}),
    ("SGD", {"rate": 0.1, "momentum": 0.9}),
    ("SGD", {"rate": 0.1, "weight_decay": 0.3, "momentum": 0.8, "dampening": 0.5}),
    ("SGD", {"rate": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("Adam", ADAM),
    ("Adam", {"rate": 0.05, **UNUSUAL, "epsilon": 0.1, "weight_decay": 0.2, "amsgrad": True}),
    ("AdamW", {**ADAM, "weight_decay": 0.1}),
    ("AdamW", {**ADAM, **UNUSUAL, "weight_decay": 0.1, "amsgrad": True}),
    ("NAdam", {**ADAM, "momentum_decay": 0.004}),
    ("NAdam", {"rate": 0.02, **UNUSUAL, "epsilon": 1e-3, "momentum_decay": 0.1, "weight_decay": 0.2}),
    ("RMSprop", RMSPROP),
    ("RMSprop", {**RMSPROP, "rho": 0.9, "epsilon": 0.01, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {"rate": 0.1, "epsilon": 1e-10}),
    ("Adagrad", {"rate": 0.1, "epsilon": 0.1, "rate_decay": 0.05, "first_sum": 0.5, "weight_decay": 0.1}),
    ("Adadelta", {"rate": 1.0, "rho": 0.9, "epsilon": 1e-6}),
    ("Adadelta", {"rate": 0.5, "rho": 0.5, "epsilon": 0.01, "weight_decay": 0.1}),
    ("LAMB", {"rate": 0.02, **BETAS, "epsilon": 1e-6}),
    ("LAMB", {"rate": 0.02, **UNUSUAL, "epsilon": 1e-3, "weight_decay": 0.1}),
    ("Lion", LION),
    ("Lion", {**LION, "weight_decay": 0.2}),
    ("SGD", {"rate": 0.1, "groups": GROUPS}),
    ("SGD", {"rate": 0.1, "momentum": 0.5, "frozen": "p", "weight_decay": 0.1}),
    ("SGD", {"rate": 0.1, "clip_norm": 1e3, "accumulate": 2}),
    ("AdamW", {**ADAM, "weight_decay": 0.01, "groups": GROUPS, **EVERYTHING}),
    ("Adam", {**ADAM, "frozen": "q", "amsgrad": True, "weight_decay": 0.1, **EVERYTHING}),
    ("LAMB", {"rate": 0.02, **BETAS, "epsilon": 1e-6, "weight_decay": 0.01, "groups": GROUPS, **EVERYTHING}),
    ("NAdam", {**ADAM, "momentum_decay": 0.004, "accumulate": 7}),
]

BASE = 0.5


def rates(fields, make, warmup=0, start=1.0):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=BASE)
    main = make(optimizer)
    scheduler = main
    if warmup:
        first = lr_scheduler.LinearLR(optimizer, start_factor=start, total_iters=warmup)
        scheduler = lr_scheduler.SequentialLR(optimizer, [first, make(optimizer)], milestones=[warmup])
        # PyTorch 1.13 lets the second scheduler's constructor move the rate: LinearLR's first factor is set again.
        optimizer.param_groups[0]["lr"] = BASE * start
    result = []
    for _ in range(RUNS):
        result.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    case = {**fields, "rates": result}
    if warmup:
        case.update(warmup=warmup, warmup_start=start)
    return case


LOSSES = [2.0, 1.5, 1.4999, 1.6, 1.2, 1.3, 1.25, 1.21, 1.1, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 0.9, 0.9, 0.9, 0.9,
          0.9, 0.9, 0.9, 0.9, 0.95, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6] + [0.6] * 20


def plateau(fields, **parameters):
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=BASE)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, **parameters)
    result = []
    for loss in LOSSES:
        scheduler.step(loss)
        result.append(optimizer.param_groups[0]["lr"])
    return {**fields, "kind": "plateau", "losses": LOSSES, "rates": result}


def one_cycle(period, **parameters):
    return lambda o: lr_scheduler.OneCycleLR(o, BASE, total_steps=period, cycle_momentum=False, **parameters)


STEP = ({"kind": "step", "period": 7, "factor": 0.3}, lambda o: lr_scheduler.StepLR(o, 7, 0.3))
COSINE = ({"kind": "cosine", "period": 40, "floor": 0.01}, lambda o: lr_scheduler.CosineAnnealingLR(o, 40, 0.01))
SCHEDULES = [
    rates(*STEP),
    rates({"kind": "multi_step", "milestones": [3, 11, 11, 40], "factor": 0.5},
          lambda o: lr_scheduler.MultiStepLR(o, [3, 11, 11, 40], 0.5)),
    rates({"kind": "exponential", "factor": 0.95}, lambda o: lr_scheduler.ExponentialLR(o, 0.95)),
    rates(*COSINE),
    rates({"kind": "cosine", "period": 20, "floor": 0.0}, lambda o: lr_scheduler.CosineAnnealingLR(o, 20)),
    rates({"kind": "cosine_restarts", "period": 5, "period_factor": 2, "floor": 0.02},
          lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 5, 2, 0.02)),
    rates({"kind": "cosine_restarts", "period": 8, "period_factor": 1, "floor": 0.0},
          lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 8)),
    rates({"kind": "one_cycle", "period": 51, "rise": 0.3, "divisor": 25, "end_divisor": 1e4}, one_cycle(51)),
    rates({"kind": "one_cycle", "period": 51, "rise": 0.45, "divisor": 10, "end_divisor": 100},
          one_cycle(51, pct_start=0.45, div_factor=10, final_div_factor=100)),
    rates({"kind": "polynomial", "period": 30, "power": 1.0}, lambda o: lr_scheduler.PolynomialLR(o, 30, 1.0)),
    rates({"kind": "polynomial", "period": 60, "power": 2.5}, lambda o: lr_scheduler.PolynomialLR(o, 60, 2.5)),
    rates(*STEP, warmup=5, start=0.1),
    rates({"kind": "exponential", "factor": 0.95}, lambda o: lr_scheduler.ExponentialLR(o, 0.95), 10, 0.5),
    plateau({"factor": 0.1, "patience": 3, "threshold": 1e-4}, patience=3),
    plateau({"factor": 0.5, "patience": 1, "threshold": 0.1, "cooldown": 2, "floor": 0.05}, factor=0.5, patience=1,
            threshold=0.1, cooldown=2, min_lr=0.05),
]


def main():
    torch.set_num_threads(1)
    cases = [follow(kind, fields) for kind, fields in CASES]
    lines = ["%s: [\n%s\n]" % (json.dumps(name), ",\n".join(json.dumps(c) for c in items))
             for name, items in (("optimizers", cases), ("schedules", SCHEDULES))]
    print('{"pytorch": "%s", "base": %g,\n%s}' % (torch.__version__, BASE, ",\n".join(lines)))


main()
