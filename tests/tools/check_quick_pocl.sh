#!/bin/sh
# tools/quick-pocl: its ld leaves libraries out for kernels that call nothing of them, and for nothing else; its library of built-in
# functions has none that nobody declares; and kernels that PoCL compiles with both have the code that they have without.
# Usage: check_quick_pocl.sh ROOT WORK_DIR CC WEFT COMPILE_KERNEL
# test compile release: @source@ @folder@ @cc@ @weft_command@ @compile_kernel@
set -eu
root=$1 work=$2 cc=$3 weft=$4 compile_kernel=$5
command -v python3 >/dev/null || { echo "left out: there is no python3"; exit 77; }
unset OCL_ICD_VENDORS COMPILER_PATH
rm -rf "$work"
mkdir -p "$work"
bad=0
"$root/tools/quick-pocl" "$work/quick" >"$work/settings" 2>"$work/said"
cat "$work/said"

# ---- the linker ----

# links FILE yes|no: whether the shared object that is made of it names libraries.
links() {
    "$work/quick/bin/ld" -shared -o "$work/linked.so" -L/usr/lib -L/lib "$1" -lm "$("$cc" -print-file-name=libc.so.6)"
    if readelf -d "$work/linked.so" | grep -q 'NEEDED.*libm'; then named=yes; else named=no; fi
    [ $named = "$2" ] || { echo "linked of $1, it names libraries: $named"; bad=1; }
    nm "$work/linked.so" | grep -q ' T twice' || { echo "linked of $1, it lacks a function"; bad=1; }
}
grep -q COMPILER_PATH "$work/settings" || { echo "there is no linker"; exit 1; }
echo 'int twice(int x) { return 2 * x; }' >"$work/alone.c"
printf 'double sinh(double);\ndouble twice(double x) { return 2 * sinh(x); }\n' >"$work/calls.c"
for name in alone calls; do "$cc" -O1 -fPIC -fno-stack-protector -c -o "$work/$name.so.o" "$work/$name.c"; done
cp "$work/alone.so.o" "$work/alone.o"
links "$work/alone.so.o" no
links "$work/calls.so.o" yes
links "$work/alone.o" yes
head -c 600 "$work/alone.so.o" >"$work/cut.so.o"
! "$work/quick/bin/ld" -shared -o "$work/linked.so" "$work/cut.so.o" 2>"$work/errors" || { echo "it links a file that is cut"; bad=1; }

# ---- the library ----

if ! grep -q OCL_ICD_VENDORS "$work/settings"; then
    echo "left out: what only PoCL 3.1 shows"
    [ $bad = 0 ] && exit 77
    exit 1
fi
# kernels NAME: the code of all that `weft check` compiles of softmax, in all formats and both classes.
kernels() {
    mkdir -p "$work/$1/pocl"
    for class in cpu gpu; do
        WEFT_DEVICE=pocl WEFT_DEVICE_CLASS=$class POCL_CACHE_DIR="$work/$1/pocl" WEFT_CACHE_DIR="$work/$1/weft" \
            "$weft" check --precision all --only softmax >"$work/$1/$class" 2>&1 || { tail "$work/$1/$class"; exit 1; }
    done
    find "$work/$1/pocl" -path '*/*/*.so' | LC_ALL=C sort | while read -r kernel; do
        echo "$(basename "$kernel") $(objdump -s -j .text -j .rodata "$kernel" 2>/dev/null | sed 1,3d | cksum)"
    done >"$work/$1/code"
}
kernels whole
# shellcheck disable=SC1091
. "$work/settings"
kernels reduced
[ "$(grep -c . "$work/whole/code")" -ge 4 ] || { echo "too few kernels are compared"; bad=1; }
diff "$work/whole/code" "$work/reduced/code" || { echo "kernels differ"; bad=1; }
echo "$(grep -c . "$work/reduced/code") kernels are compared"
# builtins.clh does not declare sinpi, which PoCL's own header does; the driver that has the reduced library is PoCL alone.
rm "$work/quick/vendors/"[!p]*.icd 2>/dev/null || true
# A cache of others may have the kernels.
export POCL_CACHE_DIR="$work/reduced/pocl"
printf '__kernel void turned(__global float *x) { x[0] = sinpi(x[0]); }\n' >"$work/turned.cl"
sed s/sinpi/sinh/ "$work/turned.cl" >"$work/known.cl"
"$compile_kernel" 1 "$root/cl_kernels/common.clh" "$work/known.cl" >"$work/log" 2>&1 || { echo "it lacks sinh"; cat "$work/log"; bad=1; }
! "$compile_kernel" 1 "$root/cl_kernels/common.clh" "$work/turned.cl" >"$work/log" 2>&1 || { echo "it has sinpi"; bad=1; }
grep -q '_cl_sinpi' "$work/log" || { echo "sinpi is missing for another reason"; cat "$work/log"; bad=1; }
exit $bad
