#!/bin/sh
# The header is the reference card: every public function has a comment, every op of the table stands in the public
# headers and in docs/ops.md, and that page names nothing that the headers lack. An op whose comment begins with what it
# is in PyTorch ("torch.sinc: ..."; "F.x: ...") differs in nothing, and needs no line there.
# Usage: check_documented.sh ROOT
#
# A function's comment stands on the lines of its declaration, or above it with no blank line and no function that has
# a comment of its own between them. A heading ("---- ... ----") is no comment.
# test: @source@
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
bad=0

# Rows of the table that are internal, without a public function: none so far. One is listed here with its reason.
internal=""

uncommented() {
    awk '
        function finish() {
            own = declaration ~ /\/\*/
            match(declaration, /weft_[a-z0-9_]+\(/)
            if (!own && !above) print FILENAME ": " substr(declaration, RSTART, RLENGTH - 1) " has no comment"
            if (own) above = 0
            declaration = ""
        }
        FNR == 1 { inside = heading = above = 0; declaration = "" }
        inside { if (/\*\//) { inside = 0; above = !heading }; next }
        /^$/ { above = 0; next }
        declaration == "" && /^\/\*/ {
            above = 0
            heading = /^\/\* ----/
            if (!/\*\//) inside = 1
            else above = !heading
            next
        }
        /^WEFT_API/ || declaration != "" {
            declaration = declaration $0
            if (/;/) finish()
        }' "$@"
}

declared=$(awk -f "$here/public_calls.awk" include/weft/*.h)
[ -n "$declared" ] || { echo "include/weft declares no functions"; exit 1; }

missing=$(uncommented include/weft/*.h)
[ -z "$missing" ] || { echo "$missing"; bad=1; }

ops=$(sed -n 's/^WI_[A-Z0-9_]*(\([a-z0-9_]*\)[ ,)].*/\1/p' src/ops/op_list.h)
[ -n "$ops" ] || { echo "src/ops/op_list.h has no ops"; exit 1; }
documented=$(grep -o '`weft_[a-z0-9_]*`' docs/ops.md | tr -d '`' | sort -u)
[ -n "$documented" ] || { echo "docs/ops.md names no functions"; exit 1; }
alike=$(sed -nE 's@^WEFT_API .*(weft_[a-z0-9_]+)\(.*; */\* (torch|F)\.[A-Za-z0-9_.]+: .*@\1@p' include/weft/*.h)

# contains LIST NAME: NAME is a whole line of LIST.
contains() {
    case "
$1
" in *"
$2
"*) return 0 ;; esac
    return 1
}
for op in $ops; do
    case " $internal " in *" $op "*) continue ;; esac
    contains "$declared" "weft_$op" || { echo "$op: no weft_$op in include/weft"; bad=1; }
    contains "$documented
$alike" "weft_$op" || { echo "$op: no \`weft_$op\` in docs/ops.md"; bad=1; }
done
for name in $documented; do
    grep -qw "$name" include/weft/*.h || { echo "docs/ops.md: $name is not in include/weft"; bad=1; }
done
exit $bad
