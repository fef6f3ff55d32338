#!/bin/sh
# Each public header compiles alone, in C11 and in C++17. Usage: check_headers.sh INCLUDE_DIR CC CXX
# test: @source@/include @cc@ @cxx@
set -eu
include=$1 cc=$2 cxx=$3
warnings='-Wall -Wextra -Wpedantic -Werror'
bad=0 count=0
for header in "$include"/weft/*.h; do
    name=weft/$(basename "$header")
    count=$((count + 1))
    # shellcheck disable=SC2086
    echo "#include <$name>" | "$cc" -std=c11 $warnings -fsyntax-only -I "$include" -x c - ||
        { echo "$name does not compile alone in C11"; bad=1; }
    # shellcheck disable=SC2086
    echo "#include <$name>" | "$cxx" -std=c++17 $warnings -fsyntax-only -I "$include" -x c++ - ||
        { echo "$name does not compile alone in C++17"; bad=1; }
done
echo "$count headers"
exit $bad
