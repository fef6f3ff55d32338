#!/bin/sh
# The passes that docs/architecture.md lists, in its table "The passes of a plan", are those that src/plan/plan.c and src/plan/fit.c call, in that order, and
# each is defined in the folder of its row. Usage: check_passes.sh ROOT
# test: @source@
set -eu
cd "$1"

rows=$(sed -n '/^## The passes of a plan/,/^## /s/^| `\(src\/plan\/[a-z]*\)` | `\([a-z_]*\)` .*/\1 \2/p' docs/architecture.md)
[ -n "$rows" ] || { echo "docs/architecture.md has no table of passes"; exit 1; }
bad=0 said=
while read -r folder function; do
    said="$said $function"
    grep -qE "^(weft_status|void|bool) $function\(" "$folder"/*.c || { echo "$folder does not define $function"; bad=1; }
done <<EOF
$rows
EOF

# Of build() and of the functions that it calls, what src/plan defines elsewhere and takes or gives one of the plan's structures.
called=$(awk '
/^static [a-z_ ]+\**[a-z_]+\(/ || /^weft_status wi_plan_fit\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); body[name] = ""; own = name }
own { body[own] = body[own] "\n" $0 }
/^}/ { own = "" }
function walk(name, text, word) {
    text = body[name]
    while (match(text, /[a-z_]+\(/)) {
        word = substr(text, RSTART, RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        if (word in body && word != name && !walked[word]++) walk(word)
        else if (word ~ /^wi_/) print word
    }
}
END { walk("build") }' src/plan/plan.c src/plan/fit.c |
    grep -vxE 'wi_(plan_end_pass|plan_fit|verify_is_on|process_check_driver|dump_begin|forced_check|check_writers|log_line|node_print|count_micro_batches|[a-z_]*_clear|buffer_[a-z_]*|missing_bytes|changes_device|value_bytes|launches_left_out|count_layout_conversions|graph_(variable|host)_bytes|min64|bytes_to_move|schedule_unfix|arena_[a-z]*)' |
    awk '{ printf " %s", $1 }')
[ "$called" = "$said" ] || { printf 'plan.c and fit.c call%s\ndocs/architecture.md names%s\n' "$called" "$said"; bad=1; }
exit $bad
