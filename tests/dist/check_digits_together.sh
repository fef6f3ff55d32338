#!/bin/sh
# train_digits trains the same digits with two processes as with one: it saves the same bits, and only the first process prints.
# Usage: check_digits_together.sh PROGRAM FOLDER
#
# test.digits slow: @train_digits@ @folder@
set -eu
program=$1 folder=$2
. "$(dirname "$0")/launch.sh"

set -- --model mlp --epochs 2 --gradient-shards 4
together 1 "$@" --save one.safetensors || fail "one process fails" messages
together 2 "$@" --save two.safetensors || fail "two processes fail" messages
cmp one.safetensors two.safetensors
[ "$(grep -c '^epoch' out)" = 2 ] || fail "more than one process prints" out
if together 2 "$@" --batch 30; then fail "a batch of 30 is divided by 4" out; fi
grep -q 'a batch of 30 examples cannot be divided into 4 gradient shards' messages || fail "no line says why" messages
