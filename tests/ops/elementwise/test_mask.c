/* Triangles, masks, one-hot rows; tensors that are a function of their indices. */
/* test slow */
/* test.{formats} format={} reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_mask.h"
#include <math.h>

#define X(...)   F32(-2, 2, __VA_ARGS__)
#define X_T(...) F32_VIEW(OP_TRANSPOSED, -2, 2, __VA_ARGS__)
#define MASK(...)                                                                                            \
    { WEFT_BOOL, OP_RANDOM, 0, 1, DIMS(__VA_ARGS__), OP_WHOLE }

/* ---- triangles: start is the diagonal ---- */

static weft_tensor *build_tril(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_tril(inputs[0], c->start);
}
static weft_tensor *build_triu(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_triu(inputs[0], c->start);
}
static f64_array *reference_tril(const op_case *c, const f64_array *const *inputs) {
    return f64_tril(inputs[0], c->start);
}
static f64_array *reference_triu(const op_case *c, const f64_array *const *inputs) {
    return f64_triu(inputs[0], c->start);
}
/* What is cut away may be infinite or NaN. */
static weft_tensor *build_tril_of_inverse(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_tril(weft_log(weft_triu(inputs[0], c->start)), c->start - 1);
}
static f64_array *reference_tril_of_inverse(const op_case *c, const f64_array *const *inputs) {
    return f64_tril(f64_log(reference_triu(c, inputs)), c->start - 1);
}
#define TRIANGLE_CASES(name)                                                                                 \
    CASE("square", name, INPUTS(X(5, 5))), CASE("1·1", name, INPUTS(X(1, 1))),                               \
        CASE("wide, above", name, INPUTS(X(3, 20)), .start = 2),                                             \
        CASE("tall, below", name, INPUTS(X(20, 3)), .start = -2),                                            \
        CASE("everything", name, INPUTS(X(3, 4)), .start = INT64_MAX),                                       \
        CASE("nothing", name, INPUTS(X(3, 4)), .start = INT64_MIN),                                          \
        CASE("batched", name, INPUTS(X(WEFT_BATCH, 2, 4, 5)), .start = 1),                                   \
        CASE("rows are the batch", name, INPUTS(X(WEFT_BATCH, 6))),                                          \
        CASE("columns are the batch", name, INPUTS(X_T(6, WEFT_BATCH))),                                     \
        CASE("i32", name, INPUTS(I32(-9, 9, 4, 17)), .no_gradient = true)
static const op_case tril_cases[] = {TRIANGLE_CASES(tril),
    CASE("minus infinity cut away", tril_of_inverse, INPUTS(F32(0.5, 2, 4, 4)), .no_gradient = true)};
static const op_case triu_cases[] = {TRIANGLE_CASES(triu)};

/* ---- masked_fill ---- */

static weft_tensor *build_masked_fill(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_masked_fill(inputs[0], inputs[1], c->keep ? -INFINITY : (double)c->start);
}
static f64_array *reference_masked_fill(const op_case *c, const f64_array *const *inputs) {
    return f64_masked_fill(inputs[0], inputs[1], c->keep ? -INFINITY : (double)c->start);
}
/* Attention's use: minus infinity below a softmax. */
static weft_tensor *build_masked_softmax(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    return weft_softmax(weft_mul(build_masked_fill(c, graph, inputs), inputs[2]), -1);
}
static f64_array *reference_masked_softmax(const op_case *c, const f64_array *const *inputs) {
    const f64_array *const x = f64_mul(reference_masked_fill(c, inputs), inputs[2]);
    return f64_softmax(x, x->rank - 1);
}
static const op_case masked_fill_cases[] = {
    CASE("same shape", masked_fill, INPUTS(X(3, 17), MASK(3, 17)), .start = 5),
    CASE("row mask", masked_fill, INPUTS(X(WEFT_BATCH, 5), MASK(5)), .start = -1),
    CASE("column mask", masked_fill, INPUTS(X(WEFT_BATCH, 5, 3), MASK(WEFT_BATCH, 1, 1)), .start = 2),
    CASE("number mask", masked_fill, INPUTS(X(3), {WEFT_BOOL, OP_RANDOM, 0, 1, {WEFT_END}, OP_WHOLE})),
    CASE("minus infinity", masked_fill, INPUTS(X(4, 5), MASK(4, 5)), .keep = true, .no_gradient = true),
    CASE("below a softmax", masked_softmax, INPUTS(X(4, 5), MASK(4, 1), F32(1, 2, 4, 5)), .start = -3,
        .roundings = 16),
    CASE("i32", masked_fill, INPUTS(I32(-9, 9, 3, 5), MASK(3, 5)), .start = 4, .no_gradient = true),
};

/* ---- one_hot: start is the number of classes, axis the dtype ---- */

static weft_tensor *build_one_hot(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_one_hot(inputs[0], c->start, (weft_dtype)c->axis);
}
static f64_array *reference_one_hot(const op_case *c, const f64_array *const *inputs) {
    return f64_one_hot(inputs[0], c->start);
}
static const op_case one_hot_cases[] = {
    CASE("batch", one_hot, INPUTS(I32(0, 9, WEFT_BATCH)), .start = 10, .axis = WEFT_F32, .no_gradient = true),
    CASE("out of range", one_hot, INPUTS(I32(-3, 8, 40)), .start = 5, .axis = WEFT_F32, .no_gradient = true),
    CASE("one class", one_hot, INPUTS(I32(-1, 1, 2, 3)), .start = 1, .axis = WEFT_I32, .no_gradient = true),
    CASE("images", one_hot, INPUTS(I32(0, 18, WEFT_BATCH, 2, 3)), .start = 19, .axis = WEFT_BOOL,
        .no_gradient = true),
};

/* ---- functions of the index: start, end and the list's numbers; an input only to have a graph of cases ----
 */

static weft_tensor *build_arange(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    const double divisor = c->keep ? 8 : 1;
    weft_tensor *const y = weft_arange(graph, (weft_dtype)c->axis, (double)c->start / divisor,
        (double)c->end / divisor, (double)c->list[0] / divisor);
    return inputs[0] ? weft_mul(inputs[0], y) : y;
}
static f64_array *reference_arange(const op_case *c, const f64_array *const *inputs) {
    const double divisor = c->keep ? 8 : 1;
    const bool of_batch = c->end < c->start && c->list[0] > 0;
    const int64_t end = of_batch ? inputs[0]->dims[inputs[0]->rank - 1] : c->end;
    f64_array *const y =
        f64_arange((double)c->start / divisor, (double)end / divisor, (double)c->list[0] / divisor);
    return inputs[0] ? f64_mul(inputs[0], y) : y;
}
static const op_case arange_cases[] = {
    CASE("17", arange, .axis = WEFT_F32, .start = 0, .end = 17, LIST(1), .no_gradient = true),
    CASE("eighths", arange, .axis = WEFT_F32, .start = -7, .end = 30, LIST(3), .keep = true,
        .no_gradient = true),
    CASE("backwards", arange, .axis = WEFT_I32, .start = 5, .end = -40, LIST(-2), .no_gradient = true),
    CASE("one", arange, .axis = WEFT_I32, .start = 3, .end = 4, LIST(7), .no_gradient = true),
    CASE("times x", arange, INPUTS(X(WEFT_BATCH, 6)), .axis = WEFT_F32, .start = 2, .end = 14, LIST(2)),
    CASE("rows", arange, INPUTS(X(3, 2 * WEFT_BATCH)), .axis = WEFT_F32, .start = 0, .end = 2 * WEFT_BATCH,
        LIST(1)),
};

static weft_tensor *build_full(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_tensor *const y =
        weft_full(graph, (weft_dtype)c->axis, (double)c->start, f64_list_length(c->list), c->list);
    return inputs[0] ? weft_mul(inputs[0], y) : y;
}
static f64_array *reference_full(const op_case *c, const f64_array *const *inputs) {
    f64_array *const y = f64_full((double)c->start, f64_list_length(c->list), c->list);
    return inputs[0] ? f64_mul(inputs[0], y) : y;
}
static const op_case full_cases[] = {
    CASE("3·5", full, .axis = WEFT_F32, .start = 7, LIST(3, 5), .no_gradient = true),
    CASE("number", full, .axis = WEFT_I32, .start = -7, ALL_AXES, .no_gradient = true),
    CASE("bool", full, .axis = WEFT_BOOL, .start = 1, LIST(17), .no_gradient = true),
    CASE("times x", full, INPUTS(X(WEFT_BATCH, 3)), .axis = WEFT_F32, .start = 3, LIST(3)),
};

static weft_tensor *build_eye(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_tensor *const y = weft_eye(graph, (weft_dtype)c->axis, c->start, c->end);
    return inputs[0] ? weft_matmul(inputs[0], y) : y;
}
static f64_array *reference_eye(const op_case *c, const f64_array *const *inputs) {
    f64_array *const y = f64_eye(c->start, c->end);
    return inputs[0] ? f64_matmul(inputs[0], y) : y;
}
static const op_case eye_cases[] = {
    CASE("4·4", eye, .axis = WEFT_F32, .start = 4, .end = 4, .no_gradient = true),
    CASE("wide", eye, .axis = WEFT_I32, .start = 3, .end = 19, .no_gradient = true),
    CASE("1·1, bool", eye, .axis = WEFT_BOOL, .start = 1, .end = 1, .no_gradient = true),
    CASE("in a product", eye, INPUTS(X(3, 5)), .axis = WEFT_F32, .start = 5, .end = 7),
};

static weft_tensor *build_size(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_mul(inputs[0], weft_cast(weft_size(inputs[0], c->axis), weft_tensor_dtype(inputs[0])));
}
static f64_array *reference_size(const op_case *c, const f64_array *const *inputs) {
    const int axis = c->axis < 0 ? c->axis + inputs[0]->rank : c->axis;
    return f64_mul(inputs[0], f64_number((double)inputs[0]->dims[axis]));
}
static const op_case size_cases[] = {
    CASE("a number", size, INPUTS(X(3, 7)), .axis = 1),
    CASE("the batch", size, INPUTS(X(WEFT_BATCH, 7)), .axis = -2),
    CASE("three times the batch", size, INPUTS(X(5, WEFT_BATCH * 3)), .axis = 1),
};

int main(void) {
    static const op_cases ops[] = {MASK_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("mask", ops, sizeof ops / sizeof ops[0]));
}
