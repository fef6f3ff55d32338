#!/bin/sh
# bench/compare runs Weft and its peers in alternation and writes a result, of which bench/write_performance writes a page.
# Usage: check_compare.sh ROOT FOLDER
# test: @source@ @folder@
#
# Weft and Python are scripts that give known figures: the first, second and third run of a command take 30, 10 and 20 ms of Weft and 40, 50
# and 80 of PyTorch. There is no ONNX Runtime, and PyTorch fails with AlexNet-R.
set -u
root=$1 folder=$2
command -v python3 >/dev/null || { echo "skipped: there is no python3, which bench/compare needs"; exit 77; }
rm -rf "$folder" && mkdir -p "$folder/bin" "$folder/tree/bench/results" "$folder/tree/docs" || exit 1
bad() { echo "$*"; exit 1; }
has() { grep -qF -e "$2" "$1" || bad "$1: expected '$2', has: $(cat "$1")"; }

cat >"$folder/bin/weft" <<'WEFT'
#!/bin/sh
here=$(dirname "$0")
case "$*" in
--version) echo "weft 9.8.7"; exit ;;
devices) printf '0:0  a device\n     CPU, somebody, OpenCL 3.0, driver 7.7\n'; exit ;;
"bench gemm"*) echo '{"peak_gflops": 99.0}'; exit ;;
esac
echo "weft $*" >>"$here/calls"
[ -n "$(ls "$XDG_CACHE_HOME")" ] || echo "first of all: $4" >>"$here/starts"
touch "$XDG_CACHE_HOME/kernels"
case "$*" in *"--steps 1") ms=70 ;; *) ms=$(sed -n "$(grep -cxF "weft $*" "$here/calls")p" "$here/weft_times") ;; esac
echo "{\"net\": \"$4\", \"batch\": 8, \"median_ms\": $ms, \"plan_ms\": 500, \"first_step_ms\": 1500, \"peak_gflops\": 200, \
\"copy_gbytes_s\": 20, \"roofline\": 0.5, \"peak_bytes\": 3145728, \"launches\": 9}"
WEFT
cat >"$folder/bin/python" <<'PYTHON'
#!/bin/sh
here=$(dirname "$0")
case "$*" in
*"import torch"*) echo 3.2.1; exit ;;
*onnxruntime*) echo "No module named 'onnxruntime'" >&2; exit 1 ;;
*AlexNet-R*) echo "no memory for AlexNet-R" >&2; exit 1 ;;
esac
shift
echo "torch $*" >>"$here/calls"
echo "$2 8 $(sed -n "$(grep -cxF "torch $*" "$here/calls")p" "$here/torch_times").0 ms median 1.0 ms min 5 params"
PYTHON
chmod +x "$folder/bin/weft" "$folder/bin/python"
printf '30\n10\n20\n' >"$folder/bin/weft_times"
printf '40\n50\n80\n' >"$folder/bin/torch_times"
compare() {
    rm -f "$folder/bin/calls" "$folder/bin/starts"
    "$root/bench/compare" --weft "$folder/bin/weft" --python "$folder/bin/python" "$@" >"$folder/output" 2>"$folder/errors"
}

compare --only FCN-S && bad "expected --only without --output to be refused"
has "$folder/errors" "give --output FILE"
compare --only FCN-X --output "$folder/none" && bad "expected an unknown network to be refused"
has "$folder/errors" "there is no network 'FCN-X'"
compare --only FCN-S --most-load -1 --output "$folder/none" && bad "expected a busy machine to be refused"
has "$folder/errors" "or give --busy"
[ ! -e "$folder/none" ] || bad "expected no result of what was refused"

result=$folder/tree/bench/results/2026-01-02-some.json
compare --only FCN-S --most-load -1 --busy --output "$result" || bad "failed: $(cat "$folder/errors")"
has "$result" '"busy": true'
has "$result" '"rounds": 3'
has "$result" '"driver": "somebody, driver 7.7"'
has "$result" '"ONNX Runtime": "No module named'
has "$result" '"weft_ms": [30, 10, 20], "peers": {"PyTorch": [40.0, 50.0, 80.0]}'
has "$result" '"first_start_s": 2.0'
has "$result" '"step_mib": 3.0'
[ "$(grep -c . "$folder/bin/starts")" -eq 1 ] || bad "expected one start without kernels: $(cat "$folder/bin/starts")"
order=$(sed 1,2d "$folder/bin/calls" | grep -v bf16 | cut -d' ' -f1 | tr '\n' ' ')
[ "$order" = "weft torch weft torch weft torch " ] || bad "expected Weft and PyTorch in alternation: $order"

# A ratio is the median of 30/40, 10/50 and 20/80, 0.25; the floor of 10 ms is 0.2 of PyTorch's 50.
cp "$root/bench/targets.json" "$folder/tree/bench/"
page=$folder/tree/docs/performance.md
"$root/bench/write_performance" --root "$folder/tree" || bad "no page was written"
has "$page" '| FCN-S, 8 | 20 (0.25) | 20 (0.25) |'
sed -i 's/"FCN-S 64": [0-9.]*/"FCN-S 8": 0.25/' "$folder/tree/bench/targets.json"
"$root/bench/write_performance" --root "$folder/tree" && has "$page" '| FCN-S, 8 | 20 (**0.25**) | 20 (**0.25**) |'
sed -i 's/"FCN-S 8": [0-9.]*/"FCN-S 8": 0.24/' "$folder/tree/bench/targets.json"
"$root/bench/write_performance" --root "$folder/tree" && has "$page" "| FCN-S, 8: training, f32 | 0.24 of PyTorch's | 0.25, floor 0.20 |"
has "$page" "other programs were running"

# Of results of one kind of machine the newest counts, but not a quick one.
sed 's/"weft_ms": \[30, 10, 20\]/"weft_ms": [60, 20, 40]/; s/"date": "[^"]*"/"date": "2999-01-01"/' "$result" >"$folder/tree/bench/results/2025-newer.json"
"$root/bench/write_performance" --root "$folder/tree" && has "$page" '| FCN-S, 8 | 40 (0.50) | 40 (0.50) |'
sed -i 's/"quick": false/"quick": true/' "$folder/tree/bench/results/2025-newer.json"
"$root/bench/write_performance" --root "$folder/tree" && has "$page" '| FCN-S, 8 | 20 (0.25) | 20 (0.25) |'

# A prediction names PyTorch, so that its ratio is not read as that to ONNX Runtime.
compare --only LSTM --busy --rounds 1 --output "$result" || bad "failed: $(cat "$folder/errors")"
"$root/bench/write_performance" --root "$folder/tree" && has "$page" '| LSTM, 8 | 30 (PyTorch 0.75) |'

compare --only FCN-S --busy --minutes 0 --output "$folder/short.json" || bad "failed: $(cat "$folder/errors")"
has "$folder/short.json" '"rounds": 1'
compare --only AlexNet-R --busy --output "$folder/failed.json" || bad "failed: $(cat "$folder/errors")"
has "$folder/failed.json" '"PyTorch, AlexNet-R training f32 8": "no memory for AlexNet-R"'
has "$folder/failed.json" '"peers": {}'
has "$folder/output" "left out: PyTorch, AlexNet-R training f32 8: no memory"
