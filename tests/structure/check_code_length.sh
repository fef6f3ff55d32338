#!/bin/sh
# No sample is longer than 1.6 times its twin in PyTorch. Usage: check_code_length.sh ROOT
# test: @source@
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 "$1/bench/count_code.py"
