#!/bin/sh
# include/weft/short_names.h is what write_short_names.awk makes of the other public headers, and has each name that a program
# can call. Usage: check_short_names.sh ROOT
# test: @source@
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1/include/weft"
short=short_names.h
bad=0
headers=$(find . -name '*.h' ! -name $short | LC_ALL=C sort)
# shellcheck disable=SC2086
awk -f "$here/write_short_names.awk" $headers | diff - $short ||
    { echo "write it anew: (cd include/weft && awk -f ../../tests/structure/write_short_names.awk $(echo $headers) >$short)"; bad=1; }
# shellcheck disable=SC2086
for name in $(awk -f "$here/public_calls.awk" $headers | grep -v '_$'); do
    grep -qw "$name" $short || { echo "$name has no short name, and is not in the list of those that keep theirs"; bad=1; }
done
exit $bad
