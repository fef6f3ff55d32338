/* Picking by index and adding up by index; indices that repeat, and indices out of range. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.{mixed,mixed_f16} format={} reduced */
/* test.{mixed,mixed_f16}.gpu format={} reduced */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
/* test.least device=least reduced short_launches */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_index.h"
#include <math.h>

#define X(...) F32(-2, 2, __VA_ARGS__)

/* ---- gather ---- */

static weft_tensor *build_gather(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_gather(inputs[0], c->axis, inputs[1]);
}
static f64_array *reference_gather(const op_case *c, const f64_array *const *inputs) {
    return f64_gather(inputs[0], c->axis, inputs[1]);
}

static const op_case gather_cases[] = {
    CASE("one axis", gather, INPUTS(X(17), I32(0, 16, 40)), .axis = 0),
    CASE("a single element", gather, INPUTS(X(1), I32(0, 0, 1)), .axis = 0),
    CASE("first axis, repeated", gather, INPUTS(X(3, 19), I32(0, 2, 7, 19)), .axis = 0),
    CASE("last axis", gather, INPUTS(X(5, 19), I32(0, 18, 5, 3)), .axis = -1),
    CASE("middle axis, batch", gather, INPUTS(X(WEFT_BATCH, 4, 3), I32(0, 3, WEFT_BATCH, 6, 3)), .axis = 1),
    CASE("smaller index", gather, INPUTS(X(5, 4, 6), I32(0, 3, 2, 7, 3)), .axis = 1),
    CASE("of a transposed", gather, INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 4, 6), I32(0, 5, 4, 2)), .axis = 1),
};

/* ---- index_select ---- */

static weft_tensor *build_index_select(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_index_select(inputs[0], c->axis, inputs[1]);
}
static f64_array *reference_index_select(const op_case *c, const f64_array *const *inputs) {
    return f64_index_select(inputs[0], c->axis, inputs[1]);
}

static const op_case index_select_cases[] = {
    CASE("rows", index_select, INPUTS(X(5, 37), I32(0, 4, 9)), .axis = 0),
    CASE("columns", index_select, INPUTS(X(3, 7), I32(0, 6, 4)), .axis = 1),
    CASE("embedding of a batch", index_select,
        INPUTS(F32_PARAMETER(-2, 2, 11, 20), I32(0, 10, WEFT_BATCH, 3)), .axis = 0),
    CASE("a single index", index_select,
        INPUTS(X(2, 4, 3), {WEFT_I32, OP_RANDOM, 0, 3, {WEFT_END}, OP_WHOLE}), .axis = 1),
    CASE("integers", index_select, INPUTS(I32(-9, 9, 6, 2), I32(0, 5, 8)), .axis = 0, .no_gradient = true),
};

/* ---- scatter and index sums ---- */

static weft_tensor *build_scatter_add(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_scatter_add(inputs[0], c->axis, inputs[1], inputs[2]);
}
static f64_array *reference_scatter_add(const op_case *c, const f64_array *const *inputs) {
    return f64_scatter_add(inputs[0], c->axis, inputs[1], inputs[2]);
}
static weft_tensor *build_index_add(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_index_add(inputs[0], c->axis, inputs[1], inputs[2]);
}
static f64_array *reference_index_add(const op_case *c, const f64_array *const *inputs) {
    return f64_index_add(inputs[0], c->axis, inputs[1], inputs[2]);
}

static const op_case scatter_add_cases[] = {
    CASE("one axis", scatter_add, INPUTS(X(7), I32(0, 6, 50), X(50)), .axis = 0),
    CASE("all on one", scatter_add, INPUTS(X(3, 5), I32(1, 1, 40, 5), X(40, 5)), .axis = 0),
    CASE("middle axis, batch", scatter_add,
        INPUTS(X(WEFT_BATCH, 4, 3), I32(0, 3, WEFT_BATCH, 6, 3), X(WEFT_BATCH, 6, 3)), .axis = 1),
    CASE("last axis, strided source", scatter_add,
        INPUTS(X(6, 9), I32(0, 8, 6, 4), F32_VIEW(OP_TRANSPOSED, -2, 2, 6, 4)), .axis = 1),
    CASE("integers", scatter_add, INPUTS(I32(-9, 9, 4), I32(0, 3, 11), I32(-9, 9, 11)), .axis = 0,
        .no_gradient = true),
};
static const op_case index_add_cases[] = {
    CASE("rows", index_add, INPUTS(X(5, 37), I32(0, 4, 30), X(30, 37)), .axis = 0),
    CASE("wide rows", index_add, INPUTS(X(3, 300), I32(0, 2, 4), X(4, 300)), .axis = 0),
    CASE("columns", index_add, INPUTS(X(3, 7), I32(0, 6, 4), X(3, 4)), .axis = 1),
    /* long enough to be sorted where sorting pays; most rows get nothing, others many */
    CASE("long index", index_add, INPUTS(X(700, 3), I32(100, 140, 300), X(300, 3)), .axis = 0),
    CASE("long index, wide rows", index_add, INPUTS(X(40, 85), I32(0, 39, 300), X(300, 85)), .axis = 0),
    CASE("all on one, wide rows", index_add, INPUTS(X(5, 2, 40), I32(3, 3, 290), X(290, 2, 40)), .axis = 0),
    CASE("index of the batch", index_add, INPUTS(X(6, 17), I32(0, 5, WEFT_BATCH), X(WEFT_BATCH, 17)),
        .axis = 0),
    CASE("long index, integers", index_add, INPUTS(I32(-9, 9, 11, 20), I32(0, 10, 270), I32(-9, 9, 270, 20)),
        .axis = 0, .no_gradient = true),
};
#define scatter_sum_cases scatter_add_cases
#define index_sum_cases   index_add_cases

/* ---- reductions by index: start is the kind, keep whether x takes part ---- */

static weft_tensor *build_scatter_reduce(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_scatter_reduce(
        inputs[0], c->axis, inputs[1], inputs[2], (weft_scatter_kind)c->start, c->keep);
}
static weft_tensor *build_index_reduce(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_index_reduce(inputs[0], c->axis, inputs[1], inputs[2], (weft_scatter_kind)c->start, c->keep);
}
static f64_array *reference_reduced(const op_case *c, const f64_array *const *inputs) {
    return f64_reduce_by_index(
        inputs[0], c->axis, inputs[1], inputs[2], (weft_scatter_kind)c->start, c->keep);
}
#define reference_scatter_reduce reference_reduced
#define reference_index_reduce   reference_reduced

#define REDUCED(text, op, ...)                                                                               \
    CASE(text " sum", op, __VA_ARGS__, .start = WEFT_SCATTER_SUM),                                           \
        CASE(text " mean, x too", op, __VA_ARGS__, .start = WEFT_SCATTER_MEAN, .keep = true),                \
        CASE(text " mean", op, __VA_ARGS__, .start = WEFT_SCATTER_MEAN),                                     \
        CASE(text " max, x too", op, __VA_ARGS__, .start = WEFT_SCATTER_MAX, .keep = true),                  \
        CASE(text " max", op, __VA_ARGS__, .start = WEFT_SCATTER_MAX),                                       \
        CASE(text " min, x too", op, __VA_ARGS__, .start = WEFT_SCATTER_MIN, .keep = true),                  \
        CASE(text " min", op, __VA_ARGS__, .start = WEFT_SCATTER_MIN)
static const op_case scatter_reduce_cases[] = {
    REDUCED("middle axis, batch", scatter_reduce,
        INPUTS(X(WEFT_BATCH, 4, 3), I32(0, 3, WEFT_BATCH, 6, 3), X(WEFT_BATCH, 6, 3)), .axis = 1),
    CASE("all on one", scatter_reduce, INPUTS(X(3, 5), I32(1, 1, 40, 5), X(40, 5)), .axis = 0,
        .start = WEFT_SCATTER_MAX),
    CASE("integers", scatter_reduce, INPUTS(I32(-9, 9, 4), I32(0, 3, 11), I32(-9, 9, 11)), .axis = 0,
        .start = WEFT_SCATTER_MIN, .no_gradient = true),
};
static const op_case index_reduce_cases[] = {
    REDUCED("rows", index_reduce, INPUTS(X(7, 20), I32(0, 4, 30), X(30, 20)), .axis = 0),
    CASE("index of the batch", index_reduce, INPUTS(X(6, 17), I32(0, 5, WEFT_BATCH), X(WEFT_BATCH, 17)),
        .axis = 0, .start = WEFT_SCATTER_MAX),
};

/* ---- index_copy: the indices are a permutation of the first ones, so that no row is replaced twice ---- */

static weft_tensor *distinct(weft_graph *graph, const op_case *c) {
    int32_t index[64];
    const int64_t count = c->end;
    for (int64_t j = 0; j < count; j++) index[j] = (int32_t)((j * c->start) % count);
    return weft_array(graph, WEFT_I32, index, 1, &count);
}
static weft_tensor *build_index_copy(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    return weft_index_copy(inputs[0], c->axis, distinct(graph, c), inputs[1]);
}
static f64_array *reference_index_copy(const op_case *c, const f64_array *const *inputs) {
    const int64_t count = c->end;
    f64_array *const index = f64_zeros(1, &count);
    for (int64_t j = 0; j < count; j++) index->value[j] = (double)(j * c->start % count);
    return f64_index_copy(inputs[0], c->axis, index, inputs[1]);
}

/* start: the step of the permutation; end: how many. */
static const op_case index_copy_cases[] = {
    CASE("rows", index_copy, INPUTS(X(9, 37), X(5, 37)), .axis = 0, .start = 3, .end = 5),
    CASE("all rows, wide", index_copy, INPUTS(X(4, 300), X(4, 300)), .axis = 0, .start = 3, .end = 4),
    CASE("columns", index_copy, INPUTS(X(3, 7), X(3, 4)), .axis = 1, .start = 3, .end = 4),
    CASE("one row of each of a batch", index_copy, INPUTS(X(WEFT_BATCH, 5, 17), X(WEFT_BATCH, 1, 17)),
        .axis = 1, .start = 1, .end = 1),
    CASE("strided", index_copy,
        INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 8, 6), F32_VIEW(OP_SLICED, -2, 2, 5, 6)), .axis = 0, .start = 2,
        .end = 5),
    CASE("of a parameter", index_copy, INPUTS(F32_PARAMETER(-2, 2, 11, 20), X(7, 20)), .axis = 0, .start = 3,
        .end = 7),
    CASE("integers", index_copy, INPUTS(I32(-9, 9, 4, 5), I32(-9, 9, 3, 5)), .axis = 0, .start = 2, .end = 3,
        .no_gradient = true),
};

/* ---- bad input ---- */

typedef struct bad_index {
    weft_status status;
    const char *message;
    weft_tensor *(*build)(weft_tensor *x, weft_tensor *i2, weft_tensor *i1);
} bad_index;

static weft_tensor *float_index(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i2, (void)i1;
    return weft_gather(x, 0, x);
}
static weft_tensor *no_axis(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_gather(x, 2, i2);
}
static weft_tensor *other_rank(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i2;
    return weft_gather(x, 0, i1);
}
static weft_tensor *larger_index(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_gather(weft_slice(x, 1, 0, 2), 0, i2);
}
static weft_tensor *long_index(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i2;
    return weft_index_add(x, 0, i1, x);
}
static weft_tensor *other_source(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_scatter_add(weft_slice(x, 1, 0, 2), 0, i2, x);
}
static weft_tensor *no_size(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_scatter_sum(x, 0, i2, 0);
}
static weft_tensor *bool_source(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_scatter_sum(weft_less(x, x), 0, i2, 3);
}

static weft_tensor *copy_other_source(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i2;
    return weft_index_copy(x, 0, i1, x);
}
static weft_tensor *copy_other_dtype(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i2;
    return weft_index_copy(x, 0, i1, weft_cast(x, WEFT_I32));
}
static weft_tensor *copy_two_axes(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_index_copy(x, 0, i2, x);
}

static weft_tensor *reduce_no_kind(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i1;
    return weft_scatter_reduce(x, 0, i2, x, (weft_scatter_kind)9, true);
}
static weft_tensor *reduce_mean_of_i32(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)x, (void)i1;
    return weft_scatter_reduce(i2, 0, i2, i2, WEFT_SCATTER_MEAN, true);
}
static weft_tensor *reduce_other_source(weft_tensor *x, weft_tensor *i2, weft_tensor *i1) {
    (void)i2;
    return weft_index_reduce(x, 0, i1, x, WEFT_SCATTER_MAX, true);
}
static const bad_index bad_indices[] = {
    {WEFT_ERROR_ARGUMENT, "scatter_reduce: kind is 9, which is not a weft_scatter_kind", reduce_no_kind},
    {WEFT_ERROR_DTYPE, "scatter_reduce: takes f32, f16", reduce_mean_of_i32},
    {WEFT_ERROR_SHAPE, "index_reduce: x (4, 3), index (9) and source (4, 3): the index must have one axis",
        reduce_other_source},
    {WEFT_ERROR_SHAPE, "index_copy: shape (4, 3)", copy_other_source},
    {WEFT_ERROR_DTYPE, "index_copy: x is f32, but the source is i32", copy_other_dtype},
    {WEFT_ERROR_SHAPE, "expected an index of one axis", copy_two_axes},
    {WEFT_ERROR_DTYPE, "gather: indices are i32, not f32; weft_cast converts", float_index},
    {WEFT_ERROR_SHAPE, "gather: axis 2 is not an axis of (4, 3)", no_axis},
    {WEFT_ERROR_SHAPE, "gather: shape (4, 3) and index (9): the ranks differ", other_rank},
    {WEFT_ERROR_SHAPE, "gather: shape (4, 2) and index (4, 3): the index is larger along another axis",
        larger_index},
    {WEFT_ERROR_SHAPE,
        "index_sum: shape (4, 3) and index (9): the index must have one axis, as long as that axis of the "
        "source",
        long_index},
    {WEFT_ERROR_SHAPE, "scatter_add: x (4, 2) and source (4, 3) differ in axes other than 0", other_source},
    {WEFT_ERROR_SHAPE, "scatter_sum: dimension 0 of (0, 3) is zero", no_size},
    {WEFT_ERROR_DTYPE, "scatter_sum: takes f32, f16", bool_source},
};

static void test_bad_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_indices / sizeof *bad_indices; i++) {
        weft_graph *graph = test_graph();
        weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){4, 3}),
                    *i2 = weft_input_shape(graph, "i2", WEFT_I32, 2, (const int64_t[]){4, 3}),
                    *i1 = weft_input_shape(graph, "i1", WEFT_I32, 1, (const int64_t[]){9});
        assert_null(bad_indices[i].build(x, i2, i1));
        assert_weft_fails(bad_indices[i].status, weft_graph_status(graph), bad_indices[i].message);
        weft_graph_release(graph);
    }
}

/* An index out of range touches nothing outside, reads as 0, and is told once. */
static void test_out_of_range(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){3, 2}),
                *index = weft_input_shape(graph, "index", WEFT_I32, 1, (const int64_t[]){4});
    weft_tensor *y = weft_index_select(x, 0, index);
    weft_tensor *sum = weft_index_sum(y, 0, index, 3);
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){y, sum}, 2, NULL));
    const float data[6] = {1, 2, 3, 4, 5, 6};
    float got[8], total[6];
    assert_weft_ok(weft_plan_write(plan, x, data, sizeof data));
    assert_weft_ok(weft_plan_write(plan, index, (int32_t[]){2, 3, -1, 0}, 16));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, y, got, sizeof got),
        "index_select: an index is out of range, first at position 1 (row-major) of its index input");
    const float wanted[8] = {5, 6, 0, 0, 0, 0, 1, 2}, wanted_total[6] = {1, 2, 0, 0, 5, 6};
    assert_memory_equal(got, wanted, sizeof wanted);
    assert_weft_ok(weft_plan_read(plan, sum, total, sizeof total)); /* told once, all of them */
    assert_memory_equal(total, wanted_total, sizeof wanted_total);
    assert_weft_ok(weft_plan_write(plan, index, (int32_t[]){2, 1, 1, 0}, 16));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_wait(plan));
    assert_weft_ok(weft_plan_write(plan, index, (int32_t[]){2, 1, 1, 3}, 16));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(plan), "position 3");
    weft_plan_release(plan);
    weft_graph_release(graph);
}

enum { CACHE_ROWS = 4, CACHE_WIDTH = 20 };

/* A state's rows are replaced where they lie: the plan has no memory for another one. Twice the same index: the last
 * counts; an index out of range is noted, and writes nothing. */
static void test_rows_of_a_state_are_replaced_in_place(void **state) {
    (void)state;
    const int64_t dims[] = {CACHE_ROWS, CACHE_WIDTH};
    weft_graph *graph = test_graph();
    weft_tensor *cache = weft_state_shape(graph, "cache", WEFT_F32, weft_fill(7), 2, dims),
                *index = weft_input_shape(graph, "index", WEFT_I32, 1, (const int64_t[]){3}),
                *rows = weft_input_shape(graph, "rows", WEFT_F32, 2, (const int64_t[]){3, CACHE_WIDTH});
    weft_tensor *next = weft_index_copy(cache, 0, index, rows), *sum = weft_sum(next);
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){sum, weft_assign(cache, next)}, 2, NULL));
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_true(info.arena_bytes < CACHE_ROWS * CACHE_WIDTH * sizeof(float));
    float data[3][CACHE_WIDTH], got[CACHE_ROWS][CACHE_WIDTH], total;
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < CACHE_WIDTH; i++) data[j][i] = (float)(j + 1);
    assert_weft_ok(weft_plan_write(plan, rows, data, sizeof data));
    assert_weft_ok(weft_plan_write(plan, index, (int32_t[]){2, 0, 2}, 12));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, sum, &total, sizeof total));
    assert_weft_ok(weft_tensor_read(cache, got, sizeof got));
    assert_true(got[0][19] == 2 && got[1][0] == 7 && got[2][0] == 3 && got[2][19] == 3 && got[3][5] == 7);
    assert_true(total == (2 + 7 + 3 + 7) * CACHE_WIDTH); /* what was read is the new state */
    assert_weft_ok(weft_plan_write(plan, index, (int32_t[]){1, CACHE_ROWS, -1}, 12));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, sum, &total, sizeof total),
        "index_copy: an index is out of range, first at position 1 (row-major) of its index input");
    assert_weft_ok(weft_tensor_read(cache, got, sizeof got));
    assert_true(got[0][0] == 2 && got[1][0] == 1 && got[2][0] == 3 && got[3][0] == 7);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Whoever reads the old state still gets it. */
static void test_readers_of_the_old_state(void **state) {
    (void)state;
    const int64_t dims[] = {CACHE_ROWS, CACHE_WIDTH};
    weft_graph *graph = test_graph();
    weft_tensor *cache = weft_state_shape(graph, "cache", WEFT_F32, weft_fill(7), 2, dims),
                *index = weft_input_shape(graph, "index", WEFT_I32, 1, (const int64_t[]){1});
    weft_tensor *one = weft_reshape(weft_slice(cache, 0, 0, 1), 1, CACHE_WIDTH);
    weft_tensor *next = weft_index_copy(cache, 0, index, weft_add_number(one, 1));
    weft_tensor *old = weft_sum(weft_square(cache)), *new = weft_sum(weft_square(next));
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){weft_assign(cache, next), new, old}, 3, NULL));
    float sums[2], got[CACHE_ROWS][CACHE_WIDTH];
    assert_weft_ok(weft_plan_write(plan, index, (int32_t[]){3}, 4));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, old, &sums[0], sizeof(float)));
    assert_weft_ok(weft_plan_read(plan, new, &sums[1], sizeof(float)));
    assert_weft_ok(weft_tensor_read(cache, got, sizeof got));
    assert_true(sums[0] == 4 * 49 * CACHE_WIDTH && sums[1] == (3 * 49 + 64) * CACHE_WIDTH);
    assert_true(got[0][0] == 7 && got[3][0] == 8);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The same with an index that is long enough for the kernels of embeddings. */
static void test_out_of_range_of_many(void **state) {
    (void)state;
    enum { COUNT = 300, SIZE = 4, WIDTH = 20 };
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){COUNT, WIDTH}),
                *index = weft_input_shape(graph, "index", WEFT_I32, 1, (const int64_t[]){COUNT});
    weft_tensor *sum = weft_index_sum(x, 0, index, SIZE);
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, &sum, 1, NULL));
    static float data[COUNT * WIDTH], got[SIZE * WIDTH];
    static int32_t places[COUNT];
    for (int i = 0; i < COUNT * WIDTH; i++) data[i] = 1;
    for (int j = 0; j < COUNT; j++) places[j] = j % SIZE;
    places[7] = SIZE;
    places[8] = -1;
    places[9] = INT32_MIN;
    places[10] = INT32_MAX;
    assert_weft_ok(weft_plan_write(plan, x, data, sizeof data));
    assert_weft_ok(weft_plan_write(plan, index, places, sizeof places));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, sum, got, sizeof got),
        "index_sum: an index is out of range, first at position 7 (row-major) of its index input");
    for (int r = 0; r < SIZE; r++)
        for (int i = 0; i < WIDTH; i++) assert_true(got[r * WIDTH + i] == 74.0f);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {INDEX_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_out_of_range_of_many),
        cmocka_unit_test(test_rows_of_a_state_are_replaced_in_place),
        cmocka_unit_test(test_readers_of_the_old_state),
    };
    const int failed = op_suite_run("index", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
