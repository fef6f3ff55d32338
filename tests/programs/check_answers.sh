#!/bin/sh
# train_digits --answers writes the class that the network reads in each test image, of which tools/draw-digits makes a picture for the
# README: well-formed, small, with a point of the curve for each epoch, ten digits and more. Usage: check_answers.sh PROGRAM ROOT WORK_DIR
set -eu
program=$1 root=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
"$program" --model mlp --epochs 3 --answers "$work/answers.npy" >"$work/log"
right=$(awk '/^epoch +3/ { print $9 }' "$work/log")
python3 - "$work/answers.npy" "$root/data/digits/t10k-labels-idx1-ubyte" "$right" <<'END'
import struct, sys
answers, labels = open(sys.argv[1], "rb").read(), open(sys.argv[2], "rb").read()[8:]
answers = struct.unpack(f"<{len(labels)}i", answers[-4 * len(labels):])
percent = 100 * sum(a == b for a, b in zip(answers, labels)) / len(labels)
if abs(percent - float(sys.argv[3])) > 0.01:
    sys.exit(f"{percent} % of the answers are right, but the log says {sys.argv[3]} %")
END
"$root/tools/draw-digits" "$work/log" "$work/answers.npy" >"$work/digits.svg"
python3 - "$work/digits.svg" "$root/docs/digits.svg" <<'END'
import os, sys, xml.etree.ElementTree as tree
for path, epochs in (sys.argv[1], 3), (sys.argv[2], 20):
    nodes = list(tree.parse(path).iter())
    said = [node.text for node in nodes if node.get("class", "").endswith("said")]
    points = [len(node.get("points").split()) for node in nodes if node.tag.endswith("polyline")]
    if len(said) < 10 or points != [epochs] or os.path.getsize(path) > 60000:
        sys.exit(f"{path}: {len(said)} digits, points {points}, {os.path.getsize(path)} bytes")
END
