#!/bin/sh
# No file of the library needs itself by way of others: in the graph of symbols that object files use of one another there is no cycle, but of
# two files of one folder. Tables that the build generates name what all files declare, and are left out. Usage: check_cycles.sh LIBRARY ROOT
# test release: @weft_static@ @source@
set -eu

{ (cd "$2" && find src -name '*.c') && cd "$(dirname "$1")" && nm -A "$(basename "$1")"; } | awk '
# A file, whose name is its own (structure.names)
NF == 1 {
    file = $1
    sub(/.*\//, "", file)
    folder_of[file] = substr($1, 1, length($1) - length(file) - 1)
    next
}
# "libweft.a:queue.c.o:0000000000000010 T wi_queue_flush" or "libweft.a:queue.c.o:                 U clFlush"
{
    file = $1
    sub(/\.o:[^:]*$/, "", file)
    sub(/.*:/, "", file)
    if (!(file in folder_of)) next
    if (!(file in number)) {
        number[file] = ++count
        name[count] = file
    }
    own = number[file]
    if ($(NF - 1) == "U")
        used[own] = used[own] " " $NF
    else if ($(NF - 1) ~ /^[TDBRVW]$/)
        maker[$NF] = own
}
# The cycles are the strongly connected components (Tarjan 1972).
function visit(own, i, symbols, other, size, members, folders, folder) {
    place[own] = low[own] = ++visited
    stack[++depth] = own
    waits[own] = 1
    split(used[own], symbols, " ")
    for (i in symbols) {
        if (!(symbols[i] in maker)) continue
        other = maker[symbols[i]]
        if (!(other in place)) {
            visit(other)
            if (low[other] < low[own]) low[own] = low[other]
        } else if (waits[other] && place[other] < low[own])
            low[own] = place[other]
    }
    if (low[own] != place[own]) return
    do {
        other = stack[depth--]
        waits[other] = 0
        members = members " " name[other]
        folder = folder_of[name[other]]
        if (size++ == 0 || folder != folders) folders = size == 1 ? folder : folders " " folder
    } while (other != own)
    if (size == 1 || (size == 2 && folders !~ / /)) return
    printf "%d files need one another:%s\n", size, members
    bad = 1
}
END {
    for (i = 1; i <= count; i++)
        if (!(i in place)) visit(i)
    if (count == 0) print "the library has no files"
    exit bad || count == 0
}'
