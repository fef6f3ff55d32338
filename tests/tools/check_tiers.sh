#!/bin/sh
# The instruction sets that PoCL can be told to compile for, on a processor that has them all: each is a processor of
# another kind to Weft. `weft check` must say that every op works, the tests and a few random programs must pass, and no compiler may write to
# stderr. Each set has kernel caches of its own in FOLDER.
#
# usage: check_tiers.sh BUILD FOLDER [--full]
# --full: all tests of matrix products, convolutions, attention and recurrent layers besides, in half an hour.
set -eu

[ $# -ge 2 ] || { echo "usage: $0 BUILD FOLDER [--full]" >&2; exit 2; }
build=$1 folder=$2
quick='test_matmul test_softmax test_norms test_layer'
full='test_gemm test_conv test_conv_choice test_conv_weight test_attention test_attention_layer test_recurrent
    test_recurrent_layer test_elementwise test_activation test_reduce test_scan test_random'
tests=$quick
[ "${3:-}" != --full ] || tests="$quick $full"

# run SET COMMAND...: with the kernels of an instruction set; shows what it wrote where it failed.
run() {
    set=$1
    shift
    log=$folder/$set/log
    if ! env -u WEFT_DEVICE_CLASS POCL_KERNELLIB_NAME="$set" POCL_CACHE_DIR="$folder/$set/pocl" \
        WEFT_CACHE_DIR="$folder/$set/weft" WEFT_DEVICE=pocl "$@" >"$log" 2>"$log.errors"; then
        tail -n 30 "$log" "$log.errors" >&2
        echo "with the instruction set $set: $* failed" >&2
        exit 1
    fi
    if grep 'generated\.$' "$log.errors" >&2; then
        echo "with the instruction set $set: $* wrote to stderr" >&2
        exit 1
    fi
}

check_set() {
    mkdir -p "$folder/$1/pocl" "$folder/$1/weft"
    begin=$(date +%s)
    run "$1" "$build/bin/weft" check
    grep -E '^([0-9]+) of \1 cases are correct$' "$folder/$1/log" >/dev/null || { tail -n 3 "$folder/$1/log" >&2; exit 1; }
    for test in $tests; do run "$1" "$build/tests/$test"; done
    # A program that is wrong is printed, and the command fails.
    run "$1" "$build/bin/weft" check --random 600 --seed 20261129 --count 6
    echo "$1: $(tail -n 1 "$folder/$1/log" | cut -c1-60), $(($(date +%s) - begin)) s"
}

# At once, since most of the time one thread compiles.
failed=0
check_set avx2 & first=$!
check_set avx & second=$!
check_set sse2 & third=$!
for one in $first $second $third; do wait "$one" || failed=1; done
exit $failed
