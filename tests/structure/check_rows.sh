#!/bin/sh
# Every public function whose result is a tensor has a row in the op table, through which the oracle, PyTorch's numbers and
# random programs meet it, or stands below with the reason why it cannot have one.
# Usage: check_rows.sh ROOT
#
# A form of an op (weft_sum_axes, weft_mse_loss, weft_lstm_cell_layer) has the row of the op.
# test: @source@
set -eu
cd "$1"

# REASON: NAME...
without='makes a source, whose numbers the caller gives: array constant number scalar input_dims input_shape image_input
 parameter_dims parameter_dtype parameter_shape state_shape transient_state carried_state
finds what the graph has: graph_find graph_find_input onnx_input onnx_output onnx_tensor graph_parameter graph_state minimize_rate optimizer_rate
is an output of plans without a value: assign assign_after carry_start scope_copy train_step optimizer_minimize optimizer_step
is gradients, which each program takes of its loss: gradient gradient_vector
has its input as its value; tests/plan and tests/graph see what it changes: keep_f32 stop_gradient
is drawn by comparing sums of probabilities, which a rounding tips; tests/ops/sort/test_categorical.c: categorical categorical_with
has kinks at each pixel, which random positions hit; tests/ops/pooling/test_grid_sample.c: grid_sample
has two results, of which one is an assignment; tests/ops/attention/test_attention_cached.c: attention_cached
makes parameters for ops that have rows: linear conv1d conv1d_layer conv2d conv2d_layer conv2d_strided conv3d conv3d_layer
 conv_layer conv_transpose2d conv_transpose2d_layer bilinear linear_layer bilinear_layer embedding_bag multi_head_attention
is linear_with and attention; tests/golden/attention_golden.json: multi_head_attention_with
is of an object; tests/golden/adaptive_golden.json: adaptive_softmax_log_prob adaptive_softmax_loss
is of an object; tests/nn/test_sampled_softmax.c, test_mach.c: sampled_softmax_loss sampled_softmax_logits mach_loss mach_probabilities
is a network; tests/golden/model_golden.json: model alexnet_r alexnet_s efficientnet_b0 googlenet inception_v3 lenet5
 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small resnet101 resnet18 resnet20 resnet34 resnet50 resnet56 vgg11 vgg16
 vit_b_16
is a network; tests/golden/bert_golden.json: bert'

rows=$(sed -n 's/^WI_[A-Z0-9_]*(\([a-z0-9_]*\)[ ,)].*/\1/p' src/ops/op_list.h)
[ -n "$rows" ] || { echo "src/ops/op_list.h has no ops"; exit 1; }
calls=$(cat include/weft/*.h | tr '\n' ' ' | grep -oE 'WEFT_API +weft_(tensor \*|recurrent )weft_[a-z0-9_]+\(' |
    sed 's/.*weft_\([a-z0-9_]*\)(/\1/' | LC_ALL=C sort -u)
[ -n "$calls" ] || { echo "include/weft declares no functions that return a tensor"; exit 1; }

printf '%s\n--\n%s\n--\n%s\n' "$rows" "$calls" "$without" | awk '
    /^--$/ { part++; next }
    part == 0 { row[$0] = 1 }
    part == 1 { call[$0] = 1 }
    part == 2 {
        sub(/^.*: /, "")
        for (i = 1; i <= NF; i++) listed[$i] = 1
    }
    function has_row(name, base) {
        base = name
        sub(/(_axes|_with|_loss|_layer|_shape|_list_)$/, "", base)
        return row[name] || row[base] || row[base "_with"] || base == "embedding_padded"
    }
    END {
        for (name in call) {
            if (!has_row(name) && !listed[name]) {
                print "weft_" name " has no row in src/ops/op_list.h"
                bad = 1
            }
            if (row[name] && listed[name]) {
                print "weft_" name " has a row, and stands in the list of those without"
                bad = 1
            }
        }
        for (name in listed)
            if (!call[name]) {
                print "the list of functions without a row has weft_" name ", which include/weft does not declare"
                bad = 1
            }
        exit bad
    }'
