#!/bin/sh
# Every op with inputs says once how a gradient passes through it: by a rule (src/graph/op_rules.h), through composed nodes,
# as zero everywhere, or not at all (src/graph/weft_graph.h). test_gradient_rules checks the ops that macros define.
# Usage: check_gradients.sh ROOT
# test: @source@
set -eu
cd "$1"
set -- $(find src -name '*.c' | LC_ALL=C sort)
[ $# -gt 0 ] || { echo "no sources"; exit 1; }
awk '
BEGIN { RS = ";" }
reading == "rules" {
    while (match($0, /\.op = &[A-Za-z0-9_]+,[ \n]+\.backward = /)) {
        name = substr($0, RSTART + 7, RLENGTH - 7)
        sub(/,.*/, "", name)
        has_rule[name] = 1
        $0 = substr($0, RSTART + RLENGTH)
    }
    next
}
/\.name = / && /\.kind = WI_[A-Z]+/ && !/\.kind = WI_(SOURCE|GENERATOR)/ && match($0, /wi_op [A-Za-z0-9_]+ = \{/) {
    descriptors++
    name = substr($0, RSTART + 6, RLENGTH - 10)
    said = (name in has_rule) + gsub(/\.composed = /, "&") + gsub(/\.zero_gradient = true/, "&") + gsub(/\.no_gradient = /, "&")
    if (said == 1) next
    print FILENAME ": the op " name " has " said " of a backward rule, .composed, .zero_gradient and .no_gradient"
    bad = 1
}
END {
    if (descriptors < 50) print "only " descriptors " descriptors of ops found"
    exit bad || descriptors < 50
}' reading=rules "$@" reading=descriptors "$@"
