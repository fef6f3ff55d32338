#!/bin/sh
# The worked examples of docs/adding do what they say: all are applied to a copy of the tree, which is built, and the
# tests that concern them pass.
# Usage: build_adding.sh ROOT FOLDER [CMAKE_ARGUMENT...]: FOLDER is emptied and used
# test release adding: @source@ @folder@ -G @generator@ -DCMAKE_C_COMPILER=@cc@
set -eu
root=$(cd "$1" && pwd)
copy=$2
shift 2
rm -rf "$copy"
mkdir -p "$copy/tree"
for part in "$root"/*; do
    case $(basename "$part") in build*) ;; *) cp -R "$part" "$copy/tree/" ;; esac
done
for diff in "$root"/docs/adding/*.diff; do
    patch -d "$copy/tree" -p1 -F0 -N -s -i "$diff"
done
cmake -S "$copy/tree" -B "$copy/build" -DCMAKE_BUILD_TYPE=Debug -DWEFT_BUILD_TESTS=ON -DWEFT_BUILD_PROGRAMS=OFF \
    -DWEFT_WERROR=ON "$@" >/dev/null
programs='test_elementwise test_op_table test_op_golden test_op_dtypes test_cdist test_gemm test_cast test_formats
test_reduce test_matmul test_device_profile test_random_programs compile_kernel'
# shellcheck disable=SC2086
cmake --build "$copy/build" --target $programs
# Another format changes every program: all that runs here is compiled anew.
tests='test_(op_table|op_dtypes|cast|formats|device_profile)|test_cdist(.gpu)?|test_elementwise.tf32'
tests="$tests|test_(reduce|matmul).tf32(.gpu)?|kernel.(cdist|gemm_dot|common).*|structure.(layers|names|functions|documented|links)"
suite() {
    ctest --test-dir "$copy/build" --output-on-failure --no-tests=error -j2 -R "^($1)\$"
}
WEFT_TEST_REDUCED=1 suite "$tests"
WEFT_TEST_OP=log10 suite test_op_golden
WEFT_TEST_PRODUCT=dot suite test_gemm
rm -rf "$copy"
