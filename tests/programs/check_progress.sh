#!/bin/sh
# A command shows how many kernels are prepared: on a terminal in one line that is gone when they are there, elsewhere not within
# five seconds. Nothing of it goes to the standard output. Usage: check_progress.sh FOLDER COMMAND...
set -u
folder=$1
shift
rm -rf "$folder"
mkdir -p "$folder"
bad() { echo "$*"; exit 1; }
script -qc true /dev/null >/dev/null 2>&1 </dev/null || { echo "skipped: there is no pseudo-terminal"; exit 77; }
erased=$(printf '\r\033[K')

export POCL_CACHE_DIR="$folder/pocl" WEFT_CACHE_DIR="$folder/weft"
command="'$1'"
shift
for word in "$@"; do command="$command '$word'"; done
script -qec "$command >'$folder/out'" "$folder/terminal" >/dev/null </dev/null || bad "it failed: $(cat "$folder/terminal")"
shown=$(tr '\r' '\n' <"$folder/terminal")
total=$(echo "$shown" | sed -n 's/.*preparing: 0 of \([0-9]*\) kernels$/\1/p' | head -n 1)
[ -n "$total" ] || bad "no number of kernels: $shown"
echo "$shown" | grep -q "preparing: 1 of $total kernels" || bad "they are not counted: $shown"
rest=$(sed '/^Script /d' "$folder/terminal")
[ -z "${rest##*"$erased"}" ] || bad "a part of a line is left: $rest"
grep -q preparing "$folder/out" && bad "the standard output has it: $(cat "$folder/out")"
sh -c "$command" >"$folder/out" 2>"$folder/err" || bad "it failed: $(cat "$folder/err")"
[ ! -s "$folder/err" ] || bad "expected no line without a terminal: $(cat "$folder/err")"
