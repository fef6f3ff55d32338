# Writes the first page of the API reference, of what the headers say of themselves: the first sentence of each one's opening comment.
# Usage: awk -f first_page.awk HEADER...

function end_header() {
    if (!name || name == "weft.h" || name == "short_names.h") return
    sub(/[.] .*/, ".", text)
    gsub(/[\\@<>#&]/, "\\\\&", text)
    printf "- \\ref %s \"weft/%s\": %s\n", name, name, text
    name = ""
}

BEGIN {
    print "/** \\mainpage"
    print "A program includes \\ref weft.h \"weft/weft.h\", which includes all other headers but weft/short_names.h. It opens a device"
    print "(\\ref weft_context_create), builds a graph of tensors in the context's graph (\\ref weft_context_graph), and computes with a plan"
    print "(\\ref weft_plan_create, \\ref weft_plan_run) or trains with a trainer (\\ref weft_trainer_create). The tutorial in docs/tutorial shows each."
    print ""
}

FNR == 1 {
    end_header()
    reading = match($0, /^\/\* weft\/[a-z_]+\.h(pp)?: /)
    name = substr($0, 9, RLENGTH - 10)
    text = ""
    sub(/^\/\* weft\/[a-z_]+\.h(pp)?: /, "")
}

reading {
    ends = /\*\// || /^ \*$/
    sub(/^ \* ?/, "")
    sub(/ *\*\/.*/, "")
    if ($0 != "") text = text (text ? " " : "") $0
    if (ends) reading = 0
}

END {
    end_header()
    print "*/"
}
