#!/bin/sh
# A relative link of a document leads to a file or folder, and one with #heading to a heading of that document.
# Usage: check_links.sh ROOT
#
# Looks at [text](target) outside of code blocks in every *.md file. A heading's name is its text in lower case, with
# hyphens for spaces and without punctuation, as forges make it. Links to other sites are not followed.
# test: @source@
set -eu
cd "$1"
bad=0 count=0

# links FILE: the targets, one a line.
links() {
    awk '/^ *```/ { code = !code; next } !code' "$1" | sed 's/`[^`]*`//g' | grep -o '](<*[^)>]*' | sed 's/^](<*//' || true
}
# headings FILE: the names of its headings.
headings() {
    awk '/^ *```/ { code = !code; next } !code && /^#+ /' "$1" | sed 's/^#* //' | tr '[:upper:]' '[:lower:]' |
        sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

documents=$(find . \( -path ./.git -o -path ./build -o -path ./.cache \) -prune -o -name '*.md' -print | LC_ALL=C sort)
for file in $documents; do
    count=$((count + 1))
    for link in $(links "$file"); do
        case $link in *://* | mailto:*) continue ;; esac
        path=${link%%#*}
        if [ -n "$path" ]; then target=$(dirname "$file")/$path; else target=$file; fi
        [ -e "$target" ] || { echo "$file: $link leads nowhere"; bad=1; continue; }
        case $link in *'#'*) ;; *) continue ;; esac
        [ -f "$target" ] && headings "$target" | grep -q -x -F -e "${link#*#}" ||
            { echo "$file: $link: no such heading"; bad=1; }
    done
done
[ "$count" -gt 0 ] || { echo "no documents"; exit 1; }
exit $bad
