#!/bin/sh
# Every expression of the public headers is a row of tests/support/public_call_rows.h or public_call_forms.h, whose tests give it
# wrong arguments and look for its name in the error. A macro's row stands for the function that it calls; what src/ops/op_list.h
# has is one node, whose errors begin with its name.
# Usage: check_calls.sh ROOT
# test: @source@
set -eu
cd "$1"
rows=$(cat tests/support/public_call_rows.h tests/support/public_call_forms.h)
ops=$(sed -n 's/^WI_[A-Z0-9_]*(\([a-z0-9_]*\).*/ROW(\1)/p' src/ops/op_list.h)
networks=$(sed -n 's/.*NETWORK(\([a-z0-9_]*\)).*/&/p' tests/graph/test_call_names.c)
awk -v rows="$rows $networks $ops" '
BEGIN {
    while (match(rows, /(ROW|NETWORK)\([a-z0-9_]+/)) {
        name = substr(rows, RSTART, RLENGTH)
        sub(/^[A-Z]+\(/, "", name)
        sub(/__.*/, "", name)
        row[name] = 1
        rows = substr(rows, RSTART + RLENGTH)
    }
    # They give back what a graph or an optimizer has.
    split("graph_parameter graph_state graph_find graph_find_input onnx_input onnx_output onnx_tensor minimize_rate optimizer_rate", given, " ")
    for (i in given) row[given[i]] = 1
}
/^WEFT_API (weft_tensor \*|weft_recurrent )/ {
    match($0, /weft_[a-z0-9_]+\(/)
    name = substr($0, RSTART + 5, RLENGTH - 6)
    count++
    if (name in row) next
    macro = name
    sub(/(_list_|_axes|_shape|_dims|_layer)$/, "", macro)
    number = name ~ /^number_/ ? substr(name, 8) : name
    sub(/_number$/, "", number)
    if ((macro != name && macro in row) || (number != name && number in row)) next
    print FILENAME ": weft_" name " is no row of tests/support/public_call_rows.h or public_call_forms.h"
    bad = 1
}
END {
    if (count < 250) print "only " count " expressions found"
    exit bad || count < 250
}' include/weft/*.h
