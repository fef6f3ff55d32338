#!/bin/sh
# The demo keeps its promise: train_digits reaches an accuracy. Usage: check_accuracy.sh PROGRAM MODEL EPOCHS LEAST
set -eu
result=$("$1" --model "$2" --epochs "$3" --json | tail -n 1)
echo "$result"
accuracy=$(echo "$result" | sed -n 's/.*"test_accuracy": *\([0-9.]*\).*/\1/p')
[ -n "$accuracy" ] || { echo "the last line has no test_accuracy"; exit 1; }
awk -v got="$accuracy" -v least="$4" 'BEGIN { exit !(got >= least && got <= 1) }'
