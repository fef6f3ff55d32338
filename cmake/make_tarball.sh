#!/bin/sh
# Writes FOLDER/weft-VERSION.tar.gz: the files that git tracks, as they are in the tree now. The same files give the same bytes.
# Usage: make_tarball.sh VERSION FOLDER   (in the root of the tree)
set -eu
name=weft-$1 folder=$2
[ "$(git rev-parse --show-prefix 2>/dev/null)" = '' ] && git rev-parse --git-dir >/dev/null 2>&1 ||
    { echo "make_tarball.sh: $PWD is not the root of a git repository, which tells the files of a release" >&2; exit 1; }
mkdir -p "$folder"
list=$folder/files.$$
trap 'rm -f "$list" "$list.tar"' EXIT
git ls-files -z >"$list"
tar --null --files-from="$list" --transform="s,^,$name/,S" --sort=name --mtime="@$(git log -1 --format=%ct)" \
    --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf "$list.tar"
gzip -9n "$list.tar"
mv "$list.tar.gz" "$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
