"""Compares gradients of networks that PyTorch's two exporters write with PyTorch's own.

    python3 tests/onnx/export_gradients.py PROGRAM FOLDER [PATTERN...]

PROGRAM is gradients_of_file, FOLDER gets the files. The networks are those of export_networks.py, with weights that all differ, so that no
exporter merges two. A gradient is compared where the file has the parameter, or its transpose, with the same numbers: the exporters fold
some constants together, such as a convolution and the norm behind it. Exit status: 0: all are within 1e-3 of the largest element.
"""
import fnmatch
import logging
import os
import shutil
import subprocess
import sys
import warnings

import numpy
import onnx
import torch

import export_networks

LEFT_OUT = {"rnn_dynamo": ("scan.bias_hh_l0", "the exporter computes the first step, whose state is zero, from it, and stores the result")}
BOUND, LEAST = 1e-3, 1e-6  # gradients whose largest element is below LEAST are zero but for rounding


def exported(make, inputs, dynamo, folder):
    """The network whose weights are in FOLDER/model.onnx, or None if the exporter does not take it."""
    torch.manual_seed(5)
    network = make().eval()
    export_networks.liven(network)
    for parameter in network.parameters():
        parameter.data = parameter.data + 0.02 * torch.randn_like(parameter)
    try:
        export_networks.export(os.path.join(folder, "model.onnx"), network, inputs, dynamo, None)
    except torch.onnx.errors.OnnxExporterError:
        return None
    return network


def of_pytorch(network, inputs):
    outputs = network(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum(output.square().mean() for output in outputs if output.dtype == torch.float32).backward()
    used = list(network.parameters())
    return [(p.detach().numpy(), p.grad.numpy()) for p in used if p.grad is not None]


def of_weft(program, inputs, folder):
    """The gradients by name."""
    paths = [os.path.join(folder, f"input{i}.npy") for i in range(len(inputs))]
    for path, tensor in zip(paths, inputs):
        numpy.save(path, tensor.numpy())
    subprocess.run([program, os.path.join(folder, "model.onnx"), folder, *paths], check=True)
    with open(os.path.join(folder, "names"), encoding="utf-8") as file:
        return {name: numpy.load(os.path.join(folder, f"{i}.npy")) for i, name in enumerate(file.read().split("\n")[:-1])}


def expected(stored, pytorch):
    """PyTorch's gradient of the parameter with these numbers; None: there is not exactly one."""
    found = [g for value, g in pytorch if value.shape == stored.shape and numpy.array_equal(value, stored)]
    found += [g.T for value, g in pytorch if value.ndim == 2 and value.T.shape == stored.shape and numpy.array_equal(value.T, stored)]
    return found[0] if len(found) == 1 else None


def compare(name, folder, pytorch, weft):
    """The numbers of gradients that are right, and that are wrong."""
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(os.path.join(folder, "model.onnx")).graph.initializer}
    alike = {n: [m for m, v in stored.items() if v.T.shape == stored[n].shape and numpy.array_equal(v.T, stored[n])] for n in stored}
    counts = [0, 0]
    left_out, reason = LEFT_OUT.get(name, (None, None))
    for parameter, gradient in weft.items():
        if parameter == left_out:
            print(f"{name}: the gradient of {parameter} is left out: {reason}")
            continue
        # A parameter that two layers share is there twice if one layer needs its transpose; each then has a part of the gradient.
        if parameter not in stored or (stored[parameter].ndim > 1 and set(alike[parameter]) - {parameter}):
            continue
        wanted = expected(stored[parameter], pytorch)
        largest = 0 if wanted is None else numpy.abs(wanted).max()
        if largest < LEAST:
            continue
        error = numpy.abs(gradient - wanted).max() / largest
        counts[bool(error > BOUND)] += 1
        if error > BOUND:
            print(f"{name}: the gradient of {parameter} differs by {error:.1e} of its largest element")
    return counts


def main():
    program, root, patterns = sys.argv[1], sys.argv[2], sys.argv[3:] or ["*"]
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    right = wrong = networks = 0
    for name, (make, inputs, _) in export_networks.NETWORKS.items():
        for dynamo in (False, True):
            folder = os.path.join(root, f"{name}_{'dynamo' if dynamo else 'trace'}")
            if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                continue
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            network = exported(make, inputs, dynamo, folder)
            if not network:
                print(f"{name}: left out, as the exporter does not take it")
                continue
            counts = compare(os.path.basename(folder), folder, of_pytorch(network, inputs), of_weft(program, inputs, folder))
            right, wrong, networks = right + counts[0], wrong + counts[1], networks + 1
    print(f"gradients of {networks} files: {right} right, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
