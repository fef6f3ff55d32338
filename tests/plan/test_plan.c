/* Plans: what a run may change, what a plan tells of itself, what is refused, and what lives how long. */
/* test gpu:quick gpu:optimised */
#include "support/fixture.h"

#include "cl/context.h"
#include "cl/program.h"
#include "support/small_net.h"
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* ---- assignments ---- */

static weft_tensor *number_state(weft_graph *graph, const char *name, float value) {
    return weft_state_shape(graph, name, WEFT_F32, (weft_initialiser){.kind = WEFT_INIT_CONSTANT, .a = value},
        1, (const int64_t[]){4});
}

static void assert_all(weft_tensor *variable, float value) {
    float got[4];
    assert_weft_ok(weft_tensor_read(variable, got, sizeof got));
    for (int i = 0; i < 4; i++)
        if (got[i] != value)
            fail_msg("'%s' is %g, not %g", weft_tensor_name(variable), (double)got[i], (double)value);
}

static void test_assignments_see_old_values(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = number_state(graph, "a", 1), *const b = number_state(graph, "b", 10);
    weft_tensor *const count = number_state(graph, "count", 0);
    weft_tensor *const outputs[] = {weft_assign(a, b), weft_assign(b, a),
        weft_assign(count, weft_add(count, weft_number(count, 1))), weft_add(count, a),
        weft_mul(b, weft_number(b, 2))};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 5, NULL));
    for (int run = 0; run < 3; run++) {
        const float old_a = run % 2 ? 10 : 1, old_b = run % 2 ? 1 : 10;
        float sum[4], twice[4];
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, outputs[3], sum, sizeof sum));
        assert_weft_ok(weft_plan_read(plan, outputs[4], twice, sizeof twice));
        assert_true(sum[3] == (float)run + old_a && twice[3] == 2 * old_b);
        assert_all(a, old_b);
        assert_all(b, old_a);
        assert_all(count, (float)run + 1);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* a ← (the mean of a) + transposed a: every element reads others, so nothing may be written too early. */
static void test_assignment_from_neighbours(void **state) {
    (void)state;
    enum { SIDE = 9 };
    weft_graph *const graph = test_graph();
    weft_tensor *const a = weft_parameter(
        graph, "a", ((weft_initialiser){.kind = WEFT_INIT_UNIFORM, .a = -1, .b = 1}), SIDE, SIDE);
    weft_tensor *const outputs[] = {weft_assign(a, weft_add(weft_transpose(a), weft_mean(a)))};
    float before[SIDE][SIDE], after[SIDE][SIDE];
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, 1, NULL));
    assert_weft_ok(weft_tensor_read(a, before, sizeof before));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_tensor_read(a, after, sizeof after));
    double mean = 0;
    for (int i = 0; i < SIDE * SIDE; i++) mean += (double)before[i / SIDE][i % SIDE] / (SIDE * SIDE);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double error = (double)after[i / SIDE][i % SIDE] - (double)before[i % SIDE][i / SIDE] - mean;
        assert_true(error < 1e-6 && error > -1e-6);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_assigning_twice(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = number_state(graph, "a", 1);
    weft_tensor *const outputs[] = {weft_assign(a, weft_neg(a)), weft_assign(a, weft_exp(a))};
    weft_plan *plan = NULL;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, outputs, 2, NULL), "a");
    assert_null(plan);
    weft_graph_release(graph);
}

/* ---- batch sizes ---- */

static void test_batches_share_kernels(void **state) {
    (void)state;
    float x[17 * SMALL_NET_IN], wanted[17 * SMALL_NET_OUT], got[17 * SMALL_NET_OUT];
    const small_net n = small_net_in(test_context());
    weft_plan *const first = small_net_plan(n.y, 17);
    small_net_fill(x, 17 * SMALL_NET_IN, 1);
    small_net_compute(first, &n, x, 17, wanted);
    const wi_program_stats before = *wi_programs_stats(wi_context_device(n.context));
    const int64_t batches[] = {1, 2, 3, 16};
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
        weft_plan *const plan = small_net_plan(n.y, batches[i]);
        small_net_compute(plan, &n, x, batches[i], got);
        for (int64_t k = 0; k < batches[i] * SMALL_NET_OUT; k++) /* another tile may add in another order */
            assert_true(got[k] - wanted[k] < 1e-6f && wanted[k] - got[k] < 1e-6f);
        weft_plan_release(plan);
    }
    const wi_program_stats after = *wi_programs_stats(wi_context_device(n.context));
    assert_int_equal(after.built, before.built);
    assert_int_equal(after.loaded, before.loaded);
    assert_true(after.pieces_reused > before.pieces_reused);
    weft_plan_release(first);
    weft_graph_release(n.graph);
}

/* ---- the same numbers every time ---- */

static void test_runs_are_identical(void **state) {
    (void)state;
    float x[33 * SMALL_NET_IN], first[33 * SMALL_NET_OUT], got[33 * SMALL_NET_OUT],
        slopes[2][SMALL_NET_OUT * SMALL_NET_IN];
    const small_net n = small_net_in(test_context());
    small_net_fill(x, 33 * SMALL_NET_IN, 2);
    weft_tensor *const outputs[] = {n.y, weft_gradient(n.loss, n.weight)};
    for (int i = 0; i < 2; i++) {
        weft_plan *plan = NULL;
        const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 33};
        assert_weft_ok(weft_plan_create(&plan, outputs, 2, &options));
        for (int run = 0; run < 3; run++) {
            small_net_compute(plan, &n, x, 33, i || run ? got : first);
            if (i || run) assert_memory_equal(got, first, sizeof first);
        }
        assert_weft_ok(weft_plan_read(plan, outputs[1], slopes[i], sizeof slopes[i]));
        weft_plan_release(plan);
    }
    assert_memory_equal(slopes[0], slopes[1], sizeof slopes[0]);
    weft_graph_release(n.graph);
}

static void test_scalar_changes_between_runs(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const rate = weft_scalar(graph, "rate", 2);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32), *const y = weft_mul(x, rate);
    weft_plan *const plan = small_net_plan(y, 3);
    const float values[] = {1, 2, 3};
    const wi_program_stats before = *wi_programs_stats(wi_context_device(test_context()));
    assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
    for (int i = 2; i < 6; i++) {
        float got[3], now = 0;
        assert_weft_ok(weft_scalar_set(rate, (float)i));
        assert_weft_ok(weft_scalar_get(rate, &now));
        assert_true(now == (float)i);
        assert_weft_ok(weft_plan_run(plan));
        assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
        for (int k = 0; k < 3; k++) assert_true(got[k] == values[k] * (float)i);
    }
    assert_int_equal(wi_programs_stats(wi_context_device(test_context()))->built, before.built);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* weft_plan_step is write, run and read; what is wrong ends it, and a wrong input before anything has run. */
static void test_step(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const rate = weft_scalar(graph, "rate", 3);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32), *const y = weft_mul(x, rate);
    weft_plan *const plan = small_net_plan(y, 3);
    float given[3] = {1, 2, 3}, got[3] = {0};
    const weft_value out_and_in[] = {{y, got, sizeof got}, {x, given, sizeof given}};
    assert_weft_fails(WEFT_ERROR_STATE, weft_plan_step(plan, NULL, 0), "never written");
    for (int i = 1; i < 4; i++) {
        given[2] = (float)i;
        assert_weft_ok(weft_plan_step(plan, out_and_in, 2));
        assert_true(got[0] == 3 && got[1] == 6 && got[2] == (float)(3 * i));
    }
    given[0] = 5;
    assert_weft_ok(weft_plan_step(plan, &out_and_in[0], 1)); /* the input keeps what was written */
    assert_true(got[0] == 3);
    const weft_value short_input[] = {{x, given, sizeof *given}, {y, got, sizeof got}};
    got[0] = 7;
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_step(plan, short_input, 2), "12 bytes at batch 3, but 4 were");
    assert_true(got[0] == 7);
    const weft_value no_output[] = {{rate, got, sizeof *got}}, no_tensor[] = {{NULL, got, sizeof got}};
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_step(plan, no_output, 1), "not one of the plan's outputs");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_step(plan, no_tensor, 1), "value 0 has no tensor");
    const weft_value input_twice[] = {out_and_in[1], out_and_in[0], {x, got, sizeof got}};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_step(plan, input_twice, 3),
        "values 0 and 2 are both for the input 'x'");
    static const float fixed[3] = {4, 5, 6};
    assert_weft_ok(weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE_IN(x, fixed), WEFT_VALUE(y, got))));
    assert_true(got[0] == 12 && got[1] == 15 && got[2] == 18);
    const weft_value const_output = weft_value_in(y, fixed, sizeof fixed);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_step(plan, &const_output, 1), "value 0 has no tensor",
        "weft_value_in");
    assert_null(weft_value_in(NULL, fixed, sizeof fixed).tensor);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_step(plan, NULL, 1), "plan or values is NULL");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_step(NULL, out_and_in, 2), "plan or values is NULL");
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- descriptions ---- */

static char *describe(const weft_plan *plan, weft_format format) {
    size_t length = 0, again = 0;
    assert_weft_ok(weft_plan_describe(plan, format, NULL, 0, &length));
    char *const text = calloc(length + 1, 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, format, text, length + 1, &again));
    assert_int_equal(again, length);
    assert_int_equal(strlen(text), length);
    char cut[16];
    memset(cut, 'x', sizeof cut);
    assert_weft_ok(weft_plan_describe(plan, format, cut, 10, &again));
    assert_int_equal(again, length);
    assert_int_equal(strlen(cut), 9);
    assert_memory_equal(cut, text, 9);
    assert_int_equal(cut[10], 'x');
    return text;
}

/* One candidate won, and its line in the text says so; of those that did not refuse none is cheaper. */
static void check_candidates(const cJSON *step, const char *text) {
    const cJSON *const candidates = cJSON_GetObjectItemCaseSensitive(step, "candidates"), *candidate;
    const char *const chosen = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(step, "implementation"));
    int won = 0;
    double seconds = 0.0;
    if (strcmp(chosen, "generated") == 0) {
        assert_null(candidates);
        return;
    }
    cJSON_ArrayForEach(candidate, candidates) {
        const char *const name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(candidate, "name"));
        assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(candidate, "variant")));
        assert_non_null(strstr(text, name));
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(candidate, "verdict")), "chosen") !=
            0)
            continue;
        won++;
        seconds = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(candidate, "seconds"));
        assert_string_equal(name, chosen);
    }
    assert_int_equal(won, 1);
    cJSON_ArrayForEach(candidate, candidates) {
        const char *const verdict =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(candidate, "verdict"));
        if (strcmp(verdict, "slower") == 0)
            assert_true(
                cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(candidate, "seconds")) >= seconds);
    }
    assert_non_null(strstr(text, " us chosen"));
}

static void test_description(void **state) {
    (void)state;
    const small_net n = small_net_in(test_context());
    weft_plan *const plan = small_net_plan(n.y, 6);
    weft_plan_info info;
    assert_weft_ok(weft_plan_get_info(plan, &info));
    char *const text = describe(plan, WEFT_FORMAT_TEXT), *const json = describe(plan, WEFT_FORMAT_JSON);
    assert_non_null(strstr(text, "batch 6"));
    assert_non_null(strstr(text, "matmul"));
    assert_non_null(strstr(text, "relu"));
    cJSON *const root = cJSON_Parse(json);
    assert_non_null(root);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"batch", 6}, {"launches", (double)info.launches}, {"kernels", (double)info.kernels},
        {"conversions", (double)info.conversions}, {"flops", info.flops}, {"bytes_moved", info.bytes_moved},
        {"arena_bytes", (double)info.arena_bytes}, {"io_bytes", (double)info.io_bytes},
        {"arena_lower_bound", (double)info.arena_lower_bound},
        {"variable_bytes", (double)info.variable_bytes}, {"total_bytes", (double)info.total_bytes}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const cJSON *const number = cJSON_GetObjectItemCaseSensitive(root, numbers[i].name);
        if (!cJSON_IsNumber(number) || number->valuedouble != numbers[i].value)
            fail_msg("\"%s\" is not %.17g in %s", numbers[i].name, numbers[i].value, json);
    }
    const cJSON *const steps = cJSON_GetObjectItemCaseSensitive(root, "steps");
    assert_int_equal(cJSON_GetArraySize(steps), info.steps);
    double launches = 0, flops = 0;
    const cJSON *step;
    cJSON_ArrayForEach(step, steps) {
        launches += cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(step, "launches"));
        flops += cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(step, "flops"));
        assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(step, "ops")));
        check_candidates(step, text);
    }
    assert_true(launches == (double)info.launches && flops == info.flops);
    cJSON_Delete(root);
    free(text);
    free(json);
    weft_plan_release(plan);
    weft_graph_release(n.graph);
}

/* ---- who outlives whom ---- */

static void test_plan_outlives_all(void **state) {
    (void)state;
    float x[3 * SMALL_NET_IN], wanted[3 * SMALL_NET_OUT], got[3 * SMALL_NET_OUT];
    weft_context *const context =
        test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = 5});
    const small_net n = small_net_in(context);
    weft_plan *const one = small_net_plan(n.y, 3), *const other = small_net_plan(n.y, 2),
                     *const loss = small_net_plan(n.loss, 3);
    small_net_fill(x, 3 * SMALL_NET_IN, 30);
    small_net_compute(one, &n, x, 3, wanted);
    weft_graph_release(n.graph);
    weft_context_release(context);
    weft_plan_release(loss);
    small_net_compute(other, &n, x, 2, got);
    weft_plan_release(other);
    small_net_compute(one, &n, x, 3, got);
    assert_memory_equal(got, wanted, sizeof got);
    assert_ptr_equal(weft_plan_retain(one), one);
    weft_plan_release(one);
    small_net_compute(one, &n, x, 3, got);
    assert_memory_equal(got, wanted, sizeof got);
    weft_plan_release(one);
}

/* Plans of one graph share its parameters. */
static void test_shared_parameters(void **state) {
    (void)state;
    float x[2 * SMALL_NET_IN], before[2 * SMALL_NET_OUT], after[2 * SMALL_NET_OUT],
        weight[SMALL_NET_OUT * SMALL_NET_IN];
    const small_net n = small_net_in(test_context());
    weft_plan *const reader = small_net_plan(n.y, 2), *const writer = small_net_plan(
                                                          weft_assign(n.weight, weft_neg(n.weight)), 1);
    small_net_fill(x, 2 * SMALL_NET_IN, 40);
    small_net_compute(reader, &n, x, 2, before);
    assert_weft_ok(weft_tensor_read(n.weight, weight, sizeof weight));
    assert_weft_ok(weft_plan_run(writer));
    small_net_compute(reader, &n, x, 2, after);
    assert_memory_not_equal(before, after, sizeof before);
    assert_weft_ok(weft_tensor_write(n.weight, weight, sizeof weight));
    small_net_compute(reader, &n, x, 2, after);
    assert_memory_equal(before, after, sizeof before);
    weft_plan_release(reader);
    weft_plan_release(writer);
    weft_graph_release(n.graph);
}

/* ---- wrong calls ---- */

static void test_wrong_calls(void **state) {
    (void)state;
    const small_net n = small_net_in(test_context());
    float data[8 * SMALL_NET_IN] = {0};
    weft_plan *plan = small_net_plan(n.y, 8), *none = plan;
    weft_plan_info info;
    size_t length;
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_write(plan, n.x, data, sizeof data - 4), "'x'", "156",
        "160", "batch 8");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, n.y, data, 4), "4", "96");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_write(plan, n.weight, data, 60), "weight", "inputs");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, n.hidden, data, 96), "outputs");
    assert_int_equal(weft_plan_write(plan, NULL, data, 4), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_write(plan, n.x, NULL, sizeof data), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_write(NULL, n.x, data, sizeof data), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_read(NULL, n.y, data, 96), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_run(NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_wait(NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_get_info(NULL, &info), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_get_info(plan, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_describe(NULL, WEFT_FORMAT_TEXT, NULL, 0, &length), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_describe(plan, (weft_format)9, NULL, 0, &length), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_bind(plan, NULL, NULL, 0), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_memory(plan, n.hidden, NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_null(weft_plan_retain(NULL));
    weft_plan_release(NULL);
    weft_plan_release(plan);

    assert_int_equal(weft_plan_create(NULL, &n.y, 1, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_create(&none, NULL, 1, NULL), WEFT_ERROR_ARGUMENT);
    assert_int_equal(weft_plan_create(&none, &n.y, 0, NULL), WEFT_ERROR_ARGUMENT);
    weft_tensor *const with_null[] = {n.y, NULL};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&none, with_null, 2, NULL), "output 1", "NULL");
    weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = -1};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&none, &n.y, 1, &options), "-1");
    options = (weft_plan_options){.struct_size = 1};
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_create(&none, &n.y, 1, &options), "WEFT_PLAN_OPTIONS_INIT");
    const small_net m = small_net_in(test_context());
    weft_tensor *const of_two[] = {n.y, m.y};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&none, of_two, 2, NULL), "graph");
    assert_null(none);
    weft_graph_release(m.graph);
    weft_graph_release(n.graph);
}

/* 2^40 elements at this batch size: refused before anything is allocated, not overflowed. */
static void test_huge_batch(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const y = weft_exp(weft_input(graph, "x", WEFT_F32, 1024, 1024));
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 1 << 20};
    size_t before, after;
    weft_plan *plan = NULL;
    weft_context_memory(test_context(), &before, NULL);
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, weft_plan_create(&plan, &y, 1, &options),
        "exp (batch, 1024, 1024) counts 1099511627776 elements, but a kernel counts fewer than 2^30");
    weft_context_memory(test_context(), &after, NULL);
    assert_int_equal(after, before);
    assert_null(plan);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assignments_see_old_values),
        cmocka_unit_test(test_assignment_from_neighbours),
        cmocka_unit_test(test_assigning_twice),
        cmocka_unit_test(test_batches_share_kernels),
        cmocka_unit_test(test_runs_are_identical),
        cmocka_unit_test(test_scalar_changes_between_runs),
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_plan_outlives_all),
        cmocka_unit_test(test_shared_parameters),
        cmocka_unit_test(test_wrong_calls),
        cmocka_unit_test(test_huge_batch),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
