#!/bin/sh
# The worked examples of docs/adding apply to the tree, each alone and all one after another, and none takes more places
# than docs/adding.md promises. A place is a run of changed lines, with nothing unchanged between them, or a new file.
# Usage: check_adding.sh ROOT
# test: @source@
set -u
root=$(cd "$1" && pwd)
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
bad=0

limits='elementwise-op 4
structured-op 7
matrix-product 3
number-format 6
device-kind 2'

complain() {
    echo "$1"
    bad=1
}

# The files that a diff changes, those that it adds left out.
changed_files() {
    sed -n 's|^--- a/||p' "$1"
}

places() {
    awk '
        /^diff / { header = 1; added = 0 }
        /^new file/ { added = 1; count++ }
        /^@@/ { header = inside = 0; next }
        header || added { next }
        /^[-+]/ { if (!inside) count++; inside = 1; next }
        { inside = 0 }
        END { print count + 0 }' "$1"
}

# fetch FOLDER DIFF: the files that the diff changes, into the folder.
fetch() {
    changed_files "$2" | while IFS= read -r file; do
        mkdir -p "$1/$(dirname "$file")"
        [ -f "$1/$file" ] || cp "$root/$file" "$1/$file" || exit 1
    done
}

# apply FOLDER DIFF: exactly, but for line numbers.
apply() {
    : >"$copy/patch.log"
    fetch "$1" "$2" && patch -d "$1" -p1 -F0 -N -s -i "$2" >"$copy/patch.log" 2>&1 && return
    cat "$copy/patch.log"
    return 1
}

mkdir "$copy/all"
for diff in "$root"/docs/adding/*.diff; do
    name=$(basename "$diff" .diff)
    limit=$(echo "$limits" | sed -n "s/^$name //p")
    [ -n "$limit" ] || { complain "docs/adding/$name.diff: check_adding.sh has no limit for it"; continue; }
    count=$(places "$diff")
    [ "$count" -gt 0 ] && [ "$count" -le "$limit" ] ||
        complain "docs/adding/$name.diff: $count places, of $limit at most"
    grep -qF "| [$name](adding/$name.diff) | $count |" "$root/docs/adding.md" ||
        complain "docs/adding/$name.diff: docs/adding.md does not say that it takes $count places"
    mkdir "$copy/one"
    apply "$copy/one" "$diff" || complain "docs/adding/$name.diff does not apply; docs/adding.md says how to refresh it"
    rm -rf "$copy/one"
    apply "$copy/all" "$diff" || complain "docs/adding/$name.diff does not apply after those before it"
done
for name in $(echo "$limits" | cut -d' ' -f1); do
    [ -f "$root/docs/adding/$name.diff" ] || complain "docs/adding/$name.diff is not there"
done
exit $bad
