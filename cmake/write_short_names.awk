# Prints weft/short_names.h for these public headers: awk -f write_short_names.awk HEADER...
# Calls become macros that take any arguments, so that a variable or a field of the same name stays what it is.
BEGIN {
    # What C's own headers declare: a macro of this name would take the place of that function.
    split("abs acos asin atan atan2 ceil cos erf exp exp2 expm1 floor isfinite isinf isnan log log1p log2 pow remainder " \
          "round sin sqrt tan tanh trunc", names, " ")
    for (i in names) library[names[i]] = 1
}

{ text = text $0 "\n" }

function short(long) { return substr(long, 6) }

function call(long) {
    if (long in seen || long ~ /_$/) return
    seen[long] = 1
    if (short(long) in library) {
        kept = kept " " long
        return
    }
    calls = calls "#define " short(long) "(...) " long "(__VA_ARGS__)\n"
}

function type(long) { types = types "typedef " long " " short(long) ";\n" }

function constant(long) {
    if (long ~ /_$|_H$/ || long == "WEFT_API") return
    constants = constants "#define " short(long) " " long "\n"
}

# The first match of a pattern in a line, without the characters that only bound it.
function found(line, pattern) {
    return match(line, pattern) ? substr(line, RSTART, RLENGTH) : ""
}

END {
    while ((begin = index(text, "/*")) > 0) {
        end = index(substr(text, begin), "*/")
        text = substr(text, 1, begin - 1) substr(text, begin + end + 1)
    }
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        line = lines[i]
        if (line ~ /^WEFT_API/) waiting = 1
        if (line ~ /^#define (weft|WEFT)_[A-Za-z0-9_]+\(/) {
            call(substr(found(line, "(weft|WEFT)_[A-Za-z0-9_]+"), 1))
        } else if (line ~ /^#define WEFT_/) {
            constant(found(line, "WEFT_[A-Z0-9_]+"))
        } else if (waiting && (name = found(line, "weft_[a-z0-9_]+\\("))) {
            call(substr(name, 1, length(name) - 1))
            waiting = 0
        } else if (line ~ /^typedef [^(]*\(\*weft_/ && line !~ /^typedef (struct|enum)/) {
            type(substr(found(line, "\\(\\*weft_[a-z_]+"), 3))
        } else if (line ~ /^typedef struct weft_[a-z0-9_]+ weft_[a-z0-9_]+;/ || line ~ /^} weft_[a-z0-9_]+;/) {
            name = found(line, "weft_[a-z0-9_]+;")
            type(substr(name, 1, length(name) - 1))
        }
        # Of an enum, on lines of their own or on its only line.
        if (line ~ /^typedef enum/) inside = 1
        for (rest = line; inside && (name = found(rest, "WEFT_[A-Z0-9_]+")); rest = substr(rest, RSTART + RLENGTH))
            constant(name)
        if (line ~ /}/) inside = 0
        if (inside == 0 && line ~ /^typedef enum.*} weft_/) type(substr(found(line, "} weft_[a-z0-9_]+"), 3))
    }
    line = ""
    print "/* weft/short_names.h: the public names without their prefix, for a program that asks for them."
    print " *"
    print " *     #include <weft/short_names.h>            after all other headers"
    print " *     tensor *y = linear(relu(linear(x, 128)), 10);"
    print " *"
    print " * weft_relu(x) is relu(x), a weft_tensor is a tensor, WEFT_F32 is F32. Calls are macros that are only seen before a"
    print " * parenthesis, so that variables and fields may have these names; the address of a function has the whole name. Names of"
    print " * functions that C's own headers declare keep their prefix:"
    n = split(kept, names, " ")
    for (i = 1; i <= n; i++) {
        if (length(line = line " " names[i]) > 100 || i == n) {
            print " *    " line
            line = ""
        }
    }
    print " * Not for headers of a program, which others include, nor for C++. The build writes this file from the other headers. */"
    print "#ifndef WEFT_SHORT_NAMES_H"
    print "#define WEFT_SHORT_NAMES_H"
    print ""
    print "#include <weft/weft.h>"
    print ""
    print "/* clang-format off */"
    print "/* ---- types ---- */"
    printf "%s\n/* ---- calls ---- */\n%s\n/* ---- constants ---- */\n%s\n#endif\n", types, calls, constants
}
