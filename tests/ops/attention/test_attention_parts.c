/* Attention written by parts: plans and gradients compute it by the op where the parts are attention and nobody else reads them. Results
 * and gradients are those of plans that recognise nothing, also where the parts only look like attention. */
/* test.naive WEFT_ATTENTION=naive slow */
#include "support/fixture.h"

#include "graph/weft_graph.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, MASK, SLOPE, INPUTS };
enum { OUTPUTS = 6 };

typedef struct network {
    weft_graph *graph;
    weft_tensor *x[INPUTS], *outputs[OUTPUTS];
    size_t count;
    weft_plan *plan;
    weft_tensor *also; /* a part that the loss or the caller reads, too */
} network;

typedef struct sizes {
    int64_t outer, heads, queries, keys, width;
} sizes;

/* ---- by parts ---- */

static weft_tensor *scores_of(const network *n) {
    return weft_matmul(n->x[Q], weft_transpose(n->x[K]));
}

static weft_tensor *weigh(const network *n, weft_tensor *scores) {
    return weft_matmul(weft_softmax(scores, -1), n->x[V]);
}

static weft_tensor *scaled(const network *n) {
    return weft_mul_number(scores_of(n), 0.3);
}

/* bool; the first key always takes part. */
static weft_tensor *allowed(const network *n) {
    return weft_greater_equal_number(n->x[MASK], 0);
}

static weft_tensor *lowest(const network *n) {
    return weft_constant(n->graph, WEFT_F32, -(double)INFINITY);
}

/* True where the key is not behind the query. */
static weft_tensor *triangle(const network *n) {
    weft_tensor *const ones = weft_add_number(weft_mul_number(n->x[MASK], 0), 1);
    return weft_greater_number(weft_tril(ones, 0), 0);
}

static weft_tensor *unscaled(network *n) {
    return weigh(n, scores_of(n));
}

static weft_tensor *scaled_scores(network *n) {
    return weigh(n, scaled(n));
}

static weft_tensor *divided_scores(network *n) {
    return weigh(n, weft_div_number(scores_of(n), 3));
}

static weft_tensor *scaled_operands(network *n) {
    weft_tensor *const keys = weft_mul_number(weft_transpose(n->x[K]), 0.5);
    return weigh(n, weft_matmul(weft_mul_number(n->x[Q], 0.5), keys));
}

static weft_tensor *swapped_keys(network *n) {
    weft_tensor *const keys = weft_permute(n->x[K], 0, 1, 3, 2);
    return weigh(n, weft_matmul(n->x[Q], keys));
}

static weft_tensor *of_rank_3(network *n) {
    weft_tensor *x[3];
    for (int i = Q; i <= V; i++) x[i] = weft_flatten_axes(n->x[i], 0, 1);
    weft_tensor *const p = weft_softmax(weft_matmul(x[Q], weft_transpose(x[K])), -1);
    return weft_reshape_shape(weft_matmul(p, x[V]), 4,
        (const int64_t[]){weft_tensor_dimension(n->x[Q], 0), weft_tensor_dimension(n->x[Q], 1),
            weft_tensor_dimension(n->x[Q], 2), weft_tensor_dimension(n->x[V], 3)});
}

static weft_tensor *shared_keys(network *n) {
    weft_tensor *const keys = weft_slice(n->x[K], 1, 0, 1), *const values = weft_slice(n->x[V], 1, 0, 1);
    return weft_matmul(weft_softmax(weft_matmul(n->x[Q], weft_transpose(keys)), -1), values);
}

static weft_tensor *added_mask(network *n) {
    return weigh(n, weft_add(scaled(n), weft_stop_gradient(n->x[MASK])));
}

static weft_tensor *mask_of_keys(network *n) {
    return weigh(n, weft_add(weft_stop_gradient(weft_slice(n->x[MASK], 2, 0, 1)), scaled(n)));
}

static weft_tensor *chosen_keys(network *n) {
    return weigh(n, weft_where(allowed(n), scaled(n), lowest(n)));
}

static weft_tensor *filled_keys(network *n) {
    return weigh(n, weft_masked_fill(scaled(n), weft_logical_not(allowed(n)), -(double)INFINITY));
}

static weft_tensor *two_masks(network *n) {
    weft_tensor *const added = weft_add(scaled(n), weft_stop_gradient(n->x[MASK]));
    return weigh(n, weft_where(allowed(n), added, lowest(n)));
}

static weft_tensor *causal(network *n) {
    return weigh(n, weft_where(triangle(n), scaled(n), lowest(n)));
}

static weft_tensor *causal_numbers(network *n) {
    weft_tensor *const zero = weft_constant(n->graph, WEFT_F32, 0);
    return weigh(n, weft_add(scaled(n), weft_where(triangle(n), zero, lowest(n))));
}

static weft_tensor *dropped(network *n) {
    return weft_matmul(weft_dropout(weft_softmax(scaled(n), -1), 0.4f), n->x[V]);
}

/* ---- what only looks like it ---- */

static weft_tensor *along_queries(network *n) {
    return weft_matmul(weft_softmax(scaled(n), -2), n->x[V]);
}

static weft_tensor *finite_mask(network *n) {
    return weigh(n, weft_where(allowed(n), scaled(n), weft_constant(n->graph, WEFT_F32, -3)));
}

static weft_tensor *scaled_mask(network *n) {
    return weigh(n, weft_mul_number(weft_add(scores_of(n), weft_stop_gradient(n->x[MASK])), 0.5));
}

static weft_tensor *wide_mask(network *n) {
    weft_tensor *const wider = weft_unsqueeze(weft_stop_gradient(n->x[MASK]), 0);
    weft_tensor *const both = weft_expand(wider, 5,
        (const int64_t[]){2, weft_tensor_dimension(wider, 1), weft_tensor_dimension(wider, 2),
            weft_tensor_dimension(wider, 3), weft_tensor_dimension(wider, 4)});
    return weft_sum_axes(weigh(n, weft_add(scaled(n), both)), (const int64_t[]){0, WEFT_END}, false);
}

static weft_tensor *trained_scale(network *n) {
    weft_tensor *const scale = weft_mean(weft_square(n->x[SLOPE]));
    return weigh(n, weft_mul(scores_of(n), scale));
}

static weft_tensor *negative_scale(network *n) {
    return weigh(n, weft_mul_number(scores_of(n), -0.3));
}

static weft_tensor *two_products(network *n) {
    weft_tensor *const places = weft_matmul(n->x[Q], weft_transpose(weft_sin(n->x[K])));
    return weigh(n, weft_add(scores_of(n), places));
}

static weft_tensor *between_softmax(network *n) {
    return weft_matmul(weft_square(weft_softmax(scaled(n), -1)), n->x[V]);
}

static weft_tensor *weights_read(network *n) {
    weft_tensor *const weights = weft_softmax(scaled(n), -1);
    n->also = weights;
    return weft_matmul(weights, n->x[V]);
}

static weft_tensor *scores_read(network *n) {
    weft_tensor *const scores = n->also = scaled(n);
    return weigh(n, scores);
}

static weft_tensor *trained_mask(network *n) {
    return weigh(n, weft_add(scaled(n), n->x[MASK]));
}

typedef struct row {
    const char *name;
    weft_tensor *(*build)(network *n);
    bool is_attention;
    sizes sizes;
} row;

#define SMALL                                                                                                \
    { 2, 3, 9, 13, 8 }
static const row rows[] = {{"unscaled", unscaled, true, SMALL},
    {"of size 1", scaled_scores, true, {1, 1, 1, 1, 1}}, {"scaled scores", scaled_scores, true, SMALL},
    {"divided scores", divided_scores, true, SMALL}, {"scaled operands", scaled_operands, true, SMALL},
    {"swapped keys", swapped_keys, true, SMALL}, {"of rank 3", of_rank_3, true, SMALL},
    {"shared keys", shared_keys, true, SMALL}, {"added mask", added_mask, true, SMALL},
    {"mask of keys", mask_of_keys, true, SMALL}, {"chosen keys", chosen_keys, true, SMALL},
    {"filled keys", filled_keys, true, SMALL}, {"two masks", two_masks, true, SMALL},
    {"dropped", dropped, true, SMALL}, {"causal across blocks", causal, true, {1, 2, 150, 230, 8}},
    {"causal numbers across blocks", causal_numbers, true, {1, 2, 230, 230, 5}},
    {"few queries", causal_numbers, true, {1, 2, 3, 70, 16}},
    {"too wide", scaled_scores, false, {1, 1, 3, 5, 257}}, {"along queries", along_queries, false, SMALL},
    {"finite mask", finite_mask, false, SMALL}, {"scaled mask", scaled_mask, false, SMALL},
    {"wide mask", wide_mask, false, SMALL}, {"trained scale", trained_scale, false, SMALL},
    {"negative scale", negative_scale, false, SMALL}, {"two products", two_products, false, SMALL},
    {"between softmax and product", between_softmax, false, SMALL},
    {"weights that the loss reads", weights_read, false, SMALL},
    {"scores that the loss reads", scores_read, false, SMALL}};

/* ---- plans ---- */

static size_t count_of(const sizes *s, int input, int64_t *dims) {
    const int64_t rows_of[] = {s->queries, s->keys, s->keys, s->queries, s->queries};
    dims[0] = input == MASK ? 1 : s->outer;
    dims[1] = input == MASK ? 1 : s->heads;
    dims[2] = rows_of[input];
    dims[3] = input == MASK ? s->keys : s->width;
    return (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
}

static network begin(const sizes *s, bool plain) {
    static const char *const names[] = {"q", "k", "v", "mask", "slope"};
    network n = {.graph = test_graph()};
    int64_t dims[4];
    n.graph->plain = plain;
    for (int i = 0; i < INPUTS; i++) {
        count_of(s, i, dims);
        n.x[i] = weft_input_shape(n.graph, names[i], WEFT_F32, 4, dims);
    }
    return n;
}

/* y and the gradients of q, k and v, and those of `wrt`. */
static void differentiate(network *n, weft_tensor *y, weft_tensor *wrt) {
    weft_tensor *loss = weft_sum(weft_mul(y, n->x[SLOPE]));
    if (n->also) loss = weft_add(loss, weft_sum(weft_square(n->also)));
    weft_tensor *const of[] = {n->x[Q], n->x[K], n->x[V], wrt};
    n->outputs[0] = y;
    n->count = wrt ? 5 : 4;
    assert_weft_ok(weft_gradients(loss, of, n->count - 1, n->outputs + 1));
    assert_weft_ok(weft_plan_create(&n->plan, n->outputs, n->count, NULL));
}

static void write_inputs(network *n, const sizes *s) {
    for (int i = 0; i < INPUTS; i++) {
        int64_t dims[4];
        test_random random = test_random_named("attention by parts", (uint64_t)i);
        const size_t count = count_of(s, i, dims);
        float *const values = malloc(count * sizeof *values);
        assert_non_null(values);
        for (size_t k = 0; k < count; k++) values[k] = (float)test_random_between(&random, -1.5, 1.5);
        for (size_t k = 0; i == MASK && k < count; k += (size_t)s->keys) values[k] = 1;
        if (weft_plan_write(n->plan, n->x[i], values, count * sizeof *values) != WEFT_OK)
            assert_true(i == MASK || i == SLOPE); /* not every network reads them */
        free(values);
    }
}

static bool has_attention(const weft_plan *plan) {
    size_t length = 0;
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, NULL, 0, &length));
    char *const text = malloc(length + 1);
    assert_non_null(text);
    assert_weft_ok(weft_plan_describe(plan, WEFT_FORMAT_TEXT, text, length + 1, NULL));
    const bool has = strstr(text, "attention") != NULL;
    if (has && strstr(text, "matmul")) print_error("%s", text);
    if (has) assert_null(strstr(text, "matmul")); /* else the forward pass is computed twice */
    free(text);
    return has;
}

static float *read_output(const network *n, size_t output, size_t *count) {
    *count = 1;
    for (int i = 0; i < weft_tensor_rank(n->outputs[output]); i++)
        *count *= (size_t)weft_tensor_dimension(n->outputs[output], i);
    float *const values = malloc(*count * sizeof *values);
    assert_non_null(values);
    assert_weft_ok(weft_plan_read(n->plan, n->outputs[output], values, *count * sizeof *values));
    return values;
}

static void compare(const char *name, const network *a, const network *b) {
    for (size_t output = 0; output < a->count; output++) {
        size_t count;
        float *const got = read_output(a, output, &count), *const wanted = read_output(b, output, &count);
        float most = 1, worst = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(isnan(got[i]) != 0, isnan(wanted[i]) != 0);
            if (isnan(wanted[i])) continue;
            most = fmaxf(most, fabsf(wanted[i]));
            worst = fmaxf(worst, fabsf(got[i] - wanted[i]));
        }
        if (!(worst <= 2e-5f * most))
            fail_msg("%s, output %zu: off by %g of at most %g", name, output, (double)worst, (double)most);
        free(got);
        free(wanted);
    }
}

static void end(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

/* ---- tests ---- */

static void test_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const row *const r = &rows[i];
        if (test_reduced() && r->sizes.queries * r->sizes.keys > 200) continue;
        network n[2];
        for (int plain = 0; plain < 2; plain++) {
            n[plain] = begin(&r->sizes, plain == 1);
            differentiate(&n[plain], r->build(&n[plain]), NULL);
            write_inputs(&n[plain], &r->sizes);
            assert_weft_ok(weft_plan_run(n[plain].plan));
        }
        if (has_attention(n[0].plan) != r->is_attention)
            fail_msg("%s: the plan has %s", r->name, r->is_attention ? "no attention" : "attention");
        assert_false(has_attention(n[1].plan));
        compare(r->name, &n[0], &n[1]);
        end(&n[0]);
        end(&n[1]);
    }
}

/* If the gradient of a part or of an added mask is wanted, gradients pass through the parts. Predictions use the op. */
static void test_wanted_parts(void **state) {
    (void)state;
    const sizes s = SMALL;
    for (int trained = 0; trained < 2; trained++) {
        network n[2];
        for (int plain = 0; plain < 2; plain++) {
            n[plain] = begin(&s, plain == 1);
            weft_tensor *const y = (trained ? trained_mask : weights_read)(&n[plain]);
            weft_tensor *const wrt = trained ? n[plain].x[MASK] : n[plain].also;
            n[plain].also = NULL;
            differentiate(&n[plain], y, wrt);
            write_inputs(&n[plain], &s);
            assert_weft_ok(weft_plan_run(n[plain].plan));
            assert_false(has_attention(n[plain].plan));
        }
        compare(trained ? "trained mask" : "wanted weights", &n[0], &n[1]);
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(
            &plan, n[0].outputs, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = true}));
        assert_true(has_attention(plan));
        weft_plan_release(plan);
        end(&n[0]);
        end(&n[1]);
    }
}

/* What the caller reads stays, and is computed once. */
static void test_kept_weights(void **state) {
    (void)state;
    const sizes s = SMALL;
    network n = begin(&s, false);
    weft_tensor *const y = weights_read(&n), *const both[] = {y, n.also};
    assert_weft_ok(weft_plan_create(&n.plan, both, 2, NULL));
    assert_false(has_attention(n.plan));
    end(&n);
}

/* A query without a key is NaN by parts, and stays NaN. */
static void test_query_without_keys(void **state) {
    (void)state;
    const sizes s = SMALL;
    for (int numbers = 0; numbers < 2; numbers++) {
        network n[2];
        for (int plain = 0; plain < 2; plain++) {
            n[plain] = begin(&s, plain == 1);
            weft_tensor *const seen =
                weft_less_number(weft_slice(n[plain].x[MASK], 3, 1, 2), 0.5); /* all keys or none */
            weft_tensor *const mask =
                weft_where(seen, weft_constant(n[plain].graph, WEFT_F32, 0), lowest(&n[plain]));
            n[plain].outputs[0] =
                weigh(&n[plain], numbers ? weft_add(scaled(&n[plain]), mask)
                                         : weft_where(seen, scaled(&n[plain]), lowest(&n[plain])));
            n[plain].count = 1;
            assert_weft_ok(weft_plan_create(&n[plain].plan, n[plain].outputs, 1, NULL));
            write_inputs(&n[plain], &s);
            assert_weft_ok(weft_plan_run(n[plain].plan));
        }
        size_t count, missing = 0;
        float *const y = read_output(&n[0], 0, &count);
        for (size_t i = 0; i < count; i++) missing += isnan(y[i]) != 0;
        assert_true(missing > 0 && missing < count);
        free(y);
        assert_true(has_attention(n[0].plan));
        compare("a query without keys", &n[0], &n[1]);
        end(&n[0]);
        end(&n[1]);
    }
}

/* At the lengths that plans choose, forward and backward. */
static void test_lengths(void **state) {
    (void)state;
    enum { HEADS = 2, WIDTH = 4 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x =
        weft_input_shape(graph, "x", WEFT_F32, 4, (const int64_t[]){WEFT_BATCH, HEADS, WEFT_LENGTH, WIDTH});
    weft_tensor *const p = weft_softmax(weft_mul_number(weft_matmul(x, weft_transpose(x)), 0.5), -1);
    weft_tensor *const outputs[] = {weft_gradient(weft_sum(weft_square(weft_matmul(p, x))), x)};
    assert_weft_ok(weft_graph_status(graph));
    for (int64_t length = 3; length < 20; length += 13) {
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(
            &plan, outputs, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2, .length = length}));
        assert_true(has_attention(plan));
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows),
        cmocka_unit_test(test_wanted_parts), cmocka_unit_test(test_kept_weights),
        cmocka_unit_test(test_query_without_keys), cmocka_unit_test(test_lengths)};
    return test_finish(cmocka_run_group_tests_name("attention_parts", tests, NULL, NULL));
}
