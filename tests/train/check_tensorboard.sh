#!/bin/sh
# TensorBoard's own reader finds in event files what was written, of a loop, of a trainer, and of a training that was resumed
# at an earlier checkpoint. Usage: check_tensorboard.sh ROOT EXAMPLE TRAIN_DIGITS FOLDER. $WEFT_TENSORBOARD_PYTHON is a Python
# with tensorboard, as tools/tensorboard-environment makes it; default python3.
# test slow: @source@ @example_events@ @train_digits@ @folder@
set -u
root=$1 example=$2 digits=$3 folder=$4
python=${WEFT_TENSORBOARD_PYTHON:-python3}
"$python" -c 'import tensorboard' 2>/dev/null ||
    { echo "skipped: $python has no tensorboard, whose reader is needed; see tools/tensorboard-environment"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder" || exit 1
train() {
    "$digits" --model mlp --events "$folder/resumed" --checkpoint "$folder/saved" "$@" >"$folder/out" || exit 1
}
"$example" "$folder" || exit 1
train --epochs 2
rm "$folder/saved/step-0000000090.safetensors" || exit 1
train --epochs 3 --resume
"$python" "$root/tests/train/read_tensorboard.py" "$folder"
