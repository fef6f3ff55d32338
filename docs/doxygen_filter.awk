# Makes the headers' plain comments visible to Doxygen: "/*" before a declaration becomes "/**", "/*" behind one
# becomes "/**<", and the comment that opens a file becomes the file's. A heading ("/* ---- loader ---- */") stays
# as it is. Inside comments the characters that Doxygen would take for commands are escaped, so that headers are
# written for people who read headers. Lines that are indented by four more blanks are formulas and code.

function escaped(text) {
    gsub(/[\\@<>#&]/, "\\\\&", text)
    return text
}

# A line of a comment that is indented.
function indented(text,   end) {
    if (!shown) print " * \\code"
    end = index(text, "*/")
    shown = inside = end == 0
    return inside ? text : substr(text, 1, end - 1) "\n * \\endcode */" code(substr(text, end + 2))
}

# The rest of a line from inside a comment to its end; what follows the comment is code again.
function comment(text,   end) {
    end = index(text, "*/")
    inside = end == 0
    if (inside) return escaped(text)
    return escaped(substr(text, 1, end - 1)) "*/" code(substr(text, end + 2))
}

function code(text,   start, before, opening) {
    start = index(text, "/*")
    if (!start) return text
    before = substr(text, 1, start - 1)
    opening = text ~ /\/\* ----/ ? "/*" : FNR == 1 ? "/** @file\n" : before ~ /[^ \t]/ ? "/**<" : "/**"
    text = substr(text, start + 2)
    sub(/^\*+/, "", text) # calls.hpp begins comments as Doxygen expects
    return before opening comment(text)
}

inside && /^ \*     / { print indented($0); next }

shown {
    print " * \\endcode"
    shown = 0
}

{ print inside ? comment($0) : code($0) }
