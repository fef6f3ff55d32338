#!/bin/sh
# --precision changes what a program computes, and what it computes is the same from run to run.
# Usage: check_precisions.sh PROGRAM WORK_FOLDER [ARGUMENT...]; the program has --save.
set -u
program=$1 work=$2
shift 2
rm -rf "$work"
mkdir -p "$work"
for precision in f32 bf16 f16; do
    for run in one two; do
        "$program" "$@" --precision $precision --save "$work/$precision.$run" >"$work/told" || exit 1
    done
    cmp "$work/$precision.one" "$work/$precision.two" || { echo "$precision: other weights in a second run"; exit 1; }
done
for pair in "f32 bf16" "f32 f16" "bf16 f16"; do
    set -- $pair
    cmp -s "$work/$1.one" "$work/$2.one" && { echo "$1 and $2: the same weights"; exit 1; }
done
exit 0
