#!/bin/sh
# A program that SIGTERM stops during its training ends with a checkpoint and the status 143, and --resume continues to the
# same weights, optimizer state and results as a run that was not stopped.
# Usage: check_resume.sh PROGRAM WORK_FOLDER folder|file [ARGUMENT...]
# folder, file: what the program's --checkpoint names. SAVES=yes: the program has --save, and its file is compared, too.
# The signal comes at moments that are spread over the time that a run takes; with SAVED_FIRST=yes soon after the first checkpoint of
# a run, for programs that take much longer to start than to train.
set -u
program=$1 work=$2 kind=$3
shift 3
name=$(basename "$program")
rm -rf "$work"
mkdir -p "$work"

fail() {
    echo "$name: $1"
    exit 1
}

# run NAME [OPTION...] -- ARGUMENT...: trains with checkpoints under work/NAME; its output is work/NAME.out and .err.
run() {
    run=$1
    shift
    target=$work/$run
    [ "$kind" = folder ] || target=$work/$run.safetensors
    [ "${SAVES-no}" = no ] || set -- --save "$work/$run.weights" "$@"
    ${moment:+timeout --preserve-status -s TERM "$moment"} "$program" --checkpoint "$target" "$@" \
        >"$work/$run.out" 2>"$work/$run.err"
}

# newest NAME: the last checkpoint of a run.
newest() {
    [ "$kind" = folder ] || { echo "$work/$1.safetensors"; return; }
    echo "$work/$1/$(ls "$work/$1" | sort -t - -k 2 | tail -n 1)"
}

# The tensors of a checkpoint. What stands before them holds the seconds of the training.
tensors() {
    length=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    tail -c +$((length + 9)) "$1"
}

# What the user is told about the training, without times: a run that was stopped after its last step has no time of a step.
told() {
    grep -v -e '^continuing after step' "$work/$1.out" | sed -E -e 's/[0-9.]+ m?s( |,|$)/TIME\1/g' -e 's/, TIME a step//'
}

# stop_after_save OPTION...: a run of parts that gets SIGTERM once it has saved a checkpoint.
stop_after_save() {
    saved=$work/parts.safetensors
    touch "$work/begin"
    "$program" --checkpoint "$saved" --resume "$@" >"$work/parts.out" 2>"$work/parts.err" &
    while kill -0 $! 2>/dev/null && ! [ "$saved" -nt "$work/begin" ]; do sleep 0.01; done
    kill -TERM $! 2>/dev/null
    wait $!
}

moment=
run straight "$@" || fail "a run that is not stopped fails: $(cat "$work/straight.err")"
begin=$(date +%s%N) # kernels are compiled now: how long a run takes is the range of the moments
[ "${SAVED_FIRST-no}" = yes ] || run again "$@" || fail "a run that is not stopped fails: $(cat "$work/again.err")"
longest=$((($(date +%s%N) - begin) / 1000))

stops=0
for part in $(seq 2 25) $(seq 2 25) $(seq 2 25); do
    if [ "${SAVED_FIRST-no}" = yes ]; then
        stop_after_save "$@"
        status=$?
    else
        moment=$(awk -v all="$longest" -v part="$part" 'BEGIN { printf "%.4f", all * part / 25 / 1000000 }')
        run parts --resume "$@"
        status=$?
    fi
    if [ $status -eq 143 ]; then
        grep -q "^$name: stopped by signal 15 after step [1-9][0-9]*; --resume continues\$" "$work/parts.err" || continue
        [ -f "$(newest parts)" ] || fail "stopped without a checkpoint"
        stops=$((stops + 1))
        [ $stops -lt 2 ] || break
    elif [ $status -eq 0 ]; then
        [ $stops -eq 0 ] || break
        rm -rf "$work/parts" "$work/parts.safetensors" # it was faster: from the beginning
    else
        fail "status $status: $(cat "$work/parts.err")"
    fi
done
[ $stops -gt 0 ] || fail "no signal came while it trained"

moment=
run parts --resume "$@" || fail "--resume fails: $(cat "$work/parts.err")"
grep -q '^continuing after step [1-9]' "$work/parts.out" || fail "--resume did not continue"
tensors "$(newest straight)" >"$work/wanted"
tensors "$(newest parts)" | cmp "$work/wanted" - || fail "the resumed run ends with another state"
[ "${SAVES-no}" = no ] || cmp "$work/straight.weights" "$work/parts.weights" || fail "the resumed run saves other weights"
told straight | tail -n "$(told parts | wc -l)" >"$work/wanted.out"
told parts | diff "$work/wanted.out" - || fail "the resumed run tells something else"
echo "$name: $stops stops"
