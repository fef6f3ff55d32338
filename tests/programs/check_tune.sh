#!/bin/sh
# `weft tune` keeps choices, serves a budget of 0, survives kernels that hang, end the process, are wrong or do not compile, and
# remembers them; it refuses what is no size. The portable product is changed for that: it is a candidate, but never the first.
# Usage: check_tune.sh WEFT SOURCE-FOLDER FOLDER
set -u
weft=$1 source=$2 folder=$3
bad=0
rm -rf "$folder"
mkdir -p "$folder/kernels/product" || exit 1
chmod 700 "$folder" "$folder/kernels" "$folder/kernels/product"
export WEFT_CACHE_DIR="$folder/cache"
unset WEFT_TUNING WEFT_KERNEL_DIR

complain() { echo "$1: $2"; bad=1; }

# expect NAME LINE OUTPUT ARGUMENT...: success, the line in the tuning file and the text in the output; two empty ones: no file.
expect() {
    name=$1 line=$2 text=$3
    shift 3
    rm -rf "$WEFT_CACHE_DIR"
    got=$("$weft" tune --budget 600 "$@" 2>&1) || complain "$name" "it failed: $got"
    echo "$got" | grep -qF -- "$text" || complain "$name" "expected '$text': $got"
    kept=$(cat "$WEFT_CACHE_DIR/tuning.txt" 2>/dev/null)
    echo "$kept" | grep -q -- "$line" || complain "$name" "expected '$line' to be kept: $kept"
}

tab=$(printf '\t')
size=40x200x200
site="matmul 1,40,200,200 nn f32 f32 f32"
expect "a budget of 0" '^$' "the budget is 0, so nothing is measured" --budget 0 $size
expect "a budget that is used up" '^weft tuning' "not measured: the budget is used up" --budget 0.001 $size
expect "a convolution" "^choice${tab}conv_weight n2,1,16,16 " "3 sizes measured" 2x8x16x16x3x1
expect "a product in f16" "^choice$tab${site%f32}f16$tab" "1 size measured" --precision f16 $size
expect "a short budget" '^weft tuning' "no time was left for" --budget 1 digits-CNN
expect "a file" "^choice$tab$site$tab" "1 size measured" --file "$folder/shipped.txt" $size
cmp -s "$folder/shipped.txt" "$WEFT_CACHE_DIR/tuning.txt" || complain "a file" "it differs from the cache folder's"
got=$("$weft" tune $size 2>&1)
echo "$got" | grep -q "0 sizes measured" || complain "a second time" "expected nothing to be measured again: $got"

# A choice that a process left without the comparison of whole runs.
sed "s|^\(choice$tab$site$tab\)[^$tab]*|\1naive/|" "$folder/shipped.txt" >"$WEFT_CACHE_DIR/tuning.txt"
got=$("$weft" tune $size 2>&1)
echo "$got" | grep -q "built-in choices .* tuned choices .* per run" || complain "a choice of before" "expected whole runs to be compared: $got"
# The classes differ in their candidates, which are measured above. What follows is about a candidate that is bad, and the portable product is
# one in both classes.
[ "${WEFT_DEVICE_CLASS-}" != gpu ] || exit $bad

# change TEXT: what the portable product does before it stores.
change() {
    sed "s/^    WEFT_STORE(acc, batch/    $1\n&/" "$source/cl_kernels/product/gemm_naive.cl" \
        >"$folder/kernels/product/gemm_naive.cl"
    chmod 600 "$folder/kernels/product/gemm_naive.cl"
}
export WEFT_KERNEL_DIR="$folder/kernels"
blame="^bad$tab$site${tab}naive/$tab"
change 'for (volatile int wait = 1; wait;) ;'
expect "a kernel that hangs" "${blame}it did not finish in time" "naive/: it did not finish in time" --limit 3 --file "$folder/hung.txt" $size
grep -lF "$folder/hung.txt" /proc/[0-9]*/cmdline 2>/dev/null && complain "a kernel that hangs" "a process is left"
ls "$folder" "$WEFT_CACHE_DIR" | grep '[.]tmp$' && complain "a kernel that hangs" "a file is left"
grep -q "^choice$tab$site" "$WEFT_CACHE_DIR/tuning.txt" || complain "a kernel that hangs" "expected the others to be measured"
# The file of choices is a link, which is replaced; the file that it leads to stays as it is.
change '*(volatile __global int *)(ulong)(k - k + 4) = 1;'
rm -rf "$WEFT_CACHE_DIR"
mkdir -m 700 "$WEFT_CACHE_DIR"
echo "the user's" >"$folder/linked.txt"
ln -s "$folder/linked.txt" "$WEFT_CACHE_DIR/tuning.txt"
got=$("$weft" tune --budget 600 $size 2>&1) || complain "a kernel that crashes" "it failed: $got"
echo "$got" | grep -qF "naive/: it ended the process" || complain "a kernel that crashes" "expected to read so: $got"
[ "$(cat "$folder/linked.txt")" = "the user's" ] || complain "a link" "the file that it leads to was changed"
grep -q "^${blame#^}it ended" "$WEFT_CACHE_DIR/tuning.txt" || complain "a kernel that crashes" "expected it to be written down"
change 'if (k > 150) acc = 1e6f;'
expect "a kernel that is wrong at the size" "${blame}it computes other numbers than the built-in choice" \
    "1 size measured" $size
change 'acc = 1e6f;'
expect "a kernel that is always wrong" "^choice$tab$site${tab}[^n]" "1 size measured" $size
change 'no such word'
expect "a kernel that does not compile" "^choice$tab$site${tab}[^n]" "1 size measured" $size

# A choice of the portable product serves a benchmark of that size, but where it does not compile.
sed "s|^\(choice$tab$site$tab\)[^$tab]*|\1naive/|" "$folder/shipped.txt" >"$folder/naive.txt"
serves() {
    WEFT_CACHE_DIR="$folder/fresh" WEFT_TUNING="$folder/naive.txt" "$weft" bench gemm $size --json 2>&1
}
got=$(serves)
echo "$got" | grep -q '"implementation"' || complain "a choice that does not compile" "the product failed"
echo "$got" | grep -q '"naive"' && complain "a choice that does not compile" "it serves"
unset WEFT_KERNEL_DIR
serves | grep -q '"naive"' || complain "a choice in a shipped file" "it does not serve"

# refused ARGUMENT...: exit status 2 and one line.
refused() {
    got=$("$weft" tune "$@" 2>&1)
    [ $? -eq 2 ] && [ "$(echo "$got" | wc -l)" -eq 1 ] && echo "$got" | grep -q "see weft tune --help" && return
    complain "$*" "expected to be refused: $got"
}
for work in 1x2 1x2x3x4 0x1x1 1x1x1048577 1x1x1:NX 1x1x1x 2x8x16x16x3:NN 2x8x16x16x9 2x8x4x4x3x1x3 LeNet ''; do refused "$work"; done
refused --budget
refused --budget x 8x8x8
refused --budget -1 8x8x8
echo "$got" | grep -qF "'-1' is not a number of seconds of 0 or more" || complain "--budget -1" "expected to read what is allowed: $got"
refused --budget inf 8x8x8
refused --limit 0 8x8x8
refused --batch 1.5 8x8x8
refused --precision f64 8x8x8
refused --budgets 3 8x8x8
started=$(date +%s)
got=$("$weft" tune --budget 60 --file /nonexistent/tuning.txt 8x8x8 2>&1)
[ $? -eq 1 ] && [ $(($(date +%s) - started)) -lt 30 ] || complain "a file that cannot be written" "expected an error before anything is measured: $got"
echo "$got" | grep -q "measured" && complain "a file that cannot be written" "it was measured: $got"
got=$("$weft" tune --device nosuchdevice 8x8x8 2>&1)
[ $? -eq 1 ] || complain "a device that is not here" "expected exit status 1: $got"
echo "mine" >"$folder/notes.txt"
got=$("$weft" tune --file "$folder/notes.txt" 8x8x8 2>&1)
[ $? -eq 1 ] && [ "$(cat "$folder/notes.txt")" = mine ] || complain "a file of another kind" "expected to be left alone: $got"
exit $bad
