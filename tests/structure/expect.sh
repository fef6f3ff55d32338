# For check_checks.sh and check_document_checks.sh: a tree of its own, what a check does with it, and whether that is bad.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
bad=0

# expect pass|fail WHAT COMMAND...
expect() {
    wanted=$1 what=$2
    shift 2
    if output=$("$@" 2>&1); then got=pass; else got=fail; fi
    [ $got = "$wanted" ] && return
    echo "expected to $wanted: $what"
    echo "$output"
    bad=1
}

# printed LINE CHANGE: the last check has printed LINE, because of CHANGE.
printed() {
    case $output in *"$1"*) return ;; esac
    echo "expected '$1' after $2, got: $output"
    bad=1
}

fresh() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/include/weft" "$tree/src/base" "$tree/src/cl" "$tree/samples" "$tree/programs"
    echo '#include <stddef.h>' >"$tree/include/weft/base.h"
    echo '#include <weft/base.h>' >"$tree/include/weft/device.h"
    echo '#include <weft/device.h>' >"$tree/include/weft/weft.h"
    printf '/* Launches. */\n#include "base/log.h"\n#include <weft/device.h>\n#include "cl/launch.h"\n' >"$tree/src/cl/launch.c"
    echo '#include <weft/weft.h>' >"$tree/samples/01_one.c"
    printf '#include "parts.h"\n#include <weft/weft.h>\n' >"$tree/programs/long.c"
}
