#!/bin/sh
# weft cache exports the kernels of a folder and imports them into another one; what is wrong is one line and leaves no file.
# Usage: check_cache.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2/cache
rm -rf "$folder" && mkdir -p "$folder"
cd "$folder"
bad() { echo "$*"; exit 1; }
refused() { # STATUS TEXT ARGUMENT...: the command fails with one line that has the text
    status=$1 text=$2 code=0
    shift 2
    "$program" cache "$@" >said 2>error || code=$?
    [ "$code" = "$status" ] && [ ! -s said ] && [ "$(wc -l <error)" = 1 ] && grep -q -- "$text" error ||
        bad "weft cache $*: status $code, $(cat said error)"
}

export WEFT_CACHE_DIR="$folder/first"
refused 1 "there are no compiled kernels of" export kernels
[ ! -e kernels ] || bad "a file without kernels"
POCL_KERNEL_CACHE=0 "$program" check --only mul >said || bad "$(cat said)"
"$program" cache export kernels | grep -q '^exported [1-9][0-9]* OpenCL programs\{0,1\} of ' || bad "no answer to export"
export WEFT_CACHE_DIR="$folder/second"
refused 2 "cache needs export or import, not" kernels
refused 2 "there is no file to import" import
refused 2 "cache does not understand --fast" import kernels --fast
refused 1 "no such file\|No such file\|cannot" import none
head -c 1000 kernels >part
refused 1 "'part' is damaged" import part
"$program" cache import kernels | grep -q '^imported [1-9][0-9]* OpenCL programs\{0,1\} of ' || bad "no answer to import"
"$program" cache export again >said || bad "nothing was imported"
[ "$(wc -c <again)" = "$(wc -c <kernels)" ] || bad "other kernels than were exported"
"$program" check --only mul >said || bad "$(cat said)"
"$program" cache --help | grep -q '^usage: weft cache export FILE' || bad "no help"
