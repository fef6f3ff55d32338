#!/bin/sh
# The file of `lora --save` has the six matrices of the adapters and nothing else of the network.
# Usage: check_adapters.sh PROGRAM FILE
set -eu
program=$1 file=$2
rm -f "$file"
"$program" --steps 1 --adapter-steps 1 --save "$file" >/dev/null
names=$(head -c 2000 "$file" | LC_ALL=C grep -ao '"[a-z]*\.[a-z.]*":' | LC_ALL=C sort | tr -d '\n')
wanted='"first.down":"first.up":"second.down":"second.up":"third.down":"third.up":'
[ "$names" = "$wanted" ] || { echo "$file has $names"; exit 1; }
