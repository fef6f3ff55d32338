/* Matrix products, softmax, norms and attention in ONNX. */
#include "onnx/onnx_save.h"
#include "ops/attention/attention.h"
#include "ops/normalization/normalization_shared.h"
#include <math.h>

/* ---- products ---- */

/* The tensor of which x, of rank 2, is the transpose; NULL: it is none. */
static weft_tensor *transposed(const wi_export *e, weft_tensor *x) {
    weft_tensor *const own = wi_export_resolve(e, x);
    const bool swaps = own->op == &wi_op_permute && own->shape.rank == 2;
    return swaps ? own->inputs[0] : NULL;
}

wi_export_value *wi_export_gemm(wi_export *e, weft_tensor *y, weft_tensor *bias) {
    weft_tensor *const a = transposed(e, y->inputs[0]), *const b = transposed(e, y->inputs[1]);
    wi_export_value *const left = wi_export_of(e, a ? a : y->inputs[0]), *const right = wi_export_of(
                                                                             e, b ? b : y->inputs[1]);
    wi_export_value *const added = bias ? wi_export_of(e, bias) : &wi_export_none;
    if (!left || !right || !added) return NULL;
    return wi_export_op(e, "Gemm", WI_FROM(left, right, added),
        WI_WITH(WI_WHOLE("transA", a != NULL), WI_WHOLE("transB", b != NULL)));
}

/* The product of 16-bit floats is f32. */
static wi_export_value *emit_matmul(wi_export *e, weft_tensor *y) {
    wi_export_value *inputs[3] = {NULL};
    if (y->shape.rank == 2 && y->inputs[0]->dtype == y->dtype &&
        (transposed(e, y->inputs[0]) || transposed(e, y->inputs[1])))
        return wi_export_gemm(e, y, NULL);
    for (int i = 0; i < 2; i++) {
        inputs[i] = wi_export_of(e, y->inputs[i]);
        if (y->inputs[i]->dtype != y->dtype)
            inputs[i] = wi_export_cast(e, inputs[i], wi_export_type(y->dtype));
        if (!inputs[i]) return NULL;
    }
    return wi_export_op(e, "MatMul", inputs, NULL);
}

/* ---- softmax and attention ---- */

static wi_export_value *emit_softmax(wi_export *e, weft_tensor *y) {
    wi_export_value *const x = wi_export_of(e, y->inputs[0]);
    const char *const name = y->op == &wi_op_softmax ? "Softmax" : "LogSoftmax";
    return x ? wi_export_op(e, name, WI_FROM(x), WI_WITH(WI_WHOLE("axis", y->attributes->along.axis))) : NULL;
}

/* Without a mask, each query has a key, so that no row of the softmax needs the care for rows that are masked as a whole. */
static weft_tensor *attention_parts(weft_tensor *y) {
    const wi_attention_attributes *const a = &y->attributes->attention;
    weft_tensor *const q = y->inputs[WI_ATTENTION_QUERY], *const k = y->inputs[WI_ATTENTION_KEY];
    weft_tensor *const mask = y->input_count > WI_ATTENTION_MASK ? y->inputs[WI_ATTENTION_MASK] : NULL;
    if (mask)
        return weft_matmul(
            wi_attention_weights(y->inputs, mask, a->scale, a->causal), y->inputs[WI_ATTENTION_VALUE]);
    weft_tensor *scores = weft_mul_number(weft_matmul(q, weft_transpose(k)), a->scale);
    if (a->causal) {
        const wi_shape shape = {.rank = 2, .dims = {q->shape.dims[2], k->shape.dims[2]}};
        weft_tensor *const allowed =
            weft_less_equal(wi_coordinate(y->graph, &(wi_shape){.rank = 2, .dims = {1, shape.dims[1]}}, 1),
                wi_coordinate(y->graph, &(wi_shape){.rank = 2, .dims = {shape.dims[0], 1}}, 0));
        scores = weft_where(allowed, scores, weft_number(scores, -(double)INFINITY));
    }
    return weft_matmul(weft_softmax(scores, -1), y->inputs[WI_ATTENTION_VALUE]);
}

/* ---- norms ---- */

static wi_export_value *weights(wi_export *e, weft_tensor *given, double otherwise, int64_t count) {
    return given ? wi_export_of(e, given) : wi_export_filled(e, otherwise, count);
}

static int64_t channels_of(const weft_tensor *y) {
    return y->shape.dims[y->shape.rank - 1];
}

static bool is_f32(const weft_tensor *y) {
    return y->dtype == WEFT_F32;
}

static bool has_running(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return is_f32(y) && wi_norm_inputs_of(y).mean;
}

static wi_export_value *emit_batch_norm(wi_export *e, weft_tensor *y) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    wi_export_value *const x = wi_export_first(e, in.x),
                           *const weight = weights(e, in.weight, 1, channels_of(y)),
                           *const bias = weights(e, in.bias, 0, channels_of(y)),
                           *const mean = wi_export_of(e, in.mean), *const var = wi_export_of(e, in.var);
    if (!x || !weight || !bias || !mean || !var) return NULL;
    return wi_export_op(e, "BatchNormalization", WI_FROM(x, weight, bias, mean, var),
        WI_WITH(WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
}

static wi_export_value *instance_norm(
    wi_export *e, wi_export_value *x, wi_export_value *weight, wi_export_value *bias, const weft_tensor *y) {
    if (!x || !weight || !bias) return NULL;
    return wi_export_op(e, "InstanceNormalization", WI_FROM(x, weight, bias),
        WI_WITH(WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
}

static bool is_instance_norm(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return is_f32(y) && !wi_norm_inputs_of(y).mean;
}

static wi_export_value *emit_instance_norm(wi_export *e, weft_tensor *y) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    return instance_norm(e, wi_export_first(e, in.x), weights(e, in.weight, 1, channels_of(y)),
        weights(e, in.bias, 0, channels_of(y)), y);
}

static bool is_group_norm(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return is_f32(y);
}

/* (C) beside (N, C, spatial...) */
static wi_export_value *by_channel(wi_export *e, wi_export_value *x, const weft_tensor *y) {
    int64_t dims[WEFT_MAX_RANK] = {channels_of(y), 1, 1, 1, 1, 1, 1, 1};
    return wi_export_two(e, "Reshape", x, wi_export_ints(e, dims, y->shape.rank - 1));
}

/* Before opset 21, the groups are channels of an instance norm. */
static wi_export_value *emit_group_norm(wi_export *e, weft_tensor *y) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const int64_t groups = y->attributes->norm.groups, merged[] = {0, groups, -1};
    wi_export_value *x = wi_export_first(e, in.x);
    wi_export_value *const weight = weights(e, in.weight, 1, channels_of(y)), *const bias = weights(e,
                                                                                  in.bias, 0, channels_of(y));
    if (!x || !weight || !bias) return NULL;
    if (e->options.opset >= 21)
        return wi_export_op(e, "GroupNormalization", WI_FROM(x, weight, bias),
            WI_WITH(WI_WHOLE("num_groups", groups), WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
    wi_export_value *const shape = wi_export_one(e, "Shape", x);
    x = wi_export_two(e, "Reshape", x, wi_export_ints(e, merged, 3));
    x = instance_norm(e, x, wi_export_filled(e, 1, groups), wi_export_filled(e, 0, groups), y);
    x = wi_export_two(e, "Reshape", x, shape);
    if (in.weight) x = wi_export_two(e, "Mul", x, by_channel(e, weight, y));
    return in.bias ? wi_export_two(e, "Add", x, by_channel(e, bias, y)) : x;
}

/* The axes that are normalised have fixed sizes. */
static bool is_row_norm(const wi_export *e, const weft_tensor *y) {
    const wi_shape last =
        wi_shape_without(&y->shape, (1u << (y->shape.rank - y->attributes->norm.last_axes)) - 1);
    return is_f32(y) && !wi_export_has_open(e, &last);
}

static wi_export_value *emit_row_norm(wi_export *e, weft_tensor *y) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const bool centres = y->op == &wi_op_layer_norm;
    const int axes = y->attributes->norm.last_axes;
    int64_t count = 1;
    for (int i = y->shape.rank - axes; i < y->shape.rank; i++) count *= y->shape.dims[i];
    wi_export_value *const x = wi_export_of(e, in.x), *const bias = in.bias ? wi_export_of(e, in.bias)
                                                                            : &wi_export_none;
    wi_export_value *weight = weights(e, in.weight, 1, count);
    if (!in.weight && axes > 1)
        weight = wi_export_two(
            e, "Reshape", weight, wi_export_ints(e, y->shape.dims + y->shape.rank - axes, axes));
    if (!x || !weight || !bias) return NULL;
    return wi_export_op(e, centres ? "LayerNormalization" : "RMSNormalization", WI_FROM(x, weight, bias),
        WI_WITH(WI_WHOLE("axis", -axes), WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
}

const wi_export_row wi_export_layer_rows[] = {{&wi_op_matmul, .emit = emit_matmul},
    {&wi_op_softmax, .emit = emit_softmax}, {&wi_op_log_softmax, .emit = emit_softmax},
    {&wi_op_attention, .rewrite = attention_parts},
    {&wi_op_batch_norm, .emit_image = emit_batch_norm, .fits = has_running},
    {&wi_op_instance_norm, .emit_image = emit_batch_norm, .fits = has_running},
    {&wi_op_instance_norm, .emit_image = emit_instance_norm, .fits = is_instance_norm},
    {&wi_op_group_norm, .emit_image = emit_group_norm, .fits = is_group_norm},
    {&wi_op_layer_norm, .emit = emit_row_norm, .fits = is_row_norm},
    {&wi_op_rms_norm, .since = 23, .emit = emit_row_norm, .fits = is_row_norm}, {0}};
