/* Movement: views that cost nothing, and concat. Their gradients move back. */
/* test slow */
/* test.{formats} format={} reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_movement.h"

#define X(...)   F32(-2, 2, __VA_ARGS__)
#define X_T(...) F32_VIEW(OP_TRANSPOSED, -2, 2, __VA_ARGS__)

/* ---- reshape ---- */

/* The case's list holds the new dimensions; WEFT_BATCH becomes the batch size, which only the reference is
 * told. */
static int actual_dims(const op_case *c, const f64_array *x, int64_t *dims) {
    const int rank = f64_list_length(c->list);
    int64_t known = 1, batches = 0;
    for (int i = 0; i < rank; i++) {
        dims[i] = c->list[i];
        if (dims[i] > 0) known *= dims[i];
        if (dims[i] < 0) {
            known *= -dims[i];
            batches++;
        }
    }
    const int64_t batch = batches ? (int64_t)x->count / known : 1;
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0) dims[i] *= -batch;
    return rank;
}

static weft_tensor *build_reshape(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_reshape_shape(inputs[0], f64_list_length(c->list), c->list);
}
static f64_array *reference_reshape(const op_case *c, const f64_array *const *inputs) {
    int64_t dims[WEFT_MAX_RANK];
    const int rank = actual_dims(c, inputs[0], dims);
    return f64_reshape(inputs[0], rank, dims);
}

static const op_case reshape_cases[] = {
    CASE("6 to 2·3", reshape, INPUTS(X(6)), LIST(2, 3)),
    CASE("2·3 to 3·2", reshape, INPUTS(X(2, 3)), LIST(3, 2)),
    CASE("number to 1·1", reshape, INPUTS(F32_NUMBER(-2, 2)), LIST(1, 1)),
    CASE("1 to number", reshape, INPUTS(X(1)), ALL_AXES),
    CASE("batch stays", reshape, INPUTS(X(WEFT_BATCH, 3, 4)), LIST(WEFT_BATCH, 12)),
    CASE("batch times 6", reshape, INPUTS(X(WEFT_BATCH, 6, 5)), LIST(WEFT_BATCH * 6, 5)),
    CASE("batch times 6, back", reshape, INPUTS(X(WEFT_BATCH * 6, 5)), LIST(WEFT_BATCH, 2, 3, 5)),
    CASE("of a transposed", reshape, INPUTS(X_T(5, 6)), LIST(3, 10)),
    CASE("of a reversed", reshape, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 3, 17)), LIST(6, 17)),
    CASE("of a sliced", reshape, INPUTS(F32_VIEW(OP_SLICED, -2, 2, 4, 15)), LIST(60)),
    CASE("rank 8", reshape, INPUTS(X(36, 2)), LIST(2, 1, 3, 2, 1, 3, 1, 2)),
};

/* ---- permute, transpose, flatten ---- */

static weft_tensor *build_permute(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    int axes[WEFT_MAX_RANK];
    const int rank = f64_list_length(c->list);
    for (int i = 0; i < rank; i++) axes[i] = (int)c->list[i];
    return weft_permute_axes(inputs[0], rank, axes);
}
static f64_array *reference_permute(const op_case *c, const f64_array *const *inputs) {
    return f64_permute_axes(inputs[0], c->list);
}
static const op_case permute_cases[] = {
    CASE("0 1", permute, INPUTS(X(3, 4)), LIST(0, 1)),
    CASE("1 0", permute, INPUTS(X(3, 17)), LIST(1, 0)),
    CASE("0 2 1", permute, INPUTS(X(WEFT_BATCH, 3, 5)), LIST(0, 2, 1)),
    CASE("1 2 0", permute, INPUTS(X(WEFT_BATCH, 3, 5)), LIST(1, 2, 0)),
    CASE("negative axes", permute, INPUTS(X(2, 3, 5)), LIST(-1, 0, -2)),
    CASE("of a transposed", permute, INPUTS(X_T(2, 3, 16)), LIST(2, 0, 1)),
    CASE("rank 5", permute, INPUTS(X(2, 3, 2, 3, 2)), LIST(4, 2, 0, 3, 1)),
};

static weft_tensor *build_transpose(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_transpose(inputs[0]);
}
static f64_array *reference_transpose(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_transpose(inputs[0]);
}
static const op_case transpose_cases[] = {
    CASE("3·4", transpose, INPUTS(X(3, 4))),
    CASE("batch", transpose, INPUTS(X(WEFT_BATCH, 17))),
    CASE("rank 3", transpose, INPUTS(X(WEFT_BATCH, 3, 5))),
    CASE("twice", transpose, INPUTS(X_T(16, 33))),
};

static weft_tensor *build_flatten(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_flatten(inputs[0]);
}
static f64_array *reference_flatten(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_flatten(inputs[0]);
}
static const op_case flatten_cases[] = {
    CASE("images", flatten, INPUTS(X(WEFT_BATCH, 2, 3, 3))),
    CASE("rank 2", flatten, INPUTS(X(WEFT_BATCH, 5))),
    CASE("rank 1", flatten, INPUTS(X(WEFT_BATCH))),
    CASE("transposed images", flatten, INPUTS(X_T(3, 4, 5))),
};

/* ---- expand, slice, concat ---- */

static weft_tensor *build_expand(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_expand(inputs[0], f64_list_length(c->list), c->list);
}
static f64_array *reference_expand(const op_case *c, const f64_array *const *inputs) {
    return f64_expand(inputs[0], f64_list_length(c->list), c->list);
}
static const op_case expand_cases[] = {
    CASE("number to 3·4", expand, INPUTS(F32_NUMBER(-2, 2)), LIST(3, 4)),
    CASE("row", expand, INPUTS(X(17)), LIST(5, 17)),
    CASE("column", expand, INPUTS(X(4, 1)), LIST(4, 33)),
    CASE("middle", expand, INPUTS(X(2, 1, 5)), LIST(2, 3, 5)),
    CASE("nothing", expand, INPUTS(X(2, 5)), LIST(2, 5)),
    CASE("transposed", expand, INPUTS(X_T(3, 1)), LIST(2, 3, 4)),
    CASE("every other axis", expand, INPUTS(X(1, 3, 1, 5, 1)), LIST(2, 3, 4, 5, 6)),
    CASE("rank 1 to 8", expand, INPUTS(X(1)), LIST(1, 2, 1, 2, 1, 2, 1, 3)),
};

static weft_tensor *build_concat(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    size_t count = 0;
    while (count < OP_CASE_INPUTS && inputs[count]) count++;
    return weft_concat(inputs, count, c->axis);
}
static f64_array *reference_concat(const op_case *c, const f64_array *const *inputs) {
    size_t count = 0;
    while (count < OP_CASE_INPUTS && inputs[count]) count++;
    return f64_concat(inputs, count, c->axis);
}
static const op_case concat_cases[] = {
    CASE("3 and 4", concat, INPUTS(X(3), X(4)), .axis = 0),
    CASE("only one", concat, INPUTS(X(3, 2)), .axis = 0),
    CASE("columns", concat, INPUTS(X(WEFT_BATCH, 5), X(WEFT_BATCH, 1), X(WEFT_BATCH, 16)), .axis = 1),
    CASE("rows", concat, INPUTS(X(2, 17), X(5, 17)), .axis = 0),
    CASE("middle", concat, INPUTS(X(2, 3, 4), X(2, 1, 4)), .axis = -2),
    CASE("views", concat, INPUTS(X_T(4, 5), F32_VIEW(OP_SLICED, -2, 2, 4, 3)), .axis = 1),
    CASE("five", concat, INPUTS(X(1), X(2), X(3), X(4), X(5)), .axis = 0),
    CASE("i32", concat, INPUTS(I32(-9, 9, 2, 3), I32(-9, 9, 2, 5)), .axis = -1, .no_gradient = true),
};

/* ---- axes of size 1, merged and moved axes; the list has the axes ---- */

static weft_tensor *build_flatten_axes(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_flatten_axes(inputs[0], (int)c->list[0], (int)c->list[1]);
}
static f64_array *reference_flatten_axes(const op_case *c, const f64_array *const *inputs) {
    return f64_flatten_axes(inputs[0], c->list[0], c->list[1]);
}
static const op_case flatten_axes_cases[] = {
    CASE("all of 2·3·5", flatten_axes, INPUTS(X(2, 3, 5)), LIST(0, -1)),
    CASE("one axis", flatten_axes, INPUTS(X(2, 3)), LIST(1, 1)),
    CASE("batch and time", flatten_axes, INPUTS(X(WEFT_BATCH, 3, 5)), LIST(0, 1)),
    CASE("middle of a reversed", flatten_axes, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 3, 5, 2)), LIST(1, 2)),
};

static weft_tensor *build_squeeze(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_squeeze_axes(inputs[0], c->list);
}
static f64_array *reference_squeeze(const op_case *c, const f64_array *const *inputs) {
    return f64_squeeze(inputs[0], c->list);
}
static const op_case squeeze_cases[] = {
    CASE("1·1 to a number", squeeze, INPUTS(X(1, 1)), ALL_AXES),
    CASE("all", squeeze, INPUTS(X(1, 3, 1, 2, 1)), ALL_AXES),
    CASE("two of three", squeeze, INPUTS(X(1, 3, 1, 2, 1)), LIST(0, -1)),
    CASE("nothing there", squeeze, INPUTS(X(2, 3)), ALL_AXES),
    CASE("beside the batch", squeeze, INPUTS(X(3, 1, 5)), LIST(1)),
};

static weft_tensor *build_unsqueeze(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_unsqueeze(inputs[0], c->axis);
}
static f64_array *reference_unsqueeze(const op_case *c, const f64_array *const *inputs) {
    return f64_unsqueeze(inputs[0], c->axis);
}
static const op_case unsqueeze_cases[] = {
    CASE("number", unsqueeze, INPUTS(F32_NUMBER(-2, 2)), .axis = 0),
    CASE("first", unsqueeze, INPUTS(X(2, 3)), .axis = 0),
    CASE("last", unsqueeze, INPUTS(X(WEFT_BATCH, 3)), .axis = -1),
    CASE("second", unsqueeze, INPUTS(X_T(WEFT_BATCH, 3, 4)), .axis = 1),
};

static weft_tensor *build_swap_axes(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_swap_axes(inputs[0], (int)c->start, (int)c->end);
}
static f64_array *reference_swap_axes(const op_case *c, const f64_array *const *inputs) {
    return f64_swap_axes(inputs[0], c->start, c->end);
}
static const op_case swap_axes_cases[] = {
    CASE("outer of three", swap_axes, INPUTS(X(WEFT_BATCH, 3, 5)), .start = 0, .end = -1),
    CASE("an axis with itself", swap_axes, INPUTS(X(2, 3)), .start = 1, .end = 1),
    CASE("middle of four", swap_axes, INPUTS(X(2, 3, 4, 5)), .start = 2, .end = 1),
};

static weft_tensor *build_move_axis(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_move_axis(inputs[0], (int)c->start, (int)c->end);
}
static f64_array *reference_move_axis(const op_case *c, const f64_array *const *inputs) {
    return f64_move_axis(inputs[0], c->start, c->end);
}
static const op_case move_axis_cases[] = {
    CASE("channels last", move_axis, INPUTS(X(WEFT_BATCH, 3, 4, 5)), .start = 1, .end = -1),
    CASE("channels first", move_axis, INPUTS(X(WEFT_BATCH, 3, 4, 5)), .start = -1, .end = 1),
    CASE("to its place", move_axis, INPUTS(X(2, 3)), .start = 0, .end = 0),
};

/* ---- stack ---- */

static weft_tensor *build_stack(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    size_t count = 0;
    while (count < OP_CASE_INPUTS && inputs[count]) count++;
    return weft_stack(inputs, count, c->axis);
}
static f64_array *reference_stack(const op_case *c, const f64_array *const *inputs) {
    size_t count = 0;
    while (count < OP_CASE_INPUTS && inputs[count]) count++;
    return f64_stack(inputs, count, c->axis);
}
static const op_case stack_cases[] = {
    CASE("numbers", stack, INPUTS(F32_NUMBER(-2, 2), F32_NUMBER(-2, 2)), .axis = 0),
    CASE("rows", stack, INPUTS(X(17), X(17), X(17)), .axis = 0),
    CASE("columns", stack, INPUTS(X(3, 5), X_T(3, 5)), .axis = -1),
    CASE("one", stack, INPUTS(X(3, 5)), .axis = 1),
    CASE("within the batch", stack, INPUTS(X(WEFT_BATCH, 4), X(WEFT_BATCH, 4)), .axis = 1),
};

int main(void) {
    static const op_cases ops[] = {MOVEMENT_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("movement", ops, sizeof ops / sizeof ops[0]));
}
