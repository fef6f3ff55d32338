/* Random numbers: Philox4x32-10 against its published vectors, and the device's numbers against the host's,
 * element by element; so both kernel classes and all devices agree, as each agrees with the host. */
#include "support/fixture.h"

#include "base/philox.h"
#include "ops/covered_ops.h"
#include "ops/op_table.h"
#include "oracle/reference_random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/images.h>

/* ---- the generator ---- */

/* The known answers that its authors publish with Random123 (kat_vectors, philox4x32 10). */
static const struct {
    uint32_t counter[4], key[2], answer[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff},
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static void test_known_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t mine[4], theirs[4];
        memcpy(mine, known[i].counter, sizeof mine);
        memcpy(theirs, known[i].counter, sizeof theirs);
        f64_philox(mine, known[i].key[0], known[i].key[1]);
        wi_philox(theirs, known[i].key[0] | (uint64_t)known[i].key[1] << 32);
        assert_memory_equal(mine, known[i].answer, sizeof mine);
        assert_memory_equal(theirs, known[i].answer, sizeof theirs);
    }
}

/* ---- drawing numbers ---- */

enum { SEED = 123456789, MOST = 100000 };

static size_t draw_count(void) {
    return test_reduced() ? 70 : MOST;
}

/* A graph in a context of its own: its first random node has stream 0, its first run is run 1. */
typedef struct draw {
    weft_context *context;
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *outputs[4];
} draw;

static draw draw_begin(uint64_t seed) {
    draw d = {.context = test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = seed})};
    assert_weft_ok(weft_graph_create(&d.graph, d.context));
    return d;
}

static void draw_plan(draw *d, size_t count, bool inference) {
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .inference = inference};
    assert_weft_ok(weft_plan_create(&d->plan, d->outputs, count, &options));
}

static void draw_end(draw *d) {
    weft_plan_release(d->plan);
    weft_graph_release(d->graph);
    weft_context_release(d->context);
}

static float *take_floats(size_t count) {
    float *const values = calloc(count, sizeof *values);
    assert_non_null(values);
    return values;
}

static float *run_and_read(const draw *d, weft_tensor *output) {
    float *const values = take_floats(draw_count());
    assert_weft_ok(weft_plan_run(d->plan));
    assert_weft_ok(weft_plan_read(d->plan, output, values, draw_count() * sizeof *values));
    return values;
}

static void host_words(uint64_t index, uint32_t stream, uint32_t run, uint32_t words[4]) {
    f64_random_words(SEED, index, stream, run, words);
}

/* Sample moments of standard numbers must lie within five standard errors of the distribution's. */
static void check_moments(
    const float *values, double mean, double deviation, const double *expected, const double *spread) {
    const double n = (double)draw_count();
    for (int power = 1; power <= 4; power++) {
        double sum = 0;
        for (size_t i = 0; i < draw_count(); i++) sum += pow(((double)values[i] - mean) / deviation, power);
        if (fabs(sum / n - expected[power - 1]) > 5 * spread[power - 1] / sqrt(n))
            fail_msg("moment %d is %g, not %g", power, sum / n, expected[power - 1]);
    }
}

static void test_uniform(void **state) {
    (void)state;
    const int64_t dims[] = {(int64_t)draw_count()};
    draw d = draw_begin(SEED);
    d.outputs[0] = weft_uniform(d.graph, -1.5f, 2.5f, 1, dims);
    d.outputs[1] = weft_uniform(d.graph, -1.5f, 2.5f, 1, dims);
    draw_plan(&d, 2, false);
    float *const first = run_and_read(&d, d.outputs[0]), *const other = take_floats(draw_count());
    assert_weft_ok(weft_plan_read(d.plan, d.outputs[1], other, draw_count() * sizeof *other));
    uint32_t words[4];
    size_t same = 0;
    for (size_t i = 0; i < draw_count(); i++) {
        host_words(i, 0, 1, words);
        assert_true(first[i] == wi_fmaf((float)(words[0] >> 8) * 0x1p-24f, 4.0f, -1.5f));
        assert_true(first[i] >= -1.5f && first[i] < 2.5f);
        same += first[i] == other[i];
    }
    assert_true(same <= 5); /* two nodes are two streams */
    /* (u - 1/2) · sqrt(12) has moments 0, 1, 0, 9/5; the spread of power p is sqrt(E x^2p - (E x^p)^2) */
    const double moments[] = {0, 1, 0, 1.8}, spread[] = {1, 0.895, 1.965, 2.4};
    check_moments(first, 0.5, 4 / sqrt(12), moments, spread);
    free(first);
    free(other);
    draw_end(&d);
}

static void test_normal(void **state) {
    (void)state;
    const int64_t dims[] = {(int64_t)draw_count()};
    draw d = draw_begin(SEED);
    d.outputs[0] = weft_normal(d.graph, 0.5f, 2.0f, 1, dims);
    draw_plan(&d, 1, false);
    float *const got = run_and_read(&d, d.outputs[0]);
    for (size_t i = 0; i < draw_count(); i++) {
        uint32_t words[4];
        host_words(i, 0, 1, words);
        double radius;
        const double exact = 0.5 + 2 * f64_normal_of(words, &radius);
        assert_true(fabs((double)got[i] - exact) <= 4e-6 * (0.5 + 2 * radius));
        assert_true(got[i] == wi_fmaf(wi_normal_of(words[0], words[1]), 2.0f, 0.5f));
    }
    const double moments[] = {0, 1, 0, 3}, spread[] = {1, 1.415, 3.873, 9.8};
    check_moments(got, 0.5, 2, moments, spread);
    free(got);
    draw_end(&d);
}

/* ---- dropout ---- */

static void check_dropped(const float *got, const float *x, float p, uint32_t run) {
    for (size_t i = 0; i < draw_count(); i++) {
        uint32_t words[4];
        host_words(i, 0, run, words);
        const bool dropped = (float)(words[0] >> 8) * 0x1p-24f < p;
        const float kept = x[i] / (1 - p);
        assert_true(dropped ? got[i] == 0 : fabsf(got[i] - kept) <= 2.5e-7f * fabsf(kept));
    }
}

static void test_dropout(void **state) {
    (void)state;
    const int64_t dims[] = {(int64_t)draw_count()};
    const size_t bytes = draw_count() * sizeof(float);
    const float p = 0.3f;
    draw d = draw_begin(SEED);
    weft_tensor *const x = weft_input_shape(d.graph, "x", WEFT_F32, 1, dims);
    weft_tensor *const g = weft_input_shape(d.graph, "g", WEFT_F32, 1, dims);
    weft_tensor *const y = weft_dropout(x, p);
    d.outputs[0] = y;
    d.outputs[1] = weft_gradient(weft_sum(weft_mul(y, g)), x);
    d.outputs[2] = weft_dropout(x, 0);
    draw_plan(&d, 3, false);
    float *const values = take_floats(draw_count()), *const slopes = take_floats(draw_count());
    float *const back = take_floats(draw_count());
    test_random random = test_random_named("dropout", 0);
    for (size_t i = 0; i < draw_count(); i++) {
        values[i] = (float)test_random_between(&random, 1, 2);
        slopes[i] = (float)test_random_between(&random, 1, 2);
    }
    assert_weft_ok(weft_plan_write(d.plan, x, values, bytes));
    assert_weft_ok(weft_plan_write(d.plan, g, slopes, bytes));
    for (uint32_t run = 1; run <= 2; run++) {
        float *const got = run_and_read(&d, y);
        check_dropped(got, values, p, run);
        assert_weft_ok(weft_plan_read(d.plan, d.outputs[1], back, bytes));
        check_dropped(back, slopes, p, run); /* the same elements */
        assert_weft_ok(weft_plan_read(d.plan, d.outputs[2], back, bytes));
        assert_memory_equal(back, values, bytes);
        free(got);
    }
    weft_plan_release(d.plan);
    draw_plan(&d, 2, true);
    assert_weft_ok(weft_plan_write(d.plan, x, values, bytes));
    assert_weft_ok(weft_plan_write(d.plan, g, slopes, bytes));
    float *const got = run_and_read(&d, y);
    assert_memory_equal(got, values, bytes);
    assert_weft_ok(weft_plan_read(d.plan, d.outputs[1], back, bytes));
    assert_memory_equal(back, slopes, bytes);
    free(got);
    free(values);
    free(slopes);
    free(back);
    draw_end(&d);
}

/* One number for each (n, c), or for each n, in the order of these. */
static void check_dropout_parts(bool examples) {
    enum { IMAGES = 5, CHANNELS = 7, PIXELS = 6, COUNT = IMAGES * CHANNELS * PIXELS };
    const float p = 0.4f;
    draw d = draw_begin(SEED);
    weft_tensor *const x =
        weft_input_shape(d.graph, "x", WEFT_F32, 4, (const int64_t[]){IMAGES, CHANNELS, 2, 3});
    weft_tensor *const g =
        weft_input_shape(d.graph, "g", WEFT_F32, 4, (const int64_t[]){IMAGES, CHANNELS, 2, 3});
    d.outputs[0] = examples ? wi_dropout_examples(x, p) : weft_dropout_channels(x, p);
    d.outputs[1] = weft_gradient(weft_sum(weft_mul(d.outputs[0], g)), x);
    float values[COUNT], slopes[COUNT], got[COUNT], back[COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = (float)(i + 1);
        slopes[i] = (float)(2 * i + 1);
    }
    for (int inference = 0; inference < 2; inference++) {
        draw_plan(&d, 2, inference);
        assert_weft_ok(weft_plan_write(d.plan, x, values, sizeof values));
        assert_weft_ok(weft_plan_write(d.plan, g, slopes, sizeof slopes));
        assert_weft_ok(weft_plan_run(d.plan));
        assert_weft_ok(weft_plan_read(d.plan, d.outputs[0], got, sizeof got));
        assert_weft_ok(weft_plan_read(d.plan, d.outputs[1], back, sizeof back));
        for (int i = 0; i < COUNT; i++) {
            uint32_t words[4];
            host_words((uint64_t)(i / (examples ? CHANNELS * PIXELS : PIXELS)), 0, 1, words);
            const bool dropped = !inference && (float)(words[0] >> 8) * 0x1p-24f < p;
            const float scale = dropped ? 0 : inference ? 1 : 1 / (1 - p);
            assert_true(fabsf(got[i] - values[i] * scale) <= 2.5e-7f * values[i] * scale);
            assert_true(fabsf(back[i] - slopes[i] * scale) <= 2.5e-7f * slopes[i] * scale);
        }
        if (!inference) weft_plan_release(d.plan);
    }
    draw_end(&d);
}

static void test_dropout_channels(void **state) {
    (void)state;
    check_dropout_parts(false);
}

static void test_dropout_examples(void **state) {
    (void)state;
    check_dropout_parts(true);
}

/* The gradient of sum(d sum(y³) / dx) = sum(3y²m) is 6ym², where m = y / x says what is dropped, in the same run. */
static void check_dropout_seconds(weft_tensor *x, weft_tensor *y) {
    enum { COUNT = 2 * 3 * 4 };
    weft_tensor *const first = weft_gradient(weft_sum(weft_mul(weft_square(y), y)), x);
    weft_tensor *const second = weft_gradient(weft_sum(first), x);
    float values[COUNT], dropped[COUNT], got[COUNT];
    int kept = 0;
    for (int i = 0; i < COUNT; i++) values[i] = (float)(i + 1) / 8;
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){y, second}, 2, NULL));
    assert_weft_ok(weft_plan_step(plan,
        (weft_value[]){{x, values, sizeof values}, {y, dropped, sizeof dropped}, {second, got, sizeof got}},
        3));
    for (int i = 0; i < COUNT; i++) {
        const float m = dropped[i] / values[i], wanted = 6 * dropped[i] * m * m;
        assert_true(fabsf(got[i] - wanted) <= 1e-5f * wanted);
        kept += dropped[i] > 0;
    }
    assert_in_range(kept, 1, COUNT - 1);
    weft_plan_release(plan);
}

static void test_second_gradients(void **state) {
    (void)state;
    draw d = draw_begin(SEED);
    weft_tensor *const x = weft_input_shape(d.graph, "x", WEFT_F32, 3, (const int64_t[]){2, 3, 4});
    check_dropout_seconds(x, weft_dropout(x, 0.5f));
    check_dropout_seconds(x, weft_dropout_channels(x, 0.5f));
    draw_end(&d);
}

static void test_bad_channels(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *flat = weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){5});
    assert_null(weft_dropout_channels(flat, 0.5f));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), "dropout_channels: (5) is not (N, C, ...)");
    weft_graph_release(graph);
    graph = test_graph();
    weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){5, 2});
    assert_null(weft_dropout_channels(x, 1));
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_graph_status(graph), "dropout_channels: p = 1 is not in [0, 1)");
    weft_graph_release(graph);
}

/* ---- runs and seeds ---- */

static void test_runs_and_seeds(void **state) {
    (void)state;
    const int64_t dims[] = {(int64_t)draw_count()};
    const size_t bytes = draw_count() * sizeof(float);
    const uint64_t seeds[] = {SEED, SEED, SEED + 1, SEED | (uint64_t)1 << 32};
    float *numbers[4][2];
    for (int i = 0; i < 4; i++) {
        draw d = draw_begin(seeds[i]);
        d.outputs[0] = weft_normal(d.graph, 0, 1, 1, dims);
        draw_plan(&d, 1, false);
        for (int run = 0; run < 2; run++) numbers[i][run] = run_and_read(&d, d.outputs[0]);
        draw_end(&d);
    }
    for (int run = 0; run < 2; run++) assert_memory_equal(numbers[0][run], numbers[1][run], bytes);
    assert_memory_not_equal(numbers[0][0], numbers[0][1], bytes);
    assert_memory_not_equal(numbers[0][0], numbers[2][0], bytes);
    assert_memory_not_equal(numbers[0][0], numbers[3][0], bytes);
    for (int i = 0; i < 8; i++) free(numbers[i / 2][i % 2]);
}

/* The first rows of a batch of 17 are a batch of 3: numbers depend on the element's place alone. */
static void test_batch_split(void **state) {
    (void)state;
    float numbers[2][17 * 5];
    const int64_t batches[] = {3, 17}, dims[] = {WEFT_BATCH, 5};
    for (int i = 0; i < 2; i++) {
        draw d = draw_begin(SEED);
        d.outputs[0] = weft_uniform(d.graph, 0, 1, 2, dims);
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batches[i]};
        assert_weft_ok(weft_plan_create(&d.plan, d.outputs, 1, &options));
        assert_weft_ok(weft_plan_run(d.plan));
        assert_weft_ok(
            weft_plan_read(d.plan, d.outputs[0], numbers[i], (size_t)batches[i] * 5 * sizeof(float)));
        draw_end(&d);
    }
    assert_memory_equal(numbers[0], numbers[1], 3 * 5 * sizeof(float));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        RANDOM_OPS(COVERED_TEST) cmocka_unit_test(test_second_gradients),
        cmocka_unit_test(test_dropout_examples),
        cmocka_unit_test(test_bad_channels),
        cmocka_unit_test(test_runs_and_seeds),
        cmocka_unit_test(test_batch_split),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
