#!/bin/sh
# Runs each fuzz target for a number of seconds: sh tests/fuzz/run_fuzzers.sh [SECONDS [TARGET...]] in the root of the source tree.
#
# As many at once as there are processors. SECONDS: 20 by default, 5 in CI; 600 is the full run. TARGET: safetensors, csv,
# ... (default: all). What is found lies in build/fuzz/found/; a copy in tests/fuzz/seeds/TARGET makes it a test. The
# inputs that a run learns stay in build/fuzz/corpus, where the next one begins.
set -eu
cd "$(dirname "$0")/../.."

# run_one TARGET
run_one() {
    name=$1
    mkdir -p "build/fuzz/corpus/$name"
    dictionary=tests/fuzz/$name.dict
    [ -f "$dictionary" ] && dictionary=-dict=$dictionary || dictionary=
    log=build/fuzz/found/$name.log
    # 10 s and 1 GB for an input of at most 64 KB: what takes more is a finding.
    if LD_PRELOAD=build/fuzz/fuzz/libkeep_modules.so nice -n 5 "build/fuzz/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 \
        -artifact_prefix="build/fuzz/found/$name-" $dictionary "build/fuzz/corpus/$name" "tests/fuzz/seeds/$name" \
        >"$log" 2>&1; then
        echo "$name: $(grep -o 'Done [0-9]* runs in [0-9]* second' "$log")s, nothing found"
    else
        tail -n 40 "$log"
        echo "$name: found, see $log"
        return 1
    fi
}

if [ "${1:-}" = --one ]; then
    seconds=$2
    run_one "$3"
    exit
fi
seconds=${1:-20}
[ $# -eq 0 ] || shift
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz >/dev/null
if [ $# -eq 0 ]; then
    set -- $(cd tests/fuzz && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
fi
export ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=tests/sanitizers/leaks.supp:print_suppressions=0
mkdir -p build/fuzz/found
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh tests/fuzz/run_fuzzers.sh --one "$seconds"
