#!/bin/sh
# Each kernel file compiles alone, with a vector's lanes and with one; files that do not are found. Usage: check_kernels.sh COMPILE_KERNEL ROOT FOLDER
# test compile: @compile_kernel@ @source@ @folder@
set -u
compile=$1 common=$2/cl_kernels/common.clh folder=$3
bad=0
mkdir -p "$folder"
for lanes in 16 1; do
    "$compile" $lanes >"$folder/said" 2>&1 || { cat "$folder/said"; bad=1; }
done

# refused TEXT ARGUMENT...: it does not compile, which the text says.
refused() {
    text=$1
    shift
    said=$("$compile" 1 "$@" 2>&1) && { echo "$*: compiles"; bad=1; }
    case $said in *"$text"*) ;; *) echo "$*: expected \"$text\" in: $said"; bad=1 ;; esac
}
echo '__kernel void bad(__global float *x) { x[0] = undeclared; }' >"$folder/bad.cl"
echo '__kernel void careless(__global int *x) { if (x[0] = 1) x[1] = 2; }' >"$folder/careless.cl"
echo 'float one(void);' >"$folder/empty.cl"
refused "undeclared" "$common" "$folder/bad.cl"
refused "parentheses" "$common" "$folder/careless.cl"
refused "holds no kernel" "$common" "$folder/empty.cl"
refused "no implementation names unnamed.cl" unnamed.cl
exit $bad
