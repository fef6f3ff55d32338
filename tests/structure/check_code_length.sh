#!/bin/sh
# bench/count_code.py, which counts the tree in which it stands, refuses a sample of twice the length of its twin in PyTorch; and no
# sample of this tree is longer than 1.6 times its twin. Usage: check_code_length.sh ROOT
# test: @source@
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$1
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
. "$here/expect.sh"

fresh
mkdir -p "$tree/bench/programs"
cp "$root/bench/count_code.py" "$tree/bench"
expect fail "code of no twins" python3 "$tree/bench/count_code.py"
echo 'value = 12345678' >"$tree/bench/programs/one.py"
echo 'int value = 12345678;' >"$tree/samples/01_one.c"
expect pass "code as long as PyTorch's" python3 "$tree/bench/count_code.py"
echo 'int other = 1;' >>"$tree/samples/01_one.c"
expect fail "code of twice PyTorch's length" python3 "$tree/bench/count_code.py"

python3 "$root/bench/count_code.py" && [ $bad = 0 ]
