#!/bin/sh
# Installs Weft into an empty folder, moves it into one with a blank in its name, and builds and runs programs against it.
# Usage: use_install.sh cmake|pkg-config BUILD_DIR WORK_DIR CC CXX [FLAGS]   (FLAGS: those of a sanitizer)
# test.cmake: cmake @build@ @folder@ @cc@ @cxx@ "@flags@"
# test.pkg-config: pkg-config @build@ @folder@ @cc@ @cxx@ "@flags@"
set -eu
how=$1 build=$2 work=$3 cc=$4 cxx=$5 flags=${6-}
here=$(cd "$(dirname "$0")" && pwd)

rm -rf "$work"
mkdir -p "$work"
DESTDIR=$work/stage cmake --install "$build" >"$work/install.log"
found=$(find "$work/stage" -name weft.pc)
[ -n "$found" ] || { echo "weft.pc was not installed"; exit 1; }
# What is installed must not know where: DESTDIR already moved it, and moving it again changes nothing.
mv "$work/stage" "$work/moved here"
pc_dir=$(dirname "$(find "$work/moved here" -name weft.pc)")
# pkg-config escapes blanks for the shell.
variable() {
    eval "printf '%s\n' $(PKG_CONFIG_PATH=$pc_dir pkg-config --variable="$1" weft)"
}
prefix=$(cd "$pc_dir" && cd "$(variable prefix)" && pwd)
if grep -rIlF -e "$build" -e "$(cd "$here/../.." && pwd)" "$prefix"; then
    echo "these installed files name the folder in which Weft was built"
    exit 1
fi

# The documents that the README leads to are installed beside it.
find_documents() {
    documents=$(dirname "$(find "$work/moved here" -name CHANGELOG.md)")
    links=$(grep -o '](docs/[^)#]*' "$documents/README.md" | sed 's/](//' | sort -u)
    [ -n "$links" ] || { echo "the README leads to no documents"; exit 1; }
    for link in $links; do
        [ -e "$documents/$link" ] || { echo "README.md: $link is not installed"; exit 1; }
    done
}

with_cmake() {
    cmake -S "$here/project" -B "$work/project" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags"
    cmake --build "$work/project"
    ctest --test-dir "$work/project" --output-on-failure
}

# compile NAME LIBS: builds both programs with the given libraries and runs them.
compile() {
    name=$1 libs=$2
    eval "\$cc -std=c11 -Wall -Wextra -Wpedantic -Werror $flags $cflags \"\$here/consumer_c.c\" -o \"\$work/c_\$name\" $libs"
    eval "\$cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror $flags $cflags \"\$here/consumer_cpp.cpp\" \
        -o \"\$work/cpp_\$name\" $libs"
    LD_LIBRARY_PATH=$libdir "$work/c_$name"
    LD_LIBRARY_PATH=$libdir "$work/cpp_$name"
}

# Samples are installed, too, and can be compiled with what they share.
compile_samples() {
    samples=$(dirname "$(find "$work/moved here" -name 01_devices.c)")
    rm -f "$samples"/*_windows.c # they are compiled in place of files of these names without it
    for sample in "$samples"/[0-9]*.c; do
        eval "\$cc $flags $cflags \"\$sample\" \"\$samples\"/[a-z]*.c -o \"\$work/sample\" $1 -lm"
        LD_LIBRARY_PATH=$libdir "$work/sample" --help >"$work/sample.txt"
        grep -q '^usage: ' "$work/sample.txt"
    done
    for sample in "$samples"/cpp/*.cpp; do
        eval "\$cxx -std=c++17 -fsyntax-only $flags $cflags \"\$sample\""
    done
}

with_pkg_config() {
    find_documents
    export PKG_CONFIG_PATH="$pc_dir"
    pkg-config --exact-version="$(sed -n 's/^Version: //p' "$pc_dir/weft.pc")" weft
    cflags=$(pkg-config --cflags weft)
    libdir=$(variable libdir)
    compile shared "$(pkg-config --libs weft)"
    compile_samples "$(pkg-config --libs weft)"
    # The static library by its name; the shared one beside it would win else.
    compile static "$(pkg-config --static --libs weft | sed 's/-lweft/-l:libweft.a/')"
    libdir=
    if nm -D "$work/c_static" | grep -q ' U weft_'; then
        echo "the static program needs the shared library"
        exit 1
    fi
    nm -D "$work/c_shared" | grep -q ' U weft_version'
}

case $how in
cmake) with_cmake ;;
pkg-config) with_pkg_config ;;
*) echo "unknown way: $how" && exit 1 ;;
esac
