#!/bin/sh
# A project that has Weft's tree as a part of it is configured, gets no flags, targets, tests or installed files from it, and links its programs
# with all that the libraries need; tools/try-packages builds the project. Usage: embed_tree.sh ROOT WORK_DIR CC CXX
# test: @source@ @folder@ @cc@ @cxx@
set -eu
root=$1 work=$2 cc=$3 cxx=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cmake -S "$root/tests/consumer/embedding" -B "a build" -G Ninja -DWEFT_TREE="$root" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=OFF >log
grep -rl 'weft\.pc\|libweft' "a build" --include=cmake_install.cmake >installs || true
[ ! -s installs ] || { echo "Weft is installed with the project:"; cat installs; exit 1; }
ninja -C "a build" -t commands consumer_c_weft_static >commands
grep -- ' -o consumer_c_weft_static ' commands | grep -q -- 'libweft\.a .*libOpenCL' || { echo "the static library is linked without OpenCL"; exit 1; }
! grep 'consumer_c\.c' commands | grep -e '-Wconversion' -e FORTIFY -e _POSIX_C_SOURCE || { echo "programs are compiled with Weft's flags"; exit 1; }
