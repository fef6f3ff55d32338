# For scripts that test a program's command line. Set $program; $bad becomes 1 when an expectation fails.
bad=0

# refused STATUS TEXT ARGUMENT...: the program ends with STATUS and one line on stderr that holds TEXT.
refused() {
    wanted=$1 text=$2
    shift 2
    said=$("$program" "$@" 2>&1 >/dev/null)
    status=$?
    lines=$(printf '%s\n' "$said" | wc -l)
    case $said in *"$text"*) found=1 ;; *) found=0 ;; esac
    [ "$status" -eq "$wanted" ] && [ "$lines" -eq 1 ] && [ $found -eq 1 ] && return
    echo "$(basename "$program") $*: status $status, expected $wanted; expected one line with \"$text\", but it said:"
    echo "$said"
    bad=1
}

# helps TEXT COMMAND...: --help, of the program or of one of its commands, succeeds, and tells TEXT on stdout.
helps() {
    wanted=$1
    shift
    told=$("$program" "$@" --help 2>/dev/null) || { echo "$(basename "$program") $* --help fails"; bad=1; }
    case $told in *"$wanted"*) return ;; esac
    echo "$(basename "$program") $* --help lacks \"$wanted\""
    bad=1
}
