#!/bin/sh
# Every op with inputs says how a gradient passes through it: by a rule, as zero everywhere, or not at all
# (src/graph/nodes.h).
# Usage: check_gradients.sh ROOT
# test: @source@
set -eu
cd "$1"
set -- $(find src -name '*.c' | LC_ALL=C sort)
[ $# -gt 0 ] || { echo "no sources"; exit 1; }
awk '
BEGIN { RS = ";" }
/\.name = / && /\.kind = WI_[A-Z]+/ && !/\.kind = WI_(SOURCE|GENERATOR)/ {
    descriptors++
    said = gsub(/\.backward = /, "&") + gsub(/\.composed = /, "&") + gsub(/\.zero_gradient = true/, "&") + gsub(/\.no_gradient = /, "&")
    if (said == 1) next
    match($0, /\.name = [^,]*/)
    print FILENAME ": the op with " substr($0, RSTART, RLENGTH) " has " said " of .backward, .composed, .zero_gradient and .no_gradient"
    bad = 1
}
END {
    if (descriptors < 50) print "only " descriptors " descriptors of ops found"
    exit bad || descriptors < 50
}' "$@"
