#!/bin/sh
# The losses of a sample's first 20 steps are those that PyTorch has from the same weights and batches, within 1e-5 of each.
# Usage: check_curve.sh PROGRAM LOSSES FOLDER ARGUMENT...
# bench/compare_losses.py writes LOSSES from what the program leaves in FOLDER.
set -eu
program=$1 losses=$2 folder=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
"$program" --record "$folder" "$@" >"$folder/said" 2>&1 || { cat "$folder/said"; exit 1; }
paste -d' ' "$losses" "$folder/losses.txt" | awk '
    NF < 2 || NF % 2 { print "line " NR ": other numbers of losses: " $0; bad = 1; exit }
    {
        for (i = 1; i <= NF / 2; i++) {
            wanted = $i; got = $(i + NF / 2)
            difference = wanted - got
            limit = 1e-5 * (wanted < 0 ? -wanted : wanted)
            if (!(difference <= limit && -difference <= limit)) {
                print "step " NR ": " got ", not " wanted; bad = 1
            }
        }
    }
    END { if (NR != 20) { print NR " steps, not 20"; bad = 1 } exit bad }'
