/* Loss scaling in f16: a step whose gradients overflow leaves everything as if it had not been run, whatever the
 * optimizer; the scale shrinks and grows as said; for good, it is an error that names the step and the tensor. */
/* test once slow */
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- a loss without 16-bit numbers: scaling by powers of 2 changes no bit ---- */

enum { SIZE = 37 };

typedef struct network {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *p, *weight, *count, *loss;
} network;

static void begin(network *n, weft_precision precision, weft_optimizer rule) {
    weft_tensor *outputs[WEFT_MAX_UPDATES + 2];
    size_t updates;
    n->graph = test_graph();
    assert_weft_ok(weft_graph_set_precision(n->graph, precision));
    n->p = weft_parameter(n->graph, "p", weft_fill(0.75f), SIZE);
    n->weight = weft_input_shape(n->graph, "weight", WEFT_F32, 0, NULL);
    n->count = weft_state_shape(n->graph, "count", WEFT_I32, weft_fill(0), 0, NULL);
    weft_tensor *const away = weft_add_number(n->p, -2);
    n->loss = weft_mul(weft_mul_number(weft_sum(weft_square(away)), 0.5), n->weight);
    assert_weft_ok(weft_minimize(n->loss, &rule, outputs, WEFT_MAX_UPDATES, &updates));
    outputs[updates] = n->loss;
    outputs[updates + 1] = weft_assign(n->count, weft_add(n->count, weft_number(n->count, 1)));
    assert_weft_ok(weft_plan_create(&n->plan, outputs, updates + 2, NULL));
}

static void end(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static void step(network *n, float weight) {
    assert_weft_ok(weft_plan_write(n->plan, n->weight, &weight, sizeof weight));
    assert_weft_ok(weft_plan_run(n->plan));
}

static void run(network *n, const float *weights, size_t count, float values[SIZE]) {
    for (size_t i = 0; i < count; i++) step(n, weights[i]);
    assert_weft_ok(weft_tensor_read(n->p, values, SIZE * sizeof *values));
}

static void train(weft_precision precision, weft_optimizer rule, const float *weights, size_t count,
    float values[SIZE], int32_t *counted, weft_loss_scale *scale) {
    network n;
    begin(&n, precision, rule);
    run(&n, weights, count, values);
    assert_weft_ok(weft_tensor_read(n.count, counted, sizeof *counted));
    assert_weft_ok(weft_graph_loss_scale(n.graph, scale));
    end(&n);
}

static weft_optimizer rule_of(size_t i) {
    weft_optimizer rules[] = {weft_sgd(0.1f), weft_sgd_momentum(0.1f, 0.9f, 0.01f), weft_adam(0.1f),
        weft_adamw(0.1f, 0.1f), weft_nadam(0.1f), weft_rmsprop(0.1f), weft_adagrad(0.1f), weft_adadelta(1),
        weft_lamb(0.1f, 0.1f), weft_lion(0.1f, 0.1f)};
    rules[1].dampening = 0.5f;
    rules[2].amsgrad = true;
    rules[3].clip_norm = 1.5f;
    rules[4].average_decay = 0.9f;
    rules[5].clip_value = 0.5f;
    rules[6].rate_decay = 0.1f;
    return rules[i];
}
enum { RULES = 10 };

static void compare(size_t rule, const char *what, const float *got, const float *wanted, double tolerance) {
    for (size_t i = 0; i < SIZE; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= tolerance * fabs((double)wanted[i])))
            fail_msg("rule %zu, %s: p[%zu] is %.9g instead of %.9g", rule, what, i, (double)got[i],
                (double)wanted[i]);
}

static void a_skipped_step_leaves_no_trace(void **state) {
    static const float with[] = {INFINITY, 1, 0.5f, NAN, INFINITY, 0.25f, 2}, without[] = {1, 0.5f, 0.25f, 2};
    (void)state;
    for (size_t i = 0; i < RULES; i++) {
        float got[SIZE], wanted[SIZE], wide[SIZE];
        int32_t counted, all;
        weft_loss_scale scale;
        train(WEFT_PRECISION_F16, rule_of(i), with, 7, got, &counted, &scale);
        assert_int_equal(counted, 4);
        assert_float_equal(scale.scale, 65536 / 8, 0);
        assert_int_equal(scale.skipped_steps, 3);
        assert_int_equal(scale.steps, 7);
        assert_int_equal(scale.good_steps, 2);
        train(WEFT_PRECISION_F16, rule_of(i), without, 4, wanted, &all, &scale);
        assert_int_equal(all, 4);
        assert_float_equal(scale.scale, 65536, 0);
        compare(i, "without the skipped steps", got, wanted, 0);
        train(WEFT_PRECISION_F32, rule_of(i), without, 4, wide, &all, &scale);
        compare(i, "in f32", wanted, wide, 1e-6);
        assert_float_equal(scale.scale, 0, 0);
    }
}

/* A sum that holds an infinity is left out as a whole, and the next one begins with nothing. */
static void accumulated_updates_are_skipped_as_a_whole(void **state) {
    static const float with[] = {1, 0.5f, INFINITY, 0.25f, 0.5f, NAN, 0.75f, 1};
    static const float without[] = {1, 0.5f, 0.75f, 1};
    (void)state;
    for (size_t i = 0; i < RULES; i++) {
        float got[SIZE], wanted[SIZE];
        int32_t counted;
        weft_loss_scale scale;
        weft_optimizer rule = rule_of(i);
        rule.accumulate = 2;
        train(WEFT_PRECISION_F16, rule, without, 4, wanted, &counted, &scale);
        train(WEFT_PRECISION_F16, rule, with, 8, got, &counted, &scale);
        assert_int_equal(scale.skipped_steps, 2);
        assert_int_equal(scale.steps, 8);
        compare(i, "without the skipped updates", got, wanted, 0);
    }
}

static void the_scale_grows_and_shrinks(void **state) {
    static const float weights[] = {1, 1, 1, INFINITY, 1, 1, INFINITY, 1, 1, 1};
    static const float scales[] = {8, 8, 16, 8, 8, 8, 4, 4, 4, 8};
    (void)state;
    network n = {.graph = test_graph()};
    weft_graph_release(n.graph);
    const weft_loss_scaling options = {WEFT_LOSS_SCALING_INIT, .initial = 8, .interval = 3};
    weft_tensor *outputs[WEFT_MAX_UPDATES];
    size_t updates;
    n.graph = test_graph();
    assert_weft_ok(weft_graph_set_loss_scaling(n.graph, &options));
    assert_weft_ok(weft_graph_set_precision(n.graph, WEFT_PRECISION_F16));
    n.p = weft_parameter(n.graph, "p", weft_fill(0.75f), SIZE);
    n.weight = weft_input_shape(n.graph, "weight", WEFT_F32, 0, NULL);
    n.loss = weft_mul(weft_sum(weft_square(n.p)), n.weight);
    const weft_optimizer rule = weft_sgd(0.01f);
    assert_weft_ok(weft_minimize(n.loss, &rule, outputs, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(&n.plan, outputs, updates, NULL));
    assert_weft_fails(WEFT_ERROR_STATE, weft_graph_set_loss_scaling(n.graph, &options), "with other scaling");
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        weft_loss_scale now;
        step(&n, weights[i]);
        assert_weft_ok(weft_graph_loss_scale(n.graph, &now));
        assert_float_equal(now.scale, scales[i], 0);
        assert_int_equal(now.steps, i + 1);
    }
    end(&n);
}

/* Two optimizers in a plan: each skips its own; the scale moves once a run. */
static void optimizers_share_the_scale(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *updates[2], *weights[2], *p[2];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_set_precision(graph, WEFT_PRECISION_F16));
    for (int i = 0; i < 2; i++) {
        const weft_optimizer rule = weft_adam(0.1f);
        p[i] = weft_parameter(graph, i ? "b" : "a", weft_fill(1), 5);
        weights[i] = weft_input_shape(graph, i ? "wb" : "wa", WEFT_F32, 0, NULL);
        weft_tensor *const loss = weft_mul(weft_sum(weft_square(p[i])), weights[i]);
        updates[i] = weft_optimizer_minimize(weft_optimizer_create(graph, &rule), loss, i ? "b" : "a");
    }
    assert_weft_ok(weft_plan_create(&plan, updates, 2, NULL));
    static const float given[][2] = {{1, INFINITY}, {NAN, INFINITY}, {1, 1}};
    static const float scales[] = {32768, 16384, 16384};
    static const double expected[][2] = {{0.9, 1}, {0.9, 1}, {0.8, 0.9}};
    for (int i = 0; i < 3; i++) {
        weft_loss_scale now;
        for (int k = 0; k < 2; k++) {
            float values[5];
            assert_weft_ok(weft_plan_write(plan, weights[k], &given[i][k], sizeof(float)));
            if (k == 0) continue;
            assert_weft_ok(weft_plan_run(plan));
            for (int m = 0; m < 2; m++) {
                assert_weft_ok(weft_tensor_read(p[m], values, sizeof values));
                assert_float_equal(values[4], expected[i][m], 2e-3);
            }
        }
        assert_weft_ok(weft_graph_loss_scale(graph, &now));
        assert_float_equal(now.scale, scales[i], 0);
        assert_int_equal(now.steps, i + 1);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void averages_know_of_skipped_steps(void **state) {
    network n;
    (void)state;
    begin(&n, WEFT_PRECISION_F16, rule_of(4));
    step(&n, INFINITY);
    assert_weft_fails(WEFT_ERROR_STATE, weft_average_swap(n.graph), "before the first update");
    step(&n, 1);
    assert_weft_ok(weft_average_swap(n.graph));
    end(&n);
}

/* ---- a network with 16-bit numbers ---- */

typedef struct images {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *label, *loss;
} images;
enum { BATCH = 4, PIXELS = BATCH * 2 * 6 * 6 };

static void begin_images(images *n, float steepness) {
    weft_tensor *outputs[WEFT_MAX_UPDATES + 1];
    size_t updates;
    const weft_optimizer rule = weft_sgd(0.05f);
    n->graph = test_graph();
    assert_weft_ok(weft_graph_set_precision(n->graph, WEFT_PRECISION_F16));
    n->x = weft_input(n->graph, "x", WEFT_F32, 2, 6, 6);
    n->label = weft_input(n->graph, "label", WEFT_I32);
    weft_tensor *const h = weft_relu(weft_batch_norm(weft_conv2d(n->x, 8, 3)));
    weft_tensor *const wide = weft_mul_number(weft_linear(weft_flatten(h), 16), (double)steepness);
    n->loss = weft_cross_entropy(weft_linear(weft_relu(wide), 5), n->label);
    assert_weft_ok(weft_minimize(n->loss, &rule, outputs, WEFT_MAX_UPDATES, &updates));
    outputs[updates] = n->loss;
    assert_weft_ok(weft_plan_create(
        &n->plan, outputs, updates + 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
}

static weft_status step_images(images *n, uint64_t number, double factor, float *loss) {
    static float pixels[PIXELS];
    const int32_t labels[BATCH] = {0, 3, 1, 4};
    test_random random = test_random_named("images", number);
    for (int i = 0; i < PIXELS; i++) pixels[i] = (float)(factor * test_random_between(&random, -1, 1));
    assert_weft_ok(weft_plan_write(n->plan, n->x, pixels, sizeof pixels));
    assert_weft_ok(weft_plan_write(n->plan, n->label, labels, sizeof labels));
    assert_weft_ok(weft_plan_run(n->plan));
    return weft_plan_read(n->plan, n->loss, loss, sizeof *loss);
}

static void end_images(images *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

/* The loss of 65536 times a gradient of 1/4 and more fits; that of a steep network does not at first. */
static void running_statistics_skip_too(void **state) {
    images n;
    float loss, before[8], after[8], seen[8];
    weft_loss_scale scale;
    (void)state;
    begin_images(&n, 1);
    weft_tensor *const mean = weft_graph_state(n.graph, 0);
    assert_non_null(mean);
    assert_weft_ok(step_images(&n, 0, 1, &loss));
    assert_weft_ok(weft_tensor_read(mean, before, sizeof before));
    assert_weft_ok(step_images(&n, 1, (double)INFINITY, &loss));
    assert_weft_ok(weft_tensor_read(mean, after, sizeof after));
    assert_memory_equal(before, after, sizeof before);
    assert_weft_ok(step_images(&n, 2, 1, &loss));
    assert_weft_ok(weft_tensor_read(mean, seen, sizeof seen));
    assert_memory_not_equal(seen, after, sizeof seen);
    assert_true(isfinite(loss));
    assert_weft_ok(weft_graph_loss_scale(n.graph, &scale));
    assert_int_equal(scale.skipped_steps, 1);
    end_images(&n);
}

static void the_scale_finds_what_fits(void **state) {
    images n;
    float loss, first;
    weft_loss_scale scale;
    (void)state;
    begin_images(&n, 60);
    assert_weft_ok(step_images(&n, 0, 1, &first));
    for (int i = 0; i < 20; i++) assert_weft_ok(step_images(&n, 0, 1, &loss));
    assert_weft_ok(weft_graph_loss_scale(n.graph, &scale));
    assert_true(scale.skipped_steps > 0 && scale.skipped_steps < 10);
    assert_float_equal(scale.scale, ldexpf(65536, -(int)scale.skipped_steps), 0);
    assert_true(loss < first);
    end_images(&n);
}

static void overflow_for_good_is_an_error(void **state) {
    images n;
    float loss;
    (void)state;
    begin_images(&n, 1);
    for (int i = 0; i < 3; i++) assert_weft_ok(step_images(&n, 0, 1, &loss));
    for (int i = 0; i < 30; i++) assert_weft_ok(step_images(&n, 0, (double)INFINITY, &loss));
    assert_weft_fails(WEFT_ERROR_NOT_FINITE, step_images(&n, 0, (double)INFINITY, &loss), "since step 3 ",
        "6.1", "input 'x'");
    end_images(&n);
    /* The product with 1e7, which f16 cannot hold, is in f32; so the next layer's result overflows. */
    begin_images(&n, 1e7f);
    for (int i = 0; i < 30; i++) assert_weft_ok(step_images(&n, 0, 1, &loss));
    assert_weft_fails(WEFT_ERROR_NOT_FINITE, step_images(&n, 0, 1, &loss), "since step 0 ", "with 'linear2.");
    end_images(&n);
}

/* ---- bad input ---- */

static void late_changes_are_refused(void **state) {
    network n;
    (void)state;
    begin(&n, WEFT_PRECISION_F32, weft_sgd(0.1f));
    assert_weft_fails(
        WEFT_ERROR_STATE, weft_graph_set_precision(n.graph, WEFT_PRECISION_F16), "before weft_minimize");
    static const weft_loss_scaling bad[] = {{WEFT_LOSS_SCALING_INIT, .backoff = 1},
        {WEFT_LOSS_SCALING_INIT, .growth = 0.5f}, {WEFT_LOSS_SCALING_INIT, .initial = INFINITY},
        {WEFT_LOSS_SCALING_INIT, .least = 1e9f}, {WEFT_LOSS_SCALING_INIT, .initial = -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_weft_fails(
            WEFT_ERROR_ARGUMENT, weft_graph_set_loss_scaling(n.graph, &bad[i]), "0 < least <= initial");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_set_loss_scaling(NULL, &bad[0]), "graph is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_loss_scale(n.graph, NULL), "now is NULL");
    end(&n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_skipped_step_leaves_no_trace),
        cmocka_unit_test(accumulated_updates_are_skipped_as_a_whole),
        cmocka_unit_test(the_scale_grows_and_shrinks),
        cmocka_unit_test(optimizers_share_the_scale),
        cmocka_unit_test(averages_know_of_skipped_steps),
        cmocka_unit_test(running_statistics_skip_too),
        cmocka_unit_test(the_scale_finds_what_fits),
        cmocka_unit_test(overflow_for_good_is_an_error),
        cmocka_unit_test(late_changes_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
