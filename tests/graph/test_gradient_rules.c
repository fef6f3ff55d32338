/* What an op says of its gradient: a rule, that it is zero, or that there is none. The walk back asks every op between
 * the loss and what is differentiated, and skips none without a word. */
#include "support/fixture.h"

#include "ops/index/index.h"
#include "ops/pooling/pool.h"

/* ---- the table of ops ---- */

static void test_every_row_says_one(void **state) {
    (void)state;
#define WI_MAP1(name, ...) &wi_op_##name,
#define WI_MAP2(name, ...) &wi_op_##name,
#define WI_MAP3(name, ...) &wi_op_##name,
#define WI_NODE(name)      &wi_op_##name,
#define WI_FUNCTION_ROW(name)
    static const wi_op *const ops[] = {
#include "ops/op_list.h"
        &wi_op_dilate, &wi_op_scatter_max, &wi_op_scatter_min, &wi_op_max_pool_gradient,
        &wi_op_max_pool_winners, &wi_op_avg_pool_gradient};
    weft_graph *const graph = test_graph();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const wi_op *const op = ops[i];
        if (op->kind == WI_GENERATOR) continue; /* it has no inputs */
        const int said = (wi_rules_of(graph, op)->backward != NULL) + (op->composed != NULL) +
                         op->zero_gradient + (op->no_gradient != NULL);
        if (said != 1) fail_msg("%s says %d times what its gradient is", op->name, said);
    }
    weft_graph_release(graph);
}

/* ---- one node on the path ---- */

static const wi_op silent = {.name = "silent", .kind = WI_MAP};
static const wi_op without = {.name = "without", .kind = WI_MAP, .no_gradient = "take another op"};
static const wi_op flat = {.name = "flat", .kind = WI_MAP, .zero_gradient = true};

static weft_tensor *made(const wi_op *op, weft_tensor *x) {
    return wi_node(x->graph, op, &x, 1, WEFT_F32, &x->shape, NULL);
}

static weft_tensor *input(weft_graph *graph) {
    return weft_input_shape(graph, "x", WEFT_F32, 1, (const int64_t[]){4});
}

static void test_silence_is_an_error(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph), *gradient;
    weft_tensor *const loss = weft_sum(weft_square(made(&silent, weft_square(x))));
    assert_weft_fails(
        WEFT_ERROR_UNSUPPORTED, weft_gradients(loss, &x, 1, &gradient), "op silent has no gradient rule");
    assert_null(gradient);
    weft_graph_release(graph);
}

static void test_error_names_op_and_way_out(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph), *gradient;
    weft_tensor *const loss = weft_sum(weft_square(made(&without, weft_square(x))));
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, weft_gradients(loss, &x, 1, &gradient), "without",
        "has no gradient: take another op", "weft_stop_gradient");
    weft_graph_release(graph);
}

/* Nodes beside the path are not asked: what is not differentiated, and what depends on it through zeros alone. */
static void test_only_the_path_is_asked(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = input(graph), *const other = weft_input_shape(graph, "other", WEFT_F32, 0, NULL);
    weft_tensor *const steps[] = {made(&flat, x), weft_cast(weft_argmax(x, 0), WEFT_F32),
        weft_cast(weft_less(x, other), WEFT_F32), weft_stop_gradient(x), other};
    weft_tensor *loss = weft_sum(x), *gradient = NULL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        loss = weft_add(loss, weft_sum(weft_square(made(&without, weft_square(steps[i])))));
    assert_weft_ok(weft_gradients(loss, &x, 1, &gradient));
    weft_graph_release(graph);
}

/* ---- the ops of the library that have none ---- */

/* Fails where the second gradient of sum(y²) with regard to x passes through an op without gradient. */
static void assert_first_only(const char *op, weft_tensor *y, weft_tensor *x) {
    weft_tensor *first = NULL, *second = NULL;
    assert_weft_ok(weft_gradients(weft_sum(weft_square(y)), &x, 1, &first));
    assert_weft_fails(WEFT_ERROR_UNSUPPORTED, weft_gradients(weft_sum(weft_square(first)), &x, 1, &second),
        op, "has no gradient", "leave it out of second gradients", "weft_stop_gradient");
    assert_null(second);
}

static void test_ctc(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){4, 2, 3});
    weft_tensor *const targets = weft_input_shape(graph, "t", WEFT_I32, 2, (const int64_t[]){2, 2});
    weft_tensor *const steps = weft_input_shape(graph, "s", WEFT_I32, 1, (const int64_t[]){2});
    weft_tensor *const labels = weft_input_shape(graph, "l", WEFT_I32, 1, (const int64_t[]){2});
    assert_first_only("ctc", weft_ctc(weft_log_softmax(x, 2), targets, steps, labels), x);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_says_one),
        cmocka_unit_test(test_silence_is_an_error),
        cmocka_unit_test(test_error_names_op_and_way_out),
        cmocka_unit_test(test_only_the_path_is_asked),
        cmocka_unit_test(test_ctc),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
