#!/bin/sh
# Every block of C that a page shows compiles without a warning: whole programs, functions, and statements, which are
# put into a function, with the names that shown_names.h declares. So does every call within a page's text, as `weft_relu(x)`,
# unless it has "..." in it. Decisions are left out: they tell of their time. Usage: check_pages.sh ROOT CC
# test: @source@ @cc@
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1 cc=$2
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
cd "$root"

# Writes each block as PAGE.LINE.c, '/' of the page's path as '_', and the calls of the text as PAGE.0.c. A block that has a
# line "#include ..." or "static ... {" stands outside of functions.
split='
function begin(line, includes, outside) {
    name = FILENAME; gsub("/", "_", name); file = blocks "/" name "." line ".c"
    if (!includes) print "#include \"shown_names.h\"" >file
    if (!outside) print "void shown(void);\nvoid shown(void) {" >file
    return file
}
/^```/ && inside {
    file = begin(first, includes, outside)
    printf "#line %d \"%s\"\n%s%s", first + 1, FILENAME, text, outside ? "" : "}\n" >file
    close(file); inside = 0; next
}
/^```c$/ { inside = 1; text = ""; outside = includes = 0; first = FNR; next }
/^```/ { other = !other }
inside { text = text $0 "\n"; includes = includes || /^#include/; outside = outside || /^#include|^static .*\{$/ }
!inside && !other {
    count = split($0, spans, "`")
    for (i = 2; i <= count; i += 2)
        if (spans[i] ~ /^weft_[a-z0-9_]+\(.+\)$/ && spans[i] !~ /\.\.\./)
            calls = calls sprintf("#line %d \"%s\"\n(void)(%s);\n", FNR, FILENAME, spans[i])
}
END {
    if (!calls) exit
    file = begin(0, 0, 0)
    printf "%s}\n", calls >file
}
'
find README.md docs -name '*.md' ! -path 'docs/decisions/*' | sort | while read -r page; do
    LC_ALL=C awk -v blocks="$blocks" "$split" "$page"
done
mkdir "$blocks/weft"
awk -f "$here/../../cmake/write_short_names.awk" include/weft/*.h >"$blocks/weft/short_names.h"
set -- "$blocks"/*.c
[ -e "$1" ] || { echo "no page of $root shows C"; exit 1; }
bad=0
for file; do
    "$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Wno-unused -Werror -fsyntax-only -Iinclude -I"$blocks" -I"$here" \
        "$file" || bad=1
done
exit $bad
