#!/bin/sh
# Files that Weft saves are right for ONNX's checker, and ONNX Runtime computes with them what PyTorch or Weft computes.
# Usage: check_onnx_save.sh ROOT PROGRAM FOLDER, where the program is test_onnx_save. $WEFT_ONNX_PYTHON is a Python with onnx and onnxruntime;
# default python3.
# test slow: @source@ @test_onnx_save@ @folder@
set -u
root=$1 program=$2 folder=$3
python=${WEFT_ONNX_PYTHON:-python3}
"$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null ||
    { echo "skipped: $python has no numpy, onnx or onnxruntime, which are needed to run the files"; exit 77; }
rm -rf "$folder"
for opset in 17 20 21 23; do
    mkdir -p "$folder/$opset" || exit 1
    "$program" "$folder/$opset" $opset || exit 1
    "$python" "$root/tests/onnx/run_saved.py" "$folder/$opset" || exit 1
done
