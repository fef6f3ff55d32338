/* Products of class gpu whose k is split between work-groups: against sums in float64, as cut for devices of many compute units,
 * in all forms, with an epilogue; and when they are chosen.
 *
 * Numbers are small multiples of 1/8, so sums are exact in float32, whatever their order. */
#include "support/fixture.h"

#include "cl/context.h"
#include "kernels/product/gemm.h"
#include "kernels/registry.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* REDUCED_K: no k is larger in reduced runs: three blocks. */
enum { MOST = 1 << 18, INPUTS = 4, UNITS = 512, REDUCED_K = 35 };

/* gap: columns of A and B that are not theirs, in each row of their memory. */
typedef struct test_case {
    const char *what;
    int64_t batch, m, n, k;
    bool a_transposed, b_transposed;
    int64_t gap;
    bool tiny; /* for interpreters */
} test_case;

static const test_case cases[] = {
    {"NN", 1, 68, 36, 512, false, false, 0, false},
    {"NT", 1, 68, 36, 512, false, true, 0, false},
    {"TN", 1, 68, 36, 512, true, false, 0, false},
    {"TT", 1, 68, 36, 512, true, true, 0, false},
    {"one element", 1, 1, 1, 4096, false, false, 0, false},
    {"one row", 1, 1, 77, 300, false, true, 0, false},
    {"one column", 1, 77, 1, 301, true, false, 0, false},
    {"two blocks, the last of one step", 1, 5, 7, 17, false, false, 0, true},
    {"blocks that splits share unequally", 1, 33, 19, 1003, false, false, 0, false},
    {"a batch", 3, 17, 21, 259, false, false, 0, true},
    {"a batch, NT", 2, 20, 24, 256, false, true, 0, false},
    {"a batch, TN", 2, 20, 24, 255, true, false, 0, false},
    {"rows apart by multiples of a quad", 2, 24, 28, 264, false, false, 4, false},
    {"rows apart", 2, 23, 27, 263, false, true, 3, false},
    {"several tiles", 1, 150, 140, 136, true, false, 1, false},
    {"few rows, NN", 1, 24, 132, 512, false, false, 0, false},
    {"few rows, NT, two blocks", 1, 19, 131, 17, false, true, 0, true},
    {"few rows, a batch, TN", 2, 31, 133, 903, true, false, 1, false},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct net {
    weft_context *context;
    weft_tensor *inputs[CASES][INPUTS], *outputs[CASES]; /* inputs: A, B, bias, beside */
    int count;
    test_case of[CASES];
    const struct kernel *kernel;
} net;

/* An implementation, the rows that it is tried with, and the most splits among these cases, of all and of the tiny ones. */
typedef struct kernel {
    const char *name;
    int64_t fewest, most;
    int splits, tiny_splits;
} kernel;

static size_t count_of(const weft_tensor *tensor) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    return count;
}

/* The input of a matrix of so many rows and columns, and the matrix. */
static weft_tensor *matrix_of(weft_graph *graph, weft_tensor **input, const test_case *c, int64_t rows,
    int64_t columns, bool transposed) {
    const int64_t across = transposed ? rows : columns;
    *input = weft_input_shape(
        graph, "x", WEFT_F32, 3, (const int64_t[]){c->batch, transposed ? columns : rows, across + c->gap});
    weft_tensor *const own = c->gap > 0 ? weft_slice(*input, 2, 0, across) : *input;
    return transposed ? weft_transpose(own) : own;
}

/* relu(A · B + bias) + beside */
static void add_case(net *n, const test_case *of) {
    test_case *const c = &n->of[n->count];
    *c = *of;
    if (test_reduced() && c->k > REDUCED_K) c->k = REDUCED_K;
    weft_graph *const graph = weft_context_graph(n->context);
    weft_tensor **const in = n->inputs[n->count];
    weft_tensor *const a = matrix_of(graph, &in[0], c, c->m, c->k, c->a_transposed);
    weft_tensor *const b = matrix_of(graph, &in[1], c, c->k, c->n, c->b_transposed);
    in[2] = weft_input_shape(graph, "bias", WEFT_F32, 1, &c->n);
    in[3] = weft_input_shape(graph, "beside", WEFT_F32, 3, (const int64_t[]){c->batch, c->m, c->n});
    n->outputs[n->count++] = weft_add(weft_relu(weft_add(weft_matmul(a, b), in[2])), in[3]);
    assert_weft_ok(weft_graph_status(graph));
}

static net make_net(const kernel *of) {
    net n = {
        .context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .work_units = UNITS}),
        .kernel = of};
    for (size_t i = 0; i < CASES; i++) {
        const test_case *const c = &cases[i];
        if ((c->tiny || !test_reduced()) && c->m >= of->fewest && c->m <= of->most) add_case(&n, c);
    }
    return n;
}

static float *numbers_of(const weft_tensor *input, uint64_t seed) {
    const size_t count = count_of(input);
    float *const values = calloc(count, sizeof *values);
    test_random random = test_random_named("gemm split", seed);
    assert_non_null(values);
    assert_in_range(count, 1, MOST);
    for (size_t e = 0; e < count; e++) values[e] = (float)(test_random_below(&random, 17) - 8) / 8.0f;
    return values;
}

static weft_plan *make_plan(const net *n) {
    weft_plan *plan = NULL;
    assert_int_equal(setenv("WEFT_GEMM", n->kernel->name, 1), 0);
    assert_weft_ok(weft_plan_create(&plan, n->outputs, (size_t)n->count, NULL));
    unsetenv("WEFT_GEMM");
    for (int i = 0; i < n->count * INPUTS; i++) {
        weft_tensor *const input = n->inputs[i / INPUTS][i % INPUTS];
        float *const values = numbers_of(input, (uint64_t)i);
        assert_weft_ok(weft_plan_write(plan, input, values, count_of(input) * sizeof *values));
        free(values);
    }
    return plan;
}

/* The splits of a step: work-groups along the third dimension of its tiles, for each product of the batch. */
static int splits_of(const wi_partition *p, const wi_step *step) {
    const wi_selection *const selection = step->selection;
    const wi_kernel_site site = wi_step_site(p, step);
    wi_arena arena;
    wi_kernel_plan launches;
    wi_arena_init(&arena, wi_context_device(test_context())->host.allocator);
    assert_weft_ok(
        wi_implementation_prepare(selection->chosen, selection->variant, &site, &arena, &launches));
    assert_int_equal(launches.count, 2);
    assert_false(launches.launches[0]->has_epilogue);
    assert_string_equal(launches.launches[1]->suffix, "finish");
    const int splits = (int)launches.launches[0]->global[2] / (int)step->gemm.batch;
    wi_arena_clear(&arena);
    return splits;
}

static void assert_splits(const net *n, const weft_plan *plan) {
    int steps = 0, most = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_step *const step = plan->partition.steps[i];
        if (step->kind != WI_STEP_PRODUCT) continue;
        assert_string_equal(step->selection->chosen->name, n->kernel->name);
        const int splits = splits_of(&plan->partition, step);
        print_message("%d%s", splits, ++steps < n->count ? ", " : " splits\n");
        assert_in_range(splits, 2, 32);
        most = splits > most ? splits : most;
    }
    assert_int_equal(steps, n->count);
    assert_int_equal(most, test_reduced() ? n->kernel->tiny_splits : n->kernel->splits);
}

static double element_of(
    const test_case *c, const float *a, const float *b, int64_t batch, int64_t i, int64_t j) {
    const int64_t a_across = (c->a_transposed ? c->m : c->k) + c->gap,
                  b_across = (c->b_transposed ? c->k : c->n) + c->gap;
    a += batch * (c->a_transposed ? c->k : c->m) * a_across;
    b += batch * (c->b_transposed ? c->n : c->k) * b_across;
    double sum = 0.0;
    for (int64_t p = 0; p < c->k; p++)
        sum += (double)a[c->a_transposed ? p * a_across + i : i * a_across + p] *
               (double)b[c->b_transposed ? j * b_across + p : p * b_across + j];
    return sum;
}

static void compare(const net *n, int which, const float *got) {
    const test_case *const c = &n->of[which];
    float *in[INPUTS];
    for (int i = 0; i < INPUTS; i++) in[i] = numbers_of(n->inputs[which][i], (uint64_t)(which * INPUTS + i));
    for (int64_t e = 0; e < c->batch * c->m * c->n; e++) {
        const int64_t column = e % c->n, row = e / c->n % c->m;
        const double sum = element_of(c, in[0], in[1], e / c->n / c->m, row, column);
        const double wanted = fmax(sum + (double)in[2][column], 0.0) + (double)in[3][e];
        if ((double)got[e] != wanted)
            fail_msg("%s: element %d is %g instead of %g", c->what, (int)e, (double)got[e], wanted);
    }
    for (int i = 0; i < INPUTS; i++) free(in[i]);
}

/* The results of a run, new memory for each. */
static void run(const net *n, weft_plan *plan, float **results) {
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < n->count; i++) {
        const size_t bytes = count_of(n->outputs[i]) * sizeof **results;
        assert_non_null(results[i] = malloc(bytes));
        assert_weft_ok(weft_plan_read(plan, n->outputs[i], results[i], bytes));
    }
}

static void add_up_splits(const kernel *of) {
    float *got[CASES], *again[CASES];
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) {
        print_message("skipped: a kernel of class gpu\n");
        skip();
    }
    const net n = make_net(of);
    weft_plan *const plan = make_plan(&n);
    assert_splits(&n, plan);
    run(&n, plan, got);
    run(&n, plan, again);
    for (int i = 0; i < n.count; i++) {
        compare(&n, i, got[i]);
        assert_memory_equal(got[i], again[i], count_of(n.outputs[i]) * sizeof *got[i]);
        free(got[i]);
        free(again[i]);
    }
    weft_plan_release(plan);
    weft_context_release(n.context);
}

static void splits_are_added_up(void **state) {
    (void)state;
    add_up_splits(&(kernel){"gpu_split", 1, INT64_MAX, 32, 2});
}

static void splits_of_few_rows_are_added_up(void **state) {
    (void)state;
    add_up_splits(&(kernel){"gpu_rows_split", 17, 32, 13, 2});
}

/* ---- the choice, on devices of so many units ---- */

static wi_gemm_shape shape_of(int64_t batch, int64_t m, int64_t n, int64_t k) {
    return (wi_gemm_shape){batch, m, n, k, m * k, k, 1, k * n, n, 1, NULL};
}

static wi_device_profile profile_of(int64_t units, unsigned engines) {
    wi_device_profile profile = *wi_device_kind_named("gpu");
    profile.units = units;
    profile.max_group = profile.max_items[0] = profile.max_items[1] = 1024;
    profile.local_bytes = 48 << 10;
    profile.engines = engines;
    return profile;
}

/* The expected time of the cheapest variant of the implementation of this name; its margin makes it longer. */
static double seconds_of(const char *name, const wi_kernel_site *site) {
    double least = INFINITY;
    for (int i = 0; wi_product_family[i]; i++) {
        const wi_implementation *const one = wi_product_family[i];
        const wi_variant *variant;
        if (strcmp(one->name, name) != 0) continue;
        for (int v = 0; (variant = wi_implementation_variant(one, v)) != NULL; v++)
            if (!wi_variant_is_tuned(one, variant) && wi_implementation_accepts(one, variant, site))
                least = fmin(least, wi_implementation_margin(one, variant, site) *
                                        wi_implementation_cost(one, variant, site));
    }
    return least;
}

/* Above 1: the one with splits is chosen. */
static double gain(const wi_device_profile *device, const wi_gemm_shape *shape) {
    const wi_kernel_site site = {.device = device, .product = shape};
    return seconds_of("gpu_tiled", &site) / seconds_of("gpu_split", &site);
}

/* Few tiles and a long k win; where tiles are enough for all units, or k is short, nothing is split. */
static void few_tiles_are_split(void **state) {
    static const int64_t units[] = {48, 108, 132, 512};
    const wi_gemm_shape row = shape_of(1, 1, 1000, 2048), layer = shape_of(1, 64, 512, 4096),
                        wide = shape_of(1, 4096, 4096, 1024), brief = shape_of(1, 64, 1000, 16),
                        batch = shape_of(512, 128, 128, 512);
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const wi_device_profile device = profile_of(units[i], 0);
        print_message("%3d units: 1x1000x2048: %.2f, 64x512x4096: %.2f, 4096x4096x1024: %.2f, 64x1000x16: "
                      "%.2f, 512 of 128x128x512: %.2f times as fast with splits, by the margin\n",
            (int)units[i], gain(&device, &row), gain(&device, &layer), gain(&device, &wide),
            gain(&device, &brief), gain(&device, &batch));
        assert_true(gain(&device, &row) > 1.0);
        assert_true(gain(&device, &layer) > 1.0);
        assert_true(gain(&device, &wide) < 1.0);
        assert_true(gain(&device, &brief) < 1.0);
        assert_true(gain(&device, &batch) < 1.0);
    }
}

/* The same of every matrix engine, in bf16 and from parts of f32 numbers. */
static void engines_split_few_tiles(void **state) {
    static const char *const names[] = {"gpu_mma", "gpu_wmma", "gpu_wmma12", "gpu_mfma", "gpu_xmx8",
        "gpu_xmx16", "gpu_mma_parts", "gpu_wmma_parts", "gpu_wmma12_parts", "gpu_mfma_parts",
        "gpu_xmx8_parts", "gpu_xmx16_parts"};
    const wi_gemm_shape few = shape_of(1, 64, 256, 65536), many = shape_of(1, 8192, 8192, 4096);
    const wi_device_profile device = profile_of(108, ~0u);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bool parts = strstr(names[i], "_parts") != NULL;
        const weft_dtype format = parts ? WEFT_F32 : WEFT_BF16;
        char split[32];
        snprintf(split, sizeof split, "%s_split", names[i]);
        wi_kernel_site site = {.device = &device,
            .product = &few,
            .formats = {format, format},
            .products = WEFT_MATMUL_PRECISION_HIGH};
        assert_true(seconds_of(split, &site) < seconds_of(names[i], &site));
        site.product = &many;
        assert_true(seconds_of(split, &site) > seconds_of(names[i], &site));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(splits_are_added_up),
        cmocka_unit_test(splits_of_few_rows_are_added_up), cmocka_unit_test(few_tiles_are_split),
        cmocka_unit_test(engines_split_few_tiles)};
    return test_finish(cmocka_run_group_tests_name("gemm split", tests, NULL, NULL));
}
