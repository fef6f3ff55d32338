#!/bin/sh
# Two processes use one folder of compiled kernels at once, and one or both are killed with SIGKILL at random moments. A
# survivor must neither fail nor warn, nor may those that come later; they find whole entries, and the next that writes
# removes the temporary files of the killed. From time to time the folder begins empty again.
# Usage: kill_and_share.sh PROGRAM WORK_FOLDER [KILLS [SEED]]
# test training: @shared_cache@ @folder@ 12
set -u
program=$1 work=$2 kills=${3:-200} seed=${4:-1}
rm -rf "$work"
mkdir -p "$work"
folder=$work/cache
export POCL_CACHE_DIR="$work/pocl" # a kill may leave its files in any state, too

fail() {
    echo "kill $killed (seed $seed): $1"
    cat "$work"/errors.* 2>/dev/null
    kill -KILL $one $other 2>/dev/null
    exit 1
}

# Ends a process that was to run without end: killed here, unless it failed before.
end() {
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    [ $? -eq 137 ] || fail "a process ended by itself"
}

# With the driver's own kernels at hand: how long a process takes from nothing is the range of the moments.
killed=0 one= other=
"$program" "$work/first" 1 >/dev/null || fail "a process that nobody kills fails"
begin=$(date +%s%N)
"$program" "$work/second" 1 >/dev/null || fail "a process that nobody kills fails"
longest=$(( ($(date +%s%N) - begin) / 1000000 ))

left=0 emptied=0
moments=$(awk -v n="$kills" -v most="$longest" -v seed="$seed" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f:%d\n", (0.05 + 1.5 * rand()) * most / 1000, 8 * rand() }')
for moment in $moments; do
    [ "${moment#*:}" -gt 1 ] || { rm -rf "$folder"; emptied=$((emptied + 1)); }
    "$program" "$folder" >/dev/null 2>"$work/errors.one" &
    one=$!
    "$program" "$folder" >/dev/null 2>"$work/errors.other" &
    other=$!
    sleep "${moment%:*}"
    end $one
    killed=$((killed + 1))
    kill -0 $other 2>/dev/null || fail "the other process ended by itself"
    [ "${moment#*:}" -lt 4 ] || sleep 0.05
    end $other
    [ ! -s "$work/errors.other" ] && [ ! -s "$work/errors.one" ] || fail "a warning"
    [ -d "$folder" ] && ls "$folder" | grep -q '\.tmp$' && left=$((left + 1))
    "$program" "$folder" 2 >"$work/told" 2>"$work/errors.next" || fail "the next process fails"
    grep -q '^built 0$' "$work/told" || fail "entries are not used: $(cat "$work/told")"
    ! ls "$folder" | grep '\.tmp$' || fail "temporary files are left"
done
echo "$killed kills within $((longest * 3 / 2)) ms, $left of them with a temporary file left; the folder was emptied $emptied times"
