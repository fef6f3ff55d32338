#!/bin/sh
# SIGINT ends a training that has no checkpoint after the step in progress, with one whole line that promises no continuation; what
# --csv-log has written is there. Usage: check_stopped.sh PROGRAM FOLDER ARGUMENT...   (a training that takes long)
set -u
program=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
"$program" --csv-log "$folder/log.csv" "$@" >"$folder/out" 2>"$folder/err" &
running=$!
waited=0
while [ "$(cat "$folder/log.csv" 2>/dev/null | wc -l)" -lt 3 ] && [ $waited -lt 1200 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
kill -INT $running
wait $running
status=$?
[ $status -eq 130 ] || { echo "status $status: $(cat "$folder/err")"; exit 1; }
grep -v '^preparing' "$folder/err" | grep -qx "$(basename "$program"): stopped by signal 2 after step [1-9][0-9]*" ||
    { echo "it says: $(cat "$folder/err")"; exit 1; }
head -n 1 "$folder/log.csv" | grep -q 'step,.*loss' || { echo "no header: $(head -n 1 "$folder/log.csv")"; exit 1; }
