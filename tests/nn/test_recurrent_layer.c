/* LSTM, GRU and RNN layers beside PyTorch's (tests/golden/layers), names, lengths out of
 * range, states carried from run to run, launches, bad input. */
/* test slow */
#include "support/fixture.h"

#include "support/golden_file.h"
#include <math.h>
#include <stdio.h>

/* ---- like PyTorch ---- */

enum { MAX_CASES = 24, MAX_WANTED = 24, MAX_PARAMETERS = 20 };
enum {
    X = 1,
    H0,
    C0,
    Y_WEIGHTS,
    H_WEIGHTS,
    C_WEIGHTS,
    FIRST_PARAMETER
}; /* arrays, as the script numbers them */

typedef struct golden {
    const cJSON *json;
    int64_t batch;
    weft_tensor *x, *h0, *c0, *lengths, *weights[3];
    weft_recurrent result;
    weft_tensor *wanted[MAX_WANTED], *gradients[MAX_WANTED];
    size_t count, parameters;
    float scale; /* of parameters */
} golden;

static bool flag(const cJSON *c, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(c, name));
}

static const char *text(const cJSON *c, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(c, name));
}

static const cJSON *member(const cJSON *c, const char *name) {
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(c, name);
    return cJSON_IsNull(item) ? NULL : item;
}

static size_t size_of(const weft_tensor *x) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(x); i++) count *= (size_t)weft_tensor_dimension(x, i);
    return count;
}

static float *numbers(uint32_t seed, size_t count, float scale) {
    float *const values = calloc(count, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = ((float)(seed >> 8) * 0x1p-23f - 1.0f) * scale;
    }
    return values;
}

static weft_tensor *input(weft_graph *graph, const char *name, int64_t a, int64_t b, int64_t c) {
    return weft_input_shape(graph, name, WEFT_F32, 3, (const int64_t[]){a, b, c});
}

static weft_tensor *like(weft_graph *graph, const char *name, const weft_tensor *x) {
    return input(
        graph, name, weft_tensor_dimension(x, 0), weft_tensor_dimension(x, 1), weft_tensor_dimension(x, 2));
}

static weft_tensor *loss_of(weft_graph *graph, golden *g) {
    weft_tensor *const parts[] = {g->result.y, g->result.h, g->result.c};
    static const char *const names[] = {"a", "b", "d"};
    weft_tensor *loss = NULL;
    for (int i = 0; i < 3; i++) {
        if (!parts[i]) continue;
        g->weights[i] = like(graph, names[i], parts[i]);
        weft_tensor *const term = weft_sum(weft_mul(parts[i], g->weights[i]));
        loss = loss ? weft_add(loss, term) : term;
    }
    return loss;
}

static void build_case(golden *g, weft_graph *graph, const cJSON *c, size_t number) {
    char name[32];
    const int64_t batch = (int64_t)golden_number(c, "batch", 0),
                  hidden = (int64_t)golden_number(c, "hidden", 0),
                  layers = (int64_t)golden_number(c, "layers", 1),
                  projection = (int64_t)golden_number(c, "projection", 0),
                  states = layers * (flag(c, "bidirectional") ? 2 : 1);
    const bool lstm = strcmp(text(c, "kind"), "lstm") == 0, gru = strcmp(text(c, "kind"), "gru") == 0;
    *g = (golden){.json = c, .batch = batch, .scale = (float)(1 / sqrt((double)hidden))};
    snprintf(name, sizeof name, "case%zu", number);
    g->x = input(
        graph, "x", batch, (int64_t)golden_number(c, "steps", 0), (int64_t)golden_number(c, "inputs", 0));
    if (flag(c, "states")) g->h0 = input(graph, "h0", states, batch, projection ? projection : hidden);
    if (flag(c, "states") && lstm) g->c0 = input(graph, "c0", states, batch, hidden);
    if (member(c, "lengths")) g->lengths = weft_input_shape(graph, "lengths", WEFT_I32, 1, &batch);
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .name = name, .layers = layers,
        .bidirectional = flag(c, "bidirectional"), .no_bias = !flag(c, "bias"), .projection = projection,
        .h0 = g->h0, .c0 = g->c0, .lengths = g->lengths, .relu = flag(c, "relu")};
    const size_t before = weft_graph_parameter_count(graph);
    g->result = lstm  ? weft_lstm(g->x, hidden, &options)
                : gru ? weft_gru(g->x, hidden, &options)
                      : weft_rnn(g->x, hidden, &options);
    assert_weft_ok(weft_graph_status(graph));
    g->wanted[g->count++] = g->x;
    if (g->h0) g->wanted[g->count++] = g->h0;
    if (g->c0) g->wanted[g->count++] = g->c0;
    const cJSON *item;
    cJSON_ArrayForEach(item, member(c, "parameters")) {
        char parameter[80];
        snprintf(parameter, sizeof parameter, "%s.%s", name, cJSON_GetStringValue(item));
        g->wanted[g->count] = weft_graph_find(graph, parameter);
        if (!g->wanted[g->count++]) fail_msg("no parameter %s", parameter);
        g->parameters++;
    }
    assert_int_equal(weft_graph_parameter_count(graph) - before, g->parameters);
    assert_weft_ok(weft_gradients(loss_of(graph, g), g->wanted, g->count, g->gradients));
}

static void write_numbers(weft_plan *plan, weft_tensor *x, uint32_t seed, float scale) {
    if (!x) return;
    float *const values = numbers(seed, size_of(x), scale);
    if (plan)
        assert_weft_ok(weft_plan_write(plan, x, values, size_of(x) * sizeof *values));
    else
        assert_weft_ok(weft_tensor_write(x, values, size_of(x) * sizeof *values));
    free(values);
}

static void write_case(weft_plan *plan, const golden *g) {
    write_numbers(plan, g->x, X, 1);
    write_numbers(plan, g->h0, H0, 0.5f);
    write_numbers(plan, g->c0, C0, 0.5f);
    for (uint32_t i = 0; i < 3; i++) write_numbers(plan, g->weights[i], Y_WEIGHTS + i, 1);
    for (size_t i = 0; i < g->parameters; i++)
        write_numbers(NULL, g->wanted[g->count - g->parameters + i], FIRST_PARAMETER + (uint32_t)i, g->scale);
    if (!g->lengths) return;
    int32_t lengths[16];
    for (int i = 0; i < (int)g->batch; i++)
        lengths[i] = cJSON_GetArrayItem(member(g->json, "lengths"), i)->valueint;
    assert_weft_ok(weft_plan_write(plan, g->lengths, lengths, (size_t)g->batch * sizeof *lengths));
}

/* The stored elements stand equally far apart. Within 1e-5 of the largest of them. */
static void check_like(weft_plan *plan, const char *what, weft_tensor *x, const cJSON *stored) {
    const size_t size = size_of(x), step = (size + 47) / 48;
    float *const got = calloc(size, sizeof *got);
    assert_non_null(got);
    assert_weft_ok(weft_plan_read(plan, x, got, size * sizeof *got));
    double largest = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, stored) largest = fmax(largest, fabs(item->valuedouble));
    assert_int_equal(cJSON_GetArraySize(stored), (size + step - 1) / step);
    size_t at = 0;
    cJSON_ArrayForEach(item, stored) {
        if (!(fabs((double)got[at] - item->valuedouble) <= 1e-5 * largest))
            fail_msg(
                "%s: element %zu is %.9g, PyTorch has %.9g", what, at, (double)got[at], item->valuedouble);
        at += step;
    }
    free(got);
}

static void check_case(weft_plan *plan, const golden *g, size_t number) {
    char what[64];
    snprintf(what, sizeof what, "case %zu (%s)", number, text(g->json, "kind"));
    check_like(plan, what, g->result.y, member(g->json, "y"));
    check_like(plan, what, g->result.h, member(g->json, "h"));
    if (g->result.c) check_like(plan, what, g->result.c, member(g->json, "c"));
    for (size_t i = 0; i < g->count; i++) {
        snprintf(what, sizeof what, "case %zu, gradient of %s", number, weft_tensor_name(g->wanted[i]));
        check_like(plan, what, g->gradients[i], cJSON_GetArrayItem(member(g->json, "gradients"), (int)i));
    }
}

/* Those of all three files; the caller deletes them. */
static cJSON *all_cases(void) {
    static const char *const files[] = {
        "layers/lstm_layer.golden.json", "layers/gru_layer.golden.json", "layers/rnn_layer.golden.json"};
    cJSON *const all = cJSON_CreateArray(), *c;
    for (size_t i = 0; i < 3; i++) {
        cJSON *const root = golden_file(files[i]), *const cases =
                                                       cJSON_GetObjectItemCaseSensitive(root, "cases");
        while ((c = cJSON_DetachItemFromArray(cases, 0))) cJSON_AddItemToArray(all, c);
        cJSON_Delete(root);
    }
    return all;
}

static void like_pytorch(void **state) {
    (void)state;
    cJSON *const all = all_cases();
    assert_true(cJSON_GetArraySize(all) > 0);
    weft_graph *const graph = test_graph();
    static golden cases[MAX_CASES];
    static weft_tensor *outputs[MAX_CASES * (MAX_WANTED + 3)];
    size_t count = 0, output_count = 0;
    const cJSON *c;
    cJSON_ArrayForEach(c, all) {
        assert_true(count < MAX_CASES);
        if (test_reduced() && count >= 3) break;
        golden *const g = &cases[count];
        build_case(g, graph, c, count++);
        outputs[output_count++] = g->result.y;
        outputs[output_count++] = g->result.h;
        if (g->result.c) outputs[output_count++] = g->result.c;
        for (size_t i = 0; i < g->count; i++) outputs[output_count++] = g->gradients[i];
    }
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, output_count, NULL));
    for (size_t i = 0; i < count; i++) write_case(plan, &cases[i]);
    assert_weft_ok(weft_plan_run(plan));
    for (size_t i = 0; i < count; i++) check_case(plan, &cases[i], i);
    weft_plan_release(plan);
    weft_graph_release(graph);
    cJSON_Delete(all);
}

/* ---- what the device finds ---- */

enum { N = 3, T = 4, I = 2, H = 3 };

/* A length out of range is told once, by row; the others' results are right. */
static void lengths_out_of_range(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", N, T, I), *const lengths = weft_input_shape(graph, "lengths",
                                                           WEFT_I32, 1, (const int64_t[]){N});
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .lengths = lengths};
    const weft_recurrent r = weft_lstm(x, H, &options);
    weft_plan *plan = NULL;
    assert_weft_ok(
        weft_plan_create(&plan, &r.y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
    static const int32_t bad[][N] = {{1, T + 1, 2}, {0, T, -1}, {T, 0, 2}};
    static const char *const lines[] = {"recurrent: a length is negative or more than the number of steps, "
                                        "first at position 1 of the batch",
        "first at position 2 of the batch", NULL};
    float y[N * T * H];
    write_numbers(plan, x, 1, 1);
    for (int i = 0; i < 3; i++) {
        assert_weft_ok(weft_plan_write(plan, lengths, bad[i], sizeof bad[i]));
        assert_weft_ok(weft_plan_run(plan));
        if (lines[i]) assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_wait(plan), lines[i]);
        assert_weft_ok(weft_plan_read(plan, r.y, y, sizeof y));
        for (int n = 0; n < N; n++)
            for (int t = 0; t < T; t++)
                for (int h = 0; h < H; h++) assert_true((y[(n * T + t) * H + h] != 0) == (t < bad[i][n]));
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Two runs of half the steps, with the states carried in the graph, are one run of all. */
static void states_carried(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", N, T / 2, I), *const whole = input(graph, "whole", N, T, I);
    weft_tensor *const h = weft_state_shape(
                           graph, "h", WEFT_F32, weft_zeros(), 3, (const int64_t[]){1, N, H}),
                       *const c = weft_state_shape(
                           graph, "c", WEFT_F32, weft_zeros(), 3, (const int64_t[]){1, N, H});
    weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .name = "net", .h0 = h, .c0 = c};
    const weft_recurrent part = weft_lstm(x, H, &options);
    const weft_recurrent_weights w = {weft_graph_find(graph, "net.weight_ih_l0"),
        weft_graph_find(graph, "net.weight_hh_l0"), weft_graph_find(graph, "net.bias_ih_l0"),
        weft_graph_find(graph, "net.bias_hh_l0"), NULL};
    const weft_recurrent all = weft_lstm_with(whole, &w, NULL);
    weft_tensor *const outputs[] = {part.y, all.y, weft_assign(h, part.h), weft_assign(c, part.c)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 4, NULL));
    float *const values = numbers(1, N * T * I, 1);
    float half[N * T / 2 * I], got[N * T / 2 * H], wanted[N * T * H];
    assert_weft_ok(weft_plan_write(plan, whole, values, N * T * I * sizeof *values));
    for (int run = 0; run < 2; run++) {
        for (int n = 0; n < N; n++)
            memcpy(
                half + n * (T / 2 * I), values + n * (T * I) + run * (T / 2 * I), T / 2 * I * sizeof *half);
        assert_weft_ok(weft_plan_write(plan, x, half, sizeof half));
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, part.y, got, sizeof got));
        assert_weft_ok(weft_plan_read(plan, all.y, wanted, sizeof wanted));
        for (int n = 0; n < N; n++)
            for (int i = 0; i < T / 2 * H; i++)
                assert_true(
                    fabsf(got[n * (T / 2 * H) + i] - wanted[n * T * H + run * (T / 2 * H) + i]) < 1e-6f);
    }
    free(values);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* A NaN stays in its row; inf and large numbers saturate. */
static void extreme_numbers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", N, 2, 1);
    const weft_initialiser half = weft_fill(0.5f);
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .initialiser = &half};
    const weft_recurrent r[] = {
        weft_lstm(x, 2, &options), weft_gru(x, 2, &options), weft_rnn(x, 2, &options)};
    weft_tensor *const outputs[] = {r[0].y, r[1].y, r[2].y};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 3, NULL));
    const float values[N * 2] = {NAN, 1, 1e30f, INFINITY, -1e4f, -INFINITY};
    float y[N * 4];
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 3; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], y, sizeof y));
        for (int k = 0; k < 4; k++) assert_true(isnan(y[k]));
        for (int k = 4; k < 12; k++) assert_true(fabsf(y[k]) <= 1);
    }
    assert_true(fabsf(y[4] - 1) < 1e-6f && fabsf(y[8] + 1) < 1e-6f); /* the RNN */
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- launches ---- */

/* One product, the scan and what comes before it: the packing, or of class gpu, which packs once, the first states. */
static void launches(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph, "x", T, N, I);
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .time_major = true};
    const weft_recurrent r = weft_lstm(x, H, &options);
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_weft_ok(
        weft_plan_create(&plan, &r.y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_int_equal(info.launches, 3);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static weft_recurrent build_bad(int which, weft_graph *g) {
    weft_tensor *x = input(g, "x", WEFT_BATCH, T, I), *flat = weft_input(g, "f", WEFT_F32, T),
                *endless = input(g, "e", N, WEFT_BATCH, I),
                *whole = weft_input_shape(g, "i", WEFT_I32, 3, (const int64_t[]){N, T, I}),
                *h = input(g, "h", 1, N, H),
                *lengths = weft_input_shape(g, "l", WEFT_I32, 1, (const int64_t[]){N});
    weft_tensor *w[] = {weft_parameter(g, "w0", weft_zeros(), 4 * H, I),
        weft_parameter(g, "w1", weft_zeros(), 4 * H, H), weft_parameter(g, "w2", weft_zeros(), 7, I)};
    weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT};
    weft_sequence_options sequence = {WEFT_SEQUENCE_OPTIONS_INIT};
    weft_recurrent_weights weights = {w[0], w[1], NULL, NULL, NULL};
    switch (which) {
    case 0: return weft_lstm(x, 0, NULL);
    case 1: return weft_lstm(flat, H, NULL);
    case 2: return weft_gru(endless, H, NULL);
    case 3: return weft_rnn(whole, H, NULL);
    case 4: options.struct_size = 3; break;
    case 5: options.layers = -1; break;
    case 6: options.dropout = 1; break;
    case 7: options.projection = H; break;
    case 8: options.projection = 1; return weft_gru(x, H, &options);
    case 9: options.h0 = h; break;
    case 10: options.c0 = h; return weft_gru(input(g, "y", N, T, I), H, &options);
    case 11: options.lengths = lengths; break;
    case 12: options.left_padded = true; break;
    case 13: options.relu = true; break;
    case 14: options.reset_first = true; break;
    case 15: weights.weight_ih = w[2]; return weft_lstm_with(x, &weights, NULL);
    case 16: weights.weight_hh = w[0]; return weft_lstm_with(x, &weights, NULL);
    case 17: weights.bias_ih = w[0]; return weft_lstm_with(x, &weights, NULL);
    case 18: weights.weight_hr = w[1]; return weft_rnn_with(x, &weights, NULL);
    case 19: return weft_lstm_with(x, NULL, NULL);
    case 20: sequence.struct_size = 0; return weft_lstm_with(x, &weights, &sequence);
    case 21: return weft_lstm_cell(weft_input(g, "z", WEFT_F32, I), NULL, NULL, &weights);
    case 22: return weft_lstm_cell(x, h, h, &weights);
    default: weights.weight_hh = NULL; return weft_lstm_with(x, &weights, NULL);
    }
    return weft_lstm(x, H, &options);
}

static void bad_inputs(void **state) {
    (void)state;
    static const struct {
        weft_status status;
        const char *message;
    } cases[] = {
        {WEFT_ERROR_ARGUMENT, "weft_lstm: hidden is 0, expected 1 or more"},
        {WEFT_ERROR_SHAPE,
            "weft_lstm: x is f32 (batch, 4), expected f32 (N, T, I) with a fixed number of steps T"},
        {WEFT_ERROR_SHAPE, "weft_gru: x is f32 (3, batch, 2), expected f32 (N, T, I)"},
        {WEFT_ERROR_DTYPE, "weft_rnn: x is i32 (3, 4, 2), expected f32 (N, T, I)"},
        {WEFT_ERROR_ARGUMENT, "weft_lstm: the options have struct_size 3"},
        {WEFT_ERROR_ARGUMENT, "weft_lstm: the option layers is -1, expected 1 to 64"},
        {WEFT_ERROR_ARGUMENT, "weft_lstm: the option dropout is 1, expected at least 0 and below 1"},
        {WEFT_ERROR_ARGUMENT,
            "weft_lstm: the option projection is 3, expected at least 0 and less than hidden"},
        {WEFT_ERROR_ARGUMENT, "weft_gru: the option projection is 1, expected 0, as only an LSTM has one"},
        {WEFT_ERROR_SHAPE, "weft_lstm: h0 is f32 (1, 3, 3), expected f32 (1, batch, 3)"},
        {WEFT_ERROR_ARGUMENT, "gru: c0 is given, but only an LSTM has a cell state"},
        {WEFT_ERROR_SHAPE, "lstm: lengths is i32 (3), expected i32 (batch)"},
        {WEFT_ERROR_ARGUMENT, "lstm: the option left_padded is set without lengths"},
        {WEFT_ERROR_ARGUMENT, "lstm: the option relu is set, but only an RNN has it"},
        {WEFT_ERROR_ARGUMENT, "lstm: the option reset_first is set, but only a GRU has it"},
        {WEFT_ERROR_SHAPE, "lstm: weight_ih is f32 (7, 2), expected f32 (4·H, I)"},
        {WEFT_ERROR_SHAPE, "lstm: weight_hh is f32 (12, 2), expected f32 (12, 3)"},
        {WEFT_ERROR_SHAPE, "lstm: bias_ih is f32 (12, 2), expected f32 (12)"},
        {WEFT_ERROR_ARGUMENT, "rnn: weight_hr is given, but only an LSTM has a projection"},
        {WEFT_ERROR_ARGUMENT, "lstm: weights is NULL"},
        {WEFT_ERROR_ARGUMENT, "lstm: the options have struct_size 0, expected"},
        {WEFT_ERROR_ARGUMENT, "lstm_cell: c is NULL"},
        {WEFT_ERROR_SHAPE, "lstm_cell: x is f32 (batch, 4, 2), expected f32"},
        {WEFT_ERROR_ARGUMENT, "lstm: input 2 is NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_graph *const graph = test_graph();
        const weft_recurrent r = build_bad((int)i, graph);
        assert_true(!r.y && !r.h && !r.c);
        assert_weft_fails(cases[i].status, weft_graph_status(graph), cases[i].message);
        weft_graph_release(graph);
    }
}

static void names_and_initial_numbers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, T, I);
    weft_recurrent r = weft_lstm(x, 16, NULL);
    r = weft_lstm(r.y, 16, NULL);
    assert_non_null(r.y);
    assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, 0)), "lstm1.weight_ih_l0");
    assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, 5)), "lstm2.weight_hh_l0");
    float weight[64 * I], most = 0;
    assert_weft_ok(weft_tensor_read(weft_graph_parameter(graph, 0), weight, sizeof weight));
    for (int i = 0; i < 64 * I; i++) most = fmaxf(most, fabsf(weight[i]));
    assert_true(most <= 0.25f && most > 0.22f);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(like_pytorch),
        cmocka_unit_test(lengths_out_of_range),
        cmocka_unit_test(states_carried),
        cmocka_unit_test(extreme_numbers),
        cmocka_unit_test(launches),
        cmocka_unit_test(bad_inputs),
        cmocka_unit_test(names_and_initial_numbers),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
