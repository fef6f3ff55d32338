#!/bin/sh
# Builds the site in FOLDER/html: the documents and the API reference, by Doxygen. Usage: make_site.sh VERSION FOLDER
set -eu
export WEFT_VERSION="$1" WEFT_DOCS_DIR="$2"
style=/usr/share/doxygen-awesome-css
[ -e $style/doxygen-awesome.css ] || { echo "the site needs doxygen-awesome-css: install the package of that name" >&2; exit 1; }

rm -rf "$WEFT_DOCS_DIR"
mkdir -p "$WEFT_DOCS_DIR/pages"
awk $(printf -- '-f %s ' cmake/cpp/*.awk) include/weft/*.h >"$WEFT_DOCS_DIR/calls.hpp" # as the build writes it
pages=$(cd "$WEFT_DOCS_DIR/pages" && pwd)
sed -n 's/^WEFT_API.* \**\(weft_[a-z0-9_]*\)(.*/\1/p; s/^#define \(weft_[a-z0-9_]*\)(.*/\1/p' include/weft/*.h >"$pages/known"
(cd include/weft && ls ./*.h) | sed 's|./||' >>"$pages/known"
awk -f cmake/site_pages.awk -v folder="$pages" "$pages/known" README.md $(find docs -name '*.md' | LC_ALL=C sort) CONTRIBUTING.md CHANGELOG.md \
    data/digits/README.md
{
    cat docs/Doxyfile
    cat <<END
INPUT += "$pages"
FILE_PATTERNS = *.h *.hpp *.md
MARKDOWN_SUPPORT = YES
USE_MDFILE_AS_MAINPAGE = "$pages/readme.md"
TOC_INCLUDE_HEADINGS = 0
STRIP_FROM_PATH = include/weft "$pages"
LAYOUT_FILE = docs/site_layout.xml
GENERATE_TREEVIEW = YES
IMAGE_PATH = docs
HTML_EXTRA_STYLESHEET = $style/doxygen-awesome.css $style/doxygen-awesome-sidebar-only.css docs/site.css
HTML_EXTRA_FILES = $(tr '\n' ' ' <"$pages/files")
END
} | doxygen -
cd "$WEFT_DOCS_DIR/html"
rm -f ./*_8md.html # the documents as files, to which nothing leads
awk -f "$OLDPWD/cmake/site_search.awk" -v folder=search "$pages/headings" search/all_*.js search/searchdata.js
# Doxygen's navigation leads to members of the namespace in the pages of its files, and to a list of classes that some classes lack.
sed -i 's/[a-z]*_8hpp\.html#a/namespaceweft.html#a/; s/#nested-classes//' ./*_8hpp.js ./classweft*
sed -i '/_8hpp\.html#a\|#nested-classes/d' navtreeindex*.js
sed -i 's/_8hpp\.html#a[0-9a-f]*/_8hpp.html#/' navtreedata.js
