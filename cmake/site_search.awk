# Lets the site's search box find each word of a name and the headings of all pages. Doxygen's index finds names by their beginning, and each
# function begins with weft_.
#
# Usage: awk -f site_search.awk -v folder=SEARCH_FOLDER HEADINGS SEARCH_FOLDER/all_*.js SEARCH_FOLDER/searchdata.js
# Writes one file all_N.js for each first character, with a page all_N.html that loads it, and lists the characters in searchdata.js. A line of
# HEADINGS has the text of a heading, its address and the title of its page, with tabs between them.

# What the box makes of a search: characters but letters and digits as _XX.
function search_id(text,   i, c, id) {
    text = tolower(text)
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        id = id (c ~ /[a-z0-9]/ ? c : sprintf("_%02x", index(characters, c) + 31))
    }
    return id
}

# Adds RESULT, the rest of a row, for each word of TEXT.
function add(text, result,   at, first) {
    gsub(/&[a-z]+;/, "", text)
    gsub(/[^ -~]/, "", text)
    for (at = 1; at <= length(text); at++) {
        first = tolower(substr(text, at, 1))
        if (first !~ /[a-z0-9]/ || (at > 1 && substr(text, at - 1, 1) ~ /[A-Za-z0-9']/)) continue
        if (at > 1 && substr(text, at) ~ /^(a|an|and|are|as|at|by|for|in|is|it|its|of|on|or|the|to|what|with)( |$)/) continue
        rows[first] = rows[first] "  ['" search_id(substr(text, at)) "_" count++ "'," result "],\n"
    }
}

function javascript(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/['\\]/, "\\\\&", text)
    return text
}

BEGIN {
    FS = "\t"
    for (i = 32; i < 127; i++) characters = characters sprintf("%c", i)
}

FILENAME == ARGV[1] {
    gsub(/`/, "")
    add($1, "['" javascript($1) "',['../" $2 "',1,'" javascript($3) "']]")
    next
}

# The pages that Doxygen writes of the documents as files are not part of the site.
/^  \['/ && !/_8md\.html/ {
    result = $0
    sub(/^  \['[^']*',/, "", result)
    sub(/\],?$/, "", result)
    text = result
    sub(/^\['/, "", text)
    sub(/',\[.*/, "", text)
    add(text, result)
    next
}

FILENAME ~ /searchdata\.js$/ { searchdata = searchdata $0 "\n" }

END {
    letters = "0123456789abcdefghijklmnopqrstuvwxyz"
    while ((getline line <(folder "/all_0.html")) > 0) page = page line "\n"
    for (i = 1; i <= length(letters); i++) {
        letter = substr(letters, i, 1)
        if (!(letter in rows)) continue
        name = sprintf("all_%x", shown++)
        used = used letter
        file = folder "/" name ".js"
        print "var searchData=\n[" >file
        close(file)
        sort = "LC_ALL=C sort >>" file
        printf "%s", rows[letter] | sort
        close(sort)
        print "];" >>file
        text = page
        sub(/all_0\.js/, name ".js", text)
        printf "%s", text >(folder "/" name ".html")
    }
    sub(/0: "[^"]*"/, "0: \"" used "\"", searchdata)
    printf "%s", searchdata >(folder "/searchdata.js")
}
