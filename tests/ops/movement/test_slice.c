/* Slices with steps, splits, flips, diagonals: views with any strides, read by every kind of kernel. */
/* test slow */
/* test.{formats} format={} reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_slice.h"

#define X(...)   F32(-2, 2, __VA_ARGS__)
#define X_T(...) F32_VIEW(OP_TRANSPOSED, -2, 2, __VA_ARGS__)

/* ---- slice ---- */

static weft_tensor *build_slice(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_slice(inputs[0], c->axis, c->start, c->end);
}
static f64_array *reference_slice(const op_case *c, const f64_array *const *inputs) {
    return f64_slice_step(inputs[0], c->axis, c->start, c->end, 1);
}
static const op_case slice_cases[] = {
    CASE("middle of 17", slice, INPUTS(X(17)), .axis = 0, .start = 3, .end = 14),
    CASE("all", slice, INPUTS(X(5)), .axis = 0, .start = 0, .end = 5),
    CASE("columns", slice, INPUTS(X(WEFT_BATCH, 33)), .axis = 1, .start = 1, .end = 17),
    CASE("rows", slice, INPUTS(X(9, 5)), .axis = 0, .start = 8, .end = 9),
    CASE("from the end", slice, INPUTS(X(3, 9)), .axis = -1, .start = -4, .end = -1),
    CASE("to the end", slice, INPUTS(X(3, 9)), .axis = -1, .start = -4, .end = WEFT_END),
    CASE("middle axis", slice, INPUTS(X(WEFT_BATCH, 5, 3)), .axis = 1, .start = 2, .end = 4),
    CASE("of a sliced", slice, INPUTS(F32_VIEW(OP_SLICED, -2, 2, 4, 9)), .axis = 1, .start = 2, .end = 7),
    CASE("of a transposed", slice, INPUTS(X_T(8, 9)), .axis = 0, .start = 2, .end = 7),
    CASE("whole batch", slice, INPUTS(X(WEFT_BATCH, 3)), .axis = 0, .start = 0, .end = WEFT_END),
};

/* The step is the case's list. */
static weft_tensor *build_slice_step(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_slice_step(inputs[0], c->axis, c->start, c->end, c->list[0]);
}
static f64_array *reference_slice_step(const op_case *c, const f64_array *const *inputs) {
    return f64_slice_step(inputs[0], c->axis, c->start, c->end, c->list[0]);
}
static const op_case slice_step_cases[] = {
    CASE("every second of 33", slice_step, INPUTS(X(33)), .axis = 0, .start = 0, .end = WEFT_END, LIST(2)),
    CASE("every third, odd rest", slice_step, INPUTS(X(3, 50)), .axis = 1, .start = 1, .end = 48, LIST(3)),
    CASE("rows", slice_step, INPUTS(X(7, 5)), .axis = 0, .start = -6, .end = -1, LIST(2)),
    CASE("middle axis", slice_step, INPUTS(X(WEFT_BATCH, 9, 5)), .axis = 1, .start = 0, .end = 9, LIST(4)),
    CASE("step past the end", slice_step, INPUTS(X(4, 5)), .axis = 1, .start = 3, .end = 5, LIST(99)),
    CASE("step 1", slice_step, INPUTS(X(4, 5)), .axis = 1, .start = 1, .end = 5, LIST(1)),
    CASE("of a transposed", slice_step, INPUTS(X_T(6, 37)), .axis = 1, .start = 0, .end = 37, LIST(2)),
    CASE("batch times 4", slice_step, INPUTS(X(WEFT_BATCH * 4, 3)), .axis = 0, .start = 1, .end = WEFT_END,
        LIST(2)),
    CASE("i32", slice_step, INPUTS(I32(-9, 9, 3, 20)), .axis = 1, .start = 1, .end = 20, LIST(3),
        .no_gradient = true),
};

/* ---- split: the parts come back in another order, so that each must be the right one ---- */

static f64_array *swap_parts(const f64_array *x, int axis, const int64_t *sizes, size_t count) {
    const f64_array *parts[8];
    int64_t start = 0;
    for (size_t i = 0; i < count; i++) {
        parts[count - 1 - i] = f64_slice_step(x, axis, start, start + sizes[i], 1);
        start += sizes[i];
    }
    return f64_concat(parts, count, axis);
}
static weft_tensor *concat_reversed(weft_tensor *const *parts, size_t count, int axis) {
    weft_tensor *reversed[8];
    for (size_t i = 0; i < count; i++) reversed[count - 1 - i] = parts[i];
    return weft_concat(reversed, count, axis);
}

static weft_tensor *build_split(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    weft_tensor *parts[8];
    assert_weft_ok(weft_split(inputs[0], c->axis, (size_t)c->start, parts));
    return concat_reversed(parts, (size_t)c->start, c->axis);
}
static f64_array *reference_split(const op_case *c, const f64_array *const *inputs) {
    int64_t sizes[8];
    for (int64_t i = 0; i < c->start; i++) sizes[i] = inputs[0]->dims[c->axis] / c->start;
    return swap_parts(inputs[0], c->axis, sizes, (size_t)c->start);
}
static const op_case split_cases[] = {
    CASE("three columns of 7", split, INPUTS(X(4, 21)), .axis = 1, .start = 3),
    CASE("rows", split, INPUTS(X(6, 5)), .axis = 0, .start = 6),
    CASE("one part", split, INPUTS(X(2, 5)), .axis = 1, .start = 1),
    CASE("gates", split, INPUTS(X(WEFT_BATCH, 20)), .axis = 1, .start = 4),
    CASE("batch times 6", split, INPUTS(X(WEFT_BATCH * 6, 3)), .axis = 0, .start = 3),
};

/* WEFT_BATCH in the list is the batch: the reference is told by the size of the axis. */
static weft_tensor *build_split_sizes(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const size_t count = (size_t)f64_list_length(c->list);
    weft_tensor *parts[8];
    assert_weft_ok(weft_split_sizes(inputs[0], c->axis, c->list, count, parts));
    return concat_reversed(parts, count, c->axis);
}
static f64_array *reference_split_sizes(const op_case *c, const f64_array *const *inputs) {
    const size_t count = (size_t)f64_list_length(c->list);
    int64_t sizes[8], total = 0;
    for (size_t i = 0; i < count; i++) total += c->list[i];
    for (size_t i = 0; i < count; i++) sizes[i] = c->list[i] * inputs[0]->dims[c->axis] / total;
    return swap_parts(inputs[0], c->axis, sizes, count);
}
static const op_case split_sizes_cases[] = {
    CASE("1, 16, 3", split_sizes, INPUTS(X(3, 20)), .axis = 1, LIST(1, 16, 3)),
    CASE("of a transposed", split_sizes, INPUTS(X_T(7, 4)), .axis = 0, LIST(2, 5)),
    CASE("batch, 2 batches", split_sizes, INPUTS(X(WEFT_BATCH * 3, 2)), .axis = 0,
        LIST(WEFT_BATCH, WEFT_BATCH * 2)),
};

/* ---- unfold: start is the size, end the step ---- */

static weft_tensor *build_unfold(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_unfold(inputs[0], c->axis, c->start, c->end);
}
static f64_array *reference_unfold(const op_case *c, const f64_array *const *inputs) {
    return f64_unfold(inputs[0], c->axis, c->start, c->end);
}
static const op_case unfold_cases[] = {
    CASE("one window", unfold, INPUTS(X(5)), .axis = 0, .start = 5, .end = 3),
    CASE("single elements", unfold, INPUTS(X(3, 7)), .axis = -1, .start = 1, .end = 1),
    CASE("overlapping", unfold, INPUTS(X(WEFT_BATCH, 17, 3)), .axis = 1, .start = 5, .end = 1),
    CASE("blocks of a step", unfold, INPUTS(X(2, 33)), .axis = 1, .start = 7, .end = 3),
    CASE("side by side, an odd rest", unfold, INPUTS(X(2, 14)), .axis = 1, .start = 4, .end = 4),
    CASE("with gaps", unfold, INPUTS(X(2, 19)), .axis = 1, .start = 2, .end = 5),
    CASE("of a transposed", unfold, INPUTS(X_T(9, 4)), .axis = 0, .start = 4, .end = 2),
    CASE("i32", unfold, INPUTS(I32(-9, 9, 3, 8)), .axis = 1, .start = 3, .end = 2, .no_gradient = true),
};

/* ---- flip ---- */

static weft_tensor *build_flip(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_flip_axes(inputs[0], c->list);
}
static f64_array *reference_flip(const op_case *c, const f64_array *const *inputs) {
    return f64_flip(inputs[0], c->list);
}

/* What reads a flipped value: maps and reductions around it, and both operands of products. */
static weft_tensor *build_flip_map(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    weft_tensor *const x = weft_exp(weft_flip(weft_tanh(inputs[0]), 1));
    return weft_add(weft_mul(x, inputs[1]), weft_sum_axes(x, (const int64_t[]){1, WEFT_END}, true));
}
static f64_array *reference_flip_map(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    const int64_t axes[] = {1, WEFT_END};
    const f64_array *const t = f64_tanh(inputs[0]);
    const f64_array *const x = f64_exp(f64_flip(t, axes));
    return f64_add(f64_mul(x, inputs[1]), f64_sum(x, axes, true));
}
static weft_tensor *build_flip_sum(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_sum_axes(
        weft_mul(weft_flip_axes(inputs[0], c->list), inputs[1]), (const int64_t[]){c->axis, WEFT_END}, false);
}
static f64_array *reference_flip_sum(const op_case *c, const f64_array *const *inputs) {
    const f64_array *const x = reference_flip(c, inputs);
    return f64_sum(f64_mul(x, inputs[1]), (const int64_t[]){c->axis, WEFT_END}, false);
}
static weft_tensor *build_flip_matmul(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_matmul(weft_flip_axes(inputs[0], c->list), weft_flip_axes(inputs[1], c->list));
}
static f64_array *reference_flip_matmul(const op_case *c, const f64_array *const *inputs) {
    return f64_matmul(f64_flip(inputs[0], c->list), f64_flip(inputs[1], c->list));
}
static const op_case flip_cases[] = {
    CASE("5", flip, INPUTS(X(5)), LIST(0)),
    CASE("1", flip, INPUTS(X(1, 1)), LIST(0)),
    CASE("both axes of 3·50", flip, INPUTS(X(3, 50)), LIST(0, 1)),
    CASE("all, unnamed", flip, INPUTS(X(2, 3, 17)), ALL_AXES),
    CASE("last of 3·49", flip, INPUTS(X(3, 49)), LIST(-1)),
    CASE("batch", flip, INPUTS(X(WEFT_BATCH, 5)), LIST(0)),
    CASE("middle axis", flip, INPUTS(X(WEFT_BATCH, 5, 3)), LIST(1)),
    CASE("of a transposed", flip, INPUTS(X_T(5, 18)), LIST(1)),
    CASE("of a sliced", flip, INPUTS(F32_VIEW(OP_SLICED, -2, 2, 3, 34)), LIST(1)),
    CASE("between maps", flip_map, INPUTS(X(WEFT_BATCH, 35), X(WEFT_BATCH, 35))),
    CASE("summed over rows", flip_sum, INPUTS(X(37, 18), X(37, 18)), LIST(0, 1), .axis = 0),
    CASE("summed over columns", flip_sum, INPUTS(X(5, 35), X(5, 35)), LIST(0, 1), .axis = 1),
    CASE("small product, rows", flip_matmul, INPUTS(X(5, 7), X(7, 19)), LIST(0)),
    CASE("small product, columns", flip_matmul, INPUTS(X(5, 7), X(7, 19)), LIST(1)),
    CASE("large product", flip_matmul, INPUTS(X(65, 531), X(531, 33)), LIST(0, 1)),
    CASE("large product, transposed", flip_matmul, INPUTS(X_T(65, 531), X_T(531, 33)), LIST(1)),
    CASE("batches of products", flip_matmul, INPUTS(X(2, 3, 4, 5), X(2, 3, 5, 6)), LIST(0, 1, 3)),
    CASE("i32", flip, INPUTS(I32(-9, 9, 3, 20)), LIST(1), .no_gradient = true),
};

/* ---- diagonal: start is the offset, the list has the axes ---- */

static weft_tensor *build_diagonal(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_diagonal(inputs[0], c->start, (int)c->list[0], (int)c->list[1]);
}
static f64_array *reference_diagonal(const op_case *c, const f64_array *const *inputs) {
    return f64_diagonal(inputs[0], c->start, c->list[0], c->list[1]);
}
static const op_case diagonal_cases[] = {
    CASE("of 20·20", diagonal, INPUTS(X(20, 20)), LIST(0, 1)),
    CASE("above, wide", diagonal, INPUTS(X(5, 9)), LIST(0, 1), .start = 3),
    CASE("above, past the corner", diagonal, INPUTS(X(5, 9)), LIST(0, 1), .start = 6),
    CASE("below, tall", diagonal, INPUTS(X(9, 5)), LIST(0, 1), .start = -2),
    CASE("one element", diagonal, INPUTS(X(4, 6)), LIST(0, 1), .start = 5),
    CASE("axes swapped", diagonal, INPUTS(X(4, 6)), LIST(1, 0), .start = 1),
    CASE("outer axes of three", diagonal, INPUTS(X(4, 17, 6)), LIST(0, -1), .start = -1),
    CASE("batched", diagonal, INPUTS(X(WEFT_BATCH, 4, 5)), LIST(1, 2), .start = 1),
    CASE("first two of four", diagonal, INPUTS(X(3, 4, 2, 5)), LIST(1, 0)),
    CASE("of a transposed", diagonal, INPUTS(X_T(7, 5)), LIST(0, 1), .start = 1),
    CASE("two batch axes", diagonal, INPUTS(X(WEFT_BATCH, 3, WEFT_BATCH)), LIST(0, 2)),
};

int main(void) {
    static const op_cases ops[] = {SLICE_OPS(COVERED_CASES)};
    return test_finish(op_suite_run("slice", ops, sizeof ops / sizeof ops[0]));
}
