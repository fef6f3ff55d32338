/* Second gradients of what tests/golden/ops does not hold: options of attention, recurrent layers and pooling, the
 * same tensor as several inputs, f64. They are compared with central differences of
 * s = sum(g * v), g the first gradients, along a random direction of all inputs at once. */
/* test once slow */
#include "support/fixture.h"

#include "cl/context.h"
#include <math.h>

enum { INPUTS = 7, MOST = 512 };
#define STEP      4e-3
#define TOLERANCE 3e-3 /* of the sum of the second gradient's terms, in magnitude */
#define DIMS(...)                                                                                            \
    { __VA_ARGS__, WEFT_END }

typedef struct second_case {
    const char *name;
    int64_t dims[INPUTS][6]; /* ended by WEFT_END; those of no input begin with 0 */
    weft_tensor *(*build)(weft_tensor *const *x);
} second_case;

/* ---- attention ---- */

static weft_tensor *causal(weft_tensor *const *x) {
    return weft_attention(
        x[0], x[1], x[2], &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .causal = true});
}
static weft_tensor *float_mask(weft_tensor *const *x) {
    return weft_attention(x[0], x[1], x[2],
        &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = x[3], .scale = 0.7f});
}
/* The first query sees nothing. */
static weft_tensor *bool_mask(weft_tensor *const *x) {
    weft_graph *const graph = weft_tensor_graph(x[0]);
    weft_tensor *const seen = weft_array(
        graph, WEFT_BOOL, (const bool[]){0, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0}, 2, (const int64_t[]){4, 3});
    return weft_attention(
        x[0], x[1], x[2], &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = seen});
}
static weft_tensor *self_attention(weft_tensor *const *x) {
    return weft_attention(x[0], x[0], x[0], NULL);
}

/* ---- recurrent layers ---- */

static weft_tensor *all_of(weft_recurrent r) {
    weft_tensor *sum = weft_add(weft_sum(weft_square(r.y)), weft_sum(weft_sin(r.h)));
    return r.c ? weft_add(sum, weft_sum(weft_square(r.c))) : sum;
}
static weft_tensor *lengths_of(weft_tensor *const *x) {
    return weft_array(weft_tensor_graph(x[0]), WEFT_I32, (const int32_t[]){2, 4, 0}, 1, (const int64_t[]){3});
}
static weft_tensor *lstm_projected(weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], NULL, x[4]};
    return all_of(weft_lstm_with(x[0], &w,
        &(weft_sequence_options){WEFT_SEQUENCE_OPTIONS_INIT, .h0 = x[5], .c0 = x[6], .reverse = true}));
}
static weft_tensor *lstm_lengths(weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], NULL, NULL};
    return all_of(weft_lstm_with(
        x[0], &w, &(weft_sequence_options){WEFT_SEQUENCE_OPTIONS_INIT, .lengths = lengths_of(x)}));
}
static weft_tensor *lstm_one_state(weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], NULL, NULL};
    return all_of(weft_lstm_with(
        x[0], &w, &(weft_sequence_options){WEFT_SEQUENCE_OPTIONS_INIT, .h0 = x[4], .c0 = x[4]}));
}
static weft_tensor *gru_left(weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], x[4], NULL};
    return all_of(weft_gru_with(x[0], &w,
        &(weft_sequence_options){
            WEFT_SEQUENCE_OPTIONS_INIT, .lengths = lengths_of(x), .left_padded = true, .reverse = true}));
}
static weft_tensor *gru_reset_first(weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], x[4], NULL};
    return all_of(weft_gru_with(
        x[0], &w, &(weft_sequence_options){WEFT_SEQUENCE_OPTIONS_INIT, .h0 = x[5], .reset_first = true}));
}
static weft_tensor *rnn_reverse(weft_tensor *const *x) {
    const weft_recurrent_weights w = {x[1], x[2], x[3], NULL, NULL};
    return all_of(weft_rnn_with(
        x[0], &w, &(weft_sequence_options){WEFT_SEQUENCE_OPTIONS_INIT, .h0 = x[4], .reverse = true}));
}

/* ---- adaptive softmax: x, the head's weight and bias, a projection and a tail's weight ---- */

static weft_tensor *adaptive_loss(weft_tensor *const *x, const float *capacity) {
    const int64_t cutoff = 3;
    const weft_adaptive_softmax_weights weights = {x[1], x[2], &x[3], &x[4]};
    weft_tensor *const labels = weft_array(
        weft_tensor_graph(x[0]), WEFT_I32, (const int32_t[]){0, 6, 2, 4, 1, -100}, 1, (const int64_t[]){6});
    return weft_adaptive_softmax_loss(
        weft_adaptive_softmax_with(7, &cutoff, 1, &weights,
            &(weft_adaptive_softmax_options){WEFT_ADAPTIVE_SOFTMAX_OPTIONS_INIT, .capacities = capacity}),
        x[0], labels);
}
static weft_tensor *adaptive(weft_tensor *const *x) {
    return adaptive_loss(x, NULL);
}
/* The tail is computed for the two rows with a label of it. */
static weft_tensor *adaptive_capacity(weft_tensor *const *x) {
    return adaptive_loss(x, (const float[]){1 / 3.0f});
}
static weft_tensor *multi_head(weft_tensor *const *x) {
    const weft_multi_head_weights weights = {
        .in_proj_weight = x[1], .in_proj_bias = x[2], .out_proj_weight = x[3]};
    return weft_multi_head_attention_with(x[0], x[0], x[0], 2, &weights, NULL);
}

/* ---- others: linear pieces are squared, so that there is something to see ---- */

static weft_tensor *pool(weft_tensor *const *x) {
    return weft_square(
        weft_max_pool(x[0], &(weft_pool_options){WEFT_POOL_OPTIONS_INIT, .windows = {3, 2}, .strides = {2, 1},
                                .paddings = {1, 1}, .dilations = {1, 2}, .ceil_mode = true}));
}
static weft_tensor *adaptive_pool(weft_tensor *const *x) {
    return weft_sin(weft_adaptive_max_pool(weft_square(x[0]), (const int64_t[]){2, 3}));
}
static weft_tensor *third(weft_tensor *const *x) {
    weft_tensor *const loss = weft_sum(weft_square(weft_square(weft_max_pool2d(x[0], 2))));
    return weft_gradient(loss, x[0]);
}
static weft_tensor *prod_in_f64(weft_tensor *const *x) {
    const bool has = wi_context_device(test_context())->caps.fp64;
    weft_tensor *const wide = weft_cast(x[0], has ? WEFT_F64 : WEFT_F32);
    return weft_cast(weft_prod_axes(wide, (const int64_t[]){0, 2, WEFT_END}, false), WEFT_F32);
}

/* clang-format off */
static const second_case cases[] = {
    {"causal attention", {DIMS(2, 4, 3), DIMS(2, 5, 3), DIMS(2, 5, 2)}, causal},
    {"attention with a trained mask", {DIMS(2, 4, 3), DIMS(2, 3, 3), DIMS(2, 3, 2), DIMS(4, 3)}, float_mask},
    {"attention with a bool mask", {DIMS(2, 4, 3), DIMS(2, 3, 3), DIMS(2, 3, 2)}, bool_mask},
    {"attention of one tensor", {DIMS(2, 4, 3)}, self_attention},
    {"multi-head attention", {DIMS(2, 3, 4), DIMS(12, 4), DIMS(12), DIMS(4, 4)}, multi_head},
    {"adaptive softmax", {DIMS(6, 4), DIMS(4, 4), DIMS(4), DIMS(2, 4), DIMS(4, 2)}, adaptive},
    {"adaptive softmax with a capacity", {DIMS(6, 4), DIMS(4, 4), DIMS(4), DIMS(2, 4), DIMS(4, 2)}, adaptive_capacity},
    {"lstm with a projection", {DIMS(3, 4, 2), DIMS(12, 2), DIMS(12, 2), DIMS(12), DIMS(2, 3), DIMS(3, 2), DIMS(3, 3)}, lstm_projected},
    {"lstm with lengths", {DIMS(3, 4, 2), DIMS(12, 2), DIMS(12, 3), DIMS(12)}, lstm_lengths},
    {"lstm with h0 = c0", {DIMS(3, 4, 2), DIMS(12, 2), DIMS(12, 3), DIMS(12), DIMS(3, 3)}, lstm_one_state},
    {"gru, left-padded", {DIMS(3, 4, 2), DIMS(9, 2), DIMS(9, 3), DIMS(9), DIMS(9)}, gru_left},
    {"gru that resets first", {DIMS(3, 4, 2), DIMS(9, 2), DIMS(9, 3), DIMS(9), DIMS(9), DIMS(3, 3)}, gru_reset_first},
    {"rnn, reverse", {DIMS(3, 4, 2), DIMS(3, 2), DIMS(3, 3), DIMS(3), DIMS(3, 3)}, rnn_reverse},
    {"max_pool", {DIMS(2, 3, 7, 6)}, pool},
    {"adaptive max_pool", {DIMS(2, 2, 5, 7)}, adaptive_pool},
    {"max_pool, third", {DIMS(2, 3, 4, 4)}, third},
    {"prod in f64", {DIMS(3, 2, 2)}, prod_in_f64},
};
/* clang-format on */
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct built {
    int count;
    size_t sizes[INPUTS];
    weft_tensor *x[INPUTS], *v[INPUTS], *s, *seconds[INPUTS];
} built;

static double number(size_t which, int input, int role, size_t i, double reach) {
    test_random random =
        test_random_named(cases[which].name, (uint64_t)((i * INPUTS + (size_t)input) * 3 + (size_t)role));
    return test_random_between(&random, -reach, reach);
}

/* ---- building and running ---- */

static void build(weft_graph *graph, size_t which, built *b) {
    weft_tensor *first[INPUTS];
    for (; b->count < INPUTS && cases[which].dims[b->count][0] != 0; b->count++) {
        const int64_t *const dims = cases[which].dims[b->count];
        int rank = 0;
        b->sizes[b->count] = 1;
        for (; dims[rank] != WEFT_END; rank++) b->sizes[b->count] *= (size_t)dims[rank];
        b->x[b->count] = weft_input_shape(graph, "x", WEFT_F32, rank, dims);
        b->v[b->count] = weft_input_shape(graph, "v", WEFT_F32, rank, dims);
    }
    weft_tensor *const y = cases[which].build(b->x);
    assert_weft_ok(weft_gradients(weft_sum(weft_add(weft_square(y), y)), b->x, (size_t)b->count, first));
    for (int i = 0; i < b->count; i++) {
        weft_tensor *const term = weft_sum(weft_mul(first[i], b->v[i]));
        b->s = b->s ? weft_add(b->s, term) : term;
    }
    assert_weft_ok(weft_gradients(b->s, b->x, (size_t)b->count, b->seconds));
}

static double run(weft_plan *plan, size_t which, const built *b, double along) {
    float data[MOST], s;
    for (int i = 0; i < b->count; i++) {
        assert_true(b->sizes[i] <= MOST);
        for (size_t k = 0; k < b->sizes[i]; k++)
            data[k] = (float)(number(which, i, 0, k, 1.5) + along * number(which, i, 1, k, 1));
        assert_weft_ok(weft_plan_write(plan, b->x[i], data, b->sizes[i] * sizeof *data));
        for (size_t k = 0; k < b->sizes[i]; k++) data[k] = (float)number(which, i, 2, k, 1);
        assert_weft_ok(weft_plan_write(plan, b->v[i], data, b->sizes[i] * sizeof *data));
    }
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, b->s, &s, sizeof s));
    return (double)s;
}

static void check(size_t which) {
    built b = {.count = 0};
    weft_tensor *outputs[INPUTS + 1];
    weft_graph *const graph = test_graph();
    build(graph, which, &b);
    for (int i = 0; i < b.count; i++) outputs[i] = b.seconds[i];
    outputs[b.count] = b.s;
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, (size_t)b.count + 1, NULL));
    const double difference = (run(plan, which, &b, STEP) - run(plan, which, &b, -STEP)) / (2 * STEP);
    double slope = 0, size = 0;
    (void)run(plan, which, &b, 0);
    for (int i = 0; i < b.count; i++) {
        float second[MOST];
        assert_weft_ok(weft_plan_read(plan, b.seconds[i], second, b.sizes[i] * sizeof *second));
        for (size_t k = 0; k < b.sizes[i]; k++) {
            slope += (double)second[k] * number(which, i, 1, k, 1);
            size += fabs((double)second[k] * number(which, i, 1, k, 1));
        }
    }
    if (!(fabs(slope - difference) <= TOLERANCE * size) || size == 0)
        fail_msg("%s: the second gradient says %g, the difference of first ones %g", cases[which].name, slope,
            difference);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_case(void **state) {
    check(*(const size_t *)*state);
}

int main(void) {
    static size_t numbers[CASES];
    struct CMUnitTest tests[CASES];
    for (size_t i = 0; i < CASES; i++) {
        numbers[i] = i;
        tests[i] = (struct CMUnitTest){cases[i].name, test_case, NULL, NULL, &numbers[i]};
    }
    return test_finish(_cmocka_run_group_tests("second differences", tests, CASES, NULL, NULL));
}
