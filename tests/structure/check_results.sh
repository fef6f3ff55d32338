#!/bin/sh
# docs/performance.md and its chart are what bench/write_performance writes from bench/results, and the page has at most 150 lines.
# Usage: check_results.sh ROOT
# test: @source@
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$1 bad=0
command -v python3 >/dev/null || { echo "skipped: there is no python3, which bench/write_performance needs"; exit 77; }
python3 "$here/../../bench/write_performance" --check --root "$root" || bad=1
lines=$(wc -l <"$root/docs/performance.md") || exit 1
[ "$lines" -le 150 ] || { echo "$root/docs/performance.md has $lines lines, more than 150"; bad=1; }
exit $bad
