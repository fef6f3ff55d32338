#!/bin/sh
# A file includes only its own layer and those below. Usage: check_layers.sh ROOT
#
# A folder of src/ is a layer; a public header belongs to the layer of its name (device.h: cl; losses.h,
# images.h, indexing.h, convolution.h, normalization.h, recurrent.h: ops; profile.h: plan; distributed.h, sharded_table.h: dist; models.h, schedules.h, vectors.h, classes.h: nn; text.h, image_data.h, metrics.h, events.h: train;
# weft.h stands above all, and short_names.h above it). tools/ may include everything but tests/, tests/ and workloads/ everything but tools/, samples/
# and programs/ the public headers and their own, programs/ those of samples/, too.
# test: @source@
set -eu
cd "$1"

# meets FOLDER OTHER: a line of FOLDER names a file or a header of OTHER.
meets() {
    [ -d "$1" ] && [ -d "$2" ] || return 1
    headers=$(cd "$2" && find . -name '*.h' | sed 's|^\./\(.*/\)*\(.*\)\.h$|\2\\.h|' | paste -s -d '|')
    grep -rnE "^[ \t]*# *include \"(.*/)?(${headers:-none})\"|[/ ]$2/[a-z_]+\.c" --include='*.[ch]' --include=CMakeLists.txt "$1"
}
if meets tests tools || meets workloads tools || meets tools tests; then
    echo "tests/, workloads/ and tools/: what both need stands in workloads/"
    exit 1
fi

find include src samples programs -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | xargs awk '
BEGIN {
    count = split("base cl graph ops kernels plan nn io onnx dist train", order, " ")
    for (i = 1; i <= count; i++) rank[order[i]] = i
}
function layer_of_header(name) {
    sub(/\.h$/, "", name)
    if (name ~ /^(weft|short_names)$/) return name
    if (name ~ /^(losses|images|indexing|convolution|normalization|recurrent)$/) return "ops"
    if (name ~ /^(classes|models|schedules|vectors)$/) return "nn"
    if (name == "profile") return "plan"
    if (name ~ /^(distributed|sharded_table)$/) return "dist"
    if (name ~ /^(text|image_data|metrics|events)$/) return "train"
    return name == "device" ? "cl" : name
}
function rank_of(layer) {
    if (layer == "weft") return count + 1
    if (layer == "short_names") return count + 2
    if (!(layer in rank)) return 0
    return rank[layer]
}
function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}
FNR == 1 {
    files++
    split(FILENAME, part, "/")
    own = part[1] == "src" ? part[2] : part[1] == "include" ? layer_of_header(part[3]) : part[1]
    if (own != "samples" && own != "programs" && !rank_of(own)) complain("\"" own "\" is no layer: " FILENAME)
}
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    target = $0
    sub(/^[^<"]*/, "", target)
    quoted = substr(target, 1, 1) == "\""
    sub(/^[<"]/, "", target)
    sub(/[>"].*$/, "", target)
    if (own == "samples") {
        if (quoted && target ~ /\//) complain("a sample includes public headers only, not \"" target "\"")
        next
    }
    if (own == "programs") {
        if (quoted && target ~ /\//) complain("a program includes public headers and its own only, not \"" target "\"")
        next
    }
    slash = index(target, "/")
    folder = slash ? substr(target, 1, slash - 1) : ""
    if (folder == "weft") layer = layer_of_header(substr(target, slash + 1))
    else if (!quoted) next
    else layer = slash ? folder : own
    if (part[1] == "include" && quoted) complain("a public header includes <weft/...> only, not \"" target "\"")
    else if (!rank_of(layer)) complain("\"" target "\" belongs to no layer")
    else if (rank_of(layer) > rank_of(own)) complain("layer " own " includes upwards: " target)
}
END {
    if (!files) complain("no files to check")
    exit bad
}'
