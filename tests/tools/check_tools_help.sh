#!/bin/sh
# Every script of tools/ answers --help with its own name, and does nothing else. Usage: check_tools_help.sh ROOT
# test: @source@
set -u
bad=0
for tool in "$1"/tools/*; do
    [ -f "$tool" ] && [ -x "$tool" ] || continue
    if head -n 1 "$tool" | grep -q python3 && ! command -v python3 >/dev/null; then
        echo "left out: ${tool##*/} needs python3, which is not there"
        continue
    fi
    told=$(cd / && "$tool" --help 2>&1) || { echo "$tool --help: status $?"; bad=1; }
    case $told in
    *"${tool##*/}"*) ;;
    *) echo "$tool --help says: $told" && bad=1 ;;
    esac
done
exit $bad
