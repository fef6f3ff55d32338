#!/bin/sh
# The tarball of a release has all files of the tree, the same bytes each time, and is configured without git, with all files that the build
# generates; tools/try-packages builds all of it. Usage: release_tarball.sh ROOT WORK_DIR CC
# test: @source@ @folder@ @cc@
set -eu
root=$1 work=$2 cc=$3
rm -rf "$work"
mkdir -p "$work/no git"
cd "$root"
git rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: $root is not a git repository"; exit 77; }
version=$(sed -n 's/^#define WEFT_VERSION_[A-Z]* //p' include/weft/base.h | paste -sd .)
for folder in one two; do
    sh cmake/make_tarball.sh "$version" "$work/$folder"
done
cmp "$work/one/weft-$version.tar.gz" "$work/two/weft-$version.tar.gz"
git ls-files | LC_ALL=C sort >"$work/tracked"
tar -tzf "$work/one/weft-$version.tar.gz" | sed "s|^weft-$version/||" | LC_ALL=C sort | diff "$work/tracked" -

printf '#!/bin/sh\necho "git is called: $*" >&2\nexit 1\n' >"$work/no git/git"
chmod +x "$work/no git/git"
tar -C "$work" -xzf "$work/one/weft-$version.tar.gz"
cd "$work/weft-$version"
PATH="$work/no git:$PATH"
cmake -B build -G Ninja -DCMAKE_C_COMPILER="$cc" >"$work/log"
# The first target is of all generated files that the library is compiled from.
ninja -C build cmake_object_order_depends_target_weft_objects weft_written_headers >>"$work/log"
[ -s build/kernel_files.c ]
if grep 'git is called' "$work/log"; then exit 1; fi
if cmake --build build --target dist >>"$work/log" 2>&1; then echo "a tarball is made of a tree without git"; exit 1; fi
grep -q 'is not the root of a git repository' "$work/log"
