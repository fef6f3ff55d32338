#!/bin/sh
# Each record of a decision, docs/decisions/NNNN-title.md, begins with its number and title, says its status and date, and has a row
# with the same title in the list of them. Usage: check_decisions.sh ROOT
# test: @source@
set -eu
cd "$1/docs/decisions"
bad=0 count=0

# needs PATTERN WHAT: among the first lines of the record.
needs() {
    head -n 5 "$record" | grep -q "$1" || { echo "docs/decisions/$record: $2"; bad=1; }
}

for record in [0-9]*.md; do
    [ -f "$record" ] || continue
    count=$((count + 1))
    number=${record%%-*}
    needs "^# $number [^ ]" "the first line is not '# $number TITLE'"
    needs '^- Status: [a-z]' "no line '- Status: '"
    needs '^- Date: [0-9]*-[0-9][0-9]-[0-9][0-9]' "no line '- Date: YEAR-MONTH-DAY'"
    title=$(sed -n "1s/^# $number //p" "$record")
    grep -qF "| [$number]($record) | $title |" README.md || { echo "docs/decisions/README.md: no row of $record with its title"; bad=1; }
done
[ "$count" -gt 0 ] || { echo "no decisions"; exit 1; }
exit $bad
