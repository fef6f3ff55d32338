/* Multi-head attention beside torch.nn.MultiheadAttention (tests/golden/attention_golden.json), and bad
 * input. */
#include "support/fixture.h"

#include "support/golden_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 512, MAX_PARAMETERS = 8, MAX_CASES = 8 };

/* An input of the array's shape; its first dimension is the batch. NULL when the case has none. */
static weft_tensor *input_like(weft_graph *graph, const cJSON *c, const char *name, weft_dtype dtype) {
    const cJSON *array = golden_member(c, name), *item;
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    if (!array) return NULL;
    cJSON_ArrayForEach(item, golden_member(array, "dims")) dims[rank++] = (int64_t)item->valuedouble;
    dims[0] = WEFT_BATCH;
    return weft_input_shape(graph, name, dtype, rank, dims);
}

static void write_input(weft_plan *plan, weft_tensor *tensor, const cJSON *c, const char *name) {
    float values[MAX_ELEMENTS];
    unsigned char flags[MAX_ELEMENTS];
    if (!tensor) return;
    const size_t count = golden_numbers(golden_member(golden_member(c, name), "data"), values, MAX_ELEMENTS);
    for (size_t i = 0; i < count; i++) flags[i] = values[i] != 0;
    if (weft_tensor_dtype(tensor) == WEFT_BOOL)
        assert_weft_ok(weft_plan_write(plan, tensor, flags, count));
    else
        assert_weft_ok(weft_plan_write(plan, tensor, values, count * sizeof *values));
}

static void check_like(weft_plan *plan, const char *what, weft_tensor *tensor, const cJSON *list) {
    float wanted[MAX_ELEMENTS], got[MAX_ELEMENTS];
    const size_t count = golden_numbers(list, wanted, MAX_ELEMENTS);
    double largest = 0;
    assert_weft_ok(weft_plan_read(plan, tensor, got, count * sizeof *got));
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= 1e-5 * largest))
            fail_msg("%s: element %zu is %.9g, PyTorch has %.9g", what, i, (double)got[i], (double)wanted[i]);
}

typedef struct golden {
    const cJSON *json;
    weft_tensor *query, *key, *value, *keys, *weights, *y;
    weft_tensor *wrt[MAX_PARAMETERS], *gradients[MAX_PARAMETERS]; /* the query, then the parameters */
    size_t count;
} golden;

/* The case's layer is named as the case. */
static golden build_case(weft_graph *graph, const cJSON *c) {
    golden g = {.json = c,
        .query = input_like(graph, c, "query", WEFT_F32),
        .key = input_like(graph, c, "key", WEFT_F32),
        .value = input_like(graph, c, "value", WEFT_F32),
        .keys = input_like(graph, c, "key_mask", WEFT_BOOL),
        .weights = input_like(graph, c, "weights", WEFT_F32)};
    const char *const name = cJSON_GetStringValue(golden_member(c, "name"));
    const size_t before = weft_graph_parameter_count(graph);
    const weft_multi_head_options options = {WEFT_MULTI_HEAD_OPTIONS_INIT, .name = name, .key_mask = g.keys,
        .causal = cJSON_IsTrue(golden_member(c, "causal")),
        .no_bias = !cJSON_IsTrue(golden_member(c, "bias"))};
    g.y = weft_multi_head_attention(g.query, g.key ? g.key : g.query, g.value ? g.value : g.query,
        (int64_t)cJSON_GetNumberValue(golden_member(c, "heads")), &options);
    assert_weft_ok(weft_graph_status(graph));
    g.wrt[g.count++] = g.query;
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_member(c, "parameters")) {
        char parameter[64];
        snprintf(
            parameter, sizeof parameter, "%s.%s", name, cJSON_GetStringValue(golden_member(item, "name")));
        weft_tensor *const found = weft_graph_find(graph, parameter);
        if (!found) fail_msg("no parameter %s", parameter);
        for (int i = 0; i < weft_tensor_rank(found); i++)
            assert_int_equal(weft_tensor_dimension(found, i),
                cJSON_GetArrayItem(golden_member(item, "dims"), i)->valuedouble);
        g.wrt[g.count++] = found;
    }
    assert_int_equal(weft_graph_parameter_count(graph) - before, g.count - 1);
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(g.y, g.weights)), g.wrt, g.count, g.gradients));
    return g;
}

static const cJSON *parameter_of(const golden *g, size_t i) {
    return cJSON_GetArrayItem(golden_member(g->json, "parameters"), (int)i - 1);
}

static void write_case(weft_plan *plan, const golden *g) {
    write_input(plan, g->query, g->json, "query");
    write_input(plan, g->key, g->json, "key");
    write_input(plan, g->value, g->json, "value");
    write_input(plan, g->keys, g->json, "key_mask");
    write_input(plan, g->weights, g->json, "weights");
    for (size_t i = 1; i < g->count; i++) {
        float values[MAX_ELEMENTS];
        const size_t length = golden_numbers(golden_member(parameter_of(g, i), "data"), values, MAX_ELEMENTS);
        assert_weft_ok(weft_tensor_write(g->wrt[i], values, length * sizeof *values));
    }
}

static void check_case(weft_plan *plan, const golden *g) {
    const cJSON *const c = g->json;
    check_like(plan, cJSON_GetStringValue(golden_member(c, "name")), g->y,
        golden_member(golden_member(c, "output"), "data"));
    check_like(plan, "gradient of the query", g->gradients[0],
        golden_member(golden_member(c, "query_gradient"), "data"));
    for (size_t i = 1; i < g->count; i++)
        check_like(plan, weft_tensor_name(g->wrt[i]), g->gradients[i],
            golden_member(parameter_of(g, i), "gradient"));
}

static void like_pytorch(void **state) {
    (void)state;
    cJSON *const root = golden_file("attention_golden.json");
    weft_graph *const graph = test_graph();
    golden cases[MAX_CASES];
    weft_tensor *outputs[MAX_CASES * (MAX_PARAMETERS + 1)];
    size_t count = 0, output_count = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, golden_member(root, "cases")) {
        assert_true(count < MAX_CASES);
        golden *const g = &cases[count++];
        *g = build_case(graph, c);
        outputs[output_count++] = g->y;
        for (size_t i = 0; i < g->count; i++) outputs[output_count++] = g->gradients[i];
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(
        &plan, outputs, output_count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    for (size_t i = 0; i < count; i++) write_case(plan, &cases[i]);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) check_case(plan, &cases[i]);
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(root);
}

/* Without a batch, with both masks: the same as the definition by hand through weft_attention. */
static void both_masks(void **state) {
    (void)state;
    enum { L = 4, E = 6, H = 2 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){L, E}),
                       *const mask = weft_input_shape(graph, "mask", WEFT_BOOL, 2, (const int64_t[]){L, L}),
                       *const keys = weft_input_shape(graph, "keys", WEFT_BOOL, 1, (const int64_t[]){L}),
                       *const both = weft_input_shape(graph, "both", WEFT_BOOL, 2, (const int64_t[]){L, L});
    const weft_multi_head_options two = {
        WEFT_MULTI_HEAD_OPTIONS_INIT, .name = "m", .mask = mask, .key_mask = keys};
    weft_tensor *const y = weft_multi_head_attention(x, x, x, H, &two);
    weft_tensor *const all = weft_linear_with(
        x, weft_graph_find(graph, "m.in_proj_weight"), weft_graph_find(graph, "m.in_proj_bias"));
    weft_tensor *parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = weft_permute(weft_reshape(weft_slice(all, 1, E * i, E * (i + 1)), L, H, E / H), 1, 0, 2);
    weft_tensor *z = weft_attention(
        parts[0], parts[1], parts[2], &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = both});
    z = weft_linear_with(weft_reshape(weft_permute(z, 1, 0, 2), L, E),
        weft_graph_find(graph, "m.out_proj.weight"), weft_graph_find(graph, "m.out_proj.bias"));
    assert_weft_ok(weft_graph_status(graph));
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){y, z}, 2, NULL));
    float values[L * E], got[L * E], wanted[L * E];
    test_random random = test_random_named("both masks", 0);
    for (int i = 0; i < L * E; i++) values[i] = (float)test_random_between(&random, -2, 2);
    const unsigned char m[L * L] = {1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1}, k[L] = {1, 0, 1, 1};
    unsigned char mk[L * L];
    for (int i = 0; i < L * L; i++) mk[i] = m[i] && k[i % L];
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_write(plan, mask, m, sizeof m));
    assert_weft_ok(weft_plan_write(plan, keys, k, sizeof k));
    assert_weft_ok(weft_plan_write(plan, both, mk, sizeof mk));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
    assert_weft_ok(weft_plan_read(plan, z, wanted, sizeof wanted));
    for (int i = 0; i < L * E; i++)
        if (!(fabsf(got[i] - wanted[i]) <= 1e-5f))
            fail_msg("%d: %g, not %g", i, (double)got[i], (double)wanted[i]);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

typedef struct bad_input {
    weft_status status;
    const char *message;
    int which;
} bad_input;

static weft_tensor *build_bad(int which, weft_graph *g) {
    weft_tensor *x = weft_input(g, "x", WEFT_F32, 5, 6), *wide = weft_input(g, "w", WEFT_F32, 4, 6),
                *flat = weft_input(g, "f", WEFT_F32), *long_keys = weft_input(g, "l", WEFT_BOOL, 4),
                *other = weft_input_shape(g, "o", WEFT_F32, 3, (const int64_t[]){3, 5, 6});
    weft_multi_head_options options = {WEFT_MULTI_HEAD_OPTIONS_INIT};
    switch (which) {
    case 0: return weft_multi_head_attention(x, x, x, 4, NULL);
    case 1: return weft_multi_head_attention(x, x, x, 0, NULL);
    case 2: return weft_multi_head_attention(x, x, wide, 2, NULL);
    case 3: return weft_multi_head_attention(flat, flat, flat, 1, NULL);
    case 4: return weft_multi_head_attention(x, other, other, 2, NULL);
    case 5: options.key_mask = long_keys; break;
    case 6: options.mask = x; break;
    case 7: options.struct_size = 1; break;
    default: return weft_multi_head_attention(x, x, NULL, 2, NULL);
    }
    return weft_multi_head_attention(x, x, x, 2, &options);
}

static void bad_inputs(void **state) {
    (void)state;
    static const bad_input cases[] = {
        {WEFT_ERROR_ARGUMENT, "weft_multi_head_attention: 4 heads do not divide a width of 6", 0},
        {WEFT_ERROR_ARGUMENT, "weft_multi_head_attention: 0 heads do not divide a width of 6", 1},
        {WEFT_ERROR_SHAPE, "value (batch, 4, 6): the lengths of key and value differ", 2},
        {WEFT_ERROR_SHAPE, "expected rank 3 (batch, length, width) for each, or rank 2 for each", 3},
        {WEFT_ERROR_SHAPE, "value (3, 5, 6): the batches differ", 4},
        {WEFT_ERROR_SHAPE, "weft_multi_head_attention: key_mask is bool (batch, 4), expected bool (batch, 5)",
            5},
        {WEFT_ERROR_SHAPE, "attention: the mask (batch, 5, 6) does not broadcast to (batch, 2, 5, 5)", 6},
        {WEFT_ERROR_ARGUMENT, "initialise them with WEFT_MULTI_HEAD_OPTIONS_INIT", 7},
        {WEFT_ERROR_ARGUMENT, "weft_multi_head_attention: input 2 is NULL", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_graph *const graph = test_graph();
        assert_null(build_bad(cases[i].which, graph));
        assert_weft_fails(cases[i].status, weft_graph_status(graph), cases[i].message);
        weft_graph_release(graph);
    }
}

static void names_and_initial_numbers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 3, 8);
    weft_tensor *y = weft_multi_head_attention(x, x, x, 2, NULL);
    y = weft_multi_head_attention(y, x, x, 4, NULL);
    assert_non_null(y);
    static const char *const names[] = {"attention1.in_proj_weight", "attention1.in_proj_bias",
        "attention1.out_proj.weight", "attention1.out_proj.bias", "attention2.in_proj_weight"};
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), names[i]);
    float weight[24 * 8], bias[24], most = 0;
    assert_weft_ok(weft_tensor_read(weft_graph_parameter(graph, 0), weight, sizeof weight));
    assert_weft_ok(weft_tensor_read(weft_graph_parameter(graph, 1), bias, sizeof bias));
    for (int i = 0; i < 24 * 8; i++) most = fmaxf(most, fabsf(weight[i]));
    assert_true(most <= sqrtf(6.0f / 32) && most > 0.9f * sqrtf(6.0f / 32));
    for (int i = 0; i < 24; i++) assert_true(bias[i] == 0);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_pytorch),
        cmocka_unit_test(both_masks),
        cmocka_unit_test(bad_inputs),
        cmocka_unit_test(names_and_initial_numbers),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
