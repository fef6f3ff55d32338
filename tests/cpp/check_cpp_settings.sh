#!/bin/sh
# Each field of a struct with setters has a setter, which changes the struct: the fields are those that the compiler sees.
# Usage: check_cpp_settings.sh ROOT GENERATED WORK_DIR CC CXX LIBRARY [FLAGS]
# test: @source@ @build@/generated/include @folder@ @cc@ @cxx@ @weft@ "@flags@"
set -eu
root=$1 generated=$2 work=$3 cc=$4 cxx=$5 library=$6 flags=${7-}
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$work"
mkdir -p "$work"
classes=$(sed -n 's/^class [a-z0-9_]* : public detail::settings<[a-z0-9_]*, weft_\([a-z0-9_]*\)> {/\1/p' "$generated/weft/calls.hpp")

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
eval "\$cxx -std=c++17 -Wall -Wextra $flags -I \"\$root/include\" -I \"\$generated\" -I \"\$work\" \"\$here/settings_main.cpp\" -o \"\$work/settings\" \
    \"\$library\" -Wl,-rpath,\"\$(dirname \"\$library\")\""
"$work/settings"
