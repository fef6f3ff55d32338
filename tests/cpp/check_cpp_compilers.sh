#!/bin/sh
# weft.hpp, its samples and its tests compile without a warning, by each compiler that is here, in C++17 and C++20.
# Usage: check_cpp_compilers.sh ROOT GENERATED
# test slow: @source@ @build@/generated/include
set -eu
root=$1 generated=$2
bad=0 count=0
for compiler in g++ clang++ x86_64-w64-mingw32-g++; do
    command -v $compiler >/dev/null || { echo "without $compiler, which is not installed"; continue; }
    for standard in c++17 c++20; do
        count=$((count + 1))
        for file in "$root"/samples/cpp/cpp_gan.cpp "$root"/tests/cpp/test_cpp_training.cpp; do
            $compiler -std=$standard -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only -I "$root/include" -I "$generated" \
                "$file" || { echo "$file does not compile by $compiler in $standard"; bad=1; }
        done
    done
done
[ $count -gt 0 ] || { echo "there is no C++ compiler"; bad=1; }
exit $bad
