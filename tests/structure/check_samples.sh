#!/bin/sh
# A sample is a program of at most 100 lines. Files without a number are what samples share. Usage: check_samples.sh ROOT
# test: @source@
set -eu
cd "$1/samples"
bad=0
for file in [0-9]*.c; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 100 ] || { echo "$file has $lines lines"; bad=1; }
done
exit $bad
