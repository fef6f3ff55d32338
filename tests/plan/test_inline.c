/* What is stored by one step for others, and what they compute for themselves: as the device's profile has it. */
#include "cl/context.h"
#include "ops/op_descriptors.h"
#include "support/fixture.h"

#include "plan/compiled_plan.h"

enum { BATCH = 4, MOST_OUTPUTS = 8 };

/* ---- plans ---- */

static weft_plan *plan_at(weft_tensor *const *outputs, size_t count, int64_t batch, bool inference) {
    weft_plan *plan = NULL;
    const weft_plan_options options = {
        WEFT_PLAN_OPTIONS_INIT, .batch = batch, .inference = inference, .compile_late = true};
    wi_device *const device = wi_context_device(test_context());
    const int64_t units = device->profile.units;
    device->profile.units = 2; /* prices are those of two cores, or compute units, on every device */
    assert_weft_ok(weft_plan_create(&plan, outputs, count, &options));
    device->profile.units = units;
    return plan;
}

/* A training step of mean(square(y)). */
static weft_plan *plan_training(weft_tensor *y, int64_t batch) {
    weft_tensor *outputs[MOST_OUTPUTS];
    size_t count;
    const weft_optimizer sgd = weft_sgd(0.1f);
    outputs[0] = weft_mean_axes(weft_square(y), NULL, false);
    assert_weft_ok(weft_minimize(outputs[0], &sgd, outputs + 1, MOST_OUTPUTS - 1, &count));
    return plan_at(outputs, count + 1, batch, false);
}

/* Results of an op that steps write to memory, of at least so many elements. */
static int stored(const weft_plan *plan, const wi_op *op, int64_t least) {
    int count = 0;
    for (size_t i = 0; i < plan->partition.value_count; i++) {
        const wi_value *const value = &plan->partition.values[i];
        count += value->state == WI_VALUE_MEMBER && value->storage >= 0 && value->node->op == op &&
                 wi_extent_count(value->extent).actual >= least;
    }
    return count;
}

/* Steps that draw random numbers. */
static int draws(const weft_plan *plan) {
    int count = 0;
    for (size_t i = 0; i < plan->partition.step_count; i++) {
        const wi_loop *const loop = &plan->loops.of[i];
        for (int o = 0; o < loop->operand_count; o++)
            count += loop->operands[o].generator && loop->operands[o].generator->op == &wi_op_uniform;
    }
    return count;
}

static void end(weft_plan *plan, weft_graph *graph) {
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- members of other steps ---- */

static weft_tensor *convolutions(weft_tensor *x) {
    for (int i = 0; i < 3; i++) x = weft_relu(weft_batch_norm(weft_conv2d(x, 8, 3)));
    return x;
}

/* x - shift and its products are computed by each launch of a norm, forward and backward. */
static void test_norms_store_no_differences(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_plan *const plan = plan_training(convolutions(weft_input(graph, "x", WEFT_F32, 3, 40, 40)), BATCH);
    assert_int_equal(stored(plan, &wi_op_sub, BATCH * 8 * 30 * 30), 0);
    assert_int_equal(stored(plan, &wi_op_mul, BATCH * 8 * 30 * 30), 0);
    end(plan, graph);
}

/* What a row's norm has before its weight is computed from x and three numbers per row. */
static void test_rows_of_norms(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_linear(weft_input(graph, "x", WEFT_F32, 16), 64);
    weft_plan *const plan = plan_training(weft_linear(weft_layer_norm(x), 8), BATCH);
    assert_int_equal(stored(plan, &wi_op_sub, BATCH * 64), 1); /* the gradient of x, before its last factor */
    assert_int_equal(stored(plan, &wi_op_rsqrt, BATCH), 1);
    end(plan, graph);
}

/* ---- maps of what is there before the first step ---- */

/* Random numbers take long: what they decide is stored for the backward steps. */
static void test_dropout_draws_once(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *x = weft_input(graph, "x", WEFT_F32, 16);
    for (int i = 0; i < 2; i++) x = weft_dropout(weft_relu(weft_linear(x, 64)), 0.5f);
    weft_plan *const plan = plan_training(weft_linear(x, 8), BATCH);
    assert_int_equal(draws(plan), 2);
    assert_int_equal(stored(plan, &wi_op_less, BATCH * 64), 2 + 2); /* and where relu passes */
    end(plan, graph);
}

static weft_plan *plan_two_readers(weft_tensor *v) {
    weft_tensor *const outputs[] = {weft_sum(v, 0), weft_sum(v, 1)};
    return plan_at(outputs, 2, BATCH, false);
}

/* Two readers compute a product and a sum, but not three functions of it, unless there are so few
 * elements that a launch takes longer. */
static void test_what_two_readers_compute(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4096);
    weft_tensor *const cheap = weft_add(weft_mul(x, weft_number(x, 3)), weft_number(x, 1));
    weft_plan *plan = plan_two_readers(cheap);
    assert_int_equal(stored(plan, &wi_op_add, 1), 0);
    weft_plan_release(plan);
    plan = plan_two_readers(weft_tanh(weft_exp(weft_sin(cheap))));
    assert_int_equal(stored(plan, &wi_op_tanh, 1), 1);
    assert_int_equal(stored(plan, &wi_op_sin, 1), 0);
    weft_plan_release(plan);
    plan = plan_two_readers(weft_tanh(weft_exp(weft_sin(weft_input(graph, "few", WEFT_F32, 8)))));
    assert_int_equal(stored(plan, &wi_op_tanh, 1), 0);
    end(plan, graph);
}

/* A root per channel would be computed for every element by the step that reads it; a sum costs nothing there. */
static void test_functions_of_channels(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4096);
    weft_tensor *const scale = weft_parameter(graph, "scale", weft_fill(0.5f), 4096);
    weft_tensor *const positive = weft_add(weft_mul(scale, scale), weft_number(scale, 1));
    weft_tensor *y = weft_mul(x, weft_rsqrt(positive));
    weft_plan *plan = plan_at(&y, 1, BATCH, true);
    assert_int_equal(stored(plan, &wi_op_rsqrt, 4096), 1);
    weft_plan_release(plan);
    y = weft_mul(x, positive);
    plan = plan_at(&y, 1, BATCH, true);
    assert_int_equal(plan->partition.step_count, 1);
    end(plan, graph);
}

/* ---- every batch ---- */

static void test_batches_decide_alike(void **state) {
    (void)state;
    static const int64_t batches[] = {1, 2, 7, 32, 1000};
    size_t steps = 0;
    int stored_maps = 0;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *x = weft_layer_norm(weft_linear(weft_input(graph, "x", WEFT_F32, 16), 64));
        x = weft_layer_norm(weft_linear(weft_dropout(weft_gelu(x), 0.2f), 32));
        weft_plan *const plan = plan_training(x, batches[i]);
        const int maps = stored(plan, &wi_op_mul, 1) + stored(plan, &wi_op_sub, 1);
        if (i == 0) steps = plan->partition.step_count, stored_maps = maps;
        assert_int_equal(plan->partition.step_count, steps);
        assert_int_equal(maps, stored_maps);
        end(plan, graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms_store_no_differences),
        cmocka_unit_test(test_rows_of_norms),
        cmocka_unit_test(test_dropout_draws_once),
        cmocka_unit_test(test_what_two_readers_compute),
        cmocka_unit_test(test_functions_of_channels),
        cmocka_unit_test(test_batches_decide_alike),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
