#!/bin/sh
# A file name stands once in the whole tree. Usage: check_names.sh ROOT
# test: @source@
set -eu
cd "$1"
twice=$(find . \( -path ./.git -o -path ./build -o -path ./.cache \) -prune -o -type f -print |
    sed 's|.*/||' | grep -v -x -e CMakeLists.txt -e README.md | LC_ALL=C sort | uniq -d)
[ -z "$twice" ] && exit 0
for name in $twice; do
    echo "$name stands more than once:"
    find . \( -path ./.git -o -path ./build -o -path ./.cache \) -prune -o -type f -name "$name" -print
done
exit 1
