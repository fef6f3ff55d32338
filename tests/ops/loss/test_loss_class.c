/* Losses of class labels. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
#include "ops/loss/loss_reference.h"

#include "ops/covered_ops.h"
#include <math.h>
#include <stdio.h>

/* ---- references ---- */

/* Class weights are constants here: no gradient flows to them. Enough for the cases that have them. */
static const float class_weights[] = {0.3f, 1.7f, 0.9f, 0.05f, 2, 1.1f};

static f64_class_options numbers_of(const op_case *c, const f64_array *x) {
    const loss_setup *const setup = setup_of(c);
    f64_array *const weights = f64_zeros(1, &x->dims[x->rank > 1]);
    for (size_t i = 0; setup->weighted && i < weights->count; i++)
        weights->value[i] = (double)class_weights[i];
    return (f64_class_options){.reduction = setup->reduction,
        .weights = setup->weighted ? weights : NULL,
        .ignore = setup->ignore,
        .ignored = (double)setup->ignored,
        .smoothing = (double)(float)setup->number};
}

static f64_array *reference_cross_entropy(const op_case *c, const f64_array *const *inputs) {
    const f64_class_options options = numbers_of(c, inputs[0]);
    return f64_cross_entropy(inputs[0], inputs[1], &options);
}

static f64_array *reference_dense(const op_case *c, const f64_array *const *inputs) {
    const f64_class_options options = numbers_of(c, inputs[0]);
    return f64_dense_cross_entropy(inputs[0], inputs[1], &options);
}

static f64_array *reference_nll(const op_case *c, const f64_array *const *inputs) {
    const f64_class_options options = numbers_of(c, inputs[0]);
    return f64_nll(inputs[0], inputs[1], &options);
}

static f64_array *reference_multi_margin(const op_case *c, const f64_array *const *inputs) {
    const loss_setup *const setup = setup_of(c);
    const f64_class_options options = numbers_of(c, inputs[0]);
    return f64_multi_margin(inputs[0], inputs[1], (double)(float)setup->number, setup->p, &options);
}

/* ---- cases ---- */

static weft_class_loss_options class_options(const op_case *c, weft_tensor *x) {
    const loss_setup *const setup = setup_of(c);
    const int64_t classes = weft_tensor_dimension(x, weft_tensor_rank(x) > 1);
    weft_graph *const graph = weft_tensor_graph(x);
    return (weft_class_loss_options){WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = setup->reduction,
        .class_weights = setup->weighted ? weft_array(graph, WEFT_F32, class_weights, 1, &classes) : NULL,
        .ignore = setup->ignore, .ignored_label = setup->ignored, .label_smoothing = (float)setup->number};
}

static weft_tensor *build_cross_entropy(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    if (c->keep) return weft_cross_entropy(inputs[0], inputs[1]);
    const weft_class_loss_options options = class_options(c, inputs[0]);
    return weft_cross_entropy_loss(inputs[0], inputs[1], &options);
}
#define build_dense build_cross_entropy

static weft_tensor *build_nll(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const weft_class_loss_options options = class_options(c, inputs[0]);
    return c->keep ? weft_nll(inputs[0], inputs[1]) : weft_nll_loss(inputs[0], inputs[1], &options);
}

static weft_tensor *build_multi_margin(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const loss_setup *const setup = setup_of(c);
    weft_class_loss_options options = class_options(c, inputs[0]);
    options.label_smoothing = 0;
    if (c->keep) return weft_multi_margin(inputs[0], inputs[1], (float)setup->number);
    return weft_multi_margin_loss(inputs[0], inputs[1], (float)setup->number, setup->p, &options);
}

#define NONE .reduction = WEFT_LOSS_NONE
static const loss_setup none = {NONE}, sum = {.reduction = WEFT_LOSS_SUM}, smooth = {.number = 0.1},
                        all_smooth = {NONE, .number = 1}, weighted = {.weighted = true},
                        ignoring = {.ignore = true, .ignored = -1},
                        ignoring_2 = {.ignore = true, .ignored = 2},
                        batch_mean = {.reduction = WEFT_LOSS_BATCH_MEAN, .weighted = true},
                        everything = {.number = 0.2, .weighted = true, .ignore = true, .ignored = 1},
                        everything_none = {NONE, .number = 0.2, .weighted = true, .ignore = true,
                            .ignored = 1},
                        margin_1 = {.number = 1, .p = 1},
                        margin_2 = {.number = 0.5, .p = 2, .weighted = true},
                        margin_none = {NONE, .number = 1, .p = 1, .weighted = true};

static const op_case cross_entropy_cases[] = {
    CASE("10 classes", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 10), I32(0, 9, WEFT_BATCH)), SIMPLE),
    CASE("1 class", cross_entropy, INPUTS(F32(-4, 4, 3, 1), I32(0, 0, 3)), SIMPLE),
    CASE("2 classes, 33 rows", cross_entropy, INPUTS(F32(-4, 4, 33, 2), I32(0, 1, 33)), SIMPLE),
    CASE("257 classes", cross_entropy, INPUTS(F32(-4, 4, 7, 257), I32(0, 256, 7)), SIMPLE),
    CASE("images", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 5, 3, 4), I32(0, 4, WEFT_BATCH, 3, 4)),
        SIMPLE),
    CASE("confident", cross_entropy, INPUTS(F32(-90, 90, 5, 10), I32(0, 9, 5)), SIMPLE),
    CASE("transposed", cross_entropy, INPUTS(F32_VIEW(OP_TRANSPOSED, -4, 4, 9, 6), I32(0, 5, 9)),
        .row = &none),
    CASE("one example", cross_entropy,
        INPUTS(F32(-4, 4, 6), {WEFT_I32, OP_RANDOM, 0, 5, {WEFT_END}, OP_WHOLE}), .row = &none),
    CASE("sum of images", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 5, 3), I32(0, 4, WEFT_BATCH, 3)),
        .row = &sum),
    CASE("smooth", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 10), I32(0, 9, WEFT_BATCH)), .row = &smooth),
    CASE("smoothing 1, none", cross_entropy, INPUTS(F32(-4, 4, 5, 7), I32(0, 6, 5)), .row = &all_smooth),
    CASE(
        "weights", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 6), I32(0, 5, WEFT_BATCH)), .row = &weighted),
    CASE("weights, batch mean", cross_entropy, INPUTS(F32(-4, 4, WEFT_BATCH, 6, 3), I32(0, 5, WEFT_BATCH, 3)),
        .row = &batch_mean),
    CASE("ignored -1", cross_entropy, INPUTS(F32(-4, 4, 9, 6), I32(-1, 5, 9)), .row = &ignoring),
    CASE("ignored 2", cross_entropy, INPUTS(F32(-4, 4, 9, 4, 3), I32(0, 3, 9, 3)), .row = &ignoring_2),
    CASE("everything", cross_entropy, INPUTS(F32(-4, 4, 17, 5), I32(0, 4, 17)), .row = &everything),
    CASE("everything, images, none", cross_entropy,
        INPUTS(F32(-4, 4, WEFT_BATCH, 5, 3), I32(0, 4, WEFT_BATCH, 3)), .row = &everything_none),
    CASE("probabilities", dense, INPUTS(F32(-4, 4, WEFT_BATCH, 5), F32(0, 1, WEFT_BATCH, 5)), SIMPLE),
    CASE("probabilities, smooth, weights, images", dense,
        INPUTS(F32(-4, 4, WEFT_BATCH, 5, 3), F32(0, 1, WEFT_BATCH, 5, 3)),
        .row = &(const loss_setup){.number = 0.2, .weighted = true}),
};
static const op_case nll_cases[] = {
    CASE("mean", nll, INPUTS(F32(-4, 0, WEFT_BATCH, 10), I32(0, 9, WEFT_BATCH)), SIMPLE),
    CASE("images, none", nll, INPUTS(F32(-4, 0, WEFT_BATCH, 5, 3), I32(0, 4, WEFT_BATCH, 3)), .row = &none),
    CASE("ignored 2", nll, INPUTS(F32(-4, 0, 9, 4), I32(0, 3, 9)), .row = &ignoring_2),
};
static const op_case multi_margin_cases[] = {
    CASE("mean", multi_margin, INPUTS(F32(-1, 1, WEFT_BATCH, 10), I32(0, 9, WEFT_BATCH)), SIMPLE,
        .row = &margin_1),
    CASE("1 class", multi_margin, INPUTS(F32(-1, 1, 3, 1), I32(0, 0, 3)), SIMPLE, .row = &margin_1),
    CASE("p = 2, weights", multi_margin, INPUTS(F32(-1, 1, WEFT_BATCH, 6), I32(0, 5, WEFT_BATCH)),
        .row = &margin_2),
    CASE("images, weights, none", multi_margin,
        INPUTS(F32(-1, 1, WEFT_BATCH, 5, 3), I32(0, 4, WEFT_BATCH, 3)), .row = &margin_none),
};

/* Sequences: the third input, if there is one, is a mask, or lengths where start is 1. */
static weft_tensor *build_sequence(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    const loss_setup *const setup = setup_of(c);
    const weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = setup->reduction,
        .ignore = setup->ignore, .ignored_label = setup->ignored, .label_smoothing = (float)setup->number};
    (void)graph;
    return c->keep ? weft_sequence_cross_entropy(inputs[0], inputs[1], inputs[2])
                   : weft_sequence_cross_entropy_loss(inputs[0], inputs[1], inputs[2], &options);
}
static f64_array *reference_sequence(const op_case *c, const f64_array *const *inputs) {
    const f64_class_options options = numbers_of(c, inputs[0]);
    return f64_sequence_cross_entropy(inputs[0], inputs[1], inputs[2], c->start == 1, &options);
}
#define MASK(...)                                                                                            \
    { WEFT_BOOL, OP_RANDOM, 0, 1, DIMS(__VA_ARGS__), OP_WHOLE }
static const op_case sequence_cross_entropy_cases[] = {
    CASE("no mask", sequence, INPUTS(F32(-4, 4, WEFT_BATCH, 5, 7), I32(0, 6, WEFT_BATCH, 5)), SIMPLE),
    CASE("a mask", sequence,
        INPUTS(F32(-4, 4, WEFT_BATCH, 5, 7), I32(0, 6, WEFT_BATCH, 5), MASK(WEFT_BATCH, 5)), SIMPLE),
    CASE("a mask of places, none", sequence, INPUTS(F32(-4, 4, 3, 5, 7), I32(0, 6, 3, 5), MASK(5)),
        .row = &none),
    CASE("lengths, smooth", sequence,
        INPUTS(F32(-4, 4, WEFT_BATCH, 5, 7), I32(0, 6, WEFT_BATCH, 5), I32(0, 5, WEFT_BATCH)), .start = 1,
        .row = &smooth),
    CASE("lengths, ignored 2, sum", sequence, INPUTS(F32(-4, 4, 9, 4, 5), I32(0, 4, 9, 4), I32(0, 4, 9)),
        .start = 1, .row = &(const loss_setup){.reduction = WEFT_LOSS_SUM, .ignore = true, .ignored = 2}),
};

/* ---- labels that are no class, ignored and weightless examples, large and infinite logits ---- */

enum { EXAMPLES = 2, COUNT = 3 };

/* Plans of a few outputs over the same logits and labels. */
typedef struct bench {
    weft_graph *graph;
    weft_tensor *x, *labels, *outputs[12];
    size_t count;
    weft_plan *plan;
} bench;

static bench bench_begin(void) {
    bench b = {.graph = test_graph()};
    b.x = weft_input_shape(b.graph, "x", WEFT_F32, 2, (const int64_t[]){EXAMPLES, COUNT});
    b.labels = weft_input_shape(b.graph, "labels", WEFT_I32, 1, (const int64_t[]){EXAMPLES});
    return b;
}

static void bench_add(bench *b, weft_tensor *loss) {
    b->outputs[b->count++] = loss;
    b->outputs[b->count++] = weft_gradient(loss, b->x);
}

static void bench_plan(bench *b) {
    assert_weft_ok(weft_plan_create(&b->plan, b->outputs, b->count, NULL));
}

static void bench_run(bench *b, const float logits[EXAMPLES][COUNT], const int32_t labels[EXAMPLES]) {
    assert_weft_ok(weft_plan_write(b->plan, b->x, logits, EXAMPLES * COUNT * sizeof(float)));
    assert_weft_ok(weft_plan_write(b->plan, b->labels, labels, EXAMPLES * sizeof(int32_t)));
    assert_weft_ok(weft_plan_run(b->plan));
}

/* Output `at` and the gradient behind it. */
static float bench_read(bench *b, size_t at, float gradient[EXAMPLES][COUNT]) {
    float loss;
    assert_weft_ok(weft_plan_read(b->plan, b->outputs[2 * at], &loss, sizeof loss));
    assert_weft_ok(
        weft_plan_read(b->plan, b->outputs[2 * at + 1], gradient, EXAMPLES * COUNT * sizeof(float)));
    return loss;
}

static void bench_end(bench *b) {
    weft_plan_release(b->plan);
    weft_graph_release(b->graph);
}

/* The run's error, once, at the first read; whatever the loss is, each plan has one. */
static void assert_label_fails(
    weft_tensor *(*make)(bench *), bool gradient_alone, const int32_t labels[EXAMPLES], const char *wanted) {
    bench b = bench_begin();
    weft_tensor *const loss = make(&b);
    b.outputs[b.count++] = gradient_alone ? weft_gradient(loss, b.x) : loss;
    bench_plan(&b);
    static const float logits[EXAMPLES][COUNT] = {{-1, 0, 0}, {1, -1, 0}};
    float result[EXAMPLES][COUNT];
    bench_run(&b, logits, labels);
    const size_t bytes = gradient_alone ? sizeof result : sizeof result[0][0];
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(b.plan, b.outputs[0], result, bytes), wanted);
    assert_weft_ok(weft_plan_wait(b.plan));
    bench_run(&b, logits, (const int32_t[]){0, 2}); /* and it goes on */
    assert_weft_ok(weft_plan_read(b.plan, b.outputs[0], result, bytes));
    assert_true(isfinite(result[0][0]));
    bench_end(&b);
}

static weft_tensor *make_cross_entropy(bench *b) {
    return weft_cross_entropy(b->x, b->labels);
}
static weft_tensor *make_smoothed(bench *b) {
    const weft_class_loss_options options = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -1, .label_smoothing = 0.1f};
    return weft_cross_entropy_loss(b->x, b->labels, &options);
}
/* Its gradient alone would not read x. */
static weft_tensor *make_nll(bench *b) {
    return weft_nll(weft_log_softmax(b->x, 1), b->labels);
}
static weft_tensor *make_multi_margin(bench *b) {
    return weft_multi_margin(b->x, b->labels, 1);
}
/* Labels that a step computes. */
static weft_tensor *make_computed(bench *b) {
    weft_tensor *sorted = weft_gather(b->labels, 0, weft_argsort(b->labels, 0, false));
    return weft_cross_entropy(b->x, weft_add(sorted, weft_number(sorted, 0)));
}
static weft_tensor *make_sequence(bench *b) {
    return weft_sequence_cross_entropy(b->x, b->labels, NULL);
}

static void test_labels_out_of_range(void **state) {
    (void)state;
    static const struct {
        weft_tensor *(*make)(bench *);
        const char *name;
        int32_t ignored;
    } losses[] = {{make_cross_entropy, "cross_entropy", 0}, {make_smoothed, "cross_entropy", -1},
        {make_nll, "nll", 0}, {make_multi_margin, "multi_margin", 0}, {make_computed, "cross_entropy", 0},
        {make_sequence, "cross_entropy", -100}};
    static const int32_t wrong[][EXAMPLES] = {{1, 3}, {-2, 0}, {1, INT32_MAX}, {INT32_MIN, 0}, {-99, 1}};
    static const int32_t found[] = {3, -2, INT32_MAX, INT32_MIN, -99};
    const size_t tried = test_reduced() ? 2 : sizeof wrong / sizeof wrong[0];
    for (size_t k = 0; k < sizeof losses / sizeof losses[0]; k++) {
        for (size_t i = 0; i < tried; i++) {
            char line[96];
            snprintf(line, sizeof line, "%s: a label is %d, not in 0..2", losses[k].name, (int)found[i]);
            assert_label_fails(losses[k].make, false, wrong[i], line);
            if (i < 2) assert_label_fails(losses[k].make, true, wrong[i], line);
        }
    }
}

/* The ignored label is an error of every loss that does not ignore it. */
static void test_ignored_label(void **state) {
    (void)state;
    static const int32_t labels[EXAMPLES] = {1, -1};
    static const float logits[EXAMPLES][COUNT] = {{-1, 0, 0}, {1, -1, 0}};
    assert_label_fails(make_cross_entropy, false, labels, "cross_entropy: a label is -1, not in 0..2");
    assert_label_fails(make_sequence, false, labels, "cross_entropy: a label is -1, not in 0..2");
    bench b = bench_begin();
    float gradient[EXAMPLES][COUNT];
    bench_add(&b, make_smoothed(&b));
    bench_plan(&b);
    bench_run(&b, logits, labels);
    assert_true(isfinite(bench_read(&b, 0, gradient)));
    bench_end(&b);
}

/* Images of labels: lanes are examples, and there are many that are right. */
static void test_label_of_a_pixel(void **state) {
    (void)state;
    enum { SIDE = 37, REDUCED_SIDE = 9, MOST_PIXELS = SIDE * SIDE };
    const int side = test_reduced() ? REDUCED_SIDE : SIDE, pixels = side * side;
    const int step = test_reduced() ? 2 * REDUCED_SIDE * REDUCED_SIDE - 1 : 171;
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input_shape(graph, "x", WEFT_F32, 4, (const int64_t[]){2, COUNT, side, side});
    weft_tensor *labels = weft_input_shape(graph, "labels", WEFT_I32, 3, (const int64_t[]){2, side, side});
    weft_tensor *const loss = weft_cross_entropy(x, labels);
    weft_plan *plan;
    assert_weft_ok(weft_plan_create(&plan, &loss, 1, NULL));
    static float scores[2 * COUNT * MOST_PIXELS];
    static int32_t classes[2 * MOST_PIXELS];
    const size_t count = 2 * (size_t)pixels;
    assert_weft_ok(weft_plan_write(plan, x, scores, COUNT * count * sizeof *scores));
    for (int at = 0; at < 2 * pixels; at += step) {
        float value;
        classes[at] = 3 + at;
        assert_weft_ok(weft_plan_write(plan, labels, classes, count * sizeof *classes));
        assert_weft_ok(weft_plan_run(plan));
        char line[96];
        snprintf(line, sizeof line, "cross_entropy: a label is %d, not in 0..2", 3 + at);
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, loss, &value, sizeof value), line);
        assert_true(isnan(value));
        classes[at] = at % COUNT;
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* The mean over nothing is 0, where PyTorch has NaN, and so is its gradient; so it is where all weights are 0. */
static void test_nothing_left(void **state) {
    (void)state;
    bench b = bench_begin();
    weft_class_loss_options options = {WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -100};
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &options));
    bench_add(&b, weft_nll_loss(b.x, b.labels, &options));
    options.label_smoothing = 0.1f;
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &options));
    options.reduction = WEFT_LOSS_SUM;
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &options));
    bench_plan(&b);
    static const float logits[EXAMPLES][COUNT] = {{-1, 0, 0.5f}, {1, -1, 0}};
    float gradient[EXAMPLES][COUNT];
    bench_run(&b, logits, (const int32_t[]){-100, -100});
    for (size_t k = 0; k < 4; k++) {
        const float loss = bench_read(&b, k, gradient);
        assert_true(loss == 0);
        for (int i = 0; i < EXAMPLES * COUNT; i++) assert_true(gradient[i / COUNT][i % COUNT] == 0);
    }
    bench_end(&b);
}

static void test_no_weight_left(void **state) {
    (void)state;
    bench b = bench_begin();
    const weft_class_loss_options weightless = {WEFT_CLASS_LOSS_OPTIONS_INIT,
        .class_weights =
            weft_array(b.graph, WEFT_F32, (const float[]){0, 0, 1}, 1, (const int64_t[]){COUNT})};
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &weightless));
    bench_plan(&b);
    static const float logits[EXAMPLES][COUNT] = {{-1, 0, 0.5f}, {1, -1, 0}};
    float gradient[EXAMPLES][COUNT];
    bench_run(&b, logits, (const int32_t[]){0, 1});
    assert_true(bench_read(&b, 0, gradient) == 0 && gradient[0][0] == 0 && gradient[1][2] == 0);
    bench_run(&b, logits, (const int32_t[]){0, 2}); /* one example weighs something: it alone counts */
    assert_true(fabsf(bench_read(&b, 0, gradient) - 1.40760596f) < 2e-6f);
    assert_true(gradient[0][0] == 0 && fabsf(gradient[1][2] + 0.755271554f) < 1e-6f);
    bench_end(&b);
}

static void test_large_logits(void **state) {
    (void)state;
    bench b = bench_begin();
    const weft_class_loss_options smoothed = {WEFT_CLASS_LOSS_OPTIONS_INIT, .label_smoothing = 0.3f};
    bench_add(&b, weft_cross_entropy(b.x, b.labels));
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &smoothed));
    bench_plan(&b);
    float gradient[EXAMPLES][COUNT];
    bench_run(
        &b, (const float[EXAMPLES][COUNT]){{1e4f, -1e4f, 0}, {1e4f, -1e4f, 0}}, (const int32_t[]){0, 1});
    assert_true(bench_read(&b, 0, gradient) == 1e4f);
    static const float wanted[EXAMPLES][COUNT] = {{0, 0, 0}, {0.5f, -0.5f, 0}};
    assert_memory_equal(gradient, wanted, sizeof wanted);
    assert_true(fabsf(bench_read(&b, 1, gradient) - 1e4f) <= 1e-2f);
    static const float smooth_slopes[EXAMPLES][COUNT] = {{0.1f, -0.05f, -0.05f}, {0.45f, -0.4f, -0.05f}};
    for (int i = 0; i < EXAMPLES * COUNT; i++)
        assert_true(fabsf(gradient[i / COUNT][i % COUNT] - smooth_slopes[i / COUNT][i % COUNT]) < 1e-6f);
    /* a class that is impossible costs nothing unless it is a target */
    bench_run(
        &b, (const float[EXAMPLES][COUNT]){{-INFINITY, 0, 0}, {1e30f, -1e30f, 0}}, (const int32_t[]){1, 0});
    assert_true(fabsf(bench_read(&b, 0, gradient) - 0.34657359f) < 1e-6f && gradient[0][0] == 0);
    assert_true(isinf(bench_read(&b, 1, gradient)));
    bench_end(&b);
}

int main(void) {
    static const op_cases ops[] = {LOSS_CLASS_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels_out_of_range),
        cmocka_unit_test(test_ignored_label),
        cmocka_unit_test(test_label_of_a_pixel),
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_no_weight_left),
        cmocka_unit_test(test_large_logits),
    };
    return test_finish(op_suite_run("losses of classes", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("losses of classes, corners", tests, NULL, NULL));
}
