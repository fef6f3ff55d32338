#!/bin/sh
# `weft bench seven` measures, and compares with a peer pair by pair. Usage: check_bench_seven.sh WEFT FOLDER LAYER
#
# The peer is a script that takes 1, 2, 3, ... ms from call to call, among lines of other programs.
set -u
weft=$1 folder=$2 layer=$3
rm -rf "$folder" && mkdir -p "$folder" || exit 1
bad() { echo "$*"; exit 1; }

cat >"$folder/peer" <<'PEER'
#!/bin/sh
echo x >>"$1.calls"
n=$(wc -l <"$1.calls")
echo "a line of something else"
echo "digits-CNN    32       99.0 ms median       98.0 ms min         1234 params"
case $2 in
text) echo "digits-MLP    32        $n.0 ms median        0.5 ms min         1234 params" ;;
json) echo "{\"net\": \"digits-MLP\", \"batch\": 32, \"median_ms\": $n, \"min_ms\": 0.5}" ;;
zero) echo "digits-MLP    32        0.0 ms median        0.5 ms min         1234 params" ;;
fail) exit 7 ;;
esac
PEER

# object COMMAND...: the figures of one network as an object, the only line of the output.
object() {
    got=$("$weft" bench seven --only digits-MLP --steps 3 --json "$@" 2>"$folder/errors") ||
        bad "$*: failed: $(cat "$folder/errors")"
    [ "$(echo "$got" | wc -l)" -eq 1 ] || bad "$*: expected one line: $got"
}
# refused TEXT ARGUMENT...: exit status 1 and a line that holds the text.
refused() {
    text=$1
    shift
    "$weft" bench seven --only digits-MLP --steps 1 --json "$@" >"$folder/output" 2>"$folder/errors"
    [ $? -eq 1 ] || bad "$*: expected exit status 1"
    [ "$(wc -l <"$folder/errors")" -eq 1 ] || bad "$*: expected one line: $(cat "$folder/errors")"
    grep -qF "$text" "$folder/errors" || bad "$*: expected \"$text\": $(cat "$folder/errors")"
    [ ! -s "$folder/output" ] || bad "$*: expected no figures: $(cat "$folder/output")"
}

object
for name in net mode batch median_ms min_ms first_step_ms plan_ms gflops peak_gflops copy_gbytes_s share roofline \
    peak_bytes arena_bytes arena_lower_bound launches compute_units device; do
    case $got in *"\"$name\":"*) ;; *) bad "no $name in $got" ;; esac
done
case $got in *'"net":"digits-MLP","mode":"training","batch":32,'*) ;; *) bad "what is $got" ;; esac

for form in text json; do
    rm -f "$folder/$form.calls"
    object --compare "sh '$folder/peer' '$folder/$form' $form # {net}"
    [ "$(wc -l <"$folder/$form.calls")" -eq 5 ] || bad "$form: expected five calls of the peer"
    case $got in *'"peer_ms":[1,2,3,4,5],'*) ;; *) bad "$form: expected the peer's 1 to 5 ms: $got" ;; esac
    echo "$got" | tr '[]{}' '\n\n\n\n' | awk '
        /"ours_ms":$/ { getline; count = split($0, ours, ",") }
        /"ratio":/ { sub(/.*"ratio":/, ""); ratio = $0 + 0 }
        END {
            for (i = 1; i <= count; i++) r[i] = ours[i] / i
            for (i = 1; i <= count; i++) for (j = i + 1; j <= count; j++) if (r[j] < r[i]) { t = r[i]; r[i] = r[j]; r[j] = t }
            exit !(count == 5 && ratio > 0 && ratio / r[3] > 0.999 && ratio / r[3] < 1.001)
        }' || bad "$form: the ratio is not the median of the pairs: $got"
done
object --inference --batch 7
case $got in *'"mode":"inference","batch":7,'*) ;; *) bad "what is $got" ;; esac

object --profile --trace "$folder/trace.json"
case $got in *'"profile":{"device":'*'"rows":[{"kind":'*'"roofline":'*) ;; *) bad "no profile in $got" ;; esac
case $(cat "$folder/trace.json") in '{"traceEvents":['*'"ph":"X"'*) ;; *) bad "no trace in trace.json" ;; esac
"$weft" bench seven --only digits-MLP --steps 1 --precision bf16 >"$folder/output" || bad "--precision failed"
"$weft" bench seven --only digits-MLP --steps 1 --profile >"$folder/output" || bad "--profile failed"
grep -q "all steps .*100.0%" "$folder/output" || bad "no sum in $(cat "$folder/output")"
grep -q "wall time .* ms, of which the host spent" "$folder/output" || bad "no wall in $(cat "$folder/output")"

refused "no/such" --trace no/such/trace.json
refused "ended with status 7" --compare "sh '$folder/peer' '$folder/fail' fail"
refused "has the milliseconds of digits-MLP" --compare "sh '$folder/peer' '$folder/none' none"
refused "takes 0 ms" --compare "sh '$folder/peer' '$folder/zero' zero"
# Memory that copies are measured with is filled before a network's plan, whose time would else have that in it.
got=$(OPENCL_LAYERS=$layer FAULT_OPENCL="clEnqueueFillBuffer 1 -5 later" "$weft" bench seven --only digits-MLP --steps 1 2>/dev/null)
[ $? -eq 1 ] && [ -z "$got" ] || bad "a plan was made before the memory was filled: $got"
refused "at batch size 32, not 16" --batch 16 --compare "sh '$folder/peer' '$folder/batch' text"
exit 0
