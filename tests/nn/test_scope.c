/* Layers that are used twice: scopes that share names, for every layer that has parameters. */
#include "graph/weft_graph.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <stdio.h>
#include <weft/weft.h>

enum { IN = 6, OUT = 4 };

/* ---- every layer ---- */

static weft_tensor *linear(weft_tensor *x) {
    return weft_linear(weft_relu(weft_linear(x, 8)), OUT);
}
static weft_tensor *bilinear(weft_tensor *x) {
    return weft_bilinear(x, x, OUT);
}
static weft_tensor *images(weft_tensor *x) {
    return weft_batch_norm(weft_conv2d(weft_reshape(x, WEFT_BATCH, 1, 2, 3), 2, 2));
}
static weft_tensor *transposed(weft_tensor *x) {
    const weft_conv_layer_options options = {WEFT_CONV_LAYER_OPTIONS_INIT, .transposed = true};
    return weft_group_norm(
        weft_conv_layer(weft_reshape(x, WEFT_BATCH, 1, 2, 3), 2, (const int64_t[]){2, 2}, &options), 2);
}
static weft_tensor *attention(weft_tensor *x) {
    weft_tensor *const rows = weft_layer_norm(weft_reshape(x, WEFT_BATCH, 3, 2));
    return weft_rms_norm(weft_multi_head_attention(rows, rows, rows, 2, NULL));
}
static weft_tensor *attention_apart(weft_tensor *x) {
    weft_tensor *const rows = weft_reshape(x, WEFT_BATCH, 3, 2), *const keys = weft_concat(
                                                                     (weft_tensor *[]){rows, rows}, 2, 2);
    return weft_multi_head_attention(rows, keys, rows, 2, NULL);
}
static weft_tensor *recurrent(weft_tensor *x) {
    weft_tensor *const rows = weft_reshape(x, WEFT_BATCH, 3, 2);
    const weft_recurrent_options both = {WEFT_RECURRENT_OPTIONS_INIT, .layers = 2, .bidirectional = true};
    return weft_gru(weft_rnn(weft_lstm(rows, 3, &both).y, 3, NULL).y, 2, NULL).y;
}
static weft_tensor *embedding(weft_tensor *x) {
    const weft_embedding_options padded = {WEFT_EMBEDDING_OPTIONS_INIT, .padded = true, .padding = 1};
    return weft_add(weft_embedding(weft_cast(weft_abs(x), WEFT_I32), 9, 2),
        weft_embedding_layer(weft_cast(weft_abs(x), WEFT_I32), 9, 2, &padded));
}
static weft_tensor *instance(weft_tensor *x) {
    const weft_instance_norm_options options = {
        WEFT_INSTANCE_NORM_OPTIONS_INIT, .affine = true, .running = true};
    return weft_instance_norm_layer(weft_reshape(x, WEFT_BATCH, 2, 3), &options);
}
static weft_tensor *adaptive(weft_tensor *x) {
    const int64_t cutoff = 3;
    return weft_adaptive_softmax_log_prob(
        weft_adaptive_softmax_layer(weft_tensor_graph(x), IN, 7, &cutoff, 1, NULL), x);
}
static weft_tensor *many_classes(weft_tensor *x) {
    weft_graph *const graph = weft_tensor_graph(x);
    weft_tensor *const p = weft_mach_probabilities(weft_mach_layer(graph, IN, 7, 2, 3, NULL), x);
    return weft_add(
        weft_sum(weft_sampled_softmax_logits(weft_sampled_softmax_layer(graph, IN, 7, 2, NULL), x)),
        weft_sum(p));
}
static weft_tensor *whole_network(weft_tensor *x) {
    return weft_lenet5(weft_input(weft_tensor_graph(x), "image", WEFT_F32, 1, 32, 32), 3, "net.");
}

typedef weft_tensor *build(weft_tensor *x);

static weft_tensor *build_in(weft_graph *graph, const char *scope, build *layers, weft_tensor *x) {
    weft_scope_begin(graph, scope, true);
    weft_tensor *const y = layers(x);
    weft_scope_end(graph);
    return y;
}

/* Built twice over one input, a shared network is the same nodes; built twice in other scopes, it is two. */
static void every_layer_can_be_shared(void **state) {
    static build *const rows[] = {linear, bilinear, images, transposed, attention, attention_apart, recurrent,
        embedding, instance, adaptive, many_classes};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
        weft_tensor *const a = build_in(graph, "tower", rows[i], x);
        const size_t parameters = weft_graph_parameter_count(graph), states = weft_graph_state_count(graph);
        weft_tensor *const b = build_in(graph, "tower", rows[i], x);
        assert_ok(weft_graph_status(graph));
        assert_true(parameters > 0 && weft_graph_parameter_count(graph) == parameters);
        assert_int_equal(weft_graph_state_count(graph), states);
        assert_ptr_equal(a, b);
        assert_ptr_not_equal(build_in(graph, "other", rows[i], x), a);
        assert_int_equal(weft_graph_parameter_count(graph), 2 * parameters);
        for (size_t k = 0; k < parameters; k++)
            assert_true(strncmp(weft_tensor_name(weft_graph_parameter(graph, k)), "tower.", 6) == 0);
        weft_graph_release(graph);
    }
}

/* With the layer's own weights the other form is the same node. */
static void attention_takes_given_weights(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 5, 4), *const wide =
                                                                       weft_input(graph, "w", WEFT_F32, 5, 6);
    weft_tensor *const one = weft_multi_head_attention(x, x, x, 2, NULL);
    weft_tensor *const apart = weft_multi_head_attention(x, wide, wide, 2, NULL);
    const weft_multi_head_weights of_one = {
        .in_proj_weight = weft_graph_find(graph, "attention1.in_proj_weight"),
        .in_proj_bias = weft_graph_find(graph, "attention1.in_proj_bias"),
        .out_proj_weight = weft_graph_find(graph, "attention1.out_proj.weight"),
        .out_proj_bias = weft_graph_find(graph, "attention1.out_proj.bias")};
    const weft_multi_head_weights of_apart = {
        .q_proj_weight = weft_graph_find(graph, "attention2.q_proj_weight"),
        .k_proj_weight = weft_graph_find(graph, "attention2.k_proj_weight"),
        .v_proj_weight = weft_graph_find(graph, "attention2.v_proj_weight"),
        .in_proj_bias = weft_graph_find(graph, "attention2.in_proj_bias"),
        .out_proj_weight = weft_graph_find(graph, "attention2.out_proj.weight"),
        .out_proj_bias = weft_graph_find(graph, "attention2.out_proj.bias")};
    assert_non_null(one);
    assert_ptr_equal(weft_multi_head_attention_with(x, x, x, 2, &of_one, NULL), one);
    assert_ptr_equal(weft_multi_head_attention_with(x, wide, wide, 2, &of_apart, NULL), apart);
    assert_ptr_not_equal(apart, one);
    assert_null(weft_multi_head_attention_with(x, wide, wide, 2, &of_one, NULL));
    assert_fails(weft_graph_status(graph), WEFT_ERROR_ARGUMENT, "q_proj_weight is NULL");
    weft_graph_release(graph);
}

/* The layer's own table, and one of the caller's, which is then updated by rows. */
static void embeddings_take_a_given_table(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 5);
    weft_embedding_options options = {
        WEFT_EMBEDDING_OPTIONS_INIT, .padded = true, .padding = -1, .max_norm = 2, .by_frequency = true};
    weft_tensor *const rows = weft_embedding_layer(tokens, 9, 3, &options);
    options.table = weft_graph_find(graph, "embedding1.weight");
    assert_non_null(rows);
    assert_ptr_equal(weft_embedding_layer(tokens, 9, 3, &options), rows);
    options.table = weft_parameter(graph, "words", weft_init_normal(0, 1), 9, 3);
    assert_non_null(weft_embedding_layer(tokens, 9, 3, &options));
    assert_non_null(weft_embedding_bag(tokens, 9, 3, NULL, &options));
    assert_true(options.table->variable->sparse && options.table->variable->max_norm == 2);
    assert_int_equal(weft_graph_parameter_count(graph), 2);
    weft_graph_release(graph);
}

static weft_tensor *negative(weft_graph *graph) {
    return weft_neg(weft_parameter(graph, "words", weft_zeros(), 9, 3));
}
static weft_tensor *narrow(weft_graph *graph) {
    return weft_parameter(graph, "words", weft_zeros(), 9, 2);
}
static weft_tensor *right(weft_graph *graph) {
    return weft_parameter(graph, "words", weft_zeros(), 9, 3);
}

static void other_tables_are_refused(void **state) {
    static const struct {
        weft_tensor *(*table)(weft_graph *graph);
        weft_embedding_options options;
        weft_status status;
        const char *line;
    } rows[] = {
        {narrow, {WEFT_EMBEDDING_OPTIONS_INIT}, WEFT_ERROR_SHAPE,
            "the table is f32 (9, 2), expected f32 (9, 3)"},
        {negative, {WEFT_EMBEDDING_OPTIONS_INIT, .sparse = true}, WEFT_ERROR_ARGUMENT, "must be a parameter"},
        {right, {WEFT_EMBEDDING_OPTIONS_INIT, .name = "e"}, WEFT_ERROR_ARGUMENT, "name and initialiser"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_embedding_options options = rows[i].options;
        options.table = rows[i].table(graph);
        assert_null(weft_embedding_layer(weft_input(graph, "tokens", WEFT_I32, 5), 9, 3, &options));
        assert_fails(weft_graph_status(graph), rows[i].status, rows[i].line);
        weft_graph_release(graph);
    }
}

static void weights_of_another_shape_are_refused(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 5, 4);
    weft_tensor *const square = weft_parameter(graph, "square", weft_zeros(), 4, 4);
    const weft_multi_head_weights weights = {.in_proj_weight = square, .out_proj_weight = square};
    assert_null(weft_multi_head_attention_with(x, x, x, 2, &weights, NULL));
    assert_fails(weft_graph_status(graph), WEFT_ERROR_SHAPE, "in_proj_weight is (4, 4), expected (12, 4)");
    weft_graph_release(graph);
}

/* ---- a siamese network ---- */

/* Both towers' gradients reach the one set of weights: as one tower over both inputs, one after the other. */
static void towers_add_their_gradients(void **state) {
    (void)state;
    float got[2][8 * IN];
    for (int apart = 0; apart < 2; apart++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x[] = {weft_input(graph, "a", WEFT_F32, IN), weft_input(graph, "b", WEFT_F32, IN)};
        weft_tensor *loss;
        if (apart)
            loss = weft_add(weft_sum(weft_square(build_in(graph, "tower", linear, x[0]))),
                weft_sum(weft_square(build_in(graph, "tower", linear, x[1]))));
        else
            loss = weft_sum(weft_square(build_in(graph, "tower", linear, weft_concat(x, 2, 0))));
        weft_tensor *const weight = weft_graph_find(graph, "tower.linear1.weight");
        weft_tensor *const gradient = weft_gradient(loss, weight);
        weft_plan *plan = NULL;
        float values[8 * IN];
        for (size_t i = 0; i < 8 * IN; i++) values[i] = (float)((int)(i * 7 % 13) - 6) / 8;
        assert_ok(weft_plan_create(&plan, &gradient, 1, NULL));
        assert_ok(weft_tensor_write(weight, values, sizeof values));
        assert_ok(weft_plan_write(plan, x[0], values, IN * sizeof *values));
        assert_ok(weft_plan_write(plan, x[1], values + IN, IN * sizeof *values));
        assert_ok(weft_plan_run(plan));
        assert_ok(weft_plan_read(plan, gradient, got[apart], sizeof got[apart]));
        weft_plan_release(plan);
        weft_graph_release(graph);
    }
    bool any = false;
    for (size_t i = 0; i < 8 * IN; i++) {
        const float away = got[0][i] - got[1][i];
        any = any || got[0][i] != 0;
        assert_true(away < 1e-5f && away > -1e-5f);
    }
    assert_true(any);
}

/* ---- names ---- */

static void a_whole_network_is_shared(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
    assert_non_null(build_in(graph, "twin", whole_network, x));
    const size_t parameters = weft_graph_parameter_count(graph);
    assert_non_null(build_in(graph, "twin", whole_network, x));
    assert_true(parameters > 0 && weft_graph_parameter_count(graph) == parameters);
    assert_non_null(weft_graph_find(graph, "twin.net.0.weight"));
    weft_graph_release(graph);
}

static void scopes_are_within_each_other(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
    assert_ok(weft_scope_begin(graph, "outer", false));
    (void)weft_linear(x, OUT);
    assert_ok(weft_scope_begin(graph, "inner", false));
    (void)weft_linear(x, OUT);
    (void)weft_parameter(graph, "scale", weft_fill(1), 3);
    (void)weft_state_shape(graph, "seen", WEFT_F32, weft_zeros(), 0, NULL);
    assert_ok(weft_scope_end(graph));
    (void)weft_linear(x, OUT);
    assert_ok(weft_scope_end(graph));
    assert_ok(weft_scope_begin(graph, "outer", false)); /* further layers of it */
    (void)weft_linear(x, OUT);
    assert_ok(weft_scope_end(graph));
    (void)weft_linear(x, OUT);
    assert_ok(weft_scope_begin(graph, NULL, true));
    (void)weft_linear(x, OUT);
    assert_ok(weft_scope_end(graph));
    static const char *const names[] = {"outer.linear1.weight", "outer.inner.linear1.bias",
        "outer.inner.scale", "outer.inner.seen", "outer.linear2.weight", "outer.linear3.weight",
        "linear1.weight"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!weft_graph_find(graph, names[i])) fail_msg("no '%s'", names[i]);
    assert_ok(weft_graph_status(graph));
    assert_int_equal(weft_graph_parameter_count(graph), 11);
    weft_graph_release(graph);
}

/* ---- what is refused ---- */

static void refuse(weft_status status, const char *part, bool share, build *first, build *second) {
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
    assert_ok(weft_scope_begin(graph, "tower", share));
    assert_non_null(first(x));
    assert_ok(weft_scope_end(graph));
    assert_ok(weft_scope_begin(graph, "tower", share));
    assert_null(second(x));
    assert_fails(weft_scope_end(graph), status, part);
    weft_graph_release(graph);
}

static weft_tensor *wider(weft_tensor *x) {
    return weft_linear(x, OUT + 1);
}
static weft_tensor *table(weft_tensor *x) {
    return weft_parameter(weft_tensor_graph(x), "table", weft_zeros(), 3);
}
static weft_tensor *table_state(weft_tensor *x) {
    return weft_state_shape(weft_tensor_graph(x), "table", WEFT_F32, weft_zeros(), 1, (const int64_t[]){3});
}
static weft_tensor *narrow_table(weft_tensor *x) {
    return weft_parameter_dtype(
        weft_tensor_graph(x), "table", WEFT_BF16, weft_zeros(), 1, (const int64_t[]){3});
}

static void another_shape_is_refused(void **state) {
    (void)state;
    refuse(WEFT_ERROR_SHAPE,
        "parameter 'tower.linear1.weight': the graph already has a parameter of this name with f32 (8, 6), "
        "which cannot be shared as f32 (5, 6)",
        true, linear, wider);
    refuse(WEFT_ERROR_SHAPE, "has a parameter of this name with f32 (3), which cannot be shared as f32 (3)",
        true, table, table_state);
    refuse(WEFT_ERROR_SHAPE, "has a parameter of this name with f32 (3), which cannot be shared as bf16 (3)",
        true, table, narrow_table);
    refuse(WEFT_ERROR_ARGUMENT, "parameter 'tower.table': the graph already has a parameter of this name",
        false, table, table);
    refuse(WEFT_ERROR_ARGUMENT, "state 'tower.table': the graph already has a parameter of this name", false,
        table, table_state);
    refuse(WEFT_ERROR_ARGUMENT, "state 'tower.table': the graph already has a state of this name", false,
        table_state, table_state);
    refuse(WEFT_ERROR_ARGUMENT, "parameter 'tower.table': the graph already has a state of this name", false,
        table_state, table);
    refuse(WEFT_ERROR_ARGUMENT, "the graph already has a parameter 'tower.net.0.weight'", false,
        whole_network, whole_network);
}

/* States without a name are no weights, and may be as many as the program likes. */
static void states_without_a_name_are_apart(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    for (int i = 0; i < 2; i++) assert_non_null(weft_state_shape(graph, "", WEFT_F32, weft_zeros(), 0, NULL));
    assert_int_equal(weft_graph_state_count(graph), 2);
    assert_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

static void bad_scopes_are_refused(void **state) {
    (void)state;
    char longest[300];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    weft_graph *const graph = test_graph(), *const other = test_graph();
    assert_fails(weft_scope_end(graph), WEFT_ERROR_STATE, "no scope is open");
    assert_fails(weft_graph_status(graph), WEFT_ERROR_STATE, "no scope is open");
    assert_fails(weft_scope_begin(other, longest, true), WEFT_ERROR_ARGUMENT, "more than 254 characters");
    assert_status(weft_scope_begin(NULL, "a", true), WEFT_ERROR_ARGUMENT);
    assert_status(weft_scope_end(NULL), WEFT_ERROR_ARGUMENT);
    weft_graph_release(graph);
    weft_graph_release(other);
}

static void numbers_of_parts_are_counted(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    assert_int_equal(weft_graph_element_count(graph, NULL), 0);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, IN);
    weft_scope_begin(graph, "body", true);
    weft_tensor *const body = weft_batch_norm(weft_linear(x, 8)); /* its statistics are no parameters */
    weft_scope_end(graph);
    weft_linear(body, OUT, .name = "head");
    assert_ok(weft_freeze(graph, "body.*", true));
    assert_int_equal(weft_graph_element_count(graph, "body.*"), 8 * IN + 8 + 8 + 8);
    assert_int_equal(weft_graph_element_count(graph, "head.*"), 8 * OUT + OUT);
    assert_int_equal(weft_graph_element_count(graph, "*.weight"), 8 * IN + 8 + 8 * OUT);
    assert_int_equal(weft_graph_element_count(graph, NULL), 8 * IN + 24 + 8 * OUT + OUT);
    assert_int_equal(weft_graph_element_count(graph, "tail.*"), 0);
    assert_int_equal(weft_graph_element_count(NULL, NULL), 0);
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_can_be_shared),
        cmocka_unit_test(attention_takes_given_weights),
        cmocka_unit_test(embeddings_take_a_given_table),
        cmocka_unit_test(other_tables_are_refused),
        cmocka_unit_test(weights_of_another_shape_are_refused),
        cmocka_unit_test(towers_add_their_gradients),
        cmocka_unit_test(a_whole_network_is_shared),
        cmocka_unit_test(scopes_are_within_each_other),
        cmocka_unit_test(another_shape_is_refused),
        cmocka_unit_test(states_without_a_name_are_apart),
        cmocka_unit_test(bad_scopes_are_refused),
        cmocka_unit_test(numbers_of_parts_are_counted),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
