/* The digits MLP follows PyTorch's loss curve from the same weights and batches (digits_golden.json, recorded
 * by make_digits_golden.py beside it). */

#include "support/checks.h"
#include "support/golden_file.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { STEPS = 20, BATCH = 32, PIXELS = 64 };
static const double tolerance = 1e-4; /* relative */

static weft_context *context;
static weft_dataset *digits;
static cJSON *golden;

static int set_up(void **state) {
    (void)state;
    golden = golden_file("digits_golden.json");
    assert_ok(weft_context_create(&context, NULL));
    assert_ok(weft_dataset_open_idx(&digits, context, WEFT_SOURCE_DIR "/data/digits", "train"));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    weft_dataset_release(digits);
    weft_context_release(context);
    cJSON_Delete(golden);
    return 0;
}

typedef struct network {
    weft_graph *graph;
    weft_tensor *image, *label, *logits, *loss;
} network;

static void write_weights(weft_graph *graph) {
    static const struct {
        const char *name;
        size_t count;
        float scale;
    } parameters[] = {{"linear1.weight", 128 * 64, 0.125f}, {"linear1.bias", 128, 0.125f},
        {"linear2.weight", 10 * 128, 0.0625f}, {"linear2.bias", 10, 0.0625f}};
    static float values[128 * 64];
    for (uint32_t number = 0; number < 4; number++) {
        const size_t count = parameters[number].count;
        for (uint32_t i = 0; i < count; i++) values[i] = golden_weight(number, i, parameters[number].scale);
        weft_tensor *const tensor = weft_graph_find(graph, parameters[number].name);
        assert_non_null(tensor);
        assert_ok(weft_tensor_write(tensor, values, count * sizeof *values));
    }
}

static network make_network(void) {
    network net = {0};
    assert_ok(weft_graph_create(&net.graph, context));
    net.image = weft_input(net.graph, "image", WEFT_F32, 1, 8, 8);
    net.label = weft_input(net.graph, "label", WEFT_I32);
    net.logits = weft_linear(weft_relu(weft_linear(weft_flatten(net.image), 128)), 10);
    net.loss = weft_cross_entropy(net.logits, net.label);
    assert_ok(weft_graph_status(net.graph));
    write_weights(net.graph);
    return net;
}

static double golden_loss(const char *curve, int step) {
    const cJSON *const item = cJSON_GetArrayItem(cJSON_GetObjectItem(golden, curve), step);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void assert_close(double got, double expected, const char *curve, int step) {
    if (fabs(got - expected) <= tolerance * fabs(expected)) return;
    print_error("%s, step %d: loss %.7g, PyTorch's %.7g\n", curve, step, got, expected);
    fail();
}

/* By hand: every step's loss. */
static void follow_with_a_plan(const char *curve, weft_optimizer optimizer) {
    const network net = make_network();
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES] = {net.loss};
    size_t updates = 0;
    weft_plan *plan = NULL;
    assert_ok(weft_minimize(net.loss, &optimizer, outputs + 1, WEFT_MAX_UPDATES, &updates));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH};
    assert_ok(weft_plan_create(&plan, outputs, 1 + updates, &options));
    const float *const images = weft_dataset_column(digits, 0)->data;
    const int32_t *const labels = weft_dataset_column(digits, 1)->data;
    for (int step = 0; step < STEPS; step++) {
        float loss = 0.0f;
        const size_t first = (size_t)step * BATCH;
        assert_ok(weft_plan_write(plan, net.image, images + first * PIXELS, BATCH * PIXELS * sizeof *images));
        assert_ok(weft_plan_write(plan, net.label, labels + first, BATCH * sizeof *labels));
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, net.loss, &loss, sizeof loss));
        assert_close((double)loss, golden_loss(curve, step), curve, step);
    }
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

static bool keep_loss(void *user, const weft_epoch *state) {
    *(double *)user = state->loss;
    return true;
}

/* By the trainer, in the dataset's order: the mean of them. */
static void follow_with_the_trainer(const char *curve, weft_optimizer optimizer) {
    const network net = make_network();
    const weft_column columns[] = {*weft_dataset_column(digits, 0), *weft_dataset_column(digits, 1)};
    weft_dataset *first = NULL;
    weft_trainer *trainer = NULL;
    double mean = 0.0, expected = 0.0;
    assert_ok(weft_dataset_from_memory(&first, context, (size_t)STEPS * BATCH, columns, 2));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = optimizer, .batch = BATCH,
        .keep_order = true, .on_epoch = keep_loss, .user = &mean};
    assert_ok(weft_trainer_create(&trainer, net.loss, &options));
    assert_ok(weft_trainer_run(trainer, first));
    for (int step = 0; step < STEPS; step++) expected += golden_loss(curve, step) / STEPS;
    assert_close(mean, expected, curve, STEPS);
    weft_trainer_release(trainer);
    weft_dataset_release(first);
    weft_graph_release(net.graph);
}

static void sgd_follows_pytorch(void **state) {
    (void)state;
    follow_with_a_plan("sgd", weft_sgd(0.1f));
    follow_with_the_trainer("sgd", weft_sgd(0.1f));
}

static void sgd_with_momentum_and_decay_follows_pytorch(void **state) {
    (void)state;
    follow_with_a_plan("sgd_momentum", weft_sgd_momentum(0.05f, 0.9f, 0.01f));
    follow_with_the_trainer("sgd_momentum", weft_sgd_momentum(0.05f, 0.9f, 0.01f));
}

static void adam_follows_pytorch(void **state) {
    (void)state;
    follow_with_a_plan("adam", weft_adam(1e-3f));
    follow_with_the_trainer("adam", weft_adam(1e-3f));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sgd_follows_pytorch),
        cmocka_unit_test(sgd_with_momentum_and_decay_follows_pytorch),
        cmocka_unit_test(adam_follows_pytorch),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
