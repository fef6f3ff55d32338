/* Adaptive softmax beside torch.nn.AdaptiveLogSoftmaxWithLoss (tests/golden/adaptive_golden.json), with all
 * rows and with a capacity, and bad input. */
/* test slow */
#include "support/fixture.h"
#include "support/golden_file.h"
#include <math.h>
#include <string.h>

enum { MAX_NUMBERS = 1024, MAX_PARAMETERS = 10 };

static size_t read_numbers(const cJSON *object, const char *name, float *numbers) {
    const size_t count = golden_numbers(golden_member(object, name), numbers, MAX_NUMBERS);
    assert_true(count > 0);
    return count;
}

static void assert_near(
    const char *what, weft_plan *plan, weft_tensor *tensor, const cJSON *c, const char *name) {
    static float got[MAX_NUMBERS], wanted[MAX_NUMBERS];
    const size_t count = read_numbers(c, name, wanted);
    assert_weft_ok(weft_plan_read(plan, tensor, got, count * sizeof *got));
    float largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmaxf(largest, fabsf(wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 1e-5f * largest))
            fail_msg("%s %s[%zu] is %g, PyTorch's %g", what, name, i, (double)got[i], (double)wanted[i]);
}

/* A case of the file in a graph that may hold others. */
typedef struct net {
    const cJSON *c;
    weft_graph *graph;
    char prefix[32]; /* of its parameters */
    weft_tensor *x, *labels, *loss, *log_prob, *gradients[MAX_PARAMETERS + 1], *wrt[MAX_PARAMETERS + 1];
    size_t count; /* of wrt: x, then the parameters */
} net;

static net build(weft_graph *graph, int number, const cJSON *c, const float *capacities) {
    net n = {.c = c, .graph = graph};
    int64_t cutoffs[WEFT_MAX_CLUSTERS];
    size_t count = 0;
    const size_t before = weft_graph_parameter_count(graph);
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(c, "cutoffs")) cutoffs[count++] =
        (int64_t)item->valuedouble;
    const int64_t width = (int64_t)golden_number(c, "width", 0), rows = (int64_t)golden_number(c, "rows", 0);
    snprintf(n.prefix, sizeof n.prefix, "adaptive_softmax%d.", number);
    n.x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){rows, width});
    n.labels = weft_input_shape(graph, "labels", WEFT_I32, 1, &rows);
    weft_adaptive_softmax *softmax =
        weft_adaptive_softmax_layer(graph, width, (int64_t)golden_number(c, "classes", 0), cutoffs, count,
            &(weft_adaptive_softmax_options){WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT,
                .divisor = (float)golden_number(c, "divisor", 0),
                .head_bias = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(c, "bias")),
                .capacities = capacities});
    n.loss = weft_adaptive_softmax_loss(softmax, n.x, n.labels);
    n.log_prob = weft_adaptive_softmax_log_prob(softmax, n.x);
    n.wrt[n.count++] = n.x;
    for (size_t i = before; i < weft_graph_parameter_count(graph); i++)
        n.wrt[n.count++] = weft_graph_parameter(graph, i);
    assert_weft_ok(weft_gradients(n.loss, n.wrt, n.count, n.gradients));
    return n;
}

static size_t add_outputs(const net *n, weft_tensor **outputs) {
    outputs[0] = n->loss;
    outputs[1] = n->log_prob;
    for (size_t i = 0; i < n->count; i++) outputs[2 + i] = n->gradients[i];
    return n->count + 2;
}

static void write_case(const net *n, weft_plan *plan) {
    static float numbers[MAX_NUMBERS];
    static int32_t labels[MAX_NUMBERS];
    size_t count = read_numbers(n->c, "labels", numbers);
    for (size_t i = 0; i < count; i++) labels[i] = (int32_t)numbers[i];
    assert_weft_ok(weft_plan_write(plan, n->labels, labels, count * sizeof *labels));
    count = read_numbers(n->c, "x", numbers);
    assert_weft_ok(weft_plan_write(plan, n->x, numbers, count * sizeof *numbers));
    const cJSON *p;
    cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(n->c, "parameters")) {
        char name[96];
        snprintf(name, sizeof name, "%s%s", n->prefix,
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(p, "name")));
        count = read_numbers(p, "data", numbers);
        weft_tensor *const parameter = weft_graph_find(n->graph, name);
        assert_non_null(parameter);
        assert_weft_ok(weft_tensor_write(parameter, numbers, count * sizeof *numbers));
    }
}

static void check_case(const net *n, weft_plan *plan) {
    const cJSON *const parameters = cJSON_GetObjectItemCaseSensitive(n->c, "parameters"), *p;
    assert_int_equal(n->count, 1 + cJSON_GetArraySize(parameters));
    float loss;
    const double wanted = golden_number(n->c, "loss", 0);
    assert_weft_ok(weft_plan_read(plan, n->loss, &loss, sizeof loss));
    assert_true(fabs((double)loss - wanted) <= 1e-6 * wanted);
    assert_near(n->prefix, plan, n->log_prob, n->c, "log_prob");
    assert_near(n->prefix, plan, n->gradients[0], n->c, "x_gradient");
    cJSON_ArrayForEach(p, parameters) {
        const char *const own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(p, "name"));
        size_t i = 1;
        while (strcmp(weft_tensor_name(n->wrt[i]) + strlen(n->prefix), own) != 0) i++;
        assert_near(own, plan, n->gradients[i], p, "gradient");
    }
}

/* The part of all rows that a tail's labels are, and half a row more. */
static void tight_capacities(const cJSON *c, float *capacities, double slack) {
    const cJSON *const cutoffs = cJSON_GetObjectItemCaseSensitive(c, "cutoffs"), *item;
    const int count = cJSON_GetArraySize(cutoffs);
    const double rows = golden_number(c, "rows", 0);
    for (int i = 0; i < count; i++) {
        const double begin = cJSON_GetArrayItem(cutoffs, i)->valuedouble;
        const double end =
            i + 1 < count ? cJSON_GetArrayItem(cutoffs, i + 1)->valuedouble : golden_number(c, "classes", 0);
        double inside = 0;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(c, "labels")) inside +=
            item->valuedouble >= begin && item->valuedouble < end;
        capacities[i] = (float)(fmin(fmax(inside + slack, 0.5), rows) / rows);
    }
}

/* Each case with all rows and with just enough; all in one plan. */
static void test_like_pytorch(void **state) {
    (void)state;
    enum { CASES = 3 };
    static net nets[2 * CASES];
    weft_tensor *outputs[2 * CASES * (MAX_PARAMETERS + 3)];
    cJSON *const root = golden_file("adaptive_golden.json");
    weft_graph *const graph = test_graph();
    const cJSON *c;
    int count = 0;
    size_t output_count = 0;
    cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(root, "cases")) {
        float capacities[WEFT_MAX_CLUSTERS];
        if (test_reduced() && count) break;
        tight_capacities(c, capacities, 0);
        for (int tight = 0; tight < 2; tight++, count++) {
            assert_true(count < 2 * CASES);
            nets[count] = build(graph, count + 1, c, tight ? capacities : NULL);
            output_count += add_outputs(&nets[count], outputs + output_count);
        }
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, output_count, NULL));
    for (int i = 0; i < count; i++) write_case(&nets[i], plan);
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < count; i++) check_case(&nets[i], plan);
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(root);
}

/* One row too little: told, not left out in silence. */
static void test_more_than_capacity(void **state) {
    (void)state;
    cJSON *const root = golden_file("adaptive_golden.json");
    const cJSON *const c = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "cases"), 1);
    float capacities[WEFT_MAX_CLUSTERS], loss;
    tight_capacities(c, capacities, -1);
    weft_graph *const graph = test_graph();
    net n = build(graph, 1, c, capacities);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, &n.loss, 1, NULL));
    write_case(&n, plan);
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, n.loss, &loss, sizeof loss),
        "adaptive_softmax: a cluster has more labels than its capacity, first at position", "of the labels");
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(root);
}

/* Ignored labels lose nothing and are not counted; one that is no class is an error. Sequences of a batch. */
static void test_ignored_labels(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 3, 4),
                *labels = weft_input(graph, "labels", WEFT_I32, 3);
    const float halves[] = {0.5f, 0.5f};
    weft_adaptive_softmax *softmax = weft_adaptive_softmax_layer(graph, 4, 8, (const int64_t[]){2, 5}, 2,
        &(weft_adaptive_softmax_options){
            WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, .divisor = 2, .capacities = halves});
    weft_tensor *outputs[] = {
        weft_adaptive_softmax_loss(softmax, x, labels), weft_exp(weft_adaptive_softmax_log_prob(softmax, x))};
    weft_plan *plan;
    float data[24], p[2][3][8], loss;
    for (int i = 0; i < 24; i++) data[i] = (float)(i % 7) - 3;
    assert_weft_ok(
        weft_plan_create(&plan, outputs, 2, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    assert_weft_ok(weft_plan_write(plan, x, data, sizeof data));
    assert_weft_ok(weft_plan_write(plan, labels, (const int32_t[]){1, -100, 3, 7, -100, 0}, 24));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, outputs[0], &loss, sizeof loss));
    assert_weft_ok(weft_plan_read(plan, outputs[1], p, sizeof p));
    for (int row = 0; row < 6; row++) {
        double sum = 0;
        for (int k = 0; k < 8; k++) sum += (double)p[row / 3][row % 3][k];
        assert_true(fabs(sum - 1) < 1e-5);
    }
    const double wanted = -(log((double)p[0][0][1]) + log((double)p[0][2][3]) + log((double)p[1][0][7]) +
                              log((double)p[1][2][0])) /
                          4;
    assert_true(fabs((double)loss - wanted) < 1e-5);
    for (int32_t bad = -1; bad <= 8; bad += 9) {
        assert_weft_ok(weft_plan_write(plan, labels, (const int32_t[]){1, 1, bad, 1, 1, 1}, 24));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, outputs[0], &loss, sizeof loss),
            bad < 0 ? "adaptive_softmax: a label is -1, not in 0..7"
                    : "adaptive_softmax: a label is 8, not in 0..7");
        assert_true(isnan(loss));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static void assert_refused(weft_status status, const char *line, int64_t width, int64_t classes,
    const int64_t *cutoffs, size_t count, weft_adaptive_softmax_options options) {
    weft_graph *graph = test_graph();
    assert_null(weft_adaptive_softmax_layer(graph, width, classes, cutoffs, count, &options));
    assert_weft_fails(status, weft_graph_status(graph), line);
    weft_graph_release(graph);
}
#define OPTIONS(...) ((weft_adaptive_softmax_options){WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, __VA_ARGS__})

static void test_bad_input(void **state) {
    (void)state;
    const weft_status argument = WEFT_ERROR_ARGUMENT;
    const int64_t good[] = {2, 5}, falling[] = {5, 2}, zero[] = {0, 5};
    const float none[] = {1, 0};
    const char *const cutoffs =
        "expected 1 to 16 cutoffs in ascending order, each from 1 to below the 8 classes";
    assert_refused(argument, cutoffs, 4, 8, falling, 2, OPTIONS(.divisor = 2));
    assert_refused(argument, cutoffs, 4, 8, zero, 2, OPTIONS(.divisor = 2));
    assert_refused(argument, cutoffs, 4, 8, good, 0, OPTIONS(.divisor = 2));
    assert_refused(argument, "below the 5 classes", 4, 5, good, 2, OPTIONS(.divisor = 2));
    assert_refused(argument, "divisor is 0.5, expected 1 or more", 4, 8, good, 2, OPTIONS(.divisor = 0.5f));
    assert_refused(argument, "cluster 1 would have the width 4 / 4^2, which is below 1", 4, 8, good, 2,
        OPTIONS(.divisor = 0));
    assert_refused(argument, "capacity 1 is 0, expected above 0, at most 1", 4, 8, good, 2,
        OPTIONS(.divisor = 2, .capacities = none));
    assert_refused(argument, "the options have struct_size 1", 4, 8, good, 2,
        (weft_adaptive_softmax_options){.struct_size = 1});
    weft_graph *graph = test_graph();
    weft_adaptive_softmax *softmax =
        weft_adaptive_softmax_layer(graph, 4, 8, good, 2, &OPTIONS(.divisor = 2));
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 3, 4),
                *labels = weft_input(graph, "labels", WEFT_I32, 4);
    assert_null(weft_adaptive_softmax_loss(softmax, x, labels));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph),
        "labels are i32 (batch, 4), expected i32 of the shape of x (batch, 3, 4) without its last axis");
    weft_graph_release(graph);
    graph = test_graph();
    softmax = weft_adaptive_softmax_layer(graph, 4, 8, good, 2, &OPTIONS(.divisor = 2));
    assert_null(weft_adaptive_softmax_log_prob(softmax, weft_input(graph, "x", WEFT_F32, 5)));
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_graph_status(graph), "x is f32 (batch, 5), expected f32 (..., 4)");
    weft_graph_release(graph);
}

/* With the layer's own weights the other form is the same nodes. */
static void test_given_weights(void **state) {
    (void)state;
    const int64_t cutoffs[] = {2, 5};
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4), *const labels =
                                                                    weft_input(graph, "t", WEFT_I32);
    weft_adaptive_softmax *const own =
        weft_adaptive_softmax_layer(graph, 4, 8, cutoffs, 2, &OPTIONS(.divisor = 2, .head_bias = true));
    weft_tensor *projections[] = {weft_graph_find(graph, "adaptive_softmax1.tail.0.0.weight"),
        weft_graph_find(graph, "adaptive_softmax1.tail.1.0.weight")};
    weft_tensor *const tails[] = {weft_graph_find(graph, "adaptive_softmax1.tail.0.1.weight"),
        weft_graph_find(graph, "adaptive_softmax1.tail.1.1.weight")};
    weft_adaptive_softmax_weights weights = {weft_graph_find(graph, "adaptive_softmax1.head.weight"),
        weft_graph_find(graph, "adaptive_softmax1.head.bias"), projections, tails};
    weft_adaptive_softmax *const given = weft_adaptive_softmax_with(8, cutoffs, 2, &weights, NULL);
    assert_non_null(given);
    assert_ptr_equal(
        weft_adaptive_softmax_loss(given, x, labels), weft_adaptive_softmax_loss(own, x, labels));
    assert_ptr_equal(weft_adaptive_softmax_log_prob(given, x), weft_adaptive_softmax_log_prob(own, x));
    projections[1] = projections[0];
    assert_null(weft_adaptive_softmax_with(8, cutoffs, 2, &weights, NULL));
    assert_weft_fails(
        WEFT_ERROR_SHAPE, weft_graph_status(graph), "tail_weights[1] is f32 (3, 1), expected f32 (3, 2)");
    weft_graph_release(graph);
}

static void assert_weights_refused(const char *line, bool no_tails, weft_adaptive_softmax_options options) {
    const int64_t cutoff = 2;
    weft_graph *const graph = test_graph();
    weft_tensor *const tail = weft_parameter(graph, "tail", weft_zeros(), 6, 4), *const projection =
                                                                                     weft_parameter(graph,
                                                                                         "projection",
                                                                                         weft_zeros(), 4, 4);
    const weft_adaptive_softmax_weights weights = {
        .head_weight = weft_parameter(graph, "head", weft_zeros(), 3, 4),
        .projections = &projection,
        .tail_weights = no_tails ? NULL : &tail};
    assert_null(weft_adaptive_softmax_with(8, &cutoff, 1, &weights, &options));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), line);
    weft_graph_release(graph);
}

static void test_bad_weights(void **state) {
    (void)state;
    assert_weights_refused("tail_weights[0] is NULL", true, OPTIONS(.divisor = 0));
    assert_weights_refused(
        "the options name, divisor and head_bias must not be set", false, OPTIONS(.divisor = 2));
    const int64_t cutoff = 2;
    assert_null(weft_adaptive_softmax_with(8, &cutoff, 1, NULL, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_pytorch),
        cmocka_unit_test(test_more_than_capacity),
        cmocka_unit_test(test_ignored_labels),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_given_weights),
        cmocka_unit_test(test_bad_weights),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
