#!/bin/sh
# --csv-log of a program with a loop of its own has a line for each step, also where it goes on from a checkpoint that is older than
# the last line. A step gives some of the numbers of the header, at least one. Usage: check_csv_log.sh PROGRAM FOLDER [HEADER]
set -u
program=$1 folder=$2 header=${3-step,loss}
rm -rf "$folder"
mkdir -p "$folder"
run() {
    "$program" --csv-log "$folder/log.csv" --checkpoint "$folder/saved.safetensors" --checkpoint-every 10 --resume "$@" \
        >"$folder/out" 2>"$folder/err" || { echo "it failed: $(cat "$folder/err")"; exit 1; }
}
run --steps 10
printf '11,1\n12,1\n' >>"$folder/log.csv"
run --steps 20
# Nothing that is printed may go into the log where the standard output is closed.
"$program" --csv-log "$folder/log.csv" --checkpoint "$folder/saved.safetensors" --resume --steps 22 >&- 2>"$folder/err"
{ echo step && seq 22; } >"$folder/wanted"
cut -d, -f1 "$folder/log.csv" | diff - "$folder/wanted" || { echo "other steps: $(cat "$folder/log.csv")"; exit 1; }
[ "$(head -n 1 "$folder/log.csv")" = "$header" ] || { echo "the header is $(head -n 1 "$folder/log.csv"), not $header"; exit 1; }
awk -F, 'NR == 1 { fields = NF; next }
    { numbers = 0; for (i = 2; i <= NF; i++) numbers += $i ~ /^-?[0-9]/ }
    NF != fields || numbers == 0 { print "line " NR ": " $0; bad = 1 }
    END { exit bad }' "$folder/log.csv"
