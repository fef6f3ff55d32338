#!/bin/sh
# A program, or one of its commands, answers --help on one screen, and an unknown option with one line and the status 2. Output that
# cannot be written is an error.
# Usage: check_help.sh PROGRAM [COMMAND]
set -u
program=$1
shift
. "$(dirname "$0")/refusals.sh"
helps "usage: $(basename "$program")" "$@"
[ "$(printf '%s\n' "$told" | wc -l)" -le 24 ] || { echo "--help takes more than a screen"; bad=1; }
refused 2 "--no-such-option" "$@" --no-such-option
if [ -c /dev/full ] && "$program" "$@" --help 2>/dev/null >/dev/full; then echo "lost output is not noticed"; bad=1; fi
exit $bad
