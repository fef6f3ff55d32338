/* Elementwise ops: every row of elementwise_rows.h with many shapes, broadcasts, strides and both dtypes, and
 * at the edges of float32. */
/* test slow */
/* test.{formats} format={} reduced */
#include "cl/context.h"
#include "support/op_case.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { FLOAT1, FLOAT2, NUMBER1, NUMBER2, COMPARE, CHOOSE, TEST1, LOGIC1, LOGIC2 };

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
#define MEMBER_TEST1   .one
#define MEMBER_LOGIC1  .one
#define MEMBER_LOGIC2  .two

typedef struct row {
    const char *op;
    enum kind kind;
    function build;
    f64_function *formula;
    double low, high;
} row;

/* In float32, as fmod is exact and adding b to it rounds. */
static double remainder_of(double a, double b) {
    const double rest = fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

/* Rounded down. -1 for a small quotient that is negative, NaN for an infinite dividend, as in Python. */
static double floor_of(double a, double b) {
    if (isinf(a) && b != 0) return NAN;
    return isinf(b) && a * b < 0 ? -1 : floor(a / b);
}

#define ROW(op, kind, formula, low, high)                                                                    \
    static double formula_##op(double a, double b, double c) {                                               \
        (void)a, (void)b, (void)c;                                                                           \
        return formula;                                                                                      \
    }
#include "oracle/elementwise_rows.h"
#define ROW(op, kind, formula, low, high) {#op, kind, {MEMBER_##kind = weft_##op}, formula_##op, low, high},
static const row rows[] = {
#include "oracle/elementwise_rows.h"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int arity(const row *r) {
    switch (r->kind) {
    case CHOOSE: return 3;
    case FLOAT1:
    case NUMBER1:
    case TEST1:
    case LOGIC1: return 1;
    default: return 2;
    }
}
static bool is_logic(const row *r) {
    return r->kind == LOGIC1 || r->kind == LOGIC2;
}
static bool is_bool(const row *r) {
    return is_logic(r) || r->kind == COMPARE || r->kind == TEST1;
}
static bool takes_i32(const row *r) {
    return r->kind != FLOAT1 && r->kind != FLOAT2 && !is_logic(r);
}

/* Shapes, strides and broadcasts are the work of one mechanism: these ops of each kind prove it, the others
 * go through the shapes marked `all` or `each`. */
static bool is_thorough(const row *r) {
    static const char *const ops[] = {"neg", "exp", "add", "div", "where", "less", "logical_and"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(r->op, ops[i]) == 0) return true;
    return false;
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
    bool with_i32, all,
        each; /* each: all ops where maps compute strided elements one by one, by other functions */
} pattern;

static const pattern patterns1[] = {
    {.name = "1", .dims = {DIMS(1)}, .with_i32 = true},
    {.name = "3", .dims = {DIMS(3)}},
    {.name = "15", .dims = {DIMS(15)}},
    {.name = "16", .dims = {DIMS(16)}},
    {.name = "17", .dims = {DIMS(17)}},
    {.name = "33", .dims = {DIMS(33)}},
    {.name = "257", .dims = {DIMS(257)}, .all = true},
    {.name = "1 to 17", .dims = {DIMS(WEFT_BATCH)}, .with_i32 = true, .all = true},
    {.name = "1000", .dims = {DIMS(1000)}},
    {.name = "a number", .dims = {{WEFT_END}}},
    {.name = "batch", .dims = {DIMS(WEFT_BATCH, 5)}},
    {.name = "transposed", .dims = {DIMS(5, 7)}, .views = {OP_TRANSPOSED}, .each = true},
    {.name = "reversed, rank 3", .dims = {DIMS(3, 4, 17)}, .views = {OP_REVERSED}},
    {.name = "sliced", .dims = {DIMS(WEFT_BATCH, 18)}, .views = {OP_SLICED}},
    {.name = "rank 8", .dims = {DIMS(2, 1, 3, 1, 2, 1, 1, 3)}},
};

static const pattern patterns2[] = {
    {.name = "3 and 3", .dims = {DIMS(3), DIMS(3)}, .with_i32 = true},
    {.name = "257 and 257", .dims = {DIMS(257), DIMS(257)}, .all = true},
    {.name = "number and rows", .dims = {{WEFT_END}, DIMS(4, 17)}},
    {.name = "rows and number", .dims = {DIMS(4, 17), {WEFT_END}}},
    {.name = "rows and row", .dims = {DIMS(WEFT_BATCH, 17), DIMS(17)}, .with_i32 = true},
    {.name = "column and rows", .dims = {DIMS(5, 1), DIMS(5, 33)}},
    {.name = "both stretch", .dims = {DIMS(4, 1, 5), DIMS(3, 1)}},
    {.name = "batch and one", .dims = {DIMS(WEFT_BATCH, 3), DIMS(1, 3)}},
    /* 5 and 7: with 5 and 6 the inputs' random streams meet in equal numbers, where remainder jumps. */
    {.name = "whole and transposed",
        .dims = {DIMS(5, 7), DIMS(5, 7)},
        .views = {OP_WHOLE, OP_TRANSPOSED},
        .each = true},
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
        .no_gradient = is_bool(r) || dtype != WEFT_F32};
    if (dtype == WEFT_I32) c.name = "i32";
    for (int i = 0; i < arity(r); i++) {
        c.inputs[i] =
            (op_input){dtype, is_bool(r) ? OP_WHOLE_RANDOM : OP_RANDOM, r->low, r->high, {0}, p->views[i]};
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
    /* Reduced tests have the smallest cases of each op, and 257 elements are many. */
    const bool each = wi_context_device(test_context())->profile.loops.map_elements > 1 || test_reduced();
    size_t count = 0;
    for (size_t i = 0; i < counts[arity(r)]; i++) {
        const pattern *const p = &patterns[arity(r)][i];
        if (!p->all && !(p->each && each) && !is_thorough(r)) continue;
        cases[count++] = make_case(r, p, is_logic(r) ? WEFT_BOOL : WEFT_F32);
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
    3e-39f, -3e-39f, 1e-45f, FLT_MIN, FLT_MAX, -FLT_MAX, 1e30f, -1e30f, 16777216.0f, INFINITY, -INFINITY, NAN,
    2.0f, -2.0f, 3.0f, -3.0f, 1.5f, 2.5f, -2.5f, -0.5f, 0.9999999f, 1.0000001f, 1e6f, -1e6f, 1e10f, 6.0f,
    -13.0f, 1.5707964f, 128.0f, -126.5f, -149.0f, -100.0f};
enum { EDGES = sizeof edges / sizeof edges[0], PAIRS = EDGES * EDGES };

static void edge_dims(int which, int64_t *dims) {
    dims[0] = which == 0 ? EDGES : 1;
    dims[1] = which == 0 ? 1 : EDGES;
}

/* What is not as the C library's float64 functions have it, rounded to float32. NaN in a or b stands for any.
 */
static const struct exception {
    const char *op;
    float a, b;
    double value, error;
} exceptions[] = {
    /* Of two zeros the first, which IEEE 754 leaves open; PyTorch has relu(-0) = -0, too. */
    {"maximum", 0.0f, -0.0f, 0.0, 0},
    {"maximum", -0.0f, 0.0f, -0.0, 0},
    {"minimum", 0.0f, -0.0f, 0.0, 0},
    {"minimum", -0.0f, 0.0f, -0.0, 0},
    {"relu", -0.0f, NAN, -0.0, 0},
    /* The product of a subnormal exp(a) and a: within 1e-43. */
    {"silu", -100.0f, NAN, -3.7200759760208360e-42, 1e-43},
    {"mish", -100.0f, NAN, -3.7200759760208360e-42, 1e-43},
    {NULL, 0, 0, 0, 0},
};

static bool is_number(float asked, float x) {
    return isnan(asked) || (asked == x && !signbit(asked) == !signbit(x));
}

static void apply_exceptions(const row *r, float a, float b, double *value, double *error) {
    for (const struct exception *e = exceptions; e->op; e++) {
        if (strcmp(e->op, r->op) != 0 || !is_number(e->a, a) || !is_number(e->b, b)) continue;
        *value = e->value;
        *error = e->error;
    }
}

static bool as_wanted(float got, double wanted, double error) {
    const float rounded = (float)wanted;
    if (isnan(rounded)) return isnan(got);
    if (rounded == 0 && got == 0) return test_device_loose() || !signbit(rounded) == !signbit(got);
    if (test_device_flushes()) error += 0x1p-126;
    return got == rounded || (isfinite(got) && isfinite(rounded) && fabs((double)got - wanted) <= error);
}

/* What a device computes that takes subnormal inputs for zeros. */
static double of_flushed(const row *r, float a, float b) {
    const double x = fabsf(a) < 0x1p-126f ? copysign(0.0, (double)a) : (double)a;
    const double y = fabsf(b) < 0x1p-126f ? copysign(0.0, (double)b) : (double)b;
    return r->kind == CHOOSE ? r->formula(1, x, y) : r->formula(x, y, 0);
}

static size_t check_edges(const row *r, weft_plan *plan, weft_tensor *output) {
    static float got[PAIRS];
    static uint8_t got_bool[PAIRS];
    const bool gives_bool = weft_tensor_dtype(output) == WEFT_BOOL;
    const size_t count = arity(r) == 1 ? EDGES : PAIRS;
    void *const memory = gives_bool ? (void *)got_bool : (void *)got;
    assert_weft_ok(weft_plan_read(plan, output, memory, count * (gives_bool ? 1 : sizeof *got)));
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const float a = edges[count == PAIRS ? i / EDGES : i], b = count == PAIRS ? edges[i % EDGES] : 0;
        double wanted =
            r->kind == CHOOSE ? r->formula(1, (double)a, (double)b) : r->formula((double)a, (double)b, 0);
        double error = fmax(4 * f64_ulp(wanted), 1e-6 * fabs(wanted));
        apply_exceptions(r, a, b, &wanted, &error);
        const float value = gives_bool ? (float)got_bool[i] : got[i];
        if (as_wanted(value, wanted, error)) continue;
        if (test_device_flushes() && as_wanted(value, of_flushed(r, a, b), error)) continue;
        if (wrong++ < 4)
            print_error(
                "%s(%.9g, %.9g) is %.9g, not %.9g\n", r->op, (double)a, (double)b, (double)value, wanted);
    }
    return wrong;
}

static void test_edges(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *inputs[3], *outputs[ROWS];
    const row *tested[ROWS];
    const uint8_t yes = 1;
    int64_t dims[2] = {1, 1};
    inputs[0] = weft_array(graph, WEFT_BOOL, &yes, 2, dims);
    for (int i = 0; i < 2; i++) {
        edge_dims(i, dims);
        inputs[i + 1] = weft_input_shape(graph, "edges", WEFT_F32, 2, dims);
    }
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++) {
        if (is_logic(&rows[i])) continue; /* takes no floats */
        tested[count] = &rows[i];
        outputs[count++] = apply(&rows[i], rows[i].kind == CHOOSE ? inputs : inputs + 1);
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, count, NULL));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_write(plan, inputs[i + 1], edges, sizeof edges));
    assert_weft_ok(weft_plan_run(plan));
    f64_track_errors(true);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += check_edges(tested[i], plan, outputs[i]);
    weft_plan_release(plan);
    weft_graph_release(graph);
    f64_pool_release(NULL);
    assert_int_equal(wrong, 0);
}

/* The origin has no angle, and there the gradient is 0, whatever the signs of the zeros. */
static void test_atan2_at_the_origin(void **state) {
    (void)state;
    enum { POINTS = 5 };
    const float y[POINTS] = {0, -0.0f, 0, -0.0f, 2}, x[POINTS] = {0, 0, -0.0f, -0.0f, 0};
    weft_graph *const graph = test_graph();
    weft_tensor *const sides[2] = {
        weft_input_shape(graph, "y", WEFT_F32, 1, (const int64_t[]){POINTS}),
        weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){POINTS}),
    };
    weft_tensor *slopes[2];
    float got[2][POINTS];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_gradients(weft_sum(weft_atan2(sides[0], sides[1])), sides, 2, slopes));
    assert_weft_ok(weft_plan_create(&plan, slopes, 2, NULL));
    assert_weft_ok(weft_plan_write(plan, sides[0], y, sizeof y));
    assert_weft_ok(weft_plan_write(plan, sides[1], x, sizeof x));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 2; i++) assert_weft_ok(weft_plan_read(plan, slopes[i], got[i], sizeof got[i]));
    for (int k = 0; k < POINTS; k++) {
        assert_true(got[0][k] == 0);
        assert_true(got[1][k] == (k < POINTS - 1 ? 0 : -0.5f));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges), cmocka_unit_test(test_atan2_at_the_origin)};
    return run_shapes() + cmocka_run_group_tests_name("elementwise edges", tests, NULL, NULL);
}
