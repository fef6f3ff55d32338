/* weft_keep_f32: a network that is kept whole trains as in f32, bit by bit; one layer alone is kept alone. */
/* test once slow */
#include "plan/compiled_plan.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

enum { BATCH = 6, STEPS = 5, INPUTS = 3 * 8 * 8 };

typedef weft_tensor *keeper(weft_tensor *x);

static weft_tensor *leave(weft_tensor *x) {
    return x;
}

typedef struct training {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *label, *loss;
    weft_tensor *middle; /* a linear layer's result between two others */
} training;

/* Convolution, a recurrent layer and linear layers; `keep` stands around each. */
static weft_tensor *logits_of(training *t, keeper *keep) {
    weft_tensor *h = keep(weft_relu(keep(weft_conv2d(keep(t->x), 8, 3))));
    h = weft_reshape(keep(weft_max_pool2d(h, 2)), WEFT_BATCH, 9, 8);
    h = keep(weft_gru(keep(h), 16, NULL).y);
    h = keep(weft_relu(keep(weft_linear(weft_flatten(h), 24))));
    t->middle = weft_linear(h, 20);
    return keep(weft_linear(keep(weft_relu(keep(t->middle))), 5));
}

static void begin(training *t, weft_precision precision, keeper *keep) {
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t updates;
    const weft_optimizer rule = weft_sgd(0.05f);
    assert_weft_ok(weft_graph_create(&t->graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(t->graph, precision));
    t->x = weft_input(t->graph, "x", WEFT_F32, 3, 8, 8);
    t->label = weft_input(t->graph, "label", WEFT_I32);
    outputs[0] = t->loss = weft_cross_entropy(logits_of(t, keep), t->label);
    assert_weft_ok(weft_minimize(t->loss, &rule, outputs + 1, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(
        &t->plan, outputs, 1 + updates, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
}

static void end(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

static void train(weft_precision precision, keeper *keep, float losses[STEPS]) {
    training t;
    static float pixels[BATCH * INPUTS];
    const int32_t labels[BATCH] = {0, 3, 1, 4, 2, 2};
    test_random random = test_random_named("pixels", 0);
    for (int i = 0; i < BATCH * INPUTS; i++) pixels[i] = (float)test_random_between(&random, -1, 1);
    begin(&t, precision, keep);
    assert_weft_ok(weft_plan_write(t.plan, t.x, pixels, sizeof pixels));
    assert_weft_ok(weft_plan_write(t.plan, t.label, labels, sizeof labels));
    for (int step = 0; step < STEPS; step++) {
        assert_weft_ok(weft_plan_run(t.plan));
        assert_weft_ok(weft_plan_read(t.plan, t.loss, &losses[step], sizeof *losses));
    }
    end(&t);
}

static void what_is_kept_trains_as_in_f32(void **state) {
    float wide[STEPS], narrow[STEPS], kept[STEPS];
    (void)state;
    train(WEFT_PRECISION_F32, leave, wide);
    train(WEFT_PRECISION_F32, weft_keep_f32, kept);
    assert_memory_equal(kept, wide, sizeof wide);
    for (weft_precision p = WEFT_PRECISION_BF16; p <= WEFT_PRECISION_F16; p++) {
        train(p, leave, narrow);
        assert_memory_not_equal(narrow, wide, sizeof wide);
        train(p, weft_keep_f32, kept);
        for (int step = 0; step < STEPS; step++)
            if (memcmp(&kept[step], &wide[step], sizeof *kept) != 0)
                fail_msg("precision %d, step %d: %.9g kept, %.9g in f32", (int)p, step, (double)kept[step],
                    (double)wide[step]);
    }
}

static weft_tensor *keep_none_but_middle(weft_tensor *x) {
    const wi_shape *const shape = &x->shape;
    return shape->rank == 2 && shape->dims[1] == 20 ? weft_keep_f32(x) : x;
}

static size_t narrow_values(const training *t) {
    const wi_partition *const p = &t->plan->partition;
    size_t count = 0;
    for (size_t i = 0; i < p->value_count; i++)
        count += p->values[i].storage >= 0 && p->values[i].format != p->values[i].node->dtype;
    return count;
}

/* The layer of 20 and its gradient are stored in f32, and what is multiplied from them. */
static void one_tensor_is_kept_alone(void **state) {
    training none, one;
    size_t wide = 0;
    (void)state;
    begin(&none, WEFT_PRECISION_BF16, leave);
    begin(&one, WEFT_PRECISION_BF16, keep_none_but_middle);
    const wi_partition *const p = &one.plan->partition;
    for (size_t i = 0; i < p->value_count; i++) {
        const weft_tensor *const node = p->values[i].node;
        if (p->values[i].storage < 0 || node->dtype != WEFT_F32 || node->shape.rank != 2 ||
            node->shape.dims[0] >= 0 || node->shape.dims[1] != 20)
            continue;
        assert_int_equal(p->values[i].format, WEFT_F32);
        wide++;
    }
    assert_true(wide >= 2);
    assert_true(narrow_values(&one) >= 4 && narrow_values(&one) < narrow_values(&none));
    end(&none);
    end(&one);
}

static void other_dtypes_are_refused(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F16, 3);
    assert_null(weft_keep_f32(x));
    assert_weft_fails(
        WEFT_ERROR_DTYPE, weft_graph_status(graph), "keep_f32: takes f32, not f16; weft_cast converts");
    assert_null(weft_keep_f32(NULL));
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_trains_as_in_f32),
        cmocka_unit_test(one_tensor_is_kept_alone),
        cmocka_unit_test(other_dtypes_are_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
