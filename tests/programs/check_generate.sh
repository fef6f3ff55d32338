#!/bin/sh
# A program writes text by the model that another one trained and saved, continues a prompt, and refuses a model of another cell.
# Usage: check_generate.sh TRAIN_TEXT GENERATE FOLDER
set -u
train=$1 program=$2 folder=$3
. "$(dirname "$0")/refusals.sh"
rm -rf "$folder"
mkdir -p "$folder" || exit 1
model=$folder/model.safetensors
"$train" --epochs 1 --length 20 --save "$model" >"$folder/said" || { cat "$folder/said"; exit 1; }
"$program" --model "$model" --prompt "Alice was " --length 20 --temperature 0.5 --seed 7 | grep '^Alice was .*[a-z]' || bad=1
"$program" --model "$model" --length 20 | grep '[a-z]' || bad=1
refused 1 "tensor 'gru." --model "$model" --cell gru
exit $bad
