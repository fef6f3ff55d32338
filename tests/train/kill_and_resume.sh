#!/bin/sh
# Kills a training that saves checkpoints every few steps, with SIGKILL at random moments. After each kill a copy of what is
# on the disk must go on to the bit-identical end, with the same log, and leave no temporary file; then the training itself
# goes on until the next kill. Usage: kill_and_resume.sh PROGRAM WORK_FOLDER [KILLS [SEED]]
# test training: @interrupted_training@ @folder@ 12
set -u
program=$1 work=$2 kills=${3:-200} seed=${4:-1}
rm -rf "$work"
mkdir -p "$work"

fail() {
    echo "kill $killed (seed $seed): $1"
    exit 1
}

# The end that all must reach, the second time with kernels in the cache: how long it takes is the range of the moments.
killed=0
"$program" "$work/first" "$work/wanted" >/dev/null || fail "the training that nobody kills fails"
begin=$(date +%s%N)
"$program" "$work/second" "$work/again" >/dev/null || fail "the training that nobody kills fails"
longest=$(( ($(date +%s%N) - begin) / 1000000 ))
cmp "$work/wanted" "$work/again" || fail "two trainings that nobody kills differ"

# The log of a training, without the seconds.
lines() {
    sed 's/,"seconds":[0-9.]*}$//' "$1/log.json"
}
lines "$work/first" >"$work/wanted.log"
[ "$(wc -l <"$work/wanted.log")" -gt 100 ] || fail "no log of the steps"

folder=$work/killed left=0 within=0 finished=0
moments=$(awk -v n="$((kills * 20))" -v most="$longest" -v seed="$seed" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f\n", (0.02 + rand()) * most / 1000 }')
for moment in $moments; do
    [ "$killed" -lt "$kills" ] || break
    timeout -s KILL "$moment" "$program" "$folder" "$work/end" >/dev/null 2>"$work/errors"
    status=$?
    if [ $status -eq 0 ]; then # it was faster
        cmp "$work/wanted" "$work/end" || fail "another end"
        rm -rf "$folder"
        finished=$((finished + 1))
        continue
    fi
    [ $status -eq 137 ] || fail "status $status: $(cat "$work/errors")"
    killed=$((killed + 1))
    [ -d "$folder" ] || continue
    ls "$folder" | grep -q '\.tmp$' && left=$((left + 1))
    ls "$folder" | grep -q '^step-' && within=$((within + 1))
    rm -rf "$work/copy"
    cp -R "$folder" "$work/copy"
    "$program" "$work/copy" "$work/end" >"$work/told" 2>&1 || fail "cannot go on: $(cat "$work/told")"
    ! grep '\.safetensors' "$work/told" || fail "a checkpoint could not be read"
    cmp "$work/wanted" "$work/end" || fail "another end, $(cat "$work/told")"
    ! ls "$work/copy" | grep '\.tmp$' || fail "temporary files are left"
    lines "$work/copy" | cmp "$work/wanted.log" - || fail "another log, $(cat "$work/told")"
done
[ "$killed" -eq "$kills" ] || fail "only $killed of $kills kills in time"
[ "$within" -gt 0 ] || fail "no kill came after a checkpoint"
echo "$killed kills within $longest ms, $within of them after a checkpoint, $left with a temporary file left; $finished trainings ended before the kill"
