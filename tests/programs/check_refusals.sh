#!/bin/sh
# Each wrong call that FILE lists ends with its status and one line that holds its text.
# Usage: check_refusals.sh PROGRAM FILE FOLDER BUILD
# A line of FILE is "refused: STATUS TEXT [VARIABLE=VALUE...] [ARGUMENT...]", quoted as in a shell; $folder and $build may stand in it.
set -u
program=$1 file=$2 folder=$3 build=$4
here=$(dirname "$0")
bad=0
count=0
while IFS= read -r line; do
    case $line in "refused: "*) ;; *) continue ;; esac
    eval "set -- ${line#refused: }"
    status=$1 text=$2
    shift 2
    settings=
    while :; do
        case ${1-} in [A-Z]*=*) settings="$settings $1" && shift ;; *) break ;; esac
    done
    # shellcheck disable=SC2086
    env $settings sh "$here/check_usage.sh" "$status" "$text" "$program" "$@" || bad=1
    count=$((count + 1))
done <"$file"
[ $count -gt 0 ] || { echo "$file lists no wrong call"; bad=1; }
echo "$count wrong calls of $(basename "$program")"
exit $bad
