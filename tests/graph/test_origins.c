/* Errors say where they come from: the public call, the open scopes, the place that WEFT_HERE told; and calls that are given
 * NULL tell the error that made it. */
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

/* ---- errors of expressions ---- */

static void errors_name_the_scopes_and_the_place(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_scope_begin(graph, "layers.3", false);
    weft_scope_begin(graph, "self_attn", false);
    weft_tensor *const image = weft_input(WEFT_HERE(graph), "image", WEFT_F32, 64, 4, 4);
    const int line = __LINE__ - 1;
    char place[160];
    snprintf(place, sizeof place, "(scope 'layers.3.self_attn', after %s:%d)", __FILE__, line);
    assert_null(weft_add(image, weft_input(graph, "scale", WEFT_F32, 64)));
    assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph),
        "add: shapes (batch, 64, 4, 4) and (batch, 64) do not broadcast (scope", place);
    weft_graph_release(graph);
}

static void errors_without_a_place_end_as_they_did(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = weft_input(graph, "a", WEFT_F32, 3), *const b =
                                                                    weft_input(graph, "b", WEFT_F32, 4);
    weft_scope_begin(graph, "closed", false);
    weft_scope_end(graph);
    assert_ptr_equal(weft_graph_here(graph, NULL, 0), graph);
    assert_null(weft_add(a, b));
    assert_int_equal(weft_graph_status(graph), WEFT_ERROR_SHAPE);
    assert_string_equal(weft_last_error(), "add: shapes (batch, 3) and (batch, 4) do not broadcast");
    assert_null(weft_graph_here(NULL, "x.c", 1));
    weft_graph_release(graph);
}

static weft_tensor *masked_attention(weft_tensor *x) {
    weft_graph *const graph = weft_tensor_graph(x);
    return weft_multi_head_attention(
        x, x, x, 2, WEFT_WITH(multi_head, .mask = weft_input(graph, "mask", WEFT_F32, 7, 9)));
}
static weft_tensor *wide_linear(weft_tensor *x) {
    weft_tensor *const weight = weft_parameter(weft_tensor_graph(x), "w", weft_zeros(), 4, 5);
    return weft_linear_with(x, weight, NULL);
}
static weft_tensor *other_bias(weft_tensor *x) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const weight = weft_parameter(graph, "w", weft_zeros(), 4, 8);
    return weft_linear_with(x, weight, weft_parameter(graph, "b", weft_zeros(), 5));
}
static weft_tensor *other_index(weft_tensor *x) {
    weft_tensor *const index = weft_input_shape(weft_tensor_graph(x), "i", WEFT_I32, 1, (int64_t[]){7});
    return weft_index_add(x, 1, index, x);
}
static weft_tensor *named_twice(weft_tensor *x) {
    return weft_linear(weft_linear(x, 8, .name = "same"), 8, .name = "same");
}

/* Whatever op notices it, the line has the call that the program made. */
static void errors_name_the_public_call(void **state) {
    (void)state;
    const struct {
        weft_tensor *(*build)(weft_tensor *x);
        const char *call;
    } rows[] = {{masked_attention, "weft_multi_head_attention"}, {wide_linear, "weft_linear_with"},
        {other_bias, "weft_linear_with"}, {other_index, "weft_index_add"}, {named_twice, "weft_linear"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 8);
        weft_scope_begin(graph, "block", false);
        assert_null(rows[i].build(x));
        assert_true(weft_graph_status(graph) != WEFT_OK);
        if (!strstr(weft_last_error(), rows[i].call) || !strstr(weft_last_error(), "scope 'block')"))
            print_error("%s: %s\n", rows[i].call, weft_last_error());
        assert_non_null(strstr(weft_last_error(), rows[i].call));
        assert_non_null(strstr(weft_last_error(), "scope 'block')"));
        weft_graph_release(graph);
    }
}

/* ---- NULL, because a call before failed ---- */

static void null_outputs_tell_what_made_them(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const a = weft_input(graph, "a", WEFT_F32, 3), *const b =
                                                                    weft_input(graph, "b", WEFT_F32, 4);
    weft_tensor *const sum = weft_add(a, b), *gradient = NULL;
    weft_plan *plan = NULL;
    weft_trainer *trainer = NULL;
    const char *const cause =
        "because an earlier call failed: add: shapes (batch, 3) and (batch, 4) do not broadcast";
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, &sum, 1, NULL),
        "weft_plan_create: output 0 is NULL", cause);
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT};
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_trainer_create(&trainer, sum, &options),
        "weft_trainer_create: loss is NULL", cause);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_gradients(sum, &sum, 1, &gradient), "loss is NULL", cause);
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_create(&plan, &sum, 1, NULL), "output 0 is NULL", cause);
    assert_null(
        strstr(strstr(weft_last_error(), "earlier call failed") + 1, "earlier call failed")); /* once */
    weft_graph_release(graph);
    assert_int_equal(weft_plan_create(&plan, (weft_tensor *[]){NULL}, 1, NULL), WEFT_ERROR_ARGUMENT);
    assert_string_equal(weft_last_error(), "weft_plan_create: output 0 is NULL"); /* the graph is gone */
}

/* ---- what a plan says of a tensor without a name ---- */

static void tensors_without_a_name_are_described(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4);
    weft_scope_begin(graph, "head", false);
    weft_tensor *const y = weft_linear(x, 3);
    weft_scope_end(graph);
    weft_tensor *const z = weft_relu(y);
    weft_plan *plan = NULL;
    float got[3];
    assert_weft_ok(weft_plan_create(&plan, &z, 1, NULL));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, y, got, sizeof got),
        "weft_plan_read: add (batch, 3) (in weft_linear, scope 'head') is not one of the plan's outputs");
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_plan_read(plan, z, got, 4), "relu (batch, 3) has 12 bytes");
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- faults of a run ---- */

static weft_status run_with(weft_plan *plan, weft_tensor *input, int32_t number) {
    weft_status status = weft_plan_write(plan, input, &number, sizeof number);
    if (status == WEFT_OK) status = weft_plan_run(plan);
    return status == WEFT_OK ? weft_plan_wait(plan) : status;
}

static void a_full_cache_is_called_so(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {1, 2, 4, 8};
    weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 4, (const int64_t[]){1, 2, 1, 8});
    weft_tensor *const position = weft_input_shape(graph, "position", WEFT_I32, 0, NULL);
    weft_tensor *const keys = weft_state_shape(graph, "keys", WEFT_F32, weft_zeros(), 4, dims);
    weft_tensor *const values = weft_state_shape(graph, "values", WEFT_F32, weft_zeros(), 4, dims);
    weft_scope_begin(graph, "decoder", false);
    weft_tensor *update = NULL, *const y = weft_attention_cached(x, x, x, keys, values, position, &update);
    weft_scope_end(graph);
    const float numbers[16] = {1};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, WEFT_TENSORS(y, update), NULL));
    assert_weft_ok(weft_plan_write(plan, x, numbers, sizeof numbers));
    assert_weft_ok(run_with(plan, position, 3));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, run_with(plan, position, 4),
        "attention_cached: a position is 4, not in 0..3: the cache is full", "scope 'decoder'");
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* Also of nodes that the backward pass and the plan make. */
static void faults_name_the_call_and_the_scope(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const token = weft_input_shape(graph, "token", WEFT_I32, 1, (const int64_t[]){1});
    weft_scope_begin(graph, "words", false);
    weft_tensor *const rows = weft_embedding(token, 5, 4);
    weft_scope_end(graph);
    weft_tensor *const gradient =
        weft_gradient(weft_sum(weft_square(rows)), weft_graph_find(graph, "words.embedding1.weight"));
    weft_tensor *const outputs[] = {rows, gradient};
    for (int i = 0; i < 2; i++) {
        weft_plan *plan = NULL;
        assert_weft_ok(weft_plan_create(&plan, &outputs[i], 1, NULL));
        assert_weft_fails(WEFT_ERROR_ARGUMENT, run_with(plan, token, 5), "embedding: a token is outside",
            "(scope 'words')");
        weft_plan_release(plan);
    }
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_the_scopes_and_the_place),
        cmocka_unit_test(errors_without_a_place_end_as_they_did),
        cmocka_unit_test(errors_name_the_public_call),
        cmocka_unit_test(null_outputs_tell_what_made_them),
        cmocka_unit_test(tensors_without_a_name_are_described),
        cmocka_unit_test(a_full_cache_is_called_so),
        cmocka_unit_test(faults_name_the_call_and_the_scope),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
