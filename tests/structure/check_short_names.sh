#!/bin/sh
# weft/short_names.h, which the build writes, has each name that a program can call. Usage: check_short_names.sh ROOT
# test: @source@
set -eu
tools=$(cd "$(dirname "$0")/../../cmake" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
cd "$1/include/weft"
short=$(awk -f "$tools/write_short_names.awk" -- *.h)
bad=0
for name in $(awk -f "$here/public_calls.awk" -- *.h | grep -v '_$'); do
    printf '%s\n' "$short" | grep -qw "$name" || { echo "$name has no short name, and is not in the list of those that keep theirs"; bad=1; }
done
exit $bad
