/* weft_predict on batches of several sizes, and its plans that are kept with the graph. */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <weft/weft.h>

typedef struct network {
    weft_graph *graph;
    weft_tensor *sum, *dropped;
} network;

/* sum = a·(1, 2, 3) + b; dropped = dropout(sum), which is sum in inference. */
static network make_network(weft_context *context) {
    network net;
    const float weights[3] = {1, 2, 3};
    const int64_t three = 3;
    assert_ok(weft_graph_create(&net.graph, context));
    weft_tensor *const a = weft_input(net.graph, "a", WEFT_F32, 3), *const b =
                                                                        weft_input(net.graph, "b", WEFT_F32);
    net.sum = weft_add(weft_sum(weft_mul(a, weft_array(net.graph, WEFT_F32, weights, 1, &three)), 1), b);
    net.dropped = weft_dropout(net.sum, 0.5f);
    assert_ok(weft_graph_status(net.graph));
    return net;
}

enum { MOST = 40 };

static void predict(const network *net, weft_tensor *output, size_t batch, float scale) {
    float as[MOST][3], bs[MOST], got[MOST];
    for (size_t i = 0; i < batch; i++) {
        for (size_t c = 0; c < 3; c++) as[i][c] = scale * (float)(i + c);
        bs[i] = (float)i;
    }
    const weft_column columns[] = {{.name = "b", .dtype = WEFT_F32, .data = bs},
        {.name = "a", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = as}};
    (void)net;
    assert_ok(weft_predict(output, batch, columns, 2, got, batch * sizeof *got));
    for (size_t i = 0; i < batch; i++) {
        const float expected = scale * (6.0f * (float)i + 8.0f) + (float)i;
        assert_true(fabsf(got[i] - expected) <= 1e-5f * fabsf(expected));
    }
}

static void batches_of_any_size(void **state) {
    (void)state;
    const network net = make_network(test_context());
    static const size_t sizes[] = {1, 7, 32, 1, 40, 7, 2, 3, 4, 5, 6, 8, 9, 10, 32, 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        predict(&net, net.sum, sizes[i], 0.5f + (float)i);
        predict(&net, net.dropped, sizes[i], 1.0f);
    }
    weft_graph_release(net.graph);
}

static void kept_plans_are_used_again(void **state) {
    (void)state;
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    weft_context *context = NULL;
    const weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks};
    assert_ok(weft_context_create(&context, &options));
    const network net = make_network(context);
    predict(&net, net.sum, 4, 1.0f);
    const long after_first = atomic_load(&allocator.made);
    predict(&net, net.sum, 5, 1.0f);
    const long after_other = atomic_load(&allocator.made);
    predict(&net, net.sum, 4, 2.0f);
    const long again = atomic_load(&allocator.made) - after_other;
    assert_true(again < (after_other - after_first) / 2);
    weft_graph_release(net.graph); /* takes its plans along: no cycle */
    weft_context_release(context);
    assert_int_equal(atomic_load(&allocator.live), 0);
}

static void misuse_is_refused(void **state) {
    (void)state;
    const network net = make_network(test_context());
    float a[3] = {0}, b[1] = {0}, got[2];
    const weft_column good_a = {.name = "a", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = a};
    const weft_column good_b = {.name = "b", .dtype = WEFT_F32, .data = b};
    const struct {
        weft_column columns[3];
        size_t count, batch, bytes;
        weft_status status;
        const char *part;
    } rows[] = {
        {{good_a, good_b}, 2, 0, 4, WEFT_ERROR_ARGUMENT, "batch is 0"},
        {{good_a}, 1, 1, 4, WEFT_ERROR_ARGUMENT, "input 'b': the dataset has no column"},
        {{good_a, good_b, {.name = "c", .dtype = WEFT_F32, .data = b}}, 3, 1, 4, WEFT_ERROR_ARGUMENT,
            "do not depend on an input 'c'"},
        {{good_a, {.name = "b", .dtype = WEFT_F32}}, 2, 1, 4, WEFT_ERROR_ARGUMENT, "'b' has no data"},
        {{good_a, {.name = "b", .dtype = WEFT_I32, .data = b}}, 2, 1, 4, WEFT_ERROR_DTYPE, "'b' is f32"},
        {{good_b, {.name = "a", .dtype = WEFT_F32, .rank = 1, .dims = {4}, .data = a}}, 2, 1, 4,
            WEFT_ERROR_SHAPE, "(batch, 4)"},
        {{good_b, {.name = "a", .dtype = WEFT_F32, .rank = 99, .dims = {3}, .data = a}}, 2, 1, 4,
            WEFT_ERROR_SHAPE, "input 'a': the column of this name has rank 99, expected 0 to 7"},
        {{good_b, {.name = "a", .dtype = WEFT_F32, .rank = -1, .dims = {3}, .data = a}}, 2, 1, 4,
            WEFT_ERROR_SHAPE, "rank -1"},
        {{good_b, {.name = "a", .dtype = WEFT_F32, .rank = INT32_MAX, .dims = {3}, .data = a}}, 2, 1, 4,
            WEFT_ERROR_SHAPE, "rank 2147483647"},
        {{good_a, good_b}, 2, 1, 8, WEFT_ERROR_ARGUMENT, "8"},
        {{good_a, good_b, good_a}, 3, 1, 4, WEFT_ERROR_ARGUMENT,
            "input 'a': the dataset has two columns of this name"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_fails(weft_predict(net.sum, rows[i].batch, rows[i].columns, rows[i].count, got, rows[i].bytes),
            rows[i].status, rows[i].part);
    assert_fails(weft_predict(NULL, 1, rows[0].columns, 2, got, 4), WEFT_ERROR_ARGUMENT, "output is NULL");
    assert_status(weft_predict(net.sum, 1, NULL, 2, got, 4), WEFT_ERROR_ARGUMENT);
    assert_status(weft_predict(net.sum, 1, rows[0].columns, 2, NULL, 4), WEFT_ERROR_ARGUMENT);
    predict(&net, net.sum, 1, 1.0f);
    weft_graph_release(net.graph);
}

static void several_outputs_of_one_run(void **state) {
    (void)state;
    const network net = make_network(test_context());
    weft_tensor *const draw =
        weft_mul(net.sum, weft_uniform(net.graph, 1, 2, 1, (const int64_t[]){WEFT_BATCH}));
    weft_tensor *const twice = weft_add(draw, draw);
    const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[2] = {7, 8};
    const weft_column columns[] = {{.name = "a", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = a},
        {.name = "b", .dtype = WEFT_F32, .data = b}};
    float got[3][2];
    const weft_prediction outputs[] = {
        {draw, got[0], sizeof got[0]}, {twice, got[1], sizeof got[1]}, {net.sum, got[2], sizeof got[2]}};
    for (int again = 0; again < 2; again++) {
        assert_ok(weft_predict_all(outputs, 3, 2, columns, 2));
        assert_true(
            got[1][0] == 2 * got[0][0] && got[1][1] == 2 * got[0][1]); /* of one run: the same numbers */
        assert_true(got[2][0] == 21 && got[2][1] == 40);
    }
    weft_graph *const other = test_graph();
    weft_tensor *const foreign = weft_input(other, "x", WEFT_F32);
    const weft_prediction mixed[] = {{net.sum, got[0], sizeof got[0]}, {foreign, got[1], sizeof got[1]}};
    assert_fails(
        weft_predict_all(mixed, 2, 2, columns, 2), WEFT_ERROR_ARGUMENT, "output 1 belongs to another graph");
    const weft_prediction nowhere[] = {{net.sum, NULL, sizeof got[0]}};
    assert_fails(
        weft_predict_all(nowhere, 1, 2, columns, 2), WEFT_ERROR_ARGUMENT, "data of output 0 is NULL");
    assert_fails(
        weft_predict_all(outputs, 0, 2, columns, 2), WEFT_ERROR_ARGUMENT, "the number of outputs is 0");
    assert_fails(
        weft_predict_all(outputs, 17, 2, columns, 2), WEFT_ERROR_ARGUMENT, "the number of outputs is 17");
    weft_graph_release(other);
    weft_graph_release(net.graph);
}

static void two_inputs_of_one_name(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = weft_input(graph, "x", WEFT_F32, 3), *const b = weft_input(graph, "x", WEFT_F32);
    const float numbers[3] = {0};
    float got[1];
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 1, .dims = {3}, .data = numbers};
    assert_fails(weft_predict(weft_add(weft_sum(a, 1), b), 1, &column, 1, got, sizeof got),
        WEFT_ERROR_ARGUMENT, "two inputs are named 'x', f32 (batch, 3) and f32 (batch)");
    assert_ok(weft_predict(weft_sum(a, 1), 1, &column, 1, got, sizeof got));
    weft_trainer *trainer = NULL;
    weft_tensor *const y = weft_linear(a, 1);
    assert_fails(weft_trainer_create(&trainer, weft_mse(y, weft_reshape(b, WEFT_BATCH, 1)), NULL),
        WEFT_ERROR_ARGUMENT, "two inputs are named 'x'");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_any_size),
        cmocka_unit_test(kept_plans_are_used_again),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(several_outputs_of_one_run),
        cmocka_unit_test(two_inputs_of_one_name),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
