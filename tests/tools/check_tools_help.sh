#!/bin/sh
# Every script of tools/ answers --help with its own name, and does nothing else; one in Python is left out where python3 is not installed.
# Names with a point are of what scripts include, and of the weft command. Usage: check_tools_help.sh ROOT
# test: @source@
set -u
bad=0
for tool in "$1"/tools/*; do
    name=${tool##*/}
    case $name in *.*) continue ;; esac
    [ -f "$tool" ] || continue
    [ -x "$tool" ] || { echo "$name is not executable"; bad=1; }
    if head -n 1 "$tool" | grep -q python3 && ! command -v python3 >/dev/null; then
        echo "left out: $name, as python3 is not installed"
        continue
    fi
    told=$(cd / && "$tool" --help 2>&1) || { echo "$name --help: status $?"; bad=1; }
    case $told in *"$name"*) ;; *) echo "$name --help says: $told" && bad=1 ;; esac
done
exit $bad
