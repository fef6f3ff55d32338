#!/bin/sh
# A wrong call of a program ends with the status and one line that holds the text, on stderr alone.
# Usage: check_usage.sh STATUS TEXT PROGRAM [ARGUMENT...]
set -u
status=$1 text=$2
shift 2
errors=$(mktemp) && output=$("$@" 2>"$errors")
got=$?
lines=$(wc -l <"$errors") told=$(cat "$errors")
rm -f "$errors"
bad() { echo "$*: exit status $got, \"$told\""; exit 1; }
[ "$got" -eq "$status" ] || bad "expected exit status $status"
[ "$lines" -eq 1 ] || bad "expected one line"
[ -z "$output" ] || bad "expected nothing on stdout"
case $told in *"$text"*) ;; *) bad "expected \"$text\"" ;; esac
