#!/bin/sh
# Each function of OpenCL that the library calls can be made to fail: it stands in the table of the layer that injects failures.
# Usage: check_fault_functions.sh LIBRARY TABLE
# test release: @weft@ @source@/tests/faults/fault_functions.h
set -eu
library=$1 table=$2
bad=0
for name in $(nm -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | grep '^cl[A-Z]' | LC_ALL=C sort -u); do
    grep -q "row($name," "$table" || { echo "$name is called, but has no row in $table"; bad=1; }
done
exit $bad
