#!/bin/sh
# The recipes of packaging/ are of this version, and have an option for each optional library of the build but MPI. Usage: recipes.sh ROOT
# test quick: @source@
set -eu
cd "$1"
version=$(sed -n 's/^#define WEFT_VERSION_[A-Z]* //p' include/weft/base.h | paste -sd .)
bad=0
# has FILE TEXT
has() { grep -qF -- "$2" "$1" || { echo "$1 has no $2"; bad=1; }; }
has packaging/vcpkg/vcpkg.json "\"version-semver\": \"$version\""
parts=$(sed -n 's/^option(WEFT_WITH_\([A-Z]*\) .*/\1/p' CMakeLists.txt)
[ -n "$parts" ] || { echo "CMakeLists.txt has no optional library"; exit 1; }
for part in $parts; do
    if [ "$part" = MPI ]; then
        has packaging/vcpkg/portfile.cmake -DWEFT_WITH_MPI=OFF
        has packaging/conan/conanfile.py '["WEFT_WITH_MPI"] = False'
        continue
    fi
    name=$(echo "$part" | tr '[:upper:]' '[:lower:]')
    has packaging/vcpkg/vcpkg.json "\"$name\": {"
    has packaging/vcpkg/portfile.cmake "$name WEFT_WITH_$part"
    has packaging/conan/conanfile.py "self.options.with_$name"
done
for package in $(sed -n 's/.*self[.]requires("\([a-z-]*\)\/.*/\1/p' packaging/conan/conanfile.py); do
    has packaging/conan/system_libraries "$package/"
done
exit $bad
