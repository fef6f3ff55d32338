/* Layers of norms: running statistics over several steps beside PyTorch's
 * (tests/golden/normalization_golden.json). */
#include "support/fixture.h"

#include "support/golden_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 64, MAX_CASES = 8, MAX_WRT = 3 };

static bool flag(const cJSON *object, const char *name) {
    return cJSON_IsTrue(golden_member(object, name));
}

static float real(const cJSON *object, const char *name) {
    return golden_member(object, name) ? (float)cJSON_GetNumberValue(golden_member(object, name)) : 0;
}

typedef struct golden {
    const cJSON *json;
    const char *name;
    weft_tensor *x, *weights, *y, *wrt[MAX_WRT], *gradients[MAX_WRT];
    size_t count; /* of wrt: x, weight, bias */
} golden;

static weft_tensor *layer_of(const cJSON *c, weft_tensor *x) {
    const char *const name = cJSON_GetStringValue(golden_member(c, "name"));
    if (strcmp(cJSON_GetStringValue(golden_member(c, "kind")), "batch") == 0)
        return weft_batch_norm_layer(
            x, &(weft_batch_norm_options){WEFT_BATCH_NORM_OPTIONS_INIT, .name = name,
                   .momentum = real(c, "momentum"), .epsilon = real(c, "epsilon"),
                   .cumulative = flag(c, "cumulative"), .no_affine = flag(c, "no_affine"),
                   .no_running = flag(c, "no_running")});
    return weft_instance_norm_layer(
        x, &(weft_instance_norm_options){WEFT_INSTANCE_NORM_OPTIONS_INIT, .name = name,
               .affine = flag(c, "affine"), .running = flag(c, "running")});
}

static weft_tensor *variable_of(weft_graph *graph, const char *layer, const char *what) {
    char name[64];
    snprintf(name, sizeof name, "%s.%s", layer, what);
    weft_tensor *const found = weft_graph_find(graph, name);
    if (!found) fail_msg("the graph has no %s", name);
    return found;
}

static golden build_case(weft_graph *graph, const cJSON *c) {
    golden g = {.json = c, .name = cJSON_GetStringValue(golden_member(c, "name"))};
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_member(c, "dims")) dims[rank++] = (int64_t)item->valuedouble;
    g.x = weft_input_shape(graph, "x", WEFT_F32, rank, dims);
    g.weights = weft_input_shape(graph, "weights", WEFT_F32, rank, dims);
    g.y = layer_of(c, g.x);
    g.wrt[g.count++] = g.x;
    cJSON_ArrayForEach(item, golden_member(c, "parameters")) {
        g.wrt[g.count++] = variable_of(graph, g.name, item->string);
    }
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(g.y, g.weights)), g.wrt, g.count, g.gradients));
    return g;
}

/* Once every layer of the graph is made. */
static void write_parameters(weft_graph *graph, const golden *g) {
    float values[MAX_ELEMENTS];
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_member(g->json, "parameters")) {
        const size_t count = golden_numbers(item, values, MAX_ELEMENTS);
        assert_weft_ok(
            weft_tensor_write(variable_of(graph, g->name, item->string), values, count * sizeof *values));
    }
}

static void compare(const char *layer, const char *what, const float *got, const cJSON *list) {
    float wanted[MAX_ELEMENTS];
    const size_t count = golden_numbers(list, wanted, MAX_ELEMENTS);
    double largest = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= 1e-5 * largest))
            fail_msg("%s, %s: element %zu is %.9g, PyTorch has %.9g", layer, what, i, (double)got[i],
                (double)wanted[i]);
}

static void compare_output(
    weft_plan *plan, const golden *g, const char *what, weft_tensor *tensor, const cJSON *list) {
    float got[MAX_ELEMENTS];
    assert_weft_ok(weft_plan_read(plan, tensor, got, (size_t)cJSON_GetArraySize(list) * sizeof *got));
    compare(g->name, what, got, list);
}

static void compare_results(weft_plan *plan, const golden *g, const cJSON *record) {
    static const char *const names[MAX_WRT] = {"gradient of x", "gradient of weight", "gradient of bias"};
    compare_output(plan, g, "output", g->y, golden_member(record, "output"));
    for (size_t i = 0; i < g->count; i++)
        compare_output(plan, g, names[i], g->gradients[i],
            cJSON_GetArrayItem(golden_member(record, "gradients"), (int)i));
}

static void compare_states(weft_graph *graph, const golden *g, const cJSON *states) {
    const cJSON *item;
    cJSON_ArrayForEach(item, states) {
        weft_tensor *const tensor = variable_of(graph, g->name, item->string);
        float got[MAX_ELEMENTS];
        int32_t whole = 0;
        const size_t bytes = (size_t)cJSON_GetArraySize(item) * sizeof *got;
        const bool is_whole = weft_tensor_dtype(tensor) == WEFT_I32;
        assert_weft_ok(weft_tensor_read(tensor, is_whole ? (void *)&whole : got, bytes));
        if (is_whole) got[0] = (float)whole;
        compare(g->name, item->string, got, item);
    }
}

static void write_list(weft_plan *plan, weft_tensor *tensor, const cJSON *list) {
    float values[MAX_ELEMENTS];
    const size_t count = golden_numbers(list, values, MAX_ELEMENTS);
    assert_weft_ok(weft_plan_write(plan, tensor, values, count * sizeof *values));
}

static const cJSON *step_of(const golden *g, int step) {
    return cJSON_GetArrayItem(golden_member(g->json, "steps"), step);
}

/* The running statistics are nowhere asked for: every run of the training plan moves them. */
static void like_pytorch(void **state) {
    (void)state;
    cJSON *const root = golden_file("normalization_golden.json");
    weft_graph *const graph = test_graph();
    golden cases[MAX_CASES];
    weft_tensor *outputs[MAX_CASES * (1 + MAX_WRT)];
    size_t count = 0, output_count = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, golden_member(root, "cases")) {
        assert_true(count < MAX_CASES);
        if (test_reduced() && count > 1) break;
        golden *const g = &cases[count++];
        *g = build_case(graph, c);
        outputs[output_count++] = g->y;
        for (size_t i = 0; i < g->count; i++) outputs[output_count++] = g->gradients[i];
    }
    for (size_t i = 0; i < count; i++) write_parameters(graph, &cases[i]);
    weft_plan *training = NULL, *inference = NULL;
    assert_weft_ok(weft_plan_create(&training, outputs, output_count, NULL));
    assert_weft_ok(weft_plan_create(
        &inference, outputs, output_count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < count; i++) {
            write_list(training, cases[i].x, golden_member(step_of(&cases[i], step), "x"));
            write_list(training, cases[i].weights, golden_member(step_of(&cases[i], step), "weights"));
        }
        assert_weft_ok(weft_plan_run(training));
        for (size_t i = 0; i < count; i++) {
            compare_results(training, &cases[i], step_of(&cases[i], step));
            compare_states(graph, &cases[i], golden_member(step_of(&cases[i], step), "states"));
        }
    }
    for (size_t i = 0; i < count; i++) {
        write_list(inference, cases[i].x, golden_member(step_of(&cases[i], 0), "x"));
        write_list(
            inference, cases[i].weights, golden_member(golden_member(cases[i].json, "eval"), "weights"));
    }
    assert_weft_ok(weft_plan_run(inference));
    for (size_t i = 0; i < count; i++) {
        compare_results(inference, &cases[i], golden_member(cases[i].json, "eval"));
        compare_states(graph, &cases[i], golden_member(step_of(&cases[i], 2), "states"));
    }
    weft_plan_release(training);
    weft_plan_release(inference);
    weft_graph_release(graph);
    cJSON_Delete(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(like_pytorch)};
    return test_finish(cmocka_run_group_tests_name("layers of norms beside PyTorch", tests, NULL, NULL));
}
