#!/bin/sh
# A function of the kernels that takes a pointer to local memory is always inlined (common.clh says why).
# Usage: check_local.sh ROOT
# test: @source@
set -eu
cd "$1"
set -- $(find cl_kernels -name '*.cl*' | LC_ALL=C sort)
[ $# -gt 0 ] || { echo "no kernels"; exit 1; }
awk '
FNR == 1 { head = "" }
/inline/ && head == "" && !/^ *(\/\*|\*)/ { head = " "; line = FNR }
head != "" {
    head = head $0
    if (!/[{;]/) next
    if (head ~ /\{/ && head ~ /__local [a-zA-Z0-9_]+ *\*/ && head !~ /always_inline/) {
        print FILENAME ":" line ": takes local memory and is not always_inline"
        bad = 1
    }
    head = ""
}
END { exit bad }' "$@"
