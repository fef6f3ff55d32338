#!/bin/sh
# The README's program and its form in C++ train the same network: the weights that they save have the same bits. docs/cpp.md shows
# the program that is tested. Usage: check_cpp_bits.sh ROOT WORK_DIR CC LIBRARY PROGRAM [FLAGS]
# test training: @source@ @folder@ @cc@ @weft@ @cpp_digits@ "@flags@"
set -eu
root=$1 work=$2 cc=$3 library=$4 program=$5 flags=${6-}
rm -rf "$work"
mkdir -p "$work/c" "$work/cpp"
ln -s "$root/data" "$work/c/data"
ln -s "$root/data" "$work/cpp/data"
awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$root/README.md" >"$work/c/readme.c"
eval "\$cc -std=c11 $flags -I \"\$root/include\" \"\$work/c/readme.c\" -o \"\$work/c/readme\" \"\$library\" -lm \
    -Wl,-rpath,\"\$(dirname \"\$library\")\""
(cd "$work/c" && ./readme)
(cd "$work/cpp" && "$program")
cmp "$work/c/digits.safetensors" "$work/cpp/digits.safetensors"
