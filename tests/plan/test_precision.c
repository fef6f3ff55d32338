/* Mixed precision: networks train in bf16 as in f32, within what 8 bits of fraction allow; what runs through them is
 * stored in 16 bits, and everything else as it was. */
/* test once slow */
#include "plan/compiled_plan.h"
#include "support/fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { BATCH = 6, LARGE_BATCH = 256, STEPS = 12, MOST = 4096 };

/* ---- networks ---- */

typedef struct network {
    const char *name;
    int64_t dims[3]; /* of an example */
    int rank;
    int64_t tokens; /* 0: x is f32 */
    weft_tensor *(*logits)(weft_tensor *x);
    double narrow_share; /* of the bytes of intermediates in f32, at a large batch, at most */
} network;

static weft_tensor *perceptron(weft_tensor *x) {
    weft_tensor *h = weft_relu(weft_linear(x, 70));
    h = weft_dropout(weft_tanh(weft_linear(h, 65)), 0.2f);
    h = weft_concat((weft_tensor *[]){h, weft_gelu(weft_linear(h, 33))}, 2, 1);
    return weft_linear(h, 5);
}

static weft_tensor *residual(weft_tensor *x) {
    weft_tensor *h = weft_relu(weft_batch_norm(weft_conv2d(x, 8, 3)));
    h = weft_max_pool2d(h, 2);
    weft_tensor *const branch =
        weft_batch_norm(weft_conv2d(weft_relu(weft_batch_norm(weft_conv2d(h, 8, 3))), 8, 3));
    h = weft_relu(weft_add(h, branch));
    return weft_linear(weft_flatten(weft_global_avg_pool(h)), 5);
}

static weft_tensor *transformer(weft_tensor *x) {
    weft_tensor *h = weft_embedding(x, 11, 24);
    weft_tensor *const normal = weft_layer_norm(h);
    h = weft_add(h, weft_multi_head_attention(normal, normal, normal, 3,
                        &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .causal = true}));
    h = weft_add(h, weft_linear(weft_gelu(weft_linear(weft_layer_norm(h), 96)), 24));
    return weft_linear(weft_flatten(h), 5);
}

static const network networks[] = {
    {"perceptron", {37}, 1, 0, perceptron, 0.68},
    {"residual", {3, 12, 12}, 3, 0, residual, 0.92},
    {"transformer", {7}, 1, 11, transformer, 0.83},
};

/* ---- training ---- */

typedef struct training {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *label, *outputs[2 + WEFT_MAX_UPDATES];
} training;

static void begin(
    training *t, const network *net, weft_precision precision, int64_t batch, size_t memory_limit) {
    size_t updates;
    const weft_optimizer optimizer = weft_sgd(0.02f);
    assert_weft_ok(weft_graph_create(&t->graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(t->graph, precision));
    int64_t dims[4] = {WEFT_BATCH};
    memcpy(dims + 1, net->dims, (size_t)net->rank * sizeof *dims);
    t->x = weft_input_shape(t->graph, "x", net->tokens ? WEFT_I32 : WEFT_F32, net->rank + 1, dims);
    t->label = weft_input_shape(t->graph, "label", WEFT_I32, 1, dims);
    t->outputs[1] = net->logits(t->x);
    t->outputs[0] = weft_cross_entropy(t->outputs[1], t->label);
    assert_weft_ok(weft_graph_status(t->graph));
    assert_weft_ok(weft_minimize(t->outputs[0], &optimizer, t->outputs + 2, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(&t->plan, t->outputs, 2 + updates,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = batch, .memory_limit = memory_limit}));
}

static void end(training *t) {
    weft_plan_release(t->plan);
    weft_graph_release(t->graph);
}

static void feed(training *t, const network *net, uint32_t step) {
    static int32_t whole[MOST];
    static float real[MOST];
    int32_t labels[BATCH];
    size_t count = BATCH;
    for (int i = 0; i < net->rank; i++) count *= (size_t)net->dims[i];
    assert_true(count <= MOST);
    uint32_t bits = 17 + step % 3;
    for (size_t i = 0; i < count; i++) {
        bits = bits * 1664525u + 1013904223u;
        real[i] = (float)(bits >> 8) * 0x1p-23f - 1.0f;
        whole[i] = (int32_t)(bits >> 16) % 11;
    }
    for (int i = 0; i < BATCH; i++) labels[i] = (int32_t)(((uint32_t)i + step) % 5);
    const void *const data = net->tokens ? (const void *)whole : real;
    assert_weft_ok(weft_plan_write(t->plan, t->x, data, count * sizeof(float)));
    assert_weft_ok(weft_plan_write(t->plan, t->label, labels, sizeof labels));
}

static void train(const network *net, weft_precision precision, size_t memory_limit, float *losses) {
    training t;
    begin(&t, net, precision, BATCH, memory_limit);
    for (uint32_t step = 0; step < STEPS; step++) {
        feed(&t, net, step);
        assert_weft_ok(weft_plan_run(t.plan));
        assert_weft_ok(weft_plan_read(t.plan, t.outputs[0], &losses[step], sizeof *losses));
    }
    end(&t);
}

/* ---- inference ---- */

/* The logits of a network whose weights are f32, or were saved in the dtype. Returns the most magnitude. */
static float predict(
    const network *net, weft_precision precision, weft_dtype saved, float logits[BATCH * 5]) {
    training t = {0};
    int64_t dims[4] = {WEFT_BATCH};
    float most = 0;
    assert_weft_ok(weft_graph_create(&t.graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(t.graph, precision));
    memcpy(dims + 1, net->dims, (size_t)net->rank * sizeof *dims);
    t.x = weft_input_shape(t.graph, "x", net->tokens ? WEFT_I32 : WEFT_F32, net->rank + 1, dims);
    t.label = weft_input_shape(t.graph, "label", WEFT_I32, 1, dims);
    t.outputs[1] = net->logits(t.x);
    t.outputs[0] = weft_cross_entropy(t.outputs[1], t.label);
    assert_weft_ok(weft_graph_status(t.graph));
    if (saved != WEFT_F32) {
        assert_weft_ok(weft_weights_save_dtype(t.graph, test_path("narrow.safetensors"), saved));
        assert_weft_ok(weft_weights_load(t.graph, test_path("narrow.safetensors"), NULL));
    }
    assert_weft_ok(weft_plan_create(&t.plan, t.outputs, 2,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH, .inference = true}));
    feed(&t, net, 0);
    assert_weft_ok(weft_plan_run(t.plan));
    assert_weft_ok(weft_plan_read(t.plan, t.outputs[1], logits, BATCH * 5 * sizeof *logits));
    for (int i = 0; i < BATCH * 5; i++) most = fmaxf(most, fabsf(logits[i]));
    end(&t);
    return most;
}

static void predictions_follow_those_of_f32(void **state) {
    static const struct {
        weft_precision precision;
        weft_dtype saved;
        float tolerance; /* of the most magnitude */
    } cases[] = {{WEFT_PRECISION_BF16, WEFT_F32, 0.03f}, {WEFT_PRECISION_F16, WEFT_F32, 0.004f},
        {WEFT_PRECISION_BF16, WEFT_BF16, 0.03f}, {WEFT_PRECISION_F16, WEFT_F16, 0.004f},
        {WEFT_PRECISION_F32, WEFT_F16, 0.004f}};
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        float wide[BATCH * 5], narrow[BATCH * 5];
        const float most = predict(&networks[i], WEFT_PRECISION_F32, WEFT_F32, wide);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            (void)predict(&networks[i], cases[k].precision, cases[k].saved, narrow);
            assert_memory_not_equal(narrow, wide, sizeof wide);
            for (int j = 0; j < BATCH * 5; j++)
                if (!(fabsf(narrow[j] - wide[j]) <= cases[k].tolerance * most))
                    fail_msg("%s, case %zu, %d: %g instead of %g", networks[i].name, k, j, (double)narrow[j],
                        (double)wide[j]);
        }
    }
}

/* ---- tests ---- */

static void losses_follow_those_of_f32(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        float wide[STEPS], narrow[STEPS], again[STEPS];
        train(&networks[i], WEFT_PRECISION_F32, 0, wide);
        train(&networks[i], WEFT_PRECISION_BF16, 0, narrow);
        train(&networks[i], WEFT_PRECISION_BF16, 0, again);
        assert_memory_equal(narrow, again, sizeof narrow);
        assert_memory_not_equal(narrow, wide, sizeof narrow);
        for (int step = 0; step < STEPS; step++) {
            if (fabsf(narrow[step] - wide[step]) <= 0.03f * wide[0]) continue;
            fail_msg("%s, step %d: %g in bf16, %g in f32", networks[i].name, step, (double)narrow[step],
                (double)wide[step]);
        }
    }
}

static size_t bytes_of(const network *net, weft_precision precision) {
    training t;
    weft_plan_info info;
    begin(&t, net, precision, LARGE_BATCH, 0);
    assert_weft_ok(weft_plan_get_info(t.plan, &info));
    end(&t);
    return info.arena_lower_bound;
}

static void memory_is_saved(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const double share = (double)bytes_of(&networks[i], WEFT_PRECISION_BF16) /
                             (double)bytes_of(&networks[i], WEFT_PRECISION_F32);
        if (share > networks[i].narrow_share) fail_msg("%s: %g of the bytes in f32", networks[i].name, share);
    }
}

/* What has no business in 16 bits. */
static void the_rest_stays_wide(void **state) {
    training t;
    size_t narrow = 0;
    (void)state;
    begin(&t, &networks[0], WEFT_PRECISION_BF16, BATCH, 0);
    const wi_partition *const p = &t.plan->partition;
    for (size_t i = 0; i < p->value_count; i++) {
        const wi_value *const value = &p->values[i];
        if (value->format == value->node->dtype) continue;
        assert_int_equal(value->format, WEFT_BF16);
        assert_int_equal(value->node->dtype, WEFT_F32);
        assert_true(value->node->op->kind != WI_SOURCE && value->node->op->kind != WI_REDUCE);
        assert_int_not_equal(value->node->shape.dims[0] < 0 || value->node->shape.dims[1] < 0, 0);
        narrow += value->storage >= 0;
    }
    assert_true(narrow >= 4);
    for (size_t i = 0; i < t.plan->request.output_count; i++) {
        if (p->output_values[i] >= 0) assert_int_equal(p->values[p->output_values[i]].format, WEFT_F32);
    }
    end(&t);
}

enum { HIDDEN = 48, CLASSES = 1000 };

/* A step of a classifier whose logits are nobody's output. */
static void plan_of_classifier(weft_graph **graph, weft_plan **plan, weft_precision precision) {
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES];
    size_t updates;
    const weft_optimizer rule = weft_sgd(0.1f);
    assert_weft_ok(weft_graph_create(graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(*graph, precision));
    weft_tensor *const h = weft_relu(weft_linear(weft_input(*graph, "x", WEFT_F32, 20), HIDDEN));
    outputs[0] = weft_cross_entropy(weft_linear(h, CLASSES), weft_input(*graph, "label", WEFT_I32));
    assert_weft_ok(weft_minimize(outputs[0], &rule, outputs + 1, WEFT_MAX_UPDATES, &updates));
    assert_weft_ok(weft_plan_create(
        plan, outputs, 1 + updates, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = LARGE_BATCH}));
}

/* Stored values of (batch, width) in 16 bits. */
static size_t narrow_of(const weft_plan *plan, int64_t width) {
    const wi_partition *const p = &plan->partition;
    size_t count = 0;
    for (size_t i = 0; i < p->value_count; i++) {
        const wi_shape *const shape = &p->values[i].node->shape;
        count += p->values[i].storage >= 0 && p->values[i].format == WEFT_BF16 && shape->rank == 2 &&
                 shape->dims[0] < 0 && shape->dims[1] == width;
    }
    return count;
}

/* Logits, and their gradient, which a loss writes over them, have 16 bits. */
static void logits_and_their_gradient_are_narrow(void **state) {
    weft_graph *graphs[2];
    weft_plan *plans[2];
    weft_plan_info wide, narrow;
    (void)state;
    plan_of_classifier(&graphs[0], &plans[0], WEFT_PRECISION_F32);
    plan_of_classifier(&graphs[1], &plans[1], WEFT_PRECISION_BF16);
    assert_true(narrow_of(plans[1], HIDDEN) >= 1);
    assert_int_equal(narrow_of(plans[1], CLASSES), 2);
    assert_weft_ok(weft_plan_get_info(plans[0], &wide));
    assert_weft_ok(weft_plan_get_info(plans[1], &narrow));
    const double share = (double)narrow.arena_lower_bound / (double)wide.arena_lower_bound;
    if (share > 0.7) fail_msg("%g of the bytes in f32", share);
    for (int i = 0; i < 2; i++) {
        weft_plan_release(plans[i]);
        weft_graph_release(graphs[i]);
    }
}

static void a_memory_limit_changes_no_bit(void **state) {
    const network *const net = &networks[2]; /* the second saves nothing where no engine is used */
    float whole[STEPS], limited[STEPS];
    training t;
    weft_plan_info info;
    (void)state;
    begin(&t, net, WEFT_PRECISION_BF16, BATCH, 0);
    assert_weft_ok(weft_plan_get_info(t.plan, &info));
    end(&t);
    train(net, WEFT_PRECISION_BF16, 0, whole);
    train(net, WEFT_PRECISION_BF16, info.total_bytes / 10 * 9, limited);
    assert_memory_equal(whole, limited, sizeof whole);
}

static void what_is_no_precision_is_refused(void **state) {
    weft_graph *graph;
    (void)state;
    assert_weft_ok(weft_graph_create(&graph, test_context()));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_set_precision(graph, (weft_precision)7),
        "precision is 7, which is not a weft_precision");
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_graph_set_precision(NULL, WEFT_PRECISION_BF16), "graph is NULL");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_follow_those_of_f32),
        cmocka_unit_test(predictions_follow_those_of_f32),
        cmocka_unit_test(memory_is_saved),
        cmocka_unit_test(the_rest_stays_wide),
        cmocka_unit_test(logits_and_their_gradient_are_narrow),
        cmocka_unit_test(a_memory_limit_changes_no_bit),
        cmocka_unit_test(what_is_no_precision_is_refused),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
