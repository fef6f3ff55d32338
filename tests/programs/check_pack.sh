#!/bin/sh
# weft pack writes a file of records from each kind of source; Python, which knows only the format's description, reads
# the numbers and checksums. What is wrong leaves no file.
# Usage: check_pack.sh PROGRAM SOURCE FOLDER
set -eu
program=$1 source=$2 folder=$3/pack
rm -rf "$folder" && mkdir -p "$folder"
cd "$folder"
bad() { echo "$*"; exit 1; }
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }

cat >read.py <<'end'
import json, struct, sys, zlib
data = open(sys.argv[1], "rb").read()
length, crc, zero = struct.unpack("<QII", data[8:24])
header = data[24:24 + length]
assert data[:8] == b"WEFTREC\n" and zero == 0 and zlib.crc32(header) == crc and (24 + length) % 64 == 0
head = json.loads(header)
size = sum({"F32": 4, "I32": 4, "U8": 1}[c["dtype"]] * eval("*".join(map(str, c["shape"])) or "1") for c in head["columns"])
assert len(data) == 24 + length + head["records"] * (size + 4)
for i in range(head["records"]):
    record = data[24 + length + i * (size + 4):][:size + 4]
    assert struct.unpack("<I", record[size:])[0] == zlib.crc32(record[:size]), i
print(head["records"], size, " ".join(c["name"] + str(c["shape"]) for c in head["columns"]))
first = data[24 + length:24 + length + size]
print(struct.unpack("<%di" % (size // 4), first) if size % 4 == 0 and size < 64 else len(first))
end
expect() { # NAME TEXT
    [ "$(python3 read.py "$1")" = "$2" ] || bad "$1: $(python3 read.py "$1")"
}

printf 'x;y\n1;b\n2;a\n' >table.csv
"$program" pack --separator ';' csv table.csv table.records | grep -q '^2 records in table.records$' || bad "csv: no answer"
expect table.records "2 8 x[] y[]
(1065353216, 1)"

digits=$source/data/digits
"$program" pack idx "$digits/t10k-images-idx3-ubyte" "$digits/t10k-labels-idx1-ubyte" digits.records >said
expect digits.records "359 260 image[1, 8, 8] label[]
260"

python3 - <<'end'
def save(name, descr, shape, data):
    head = ("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n" % (descr, shape)).encode()
    open(name, "wb").write(b"\x93NUMPY\1\0" + bytes([len(head) % 256, len(head) // 256]) + head + data)
save("x.npy", "<i4", "(3, 2)", bytes(range(24)))
save("y.npy", "|u1", "(3,)", b"abc")
end
"$program" pack npy a:i32=x.npy b:i32=y.npy arrays.records >said
expect arrays.records "3 12 a[2] b[]
(50462976, 117835012, 97)"

printf 'x\n1\nNA\n' >bad.csv
"$program" pack csv bad.csv bad.records 2>said && bad "a missing value was packed"
grep -q "'NA' is a missing value" said || bad "$(cat said)"
"$program" pack npy a=no.npy bad.records 2>said && bad "no array was packed"
[ -z "$(find . -name 'bad.records*')" ] || bad "a file was left"
rm -rf "$folder"
