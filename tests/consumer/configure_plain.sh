#!/bin/sh
# Configured without a preset, without Ninja, in a folder with a blank in its name, Weft is optimised, and each program that
# docs/programs.md names can be built. Who installs Weft need not build its tests. Usage: configure_plain.sh ROOT WORK_DIR CC
# test: @source@ @folder@ @cc@
set -eu
root=$1 work="$2/a plain build" cc=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"
env -u CMAKE_GENERATOR -u CMAKE_BUILD_TYPE CC="$cc" cmake "$root" -G "Unix Makefiles" >log
grep -qx 'CMAKE_BUILD_TYPE:STRING=Release' CMakeCache.txt || { echo "not a release build"; exit 1; }
grep -qx 'WEFT_BUILD_TESTS:BOOL=OFF' CMakeCache.txt || { echo "tests are built"; exit 1; }
grep -q -- '-O2' CMakeFiles/weft_objects.dir/flags.make || { echo "not optimised"; exit 1; }
make help >targets
for program in $(sed -n '/^| program | what it does |$/,/^$/s/^| \(`[^|]*`\) |.*/\1/p' "$root/docs/programs.md" | tr -d '`,'); do
    [ "$program" != weft ] || program=weft_command
    grep -qx -- "\.\.\. $program" targets || { echo "docs/programs.md names $program, which is no target"; exit 1; }
done
