/* Rows picked by token: values and gradients, the padding index, the layer's table, tied tables, tokens
 * outside the vocabulary. */
/* test slow */
/* test.{formats} format={} reduced */
/* test.{formats}.gpu format={} reduced */
/* test.{mixed,mixed_f16} format={} reduced */
/* test.{mixed,mixed_f16}.gpu format={} reduced */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_embedding.h"
#include "oracle/reference_index.h"
#include <math.h>
#include <string.h>

/* ---- against references ---- */

/* start: the padding index; -1: none. */
static weft_tensor *build_embedding(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return c->start < 0 ? weft_embedding_with(inputs[0], inputs[1])
                        : weft_embedding_padded_with(inputs[0], inputs[1], c->start);
}
static f64_array *reference_embedding(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_index_select(inputs[0], 0, inputs[1]);
}

#define TABLE(...) F32(-2, 2, __VA_ARGS__)
static const op_case embedding_cases[] = {
    CASE("one token of one", embedding, INPUTS(TABLE(1, 1), I32(0, 0, 1)), .start = -1),
    CASE("a single token", embedding, INPUTS(TABLE(3, 5), {WEFT_I32, OP_RANDOM, 0, 2, {WEFT_END}, OP_WHOLE}),
        .start = -1),
    CASE("sequences of a batch", embedding, INPUTS(TABLE(11, 20), I32(0, 10, WEFT_BATCH, 7)), .start = -1),
    CASE("many, most of them repeated", embedding, INPUTS(TABLE(13, 67), I32(0, 4, 15, 20)), .start = -1),
    CASE("wide", embedding, INPUTS(TABLE(7, 257), I32(0, 6, 2, 3)), .start = -1),
    CASE("strided table and tokens", embedding,
        INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 9, 18), {WEFT_I32, OP_RANDOM, 0, 8, DIMS(4, 3), OP_TRANSPOSED}),
        .start = -1),
};

/* ---- bags: axis is the mode, start the padding or -1, list the offsets where `keep` ---- */

static weft_tensor *build_embedding_bag_with(
    const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    weft_bag_options o = {WEFT_BAG_OPTIONS_INIT, .mode = (weft_bag_mode)c->axis, .padded = c->start >= 0};
    const int64_t count = f64_list_length(c->list);
    int32_t offsets[WEFT_MAX_RANK];
    for (int i = 0; i < count; i++) offsets[i] = (int32_t)c->list[i];
    if (c->keep) o.offsets = weft_array(graph, WEFT_I32, offsets, 1, &count);
    o.padding = c->start;
    o.weights = inputs[2];
    return weft_embedding_bag_with(inputs[0], inputs[1], &o);
}

static f64_array *reference_embedding_bag_with(const op_case *c, const f64_array *const *inputs) {
    const int64_t count = f64_list_length(c->list);
    f64_bags bags = {(weft_bag_mode)c->axis, NULL, inputs[2], c->start};
    if (c->keep) {
        f64_array *const offsets = f64_zeros(1, &count);
        for (int64_t i = 0; i < count; i++) offsets->value[i] = (double)c->list[i];
        bags.offsets = offsets;
    }
    return f64_embedding_bag(inputs[0], inputs[1], &bags);
}

#define BAG(mode, left_out) .axis = (mode), .start = (left_out), .roundings = 4
static const op_case embedding_bag_with_cases[] = {
    CASE(
        "mean", embedding_bag_with, INPUTS(TABLE(11, 20), I32(0, 10, WEFT_BATCH, 7)), BAG(WEFT_BAG_MEAN, -1)),
    CASE("sum, deep", embedding_bag_with, INPUTS(TABLE(5, 3), I32(0, 4, 2, 3, 4)), BAG(WEFT_BAG_SUM, -1)),
    CASE("max", embedding_bag_with, INPUTS(TABLE(9, 17), I32(0, 8, WEFT_BATCH, 5)), BAG(WEFT_BAG_MAX, -1)),
    CASE("bags of one", embedding_bag_with, INPUTS(TABLE(9, 4), I32(0, 8, 3, 1)), BAG(WEFT_BAG_MAX, -1)),
    CASE("weights", embedding_bag_with,
        INPUTS(TABLE(11, 20), I32(0, 10, WEFT_BATCH, 7), F32(-2, 2, WEFT_BATCH, 7)), BAG(WEFT_BAG_SUM, -1)),
    CASE("mean, padded", embedding_bag_with, INPUTS(TABLE(3, 5), I32(0, 2, 30, 2)), BAG(WEFT_BAG_MEAN, 1)),
    CASE("sum, padded", embedding_bag_with, INPUTS(TABLE(3, 5), I32(0, 2, 30, 2)), BAG(WEFT_BAG_SUM, 0)),
    CASE("max, padded", embedding_bag_with, INPUTS(TABLE(3, 5), I32(0, 2, 30, 2)), BAG(WEFT_BAG_MAX, 2)),
    CASE("mean at offsets", embedding_bag_with, INPUTS(TABLE(11, 20), I32(0, 10, 23)), BAG(WEFT_BAG_MEAN, -1),
        LIST(0, 5, 5, 22), .keep = true),
    CASE("sum at offsets of any number of tokens", embedding_bag_with,
        INPUTS(TABLE(11, 3), I32(0, 10, WEFT_BATCH), F32(-2, 2, WEFT_BATCH)), BAG(WEFT_BAG_SUM, 4),
        LIST(0, 0, 1, 2), .keep = true),
    CASE("sum at offsets, the last bag without a token", embedding_bag_with,
        INPUTS(TABLE(11, 3), I32(0, 10, 9)), BAG(WEFT_BAG_SUM, -1), LIST(0, 4, 9), .keep = true),
    CASE("max at offsets, padded", embedding_bag_with, INPUTS(TABLE(11, 20), I32(0, 10, 23)),
        BAG(WEFT_BAG_MAX, 3), LIST(0, 5, 5, 22), .keep = true),
};

/* ---- the padding index, against what the same sum gives without it ---- */

enum { VOCABULARY = 6, WIDTH = 18, COUNT = 300 };

typedef struct fixture {
    weft_graph *graph;
    weft_tensor *tokens, *table, *gradient;
    weft_plan *plan;
    int32_t ids[COUNT];
    float got[VOCABULARY * WIDTH];
} fixture;

static void run(fixture *f, size_t count) {
    assert_weft_ok(weft_plan_create(&f->plan, &f->gradient, 1, NULL));
    assert_weft_ok(weft_plan_write(f->plan, f->tokens, f->ids, count * sizeof *f->ids));
    assert_weft_ok(weft_plan_run(f->plan));
}

static void close_fixture(fixture *f) {
    weft_plan_release(f->plan);
    weft_graph_release(f->graph);
}

/* The loss is the sum of 1, 2, 3, ... times the rows in order, so the gradient is a sum of places. */
static weft_tensor *weighted_sum(weft_graph *graph, weft_tensor *rows, size_t count) {
    static float weights[COUNT * WIDTH];
    for (size_t i = 0; i < count * WIDTH; i++) weights[i] = (float)(i / WIDTH + 1);
    const int64_t dims[] = {(int64_t)count, WIDTH};
    return weft_sum(weft_mul(rows, weft_array(graph, WEFT_F32, weights, 2, dims)));
}

static void check_padding(size_t count, bool padded) {
    static fixture f;
    f = (fixture){.graph = test_graph()};
    f.tokens = weft_input_shape(f.graph, "tokens", WEFT_I32, 1, (const int64_t[]){(int64_t)count});
    const weft_embedding_options options = {WEFT_EMBEDDING_OPTIONS_INIT, .padded = padded, .padding = -4};
    weft_tensor *rows = weft_embedding_layer(f.tokens, VOCABULARY, WIDTH, &options);
    f.table = weft_graph_find(f.graph, "embedding1.weight");
    assert_non_null(f.table);
    f.gradient = weft_gradient(weighted_sum(f.graph, rows, count), f.table);
    double wanted[VOCABULARY] = {0};
    for (size_t j = 0; j < count; j++) {
        f.ids[j] = (int32_t)(j * j % 4 + j % 2); /* 0, 2 and others; never the last */
        if (!padded || f.ids[j] != 2) wanted[f.ids[j]] += (double)j + 1;
    }
    run(&f, count);
    assert_weft_ok(weft_plan_read(f.plan, f.gradient, f.got, sizeof f.got));
    for (int r = 0; r < VOCABULARY; r++)
        for (int i = 0; i < WIDTH; i++) assert_true((double)f.got[r * WIDTH + i] == wanted[r]);
    assert_weft_ok(weft_tensor_read(f.table, f.got, sizeof f.got));
    for (int r = 0; r < VOCABULARY; r++)
        for (int i = 0; i < WIDTH; i++) assert_true((f.got[r * WIDTH + i] == 0) == (padded && r == 2));
    close_fixture(&f);
}

static void test_padding(void **state) {
    (void)state;
    check_padding(9, true);
    check_padding(COUNT, true);
    check_padding(COUNT, false);
}

/* The gradient with regard to the rows' own gradient: zero where the token is the padding. */
static void test_padding_twice(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *tokens = weft_input_shape(graph, "tokens", WEFT_I32, 1, (const int64_t[]){3});
    weft_tensor *table = weft_input_shape(graph, "table", WEFT_F32, 2, (const int64_t[]){2, 2});
    weft_tensor *factor = weft_input_shape(graph, "factor", WEFT_F32, 2, (const int64_t[]){3, 2});
    weft_tensor *rows = weft_embedding_padded_with(table, tokens, 1);
    weft_tensor *slope = weft_gradient(weft_sum(weft_mul(rows, factor)), table);
    weft_tensor *second = weft_gradient(weft_sum(weft_mul(slope, table)), factor);
    weft_plan *plan;
    float got[6];
    assert_weft_ok(weft_plan_create(&plan, &second, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, tokens, (const int32_t[]){0, 1, 0}, 12));
    assert_weft_ok(weft_plan_write(plan, table, (const float[]){3, 4, 5, 6}, 16));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, second, got, sizeof got));
    assert_memory_equal(got, ((const float[]){3, 4, 0, 0, 3, 4}), sizeof got);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- tied tables: logits = rows · tableᵀ; both uses' gradients add up ---- */

static void test_tied(void **state) {
    (void)state;
    enum { V = 3, W = 2, N = 4 };
    weft_graph *graph = test_graph();
    weft_tensor *tokens = weft_input_shape(graph, "tokens", WEFT_I32, 1, (const int64_t[]){N});
    weft_tensor *rows = weft_embedding(tokens, V, W);
    weft_tensor *table = weft_graph_find(graph, "embedding1.weight");
    weft_tensor *logits = weft_linear_with(rows, table, NULL);
    weft_tensor *gradient = weft_gradient(weft_sum(weft_square(logits)), table);
    assert_int_equal(weft_graph_parameter_count(graph), 1);
    weft_plan *plan;
    const float e[V][W] = {{1, 2}, {-1, 0.5f}, {0.25f, -2}};
    const int32_t ids[N] = {2, 0, 2, 2};
    double wanted[V][W] = {{0}};
    for (int n = 0; n < N; n++)
        for (int v = 0; v < V; v++) {
            double dot = 0;
            for (int i = 0; i < W; i++) dot += (double)e[ids[n]][i] * (double)e[v][i];
            for (int i = 0; i < W; i++) {
                wanted[v][i] += 2 * dot * (double)e[ids[n]][i];
                wanted[ids[n]][i] += 2 * dot * (double)e[v][i];
            }
        }
    float got[V][W];
    assert_weft_ok(weft_plan_create(&plan, &gradient, 1, NULL));
    assert_weft_ok(weft_tensor_write(table, e, sizeof e));
    assert_weft_ok(weft_plan_write(plan, tokens, ids, sizeof ids));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, gradient, got, sizeof got));
    for (int v = 0; v < V; v++)
        for (int i = 0; i < W; i++) assert_true(fabs((double)got[v][i] - wanted[v][i]) <= 1e-5);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

/* In the forward and the backward pass: zeros, no gradient, and a line. */
static void test_outside_the_vocabulary(void **state) {
    (void)state;
    static fixture f;
    f = (fixture){.graph = test_graph()};
    f.tokens = weft_input_shape(f.graph, "tokens", WEFT_I32, 1, (const int64_t[]){COUNT});
    weft_tensor *rows = weft_embedding(f.tokens, VOCABULARY, WIDTH);
    f.table = weft_graph_find(f.graph, "embedding1.weight");
    f.gradient = weft_gradient(weighted_sum(f.graph, rows, COUNT), f.table);
    for (int j = 0; j < COUNT; j++) f.ids[j] = 1;
    f.ids[40] = VOCABULARY;
    f.ids[41] = -1;
    weft_plan *plan;
    static float picked[COUNT * WIDTH];
    assert_weft_ok(weft_plan_create(&plan, &rows, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, f.tokens, f.ids, sizeof f.ids));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, rows, picked, sizeof picked),
        "embedding: a token is outside the vocabulary, first at position 40 (row-major) of its tokens");
    for (int i = 0; i < WIDTH; i++)
        assert_true(picked[40 * WIDTH + i] == 0 && picked[41 * WIDTH + i] == 0 && picked[i] != 0);
    weft_plan_release(plan);
    run(&f, COUNT);
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_plan_read(f.plan, f.gradient, f.got, sizeof f.got), "position 40");
    const double wanted = COUNT * (COUNT + 1) / 2.0 - 41 - 42;
    for (int i = 0; i < WIDTH; i++) assert_true((double)f.got[WIDTH + i] == wanted && f.got[i] == 0);
    close_fixture(&f);
}

static void check_line(weft_status status, const char *line, weft_tensor *(*build)(weft_graph *graph)) {
    weft_graph *graph = test_graph();
    assert_null(build(graph));
    assert_weft_fails(status, weft_graph_status(graph), line);
    weft_graph_release(graph);
}

static weft_tensor *table_of(weft_graph *graph, int rank) {
    return weft_input_shape(graph, "table", WEFT_F32, rank, (const int64_t[]){4, 3, 2});
}
static weft_tensor *some_tokens(weft_graph *graph) {
    return weft_input(graph, "tokens", WEFT_I32, 5);
}
static weft_tensor *float_tokens(weft_graph *graph) {
    return weft_embedding(weft_input(graph, "tokens", WEFT_F32, 5), 4, 3);
}
static weft_tensor *deep_table(weft_graph *graph) {
    return weft_embedding_with(table_of(graph, 3), some_tokens(graph));
}
static weft_tensor *no_width(weft_graph *graph) {
    return weft_embedding(some_tokens(graph), 4, 0);
}
static weft_tensor *bad_padding(weft_graph *graph) {
    return weft_embedding_padded_with(table_of(graph, 2), some_tokens(graph), 4);
}
static weft_tensor *bad_layer_padding(weft_graph *graph) {
    return weft_embedding_layer(some_tokens(graph), 4, 3,
        &(weft_embedding_options){WEFT_EMBEDDING_OPTIONS_INIT, .padded = true, .padding = -5});
}
static weft_tensor *bad_options(weft_graph *graph) {
    return weft_embedding_layer(some_tokens(graph), 4, 3, &(weft_embedding_options){.struct_size = 3});
}

static void test_bad_input(void **state) {
    (void)state;
    check_line(WEFT_ERROR_DTYPE, "embedding: takes a table of f32, f16", float_tokens);
    check_line(
        WEFT_ERROR_SHAPE, "embedding: the table is (4, 3, 2), expected (vocabulary, width)", deep_table);
    check_line(
        WEFT_ERROR_ARGUMENT, "weft_embedding: vocabulary is 4 and width is 0, expected 1 or more", no_width);
    check_line(WEFT_ERROR_ARGUMENT, "embedding: padding index 4 is not in -4..3", bad_padding);
    check_line(WEFT_ERROR_ARGUMENT, "weft_embedding: padding index -5 is not in -4..3", bad_layer_padding);
    check_line(WEFT_ERROR_ARGUMENT, "weft_embedding_layer: the options have struct_size 3", bad_options);
}

static weft_tensor *bag(weft_graph *graph, const weft_bag_options *options) {
    return weft_embedding_bag(some_tokens(graph), 4, 3, options, NULL);
}
static weft_tensor *bag_without_axis(weft_graph *graph) {
    return weft_embedding_bag(weft_input(graph, "tokens", WEFT_I32), 4, 3, NULL, NULL);
}
static weft_tensor *bag_of_two_axes(weft_graph *graph) {
    return bag(graph, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .offsets = some_tokens(graph)});
}
static weft_tensor *bag_of_float_offsets(weft_graph *graph) {
    return bag(
        graph, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .offsets = weft_input(graph, "offsets", WEFT_F32)});
}
static weft_tensor *bag_weights(weft_graph *graph, weft_bag_mode mode, weft_dtype dtype, int64_t length) {
    return bag(graph, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = mode,
                          .weights = weft_input(graph, "weights", dtype, length)});
}
static weft_tensor *bag_weights_of_mean(weft_graph *graph) {
    return bag_weights(graph, WEFT_BAG_MEAN, WEFT_F32, 5);
}
static weft_tensor *bag_whole_weights(weft_graph *graph) {
    return bag_weights(graph, WEFT_BAG_SUM, WEFT_I32, 5);
}
static weft_tensor *bag_short_weights(weft_graph *graph) {
    return bag_weights(graph, WEFT_BAG_SUM, WEFT_F32, 4);
}
static weft_tensor *bag_mode(weft_graph *graph) {
    return bag(graph, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = (weft_bag_mode)3});
}
static weft_tensor *bag_padding(weft_graph *graph) {
    return weft_embedding_bag_with(table_of(graph, 2), some_tokens(graph),
        &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .padded = true, .padding = -5});
}
static weft_tensor *bag_own_padding(weft_graph *graph) {
    return bag(graph, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .padded = true, .padding = 4});
}

static void test_bad_bags(void **state) {
    (void)state;
    const weft_status shape = WEFT_ERROR_SHAPE, argument = WEFT_ERROR_ARGUMENT, dtype = WEFT_ERROR_DTYPE;
    check_line(shape, "embedding_bag: tokens are (batch); without offsets, expected (..., tokens per bag)",
        bag_without_axis);
    check_line(shape,
        "embedding_bag: tokens are (batch, 5) and offsets are (batch, 5), expected one axis for both",
        bag_of_two_axes);
    check_line(dtype, "embedding_bag: offsets are i32, not f32; weft_cast converts", bag_of_float_offsets);
    check_line(argument, "embedding_bag: weights are given, but only mode WEFT_BAG_SUM takes them",
        bag_weights_of_mean);
    check_line(dtype, "embedding_bag: the table is f32, but the weights are i32; weft_cast converts",
        bag_whole_weights);
    check_line(shape,
        "embedding_bag: weights are (batch, 4) and tokens are (batch, 5), expected the same shape",
        bag_short_weights);
    check_line(argument, "embedding_bag: mode is 3, which is not a weft_bag_mode", bag_mode);
    check_line(argument, "embedding: padding index -5 is not in -4..3", bag_padding);
    check_line(argument, "embedding_bag: padding index 4 is not in -4..3", bag_own_padding);
}

/* A token before the first offset is in no bag. */
static void test_offsets_as_data(void **state) {
    (void)state;
    static const struct {
        int32_t offsets[3];
        weft_status status;
        float sums[3];
    } rows[] = {{{0, 2, 4}, WEFT_OK, {3, 7, 5}}, {{0, 0, 5}, WEFT_OK, {0, 15, 0}},
        {{1, 2, 4}, WEFT_ERROR_ARGUMENT, {2, 7, 5}}, {{0, 2, 7}, WEFT_OK, {3, 12, 0}}};
    weft_graph *graph = test_graph();
    weft_tensor *tokens = weft_input_shape(graph, "tokens", WEFT_I32, 1, (const int64_t[]){5});
    weft_tensor *offsets = weft_input_shape(graph, "offsets", WEFT_I32, 1, (const int64_t[]){3});
    weft_tensor *table = weft_input_shape(graph, "table", WEFT_F32, 2, (const int64_t[]){5, 1});
    weft_tensor *y = weft_embedding_bag_with(
        table, tokens, &(weft_bag_options){WEFT_BAG_OPTIONS_INIT, .mode = WEFT_BAG_SUM, .offsets = offsets});
    weft_plan *plan;
    float got[3];
    assert_weft_ok(weft_plan_create(&plan, &y, 1, NULL));
    assert_weft_ok(weft_plan_write(plan, tokens, (const int32_t[]){0, 1, 2, 3, 4}, 20));
    assert_weft_ok(weft_plan_write(plan, table, (const float[]){1, 2, 3, 4, 5}, 20));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_weft_ok(weft_plan_write(plan, offsets, rows[i].offsets, sizeof rows[i].offsets));
        assert_weft_ok(weft_plan_run(plan));
        if (rows[i].status)
            assert_weft_fails(
                rows[i].status, weft_plan_read(plan, y, got, sizeof got), "index is out of range");
        else
            assert_weft_ok(weft_plan_read(plan, y, got, sizeof got));
        assert_memory_equal(got, rows[i].sums, sizeof got);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

int main(void) {
    static const op_cases ops[] = {EMBEDDING_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_padding_twice),
        cmocka_unit_test(test_tied),
        cmocka_unit_test(test_outside_the_vocabulary),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_bad_bags),
        cmocka_unit_test(test_offsets_as_data),
    };
    const int failed = op_suite_run("embedding", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
