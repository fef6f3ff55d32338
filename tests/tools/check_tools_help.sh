#!/bin/sh
# A script of tools/ answers --help with its own name, and does nothing else. Usage: check_tools_help.sh TOOL
# test.{tools}: @source@/tools/{}
set -u
tool=$1
[ -x "$tool" ] || { echo "$tool is not executable"; exit 1; }
if head -n 1 "$tool" | grep -q python3 && ! command -v python3 >/dev/null; then
    echo "skipped: python3 is not installed"
    exit 77
fi
told=$(cd / && "$tool" --help 2>&1) || { echo "$tool --help: status $?"; exit 1; }
case $told in
*"${tool##*/}"*) ;;
*) echo "$tool --help says: $told" && exit 1 ;;
esac
