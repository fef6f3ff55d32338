#!/bin/sh
# Each function and macro of C can be reached from weft.hpp: its code, without comments, calls the function, or defines a
# function of the macro's name. Usage: check_cpp_calls.sh ROOT GENERATED
# test: @source@ @build@/generated/include
set -eu
root=$1
code=$(mktemp)
trap 'rm -f "$code"' EXIT
cat "$2/weft/calls.hpp" "$root"/include/weft/*.hpp |
    awk '{ text = text $0 "\n" } END {
        while ((begin = index(text, "/*")) > 0) {
            end = index(substr(text, begin), "*/")
            printf "%s", substr(text, 1, begin - 1)
            text = substr(text, begin + end + 1)
        }
        print text }' >"$code"
# What the functions behind weft_input and weft_parameter do is done by weft_input_shape and weft_parameter_shape.
excused=" weft_input_dims weft_parameter_dims "
macros=" $(sed -n 's/^#define \(weft_[a-z0-9_]*\)(.*/\1/p' "$root"/include/weft/*.h | tr '\n' ' ')"
bad=0 count=0
for name in $(awk -f "$root/tests/structure/public_calls.awk" "$root"/include/weft/*.h | sort -u); do
    count=$((count + 1))
    case $excused in *" $name "*) continue ;; esac
    grep -qw "$name" "$code" && continue
    case $macros in *" $name "*) grep -qE "^inline [a-z:_<>, ]+ ${name#weft_}\(" "$code" && continue ;; esac
    echo "$name cannot be called in C++"
    bad=1
done
[ "$count" -gt 500 ] || { echo "only $count functions"; bad=1; }
lines=$(cat "$root"/include/weft/*.hpp | wc -l)
[ "$lines" -le 500 ] || { echo "weft.hpp and core.hpp have $lines lines, of 500 at most"; bad=1; }
exit $bad
