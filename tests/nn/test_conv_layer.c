/* Convolution layers: names, shapes and first values of their parameters, which convolution they are, and
 * that they learn. The numbers of convolutions are proved with the ops. */
#include "support/fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 20000 };

static void check_dims(const weft_tensor *tensor, int rank, const int64_t *dims) {
    assert_non_null(tensor);
    assert_int_equal(weft_tensor_rank(tensor), rank);
    for (int i = 0; i < rank; i++) assert_int_equal(weft_tensor_dimension(tensor, i), dims[i]);
}
#define assert_dims(tensor, ...)                                                                             \
    check_dims(tensor, sizeof((int64_t[]){__VA_ARGS__}) / 8, (const int64_t[]){__VA_ARGS__})

/* All within the bound, and nearly reaching it on both sides. */
static void check_uniform(weft_tensor *parameter, size_t count, double bound) {
    static float values[MOST];
    double low = INFINITY, high = -INFINITY;
    assert_true(count <= MOST);
    assert_weft_ok(weft_tensor_read(parameter, values, count * sizeof *values));
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, (double)values[i]);
        high = fmax(high, (double)values[i]);
    }
    const double slack = bound * 1e-6, reached = count > 500 ? 0.98 : 0.8;
    assert_true(low >= -bound - slack && high <= bound + slack);
    assert_true(low < -reached * bound && high > reached * bound);
}

static void plain_layers_of_each_rank(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const line = weft_input(graph, "line", WEFT_F32, 3, 11);
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 5, 8, 7);
    weft_tensor *const volume = weft_input(graph, "volume", WEFT_F32, 2, 5, 4, 6);
    assert_dims(weft_conv1d(line, 70, 4), WEFT_BATCH, 70, 8);
    assert_dims(weft_conv2d(image, 64, 3), WEFT_BATCH, 64, 6, 5);
    assert_dims(weft_conv3d(volume, 60, 2), WEFT_BATCH, 60, 4, 3, 5);
    assert_int_equal(weft_graph_parameter_count(graph), 6);
    static const char *const names[] = {
        "conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "conv3.weight", "conv3.bias"};
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(weft_tensor_name(weft_graph_parameter(graph, i)), names[i]);
    assert_dims(weft_graph_find(graph, "conv1.weight"), 70, 3, 4);
    assert_dims(weft_graph_find(graph, "conv2.weight"), 64, 5, 3, 3);
    assert_dims(weft_graph_find(graph, "conv3.weight"), 60, 2, 2, 2, 2);
    assert_dims(weft_graph_find(graph, "conv3.bias"), 60);
    check_uniform(weft_graph_find(graph, "conv1.weight"), 70 * 12, 1 / sqrt(12));
    check_uniform(weft_graph_find(graph, "conv1.bias"), 70, 1 / sqrt(12));
    check_uniform(weft_graph_find(graph, "conv2.weight"), 64 * 45, 1 / sqrt(45));
    check_uniform(weft_graph_find(graph, "conv2.bias"), 64, 1 / sqrt(45));
    check_uniform(weft_graph_find(graph, "conv3.weight"), 60 * 16, 1 / sqrt(16));
    check_uniform(weft_graph_find(graph, "conv3.bias"), 60, 1 / sqrt(16));
    weft_graph_release(graph);
}

/* The short forms are weft_conv_layer with a stride and a padding on both axes. */
static void strided_layers(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 5, 8, 7);
    assert_dims(weft_conv2d_strided(image, 6, 4, 2, 1), WEFT_BATCH, 6, 4, 3);
    assert_dims(weft_conv2d_strided(image, 6, 3, 1, 1), WEFT_BATCH, 6, 8, 7);
    assert_dims(weft_conv_transpose2d(image, 6, 4, 2, 1), WEFT_BATCH, 6, 16, 14);
    assert_dims(weft_graph_find(graph, "conv1.weight"), 6, 5, 4, 4);
    assert_dims(weft_graph_find(graph, "convtranspose1.weight"), 5, 6, 4, 4);
    assert_dims(weft_graph_find(graph, "convtranspose1.bias"), 6);
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

static void bad_strides_are_refused(void **state) {
    (void)state;
    static const char *const parts[] = {"weft_conv2d_strided: stride is 0",
        "weft_conv_transpose2d: stride is -1", "weft_conv2d_strided: x has rank 3", "a padding of -1"};
    for (int i = 0; i < 4; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 2, 5, 4);
        weft_tensor *const line = weft_input(graph, "line", WEFT_F32, 2, 5);
        assert_null(i == 0   ? weft_conv2d_strided(image, 3, 2, 0, 0)
                    : i == 1 ? weft_conv_transpose2d(image, 3, 2, -1, 0)
                    : i == 2 ? weft_conv2d_strided(line, 3, 2, 1, 0)
                             : weft_conv2d_strided(image, 3, 2, 1, -1));
        assert_weft_fails(
            i == 2 ? WEFT_ERROR_SHAPE : WEFT_ERROR_ARGUMENT, weft_graph_status(graph), parts[i]);
        weft_graph_release(graph);
    }
    assert_null(weft_conv2d_strided(NULL, 3, 2, 1, 0));
    assert_null(weft_conv_transpose2d(NULL, 3, 2, 0, 0));
}

/* fan_in is of the weight's second axis: PyTorch counts so for transposed ones too. */
static void groups_and_transposed_ones(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 16, 5, 4);
    const weft_conv_layer_options grouped = {WEFT_CONV_LAYER_OPTIONS_INIT,
        .conv = {WEFT_CONV_OPTIONS_INIT, .groups = 4, .stride = 2, .padding = 1}};
    const weft_conv_layer_options transposed = {WEFT_CONV_LAYER_OPTIONS_INIT,
        .conv = {WEFT_CONV_OPTIONS_INIT, .groups = 2, .strides = {2, 3}, .output_paddings = {1, 0}},
        .transposed = true};
    assert_dims(weft_conv_layer(x, 32, (const int64_t[]){3, 2}, &grouped), WEFT_BATCH, 32, 3, 3);
    assert_dims(weft_conv_layer(x, 60, (const int64_t[]){3, 2}, &transposed), WEFT_BATCH, 60, 12, 11);
    assert_dims(weft_graph_find(graph, "conv1.weight"), 32, 4, 3, 2);
    assert_dims(weft_graph_find(graph, "convtranspose1.weight"), 16, 30, 3, 2);
    assert_dims(weft_graph_find(graph, "convtranspose1.bias"), 60);
    check_uniform(weft_graph_find(graph, "conv1.weight"), 32 * 24, 1 / sqrt(24));
    check_uniform(weft_graph_find(graph, "convtranspose1.weight"), 16 * 180, 1 / sqrt(180));
    check_uniform(weft_graph_find(graph, "convtranspose1.bias"), 60, 1 / sqrt(180));
    weft_graph_release(graph);
}

/* Windows of twos over ones: each element counts the taps inside. */
static void options_are_used(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    const weft_initialiser two = weft_fill(2.0f), three = weft_fill(3.0f);
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 1, 3);
    const weft_conv_layer_options named = {WEFT_CONV_LAYER_OPTIONS_INIT, .name = "stem",
        .conv = {WEFT_CONV_OPTIONS_INIT, .paddings = {1}}, .weight_initialiser = &two,
        .bias_initialiser = &three};
    const weft_conv_layer_options bare = {WEFT_CONV_LAYER_OPTIONS_INIT, .transposed = true,
        .weight_initialiser = &two, .bias_initialiser = &three, .no_bias = true};
    weft_tensor *const outputs[] = {weft_conv_layer(x, 1, (const int64_t[]){3}, &named),
        weft_conv_layer(x, 1, (const int64_t[]){2}, &bare)};
    assert_non_null(weft_graph_find(graph, "stem.weight"));
    assert_non_null(weft_graph_find(graph, "stem.bias"));
    assert_non_null(weft_graph_find(graph, "convtranspose1.weight"));
    assert_null(weft_graph_find(graph, "convtranspose1.bias"));
    assert_int_equal(weft_graph_parameter_count(graph), 3);
    const float ones[] = {1.0f, 1.0f, 1.0f};
    float got[4];
    const weft_column column = {.name = "x", .dtype = WEFT_F32, .rank = 2, .dims = {1, 3}, .data = ones};
    assert_weft_ok(weft_predict(outputs[0], 1, &column, 1, got, 3 * sizeof *got));
    assert_true(got[0] == 7.0f && got[1] == 9.0f && got[2] == 7.0f);
    assert_weft_ok(weft_predict(outputs[1], 1, &column, 1, got, 4 * sizeof *got));
    assert_true(got[0] == 2.0f && got[1] == 4.0f && got[2] == 4.0f && got[3] == 2.0f);
    weft_graph_release(graph);
}

/* Steps of gradient descent bring two layers, one of them transposed, nearer to a target. */
static void layers_learn(void **state) {
    (void)state;
    enum { STEPS = 30, COUNT = 2 * 2 * 6 * 5 };
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 2, 6, 5);
    weft_tensor *const target = weft_input(graph, "target", WEFT_F32, 2, 6, 5);
    const weft_conv_layer_options down = {
        WEFT_CONV_LAYER_OPTIONS_INIT, .conv = {WEFT_CONV_OPTIONS_INIT, .strides = {2, 1}}};
    const weft_conv_layer_options up = {WEFT_CONV_LAYER_OPTIONS_INIT,
        .conv = {WEFT_CONV_OPTIONS_INIT, .strides = {2, 1}}, .transposed = true};
    weft_tensor *const hidden = weft_tanh(weft_conv_layer(x, 8, (const int64_t[]){2, 3}, &down));
    weft_tensor *const y = weft_conv_layer(hidden, 2, (const int64_t[]){2, 3}, &up);
    weft_tensor *const loss = weft_mse(y, target);
    weft_tensor *outputs[1 + WEFT_MAX_UPDATES] = {loss};
    size_t count = 0;
    const weft_optimizer sgd = weft_sgd(0.5f);
    assert_weft_ok(weft_minimize(loss, &sgd, outputs + 1, WEFT_MAX_UPDATES, &count));
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(
        &plan, outputs, 1 + count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = 2}));
    float images[COUNT], wanted[COUNT], first = 0.0f, last = 0.0f;
    for (int i = 0; i < COUNT; i++) {
        images[i] = (float)(i * 7 % 13) / 6.0f - 1.0f;
        wanted[i] = 0.5f * images[i];
    }
    assert_weft_ok(weft_plan_write(plan, x, images, sizeof images));
    assert_weft_ok(weft_plan_write(plan, target, wanted, sizeof wanted));
    for (int step = 0; step < STEPS; step++) {
        assert_weft_ok(weft_plan_run(plan));
        if (step == 0) assert_weft_ok(weft_plan_read(plan, loss, &first, sizeof first));
    }
    assert_weft_ok(weft_plan_read(plan, loss, &last, sizeof last));
    if (!(last < 0.3f * first)) fail_msg("the loss went from %g to %g", (double)first, (double)last);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static const int64_t three_by_three[] = {3, 3}, no_window[] = {3, 0};
#define LAYER(...)                                                                                           \
    { WEFT_CONV_LAYER_OPTIONS_INIT, __VA_ARGS__ }
#define CONV(...) LAYER(.conv = {WEFT_CONV_OPTIONS_INIT, __VA_ARGS__})

static void bad_layers_are_refused(void **state) {
    (void)state;
    const struct {
        int rank; /* of x (batch, 6, 5, 4, ...) */
        int64_t filters;
        const int64_t *size;
        weft_conv_layer_options options;
        weft_status status;
        const char *part;
    } rows[] = {
        {2, 4, three_by_three, LAYER(.no_bias = true), WEFT_ERROR_SHAPE, "x has rank 2, expected (N, C"},
        {6, 4, three_by_three, LAYER(.no_bias = true), WEFT_ERROR_SHAPE, "x has rank 6, expected (N, C"},
        {4, 0, three_by_three, LAYER(.no_bias = true), WEFT_ERROR_ARGUMENT,
            "filters is 0, expected 1 or more"},
        {4, -4, three_by_three, LAYER(.transposed = true), WEFT_ERROR_ARGUMENT, "filters is -4"},
        {4, 4, three_by_three, CONV(.groups = 4), WEFT_ERROR_ARGUMENT,
            "4 groups do not divide both 6 channels and 4 filters"},
        {4, 4, three_by_three, CONV(.groups = 3), WEFT_ERROR_ARGUMENT, "3 groups do not divide both"},
        {4, 4, three_by_three, CONV(.groups = -1), WEFT_ERROR_ARGUMENT, "-1 groups do not divide"},
        {4, 4, NULL, LAYER(.no_bias = true), WEFT_ERROR_ARGUMENT,
            "the window size is 0 along spatial axis 0"},
        {4, 4, no_window, LAYER(.no_bias = true), WEFT_ERROR_ARGUMENT,
            "the window size is 0 along spatial axis 1"},
        {4, 4, three_by_three, {.struct_size = 3}, WEFT_ERROR_ARGUMENT, "WEFT_CONV_LAYER_OPTIONS_INIT"},
        {4, 4, three_by_three, LAYER(.conv = {.struct_size = 3}), WEFT_ERROR_ARGUMENT,
            "the options conv have struct_size 3"},
        {4, 4, three_by_three, CONV(.stride = -1), WEFT_ERROR_ARGUMENT, "conv: a stride of -1"},
        {4, 4, (const int64_t[]){6, 1}, LAYER(.no_bias = true), WEFT_ERROR_SHAPE,
            "a window of 6 is larger than the padded image of 5"},
    };
    const int64_t dims[] = {WEFT_BATCH, 6, 5, 4, 3, 2};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, rows[i].rank, dims);
        assert_null(weft_conv_layer(x, rows[i].filters, rows[i].size, &rows[i].options));
        assert_weft_fails(rows[i].status, weft_graph_status(graph), rows[i].part);
        weft_graph_release(graph);
    }
}

static void plain_layers_want_their_rank(void **state) {
    (void)state;
    static const char *const parts[] = {"weft_conv1d: x has rank 4", "weft_conv2d: x has rank 3",
        "weft_conv3d: x has rank 4", "the channels, must be a number"};
    for (int i = 0; i < 4; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const image = weft_input(graph, "image", WEFT_F32, 2, 5, 4);
        weft_tensor *const line = weft_input(graph, "line", WEFT_F32, 2, 5);
        weft_tensor *const permuted =
            weft_input_shape(graph, "permuted", WEFT_F32, 3, (const int64_t[]){2, WEFT_BATCH, 5});
        assert_null(i == 0   ? weft_conv1d(image, 3, 2)
                    : i == 1 ? weft_conv2d(line, 3, 2)
                    : i == 2 ? weft_conv3d(image, 3, 2)
                             : weft_conv1d(permuted, 3, 2));
        assert_weft_fails(WEFT_ERROR_SHAPE, weft_graph_status(graph), parts[i]);
        weft_graph_release(graph);
    }
    assert_null(weft_conv1d(NULL, 3, 2));
    assert_null(weft_conv2d(NULL, 3, 2));
    assert_null(weft_conv3d(NULL, 3, 2));
    assert_null(weft_conv_layer(NULL, 3, three_by_three, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_layers_of_each_rank),
        cmocka_unit_test(strided_layers),
        cmocka_unit_test(bad_strides_are_refused),
        cmocka_unit_test(groups_and_transposed_ones),
        cmocka_unit_test(options_are_used),
        cmocka_unit_test(layers_learn),
        cmocka_unit_test(bad_layers_are_refused),
        cmocka_unit_test(plain_layers_want_their_rank),
    };
    return test_finish(cmocka_run_group_tests_name("conv layer", tests, NULL, NULL));
}
