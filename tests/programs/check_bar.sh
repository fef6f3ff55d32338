#!/bin/sh
# What a training shows: on a terminal a bar that is never wider, the curve at the end, no colours with NO_COLOR, no escape sequences
# with TERM=dumb; through a pipe a line every five seconds; after SIGINT one whole line. Usage: check_bar.sh PROGRAM FOLDER
# PROGRAM: train_digits.
set -u
program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
bad=0
complain() { echo "$*"; bad=1; }
script -qc true /dev/null >/dev/null 2>&1 </dev/null || { echo "skipped: there is no pseudo-terminal"; exit 77; }
escape=$(printf '\033')

# on_terminal COLUMNS COMMAND: the lines that were drawn in "$folder/shown", in ASCII.
on_terminal() {
    LC_ALL=C script -qec "stty cols $1; $2" "$folder/terminal" >/dev/null </dev/null
    grep -v '^Script ' "$folder/terminal" | tr '\r' '\n' >"$folder/shown"
}

for columns in 20 80; do
    on_terminal $columns "env -u NO_COLOR TERM=xterm '$program' --epochs 3"
    # Bars and the curve; lines of results are as long as they are.
    sed -e "s/$escape\[[0-9]*[mK]//g" "$folder/shown" | grep -e '^epoch [0-9]/3  [^l]' -e '^[0-9]/3 ' -e '^ .*[*]' >"$folder/bars"
    grep -q '^[a-z ]*[123]/3 ' "$folder/bars" || complain "$columns columns: no bar in $(cat "$folder/shown")"
    awk -v most=$columns 'length > most - 1 { print; bad = 1 } END { exit bad }' "$folder/bars" || complain "wider than $columns columns"
    grep -q '[*]' "$folder/bars" || complain "$columns columns: no curve"
done
grep -q "$escape\[36m#" "$folder/shown" || complain "no colour"
on_terminal 80 "TERM=xterm NO_COLOR=1 '$program' --epochs 3"
grep -q "/3  \[#" "$folder/shown" || complain "NO_COLOR: no bar"
grep -q "$escape\[[0-9]*m" "$folder/shown" && complain "NO_COLOR: colours"
on_terminal 80 "TERM=dumb '$program' --epochs 3"
grep -q "$escape" "$folder/shown" && complain "TERM=dumb: escape sequences"

# stop_once PATTERN FILE: SIGINT for the program once the file has such a line, then waits for the job.
stop_once() {
    waited=0
    while ! grep -q "$1" "$2" 2>/dev/null && [ $waited -lt 1200 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    kill -INT "$(cat "$folder/process")"
    wait
}

endless="sh -c 'echo \$\$ >\"$folder/process\"; exec \"$program\" --epochs 100000'"
on_terminal 80 "TERM=xterm $endless" &
stop_once '\[#.*left' "$folder/terminal"
last=$(grep -v '^$' "$folder/shown" | tail -n 1)
case ${last#"$escape[K"} in "train_digits: stopped by signal 2 after step "*) ;; *) complain "the last line after SIGINT: $last" ;; esac
eval "$endless" >"$folder/out" 2>"$folder/err" &
stop_once '^epoch' "$folder/err"
grep -q '^epoch .* steps/s  .* left  loss ' "$folder/err" || complain "no line through a pipe: $(cat "$folder/err")"
[ "$(grep -c . "$folder/err")" -le 3 ] || complain "too many lines: $(cat "$folder/err")"
exit $bad
