#!/bin/sh
# Man pages are written of programs in a folder with a blank in its name. Usage: man_pages.sh ROOT WORK_DIR
# test: @source@ @folder@
set -eu
root=$1 work="$2/a folder"
command -v help2man >/dev/null || { echo "skipped: help2man is not installed"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
printf '#!/bin/sh\necho "usage: $(basename "$0")"\necho "  does one thing"\n' | tee "$work/one" >"$work/weft"
chmod +x "$work/one" "$work/weft"
sh "$root/cmake/make_man_pages.sh" 1.2 "$work/man1" "$work/one" "$work/weft"
grep -q 'one .*does one thing' "$work/man1/one.1"
grep -q 'weft .*does one thing' "$work/man1/weft.1"
