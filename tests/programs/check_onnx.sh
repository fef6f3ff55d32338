#!/bin/sh
# weft onnx shows, runs, checks and trains a network of an ONNX file (a linear layer of Debian's libonnx-testdata), and what it writes can be
# read again. Usage: check_onnx.sh WEFT FOLDER
set -u
weft=$1 work=$2
here=$(dirname "$0")
cases=/usr/share/libonnx-testdata/data/pytorch-converted
[ -r $cases/test_Linear/model.onnx ] || { echo "skipped: libonnx-testdata is not installed"; exit 77; }
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
"$weft" onnx 2>&1 | grep -q "built without ONNX" && { echo "skipped: there is no ONNX in this build"; exit 77; }
file=$cases/test_Linear/model.onnx
bad=0
rm -rf "$work"
mkdir -p "$work"

# says TEXT ARGUMENT...: the command succeeds, and its output has TEXT.
says() {
    wanted=$1
    shift
    got=$("$weft" onnx "$@" 2>&1) || { echo "weft onnx $*: failed: $got"; bad=1; }
    case $got in *"$wanted"*) ;; *) echo "weft onnx $*: no \"$wanted\" in: $got"; bad=1 ;; esac
}
# fails TEXT ARGUMENT...: the command ends with status 1 and one line on stderr that has TEXT.
fails() {
    wanted=$1
    shift
    got=$("$weft" onnx "$@" 2>&1 >/dev/null)
    status=$?
    case $got in *"$wanted"*) [ $status -eq 1 ] && [ "$(printf '%s\n' "$got" | wc -l)" -eq 1 ] && return ;; esac
    echo "weft onnx $*: status $status, no \"$wanted\" in: $got"
    bad=1
}

for command in info run check train; do sh "$here/check_help.sh" "$weft" onnx $command || bad=1; done

# Arrays of NumPy: the case's input and output, an output in place of classes, an input of another shape.
python3 - "$cases/test_Linear/test_data_set_0" "$work" <<'END'
import struct, sys
def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
def tensor(path):
    data = open(path, "rb").read()
    dims, raw, at = [], b"", 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        if key >> 3 == 1:
            dims += [value] if key & 7 == 0 else list(value)
        if key >> 3 == 9:
            raw = value
    return tuple(dims), raw
def save(name, dims, raw, kind="f4"):
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': %r, }" % (kind, dims)
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(f"{sys.argv[2]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + raw)
dims, raw = tensor(sys.argv[1] + "/input_0.pb")
save("x", dims, raw)
save("turned", dims[::-1], raw)
dims, raw = tensor(sys.argv[1] + "/output_0.pb")
save("wanted", dims, raw)
save("zeros", dims, bytes(len(raw)))
save("classes", dims[:1], struct.pack(f"<{dims[0]}i", *range(dims[0])), "i4")
END
[ -f "$work/zeros.npy" ] || { echo "the arrays were not written"; exit 1; }

says "Gemm 1" info $file
x=$(printf '%s\n' "$got" | sed -n '/^inputs/{n;s/^  \(.*\): .*/\1/p;}')
y=$(printf '%s\n' "$got" | sed -n '/^outputs/{n;s/^  \(.*\): .*/\1/p;}')
says "(8, 10)  input 1 of Gemm" info $file
says "Weft loads this file, with 88 numbers in 2 weights" info $file
says "ms per run" run $file --input "$x=$work/x.npy" --output "$work/out" --repeat 2
python3 - "$work/out/$y.npy" "$work/wanted.npy" <<'END' || bad=1
import struct, sys
own, wanted = (struct.unpack("<32f", open(path, "rb").read()[-128:]) for path in sys.argv[1:])
if any(abs(a - b) > 1e-5 for a, b in zip(own, wanted)):
    sys.exit(f"weft onnx run computes {own}, not {wanted}")
END
says "$y" run $file --random
says "differs by" check $file
fails "'$x'" run $file
fails "has no input 'nothing'" run $file --input nothing="$work/x.npy"
fails "has the shape (10, 4), but the input has the shape (4, 10)" run $file --input "$x=$work/turned.npy"
fails "cannot open" run $file --input "$x=$work/none.npy"

says "epoch 50/50" train $file --input "$x=$work/x.npy" --target "$y=$work/zeros.npy" --loss mse --epochs 50 --rate 0.05 \
    --output "$work/trained.onnx" --weights "$work/trained.safetensors" --events "$work/events" --html "$work/page.html"
first=$(printf '%s\n' "$got" | sed -n 's/^epoch  1\/50  loss \([^ ]*\).*/\1/p')
last=$(printf '%s\n' "$got" | sed -n 's/^epoch 50\/50  loss \([^ ]*\).*/\1/p')
awk "BEGIN { exit !($last < 0.1 * $first) }" || { echo "the loss $first became $last"; bad=1; }
[ -s "$work/trained.safetensors" ] || { echo "there are no weights"; bad=1; }
[ -s "$work/page.html" ] && ls "$work"/events/events.out.tfevents.* >/dev/null || { echo "there are no events, or no page"; bad=1; }
says "with 88 numbers" info "$work/trained.onnx"
says "epoch 1/1" train $file --input "$x=$work/x.npy" --target "$y=$work/classes.npy" --batch 4
fails "--target" train $file --input "$x=$work/x.npy"
fails "computes no value 'z'" train $file --input "$x=$work/x.npy" --target "z=$work/zeros.npy" --loss mse

# A network that cannot be built.
says "operators that are not supported" info /usr/share/libonnx-testdata/data/node/test_tfidfvectorizer_tf_only_bigrams_skip0/model.onnx
says "cannot load this file" info /usr/share/libonnx-testdata/data/node/test_tfidfvectorizer_tf_only_bigrams_skip0/model.onnx
says "decides a shape" info /usr/share/libonnx-testdata/data/node/test_reshape_reordered_all_dims/model.onnx
says "(4, 2, 3)" run /usr/share/libonnx-testdata/data/node/test_reshape_reordered_all_dims/model.onnx --random --value shape=4,2,3
fails "'shape'" run /usr/share/libonnx-testdata/data/node/test_reshape_reordered_all_dims/model.onnx --random
exit $bad
