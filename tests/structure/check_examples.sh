#!/bin/sh
# Every function that a program can call stands in an example that a test compiles: a sample, a program of docs/examples, or
# a C program that a page shows whole, behind "<!-- prints: PATTERN -->".
# Usage: check_examples.sh ROOT
# test: @source@
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
bad=0

# What the macros of these names call: an example of weft_input(...) is one of weft_input_dims.
by_macro="weft_input_dims weft_parameter_dims weft_flip_list_ weft_permute_list_ weft_reshape_list_ weft_squeeze_list_"

declared=$(awk -f "$here/public_calls.awk" include/weft/*.h | sort -u)
[ -n "$declared" ] || { echo "include/weft declares no functions"; exit 1; }

pages=$(grep -l '^<!-- prints: ' README.md docs/*.md docs/tutorial/*.md 2>/dev/null || true)
[ -n "$pages" ] || { echo "no page shows a program"; exit 1; }
# Samples with weft/short_names.h, and those that include a header with it, call functions by their short names.
with_short=$(grep -l 'weft/short_names\.h' samples/*.[ch] || true)
for header in $(echo "$with_short" | sed -n 's@^samples/\(.*\.h\)$@\1@p'); do
    with_short="$with_short $(grep -l "\"$header\"" samples/*.c)"
done
# shellcheck disable=SC2086
by_short=$([ -z "$with_short" ] || cat $with_short | sed 's@/\*.*\*/@@; s@//.*@@' | grep -oE '[a-z0-9_]+\(' | sed 's/^/weft_/; s/($//')
# Without comments, which may name a function that the code does not call.
called=$( (cat samples/*.c samples/*.h docs/examples/*.c
    # shellcheck disable=SC2086
    awk '/^```c$/ { inside = 1; next } /^```/ { inside = 0 } inside' $pages) |
    sed 's@/\*.*\*/@@; s@//.*@@' | grep -oE 'weft_[a-z0-9_]+' | sort -u
    echo "$by_short" | sort -u)

missing=0
for name in $declared; do
    case " $by_macro " in *" $name "*) continue ;; esac
    case "
$called
" in *"
$name
"*) continue ;; esac
    echo "$name stands in no example: samples/, docs/examples/, or a program that a page shows"
    missing=$((missing + 1))
done
[ "$missing" -eq 0 ] || bad=1
for name in $by_macro; do
    case "
$declared
" in *"
$name
"*) ;; *) echo "$name is excused, but not declared"; bad=1 ;; esac
done
exit $bad
