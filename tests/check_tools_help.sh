#!/bin/sh
# Every script of tools/ answers --help with its own name, and does nothing else. Usage: check_tools_help.sh ROOT
set -u
bad=0
for tool in "$1"/tools/*; do
    [ -f "$tool" ] && [ -x "$tool" ] || continue
    told=$(cd / && "$tool" --help 2>&1) || { echo "$tool --help: status $?"; bad=1; }
    case $told in
    *"${tool##*/}"*) ;;
    *) echo "$tool --help says: $told" && bad=1 ;;
    esac
done
exit $bad
