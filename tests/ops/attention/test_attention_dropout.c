/* Attention that drops weights beside the same made of products, a softmax and weft_dropout, which draws the
 * same elements in a graph of its own: forward and all gradients, over sizes across the kernels' tiles, wider
 * heads than the kernels take; plans for inference; bad input. With WEFT_TEST_FORMAT=mixed the fused one is in mixed
 * precision. */
/* test slow */
/* test.mixed format=mixed WEFT_ATTENTION=amx optimised */
/* test.mixed.model format=mixed WEFT_ATTENTION=amx WEFT_MATRIX_ENGINES=model reduced */
/* test.mixed.cpu format=mixed WEFT_ATTENTION=cpu WEFT_MATRIX_ENGINES=0 optimised */
/* test.{workitemloops,auto}.gpu POCL_WORK_GROUP_METHOD={} */
/* test.workitemrepl.gpu POCL_WORK_GROUP_METHOD=workitemrepl POCL_MAX_WORK_GROUP_SIZE=8 */
/* test.naive WEFT_ATTENTION=naive slow */
/* test.mixed.mma gpu format=mixed WEFT_ATTENTION=gpu_mma WEFT_MATRIX_ENGINES=model-mma */
/* test.mixed.{wmma,wmma12,mfma,xmx8,xmx16} gpu format=mixed WEFT_ATTENTION=gpu_{} WEFT_MATRIX_ENGINES=model-{} reduced */
/* test.mixed_f16.{engines} gpu format=mixed_f16 WEFT_ATTENTION=gpu_{} WEFT_MATRIX_ENGINES=model-{} reduced */
#include "support/fixture.h"
#include "support/op_case_shared.h"

#include "graph/weft_graph.h"
#include <math.h>
#include <stdlib.h>

typedef enum mask_kind { UNMASKED, BOOL, ADDED } mask_kind;
typedef struct sizes {
    int64_t outer, heads, queries, keys, d, dv;
    float dropout;
    bool causal;
    mask_kind mask; /* added ones are trained */
} sizes;

static const sizes table[] = {
    {1, 1, 1, 1, 1, 1, 0.5f, false, UNMASKED}, {2, 3, 5, 7, 4, 3, 0.3f, false, UNMASKED},
    {1, 2, 70, 110, 5, 33, 0.1f, false, UNMASKED}, {2, 1, 67, 67, 17, 17, 0.25f, true, UNMASKED},
    {1, 2, 20, 31, 8, 8, 0.5f, false, BOOL}, {1, 2, 33, 18, 8, 8, 0.2f, true, ADDED},
    {1, 1, 3, 4, 260, 2, 0.5f, false, UNMASKED}, /* composed */
};
enum { ROWS = sizeof table / sizeof *table };

/* In reduced runs with two heads at most. */
static sizes sizes_at(size_t row) {
    sizes s = table[row];
    if (test_reduced() && s.outer * s.heads > 2) s.outer = 1, s.heads = 2;
    return s;
}

enum { Q, K, V, MASK, SLOPE, INPUTS };
enum { Y, DQ, DK, DV, DMASK, OUTPUTS };
typedef struct network {
    weft_graph *graph;
    weft_tensor *inputs[INPUTS], *outputs[OUTPUTS];
    size_t count;
    weft_plan *plan;
} network;

static void shape_of(const sizes *s, int input, int64_t *dims) {
    const int64_t lengths[] = {s->queries, s->keys, s->keys, s->queries, s->queries},
                  widths[] = {s->d, s->d, s->dv, s->keys, s->dv};
    dims[0] = s->outer;
    dims[1] = s->heads;
    dims[2] = lengths[input];
    dims[3] = widths[input];
}

static size_t count_of(const sizes *s, int input) {
    int64_t dims[4];
    shape_of(s, input, dims);
    return (size_t)(dims[0] * dims[1] * dims[2] * dims[3]);
}

static weft_tensor *fused(network *n, const sizes *s, weft_tensor *mask) {
    return weft_attention(n->inputs[Q], n->inputs[K], n->inputs[V],
        &(weft_attention_options){
            WEFT_ATTENTION_OPTIONS_INIT, .mask = mask, .causal = s->causal, .dropout = s->dropout});
}

/* Every query sees the key 0, so that no row is empty. */
static weft_tensor *composed(network *n, const sizes *s, weft_tensor *mask) {
    weft_tensor *const never = weft_constant(n->graph, WEFT_F32, -1e30);
    weft_tensor *scores = weft_mul(weft_matmul(n->inputs[Q], weft_transpose(n->inputs[K])),
        weft_constant(n->graph, WEFT_F32, 1 / sqrt((double)s->d)));
    if (s->mask == ADDED) scores = weft_add(scores, mask);
    if (s->mask == BOOL) scores = weft_where(mask, scores, never);
    if (s->causal) /* -1e30 above the diagonal */
        scores = weft_add(weft_tril(scores, 0),
            weft_triu(weft_add(weft_mul(scores, weft_constant(n->graph, WEFT_F32, 0)), never), 1));
    return weft_matmul(weft_dropout(weft_softmax(scores, -1), s->dropout), n->inputs[V]);
}

static network build(const sizes *s, bool is_fused, bool inference) {
    static const char *const names[] = {"q", "k", "v", "mask", "slope"};
    network n = {.graph = test_graph()};
    if (is_fused) op_set_precision(n.graph);
    n.graph->plain = !is_fused; /* so that the parts stay parts */
    for (int i = 0; i < INPUTS; i++) {
        int64_t dims[4];
        shape_of(s, i, dims);
        n.inputs[i] = weft_input_shape(n.graph, names[i], WEFT_F32, 4, dims);
    }
    weft_tensor *mask = s->mask == UNMASKED ? NULL : n.inputs[MASK];
    if (s->mask == BOOL) mask = weft_less(weft_constant(n.graph, WEFT_F32, 0), mask);
    weft_tensor *const y = is_fused ? fused(&n, s, mask) : composed(&n, s, mask);
    weft_tensor *const loss = weft_sum(weft_mul(y, n.inputs[SLOPE]));
    n.outputs[n.count++] = y;
    for (int i = Q; i <= V; i++) n.outputs[n.count++] = weft_gradient(loss, n.inputs[i]);
    if (s->mask == ADDED) n.outputs[n.count++] = weft_gradient(loss, n.inputs[MASK]);
    assert_weft_ok(weft_plan_create(&n.plan, n.outputs, inference ? 1 : n.count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = inference}));
    if (inference) n.count = 1;
    return n;
}

static void end(network *n) {
    weft_plan_release(n->plan);
    weft_graph_release(n->graph);
}

static float *inputs_of(const sizes *s, int input) {
    test_random random = test_random_named("attention dropout", (uint64_t)input);
    const size_t count = count_of(s, input);
    float *const values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (float)test_random_between(&random, -1.5, 1.5);
        if (input == MASK && s->mask == BOOL && i % (size_t)s->keys == 0) values[i] = 1;
    }
    return values;
}

static void write_inputs(network *n, const sizes *s) {
    for (int i = 0; i < INPUTS; i++) {
        if ((i == MASK && s->mask == UNMASKED) || (i == SLOPE && n->count == 1)) continue;
        float *const values = inputs_of(s, i);
        assert_weft_ok(weft_plan_write(n->plan, n->inputs[i], values, count_of(s, i) * sizeof *values));
        free(values);
    }
}

static float *read_output(const network *n, const sizes *s, size_t output, size_t *count) {
    static const int like[] = {SLOPE, Q, K, V, MASK};
    *count = count_of(s, like[output]);
    float *const values = malloc(*count * sizeof *values);
    assert_non_null(values);
    assert_weft_ok(weft_plan_read(n->plan, n->outputs[output], values, *count * sizeof *values));
    return values;
}

static float allowed(float most) {
    return (op_tests_mixed() ? 0.95f * (float)op_tested_format()->gradient : 2e-5f) * fmaxf(most, 1);
}

static void compare(const network *a, const network *b, const sizes *s, size_t row) {
    for (size_t output = 0; output < a->count; output++) {
        size_t count;
        float *const got = read_output(a, s, output, &count), *const wanted =
                                                                  read_output(b, s, output, &count);
        float most = 0, worst = 0;
        for (size_t i = 0; i < count; i++) {
            most = fmaxf(most, fabsf(wanted[i]));
            worst = fmaxf(worst, fabsf(got[i] - wanted[i]));
        }
        if (!(worst <= allowed(most)))
            print_error(
                "row %zu, output %zu: off by %g of at most %g\n", row, output, (double)worst, (double)most);
        assert_true(worst <= allowed(most));
        free(got);
        free(wanted);
    }
}

/* Two runs: each draws anew, and both graphs the same. */
static void like_composed(void **state) {
    (void)state;
    const bool reduced = test_reduced() && !test_selects_some();
    const size_t rows = test_selects_some() ? 1 : test_reduced() ? 2 : ROWS; /* the first has one group */
    for (size_t row = reduced ? 1 : 0; row < rows; row++) {
        const sizes own = sizes_at(row), *const s = &own;
        network a = build(s, true, false), b = build(s, false, false);
        write_inputs(&a, s);
        write_inputs(&b, s);
        float *first = NULL;
        for (int run = 0; run < 2; run++) {
            size_t count;
            assert_weft_ok(weft_plan_run(a.plan));
            assert_weft_ok(weft_plan_run(b.plan));
            compare(&a, &b, s, row);
            float *const y = read_output(&a, s, Y, &count);
            if (run == 1 && row > 0) assert_memory_not_equal(y, first, count * sizeof *y);
            free(first);
            first = y;
        }
        free(first);
        end(&a);
        end(&b);
    }
}

/* Nothing is dropped there. */
static void in_inference(void **state) {
    (void)state;
    for (size_t row = 1; row < (test_reduced() ? 2 : ROWS); row++) {
        const sizes dropping = sizes_at(row);
        sizes plain = dropping;
        plain.dropout = 0;
        network a = build(&dropping, true, true), b = build(&plain, true, true);
        write_inputs(&a, &plain);
        write_inputs(&b, &plain);
        assert_weft_ok(weft_plan_run(a.plan));
        assert_weft_ok(weft_plan_run(b.plan));
        compare(&a, &b, &plain, row);
        end(&a);
        end(&b);
    }
}

/* The layer drops in training, anew in each run, and not in inference. */
static void layer(void **state) {
    (void)state;
    enum { LENGTH = 6, WIDTH = 8, COUNT = LENGTH * WIDTH };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){1, LENGTH, WIDTH});
    weft_tensor *const y = weft_multi_head_attention(
        x, x, x, 2, &(weft_multi_head_options){WEFT_MULTI_HEAD_OPTIONS_INIT, .dropout = 0.5f});
    float values[COUNT], got[2][COUNT];
    test_random random = test_random_named("layer", 0);
    for (int i = 0; i < COUNT; i++) values[i] = (float)test_random_between(&random, -1, 1);
    for (int inference = 0; inference < 2; inference++) {
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(
            &plan, &y, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .inference = inference == 1}));
        assert_weft_ok(weft_plan_write(plan, x, values, sizeof values));
        for (int run = 0; run < 2; run++) {
            assert_weft_ok(weft_plan_run(plan));
            assert_weft_ok(weft_plan_read(plan, y, got[run], sizeof got[run]));
        }
        if (inference)
            assert_memory_equal(got[0], got[1], sizeof got[0]);
        else
            assert_memory_not_equal(got[0], got[1], sizeof got[0]);
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

static void bad_input(void **state) {
    (void)state;
    static const float bad[] = {1, -0.1f, NAN};
    static const char *const lines[] = {"attention: dropout = 1 is not in [0, 1)",
        "attention: dropout = -0.1 is not in [0, 1)", "nan is not in [0, 1)"};
    for (int i = 0; i < 3; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){3, 4});
        assert_null(weft_attention(
            x, x, x, &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .dropout = bad[i]}));
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), lines[i]);
        weft_graph_release(graph);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(like_composed), cmocka_unit_test(in_inference),
        cmocka_unit_test(layer), cmocka_unit_test(bad_input)};
    return test_finish(cmocka_run_group_tests_name("attention_dropout", tests, NULL, NULL));
}
