#!/bin/sh
# A table whose rows are divided among processes has the same bits as that of one process, whoever names the rows; what goes wrong in one
# process ends all of them with a line that names it. Usage: check_table_together.sh PROGRAM FOLDER
#
# test.table: @table_together@ @folder@
set -eu
program=$1 folder=$2
. "$(dirname "$0")/launch.sh"

"$program" none >alone.txt
[ "$(wc -l <alone.txt)" = 37 ] || fail "37 rows are printed" alone.txt
for processes in 1 2 3; do
    together "$processes" none job || fail "$processes processes failed" messages
    cmp -s alone.txt out || fail "$processes processes have other rows" out
done
together 2 few job || fail "a process that names no rows fails" messages
cmp -s alone.txt out || fail "rows that one of two processes names are others" out

# refused FAULT TEXT: two processes, of which rank 1 has a fault, end with a line that has the text.
refused() {
    if together 2 "$1" job; then fail "a run with the fault '$1' succeeds" out; fi
    grep -q "$2" messages || fail "no line says '$2' after the fault '$1'" messages
}
refused row 'rank 1: weft_sharded_table_update: row 3 of the list is 37, not in 0..36'
refused row 'rank 0: distributed: rank 1 failed: weft_sharded_table_update: row 3'
refused width 'rank 1 differs from rank 0: "width: 6" instead of "width: 5"'
