#!/usr/bin/env python3
"""An LSTM layer beside PyTorch's, in alternation: the same sizes, in the same minutes.

usage: lstm_torch.py [--weft build/release/bin/weft] [--rounds 5] [--device cpu|cuda] [HIDDENxBATCHxSTEPS ...]
The width of the input is the hidden one, time comes first; training adds the gradients of x and of all parameters for a
given gradient of y. Each round runs `weft bench lstm` and then PyTorch with 1 and with 2 threads, of which the faster
counts; each figure is the median of a round. Prints one JSON object a size and pass: milliseconds of both by rounds, and
the median of the rounds' ratios (weft / PyTorch: below 1 is faster). --device cuda: PyTorch's layer is the vendor's, without
TF32, and Weft takes the device of WEFT_DEVICE=gpu.
"""
import argparse, json, os, statistics, subprocess, time
import torch

GRID = [f"{h}x{n}x32" for n in (1, 32, 128) for h in (128, 256, 512)]
ap = argparse.ArgumentParser()
ap.add_argument("--weft", default="build/release/bin/weft")
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--device", default="cpu")
ap.add_argument("sizes", nargs="*", default=GRID)
a = ap.parse_args()
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
environment = dict(os.environ)
if a.device != "cpu":
    environment.setdefault("WEFT_DEVICE", "gpu")


def wait():
    if a.device == "cuda":
        torch.cuda.synchronize()


def torch_ms(size, training):
    hidden, batch, steps = size
    layer = torch.nn.LSTM(hidden, hidden).to(a.device)
    x, slope = ((torch.rand(steps, batch, hidden, device=a.device) * 2 - 1) for _ in range(2))
    x.requires_grad_(training)
    times = []
    with torch.set_grad_enabled(training):
        for _ in range(9):
            wait()
            begin = time.perf_counter()
            y, _ = layer(x)
            if training:
                torch.autograd.grad(y, (x, *layer.parameters()), slope)
            wait()
            times.append(time.perf_counter() - begin)
    return statistics.median(times[2:]) * 1e3


def best_ms(size, training):
    times = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        times.append(torch_ms(size, training))
    return round(min(times), 3)


for name in a.sizes:
    size = [int(x) for x in name.split("x")]
    ours, theirs = {"forward": [], "training": []}, {"forward": [], "training": []}
    for _ in range(a.rounds):
        command = [a.weft, "bench", "lstm", "--json", name]
        for line in subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.splitlines():
            figure = json.loads(line)
            if figure["pass"] in ours:
                ours[figure["pass"]].append(figure["milliseconds"])
        for which in ours:
            theirs[which].append(best_ms(size, which == "training"))
    for which in ours:
        ratios = [x / y for x, y in zip(ours[which], theirs[which])]
        print(json.dumps({"size": name, "pass": which, "weft_ms": ours[which], "torch_ms": theirs[which],
                          "ratio": round(statistics.median(ratios), 3)}), flush=True)
