/* Mixed precision: poolings, their gradients and those of gradients with operands and results of 16 bits give what
 * they give in f32 of the rounded input, rounded once, bit for bit. */
/* test slow not_optimised */
#include "plan/compiled_plan.h"
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { RESULTS = 3, MOST = 1 << 15, STORED = 6 };

typedef struct shape {
    const char *name;
    int rank;
    int64_t dims[5];
    weft_pool_options options;
    int64_t sizes[3]; /* of an adaptive one */
} shape;

#define WINDOW(...) .options = {WEFT_POOL_OPTIONS_INIT, __VA_ARGS__}

static const shape shapes[] = {
    {"overlapping, padded", 4, {5, 32, 9, 7}, WINDOW(.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1})},
    {"side by side, few channels", 4, {4, 3, 8, 6}, WINDOW(.window = {2, 2})},
    {"at every place, one channel", 4, {3, 1, 5, 19},
        WINDOW(.window = {3, 3}, .stride = {1, 1}, .padding = {1, 1})},
    {"one image, many channels", 4, {1, 83, 11, 9},
        WINDOW(.window = {3, 2}, .stride = {2, 1}, .ceil_mode = true)},
    {"dilated, steps beyond the window", 4, {2, 17, 13, 12},
        WINDOW(.window = {2, 2}, .stride = {5, 4}, .padding = {1, 0}, .dilation = {3, 1})},
    {"signal", 3, {3, 20, 33}, WINDOW(.window = {4}, .stride = {3}, .padding = {2})},
    {"volume", 5, {2, 18, 4, 5, 3}, WINDOW(.window = {2, 3, 2}, .stride = {2, 1, 1}, .padding = {1, 1, 0})},
    {"adaptive, overlapping", 4, {2, 35, 7, 5}, .sizes = {3, 4}},
};

/* What a plan stores as f32 because it is an output. */
typedef enum output { NOTHING, IMAGE, POOLED, GRADIENT, OUTPUTS } output;

typedef struct network {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *factors, *others, *results[RESULTS + 1];
    int64_t dims[2][5]; /* of x, of what is pooled */
    int count;
} network;

/* ---- numbers ---- */

static float rounded(float number) {
    uint32_t bits;
    if (isnan(number)) return number;
    memcpy(&bits, &number, sizeof bits);
    bits = (bits + 0x7FFFu + (bits >> 16 & 1u)) & 0xFFFF0000u;
    memcpy(&number, &bits, sizeof bits);
    return number;
}

static size_t elements(const shape *s, const int64_t *dims) {
    size_t count = 1;
    for (int i = 0; i < s->rank; i++) count *= (size_t)dims[i];
    assert_true(count <= MOST);
    return count;
}

/* Numbers of which many are equal when they are rounded, and of which few are infinite or NaN. */
static void fill(float *numbers, size_t count, bool special, bool rounds) {
    uint32_t bits = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        bits = bits * 1664525u + 1013904223u;
        numbers[i] = (float)((int)(bits >> 24) - 128) / 96.0f * (1.0f + (float)(bits >> 8 & 3u) * 0x1p-10f);
        if (special && i % 41 == 7) numbers[i] = i % 3 ? -INFINITY : NAN;
        if (rounds) numbers[i] = rounded(numbers[i]);
    }
}

/* ---- networks ---- */

/* A contraction that changes nothing: what comes from it, and goes into it, is stored in 16 bits. */
static weft_tensor *same(const shape *s, weft_tensor *x) {
    static float ones[128];
    const int64_t channels = s->dims[1], dims[] = {channels, 1, 1, 1, 1};
    assert_true(channels <= 128);
    for (int i = 0; i < 128; i++) ones[i] = 1.0f;
    return weft_conv_with(x, weft_array(x->graph, WEFT_F32, ones, s->rank, dims), NULL,
        &(weft_conv_options){WEFT_CONV_OPTIONS_INIT, .groups = channels});
}

static weft_tensor *pool(const shape *s, weft_tensor *x, bool max) {
    if (s->sizes[0]) return max ? weft_adaptive_max_pool(x, s->sizes) : weft_adaptive_avg_pool(x, s->sizes);
    return max ? weft_max_pool(x, &s->options) : weft_avg_pool(x, &s->options);
}

static void add_results(network *n, const shape *s, bool max, output kept) {
    weft_tensor *const image = same(s, n->x), *const y = pool(s, image, max), *gradients[2];
    assert_weft_ok(weft_graph_status(n->graph));
    for (int i = 0; i < s->rank; i++) n->dims[1][i] = weft_tensor_dimension(y, i);
    n->dims[1][0] = s->dims[0];
    int64_t dims[5];
    memcpy(dims, n->dims[1], sizeof dims);
    dims[0] = WEFT_BATCH;
    n->factors = weft_input_shape(n->graph, "factors", WEFT_F32, s->rank, dims);
    n->results[0] = same(s, y);
    weft_tensor *const loss = weft_sum(weft_mul(n->results[0], n->factors));
    assert_weft_ok(weft_gradients(loss, (weft_tensor *[]){n->x, image}, 2, gradients));
    n->results[1] = gradients[0];
    n->results[2] = weft_gradient(weft_sum(weft_mul(gradients[0], n->others)), n->factors);
    n->results[3] = kept == IMAGE ? image : kept == POOLED ? y : gradients[1];
    n->count = kept == NOTHING ? RESULTS : RESULTS + 1;
}

static void build(network *n, const shape *s, bool max, weft_precision precision, output kept) {
    int64_t dims[5];
    memcpy(n->dims[0], s->dims, sizeof s->dims);
    memcpy(dims, s->dims, sizeof dims);
    dims[0] = WEFT_BATCH;
    assert_weft_ok(weft_graph_create(&n->graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(n->graph, precision));
    n->x = weft_input_shape(n->graph, "x", WEFT_F32, s->rank, dims);
    n->others = weft_input_shape(n->graph, "others", WEFT_F32, s->rank, dims);
    add_results(n, s, max, kept);
    assert_weft_ok(weft_graph_status(n->graph));
    assert_weft_ok(weft_plan_create(&n->plan, n->results, (size_t)n->count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = s->dims[0]}));
}

static int narrow_values(const weft_plan *plan) {
    const wi_partition *const p = &plan->partition;
    int count = 0;
    for (size_t i = 0; i < p->value_count; i++)
        count += p->values[i].format == WEFT_BF16 && p->values[i].storage >= 0;
    return count;
}

static void feed(const network *n, weft_tensor *input, size_t count, bool special, bool rounds) {
    static float numbers[MOST];
    fill(numbers, count, special, rounds);
    assert_weft_ok(weft_plan_write(n->plan, input, numbers, count * sizeof *numbers));
}

/* Numbers of all results, one after another, the gradient's gradient last. rounds: x is rounded before. */
static size_t run(
    const shape *s, bool max, weft_precision precision, output kept, bool rounds, float *numbers) {
    network n;
    build(&n, s, max, precision, kept);
    const size_t sizes[] = {elements(s, n.dims[0]), elements(s, n.dims[1])};
    const int wanted = precision == WEFT_PRECISION_F32 ? 0 : STORED - (kept != NOTHING);
    if (narrow_values(n.plan) != wanted)
        fail_msg("%s: %d values of 16 bits, not %d", s->name, narrow_values(n.plan), wanted);
    feed(&n, n.x, sizes[0], true, rounds);
    feed(&n, n.others, sizes[0], false, true);
    feed(&n, n.factors, sizes[1], false, true);
    assert_weft_ok(weft_plan_run(n.plan));
    size_t count = 0;
    for (int i = 0; i < RESULTS; i++) {
        const size_t own = sizes[i != 1];
        assert_weft_ok(weft_plan_read(n.plan, n.results[i], numbers + count, own * sizeof *numbers));
        count += own;
    }
    weft_plan_release(n.plan);
    weft_graph_release(n.graph);
    return count;
}

/* Is number i of all results one that was not rounded? The first and the last result have as many. */
static bool is_wide(const shape *s, output kept, size_t i, size_t all) {
    const size_t pooled = (all - elements(s, s->dims)) / 2;
    if (kept == POOLED) return i < pooled;
    return kept == GRADIENT && i >= pooled && i < all - pooled;
}

/* Of an image that stays f32 the mean is that of f32; its maximum is rounded, and the gradient goes to the first
 * element that is that when it is rounded. The gradient of the gradient looks at what is not rounded. */
static void compare(const shape *s, bool max, output kept) {
    static float numbers[RESULTS * MOST], expected[RESULTS * MOST];
    const bool wide = kept == IMAGE;
    const size_t last = run(s, max, WEFT_PRECISION_BF16, kept, !wide, numbers);
    const size_t all = run(s, max, WEFT_PRECISION_F32, NOTHING, !wide || max, expected);
    assert_int_equal(all, last);
    /* x and its gradient have as many elements, the pooled and the last result too */
    const size_t count = wide && max ? (all + elements(s, s->dims)) / 2 : all;
    for (size_t i = 0; i < count; i++) {
        const float e = is_wide(s, kept, i, all) ? expected[i] : rounded(expected[i]);
        if (numbers[i] != e && !(isnan(numbers[i]) && isnan(e)))
            fail_msg("%s of %s, kept %d: number %zu is %.9g, not %.9g", max ? "max" : "mean", s->name,
                (int)kept, i, (double)numbers[i], (double)e);
    }
}

static void pooling_takes_16_bits(void **state) {
    (void)state;
    assert_int_equal(setenv("WEFT_CONV", "conv_naive", 1), 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int k = NOTHING; k < OUTPUTS; k++) {
            if (k != NOTHING && i % 3 != 0) continue;
            compare(&shapes[i], true, (output)k);
            compare(&shapes[i], false, (output)k);
        }
    }
    unsetenv("WEFT_CONV");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pooling_takes_16_bits)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
