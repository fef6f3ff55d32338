#!/bin/sh
# Every variable of the environment that the library reads has a row in a table of docs/concepts.md or docs/internals.md, every row is of
# a variable that it reads, and the row of a switch has each of its values.
# Usage: check_environment.sh ROOT
# test: @source@
set -eu
cd "$1"
bad=0
complain() { echo "$1"; bad=1; }

# Files whose tables name variables; elsewhere the name stands in the call.
tables="src/cl/environment.c src/kernels/forced.c"
# They read variables of the launchers of MPI.
others="src/dist/plug_in_posix.c src/dist/distributed.c"
for file in $tables; do
    [ -f "$file" ] || { echo "there is no $file"; exit 1; }
done
for file in $(grep -rlwE '_?w?getenv' src || true); do
    [ "${file%_*}" = src/base/platform ] || complain "$file calls getenv: wi_environment does that"
done
for file in $(grep -rlE 'wi_environment\([^"c]' --include='*.c' src || true); do
    case " $tables $others " in *" $file "*) ;; *) complain "$file: the call of wi_environment does not name its variable" ;; esac
done

read_names=$({ grep -rhoE 'wi_environment\("WEFT_[A-Z_]+"' src || true; grep -hoE '"WEFT_[A-Z_]+"' $tables || true; } |
    grep -oE 'WEFT_[A-Z_]+' | sort -u)
[ -n "$read_names" ] || { echo "src reads no variables"; exit 1; }
rows=$(grep -hE '^\| `WEFT_[A-Z_]+` \|' docs/concepts.md docs/internals.md || true)
row_names=$(echo "$rows" | sed 's/^| `\([A-Z_]*\)`.*/\1/' | sort)
for name in $read_names; do
    echo "$row_names" | grep -qx "$name" || complain "$name has no row in docs/concepts.md or docs/internals.md"
done
for name in $(echo "$row_names" | uniq); do
    echo "$read_names" | grep -qx "$name" || complain "$name has a row in the documents, but src does not read it"
done
for name in $(echo "$row_names" | uniq -d); do complain "$name has two rows"; done

switches=$(tr '\n' ' ' <src/cl/environment.c | grep -oE '\{"WEFT_[A-Z_]+", *\{[^}]*\}' | tr -d ' ' || true)
[ -n "$switches" ] || { echo "src/cl/environment.c has no switches"; exit 1; }
for switch in $switches; do
    name=$(echo "$switch" | sed 's/{"\([A-Z_]*\)".*/\1/')
    for value in $(echo "$switch" | sed 's/^[^,]*,{//' | tr -d '"}' | tr ',' ' '); do
        echo "$rows" | grep -E "^\| \`$name\` " | grep -qF "\`$value\`" || complain "$name: the row does not say what $value means"
    done
done
exit $bad
