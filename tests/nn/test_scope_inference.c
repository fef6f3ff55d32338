/* What is made in a scope of weft_scope_inference is in its form for inference in plans for training, too; and the log says
 * where a plan that updates nothing computes in the form for training. */
/* test slow */
#include "support/fixture.h"

#include <string.h>
#include <weft/weft.h>

enum { BATCH = 3, CHANNELS = 4, SIDE = 4, COUNT = BATCH * CHANNELS * SIDE * SIDE };

/* Every layer that has two forms. */
static weft_tensor *network_of(weft_tensor *x) {
    const weft_instance_norm_options running = {WEFT_INSTANCE_NORM_OPTIONS_INIT, .running = true};
    weft_tensor *h = weft_instance_norm_layer(weft_batch_norm(x), &running);
    h = weft_dropout(weft_dropout_channels(h, 0.5f), 0.25f);
    h = weft_reshape(h, WEFT_BATCH, SIDE, CHANNELS * SIDE);
    h = weft_multi_head_attention(h, h, h, 2, WEFT_WITH(multi_head, .dropout = 0.5f));
    h = weft_attention(h, h, h, WEFT_WITH(attention, .dropout = 0.5f));
    return weft_lstm(h, 5, WEFT_WITH(recurrent, .layers = 2, .dropout = 0.5f)).y;
}

static weft_tensor *in_scope(weft_tensor *x, bool inference) {
    weft_graph *const graph = weft_tensor_graph(x);
    assert_weft_ok(weft_scope_begin(graph, "net", true));
    assert_weft_ok(weft_scope_inference(graph, inference));
    weft_tensor *const y = network_of(x);
    assert_weft_ok(weft_scope_end(graph));
    assert_weft_ok(weft_graph_status(graph));
    return y;
}

static void compute(weft_tensor *y, weft_tensor *x, bool inference, float *values) {
    static float numbers[COUNT];
    test_random random = test_random_named("scope", 1);
    for (int i = 0; i < COUNT; i++) numbers[i] = (float)test_random_between(&random, -1, 1);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &y, 1, WEFT_WITH(plan, .batch = BATCH, .inference = inference)));
    for (int i = 0; i < 2; i++) {
        assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
        assert_weft_ok(weft_plan_run(plan));
    }
    assert_weft_ok(weft_plan_read(plan, y, values, BATCH * SIDE * 5 * sizeof *values));
    weft_plan_release(plan);
}

static void plans_for_training_compute_what_those_for_inference_do(void **state) {
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_BF16};
    float wanted[BATCH * SIDE * 5], got[BATCH * SIDE * 5], trained[BATCH * SIDE * 5], mean[CHANNELS];
    (void)state;
    for (int k = 0; k < 2; k++) {
        weft_graph *const graph = test_graph();
        assert_weft_ok(weft_graph_set_precision(graph, precisions[k]));
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, CHANNELS, SIDE, SIDE);
        weft_tensor *const y = in_scope(x, false), *const fixed = in_scope(x, true);
        weft_tensor *const moving = weft_graph_find(graph, "net.batchnorm1.running_mean");
        compute(y, x, true, wanted);
        compute(fixed, x, false, got);
        assert_weft_ok(weft_tensor_read(moving, mean, sizeof mean));
        for (int i = 0; i < CHANNELS; i++) assert_true(mean[i] == 0);
        assert_memory_equal(got, wanted, sizeof got);
        compute(y, x, false, trained); /* the same layers elsewhere keep both forms */
        assert_memory_not_equal(trained, wanted, sizeof got);
        assert_weft_ok(weft_tensor_read(moving, mean, sizeof mean));
        assert_true(mean[0] != 0);
        weft_graph_release(graph);
    }
}

/* Parameters of the scope are trained; what the gradient is of is the form for inference. */
static void gradients_flow_through(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){2, 3});
    float numbers[6] = {1, 2, 3, 4, 5, 6};
    float weight[3];
    weft_plan *plan = NULL;
    (void)state;
    assert_weft_ok(weft_scope_begin(graph, "net", false));
    assert_weft_ok(weft_scope_inference(graph, true));
    weft_tensor *const y = weft_dropout(
        weft_batch_norm_layer(x, WEFT_WITH(batch_norm, .name = "norm", .epsilon = WEFT_ZERO)), 0.5f);
    assert_weft_ok(weft_scope_end(graph));
    weft_tensor *const update = weft_train_step(weft_sum(y), weft_sgd(0.5f), NULL);
    assert_weft_ok(weft_plan_create(&plan, &update, 1, NULL));
    assert_weft_ok(weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE(x, numbers))));
    assert_weft_ok(weft_tensor_read(weft_graph_find(graph, "net.norm.weight"), weight, sizeof weight));
    for (int i = 0; i < 3; i++) assert_true(weight[i] == 1 - 0.5f * (float)(2 * i + 5));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void scopes_within_inherit_it(void **state) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3);
    (void)state;
    assert_weft_ok(weft_scope_begin(graph, "outer", false));
    assert_weft_ok(weft_scope_inference(graph, true));
    assert_weft_ok(weft_scope_begin(graph, "inner", false));
    assert_ptr_equal(weft_dropout(x, 0.5f), x);
    assert_weft_ok(weft_scope_inference(graph, false));
    assert_ptr_not_equal(weft_dropout(x, 0.5f), x);
    assert_weft_ok(weft_scope_end(graph));
    assert_ptr_equal(weft_dropout(x, 0.5f), x);
    assert_null(weft_dropout(weft_cast(x, WEFT_I32), 0.5f)); /* it is checked all the same */
    weft_graph_release(graph);
}

static void it_needs_a_scope(void **state) {
    weft_graph *const graph = test_graph();
    (void)state;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_scope_inference(NULL, true), "graph must not be NULL");
    assert_weft_fails(WEFT_ERROR_STATE, weft_scope_inference(graph, true), "no scope is open");
    assert_weft_fails(WEFT_ERROR_STATE, weft_graph_status(graph), "no scope is open");
    weft_graph_release(graph);
}

/* ---- the log ---- */

typedef struct lines {
    size_t count;
    char last[512];
} lines;

static void note(void *user, weft_log_level level, const char *line) {
    lines *const it = user;
    if (level != WEFT_LOG_WARNING || !strstr(line, "as in training")) return;
    it->count++;
    strncpy(it->last, line, sizeof it->last - 1);
}

static weft_tensor *dropout_of(weft_tensor *x) {
    return weft_dropout(x, 0.5f);
}
static weft_tensor *no_dropout_of(weft_tensor *x) {
    return weft_dropout(x, 0);
}
static weft_tensor *norm_of(weft_tensor *x) {
    return weft_batch_norm_layer(x, WEFT_WITH(batch_norm, .name = "norm"));
}
static weft_tensor *frozen_norm_of(weft_tensor *x) {
    weft_tensor *const y = norm_of(x);
    assert_weft_ok(weft_freeze(weft_tensor_graph(x), "norm.running_*", true));
    return y;
}
static weft_tensor *attention_of(weft_tensor *x) {
    x = weft_reshape(x, WEFT_BATCH, 3, 1);
    return weft_attention(x, x, x, WEFT_WITH(attention, .dropout = 0.5f));
}
static weft_tensor *model_of(weft_tensor *x) {
    weft_tensor *image =
        weft_expand(weft_reshape(x, WEFT_BATCH, 1, 1, 3), 4, (const int64_t[]){WEFT_BATCH, 3, 32, 3});
    image = weft_upsample_nearest(image, 11);
    weft_graph *const graph = weft_tensor_graph(x);
    assert_weft_ok(weft_scope_begin(graph, "teacher", false));
    assert_weft_ok(weft_scope_inference(graph, true));
    weft_tensor *const y = weft_resnet18(image, 2, NULL);
    assert_weft_ok(weft_scope_end(graph));
    return y;
}

static void the_log_names_the_first_layer_once(void **state) {
    static const struct {
        weft_tensor *(*layer)(weft_tensor *x);
        bool inference, updates;
        const char *named;
    } rows[] = {
        {dropout_of, false, false, "dropout"},
        {norm_of, false, false, "state 'norm.running_mean'"},
        {attention_of, false, false, "attention"},
        {dropout_of, true, false, NULL},
        {norm_of, false, true, NULL},
        {no_dropout_of, false, false, NULL},
        {frozen_norm_of, false, false, NULL},
        {model_of, false, false, NULL},
    };
    lines seen;
    (void)state;
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .log = note, .log_user = &seen});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *graph = NULL;
        assert_weft_ok(weft_graph_create(&graph, context));
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3);
        weft_tensor *const y = rows[i].layer(weft_mul(x, weft_parameter(graph, "p", weft_fill(1), 3)));
        weft_tensor *const outputs[] = {y, weft_train_step(weft_mean(weft_square(y)), weft_sgd(0.1f), "p")};
        assert_weft_ok(weft_graph_status(graph));
        seen = (lines){0};
        for (int again = 0; again < 2; again++) {
            weft_plan *plan = NULL;
            const weft_plan_options options = {
                WEFT_PLAN_OPTIONS_INIT, .batch = 2, .inference = rows[i].inference, .compile_late = true};
            assert_weft_ok(weft_plan_create(&plan, outputs, rows[i].updates ? 2 : 1, &options));
            weft_plan_release(plan);
        }
        if (seen.count != (rows[i].named ? 1u : 0u) || (rows[i].named && !strstr(seen.last, rows[i].named)))
            fail_msg("row %zu: %zu lines, '%s'", i, seen.count, seen.last);
        weft_graph_release(graph);
    }
    weft_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_for_training_compute_what_those_for_inference_do),
        cmocka_unit_test(gradients_flow_through),
        cmocka_unit_test(scopes_within_inherit_it),
        cmocka_unit_test(it_needs_a_scope),
        cmocka_unit_test(the_log_names_the_first_layer_once),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
