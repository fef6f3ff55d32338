#!/bin/sh
# tools/try-cpu-driver with a driver, a build and a ctest that only say what they were asked: what --all runs, and that every
# failure is one of the whole. Usage: check_try_cpu_driver.sh ROOT WORK_DIR
# test: @source@ @folder@
set -eu
tool=$1/tools/try-cpu-driver work=$2
rm -rf "$work"
mkdir -p "$work/runtime/vendors" "$work/build/bin" "$work/path"
echo libintelocl.so >"$work/runtime/vendors/intel.icd"
echo 'WEFT_TEST_OPTIMISED:BOOL=ON' >"$work/build/CMakeCache.txt"
cat >"$work/path/ctest" <<'END'
#!/bin/sh
echo "ctest $*, device $WEFT_DEVICE, drivers $OCL_ICD_VENDORS"
exit "$CTEST_RC"
END
cat >"$work/build/bin/weft" <<'END'
#!/bin/sh
echo "weft $*, class ${WEFT_DEVICE_CLASS-}"
[ "$1" = check ] || exit 0
[ "$WEFT_DEVICE_CLASS" = "$WRONG" ] && echo 'mul FAILED'
printf '\nformat cases\nf32 %s\n' "$WEFT_DEVICE_CLASS"
[ "$WEFT_DEVICE_CLASS" != "$WRONG" ]
END
chmod +x "$work/path/ctest" "$work/build/bin/weft"
bad=0

# try CTEST_RC WRONG_CLASS STATUS ARGUMENT...
try() {
    ctest_rc=$1 wrong=$2 wanted=$3
    shift 3
    status=0
    PATH="$work/path:$PATH" CTEST_RC=$ctest_rc WRONG=$wrong "$tool" "$work/runtime" "$work/build" "$@" >"$work/said" 2>&1 || status=$?
    [ $status -eq "$wanted" ] || { echo "status $status, not $wanted: $*"; cat "$work/said"; bad=1; }
}
# says TEXT: the last try said it.
says() {
    grep -q -- "$1" "$work/said" || { echo "it did not say: $1"; cat "$work/said"; bad=1; }
}

try 0 none 0
says "-j2 -L ^ops\$ -LE formats, device intel, drivers $work/runtime/vendors"
! grep -q 'weft check' "$work/said" || { echo "it checks without --all"; bad=1; }
try 8 none 1 -R test_mask
says '-j2 -R test_mask, device intel'
try 0 none 0 --all
says '-j2 -LE structure|consumer|adding|fuzz, device intel'
says '^weft check, class cpu '
says '^f32 gpu'
grep -q 'weft check --precision all --all, class gpu' "$work/build/intel-check-gpu.txt" || { echo "it checks too little"; bad=1; }
try 8 none 1 --all
says '^f32 gpu'
try 0 cpu 1 --all
says '^mul FAILED'
try 0 gpu 1 --all
try 0 none 1 --all -R test_mask
says "takes no arguments of ctest's"
sed -i s/ON/OFF/ "$work/build/CMakeCache.txt"
try 0 none 1
says 'DWEFT_TEST_OPTIMISED=ON'
mv "$work/runtime/vendors/intel.icd" "$work/runtime/vendors/pocl.icd"
try 0 none 0 -R test_mask
says '-j2 -R test_mask, device pocl'
rm "$work/runtime/vendors/pocl.icd"
try 0 none 1
says 'has no driver: tools/try-cpu-driver --fetch intel'
! "$tool" --fetch nosuch "$work/runtime" 2>"$work/said" || { echo "it fetches what is not there"; bad=1; }
says "no driver 'nosuch'"
exit $bad
