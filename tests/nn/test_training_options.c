/* What stands around an optimizer: groups, frozen parameters, accumulation, averages, the number of launches.
 * Loss: the mean of squares, of two elementwise layers. */
#include "cl/context.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <weft/weft.h>

enum { IN = 19, BATCH = 3, LARGEST = IN };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x, *loss;
} network;

/* Two elementwise layers: few kernels to compile. */
static network make_network(void) {
    static const char *const names[] = {"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"};
    network net;
    weft_tensor *p[4];
    assert_ok(weft_graph_create(&net.graph, test_context()));
    for (size_t i = 0; i < 4; i++) p[i] = weft_parameter(net.graph, names[i], weft_init_uniform(0.2f, 1), IN);
    net.x = weft_input(net.graph, "x", WEFT_F32, IN);
    weft_tensor *const h = weft_tanh(weft_add(weft_mul(net.x, p[0]), p[1]));
    net.loss = weft_mean(weft_square(weft_add(weft_mul(h, p[2]), p[3])));
    assert_ok(weft_graph_status(net.graph));
    return net;
}

static weft_plan *training_plan(const network *net, const weft_optimizer *optimizer, int64_t batch) {
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t count = 0;
    weft_plan *plan = NULL;
    assert_ok(weft_minimize(net->loss, optimizer, updates, WEFT_MAX_UPDATES, &count));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = batch};
    assert_ok(weft_plan_create(&plan, updates, count, &options));
    return plan;
}

static void train(weft_plan *plan, const network *net, int64_t batch, int runs) {
    float x[BATCH][IN];
    for (size_t i = 0; i < BATCH * IN; i++) x[i / IN][i % IN] = (float)(i * 7 % 11) / 8.0f - 0.5f;
    assert_ok(weft_plan_write(plan, net->x, x, (size_t)batch * sizeof *x));
    for (int run = 0; run < runs; run++) assert_ok(weft_plan_run(plan));
}

static size_t read_values(const network *net, const char *name, float values[LARGEST]) {
    weft_tensor *const tensor = weft_graph_find(net->graph, name);
    assert_non_null(tensor);
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(tensor); i++) count *= (size_t)weft_tensor_dimension(tensor, i);
    assert_ok(weft_tensor_read(tensor, values, count * sizeof *values));
    return count;
}

static bool equal(const float *a, const float *b, size_t count) {
    return memcmp(a, b, count * sizeof *a) == 0;
}

/* ---- launches ---- */

/* Weights and biases of sizes that leave gaps in the flat tensors. */
static network make_vectors(int count) {
    network net = {0};
    assert_ok(weft_graph_create(&net.graph, test_context()));
    for (int i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.%s", i, i % 2 ? "bias" : "weight");
        weft_tensor *const p = weft_parameter(net.graph, name, weft_fill(1), 3001);
        weft_tensor *const part = weft_sum(weft_square(p));
        net.loss = i ? weft_add(net.loss, part) : part;
    }
    return net;
}

static size_t launches(int count, const weft_optimizer *optimizer) {
    const network net = make_vectors(count);
    weft_plan *const plan = training_plan(&net, optimizer, 1);
    weft_plan_info info;
    assert_ok(weft_plan_get_info(plan, &info));
    weft_plan_release(plan);
    weft_graph_release(net.graph);
    return info.launches;
}

/* 3 and 8 tensors, 9,000 and 24,000 numbers: a norm over so many is cut into parts, which in class cpu are added up in a
 * launch of their own. */
static void launches_do_not_grow_with_the_parameters(void **state) {
    (void)state;
    const weft_parameter_group group = {"*.bias", 2, 0};
    weft_optimizer plain = weft_sgd(0.1f), norm = weft_adamw(0.1f, 0.1f), lamb = weft_lamb(0.1f, 0.1f);
    weft_optimizer rich = norm;
    norm.clip_norm = 1;
    rich.clip_value = 1;
    rich.accumulate = 2;
    rich.average_decay = 0.9f;
    rich.amsgrad = true;
    rich.groups = lamb.groups = &group;
    rich.group_count = lamb.group_count = 1;
    const size_t sums = wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU;
    for (int count = 3; count <= 8; count += 5) {
        const size_t gradients = launches(count, &plain) - 1;
        assert_int_equal(launches(count, &rich), gradients + 1);
        assert_int_equal(launches(count, &norm), gradients + 2 + sums);
        assert_int_equal(launches(count, &lamb), gradients + 4);
    }
}

/* ---- groups ---- */

/* The first SGD step of each parameter is rate·factor·(g + decay·p): two plans that differ in the group. */
static void groups_mean_the_parameters_they_name(void **state) {
    (void)state;
    static const char *const names[] = {"linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias"};
    const weft_parameter_group groups[] = {{"*.bias", 3, 0}, {"linear2.w*", 0.5f, 0.25f}};
    const double factors[] = {1, 3, 0.5, 3}, decays[] = {0.125, 0, 0.25, 0};
    static float before[4][LARGEST], plain[LARGEST], grouped[LARGEST];
    weft_optimizer sgd = weft_sgd(0.1f);
    const network a = make_network(), b = make_network();
    weft_plan *const plan_a = training_plan(&a, &sgd, BATCH);
    sgd.weight_decay = 0.125f;
    sgd.groups = groups;
    sgd.group_count = 2;
    weft_plan *const plan_b = training_plan(&b, &sgd, BATCH);
    for (size_t i = 0; i < 4; i++) read_values(&a, names[i], before[i]);
    train(plan_a, &a, BATCH, 1);
    train(plan_b, &b, BATCH, 1);
    for (size_t i = 0; i < 4; i++) {
        const size_t count = read_values(&a, names[i], plain);
        read_values(&b, names[i], grouped);
        for (size_t k = 0; k < count; k++) {
            const double p = (double)before[i][k], step = p - (double)plain[k];
            const double expected = p - factors[i] * (step + 0.1 * decays[i] * p);
            if (fabs((double)grouped[k] - expected) > 1e-6)
                fail_msg("%s[%zu]: %g instead of %g", names[i], k, (double)grouped[k], expected);
        }
    }
    weft_plan_release(plan_a);
    weft_plan_release(plan_b);
    weft_graph_release(a.graph);
    weft_graph_release(b.graph);
}

/* ---- frozen parameters ---- */

static void frozen_parameters_keep_their_bits(void **state) {
    (void)state;
    static float before[3][LARGEST], after[LARGEST];
    static const char *const frozen[] = {"linear1.weight", "linear1.bias", "linear2.bias"};
    size_t count = 0;
    const network net = make_network();
    weft_optimizer adam = weft_adamw(0.1f, 0.5f);
    adam.epsilon = 0; /* 0 / 0 where there is no gradient */
    adam.clip_norm = 1;
    for (size_t i = 0; i < 3; i++) read_values(&net, frozen[i], before[i]);
    assert_ok(weft_freeze(net.graph, "linear1.*", true));
    assert_ok(weft_freeze(net.graph, "linear2.bias", true));
    weft_plan *plan = training_plan(&net, &adam, BATCH);
    train(plan, &net, BATCH, 3);
    for (size_t i = 0; i < 3; i++) {
        count = read_values(&net, frozen[i], after);
        assert_true(equal(before[i], after, count));
    }
    count = read_values(&net, "linear2.weight", before[0]);
    train(plan, &net, BATCH, 1);
    read_values(&net, "linear2.weight", after);
    assert_false(equal(before[0], after, count));
    /* Thawed ones stay as they are in this plan, and move in that of the next weft_minimize. */
    count = read_values(&net, "linear1.bias", before[0]);
    assert_ok(weft_freeze(net.graph, "*", false));
    train(plan, &net, BATCH, 1);
    read_values(&net, "linear1.bias", after);
    assert_true(equal(before[0], after, count));
    weft_plan_release(plan);
    plan = training_plan(&net, &adam, BATCH);
    train(plan, &net, BATCH, 1);
    read_values(&net, "linear1.bias", after);
    assert_false(equal(before[0], after, count));
    weft_plan_release(plan);
    weft_graph_release(net.graph);
}

/* ---- accumulation ---- */

/* Runs of two batch sizes count together; all but the third leave the parameters alone. */
static void accumulation_waits_for_its_last_run(void **state) {
    (void)state;
    static float before[LARGEST], after[LARGEST];
    const network net = make_network();
    weft_optimizer adam = weft_adam(0.1f);
    adam.accumulate = 3;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plans[2] = {NULL};
    size_t made = 0;
    assert_ok(weft_minimize(net.loss, &adam, updates, WEFT_MAX_UPDATES, &made));
    for (int i = 0; i < 2; i++) {
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = BATCH - i};
        assert_ok(weft_plan_create(&plans[i], updates, made, &options));
    }
    for (int run = 1; run <= 6; run++) {
        const size_t count = read_values(&net, "linear1.weight", before);
        train(plans[run % 2], &net, BATCH - run % 2, 1);
        read_values(&net, "linear1.weight", after);
        assert_int_equal(equal(before, after, count), run % 3 != 0);
    }
    for (int i = 0; i < 2; i++) weft_plan_release(plans[i]);
    weft_graph_release(net.graph);
}

/* A second optimizer of the graph begins at t = 1: Adam's first step is the rate, whatever came before. */
static void each_optimizer_counts_its_own_updates(void **state) {
    (void)state;
    static float before[LARGEST], after[LARGEST];
    const network net = make_network();
    const weft_optimizer first = weft_adam(0.01f), second = weft_adam(0.02f);
    weft_plan *const early = training_plan(&net, &first, BATCH);
    train(early, &net, BATCH, 20);
    weft_plan *const late = training_plan(&net, &second, BATCH);
    const size_t count = read_values(&net, "linear2.weight", before);
    train(late, &net, BATCH, 1);
    read_values(&net, "linear2.weight", after);
    for (size_t i = 0; i < count; i++)
        assert_true(fabs(fabs((double)before[i] - (double)after[i]) - 0.02) < 1e-4);
    weft_plan_release(early);
    weft_plan_release(late);
    weft_graph_release(net.graph);
}

/* ---- averages ---- */

enum { AVERAGED = 200003 }; /* two of them: more than a piece of 2^20 bytes */

static network make_squares(void) {
    network net = {0};
    assert_ok(weft_graph_create(&net.graph, test_context()));
    weft_tensor *const a = weft_parameter(net.graph, "a", weft_init_normal(0, 1), AVERAGED);
    weft_tensor *const b = weft_parameter(net.graph, "b", weft_init_normal(0, 1), AVERAGED);
    net.loss = weft_sum(weft_square(weft_add(a, weft_mul(b, weft_number(b, 2)))));
    return net;
}

static void the_average_changes_places_with_the_parameters(void **state) {
    (void)state;
    static float trained[AVERAGED], average[AVERAGED], again[AVERAGED], saved[AVERAGED];
    const network net = make_squares(), copy = make_squares();
    weft_optimizer sgd = weft_sgd(0.01f);
    sgd.average_decay = 0.75f;
    weft_plan *const plan = training_plan(&net, &sgd, 1);
    assert_fails(weft_average_swap(net.graph), WEFT_ERROR_STATE, "before the first update");
    assert_ok(weft_plan_run(plan));
    read_values(&net, "b", trained);
    assert_ok(weft_average_swap(net.graph));
    read_values(&net, "b", average);
    assert_true(equal(trained, average, AVERAGED)); /* the first average is the first result */
    assert_ok(weft_average_swap(net.graph));
    assert_ok(weft_plan_run(plan));
    read_values(&net, "b", again);
    assert_false(equal(trained, again, AVERAGED));
    assert_ok(weft_average_swap(net.graph));
    read_values(&net, "b", average);
    for (size_t i = 0; i < AVERAGED; i++) {
        const double expected = 0.75 * (double)trained[i] + 0.25 * (double)again[i];
        assert_true(fabs((double)average[i] - expected) < 1e-6);
    }
    char *const folder = scratch_make();
    const char *const path = scratch_path(folder, "average.safetensors");
    assert_ok(weft_weights_save(net.graph, path));
    assert_ok(weft_weights_load(copy.graph, path, NULL));
    read_values(&copy, "b", saved);
    assert_true(equal(saved, average, AVERAGED));
    assert_fails(weft_plan_run(plan), WEFT_ERROR_STATE, "swap them back before training");
    assert_ok(weft_average_swap(net.graph));
    read_values(&net, "b", trained);
    assert_true(equal(trained, again, AVERAGED));
    assert_ok(weft_plan_run(plan));
    scratch_remove(folder);
    weft_plan_release(plan);
    weft_graph_release(net.graph);
    weft_graph_release(copy.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_do_not_grow_with_the_parameters),
        cmocka_unit_test(groups_mean_the_parameters_they_name),
        cmocka_unit_test(frozen_parameters_keep_their_bits),
        cmocka_unit_test(accumulation_waits_for_its_last_run),
        cmocka_unit_test(each_optimizer_counts_its_own_updates),
        cmocka_unit_test(the_average_changes_places_with_the_parameters),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
