/* Products of sparse matrices, and the rows of compressed ones. */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.{mixed,mixed_f16} format={} reduced */
/* test.{mixed,mixed_f16}.gpu format={} reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_index.h"
#include <math.h>

#define X(...) F32(-2, 2, __VA_ARGS__)

/* ---- sparse products: start is the number of rows ---- */

static weft_tensor *build_sparse_matmul(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return c->keep ? weft_sparse_matmul(inputs[0], inputs[1], NULL, c->start, inputs[2])
                   : weft_sparse_matmul(inputs[0], inputs[1], inputs[2], c->start, inputs[3]);
}
static f64_array *reference_sparse_matmul(const op_case *c, const f64_array *const *inputs) {
    return c->keep ? f64_sparse_matmul(inputs[0], inputs[1], NULL, c->start, inputs[2])
                   : f64_sparse_matmul(inputs[0], inputs[1], inputs[2], c->start, inputs[3]);
}
static const op_case sparse_matmul_cases[] = {
    CASE("rows of 20", sparse_matmul, INPUTS(I32(0, 8, 40), I32(0, 5, 40), X(40), X(6, 20)), .start = 9),
    CASE("a vector", sparse_matmul, INPUTS(I32(0, 3, 12), I32(0, 5, 12), X(12), X(6)), .start = 4),
    CASE("entries of the batch", sparse_matmul,
        INPUTS(I32(0, 4, WEFT_BATCH), I32(0, 5, WEFT_BATCH), X(WEFT_BATCH), F32_PARAMETER(-2, 2, 6, 3)),
        .start = 5),
    CASE("ones", sparse_matmul, INPUTS(I32(0, 4, 30), I32(0, 5, 30), X(6, 2, 3)), .start = 5, .keep = true),
};

/* Where rows begin, one of which is empty. Only the shape of columns counts: the case adds their numbers. */
static const int32_t begins[] = {0, 3, 3, 9, 17};

static weft_tensor *build_sparse_rows(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_tensor *const starts = weft_array(graph, WEFT_I32, begins, 1, &c->start);
    return weft_add(weft_sparse_rows(starts, inputs[0]), inputs[0]);
}
static f64_array *reference_sparse_rows(const op_case *c, const f64_array *const *inputs) {
    f64_array *const starts = f64_zeros(1, &c->start);
    for (size_t i = 0; i < starts->count; i++) starts->value[i] = (double)begins[i];
    return f64_add(f64_sparse_rows(starts, inputs[0]), inputs[0]);
}
static const op_case sparse_rows_cases[] = {
    CASE("4 rows", sparse_rows, INPUTS(I32(0, 5, 17)), .start = 5, .no_gradient = true),
    CASE("1 row", sparse_rows, INPUTS(I32(0, 5, 9)), .start = 2, .no_gradient = true),
    CASE("entries of the batch", sparse_rows, INPUTS(I32(0, 5, WEFT_BATCH * 17)), .start = 5,
        .no_gradient = true),
};

/* ---- compressed rows, bad input ---- */

/* The entries of compressed rows, of which the second and the last are empty, and NaN among elements. */
static void test_compressed_rows(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    const int32_t starts[] = {0, 2, 2, 5, 5}, columns[] = {3, 0, 1, 1, 2}, wanted[] = {0, 0, 2, 2, 2};
    weft_tensor *column = weft_array(graph, WEFT_I32, columns, 1, (const int64_t[]){5});
    weft_tensor *rows =
        weft_sparse_rows(weft_array(graph, WEFT_I32, starts, 1, (const int64_t[]){5}), column);
    const float elements[] = {1, NAN, 4, -INFINITY, 2};
    weft_tensor *source = weft_array(graph, WEFT_F32, elements, 1, (const int64_t[]){5});
    weft_tensor *zeros = weft_full(graph, WEFT_F32, 0, 1, (const int64_t[]){5});
    weft_tensor *most = weft_index_reduce(zeros, 0, column, source, WEFT_SCATTER_MAX, false);
    weft_plan *plan;
    int32_t got[5];
    float found[5];
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){rows, most}, 2, NULL));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, rows, got, sizeof got));
    assert_weft_ok(weft_plan_read(plan, most, found, sizeof found));
    assert_memory_equal(got, wanted, sizeof wanted);
    assert_true(isnan(found[0]) && found[1] == 4 && found[2] == 2 && found[3] == 1 && found[4] == 0);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_bad_input(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3);
    weft_tensor *const index = weft_input_shape(graph, "i", WEFT_I32, 1, (const int64_t[]){9});
    assert_null(weft_sparse_matmul(index, weft_slice(index, 0, 0, 4), NULL, 3, x));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "sparse_matmul: rows (9), columns (4)",
        "expected rows, columns");
    weft_graph_release(graph);
    graph = test_graph();
    weft_tensor *const floats = weft_input_shape(graph, "f", WEFT_F32, 1, (const int64_t[]){9});
    assert_null(weft_sparse_rows(floats, floats));
    assert_weft_fails(WEFT_ERROR_DTYPE, weft_graph_status(graph), "sparse_rows: starts are i32, not f32");
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {SPARSE_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compressed_rows), cmocka_unit_test(test_bad_input)};
    const int failed = op_suite_run("sparse", ops, sizeof ops / sizeof ops[0]);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
