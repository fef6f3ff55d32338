#!/bin/sh
# The stripped library stays under a number of bytes. Usage: check_size.sh LIBRARY BYTES
# test release: @weft@ 2150000
set -eu
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
strip -o "$copy" "$1"
bytes=$(wc -c <"$copy")
echo "$bytes bytes stripped, limit $2"
[ "$bytes" -lt "$2" ]
