#!/bin/sh
# Processes that train together save the same bits as one process with the same number of gradient shards, and print the same numbers; what goes
# wrong in one of them ends all of them with a line that names it. Usage: check_together.sh PROGRAM FOLDER [all]
#
# test.together: @train_together@ @folder@
# test.all slow: @train_together@ @folder@ all
set -eu
program=$1 folder=$2 extent=${3-some}
. "$(dirname "$0")/launch.sh"

"$program" 4 plain.safetensors >alone.txt
cp plain.safetensors alone.safetensors
[ "$(wc -l <alone.txt)" = 3 ] || fail "a run prints three epochs" alone.txt
# Plug-ins are searched beside the library, or where this is part of a program, beside that.
cp "$program" copy
if PMI_SIZE=2 ./copy 4 copy.safetensors >out 2>messages; then fail "a program without plug-ins opens a job"; fi
grep -q 'the plug-in for .* cannot be loaded .*: install' messages || fail "no line says that there is no plug-in" messages

counts=3
[ "$extent" = some ] || counts="1 2 3 4"
for processes in $counts; do
    together "$processes" 4 together.safetensors || fail "$processes processes failed" messages
    cmp -s alone.txt out || fail "$processes processes print other numbers" out
    cmp -s alone.safetensors together.safetensors || fail "$processes processes save other weights"
done

# Gradients that are exchanged in several buckets, in f32 and in bf16. Three processes have one, one and two shards.
wide() {
    export TOGETHER_IS_WIDE=1
    "$program" 4 alone.safetensors >out || fail "a wide network fails" out
    for processes in $1; do
        together "$processes" 4 together.safetensors || fail "a wide network fails in $processes processes" messages
        cmp -s alone.safetensors together.safetensors || fail "$processes processes save other weights of a wide network"
    done
    unset TOGETHER_IS_WIDE
}
export TOGETHER_ROUNDS=1
if [ "$extent" = some ]; then wide 3; else wide "2 3"; fi
unset TOGETHER_ROUNDS
cp alone.safetensors rounded.safetensors

# Each process has a part of the optimizer's state: the same weights, also if a callback of rank 1 stops two processes, and three resume.
cp plain.safetensors alone.safetensors
export TOGETHER_SHARDS_STATES=1
together 2 4 together.safetensors stop checkpoints || fail "divided states fail" messages
together 3 4 together.safetensors none checkpoints || fail "divided states cannot be resumed" messages
cmp -s alone.safetensors together.safetensors || fail "processes with divided states save other weights"
unset TOGETHER_SHARDS_STATES

# refused FAULT TEXT: two processes, of which rank 1 has a fault, end with a line that has the text.
refused() {
    if together 2 4 refused.safetensors "$1"; then fail "a run with the fault '$1' succeeds" out; fi
    grep -q "$2" messages || fail "no line says '$2' after the fault '$1'" messages
}
[ "$extent" = some ] || refused seed 'rank 1 differs from rank 0: "seed: 1" instead of "seed: 0"'
refused examples 'rank 1 differs from rank 0: "examples: 116" instead of "examples: 118"'
[ "$extent" = some ] || refused file 'rank 0: distributed: rank 1 leaves the job, but rank 0 begins a run'
[ "$extent" = some ] || refused leave 'rank 0: distributed: rank 1 leaves the job, but rank 0 begins a run'
if PMI_SIZE=2 "$program" 4 refused.safetensors >out 2>messages; then fail "a process of two trains alone"; fi
grep -q 'the launcher has started 2 processes, but' messages || fail "no line says that MPI sees one process" messages

# A loop of the program's own, in two processes.
"$mpirun" --bind-to none -n 2 "$(dirname "$program")/example_distributed" >out 2>messages || fail "the example fails" messages
[ "$(grep -c '^rank [01]: loss 0.00' out)" = 2 ] && grep -q 'the loss is below 0.01: 1' out || fail "the example prints other numbers" out

[ "$extent" = all ] || exit 0

# The examples of a shard are mixed with one another, whoever has the shard.
export TOGETHER_MIXES=1
together 1 4 alone.safetensors || fail "mixtures fail" messages
cp out alone.txt
together 3 4 together.safetensors || fail "mixtures in three processes fail" messages
cmp -s alone.txt out || fail "three processes print other numbers of mixtures" out
cmp -s alone.safetensors together.safetensors || fail "three processes save other weights after mixtures"
unset TOGETHER_MIXES

wide "2 3"
! cmp -s alone.safetensors rounded.safetensors || fail "an exchange in bf16 saves the same weights as one in f32"

# MPICH has a plug-in of its own, and exchanges the same bits.
if command -v mpirun.mpich >/dev/null && [ -e "$(dirname "$program")/../libweft-mpich.so" ]; then
    mpirun=mpirun.mpich
    "$program" 4 alone.safetensors >alone.txt
    together 2 4 together.safetensors || fail "two processes of MPICH failed" messages
    cmp -s alone.txt out || fail "two processes of MPICH print other numbers" out
    cmp -s alone.safetensors together.safetensors || fail "two processes of MPICH save other weights"
    # The launcher kills all processes as soon as one ends, but each has shown why by then.
    refused examples 'rank 0: .*rank 1 differs from rank 0: "examples: 116" instead of "examples: 118"'
    refused examples 'rank 1: .*rank 1 differs from rank 0: "examples: 116" instead of "examples: 118"'
    refused leave 'rank 0: distributed: rank 1 leaves the job, but rank 0 begins a run'
else
    echo "skipped: MPICH (mpich, libmpich-dev) is not installed, or Weft was built without its plug-in"
fi
