#!/bin/sh
# One of two processes is killed at a moment that the date draws among those of a whole run: the job ends within ten seconds. Resumed by another number of processes, it saves
# the same bits as a training that nothing disturbs. Usage: check_killed_together.sh PROGRAM FOLDER [TIMES]
#
# test.killed slow: @train_together@ @folder@ 5
set -eu
program=$1 folder=$2 times=${3:-5}
. "$(dirname "$0")/launch.sh"

export TOGETHER_IS_SLOW=1
milliseconds() { date +%s%3N; }
began=$(milliseconds)
together 2 4 alone.safetensors none checkpoints || fail "two processes fail" messages
takes=$(($(milliseconds) - began))
number=$(date +%s)
killings=0
for time in $(seq "$times"); do
    number=$(((number * 1103515245 + 12345) % 2147483648))
    rm -rf checkpoints together.safetensors
    mpirun --bind-to none -n 2 "$program" 4 together.safetensors none checkpoints >out 2>messages &
    launcher=$!
    moment=$((takes * (number / 65536 % 1000) / 1000))
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    victim=$(pgrep -P "$launcher" -x train_together | sed -n "$((number / 4096 % 2 + 1))p" || true)
    [ -z "$victim" ] || killings=$((killings + 1))
    [ -z "$victim" ] || kill -9 "$victim" 2>/dev/null || true
    killed=$(date +%s)
    wait "$launcher" || true
    [ $(($(date +%s) - killed)) -le 10 ] || [ -z "$victim" ] || fail "the job took more than 10 s to end" messages
    together $((number / 1024 % 3 + 1)) 4 together.safetensors none checkpoints || fail "it cannot be resumed" messages
    cmp -s alone.safetensors together.safetensors || fail "killed the ${time}th time and resumed, it saves other weights"
    echo "killed process ${victim:-none} after $moment ms of $takes"
done
echo "$killings of $times jobs were disturbed"
[ "$killings" -gt 0 ] || fail "every job had ended before it could be disturbed"
