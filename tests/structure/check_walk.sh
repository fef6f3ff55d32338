#!/bin/sh
# The walk of docs/internals.md, "From a call to a launch": each function is defined in the file of its row, and is named in another
# file of that folder or of an earlier row's, so that the walk is one from caller to callee. Usage: check_walk.sh ROOT
# test: @source@
set -eu
cd "$1"

rows=$(sed -n '/^## From a call to a launch/,/^## /s/^| `\(src[^`]*\)` | `\([a-z0-9_]*\)` .*/\1 \2/p' docs/internals.md)
[ "$(echo "$rows" | wc -l)" -ge 10 ] || { echo "docs/internals.md has no walk"; exit 1; }
bad=0 files=
while read -r file function; do
    grep -qE "^[a-z_].*\b$function\(|^[a-z].* \*$function\(" "$file" || { echo "$file does not define $function"; bad=1; }
    folder=$(dirname "$file")
    # shellcheck disable=SC2086
    if [ -n "$files" ] && ! grep -lw "$function" $files "$folder"/*.c | grep -qvxF "$file"; then
        echo "$function is called nowhere above $file"
        bad=1
    fi
    files="$files $folder/*.c"
done <<EOF
$rows
EOF
exit $bad
