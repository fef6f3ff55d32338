#!/bin/sh
# In C++ a bool is no axis, as weft_sum(x, 2, true) means something else than what it says; numbers of any type are.
# Usage: check_axes.sh INCLUDE_DIR CXX
# test: @source@/include @cxx@
set -eu
include=$1 cxx=$2
bad=0

compiles() {
    printf '#include <weft/weft.h>\nweft_tensor *f(weft_tensor *x);\nweft_tensor *f(weft_tensor *x) { return %s; }\n' "$1" |
        "$cxx" -std=c++17 -Wall -Wextra -Wconversion -Werror -fsyntax-only -I "$include" -x c++ - 2>/dev/null
}
for good in 'weft_sum(x)' 'weft_sum(x, 2)' 'weft_sum_keep(x, -1, 0L)' 'weft_reshape(x, WEFT_BATCH, 64u)' 'weft_flip(x, short(1))'; do
    compiles "$good" || { echo "$good does not compile in C++17"; bad=1; }
done
for wrong in 'weft_sum(x, 2, true)' 'weft_mean(x, 1, false)' 'weft_max_keep(x, true)' 'weft_flip(x, 0, true)'; do
    compiles "$wrong" && { echo "$wrong compiles in C++17, where true is an axis"; bad=1; }
done
exit $bad
