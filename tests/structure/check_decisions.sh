#!/bin/sh
# A page of docs/decisions is one topic: its first line is its title, its second paragraph says for whom and about what it is, and
# docs/decisions/README.md lists all pages. There are at most 40 pages, and 2,500 lines.
# Usage: check_decisions.sh ROOT [--write]      (--write: the list in README.md is written anew)
# test: @source@
set -eu
cd "$1/docs/decisions"
bad=0

pages() {
    for page in *.md; do
        [ "$page" = README.md ] || echo "$page"
    done
}

# The rows of the list.
rows() {
    for page in $(pages); do
        awk -v page="$page" '
            NR == 1 { sub(/^# /, ""); title = $0 }
            NR > 2 && $0 == "" { exit }
            NR > 2 { about = about (about == "" ? "" : " ") $0 }
            END {
                sub(/^For those who change Weft: (this page decides )?/, "", about)
                print "| [" title "](" page ") | " about " |"
            }' "$page"
    done
}

# The list without its rows, which begin with "| [".
frame() {
    grep -v '^| \[' README.md
}

for page in $(pages); do
    head -n 1 "$page" | grep -q '^# [^ ]' || { echo "docs/decisions/$page: the first line is not '# TITLE'"; bad=1; }
    sed -n 3p "$page" | grep -q '^For those who change Weft: [^ ]' ||
        { echo "docs/decisions/$page: the third line does not begin with 'For those who change Weft: '"; bad=1; }
done
count=$(pages | wc -l) lines=$(cat ./*.md | wc -l)
[ "$count" -gt 0 ] || { echo "no decisions"; exit 1; }
[ "$count" -le 40 ] || { echo "docs/decisions: $count pages, at most 40"; bad=1; }
[ "$lines" -le 2500 ] || { echo "docs/decisions: $lines lines, at most 2500"; bad=1; }
if [ "${2-}" = --write ]; then
    { frame; rows; } >README.md.new && mv README.md.new README.md
fi
{ frame; rows; } | cmp -s - README.md || { echo "docs/decisions/README.md: the list differs from the pages; see --write"; bad=1; }
exit $bad
