/* Mixed precision does not depend on how a program writes the sizes: activations are stored in 16 bits also if the batch is a number, a
 * length, or sliced; gradients of parameters stay in f32. */
#include "plan/compiled_plan.h"
#include "support/fixture.h"
#include <string.h>
#include <weft/weft.h>

enum { ROWS = 96, WIDTH = 64, STEPS = 3 };

typedef enum sizes { BATCH, NUMBER, LENGTH, SLICED } sizes;

typedef struct network {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *x, *loss;
} network;

static weft_tensor *loss_of(weft_tensor *x, bool sliced) {
    weft_tensor *h = x;
    for (int layer = 0; layer < 4; layer++) h = weft_relu(weft_linear(h, WIDTH, .no_bias = true));
    weft_tensor *const y = weft_linear(h, 1, .no_bias = true);
    if (!sliced) return weft_mean(weft_square(y));
    return weft_mean(weft_square(weft_sub(weft_slice(y, 0, 1, WEFT_END), weft_slice(y, 0, 0, -1))));
}

static network begin(sizes kind, weft_precision precision, bool late) {
    static const int64_t rows[] = {
        [BATCH] = WEFT_BATCH, [NUMBER] = ROWS, [LENGTH] = WEFT_LENGTH, [SLICED] = WEFT_BATCH};
    network n = {0};
    assert_weft_ok(weft_graph_create(&n.graph, test_context()));
    assert_weft_ok(weft_graph_set_precision(n.graph, precision));
    n.x = weft_input_shape(n.graph, "x", WEFT_F32, 2, (const int64_t[]){rows[kind], WIDTH});
    n.loss = loss_of(n.x, kind == SLICED);
    weft_optimizer rule = weft_sgd(0.1f);
    rule.clip_value = 1; /* a value between the gradient and the update */
    weft_tensor *const step = weft_train_step(n.loss, rule, NULL);
    assert_weft_ok(weft_graph_status(n.graph));
    const bool has_batch = kind == BATCH || kind == SLICED;
    assert_weft_ok(weft_plan_create(&n.plan, WEFT_TENSORS(n.loss, step),
        WEFT_WITH(
            plan, .batch = has_batch ? ROWS : 1, .length = kind == LENGTH ? ROWS : 0, .compile_late = late)));
    return n;
}

static void end(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static size_t bytes_of(sizes kind, weft_precision precision) {
    weft_plan_info info;
    network n = begin(kind, precision, true);
    assert_weft_ok(weft_plan_get_info(n.plan, &info));
    end(&n);
    return info.arena_lower_bound;
}

static void memory_is_saved_with_all_sizes(void **state) {
    (void)state;
    for (sizes kind = BATCH; kind <= SLICED; kind++) {
        const double share =
            (double)bytes_of(kind, WEFT_PRECISION_BF16) / (double)bytes_of(kind, WEFT_PRECISION_F32);
        if (share > 0.8) fail_msg("sizes %d: %g of the bytes in f32", (int)kind, share);
    }
}

static void gradients_of_parameters_stay_in_f32(void **state) {
    (void)state;
    for (sizes kind = NUMBER; kind <= SLICED; kind++) {
        network n = begin(kind, WEFT_PRECISION_BF16, true);
        const wi_partition *const p = &n.plan->partition;
        size_t narrow = 0;
        for (size_t i = 0; i < p->value_count; i++) {
            const wi_shape *const shape = &p->values[i].node->shape;
            if (p->values[i].format != WEFT_BF16) continue;
            assert_true(
                shape->dims[0] >= ROWS - 1 || shape->dims[1] >= ROWS - 1); /* not a weight's gradient */
            narrow += p->values[i].storage >= 0;
        }
        assert_true(narrow >= 4);
        end(&n);
    }
}

static void train(sizes kind, weft_precision precision, float losses[STEPS]) {
    static float data[ROWS * WIDTH];
    network n = begin(kind, precision, false);
    uint32_t bits = 7;
    for (int i = 0; i < ROWS * WIDTH; i++)
        data[i] = (float)((bits = bits * 1664525u + 1013904223u) >> 8) * 0x1p-23f - 1;
    for (int i = 0; i < STEPS; i++)
        assert_weft_ok(
            weft_plan_step(n.plan, WEFT_VALUES(WEFT_VALUE(n.x, data), WEFT_VALUE(n.loss, losses[i]))));
    end(&n);
}

static void losses_follow_those_of_f32(void **state) {
    float wide[STEPS], narrow[STEPS];
    (void)state;
    for (sizes kind = NUMBER; kind <= SLICED; kind += SLICED - NUMBER) {
        train(kind, WEFT_PRECISION_F32, wide);
        train(kind, WEFT_PRECISION_BF16, narrow);
        for (int i = 0; i < STEPS; i++) assert_float_equal(narrow[i], wide[i], 0.03f * wide[i]);
        assert_true(memcmp(wide, narrow, sizeof wide) != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_saved_with_all_sizes),
        cmocka_unit_test(gradients_of_parameters_stay_in_f32),
        cmocka_unit_test(losses_follow_those_of_f32),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
