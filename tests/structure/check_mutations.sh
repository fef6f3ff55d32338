#!/bin/sh
# Each fault of tests/mutations, which random programs must find (tools/prove-random), applies to the tree. Usage: check_mutations.sh ROOT
# test: @source@
set -eu
cd "$1"

bad=0
for fault in tests/mutations/*.diff; do
    patch -p1 --dry-run --silent --force <"$fault" >/dev/null || { echo "$fault does not apply"; bad=1; }
done
exit $bad
