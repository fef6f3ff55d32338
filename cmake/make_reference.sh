#!/bin/sh
# Builds the API reference in FOLDER/html, with a first page that leads to the headers. Usage: make_reference.sh VERSION FOLDER
set -eu
export WEFT_VERSION="$1" WEFT_DOCS_DIR="$2"
mkdir -p "$WEFT_DOCS_DIR"
awk $(printf -- '-f %s ' cmake/cpp/*.awk) include/weft/*.h >"$WEFT_DOCS_DIR/calls.hpp" # as the build writes it
awk -f docs/first_page.awk include/weft/*.h include/weft/weft.hpp >"$WEFT_DOCS_DIR/first_page.dox"
# Of variables in a list Doxygen takes a blank for the end of a name.
{ cat docs/Doxyfile; printf 'INPUT += "%s/first_page.dox"\n' "$WEFT_DOCS_DIR"; } | doxygen -
