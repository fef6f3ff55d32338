#!/bin/sh
# The first program of docs/cpp.md is samples/cpp/cpp_digits.cpp, and every block of C++ compiles. Usage: check_cpp_page.sh ROOT GENERATED WORK_DIR CXX
# test: @source@ @build@/generated/include @folder@ @cxx@
set -eu
root=$1 generated=$2 work=$3 cxx=$4
rm -rf "$work"
mkdir -p "$work"
awk -v work="$work" '/^```cpp$/ { file = work "/block" ++count ".cpp"; next } /^```/ { file = "" } file { print > file }' "$root/docs/cpp.md"
sed 1d "$root/samples/cpp/cpp_digits.cpp" | cmp - "$work/block1.cpp"
# The other blocks are statements with the objects of a program.
for block in "$work"/block*.cpp; do
    [ "$block" != "$work/block1.cpp" ] || continue
    {
        printf '#include <iostream>\n#include <weft/weft.hpp>\n'
        printf 'void shown(weft::context context, weft::graph graph, weft::dataset digits, weft::tensor x, weft::tensor y, weft::tensor loss, weft::plan plan);\n'
        printf 'void shown(weft::context context, weft::graph graph, weft::dataset digits, weft::tensor x, weft::tensor y, weft::tensor loss, weft::plan plan) {\n'
        printf '#line 1 "%s"\n' "$(basename "$block")"
        cat "$block"
        echo '}'
    } >"$work/whole.cpp"
    "$cxx" -std=c++17 -Wall -Wextra -Wno-unused -Werror -fsyntax-only -I "$root/include" -I "$generated" "$work/whole.cpp"
done
