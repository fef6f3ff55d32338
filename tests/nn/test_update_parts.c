/* An update of a part of the rows of all parameters gives these rows the same bits as the whole update, leaves the others, and has the states of
 * its part alone: for several optimizers, clipping, groups, and 2 and 3 parts. Rules that need whole parameters are refused, and a graph with
 * a part of the states is not saved as a checkpoint. */
#include "graph/weft_graph.h"
#include "nn/update_rules.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <weft/io.h>

enum {
    INPUTS = 7,
    HIDDEN = 61,
    OUTPUTS = 5,
    PARAMETERS = 4,
    MOST = INPUTS * HIDDEN,
    RUNS = 3,
    FLOATS = 2048
};

typedef struct trained {
    weft_context *context; /* with a memory limit; NULL: the test's */
    weft_graph *graph;
    weft_plan_info info;
    wi_divided_update divided;
    float values[PARAMETERS][MOST];
    size_t state_bytes;
} trained;

static weft_tensor *make_loss(weft_graph *graph) {
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, INPUTS);
    return weft_mean(weft_square(weft_linear(weft_tanh(weft_linear(x, HIDDEN)), OUTPUTS)));
}

static size_t count_state_bytes(const weft_graph *graph) {
    size_t bytes = 0;
    for (size_t i = 0; i < graph->variable_count; i++)
        if (graph->variables[i]->role) bytes += graph->variables[i]->bytes;
    return bytes;
}

/* Parameters and gradients that are the same in each graph. */
static void fill(const trained *it, weft_plan *plan, size_t run) {
    static float sums[FLOATS];
    assert_true(it->divided.bytes[0] <= sizeof sums);
    for (size_t i = 0; i < FLOATS; i++) sums[i] = (float)((i * 37 + run * 11) % 101) / 50 - 1;
    assert_ok(weft_plan_write(plan, it->divided.sums[0], sums, it->divided.bytes[0]));
}

/* parts 0: the whole update. limit: of the context's memory; 0: none. */
static trained train_within(const weft_optimizer *rule, size_t part, size_t parts, size_t limit) {
    static float first[MOST];
    trained it = {.divided = {.part = part, .parts = parts}};
    weft_tensor *updates[WEFT_MAX_UPDATES];
    weft_plan *plan = NULL;
    size_t count = 0;
    if (limit)
        it.context =
            test_context_open((weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .memory_limit = limit});
    assert_ok(weft_graph_create(&it.graph, limit ? it.context : test_context()));
    assert_ok(wi_minimize_divided(
        &(wi_divided_loss){make_loss(it.graph), false, &it.divided, updates, WEFT_MAX_UPDATES, &count},
        rule));
    for (size_t i = 0; i < MOST; i++) first[i] = (float)(i % 17) / 17;
    for (size_t p = 0; p < PARAMETERS; p++) {
        weft_tensor *const parameter = weft_graph_parameter(it.graph, p);
        assert_ok(weft_tensor_write(parameter, first, parameter->variable->bytes));
    }
    const weft_plan_options options = {WEFT_PLAN_OPTIONS_INIT, .batch = 1};
    assert_ok(weft_plan_create(&plan, updates, count, &options));
    assert_ok(weft_plan_get_info(plan, &it.info));
    for (size_t run = 0; run < RUNS; run++) {
        fill(&it, plan, run);
        assert_ok(weft_plan_run(plan));
    }
    for (size_t p = 0; p < PARAMETERS; p++) {
        weft_tensor *const parameter = weft_graph_parameter(it.graph, p);
        assert_ok(weft_tensor_read(parameter, it.values[p], parameter->variable->bytes));
    }
    it.state_bytes = count_state_bytes(it.graph);
    weft_plan_release(plan);
    return it;
}

static trained train(const weft_optimizer *rule, size_t part, size_t parts) {
    return train_within(rule, part, parts, 0);
}

static void end(trained *it) {
    weft_graph_release(it->graph);
    weft_context_release(it->context);
}

static void check_parts(const weft_optimizer *rule, size_t parts) {
    trained whole = train(rule, 0, 0);
    size_t state_bytes = 0;
    for (size_t part = 0; part < parts; part++) {
        trained own = train(rule, part, parts);
        const wi_row_range rows =
            wi_part_of_rows((int64_t)(own.divided.bytes[0] / WI_FLAT_ROW_BYTES), part, parts);
        for (size_t p = 0; p < PARAMETERS; p++) {
            const wi_variable *const parameter = weft_graph_parameter(own.graph, p)->variable;
            for (size_t i = 0; i < parameter->bytes / sizeof(float); i++) {
                const int64_t row = (int64_t)((parameter->offset + i * sizeof(float)) / WI_FLAT_ROW_BYTES);
                const bool is_own = row >= rows.first && row < rows.first + rows.count;
                assert_true(own.values[p][i] == (is_own ? whole.values[p][i] : (float)(i % 17) / 17));
            }
        }
        state_bytes += own.state_bytes;
        weft_graph_release(own.graph);
    }
    assert_int_equal(state_bytes, whole.state_bytes);
    weft_graph_release(whole.graph);
}

static void parts_have_the_bits_of_the_whole(void **state) {
    static const weft_parameter_group groups[] = {{.parameters = "linear2.*", .rate_factor = 0.5f}};
    weft_optimizer clipped = weft_adam(0.01f), grouped = weft_sgd_momentum(0.1f, 0.9f, 0.01f);
    clipped.clip_norm = 0.3f;
    grouped.groups = groups;
    grouped.group_count = 1;
    weft_optimizer averaged = weft_sgd(0.1f);
    averaged.average_decay = 0.9f;
    weft_optimizer accumulated = weft_adam(0.01f);
    accumulated.accumulate = 2;
    const weft_optimizer rules[] = {clipped, grouped, averaged, accumulated};
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (size_t parts = 2; parts <= 3; parts++) check_parts(&rules[i], parts);
}

/* The update has the same bits if parameters and states are partly in host memory. */
static void check_host(const weft_optimizer *rule, size_t part, size_t parts) {
    trained plain = train(rule, part, parts),
            limited = train_within(
                rule, part, parts, (plain.info.variable_bytes + plain.info.total_bytes) * 8 / 10);
    assert_true(limited.info.host_bytes > 0);
    assert_memory_equal(plain.values, limited.values, sizeof plain.values);
    end(&plain);
    end(&limited);
}

static void parts_may_be_in_host_memory(void **state) {
    static const weft_parameter_group groups[] = {{.parameters = "linear2.*", .rate_factor = 0.5f}};
    weft_optimizer rule = weft_adam(0.01f);
    (void)state;
    rule.groups = groups;
    rule.group_count = 1;
    check_host(&rule, 0, 0);
    for (size_t part = 0; part < 3; part++) check_host(&rule, part, 3);
}

static void fewer_rows_than_parts_are_not_divided(void **state) {
    const weft_optimizer adam = weft_adam(0.01f);
    const trained whole = train(&adam, 0, 0), part = train(&adam, 7, 1000);
    (void)state;
    assert_memory_equal(whole.values, part.values, sizeof whole.values);
    assert_int_equal(whole.state_bytes, part.state_bytes);
    weft_graph_release(whole.graph);
    weft_graph_release(part.graph);
}

static void refuse(const weft_optimizer *rule, size_t parts, weft_status status, const char *why) {
    weft_graph *graph = NULL;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    wi_divided_update divided = {.parts = parts};
    size_t count = 0;
    assert_ok(weft_graph_create(&graph, test_context()));
    assert_fails(
        wi_minimize_divided(
            &(wi_divided_loss){make_loss(graph), false, &divided, updates, WEFT_MAX_UPDATES, &count}, rule),
        status, why);
    weft_graph_release(graph);
}

static void what_needs_whole_parameters_is_refused(void **state) {
    const weft_optimizer lamb = weft_lamb(0.1f, 0.01f);
    (void)state;
    refuse(&lamb, 2, WEFT_ERROR_UNSUPPORTED, "shard_optimizer cannot be used with LAMB");
}

static void a_part_of_the_states_is_no_checkpoint(void **state) {
    const weft_optimizer adam = weft_adam(0.1f);
    const char *const path = scratch_path(*state, "part.safetensors");
    trained part = train(&adam, 1, 2), whole = train(&adam, 0, 0);
    assert_fails(weft_checkpoint_save(part.graph, path, NULL, 0), WEFT_ERROR_STATE, "shard_optimizer");
    assert_ok(weft_checkpoint_save(whole.graph, path, NULL, 0));
    assert_fails(weft_checkpoint_load(part.graph, path, NULL, 0), WEFT_ERROR_STATE, "shard_optimizer");
    weft_graph_release(part.graph);
    weft_graph_release(whole.graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_have_the_bits_of_the_whole),
        cmocka_unit_test(parts_may_be_in_host_memory),
        cmocka_unit_test(fewer_rows_than_parts_are_not_divided),
        cmocka_unit_test(what_needs_whole_parameters_is_refused),
        SCRATCH_TEST(a_part_of_the_states_is_no_checkpoint)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
