#!/bin/sh
# `weft bench gemm|conv|lstm|attention|gpt|rows|map|reduce` measure what is asked for, and refuse what is no size.
# Usage: check_bench_sizes.sh WEFT
set -u
weft=$1
bad=0

# rows NUMBER FIELD WHAT ARGUMENT...: as many objects, each with the field, and finite figures above zero.
rows() {
    number=$1 field=$2
    shift 2
    got=$("$weft" bench "$@" --json) || { echo "$*: failed"; bad=1; return; }
    [ "$(echo "$got" | grep -c "^{.*$field.*}\$")" -eq "$number" ] && [ "$(echo "$got" | wc -l)" -eq "$number" ] &&
        ! echo "$got" | grep -Eq 'seconds": 0\.0*,|inf|nan' && return
    echo "$*: expected $number rows with $field: $got"
    bad=1
}
# also NUMBER FIELD: so many of these objects have the field.
also() {
    [ "$(echo "$got" | grep -c "^{.*$2.*}\$")" -eq "$1" ] && return
    echo "expected $1 rows with $2: $got"
    bad=1
}
# refused ARGUMENT...: exit status 2 and how it is used.
refused() {
    got=$("$weft" bench "$@" 2>&1)
    [ $? -eq 2 ] && echo "$got" | grep -q "^weft: cannot take '.*'; usage: weft bench $1 \[--json\]" && return
    echo "$*: expected what is wrong and its usage: $got"
    bad=1
}

for name in gemm conv lstm attention map reduce gpt rows curve images checkpoint seven; do
    got=$("$weft" bench $name --help) && echo "$got" | head -n 1 | grep -qF "usage: weft bench $name" && continue
    echo "$name: expected its own help: $got"
    bad=1
done
rows 2 '"share": ' gemm 40x24x16 8x8x8:NT
also 1 '"a_transposed": false, "b_transposed": true'
rows 2 '"precision": "f16"' gemm --precision f16 40x24x16 30x20x10:TN
rows 6 '"share": ' conv 2x8x16x16x3x1 2x8x16x16x3x1x16
also 3 '"shape": "2x8x16x16x3x1"'
also 3 '"shape": "2x8x16x16x3x1x16"'
rows 3 '"precision": "bf16"' conv --precision bf16 2x8x16x16x3x1
rows 3 '"launches": ' lstm 16x2x3
rows 2 '"causal": true' attention --causal 1x1x16x16
rows 2 '"causal": false' attention 1x1x16x16
rows 1 '"op": "exp"' map --elements 65536 exp
rows 1 '"op": ' reduce --elements 65536 sum_rows
small="--layers 1 --width 64 --vocabulary 40 --context 32 --length 16 --steps 2"
rows 1 '"gpt": "decode"' gpt decode $small
rows 1 '"gpt": "train"' gpt train $small
rows 1 '"gpt": "lengths"' gpt lengths $small --steps 4
rows 2 '"rule": "sgd"' rows --rule sgd --rows 50 --rows 60 --width 16 --batch 8 --steps 3
for size in 1x2 1x2x3x4 0x1x1 -1x1x1 1x1x1x 1x1xa x1x1x1 1048577x1x1 1x1x1: 1x1x1:N 1x1x1:NNN 1x1x1:nt ''; do refused gemm "$size"; done
for size in 1x2x3x4x3 1x2x4x4x3x1 1x8x4x4x3x1x3 1x8x4x4x3x1x1x1 65537x8x4x4x3x1 2x8x16x16x3x1:NN; do refused conv "$size"; done
refused lstm 8193x1x1
refused attention 1x1x1x4097
refused gemm --causal
refused gemm --precision f64 8x8x8
refused conv --precision f64
refused gemm 1x1x1 --device
"$weft" bench gemm --precision f64 8x8x8 2>&1 | grep -q "cannot take 'f64'" || { echo "the value is not named"; bad=1; }
exit $bad
