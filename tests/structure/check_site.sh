#!/bin/sh
# Every link of the site leads to a file of the site, and one with #name to this name in that file: links of pages, of the navigation and of
# the search box, in which functions are found by each word of their names. Links to other sites are not followed. Usage: check_site.sh ROOT FOLDER
# test slow: @source@ @folder@
set -eu
command -v doxygen >/dev/null || { echo "skipped: doxygen is not installed"; exit 77; }
[ -e /usr/share/doxygen-awesome-css ] || { echo "skipped: doxygen-awesome-css is not installed"; exit 77; }
export LC_ALL=C
(cd "$1" && sh cmake/make_site.sh 1.2.3 "$2/site")
cd "$2/site/html"

# The names, as FILE#NAME, and the files themselves.
{
    grep -oE '(id|name)="[^"]+"' ./*.html | sed -E 's|^\./([^:]*):[a-z]+="(.*)"|\1#\2|'
    find . -type f | sed 's|^\./||'
} | sort -u >../there

# Links, as FILE#NAME. Doxygen writes those of scripts in quotes.
{
    grep -oE '(href|src)="[^"]*"' ./*.html | sed -E 's|^\./([^:]*):[a-z]+="(.*)"|\1 \2|'
    grep -ohE '["'\''][^"'\'' ]*\.html(#[^"'\'' ]*)?["'\'']' ./*.js search/all_*.js | sed "s/[\"']//g; s|^\.\./||; s|^|script |"
} | grep -vE '^[^ ]+ ([a-z]+:|$)' | sed -E 's/^([^ ]+) #/\1 \1#/; s/^[^ ]+ //; s/#$//; s/&amp;/\&/g' | sort -u >../links
sed -E 's/\?.*//' ../links | comm -23 - ../there >../broken
[ "$(wc -l <../links)" -gt 2000 ] || { echo "the site has only $(wc -l <../links) links"; exit 1; }
[ ! -s ../broken ] || { echo "these links of the site lead nowhere:"; cat ../broken; exit 1; }

# has PATTERN FILE
has() { grep -q -e "$1" "$2" || { echo "$2 has no $1"; exit 1; }; }
has 'A first program' index.html
has 'href="nn_8h.html#[a-z0-9]*">weft_conv2d</a>' index.html
has 'href="classweft_1_1tensor.html">weft::tensor</a> scores' cpp.html
has 'class="memname">.*weft::relu </td>' namespaceweft.html
has "'conv2d_[0-9]*',\['weft_conv2d'" "search/$(sed -n 's/^ *0: "\(.*\)c.*/\1/p' search/searchdata.js | awk '{ printf "all_%x.js", length($0) }')"
