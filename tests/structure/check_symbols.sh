#!/bin/sh
# What libweft.so exports is what the headers declare, all of it weft_*; and it can neither print, nor exit, nor
# abort, nor handle signals. Usage: check_symbols.sh LIBRARY INCLUDE_DIR
# test release: @weft@ @source@/include
set -eu
library=$1 include=$2
bad=0
exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | LC_ALL=C sort -u)

foreign=$(echo "$exported" | grep -v '^weft_' || true)
[ -z "$foreign" ] || { echo "exported, but not weft_*:" $foreign; bad=1; }

declared=$(cat "$include"/weft/*.h | sed -n 's/^WEFT_API [^(]*\(weft_[a-z0-9_]*\)(.*/\1/p' | LC_ALL=C sort -u)
for name in $declared; do
    echo "$exported" | grep -q -x "$name" || { echo "declared in a header, but not exported: $name"; bad=1; }
done

imported=$(nm -D --undefined-only "$library" | awk '{ print $NF }' | sed 's/@.*//')
forbidden=$(echo "$imported" | grep -x -e '_*v\?printf\(_chk\)\?' -e puts -e putchar -e perror -e stdout -e stderr \
    -e 'b\?signal' -e '_*sysv_signal' -e sigaction -e sigset -e '_*exit' -e _Exit -e quick_exit -e abort -e __assert_fail || true)
[ -z "$forbidden" ] || { echo "the library must not use:" $forbidden; bad=1; }
exit $bad
