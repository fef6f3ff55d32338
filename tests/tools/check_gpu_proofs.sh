#!/bin/sh
# Kernels of GPUs compile, and keep below the bars, by the compilers that are installed. Usage: check_gpu_proofs.sh ROOT BUILD
# test compile: @source@ @build@
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 "$1/tools/gpu-proofs" "$2" --short
