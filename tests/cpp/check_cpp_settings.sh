#!/bin/sh
# Each field of a struct with setters has a setter, which changes the struct: the fields are those that the compiler sees.
# Usage: check_cpp_settings.sh ROOT WORK_DIR CC CXX LIBRARY [FLAGS]
# test: @source@ @folder@ @cc@ @cxx@ @weft@ "@flags@"
set -eu
root=$1 work=$2 cc=$3 cxx=$4 library=$5 flags=${6-}
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work/weft"
awk -f "$root/cmake/write_calls.awk" "$root"/include/weft/*.h >"$work/weft/calls.hpp"
classes=$(sed -n 's/^class [a-z0-9_]* : public detail::settings<[a-z0-9_]*, weft_\([a-z0-9_]*\)> {/\1/p' "$work/weft/calls.hpp")

# What the library or a setter beside them sets: sizes, numbers of entries, what callbacks are called with.
not_set='struct_size|[a-z_]*_count|rank|([a-z]*_)?user|on_release'
echo '#include <weft/weft.h>' | "$cc" -E -P -I "$root/include" - | tr '\n' ' ' | sed 's/typedef struct /\n&/g; s/}/&\n/g' |
    sed -nE 's/^(typedef )?struct weft_([a-z0-9_]+) \{(.*)\}$/\2 \3/p' >"$work/structs"
for class in $classes; do
    sed -n "s/^$class //p" "$work/structs" | tr ';' '\n' |
        sed -E 's/\(\*([a-z_]+)\)\(.*/\1/; s/\[[^]]*\]//g' | tr ',' '\n' | sed -nE 's/.*\b([a-z_0-9]+) *$/\1/p' |
        grep -vxE "$not_set" | sed "s/.*/TRY($class, &)/"
done >"$work/fields.inc"
count=$(wc -l <"$work/fields.inc")
[ "$count" -gt 250 ] || { echo "only $count fields"; exit 1; }
eval "\$cxx -std=c++17 -Wall -Wextra $flags -I \"\$root/include\" -I \"\$work\" \"\$here/settings_main.cpp\" -o \"\$work/settings\" \
    \"\$library\" -Wl,-rpath,\"\$(dirname \"\$library\")\""
"$work/settings"
