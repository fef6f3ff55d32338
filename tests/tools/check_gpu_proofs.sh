#!/bin/sh
# Kernels of GPUs compile, and keep below the bars, by the compilers that are installed, and the table in the build has a row for each.
# Usage: check_gpu_proofs.sh ROOT BUILD
# test compile: @source@ @build@
set -u
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
table=$2/gpu-proofs-short.md
output=$(mktemp)
trap 'rm -f "$output"' EXIT
rm -f "$table"
python3 "$1/tools/gpu-proofs" "$2" --short >"$output" 2>&1
status=$?
cat "$output"
printed=$(grep -c ' registers .* occupancy ' "$output")
written=$(grep -c '^| .* % | .* | \(yes\|\*\*no\*\*\) |$' "$table") || [ "$written" = 0 ] || exit 1
[ "$printed" = "$written" ] || { echo "$table has $written kernels, and $printed were compiled"; exit 1; }
[ "$written" -gt 0 ] || grep -q '^Skipped: ' "$table" || { echo "$table does not say why it has no kernels"; exit 1; }
exit $status
