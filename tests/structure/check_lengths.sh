#!/bin/sh
# Documents stay short enough to be read: the README, its limitations and figures, and all pages together but decisions.
# Usage: check_lengths.sh ROOT
# test: @source@
set -eu
cd "$1"
bad=0

# most LINES FILE...: the files have no more lines together.
most() {
    limit=$1
    shift
    lines=$(cat "$@" | wc -l)
    [ "$lines" -le "$limit" ] || { echo "$1${2:+ and others}: $lines lines, of $limit at most"; bad=1; }
}
most 150 README.md
most 40 docs/limitations.md
most 150 docs/performance.md
# 3,200 lines for what there was at first, and up to 120 for each later capability: ONNX, processes and devices, C++, Windows, reports.
most 3760 README.md CONTRIBUTING.md docs/*.md docs/tutorial/*.md
exit $bad
