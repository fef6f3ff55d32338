#!/bin/sh
# Every block of C that a page shows compiles without a warning: whole programs, functions, and statements, which are
# put into a function, with the names that shown_names.h declares. Usage: check_pages.sh ROOT CC
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$1 cc=$2
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT
cd "$root"

# Writes each block as PAGE.LINE.c, '/' of the page's path as '_'. One that has a line "#include ..." or "static ... {" stands
# outside of functions.
split='
/^```c$/ { inside = 1; text = ""; outside = includes = 0; first = FNR; next }
/^```/ && inside {
    name = FILENAME; gsub("/", "_", name); file = blocks "/" name "." first ".c"
    if (!includes) print "#include \"shown_names.h\"" >file
    if (!outside) print "void shown(void);\nvoid shown(void) {" >file
    printf "#line %d \"%s\"\n%s", first + 1, FILENAME, text >file
    if (!outside) print "}" >file
    close(file); inside = 0
}
inside { text = text $0 "\n"; includes = includes || /^#include/; outside = outside || /^#include|^static .*\{$/ }
'
find README.md docs -name '*.md' | sort | while read -r page; do
    LC_ALL=C awk -v blocks="$blocks" "$split" "$page"
done
set -- "$blocks"/*.c
[ -e "$1" ] || { echo "no page of $root shows C"; exit 1; }
bad=0
for file; do
    "$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Wno-unused -Werror -fsyntax-only -Iinclude -I"$here" \
        "$file" || bad=1
done
exit $bad
