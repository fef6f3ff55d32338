#!/bin/sh
# A second signal ends a program at once, without the checkpoint that the first one asked for.
# Usage: check_second_signal.sh PROGRAM WORK_FOLDER ARGUMENT...   (a training that takes long)
set -u
program=$1 work=$2
shift 2
rm -rf "$work"
mkdir -p "$work"
"$program" --checkpoint "$work/checkpoints" --checkpoint-every 1 "$@" >"$work/out" 2>"$work/err" &
running=$!
waited=0
while [ -z "$(ls "$work/checkpoints"/*.safetensors 2>/dev/null)" ] && [ $waited -lt 1200 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
# Both wait while it is stopped, so the second comes before the step in progress ends.
kill -STOP $running
kill -INT $running
kill -TERM $running
kill -CONT $running
wait $running
status=$?
[ $status -eq 130 ] || [ $status -eq 143 ] || { echo "status $status: $(cat "$work/err")"; exit 1; }
! grep -q stopped "$work/err" || { echo "it did not end at once: $(cat "$work/err")"; exit 1; }
