/* CTC: against the sum over every path, and against the recursion in float64; corners, faults, long inputs.
 */
/* test.model-8.gpu WEFT_SUB_GROUPS=model-8 reduced */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
/* test.least device=least reduced short_launches */
#include "ops/loss/loss_reference.h"

#include "ops/covered_ops.h"
#include "oracle/reference_ctc.h"
#include <math.h>
#include <string.h>

/* ---- cases ---- */

typedef struct ctc_setup {
    weft_loss_reduction reduction;
    int blank;
    bool as_given;    /* log_probs are the input, else its log_softmax */
    bool batch_first; /* the input is (N, T, C) */
    bool every_path;
} ctc_setup;

static weft_tensor *build_ctc(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const ctc_setup *const setup = c->row;
    weft_tensor *x = setup->batch_first ? weft_permute(inputs[0], 1, 0, 2) : inputs[0];
    if (!setup->as_given) x = weft_log_softmax(x, 2);
    if (c->keep) return weft_ctc(x, inputs[1], inputs[2], inputs[3]);
    return weft_ctc_loss(x, inputs[1], inputs[2], inputs[3],
        &(const weft_ctc_loss_options){
            WEFT_CTC_LOSS_OPTIONS_INIT, .reduction = setup->reduction, .blank = setup->blank});
}

static f64_array *reference_ctc(const op_case *c, const f64_array *const *inputs) {
    const ctc_setup *const setup = c->row;
    const f64_array *x = setup->batch_first ? f64_permute(inputs[0], (const int[]){1, 0, 2}) : inputs[0];
    if (!setup->as_given) x = f64_log_softmax(x, 2);
    const f64_array *const all[] = {x, inputs[1], inputs[2], inputs[3]};
    return f64_ctc(
        all, &(const f64_ctc_options){
                 .reduction = setup->reduction, .blank = setup->blank, .every_path = setup->every_path});
}

#define LENGTHS(low, high) I32(low, high, WEFT_BATCH)
static const ctc_setup paths = {.every_path = true},
                       paths_given = {.reduction = WEFT_LOSS_NONE, .every_path = true, .as_given = true},
                       blank_2 = {.reduction = WEFT_LOSS_NONE, .blank = 2},
                       blank_3 = {.reduction = WEFT_LOSS_SUM, .blank = 3},
                       given = {.reduction = WEFT_LOSS_BATCH_MEAN, .as_given = true}, plain,
                       none = {.reduction = WEFT_LOSS_NONE},
                       batch_first = {.reduction = WEFT_LOSS_NONE, .as_given = true, .batch_first = true};

static const op_case ctc_cases[] = {
    CASE("every path", ctc,
        INPUTS(F32(-2, 2, 5, WEFT_BATCH, 3), I32(1, 2, WEFT_BATCH, 2), LENGTHS(3, 5), LENGTHS(0, 2)),
        .row = &paths, SIMPLE),
    CASE("every path, repeated labels", ctc,
        INPUTS(F32(-2, 0, 6, WEFT_BATCH, 3), I32(1, 1, WEFT_BATCH, 3), LENGTHS(5, 6), LENGTHS(1, 3)),
        .row = &paths_given),
    CASE("a blank between the classes", ctc,
        INPUTS(F32(-2, 2, 9, WEFT_BATCH, 5), I32(0, 1, WEFT_BATCH, 4), LENGTHS(8, 9), LENGTHS(0, 4)),
        .row = &blank_2),
    CASE("the last class blank", ctc,
        INPUTS(F32(-2, 2, 12, WEFT_BATCH, 4), I32(0, 2, WEFT_BATCH, 5), LENGTHS(9, 12), LENGTHS(0, 5)),
        .row = &blank_3),
    CASE("one step, one label", ctc,
        INPUTS(F32(-2, 2, 1, WEFT_BATCH, 2), I32(1, 1, WEFT_BATCH, 1), LENGTHS(1, 1), LENGTHS(0, 1)),
        .row = &plain),
    CASE("one class", ctc,
        INPUTS(F32(-2, 2, 3, WEFT_BATCH, 1), I32(0, 0, WEFT_BATCH, 1), LENGTHS(0, 3), LENGTHS(0, 0)),
        .row = &given),
    CASE("40 labels", ctc, INPUTS(F32(-2, 2, 90, 2, 7), I32(1, 6, 2, 40), I32(85, 90, 2), I32(33, 40, 2)),
        .row = &none),
    CASE("batch first, room for 520 labels", ctc,
        INPUTS(F32(-3, 0, WEFT_BATCH, 30, 70), I32(1, 69, WEFT_BATCH, 520), LENGTHS(20, 30), LENGTHS(3, 9)),
        .row = &batch_first),
    CASE("reversed axes", ctc,
        INPUTS(F32_VIEW(OP_REVERSED, -2, 0, 7, 3, 5), I32(1, 4, 3, 3), I32(6, 7, 3), I32(1, 3, 3)),
        .row = &given),
};

/* ---- plans by hand: losses of every reading, gradient of their sum ---- */

enum { STEPS = 5, CLASSES = 3, LABELS = 4, MOST = 8, LONG = 1500, LONG_CLASSES = 50, FEW_CLASSES = 9 };

typedef struct bench {
    weft_graph *graph;
    weft_tensor *x, *targets, *input_lengths, *target_lengths;
    weft_tensor *losses, *settled, *gradient, *settled_gradient; /* settled: zero_infinity */
    weft_plan *plan, *inference;
    int64_t steps, batch, classes;
    float loss[MOST], zeroed[MOST], slopes[STEPS * MOST * CLASSES], zeroed_slopes[STEPS * MOST * CLASSES];
} bench;

/* All have the same kernels, so that they are compiled once. */
static bench bench_of(int64_t steps, int64_t batch, int64_t classes) {
    bench b = {.graph = test_graph(), .steps = steps, .batch = batch, .classes = classes};
    b.x = weft_input_shape(b.graph, "x", WEFT_F32, 3, (const int64_t[]){steps, WEFT_BATCH, classes});
    b.targets = weft_input_shape(b.graph, "targets", WEFT_I32, 2, (const int64_t[]){WEFT_BATCH, LABELS});
    b.input_lengths = weft_input_shape(b.graph, "steps", WEFT_I32, 1, (const int64_t[]){WEFT_BATCH});
    b.target_lengths = weft_input_shape(b.graph, "labels", WEFT_I32, 1, (const int64_t[]){WEFT_BATCH});
    weft_ctc_loss_options options = {WEFT_CTC_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE};
    b.losses = weft_ctc_loss(b.x, b.targets, b.input_lengths, b.target_lengths, &options);
    b.gradient = weft_gradient(weft_sum(b.losses), b.x);
    options.zero_infinity = true;
    b.settled = weft_ctc_loss(b.x, b.targets, b.input_lengths, b.target_lengths, &options);
    b.settled_gradient = weft_gradient(weft_sum(b.settled), b.x);
    weft_plan_options plan_options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_weft_ok(weft_plan_create(
        &b.plan, (weft_tensor *[]){b.losses, b.settled, b.gradient, b.settled_gradient}, 4, &plan_options));
    plan_options.inference = true;
    assert_weft_ok(weft_plan_create(&b.inference, (weft_tensor *[]){b.losses, b.settled}, 2, &plan_options));
    return b;
}

static bench bench_begin(int64_t batch) {
    return bench_of(STEPS, batch, CLASSES);
}

static void bench_end(bench *b) {
    weft_plan_release(b->plan);
    weft_plan_release(b->inference);
    weft_graph_release(b->graph);
}

static void bench_start(bench *b, weft_plan *plan, const float *x, const int32_t (*targets)[LABELS],
    const int32_t *input_lengths, const int32_t *target_lengths) {
    const size_t n = (size_t)b->batch;
    assert_weft_ok(weft_plan_write(plan, b->x, x, (size_t)(b->steps * b->classes) * n * sizeof *x));
    assert_weft_ok(weft_plan_write(plan, b->targets, targets, n * sizeof *targets));
    assert_weft_ok(weft_plan_write(plan, b->input_lengths, input_lengths, n * sizeof *input_lengths));
    assert_weft_ok(weft_plan_write(plan, b->target_lengths, target_lengths, n * sizeof *target_lengths));
    assert_weft_ok(weft_plan_run(plan));
}

static void bench_read(bench *b) {
    const size_t n = (size_t)b->batch, rows = STEPS * n * CLASSES * sizeof(float);
    assert_weft_ok(weft_plan_read(b->plan, b->losses, b->loss, n * sizeof(float)));
    assert_weft_ok(weft_plan_read(b->plan, b->settled, b->zeroed, n * sizeof(float)));
    assert_weft_ok(weft_plan_read(b->plan, b->gradient, b->slopes, rows));
    assert_weft_ok(weft_plan_read(b->plan, b->settled_gradient, b->zeroed_slopes, rows));
}

/* Losses in a plan for inference are those of the table, to the bit. */
static void check_inference(bench *b) {
    float loss[MOST], zeroed[MOST];
    const size_t n = (size_t)b->batch;
    assert_weft_ok(weft_plan_read(b->inference, b->losses, loss, n * sizeof(float)));
    assert_weft_ok(weft_plan_read(b->inference, b->settled, zeroed, n * sizeof(float)));
    assert_memory_equal(loss, b->loss, n * sizeof(float));
    assert_memory_equal(zeroed, b->zeroed, n * sizeof(float));
}

static void bench_run(bench *b, const float *x, const int32_t (*targets)[LABELS],
    const int32_t *input_lengths, const int32_t *target_lengths) {
    bench_start(b, b->plan, x, targets, input_lengths, target_lengths);
    bench_read(b);
    bench_start(b, b->inference, x, targets, input_lengths, target_lengths);
    check_inference(b);
}

/* Element (t, n, c). */
static float slope_at(const bench *b, const float *slopes, int t, int n, int c) {
    return slopes[((size_t)t * (size_t)b->batch + (size_t)n) * CLASSES + (size_t)c];
}

static void fill(const bench *b, float *x) {
    test_random random = test_random_named("ctc", 1);
    for (int i = 0; i < STEPS * (int)b->batch * CLASSES; i++)
        x[i] = (float)test_random_between(&random, -3, -0.5);
}

/* ---- corners ---- */

static void test_corners(void **state) {
    (void)state;
    bench b = bench_begin(7);
    float x[STEPS * MOST * CLASSES];
    fill(&b, x);
    /* nothing of nothing; something of nothing; nothing of something; too long; too long once repetitions are
     * kept apart; just long enough; padding that would be out of range */
    static const int32_t targets[][LABELS] = {{1, 1, 1, 1}, {1, 2, 1, 2}, {1, 1, 1, 1}, {1, 2, 1, 2},
        {1, 1, 2, 2}, {1, 1, 2, 2}, {2, INT32_MIN, 0, INT32_MAX}};
    static const int32_t input_lengths[] = {0, 0, 3, 3, 3, 3, 5}, target_lengths[] = {0, 2, 0, 4, 3, 2, 1};
    bench_run(&b, x, targets, input_lengths, target_lengths);
    static const bool infinite[] = {false, true, false, true, true, false, false};
    for (int n = 0; n < 7; n++) {
        assert_int_equal(isinf(b.loss[n]) && b.loss[n] > 0, infinite[n]);
        assert_true(b.zeroed[n] == (infinite[n] ? 0 : b.loss[n]));
        for (int i = 0; i < STEPS * CLASSES; i++) {
            const int t = i / CLASSES, c = i % CLASSES;
            const float slope = slope_at(&b, b.slopes, t, n, c);
            const float zeroed = slope_at(&b, b.zeroed_slopes, t, n, c);
            assert_int_equal(isnan(slope) != 0, infinite[n] && t < input_lengths[n]);
            assert_true(zeroed == (infinite[n] ? 0 : slope));
            if (t >= input_lengths[n]) assert_true(slope == 0);
        }
    }
    assert_true(b.loss[0] == 0);
    double blanks = 0, path = 0;
    for (int t = 0; t < 3; t++) {
        blanks -= (double)x[(t * 7 + 2) * CLASSES];
        path -= (double)x[(t * 7 + 5) * CLASSES + (t == 1 ? 0 : 1)];
        assert_true(slope_at(&b, b.slopes, t, 2, 0) == -1 && slope_at(&b, b.slopes, t, 2, 1) == 0);
        assert_true(slope_at(&b, b.slopes, t, 5, t == 1 ? 0 : 1) == -1);
    }
    assert_true(fabs((double)b.loss[2] - blanks) < 1e-5 && fabs((double)b.loss[5] - path) < 1e-5);
    bench_end(&b);
}

/* A class that is impossible at a step only loses its paths; NaN reaches the loss of its example alone. */
static void test_infinite_and_nan(void **state) {
    (void)state;
    bench b = bench_begin(3);
    float x[STEPS * MOST * CLASSES];
    fill(&b, x);
    static const int32_t targets[][LABELS] = {{1}, {1}, {1}}, input_lengths[] = {3, 3, 3},
                         target_lengths[] = {1, 1, 1};
    x[(1 * 3 + 0) * CLASSES] = -INFINITY; /* no blank at step 1 of example 0: aa*, -a*, *aa, *a- */
    x[(2 * 3 + 1) * CLASSES] = NAN;
    for (int t = 0; t < 3; t++) x[(t * 3 + 2) * CLASSES] = x[(t * 3 + 2) * CLASSES + 1] = -INFINITY;
    bench_run(&b, x, targets, input_lengths, target_lengths);
    double ends[3] = {0}; /* of example 0: its label at step 1, blank or label at the two others */
    for (int t = 0; t < 3; t += 2)
        ends[t] = ctc_log_sum((double)x[t * 3 * CLASSES], (double)x[t * 3 * CLASSES + 1]);
    assert_true(fabs((double)b.loss[0] + ends[0] + (double)x[3 * CLASSES + 1] + ends[2]) < 1e-5);
    for (int t = 0; t < 3; t++) {
        const double share = t == 1 ? 0 : exp((double)x[t * 3 * CLASSES] - ends[t]);
        assert_true(fabs((double)slope_at(&b, b.slopes, t, 0, 0) + share) < 1e-6);
        assert_true(fabs((double)slope_at(&b, b.slopes, t, 0, 1) + 1 - share) < 1e-6);
        assert_true(slope_at(&b, b.slopes, t, 0, 2) == 0);
    }
    assert_true(isnan(b.loss[1]) && isnan(b.zeroed[1]) && isnan(slope_at(&b, b.slopes, 2, 1, 1)));
    assert_true(isinf(b.loss[2]) && b.zeroed[2] == 0 && isnan(slope_at(&b, b.slopes, 0, 2, 2)));
    bench_end(&b);
}

/* ---- what only the device finds ---- */

typedef struct wrong {
    int32_t label, input_length, target_length; /* of example 1 */
} wrong;

static void check_wrong(bench *b, const float *x, const wrong *w, const float *good) {
    const int32_t targets[][LABELS] = {{1, 2}, {2, w->label}, {2, 2}};
    const int32_t input_lengths[] = {5, w->input_length, 5}, target_lengths[] = {2, w->target_length, 2};
    static const char line[] = "ctc: a length or a label is out of range, first at position 1 of the batch";
    bench_start(b, b->plan, x, targets, input_lengths, target_lengths);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(b->plan), line);
    bench_read(b);
    bench_start(b, b->inference, x, targets, input_lengths, target_lengths);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(b->inference), line);
    assert_true(isnan(b->loss[1]) && isnan(b->zeroed[1]));
    assert_true(b->loss[0] == good[0] && b->loss[2] == good[2]);
    for (int i = 0; i < STEPS * CLASSES; i++)
        assert_true(slope_at(b, b->slopes, i / CLASSES, 1, i % CLASSES) == 0);
}

static void test_out_of_range(void **state) {
    (void)state;
    bench b = bench_begin(3);
    float x[STEPS * MOST * CLASSES], good[MOST];
    fill(&b, x);
    static const int32_t targets[][LABELS] = {{1, 2}, {2, 1}, {2, 2}}, input_lengths[] = {5, 5, 5},
                         target_lengths[] = {2, 2, 2};
    bench_run(&b, x, targets, input_lengths, target_lengths);
    memcpy(good, b.loss, sizeof good);
    static const wrong list[] = {{1, -1, 2}, {1, STEPS + 1, 2}, {1, INT32_MAX, 2}, {1, INT32_MIN, 2},
        {1, 5, -1}, {1, 5, LABELS + 1}, {1, 5, INT32_MAX}, {1, 5, INT32_MIN}, {-1, 5, 2}, {CLASSES, 5, 2},
        {INT32_MIN, 5, 2}, {INT32_MAX, 5, 2}, {0, 5, 2}};
    const size_t each = test_reduced() ? 3 : 1; /* lengths and labels, below and above */
    for (size_t i = 0; i < sizeof list / sizeof *list; i += each) check_wrong(&b, x, &list[i], good);
    bench_run(&b, x, targets, input_lengths, target_lengths); /* told once */
    assert_memory_equal(good, b.loss, 3 * sizeof *good);
    bench_end(&b);
}

/* ---- long inputs: rounding must not grow with them ---- */

/* One label in uniform noise: its T (T + 1) / 2 paths are equally likely, and (t + 1) (T - t) of them have it
 * at step t. PyTorch in float32 is 140, 300 and 1500 times these tolerances away. */
static void test_long_input(void **state) {
    (void)state;
    const int steps = test_reduced() ? 40 : LONG, classes = test_reduced() ? FEW_CLASSES : LONG_CLASSES;
    bench b = bench_of(steps, 1, classes);
    static float data[LONG * LONG_CLASSES], slopes[LONG * LONG_CLASSES], again[LONG * LONG_CLASSES];
    const float each = -(float)log(classes);
    const size_t bytes = (size_t)(steps * classes) * sizeof(float);
    for (int i = 0; i < steps * classes; i++) data[i] = each;
    float got;
    const int32_t length = steps;
    bench_start(&b, b.plan, data, (const int32_t[][LABELS]){{7}}, &length, (const int32_t[]){1});
    assert_weft_ok(weft_plan_read(b.plan, b.losses, &got, sizeof got));
    assert_weft_ok(weft_plan_read(b.plan, b.gradient, slopes, bytes));
    const double all = steps * (steps + 1.0) / 2, wanted = -steps * (double)each - log(all);
    if (!(fabs((double)got - wanted) <= 1e-7 * wanted)) fail_msg("loss %.9g, not %.9g", (double)got, wanted);
    for (int t = 0; t < steps; t++) {
        const double share = (t + 1.0) * (steps - t) / all;
        const double label = (double)slopes[t * classes + 7], blank = (double)slopes[t * classes];
        if (!(fabs(label + share) <= 2e-4 * share && fabs(blank + 1 - share) <= 2e-5))
            fail_msg("step %d: gradient %.9g and %.9g, not %.9g", t, label, blank, -share);
        assert_true(slopes[t * classes + 8] == 0);
    }
    assert_weft_ok(weft_plan_run(b.plan)); /* to the bit */
    assert_weft_ok(weft_plan_read(b.plan, b.gradient, again, bytes));
    assert_memory_equal(slopes, again, bytes);
    bench_end(&b);
}

/* ---- bad input ---- */

typedef struct things {
    weft_graph *graph;
    weft_tensor *x, *targets, *lengths; /* (5, batch, 3), (batch, 4), (batch) */
    weft_tensor *flat, *whole, *reals,
        *batches;             /* (5, 3), i32 (5, batch, 3), f32 (batch), (batch, batch, 3) */
    weft_tensor *four, *wide; /* i32 (4), (2, 4) */
} things;

static weft_tensor *input(weft_graph *graph, weft_dtype dtype, int rank, int64_t a, int64_t b, int64_t c) {
    return weft_input_shape(graph, "input", dtype, rank, (const int64_t[]){a, b, c});
}

#define OPTIONS(...)                                                                                         \
    &(const weft_ctc_loss_options) {                                                                         \
        WEFT_CTC_LOSS_OPTIONS_INIT, __VA_ARGS__                                                              \
    }
#define LOSS_OF(...) weft_ctc_loss(t.x, t.targets, t.lengths, t.lengths, __VA_ARGS__)
#define BAD(ROW)                                                                                             \
    ROW(weft_ctc(t.flat, t.targets, t.lengths, t.lengths), SHAPE, "ctc: log_probs (5, 3)", "(T, N, C)")      \
    ROW(weft_ctc(t.batches, t.targets, t.lengths, t.lengths), SHAPE, "log_probs (batch, batch, 3)", "fixed") \
    ROW(weft_ctc(t.x, t.lengths, t.lengths, t.lengths), SHAPE, "ctc", "targets (batch),", "(N, S)")          \
    ROW(weft_ctc(t.x, t.wide, t.lengths, t.lengths), SHAPE, "ctc", "targets (2, 4)")                         \
    ROW(weft_ctc(t.x, t.targets, t.four, t.lengths), SHAPE, "ctc", "input_lengths (4)")                      \
    ROW(weft_ctc(t.x, t.targets, t.lengths, t.four), SHAPE, "ctc", "target_lengths (4)")                     \
    ROW(weft_ctc(input(t.graph, WEFT_F32, 3, 1 << 25, 3, 2), input(t.graph, WEFT_I32, 2, 3, 1 << 20, 0),     \
            input(t.graph, WEFT_I32, 1, 3, 0, 0), input(t.graph, WEFT_I32, 1, 3, 0, 0)),                     \
        SHAPE, "ctc: the table of states", "2^40")                                                           \
    ROW(weft_ctc(t.whole, t.targets, t.lengths, t.lengths), DTYPE, "ctc: log_probs is i32, not f32")         \
    ROW(weft_ctc(t.x, t.x, t.lengths, t.lengths), DTYPE, "ctc: targets is f32, not i32")                     \
    ROW(weft_ctc(t.x, t.targets, t.reals, t.lengths), DTYPE, "ctc: input_lengths is f32, not i32")           \
    ROW(weft_ctc(t.x, t.targets, t.lengths, t.reals), DTYPE, "ctc: target_lengths is f32, not i32")          \
    ROW(weft_ctc(t.x, t.targets, t.lengths, NULL), ARGUMENT, "ctc", "input 3", "NULL")                       \
    ROW(LOSS_OF(OPTIONS(.blank = -1)), ARGUMENT, "ctc: blank = -1 is not one of the 3 classes")              \
    ROW(LOSS_OF(OPTIONS(.blank = 3)), ARGUMENT, "ctc: blank = 3 is not one of the 3 classes")                \
    ROW(LOSS_OF(OPTIONS(.reduction = (weft_loss_reduction)4)), ARGUMENT, "ctc", "4")                         \
    ROW(LOSS_OF(&(const weft_ctc_loss_options){.struct_size = 1}), ARGUMENT, "WEFT_CTC_LOSS_OPTIONS_INIT")

static things make_things(void) {
    weft_graph *const g = test_graph();
    const things t = {g, input(g, WEFT_F32, 3, 5, WEFT_BATCH, 3), input(g, WEFT_I32, 2, WEFT_BATCH, 4, 0),
        input(g, WEFT_I32, 1, WEFT_BATCH, 0, 0), input(g, WEFT_F32, 2, 5, 3, 0),
        input(g, WEFT_I32, 3, 5, WEFT_BATCH, 3), input(g, WEFT_F32, 1, WEFT_BATCH, 0, 0),
        input(g, WEFT_F32, 3, WEFT_BATCH, WEFT_BATCH, 3), input(g, WEFT_I32, 1, 4, 0, 0),
        input(g, WEFT_I32, 2, 2, 4, 0)};
    assert_weft_ok(weft_graph_status(g));
    return t;
}

static void test_bad_input(void **state) {
    (void)state;
#define CHECK(expression, status, ...)                                                                       \
    {                                                                                                        \
        const things t = make_things();                                                                      \
        assert_null(expression);                                                                             \
        assert_weft_fails(WEFT_ERROR_##status, weft_graph_status(t.graph), __VA_ARGS__);                     \
        weft_graph_release(t.graph);                                                                         \
    }
    BAD(CHECK)
    assert_null(weft_ctc(NULL, NULL, NULL, NULL));
}

int main(void) {
    static const op_cases ops[] = {LOSS_CTC_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_infinite_and_nan),
        cmocka_unit_test(test_out_of_range),
        cmocka_unit_test(test_long_input),
        cmocka_unit_test(test_bad_input),
    };
    return test_finish(op_suite_run("ctc", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("ctc, corners", tests, NULL, NULL));
}
