#!/usr/bin/env python3
"""How long the samples are beside their twins in PyTorch (bench/programs), in characters of code.

usage: count_code.py [SAMPLE]...
Whole files are counted, options, reports and drawing included, without comments, docstrings, white space, includes and
imports. Not counted, on either side: what programs share. In C that is the files of samples/ without a number except those
that are listed below, in Python bench/programs/program_support.py; both have the digits, the words, the pole on the cart, the
loop with its checkpoints and its options. Fails where a sample is longer than 1.6 times its twin.
"""

import ast
import re
import sys
from pathlib import Path

LIMIT = 1.6
root = Path(__file__).resolve().parent.parent
# A sample's own headers.
HEADERS = {
    "dcgan": ["digit_generator.h"],
    "detector": ["scenes.h"],
    "gpt": ["gpt_model.h"],
    "llama": ["llama_model.h"],
    "ppo": ["rollout.h"],
    "wgan_gp": ["digit_generator.h"],
}


def c_length(path):
    code = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    code = re.sub(r"^\s*#\s*include.*", "", code, flags=re.M)
    return len(re.sub(r"\s", "", code))


def is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def python_length(path):
    text = path.read_text()
    left_out = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_docstring(node):
            left_out.update(range(node.lineno, node.end_lineno + 1))
    lines = [line for number, line in enumerate(text.splitlines(), 1) if number not in left_out]
    code = re.sub(r"^\s*#.*|\s\s#\s.*", "", "\n".join(lines), flags=re.M)
    return len(re.sub(r"\s", "", code))


def main():
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    twins = sorted(path.stem for path in (root / "bench/programs").glob("*.py") if path.stem != "program_support")
    bad = not twins
    for name in sys.argv[1:] or twins:
        (sample,) = (root / "samples").glob(f"[0-9][0-9]_{name}.c")
        ours = c_length(sample) + sum(c_length(root / "samples" / header) for header in HEADERS.get(name, []))
        theirs = python_length(root / "bench/programs" / f"{name}.py")
        print(f"{name:10} {ours:5} {theirs:5} {ours / theirs:.2f}")
        bad = bad or ours > LIMIT * theirs
    sys.exit(bad)


if __name__ == "__main__":
    main()
