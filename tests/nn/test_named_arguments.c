/* Arguments with names: what stands behind a layer's own arguments reaches its options, and one number stands for all
 * spatial axes. */
#include "support/fixture.h"

static void check_dims(const weft_tensor *tensor, int rank, const int64_t *dims) {
    assert_non_null(tensor);
    assert_int_equal(weft_tensor_rank(tensor), rank);
    for (int i = 0; i < rank; i++) assert_int_equal(weft_tensor_dimension(tensor, i), dims[i]);
}
#define assert_dims(tensor, ...)                                                                             \
    check_dims(tensor, sizeof((int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]){__VA_ARGS__})

static void check_names(const weft_graph *graph, const char *const *names, size_t count) {
    assert_int_equal(weft_graph_parameter_count(graph), count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), names[i]);
}

static void layers_take_a_name_and_no_bias(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 8);
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 3);
    assert_dims(weft_linear(weft_relu(weft_linear(x, 5, .name = "low", .no_bias = true)), 4, .name = "up"),
        WEFT_BATCH, 4);
    assert_dims(weft_bilinear(x, x, 2, .no_bias = true, .name = "both"), WEFT_BATCH, 2);
    assert_dims(weft_embedding(tokens, 10, 6, .name = "words"), WEFT_BATCH, 3, 6);
    assert_dims(weft_layer_norm(x, .name = "norm", .no_bias = true), WEFT_BATCH, 8);
    assert_dims(weft_rms_norm(x, .name = "rms"), WEFT_BATCH, 8);
    assert_dims(weft_group_norm(x, 2, .name = "groups"), WEFT_BATCH, 8);
    assert_dims(weft_batch_norm(x, .name = "bn", .no_affine = true), WEFT_BATCH, 8);
    assert_dims(weft_linear(x, 3), WEFT_BATCH, 3);
    static const char *const names[] = {"low.weight", "up.weight", "up.bias", "both.weight", "words.weight",
        "norm.weight", "rms.weight", "groups.weight", "groups.bias", "linear1.weight", "linear1.bias"};
    assert_weft_ok(weft_graph_status(graph));
    check_names(graph, names, sizeof names / sizeof *names);
    assert_non_null(weft_graph_find(graph, "bn.running_mean"));
    weft_graph_release(graph);
}

static void convolutions_take_one_number_for_all_axes(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const line = weft_input(graph, "line", WEFT_F32, 4, 16);
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 4, 9, 8);
    weft_tensor *const volume = weft_input(graph, "volume", WEFT_F32, 4, 8, 8, 8);
    assert_dims(weft_conv1d(line, 6, 3, .padding = 1, .dilation = 2), WEFT_BATCH, 6, 14);
    assert_dims(weft_conv2d(image, 6, 3, .stride = 2, .padding = 1, .name = "a"), WEFT_BATCH, 6, 5, 4);
    assert_dims(weft_conv2d(image, 8, 3, .same = true, .groups = 4), WEFT_BATCH, 8, 9, 8);
    assert_dims(weft_conv3d(volume, 2, 2, .stride = 2, .no_bias = true), WEFT_BATCH, 2, 4, 4, 4);
    assert_dims(
        weft_conv_transpose2d(image, 2, 4, 2, 1, .name = "up", .no_bias = true), WEFT_BATCH, 2, 18, 16);
    assert_dims(
        weft_conv_layer(image, 3, NULL, WEFT_WITH(conv_layer, .size = 3, .padding = 1)), WEFT_BATCH, 3, 9, 8);
    assert_dims(weft_graph_find(graph, "conv2.weight"), 8, 1, 3, 3);
    assert_non_null(weft_graph_find(graph, "a.bias"));
    assert_non_null(weft_graph_find(graph, "up.weight"));
    assert_null(weft_graph_find(graph, "up.bias"));
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* The same window by one number and by an array for each axis. */
static void pools_take_one_number_for_both_axes(void **state) {
    (void)state;
    enum { IN = 2 * 7 * 6, OUT = 2 * 4 * 3, FORMS = 4 };
    float values[IN], results[FORMS][OUT];
    for (int i = 0; i < IN; i++) values[i] = (float)((i * 37) % 53);
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_array(graph, WEFT_F32, values, 4, (const int64_t[]){1, 2, 7, 6});
    const weft_pool_options each = {
        WEFT_POOL_OPTIONS_INIT, .windows = {3, 3}, .strides = {2, 2}, .paddings = {1, 1}};
    weft_tensor *const outputs[FORMS] = {weft_max_pool2d(x, 3, .stride = 2, .padding = 1),
        weft_max_pool(x, &each), weft_avg_pool2d(x, 3, .padding = 1, .stride = 2), weft_avg_pool(x, &each)};
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, outputs, FORMS, NULL));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < FORMS; i++)
        assert_weft_ok(weft_plan_read(plan, outputs[i], results[i], sizeof results[i]));
    assert_memory_equal(results[0], results[1], sizeof results[0]);
    assert_memory_equal(results[2], results[3], sizeof results[2]);
    assert_memory_not_equal(results[0], results[2], sizeof results[0]);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void numbers_given_twice_are_refused(void **state) {
    (void)state;
    const struct {
        weft_conv_layer_options options;
        const int64_t *size;
        const char *line;
    } rows[] = {
        {{WEFT_CONV_LAYER_OPTIONS_INIT, .stride = 2, .conv = {.strides = {1, 2}}}, (const int64_t[]){3, 3},
            "the options stride = 2 and conv.strides are both set: set one of them"},
        {{WEFT_CONV_LAYER_OPTIONS_INIT, .groups = 2, .conv = {.groups = 2}}, (const int64_t[]){3, 3},
            "the options groups = 2 and conv.groups are both set"},
        {{WEFT_CONV_LAYER_OPTIONS_INIT, .size = 3}, (const int64_t[]){3, 3},
            "the window size is given twice"},
        {{WEFT_CONV_LAYER_OPTIONS_INIT, .size = 3, .same = true, .padding = 1}, NULL,
            "is set together with same"},
        {{WEFT_CONV_LAYER_OPTIONS_INIT, .size = 3, .same = true, .conv = {.mode = WEFT_PADDING_EACH}}, NULL,
            "the option same is set together with a different conv.mode"},
        {{WEFT_CONV_LAYER_OPTIONS_INIT, .size = 3, .stride = -1}, NULL,
            "a stride of -1 along spatial axis 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 8, 8);
        assert_null(weft_conv_layer(x, 4, rows[i].size, &rows[i].options));
        assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), rows[i].line);
        weft_graph_release(graph);
    }
}

/* The functions that the macros of the same names hide: without options, as other languages call them. */
static void functions_take_no_options(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 8), *const c =
                                                                    weft_input(graph, "c", WEFT_F32, 4, 6, 6);
    weft_tensor *const tokens = weft_input(graph, "tokens", WEFT_I32, 3);
    assert_dims((weft_linear)(x, 5), WEFT_BATCH, 5);
    assert_dims((weft_bilinear)(x, x, 2), WEFT_BATCH, 2);
    assert_dims((weft_embedding)(tokens, 10, 7), WEFT_BATCH, 3, 7);
    assert_dims((weft_conv_transpose2d)(c, 3, 2, 2, 0), WEFT_BATCH, 3, 12, 12);
    assert_dims((weft_batch_norm)(c), WEFT_BATCH, 4, 6, 6);
    assert_dims((weft_instance_norm)(c), WEFT_BATCH, 4, 6, 6);
    assert_dims((weft_group_norm)(x, 2), WEFT_BATCH, 8);
    assert_dims((weft_layer_norm)(x), WEFT_BATCH, 8);
    assert_dims((weft_rms_norm)(x), WEFT_BATCH, 8);
    assert_dims((weft_max_pool2d)(c, 2), WEFT_BATCH, 4, 3, 3);
    assert_ptr_equal((weft_max_pool2d)(c, 2), weft_max_pool2d(c, 2));
    assert_ptr_equal((weft_avg_pool2d)(c, 3), weft_avg_pool2d(c, 3));
    static const char *const names[] = {"linear1.weight", "linear1.bias", "bilinear1.weight",
        "bilinear1.bias", "embedding1.weight", "convtranspose1.weight", "convtranspose1.bias",
        "batchnorm1.weight", "batchnorm1.bias", "groupnorm1.weight", "groupnorm1.bias", "layernorm1.weight",
        "layernorm1.bias", "rmsnorm1.weight"};
    assert_weft_ok(weft_graph_status(graph));
    check_names(graph, names, sizeof names / sizeof *names);
    weft_graph_release(graph);
}

static void sizes_that_contradict_are_errors(void **state) {
    (void)state;
    weft_graph *graph = test_graph();
    weft_tensor *const c = weft_input(graph, "c", WEFT_F32, 4, 6, 6);
    assert_null(weft_conv_transpose2d(c, 3, 2, 2, 0, .stride = 1));
    assert_weft_fails(
        WEFT_ERROR_ARGUMENT, weft_graph_status(graph), "weft_conv_transpose2d", "give each once");
    weft_graph_release(graph);
    graph = test_graph();
    assert_null(weft_embedding(weft_input(graph, "tokens", WEFT_I32, 3), 0, 7));
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), "vocabulary is 0 and width is 7");
    weft_graph_release(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_take_a_name_and_no_bias),
        cmocka_unit_test(convolutions_take_one_number_for_all_axes),
        cmocka_unit_test(pools_take_one_number_for_both_axes),
        cmocka_unit_test(numbers_given_twice_are_refused),
        cmocka_unit_test(functions_take_no_options),
        cmocka_unit_test(sizes_that_contradict_are_errors),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
