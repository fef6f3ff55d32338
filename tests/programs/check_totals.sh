#!/bin/sh
# `weft check` finds all right, and counts the same cases as it goes, in its table and on its last line. Usage: check_totals.sh WEFT REPORT
set -u
weft=$1 report=$2
got=$("$weft" check --report "$report") || { echo "it failed: $got"; exit 1; }
last=$(echo "$got" | sed -n 's/^\([0-9]*\) of \1 cases are correct$/\1/p')
[ -n "$last" ] || { echo "not all are correct: $got"; exit 1; }
echo "$got" | grep -qx -- "-- f32: $last of $last cases" || { echo "it counts other cases than $last as it goes: $got"; exit 1; }
echo "$got" | grep -q "^f32 *$last " || { echo "the table has other cases than $last: $got"; exit 1; }
