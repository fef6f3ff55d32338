/* Losses of class labels. */
#include "ops/loss/loss_reference.h"

#include "ops/covered_ops.h"
#include <math.h>

/* ---- references: losses as sums over the classes, with targets written out ---- */

#define CLASSES ((const int64_t[]){1, WEFT_END})

/* Where the labels (batch, ...) of x (batch, classes, ...) point: 1 there, 0 elsewhere, x's shape. */
static f64_array *one_hot(const f64_array *x, const f64_array *labels) {
    f64_array *const hot = f64_zeros(x->rank, x->dims);
    const size_t classes = (size_t)x->dims[1], rest = x->count / ((size_t)x->dims[0] * classes);
    for (size_t i = 0; i < labels->count; i++) {
        const double label = labels->value[i];
        if (label >= 0 && label < (double)classes)
            hot->value[(i / rest * classes + (size_t)label) * rest + i % rest] = 1;
    }
    return hot;
}

/* Class weights are constants here: no gradient flows to them. Enough for the cases that have them. */
static const float class_weights[] = {0.3f, 1.7f, 0.9f, 0.05f, 2, 1.1f};

/* As (1, classes, 1...). */
static const f64_array *weights_of(const loss_setup *setup, const f64_array *x) {
    const int64_t dims[WEFT_MAX_RANK] = {1, x->dims[1], 1, 1, 1, 1, 1, 1};
    if (!setup->weighted) return f64_number(1);
    f64_array *const weights = f64_zeros(x->rank, dims);
    for (size_t i = 0; i < weights->count; i++) weights->value[i] = (double)class_weights[i];
    return weights;
}

/* 1 for examples that count; the labels' shape. */
static f64_array *counted(const loss_setup *setup, const f64_array *labels) {
    f64_array *const mask = f64_copy(labels);
    for (size_t i = 0; i < mask->count; i++)
        mask->value[i] = !(setup->ignore && labels->value[i] == (double)setup->ignored);
    return mask;
}

static f64_array *class_reduced(
    const loss_setup *setup, const f64_array *losses, const f64_array *mask, const f64_array *label_weights) {
    losses = f64_mul(losses, mask);
    if (setup->reduction != WEFT_LOSS_MEAN) return reduced(losses, setup->reduction);
    const f64_array *const total = f64_sum(f64_mul(label_weights, mask), NULL, false);
    return f64_div(f64_sum(losses, NULL, false), total);
}

static f64_array *class_reference(
    const loss_setup *setup, const f64_array *const *inputs, const f64_array *logs, double smoothing) {
    const f64_array *const hot = one_hot(logs, inputs[1]);
    const f64_array *const weights = weights_of(setup, logs);
    const f64_array *const smooth =
        f64_add(f64_mul(hot, f64_number(1 - smoothing)), f64_number(smoothing / (double)logs->dims[1]));
    const f64_array *const losses =
        f64_sum(f64_mul(f64_mul(f64_mul(smooth, weights), logs), f64_number(-1)), CLASSES, false);
    const f64_array *const label_weights = f64_sum(f64_mul(hot, weights), CLASSES, false);
    return class_reduced(setup, losses, counted(setup, inputs[1]), label_weights);
}

static f64_array *reference_cross_entropy(const op_case *c, const f64_array *const *inputs) {
    const loss_setup *const setup = setup_of(c);
    const double smoothing = (double)(float)setup->number;
    return class_reference(setup, inputs, f64_log_softmax(inputs[0], 1), smoothing);
}

static f64_array *reference_one(const op_case *c, const f64_array *const *inputs) {
    const int64_t dims[] = {1, inputs[0]->dims[0]};
    const f64_array *const wide[] = {f64_reshape(inputs[0], 2, dims), f64_reshape(inputs[1], 1, dims)};
    const f64_array *const losses = reference_cross_entropy(c, wide);
    return f64_reshape(losses, 0, NULL);
}

static f64_array *reference_dense(const op_case *c, const f64_array *const *inputs) {
    const loss_setup *const setup = setup_of(c);
    const double e = (double)(float)setup->number;
    const f64_array *const weights = weights_of(setup, inputs[0]);
    const f64_array *const t =
        f64_add(f64_mul(inputs[1], f64_number(1 - e)), f64_number(e / (double)inputs[0]->dims[1]));
    const f64_array *const logs = f64_mul(f64_log_softmax(inputs[0], 1), f64_number(-1));
    return reduced(f64_sum(f64_mul(f64_mul(t, weights), logs), CLASSES, false), setup->reduction);
}

static f64_array *reference_nll(const op_case *c, const f64_array *const *inputs) {
    return class_reference(setup_of(c), inputs, inputs[0], 0);
}

static f64_array *reference_multi_margin(const op_case *c, const f64_array *const *inputs) {
    const loss_setup *const setup = setup_of(c);
    const f64_array *const x = inputs[0], *const hot = one_hot(x, inputs[1]);
    const f64_array *const weights = weights_of(setup, x);
    const f64_array *const own = f64_sum(f64_mul(hot, x), CLASSES, true);
    const f64_array *z = f64_relu(f64_add(f64_sub(f64_number((double)(float)setup->number), own), x));
    if (setup->p == 2) z = f64_square(z);
    z = f64_mul(z, f64_sub(f64_number(1), hot));
    const f64_array *const factor =
        f64_div(f64_sum(f64_mul(hot, weights), CLASSES, true), f64_number((double)x->dims[1]));
    return reduced(f64_sum(f64_mul(z, factor), CLASSES, false), setup->reduction);
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
#define build_one   build_cross_entropy

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
    CASE("one example", one, INPUTS(F32(-4, 4, 6), {WEFT_I32, OP_RANDOM, 0, 5, {WEFT_END}, OP_WHOLE}),
        .row = &none),
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

static void test_labels_out_of_range(void **state) {
    (void)state;
    bench b = bench_begin();
    const weft_class_loss_options ignore = {
        WEFT_CLASS_LOSS_OPTIONS_INIT, .ignore = true, .ignored_label = -1, .label_smoothing = 0.1f};
    bench_add(&b, weft_cross_entropy(b.x, b.labels));
    bench_add(&b, weft_nll(b.x, b.labels));
    bench_add(&b, weft_multi_margin(b.x, b.labels, 1));
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &ignore));
    bench_plan(&b);
    static const float logits[EXAMPLES][COUNT] = {{-1, 0, 0}, {1, -1, 0}};
    static const int32_t wrong[][EXAMPLES] = {{1, 3}, {-2, 0}, {1, INT32_MAX}, {INT32_MIN, 0}, {-100, 1}};
    float gradient[EXAMPLES][COUNT];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bench_run(&b, logits, wrong[i]);
        for (size_t k = 0; k < 4; k++) assert_true(isnan(bench_read(&b, k, gradient)));
    }
    bench_run(&b, logits, (const int32_t[]){1, -1});
    for (size_t k = 0; k < 4; k++) assert_int_equal(!isnan(bench_read(&b, k, gradient)), k == 3);
    bench_end(&b);
}

/* As PyTorch: the mean over nothing is NaN, its gradient 0; a sum is 0; weights of 0 are 0/0 throughout. */
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
    const weft_class_loss_options weightless = {WEFT_CLASS_LOSS_OPTIONS_INIT,
        .class_weights =
            weft_array(b.graph, WEFT_F32, (const float[]){0, 0, 1}, 1, (const int64_t[]){COUNT})};
    bench_add(&b, weft_cross_entropy_loss(b.x, b.labels, &weightless));
    bench_plan(&b);
    static const float logits[EXAMPLES][COUNT] = {{-1, 0, 0.5f}, {1, -1, 0}};
    float gradient[EXAMPLES][COUNT];
    bench_run(&b, logits, (const int32_t[]){-100, -100});
    for (size_t k = 0; k < 4; k++) {
        const float loss = bench_read(&b, k, gradient);
        assert_true(k == 3 ? loss == 0 : isnan(loss));
        for (int i = 0; i < EXAMPLES * COUNT; i++) assert_true(gradient[i / COUNT][i % COUNT] == 0);
    }
    bench_run(&b, logits, (const int32_t[]){0, 1});
    assert_true(isnan(bench_read(&b, 4, gradient)) && isnan(gradient[0][0]));
    bench_run(&b, logits, (const int32_t[]){0, 2}); /* one example weighs something: it alone counts */
    assert_true(fabsf(bench_read(&b, 4, gradient) - 1.40760596f) < 2e-6f);
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
        cmocka_unit_test(test_nothing_left),
        cmocka_unit_test(test_large_logits),
    };
    return test_finish(op_suite_run("losses of classes", ops, sizeof ops / sizeof ops[0]) +
                       cmocka_run_group_tests_name("losses of classes, corners", tests, NULL, NULL));
}
