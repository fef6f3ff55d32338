#!/bin/sh
# Kernels of class gpu are within their bars, as far as compilers for GPUs are installed, and the table in the build folder has a row for each.
# Usage: check_gpu_proofs.sh PYTHON GPU_PROOFS BUILD
set -u
table=$3/gpu-proofs-short.md
output=$(mktemp)
trap 'rm -f "$output"' EXIT
rm -f "$table"
"$1" "$2" "$3" --short >"$output" 2>&1
status=$?
cat "$output"
printed=$(grep -c ' registers .* occupancy ' "$output")
written=$(grep -c '^| .* % | .* | \(yes\|\*\*no\*\*\) |$' "$table") || [ "$written" = 0 ] || exit 1
[ "$printed" = "$written" ] || { echo "$table has $written kernels, and $printed were compiled"; exit 1; }
[ "$written" -gt 0 ] || grep -q '^Skipped: ' "$table" || { echo "$table does not say why it has no kernels"; exit 1; }
exit $status
