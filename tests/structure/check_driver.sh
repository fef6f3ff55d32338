#!/bin/sh
# Each call of OpenCL is refused in a child of fork(): the file that calls it includes cl/driver.h, which has a row for the function.
# The program weft-compile (src/cl/process) never forks.
# Usage: check_driver.sh ROOT
# test: @source@
set -eu
cd "$1"
gate=src/cl/driver.h
[ -f "$gate" ] || { echo "there is no $gate"; exit 1; }
set -- $(find src -name '*.[ch]' ! -path "$gate" ! -path "src/cl/process/*" | LC_ALL=C sort)
[ $# -gt 0 ] || { echo "no sources"; exit 1; }
awk -v gate="$gate" '
BEGIN { while ((getline line < gate) > 0) if (match(line, /^#define cl[A-Z][A-Za-z]*\(/)) row[substr(line, 9, RLENGTH - 9)] = 1 }
FNR == 1 { gated = 0; comment = 0 }
/^#include "cl\/driver.h"/ { gated = 1 }
{
    text = $0
    gsub(/"([^"\\]|\\.)*"/, "", text)
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "", text)
    if (comment && !sub(/^.*\*\//, "", text)) next
    comment = sub(/\/\*.*$/, "", text)
    while (match(text, /(^|[^A-Za-z0-9_])cl[A-Z][A-Za-z]*[ \t]*\(/)) {
        name = substr(text, RSTART, RLENGTH)
        gsub(/[^A-Za-z]/, "", name)
        text = substr(text, RSTART + RLENGTH)
        if (!gated) { print FILENAME ":" FNR ": calls " name ", but does not include cl/driver.h"; bad = 1 }
        if (!(name in row)) { print FILENAME ":" FNR ": calls " name ", which has no row in " gate; bad = 1 }
    }
}
END { exit bad }' "$@"
