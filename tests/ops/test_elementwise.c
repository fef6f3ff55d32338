/* Elementwise ops: every row of elementwise_rows.h with many shapes, broadcasts, strides and both dtypes, and
 * at the edges of float32. */
#include "support/op_case.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { FLOAT1, FLOAT2, NUMBER1, NUMBER2, COMPARE, CHOOSE };

/* ---- the rows as a table ---- */

typedef weft_tensor *function1(weft_tensor *a);
typedef weft_tensor *function2(weft_tensor *a, weft_tensor *b);
typedef weft_tensor *function3(weft_tensor *a, weft_tensor *b, weft_tensor *c);
typedef union function {
    function1 *one;
    function2 *two;
    function3 *three;
} function;
#define MEMBER_FLOAT1  .one
#define MEMBER_FLOAT2  .two
#define MEMBER_NUMBER1 .one
#define MEMBER_NUMBER2 .two
#define MEMBER_COMPARE .two
#define MEMBER_CHOOSE  .three

typedef struct row {
    const char *op;
    enum kind kind;
    function build;
    f64_function *formula;
    double low, high;
} row;

#define ROW(op, kind, formula, low, high)                                                                    \
    static double formula_##op(double a, double b, double c) {                                               \
        (void)a, (void)b, (void)c;                                                                           \
        return formula;                                                                                      \
    }
#include "ops/elementwise_rows.h"
#define ROW(op, kind, formula, low, high) {#op, kind, {MEMBER_##kind = weft_##op}, formula_##op, low, high},
static const row rows[] = {
#include "ops/elementwise_rows.h"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int arity(const row *r) {
    return r->kind == CHOOSE ? 3 : r->kind == FLOAT1 || r->kind == NUMBER1 ? 1 : 2;
}
static bool takes_i32(const row *r) {
    return r->kind != FLOAT1 && r->kind != FLOAT2;
}

static weft_tensor *apply(const row *r, weft_tensor *const *x) {
    switch (arity(r)) {
    case 1: return r->build.one(x[0]);
    case 2: return r->build.two(x[0], x[1]);
    default: return r->build.three(x[0], x[1], x[2]);
    }
}

/* ---- shapes: what every op of one, two or three inputs goes through ---- */

typedef struct pattern {
    const char *name;
    int64_t dims[3][WEFT_MAX_RANK + 1];
    op_view views[3];
    bool with_i32;
} pattern;

static const pattern patterns1[] = {
    {.name = "1", .dims = {DIMS(1)}, .with_i32 = true},
    {.name = "3", .dims = {DIMS(3)}},
    {.name = "15", .dims = {DIMS(15)}},
    {.name = "16", .dims = {DIMS(16)}},
    {.name = "17", .dims = {DIMS(17)}, .with_i32 = true},
    {.name = "33", .dims = {DIMS(33)}},
    {.name = "257", .dims = {DIMS(257)}},
    {.name = "1000", .dims = {DIMS(1000)}},
    {.name = "a number", .dims = {{WEFT_END}}},
    {.name = "batch", .dims = {DIMS(WEFT_BATCH, 5)}},
    {.name = "transposed", .dims = {DIMS(5, 7)}, .views = {OP_TRANSPOSED}},
    {.name = "reversed, rank 3", .dims = {DIMS(3, 4, 17)}, .views = {OP_REVERSED}},
    {.name = "sliced", .dims = {DIMS(WEFT_BATCH, 18)}, .views = {OP_SLICED}},
    {.name = "rank 8", .dims = {DIMS(2, 1, 3, 1, 2, 1, 1, 3)}},
};

static const pattern patterns2[] = {
    {.name = "3 and 3", .dims = {DIMS(3), DIMS(3)}, .with_i32 = true},
    {.name = "257 and 257", .dims = {DIMS(257), DIMS(257)}},
    {.name = "number and rows", .dims = {{WEFT_END}, DIMS(4, 17)}},
    {.name = "rows and number", .dims = {DIMS(4, 17), {WEFT_END}}},
    {.name = "rows and row", .dims = {DIMS(WEFT_BATCH, 17), DIMS(17)}, .with_i32 = true},
    {.name = "column and rows", .dims = {DIMS(5, 1), DIMS(5, 33)}},
    {.name = "both stretch", .dims = {DIMS(4, 1, 5), DIMS(3, 1)}},
    {.name = "batch and one", .dims = {DIMS(WEFT_BATCH, 3), DIMS(1, 3)}},
    {.name = "one and transposed", .dims = {DIMS(5, 6), DIMS(5, 6)}, .views = {OP_WHOLE, OP_TRANSPOSED}},
    {.name = "sliced and reversed",
        .dims = {DIMS(2, 3, 16), DIMS(2, 3, 16)},
        .views = {OP_SLICED, OP_REVERSED}},
    {.name = "rank 5", .dims = {DIMS(2, 1, 3, 1, 5), DIMS(1, 4, 1, 2, 5)}},
};

static const pattern patterns3[] = {
    {.name = "3, 3 and 3", .dims = {DIMS(3), DIMS(3), DIMS(3)}, .with_i32 = true},
    {.name = "257 each", .dims = {DIMS(257), DIMS(257), DIMS(257)}},
    {.name = "all stretch", .dims = {DIMS(5, 1, 1), DIMS(4, 1), DIMS(3)}, .with_i32 = true},
    {.name = "column decides", .dims = {DIMS(WEFT_BATCH, 1), DIMS(WEFT_BATCH, 17), DIMS(17)}},
    {.name = "views",
        .dims = {DIMS(4, 6), DIMS(4, 6), DIMS(4, 6)},
        .views = {OP_TRANSPOSED, OP_SLICED, OP_TRANSPOSED}},
    {.name = "numbers", .dims = {DIMS(16), {WEFT_END}, {WEFT_END}}},
};

enum { MAX_CASES = 2 * (sizeof patterns1 / sizeof patterns1[0]) * ROWS };

static weft_tensor *build_row(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return apply(c->row, inputs);
}

static f64_array *reference_row(const op_case *c, const f64_array *const *inputs) {
    const row *const r = c->row;
    return f64_map(r->formula, inputs[0], inputs[1], inputs[2]);
}

static op_case make_case(const row *r, const pattern *p, weft_dtype dtype) {
    op_case c = {.name = p->name,
        .build = build_row,
        .reference = reference_row,
        .row = r,
        .no_gradient = r->kind == COMPARE || dtype != WEFT_F32};
    if (dtype == WEFT_I32) c.name = "i32";
    for (int i = 0; i < arity(r); i++) {
        c.inputs[i] = (op_input){
            dtype, r->kind == COMPARE ? OP_WHOLE_RANDOM : OP_RANDOM, r->low, r->high, {0}, p->views[i]};
        memcpy(c.inputs[i].dims, p->dims[i], sizeof p->dims[i]);
    }
    if (r->kind == CHOOSE) {
        c.inputs[0].dtype = WEFT_BOOL;
        c.inputs[0].low = 0;
        c.inputs[0].high = 1;
    }
    return c;
}

static size_t make_cases(const row *r, op_case *cases) {
    const pattern *const patterns[] = {NULL, patterns1, patterns2, patterns3};
    const size_t counts[] = {0, sizeof patterns1 / sizeof patterns1[0],
        sizeof patterns2 / sizeof patterns2[0], sizeof patterns3 / sizeof patterns3[0]};
    size_t count = 0;
    for (size_t i = 0; i < counts[arity(r)]; i++) {
        const pattern *const p = &patterns[arity(r)][i];
        cases[count++] = make_case(r, p, WEFT_F32);
        if (p->with_i32 && takes_i32(r)) cases[count++] = make_case(r, p, WEFT_I32);
    }
    return count;
}

static int run_shapes(void) {
    static op_case cases[MAX_CASES];
    op_cases ops[ROWS];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        ops[i] = (op_cases){rows[i].op, cases + count, make_cases(&rows[i], cases + count)};
        count += ops[i].count;
    }
    return op_suite_run("elementwise", ops, ROWS);
}

/* ---- the edges of float32: NaN, infinities, zeros, subnormal and huge numbers, in all combinations ---- */

static const float edges[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -88.0f, 88.0f, 200.0f, -200.0f, 1e-7f, -1e-7f,
    3e-39f, -3e-39f, 1e-45f, FLT_MIN, FLT_MAX, -FLT_MAX, 1e30f, -1e30f, 16777216.0f, INFINITY, -INFINITY,
    NAN};
enum { EDGES = sizeof edges / sizeof edges[0], PAIRS = EDGES * EDGES };

static void edge_dims(int which, int64_t *dims) {
    dims[0] = which == 0 ? EDGES : 1;
    dims[1] = which == 0 ? 1 : EDGES;
}

static void check_edges(const row *r, weft_plan *plan, weft_tensor *output) {
    float got[PAIRS];
    uint8_t got_bool[PAIRS];
    const bool is_bool = weft_tensor_dtype(output) == WEFT_BOOL;
    const size_t count = arity(r) == 1 ? EDGES : PAIRS;
    void *const memory = is_bool ? (void *)got_bool : (void *)got;
    assert_weft_ok(weft_plan_read(plan, output, memory, count * (is_bool ? 1 : sizeof *got)));
    f64_array *inputs[3] = {NULL};
    for (int i = 0; i < arity(r); i++) {
        int64_t dims[2];
        edge_dims(r->kind == CHOOSE ? i - 1 : i, dims);
        if (r->kind == CHOOSE && i == 0) dims[0] = dims[1] = 1;
        inputs[i] = f64_zeros(2, dims);
        for (size_t k = 0; k < inputs[i]->count; k++) inputs[i]->value[k] = (double)edges[k];
    }
    if (r->kind == CHOOSE) inputs[0]->value[0] = 1;
    char what[64];
    snprintf(what, sizeof what, "%s of edges", r->op);
    op_assert_close(
        what, weft_tensor_dtype(output), memory, f64_map(r->formula, inputs[0], inputs[1], inputs[2]));
}

static void test_edges(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *inputs[3], *outputs[ROWS];
    const uint8_t yes = 1;
    int64_t dims[2] = {1, 1};
    inputs[0] = weft_array(graph, WEFT_BOOL, &yes, 2, dims);
    for (int i = 0; i < 2; i++) {
        edge_dims(i, dims);
        inputs[i + 1] = weft_input_shape(graph, "edges", WEFT_F32, 2, dims);
    }
    for (size_t i = 0; i < ROWS; i++)
        outputs[i] = apply(&rows[i], rows[i].kind == CHOOSE ? inputs : inputs + 1);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, ROWS, NULL));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_write(plan, inputs[i + 1], edges, sizeof edges));
    assert_weft_ok(weft_plan_run(plan));
    f64_track_errors(true);
    for (size_t i = 0; i < ROWS; i++) check_edges(&rows[i], plan, outputs[i]);
    weft_plan_release(plan);
    weft_graph_release(graph);
    f64_pool_release(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges)};
    return run_shapes() + cmocka_run_group_tests_name("elementwise edges", tests, NULL, NULL);
}
