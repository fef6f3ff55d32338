#!/bin/sh
# Functions and files stay short: the functions of src have a median of at most 10 lines, 90 % of them at most 22, and
# none more than 60; none of cl_kernels has more than 80; no file of code has more than 450. A file of
# src or cl_kernels begins with a comment that says what it has.
# Usage: check_functions.sh ROOT
# test: @source@
set -eu
cd "$1"

# Prints "length file:line" for each function of the files: from the first line of its head, which begins in the first
# column, to the brace in the first column that ends it. What a macro makes is not seen.
functions() {
    find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cl' -o -name '*.clh' \) | LC_ALL=C sort |
        xargs awk '
        FNR == 1 { head = ""; inside = 0 }
        inside {
            if (/^}/) { print FNR - line + 1, FILENAME ":" line; inside = 0 }
            next
        }
        /^[ \t]*$/ { head = "" } # what stood before was no head: what makes functions of a macro has no end
        head == "" {
            if (!/^[A-Za-z_]/ || /^(typedef|enum|union|extern)/ || /^struct [A-Za-z0-9_]+ \{/) next
            line = FNR
        }
        {
            head = head $0
            if (!/[;{][ \t]*(\/\*.*\*\/[ \t]*)?$/) next
            before = substr(head, 1, index(head, "(") - 1)
            inside = /\)[ \t]*\{[ \t]*$/ && before !~ /=/
            head = ""
        }'
}

# check FOLDER MEDIAN NINTH MOST: the greatest lengths of the middle function, of the one after nine tenths, of all.
check() {
    functions "$1" | sort -n | awk -v folder="$1" -v median="$2" -v ninth="$3" -v most="$4" '
        { length_of[NR] = $1 }
        $1 > most { print $2 ": a function of " $1 " lines, of " most " at most"; bad = 1 }
        END {
            if (NR == 0) { print "no functions in " folder; exit 1 }
            middle = length_of[int((NR + 1) / 2)]
            long = length_of[int((NR * 9 + 9) / 10)]
            if (middle > median) { print folder ": a median of " middle " lines, of " median " at most"; bad = 1 }
            if (long > ninth) { print folder ": nine tenths within " long " lines, of " ninth " at most"; bad = 1 }
            exit bad
        }'
}

bad=0
check src 10 22 60 || bad=1
check cl_kernels 80 80 80 || bad=1
folders=
for folder in src include cl_kernels programs tools samples workloads bench tests; do
    [ ! -d $folder ] || folders="$folders $folder"
done
find $folders -type f \( -name '*.[ch]' -o -name '*.cl' -o -name '*.clh' -o -name '*.[ch]pp' -o -name '*.py' -o \
    -name '*.sh' \) | LC_ALL=C sort | xargs wc -l |
    awk '$2 != "total" && $1 > 450 { print $2 ": " $1 " lines, of 450 at most"; bad = 1 } END { exit bad }' || bad=1
find src cl_kernels -type f \( -name '*.[ch]' -o -name '*.cl' -o -name '*.clh' \) | LC_ALL=C sort |
    xargs awk 'FNR == 1 && !/^\/\*/ { print FILENAME ": no comment at its beginning"; bad = 1 } END { exit bad }' || bad=1
exit $bad
