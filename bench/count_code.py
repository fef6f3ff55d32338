#!/usr/bin/env python3
"""How long the samples are beside their twins in PyTorch (samples_torch.py), in characters of code.

usage: count_code.py [SAMPLE]...
Counted on both sides: networks, losses, optimizers, steps and the loop, without comments and white space. Not counted, since
the other side has none of it: includes, the table of options, main, drawing of batches, what traces and prints, and the twins'
reading of traces.
"""
import ast, re, sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent
# Of each sample the files that are its own, and the functions and types in them that have a counterpart.
SAMPLES = {
    "vae": (["16_vae.c"], ["vae", "decoder", "make", "train"], []),
    "dcgan": (["17_dcgan.c", "digit_generator.h"], ["gan", "digit_generator", "discriminator", "make", "train"],
              ["digit_generator"]),
    "wgan_gp": (["18_wgan_gp.c", "digit_generator.h"], ["gan", "digit_generator", "critic", "make", "train"],
                ["digit_generator"]),
    "unet": (["19_unet.c"], ["unet", "twice", "make", "train"], []),
}


REPORTS = (r"(if \([^;]*?\)\s*)?\b(printf|trace_step|draw_digits)\([^;]*;( break;)?"
           r"|if \(!draw_\w+\([^;]*break;")


def c_length(files, names):
    code = "\n".join((root / "samples" / file).read_text() for file in files)
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    total = 0
    for name in names:
        function = rf"static [^;{{}}]*\b{name}\([^;]*\{{.*?^\}}"
        found = re.search(rf"^({function}|typedef struct {name} \{{.*?^\}}[^\n]*)", code, re.S | re.M)
        if not found:
            sys.exit(f"{files}: no {name}")
        counted = re.sub(REPORTS, "", found.group(1))
        total += len(re.sub(r"\s", "", counted))
    return total


def python_length(names):
    tree = ast.parse((root / "bench/samples_torch.py").read_text())
    functions = {node.name: re.sub(r"t\.(take|load)\([^\n]*", "", ast.unparse(node))
                 for node in tree.body if isinstance(node, ast.FunctionDef)}
    return sum(len(re.sub(r"\s", "", functions[name])) for name in names)


for sample in sys.argv[1:] or SAMPLES:
    files, names, shared = SAMPLES[sample]
    ours, theirs = c_length(files, names), python_length([sample, "step", *shared])
    print(f"{sample:8} {ours:5} {theirs:5} {ours / theirs:.2f}")
