# Turns the Markdown documents into pages of the site, which Doxygen reads: each heading gets a name, links lead to pages and headings by these
# names, and `code` that names a public function or header is a link to the API reference.
#
# Usage: awk -f site_pages.awk -v folder=FOLDER KNOWN DOCUMENT...   (in the root of the tree)
# KNOWN has a public function or header a line. Writes FOLDER/NAME.md for each document, the headings to FOLDER/headings for site_search.awk, and to
# FOLDER/files the other files that documents lead to: the site needs a copy of each beside its pages.

# The page of a document: docs/tutorial/2-images.md is tutorial-2-images, docs/decisions/README.md is decisions.
function page_name(path) {
    if (path == "README.md") return "readme"
    sub(/^docs\//, "", path)
    sub(/\/README\.md$|\.md$/, "", path)
    gsub(/\//, "-", path)
    return tolower(path)
}

# The name that forges give a heading: lower case, hyphens for blanks, no punctuation.
function heading_name(text) {
    text = tolower(text)
    gsub(/[^a-z0-9 _-]/, "", text)
    gsub(/ /, "-", text)
    return text
}

# PATH, which is relative to FOLDER, from the root of the tree: "../samples/x.c" in "docs" is samples/x.c.
function from_root(folder, path) {
    if (folder != "") path = folder "/" path
    while (sub(/[^\/.]+\/\.\.\//, "", path)) {}
    return path
}

# What stands for the target of a link.
function target_of(link,   path, heading, at) {
    if (link ~ /^[a-z]+:/) return link
    at = index(link, "#")
    heading = at ? substr(link, at + 1) : ""
    path = at ? substr(link, 1, at - 1) : link
    path = path == "" ? document : from_root(here, path)
    sub(/\/$/, "", path)
    if (page_name(path "/README.md") in pages) path = path "/README.md"
    if (path ~ /\.md$/) return "@ref " page_name(path) (heading == "" ? "" : "-" heading)
    if (path ~ /^include\/weft\/[a-z_]+\.h$/) {
        sub(/.*\//, "", path)
        return "@ref " path
    }
    if (!listed[path]++) print path >(folder "/files")
    sub(/.*\//, "", path)
    return path
}

# TEXT without what Doxygen takes for commands, and for names of files.
function escaped(text) {
    gsub(/[\\@#]/, "\\\\&", text)
    gsub(/[A-Za-z0-9_-]+\.md/, "%&", text)
    return text
}

# A link as Doxygen writes it. The page that a README.md leads to first stands below it in the navigation.
function link_to(text, link,   target, page) {
    target = page = target_of(link)
    sub(/^@ref /, "", page)
    if (document !~ /README\.md$/ || !(page in pages) || placed[page]++) return "[" text "](" target ")"
    return "\\subpage " page " \"" text "\""
}

# Text outside of code, with its links. "](" without a "[" ends a link whose text has code in it, and "![" begins an image.
function with_links(text,   before, link, at) {
    before = ""
    while (match(text, /(\[[^]\[]*)?\]\([^)]*\)/)) {
        link = substr(text, RSTART, RLENGTH - 1)
        at = index(link, "](")
        before = before escaped(substr(text, 1, RSTART - 1))
        if (at == 1 || before ~ /!$/) before = before substr(link, 1, at) "(" target_of(substr(link, at + 2)) ")"
        else before = before link_to(escaped(substr(link, 2, at - 2)), substr(link, at + 2))
        text = substr(text, RSTART + RLENGTH)
    }
    return before escaped(text)
}

# CODE as it stands between backticks, as a link where it names a function or a header. Doxygen shows what stands in double quotes as it is.
function with_reference(code,   name) {
    name = code
    sub(/\(.*/, "", name)
    sub(/^weft\//, "", name)
    if (code ~ /\.md$/) return "<code>%" code "</code>"
    if (!(name in known) || code !~ /^[a-z_0-9.\/]+(\([A-Za-z0-9_., ()-]*\))?$/) return "`" code "`"
    return "<code>@ref " name " \"" code "\"</code>"
}

# Whole lines outside of code blocks. Code in the text of a link leads where the link does.
function with_code(lines,   parts, count, i, result, open) {
    count = split(lines, parts, "`")
    for (i = 1; i <= count; i++) {
        if (i % 2 == 0) {
            result = result (open ? "`" parts[i] "`" : with_reference(parts[i]))
            continue
        }
        result = result with_links(parts[i])
        open = parts[i] ~ /\[[^]]*$/ || (open && parts[i] !~ /\]/)
    }
    return result
}

function write_held() {
    if (held != "") print with_code(held) >out
    held = ""
}

BEGIN {
    for (i = 2; i < ARGC; i++) pages[page_name(ARGV[i])]
    placed["readme"] = 1
}

FILENAME == ARGV[1] { known[$0]; next }

FNR == 1 {
    write_held()
    here = document = FILENAME
    if (!sub(/\/[^\/]*$/, "", here)) here = ""
    page = page_name(document)
    out = folder "/" page ".md"
    code = 0
}

/^ *```/ { write_held(); code = !code; print >out; next }

code { print >out; next }

/^#+ / {
    write_held()
    text = $0
    sub(/^#+ */, "", text)
    if (/^# /) title = text
    else print text "\t" (page == "readme" ? "index" : page) ".html#" page "-" heading_name(text) "\t" title >(folder "/headings")
    print $0 " {#" page (/^# / ? "" : "-" heading_name(text)) "}" >out
    next
}

# A link or code that goes on in the next line is put on one line, which Doxygen needs.
{
    if (held != "") sub(/^ +/, "")
    held = held == "" ? $0 : held " " $0
    if ($0 != "" && (held ~ /\[[^]]*$/ || split(held, unused, "`") % 2 == 0)) next
    if (held == "") print >out
    write_held()
}

END { write_held() }
