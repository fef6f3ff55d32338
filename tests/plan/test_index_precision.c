/* Ops by index and sparse products in mixed precision, and on numbers of 16 bits: thousands of numbers that meet in one place,
 * forward or in the gradient, add up as in f32. Added up in bf16, ones stay at 256; in f16 at 2048. */
/* test slow */
#include "support/fixture.h"
#include <math.h>
#include <string.h>
#include <weft/weft.h>

enum { MANY = 4096, ROWS = 3, WIDTH = 4 };

/* Ones that come from products: many (batch, WIDTH), few (ROWS, WIDTH); the batch is MANY. */
typedef struct scene {
    weft_graph *graph;
    weft_tensor *many, *few;
    weft_tensor *places, *of_each, *counted; /* i32: zeros (batch) and (batch, WIDTH); 0, 1, ... (batch) */
} scene;

static weft_tensor *ones(weft_graph *graph, int64_t rows, int64_t columns) {
    return weft_full(graph, WEFT_F32, 1, WEFT_SHAPE(rows, columns));
}

static weft_tensor *whole(weft_tensor *x) {
    return weft_cast(x, WEFT_I32);
}

/* dtype: of many and few. */
static scene make_scene(weft_precision precision, weft_dtype dtype, weft_tensor **weight, weft_tensor **x) {
    scene s = {.graph = test_graph()};
    const weft_loss_scaling scaling = {WEFT_LOSS_SCALING_INIT, .initial = 1};
    if (precision == WEFT_PRECISION_F16) assert_weft_ok(weft_graph_set_loss_scaling(s.graph, &scaling));
    assert_weft_ok(weft_graph_set_precision(s.graph, precision));
    *x = weft_input(s.graph, "x", WEFT_F32, 1); /* (batch, 1): ones */
    *weight = weft_parameter(s.graph, "w", weft_fill(1), 1, WIDTH);
    s.many = weft_cast(weft_relu(weft_matmul(*x, *weight)), dtype);
    s.few = weft_cast(weft_matmul(ones(s.graph, ROWS, 1), *weight), dtype);
    weft_tensor *const zeros = weft_mul_number(*x, 0), *const line = weft_reshape(zeros, WEFT_BATCH);
    s.places = whole(line);
    s.of_each = whole(weft_expand(zeros, WEFT_SHAPE(WEFT_BATCH, WIDTH)));
    s.counted = whole(weft_sub_number(weft_cumsum(weft_add_number(line, 1), 0), 1));
    return s;
}

static weft_tensor *bag(const scene *s, weft_bag_mode mode) {
    weft_tensor *const begin = weft_full(s->graph, WEFT_I32, 0, WEFT_SHAPE(1));
    return weft_embedding_bag_with(
        s->few, s->places, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = mode, .offsets = begin});
}

/* ROW(name, function of s, sum of its elements, gradient of that sum for each element of w) */
#define FUNCTIONS(ROW)                                                                                       \
    ROW(scatter_sum, weft_scatter_sum(s->many, 0, s->of_each, ROWS), WIDTH *MANY, MANY)                      \
    ROW(index_sum, weft_index_sum(s->many, 0, s->places, ROWS), WIDTH *MANY, MANY)                           \
    ROW(scatter_add, weft_scatter_add(s->few, 0, s->of_each, s->many), WIDTH *(MANY + ROWS), MANY + ROWS)    \
    ROW(index_add, weft_index_add(s->few, 0, s->places, s->many), WIDTH *(MANY + ROWS), MANY + ROWS)         \
    ROW(scatter_reduce, weft_scatter_reduce(s->few, 0, s->of_each, s->many, WEFT_SCATTER_SUM, true),         \
        WIDTH *(MANY + ROWS), MANY + ROWS)                                                                   \
    ROW(index_reduce, weft_index_reduce(s->few, 0, s->places, s->many, WEFT_SCATTER_SUM, true),              \
        WIDTH *(MANY + ROWS), MANY + ROWS)                                                                   \
    ROW(scatter_mean, weft_scatter_reduce(s->few, 0, s->of_each, s->many, WEFT_SCATTER_MEAN, true),          \
        WIDTH *ROWS, ROWS)                                                                                   \
    ROW(index_mean, weft_index_reduce(s->few, 0, s->places, s->many, WEFT_SCATTER_MEAN, false), WIDTH *ROWS, \
        ROWS)                                                                                                \
    ROW(scatter_max, weft_scatter_reduce(s->few, 0, s->of_each, s->many, WEFT_SCATTER_MAX, true),            \
        WIDTH *ROWS, ROWS)                                                                                   \
    ROW(sparse_matmul, weft_sparse_matmul(s->places, s->counted, NULL, ROWS, s->many), WIDTH *MANY, MANY)    \
    ROW(sparse_matmul_of_one, weft_sparse_matmul(s->counted, s->places, NULL, WEFT_BATCH, s->few),           \
        WIDTH *MANY, MANY)                                                                                   \
    ROW(sparse_matmul_of_values,                                                                             \
        weft_sparse_matmul(s->places, s->counted, weft_reshape(weft_slice(s->many, 1, 0, 1), WEFT_BATCH),    \
            ROWS, weft_stop_gradient(s->many)),                                                              \
        WIDTH *MANY, -1)                                                                                     \
    ROW(gather, weft_gather(s->few, 0, s->of_each), WIDTH *MANY, MANY)                                       \
    ROW(index_select, weft_index_select(s->few, 0, s->places), WIDTH *MANY, MANY)                            \
    ROW(embedding, weft_embedding_with(s->few, s->places), WIDTH *MANY, MANY)                                \
    ROW(bag_sum, bag(s, WEFT_BAG_SUM), WIDTH *MANY, MANY)                                                    \
    ROW(bag_mean, bag(s, WEFT_BAG_MEAN), WIDTH, 1)                                                           \
    ROW(index_copy, weft_index_copy(s->many, 0, s->counted, s->many), WIDTH *MANY, MANY)                     \
    ROW(masked_mean, weft_masked_mean(s->many, weft_equal(s->of_each, weft_number(s->of_each, 0)), 0),       \
        WIDTH, 1)

#define BUILD(name, built, sum, gradient)                                                                    \
    static weft_tensor *build_##name(const scene *s) {                                                       \
        return built;                                                                                        \
    }
FUNCTIONS(BUILD)
#define LIST(name, built, sum, gradient) {#name, build_##name, sum, gradient},
static const struct {
    const char *name;
    weft_tensor *(*build)(const scene *s);
    double sum, gradient; /* gradient -1: WIDTH * MANY for the first element of w, and 0 for the others */
} functions[] = {FUNCTIONS(LIST)};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

static void check(const char *name, const char *what, double got, double wanted, double rounding) {
    if (!(fabs(got - wanted) <= 4 * rounding * fabs(wanted)))
        fail_msg("%s: %s is %g, expected %g", name, what, got, wanted);
}

static bool takes(size_t at, weft_dtype dtype) {
    const bool of_f32 = strstr(functions[at].name, "embedding") || strstr(functions[at].name, "bag");
    return dtype == WEFT_F32 || !of_f32; /* tables are f32 */
}

static void check_function(size_t at, weft_plan *plan, weft_tensor *const outputs[2], double rounding) {
    float sum = 0, gradient[WIDTH];
    assert_weft_ok(weft_plan_read(plan, outputs[0], &sum, sizeof sum));
    assert_weft_ok(weft_plan_read(plan, outputs[1], gradient, sizeof gradient));
    check(functions[at].name, "the sum", (double)sum, functions[at].sum, rounding);
    for (int i = 0; i < WIDTH; i++) {
        const double all = functions[at].gradient < 0 ? (i == 0 ? WIDTH * MANY : 0) : functions[at].gradient;
        check(functions[at].name, "the gradient", (double)gradient[i], all, rounding);
    }
}

/* All functions in one plan. */
static void check_functions(weft_precision precision, weft_dtype dtype, double rounding) {
    static float data[MANY];
    weft_tensor *weight, *x, *outputs[FUNCTION_COUNT][2];
    weft_plan *plan = NULL;
    size_t count = 0;
    const scene s = make_scene(precision, dtype, &weight, &x);
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        if (!takes(i, dtype)) continue;
        outputs[count][0] = weft_sum(weft_cast(functions[i].build(&s), WEFT_F32));
        outputs[count][1] = weft_gradient(outputs[count][0], weight);
        count++;
    }
    assert_weft_ok(weft_graph_status(s.graph));
    assert_weft_ok(weft_plan_create(&plan, outputs[0], 2 * count, WEFT_WITH(plan, .batch = MANY)));
    for (int i = 0; i < MANY; i++) data[i] = 1;
    assert_weft_ok(weft_plan_write(plan, x, data, sizeof data));
    assert_weft_ok(weft_plan_run(plan));
    count = 0;
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        if (takes(i, dtype)) check_function(i, plan, outputs[count++], rounding);
    weft_plan_release(plan);
    weft_graph_release(s.graph);
}

/* Those of f32 alone are tested by test_index and test_sparse. */
static void sums_are_those_of_f32(void **state) {
    (void)state;
    check_functions(WEFT_PRECISION_BF16, WEFT_F32, 0x1p-9);
    check_functions(WEFT_PRECISION_F16, WEFT_F32, 0x1p-12);
    check_functions(WEFT_PRECISION_F32, WEFT_BF16, 0x1p-9);
    check_functions(WEFT_PRECISION_F32, WEFT_F16, 0x1p-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_those_of_f32)};
    return test_finish(cmocka_run_group_tests_name("precision of ops by index", tests, NULL, NULL));
}
