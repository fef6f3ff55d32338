#!/bin/sh
# Writes a man page of each program, from what it answers to --help. Usage: make_man_pages.sh VERSION FOLDER PROGRAM...
set -eu
version=$1 folder=$2
shift 2
mkdir -p "$folder"
for program; do
    name=$(basename "$program")
    purpose=$("$program" --help | sed -n 2p) # the sentence after the usage
    purpose=$(printf '%s' "${purpose%.}" | sed 's/^./\L&/')
    # help2man gives the program's path to a shell as it is: from the program's folder it has no blank.
    (cd "$(dirname "$program")" &&
        help2man --no-info --name "$purpose" --version-string "$version" --source "Weft $version" \
            --output "$folder/$name.1" "./$name")
done
