#!/usr/bin/env python3
"""Peer side of `weft bench seven --inference`: networks of seven_torch.py, predicted by ONNX Runtime on the CPU.

Each network is exported to ONNX with the batch size asked for, opened with ONNX Runtime's defaults (all of its graph
optimisations), and run on one random input. The input is in host memory already, the result is returned there.
Needs torch, onnx and onnxruntime.

usage: predict_onnxruntime.py [--only NAME] [--batch N] [--steps N] [--threads N]
Prints one line a network and batch: NAME BATCH median_ms ms median min_ms ms min
"""
import argparse
import io
import os
import statistics
import sys
import time
import warnings

USUAL = ("AlexNet-S", "ResNet-50", "LSTM")
WARM_UP = 3


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", help="this network; else AlexNet-S, ResNet-50 and LSTM")
    parser.add_argument("--batch", type=int, help="else 1 and 32")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    return parser.parse_args()


def definitions():
    """The networks of seven_torch.py: all that it defines before it begins to measure."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seven_torch.py")
    with open(path) as file:
        text = file.read().partition("\nfor name, (batch, make")[0]
    names = {}
    given, sys.argv = sys.argv, [path]
    exec(compile(text, path, "exec"), names)
    sys.argv = given
    return {**names["NETS"], **names["MORE"]}


def open_session(network, x, threads):
    import onnxruntime
    import torch
    model = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (x,), model, dynamo=False, input_names=["x"])
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.getvalue(), settings, providers=["CPUExecutionProvider"])


def measure(session, x, steps):
    times = []
    for step in range(WARM_UP + steps):
        begin = time.perf_counter()
        session.run(None, {"x": x})
        if step >= WARM_UP:
            times.append(1e3 * (time.perf_counter() - begin))
    return times


def main():
    given = options()
    networks = definitions()
    import torch
    for name in [given.only] if given.only else USUAL:
        if name not in networks:
            raise SystemExit(f"no network {name}; there are {', '.join(networks)}")
        _, make, shape, classes = networks[name]
        network = make().eval()
        for batch in [given.batch] if given.batch else (1, 32):
            size = (batch, *shape)
            x = torch.randint(classes, size) if name == "LSTM" else torch.randn(size)
            times = measure(open_session(network, x, given.threads), x.numpy(), given.steps)
            print(f"{name:12s} {batch:5d} {statistics.median(times):10.2f} ms median {min(times):10.2f} ms min",
                  flush=True)


main()
