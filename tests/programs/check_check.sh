#!/bin/sh
# `weft check` survives a driver that ends the process, and says what it was at; what commands are warned of is shown.
# Usage: check_check.sh WEFT SOURCE-FOLDER FOLDER FAULT-LAYER
set -u
weft=$1 source=$2 folder=$3 layer=$4
bad=0
rm -rf "$folder"
mkdir -p "$folder/kernels/product" || exit 1
chmod 700 "$folder" "$folder/kernels" "$folder/kernels/product"
export WEFT_CACHE_DIR="$folder/cache"
unset WEFT_TUNING WEFT_KERNEL_DIR

complain() { echo "$1: $2"; bad=1; }

# The portable product, which is asked for, writes to the address 4.
sed 's/^    WEFT_STORE(acc, batch/    *(volatile __global int *)(ulong)(k - k + 4) = 1;\n&/' \
    "$source/cl_kernels/product/gemm_naive.cl" >"$folder/kernels/product/gemm_naive.cl"
chmod 600 "$folder/kernels/product/gemm_naive.cl"
# crashes WHAT ARGUMENT...
crashes() {
    what=$1
    shift
    got=$(WEFT_KERNEL_DIR="$folder/kernels" WEFT_GEMM=naive "$weft" check "$@" --report "$folder/report" 2>&1)
    [ $? -eq 1 ] || complain "$*" "expected the exit status 1: $got"
    said="weft: the driver ended the process with signal [0-9]* while $what"
    echo "$got" | grep -q "^$said" || complain "$*" "expected to read what was computed: $got"
    tail -n 1 "$folder/report" | grep -q "^$said" || complain "$*" "the report does not end with it"
    grep -q '^device 0:0: ' "$folder/report" || complain "$*" "the report names no device"
}
crashes 'computing matmul$' --only matmul
crashes 'computing the first expressions of two matrices$'

# A line on stderr, once, and the command works all the same. This compiles the kernels, too: no command below says that it prepares them.
echo noise >"$folder/damaged.txt"
for command in 'bench gemm 8x8x8 --json' 'tune --budget 20 8x8x8' 'advise digits-MLP --steps 1 --threads 1'; do
    # shellcheck disable=SC2086 # the words of a command
    WEFT_TUNING="$folder/damaged.txt" "$weft" $command >"$folder/said" 2>"$folder/warned" || complain "$command" "it failed"
    lines=$(grep -c "^weft: warning: tuning file '.*': line 1 is damaged; the file is not used\$" "$folder/warned")
    [ "$lines" -eq 1 ] || complain "$command" "expected one warning: $(cat "$folder/warned")"
    [ -s "$folder/said" ] || complain "$command" "it said nothing"
    # shellcheck disable=SC2086 # the words of a command
    "$weft" $command 2>&1 >/dev/null | grep -q warning && complain "$command" "expected no warning without the file"
done

# A full disk: of a report, and of what is printed.
got=$("$weft" check --only relu --report /dev/full 2>&1)
[ $? -eq 1 ] && echo "$got" | grep -q "^weft: cannot write '/dev/full': ." || complain "a full disk" "expected the reason: $got"
for command in devices "check --only relu" "tune --budget 0 8x8x8" --help; do
    got=$("$weft" $command 2>&1 >/dev/full)
    [ $? -eq 1 ] && [ "$got" = "weft: cannot write to the standard output" ] || complain "$command" "expected a line: $got"
done

# What prints ends without a word where nobody reads on, and blames no driver: by SIGPIPE, as other programs.
for command in devices "check --only relu" "tune --budget 20 8x8x8" "bench gemm 8x8x8" "advise digits-MLP --steps 1 --threads 1" --help; do
    # shellcheck disable=SC2086 # the words of a command
    { sleep 0.3; "$weft" $command 2>"$folder/said"; echo $? >"$folder/status"; } | :
    while [ ! -s "$folder/status" ]; do sleep 0.1; done
    [ "$(cat "$folder/status")" -eq 141 ] || complain "$command | :" "expected its end by SIGPIPE, not $(cat "$folder/status")"
    [ ! -s "$folder/said" ] || complain "$command | :" "expected no word: $(cat "$folder/said")"
    rm "$folder/status"
done

# Drivers that end the process as they are opened.
export OPENCL_LAYERS="$layer" FAULT_OPENCL="clCreateContext 1 1"
crashes 'opening the device$' --only mul
got=$("$weft" devices 2>&1)
[ $? -eq 1 ] || complain devices "expected the exit status 1: $got"
echo "$got" | grep -q '^weft: the driver ended the process with signal [0-9]*$' || complain devices "it does not say so: $got"
[ "$(echo "$got" | grep -c '^[0-9]*:[0-9]*  ')" -eq "$("$weft" devices 2>/dev/null | grep -c '^     kernels of class')" ] ||
    complain devices "a device is missing: $got"
unset OPENCL_LAYERS FAULT_OPENCL

exit $bad
