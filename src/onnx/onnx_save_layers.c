/* Matrix products, norms and attention in ONNX. */
#include "onnx/onnx_save.h"
#include "ops/attention/attention.h"
#include "ops/normalization/normalization_shared.h"
#include <math.h>

/* ---- products ---- */

/* The tensor whose transpose is x, which has rank 2; NULL: x is not a transpose. */
static weft_tensor *transposed(const wi_export *e, weft_tensor *x) {
    weft_tensor *const own = wi_export_resolve(e, x);
    const bool swaps = own->op == &wi_op_permute && own->shape.rank == 2;
    return swaps ? own->inputs[0] : NULL;
}

wi_export_value *wi_export_gemm(wi_export *e, weft_tensor *y, weft_tensor *bias) {
    weft_tensor *const a = transposed(e, y->inputs[0]), *const b = transposed(e, y->inputs[1]);
    wi_export_value *const added = bias ? wi_export_of(e, bias) : &wi_export_none;
    return wi_export_op(e, "Gemm",
        WI_FROM(wi_export_of(e, a ? a : y->inputs[0]), wi_export_of(e, b ? b : y->inputs[1]), added),
        WI_WITH(WI_WHOLE("transA", a != NULL), WI_WHOLE("transB", b != NULL)));
}

/* Casts 16-bit factors to f32, because their product in Weft is f32. */
static wi_export_value *emit_matmul(wi_export *e, weft_tensor *y, const char *name) {
    const bool narrow = y->inputs[0]->dtype != y->dtype;
    wi_export_value *a = wi_export_of(e, y->inputs[0]), *b = wi_export_of(e, y->inputs[1]);
    if (!narrow && y->shape.rank == 2 && (transposed(e, y->inputs[0]) || transposed(e, y->inputs[1])))
        return wi_export_gemm(e, y, NULL);
    if (narrow) a = wi_export_cast(e, a, wi_export_type(y->dtype));
    if (narrow) b = wi_export_cast(e, b, wi_export_type(y->dtype));
    return wi_export_two(e, name, a, b);
}

/* ---- attention ---- */

/* Attention as products and a softmax. Without a mask, every query has an allowed key, so that nodes for rows that are masked completely are
 * not needed. */
static weft_tensor *attention_parts(weft_tensor *y) {
    const wi_attention_attributes *const a = &y->attributes->attention;
    weft_tensor *const q = y->inputs[WI_ATTENTION_QUERY], *const k = y->inputs[WI_ATTENTION_KEY];
    weft_tensor *const mask = y->input_count > WI_ATTENTION_MASK ? y->inputs[WI_ATTENTION_MASK] : NULL;
    if (mask)
        return weft_matmul(
            wi_attention_weights(y->inputs, mask, a->scale, a->causal), y->inputs[WI_ATTENTION_VALUE]);
    weft_tensor *scores = weft_mul_number(weft_matmul(q, weft_transpose(k)), a->scale);
    if (a->causal) {
        const wi_shape columns = {.rank = 2, .dims = {1, k->shape.dims[2]}},
                       rows = {.rank = 2, .dims = {q->shape.dims[2], 1}};
        weft_tensor *const allowed =
            weft_less_equal(wi_coordinate(y->graph, &columns, 1), wi_coordinate(y->graph, &rows, 0));
        scores = weft_where(allowed, scores, weft_number(scores, -(double)INFINITY));
    }
    return weft_matmul(weft_softmax(scores, -1), y->inputs[WI_ATTENTION_VALUE]);
}

/* ---- norms ---- */

static int64_t channels_of(const weft_tensor *y) {
    return y->shape.dims[y->shape.rank - 1];
}

/* The value of a weight (C); if it is not given, a constant (C) filled with the last argument. */
static wi_export_value *weight_of(wi_export *e, const weft_tensor *y, weft_tensor *given, double otherwise) {
    return given ? wi_export_of(e, given) : wi_export_filled(e, otherwise, channels_of(y));
}

static bool has_running(const wi_export *e, const weft_tensor *y) {
    (void)e;
    return y->dtype == WEFT_F32 && y->attributes->norm.inputs & WI_NORM_RUNNING;
}

static bool is_f32(const wi_export *e, const weft_tensor *y) {
    return y->dtype == WEFT_F32 && !has_running(e, y);
}

static wi_export_value *emit_batch_norm(wi_export *e, weft_tensor *y, const char *name) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    wi_export_value *const weight = weight_of(e, y, in.weight, 1), *const bias = weight_of(e, y, in.bias, 0);
    return wi_export_op(e, name,
        WI_FROM(wi_export_first(e, in.x), weight, bias, wi_export_of(e, in.mean), wi_export_of(e, in.var)),
        WI_WITH(WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
}

static wi_export_value *emit_instance_norm(wi_export *e, weft_tensor *y, const char *name) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    wi_export_value *const weight = weight_of(e, y, in.weight, 1), *const bias = weight_of(e, y, in.bias, 0);
    return wi_export_op(e, name, WI_FROM(wi_export_first(e, in.x), weight, bias),
        WI_WITH(WI_REAL("epsilon", (double)y->attributes->norm.epsilon),
            WI_WHOLE(y->attributes->norm.groups ? "num_groups" : NULL, y->attributes->norm.groups)));
}

/* Reshapes x (C) so that it broadcasts to (N, C, spatial...). */
static wi_export_value *by_channel(wi_export *e, wi_export_value *x, const weft_tensor *y) {
    const int64_t dims[WEFT_MAX_RANK] = {channels_of(y), 1, 1, 1, 1, 1, 1, 1};
    return wi_export_two(e, "Reshape", x, wi_export_ints(e, dims, y->shape.rank - 1));
}

/* Before opset 21, a group norm is written as an instance norm whose channels are the groups. */
static wi_export_value *emit_group_norm(wi_export *e, weft_tensor *y, const char *name) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const int64_t groups = y->attributes->norm.groups, merged[] = {0, groups, -1};
    wi_export_value *const image = wi_export_first(e, in.x), *const shape = wi_export_one(e, "Shape", image);
    wi_export_value *x = wi_export_two(e, "Reshape", image, wi_export_ints(e, merged, 3));
    x = wi_export_op(e, name, WI_FROM(x, wi_export_filled(e, 1, groups), wi_export_filled(e, 0, groups)),
        WI_WITH(WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
    x = wi_export_two(e, "Reshape", x, shape);
    if (in.weight) x = wi_export_two(e, "Mul", x, by_channel(e, wi_export_of(e, in.weight), y));
    return in.bias ? wi_export_two(e, "Add", x, by_channel(e, wi_export_of(e, in.bias), y)) : x;
}

/* Have the normalised axes fixed sizes? */
static bool is_row_norm(const wi_export *e, const weft_tensor *y) {
    (void)e;
    const wi_shape last =
        wi_shape_without(&y->shape, (1u << (y->shape.rank - y->attributes->norm.last_axes)) - 1);
    return y->dtype == WEFT_F32 && !wi_export_has_open(&last);
}

static wi_export_value *emit_row_norm(wi_export *e, weft_tensor *y, const char *name) {
    const wi_norm_inputs in = wi_norm_inputs_of(y);
    const int axes = y->attributes->norm.last_axes;
    const int64_t *const dims = y->shape.dims + y->shape.rank - axes;
    wi_export_value *const bias = in.bias ? wi_export_of(e, in.bias) : &wi_export_none;
    wi_export_value *weight = in.weight ? wi_export_of(e, in.weight) : wi_export_number(e, WEFT_F32, 1);
    if (!in.weight) weight = wi_export_two(e, "Expand", weight, wi_export_ints(e, dims, axes));
    return wi_export_op(e, name, WI_FROM(wi_export_of(e, in.x), weight, bias),
        WI_WITH(WI_WHOLE("axis", -axes), WI_REAL("epsilon", (double)y->attributes->norm.epsilon)));
}

const wi_export_row wi_export_layer_rows[] = {{&wi_op_matmul, .name = "MatMul", .emit = emit_matmul},
    {&wi_op_softmax, .name = "Softmax", .axis = WI_AXIS(wi_along_attributes)},
    {&wi_op_log_softmax, .name = "LogSoftmax", .axis = WI_AXIS(wi_along_attributes)},
    {&wi_op_attention, .rewrite = attention_parts},
    {&wi_op_batch_norm, .name = "BatchNormalization", .is_image = true, .emit = emit_batch_norm,
        .fits = has_running},
    {&wi_op_instance_norm, .name = "BatchNormalization", .is_image = true, .emit = emit_batch_norm,
        .fits = has_running},
    {&wi_op_instance_norm, .name = "InstanceNormalization", .is_image = true, .emit = emit_instance_norm,
        .fits = is_f32},
    {&wi_op_group_norm, .name = "GroupNormalization", .since = 21, .is_image = true,
        .emit = emit_instance_norm, .fits = is_f32},
    {&wi_op_group_norm, .name = "InstanceNormalization", .is_image = true, .emit = emit_group_norm,
        .fits = is_f32},
    {&wi_op_layer_norm, .name = "LayerNormalization", .emit = emit_row_norm, .fits = is_row_norm},
    {&wi_op_rms_norm, .name = "RMSNormalization", .since = 23, .emit = emit_row_norm, .fits = is_row_norm},
    {0}};
