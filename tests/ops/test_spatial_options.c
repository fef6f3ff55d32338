/* Options of spatial axes: one number for all of them, or one for each, and nothing in between. */
/* test once */
#include "support/fixture.h"

#define CONV(...)     WEFT_WITH(conv, __VA_ARGS__)
#define POOL(...)     WEFT_WITH(pool, __VA_ARGS__)
#define RESAMPLE(...) WEFT_WITH(resample, __VA_ARGS__)

/* Equal expressions are one node. */
static void a_number_counts_for_all_axes(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 12, 12);
    weft_tensor *const w = weft_parameter(graph, "w", weft_zeros(), 4, 4, 3, 3);
    assert_ptr_equal(weft_conv_with(x, w, NULL, CONV(.stride = 2, .dilation = 2, .padding = 1)),
        weft_conv_with(x, w, NULL, CONV(.strides = {2, 2}, .dilations = {2, 2}, .paddings = {1, 1})));
    assert_ptr_equal(
        weft_conv_with(x, w, NULL, CONV(.mode = WEFT_PADDING_EACH, .padding = 1, .padding_after = 2)),
        weft_conv_with(
            x, w, NULL, CONV(.mode = WEFT_PADDING_EACH, .paddings = {1, 1}, .paddings_after = {2, 2})));
    assert_ptr_equal(weft_conv_transpose_with(x, w, NULL, CONV(.stride = 2, .output_padding = 1)),
        weft_conv_transpose_with(x, w, NULL, CONV(.strides = {2, 2}, .output_paddings = {1, 1})));
    assert_ptr_equal(weft_max_pool(x, POOL(.window = 3, .stride = 2, .padding = 1, .dilation = 2)),
        weft_max_pool(
            x, POOL(.windows = {3, 3}, .strides = {2, 2}, .paddings = {1, 1}, .dilations = {2, 2})));
    assert_ptr_equal(weft_max_pool2d(x, 3, .stride = 2, .padding = 1),
        weft_max_pool(x, POOL(.window = 3, .stride = 2, .padding = 1)));
    assert_ptr_equal(weft_avg_pool2d(x, 3, .strides = {2, 1}),
        weft_avg_pool(x, POOL(.windows = {3, 3}, .strides = {2, 1})));
    assert_ptr_equal(weft_resample(x, RESAMPLE(.size = 5)), weft_resample(x, RESAMPLE(.sizes = {5, 5})));
    assert_ptr_equal(
        weft_resample(x, RESAMPLE(.factor = 1.5)), weft_resample(x, RESAMPLE(.factors = {1.5, 1.5})));
    assert_weft_ok(weft_graph_status(graph));
    weft_graph_release(graph);
}

/* A padding may be 0 along one axis. */
static void paddings_may_differ(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "x", WEFT_F32, 4, 12, 12);
    weft_tensor *const w = weft_parameter(graph, "w", weft_zeros(), 4, 4, 3, 3);
    weft_tensor *const y = weft_conv_with(x, w, NULL, CONV(.paddings = {1, 0}));
    assert_int_equal(weft_tensor_dimension(y, 2), 12);
    assert_int_equal(weft_tensor_dimension(y, 3), 10);
    weft_tensor *const z = weft_max_pool(x, POOL(.window = 3, .stride = 1, .paddings = {0, 1}));
    assert_int_equal(weft_tensor_dimension(z, 2), 10);
    assert_int_equal(weft_tensor_dimension(z, 3), 12);
    weft_graph_release(graph);
}

static weft_tensor *image, *weight;

static void refused(weft_tensor *(*build)(void), const char *line) {
    weft_graph *const graph = test_graph();
    image = weft_input(graph, "x", WEFT_F32, 4, 12, 12);
    weight = weft_parameter(graph, "w", weft_zeros(), 4, 4, 3, 3);
    assert_null(build());
    assert_weft_fails(WEFT_ERROR_ARGUMENT, weft_graph_status(graph), line);
    weft_graph_release(graph);
}

#define REFUSED(name, expression)                                                                            \
    static weft_tensor *name(void) {                                                                         \
        return expression;                                                                                   \
    }
REFUSED(first_stride, weft_conv_with(image, weight, NULL, CONV(.strides = {2})))
REFUSED(first_dilation, weft_conv_with(image, weight, NULL, CONV(.dilations = {2})))
REFUSED(both_paddings, weft_conv_with(image, weight, NULL, CONV(.padding = 1, .paddings = {1, 1})))
REFUSED(third_stride, weft_conv_with(image, weight, NULL, CONV(.strides = {2, 2, 2})))
REFUSED(third_padding, weft_conv_with(image, weight, NULL, CONV(.paddings = {0, 0, 1})))
REFUSED(after_equal, weft_conv_with(image, weight, NULL, CONV(.padding_after = 1)))
REFUSED(padded_same, weft_conv_with(image, weight, NULL, CONV(.mode = WEFT_PADDING_SAME, .padding = 1)))
REFUSED(first_window, weft_max_pool(image, POOL(.windows = {2})))
REFUSED(pool_stride, weft_max_pool(image, POOL(.window = 2, .strides = {2})))
REFUSED(pool_dilation, weft_avg_pool(image, POOL(.window = 2, .dilations = {0, 2})))
REFUSED(lp_window, weft_lp_pool(image, 2, POOL(.windows = {2})))
REFUSED(window_twice, weft_max_pool2d(image, 3, .window = 3))
REFUSED(windows_twice, weft_avg_pool2d(image, 3, .windows = {3, 3}))
REFUSED(first_size, weft_resample(image, RESAMPLE(.sizes = {5})))
REFUSED(both_sizes, weft_resample(image, RESAMPLE(.size = 5, .sizes = {5, 5})))
REFUSED(both_factors, weft_resample(image, RESAMPLE(.factor = 2, .factors = {2, 2})))
REFUSED(third_factor, weft_resample(image, RESAMPLE(.factors = {2, 2, 2})))
REFUSED(size_and_factor, weft_resample(image, RESAMPLE(.size = 5, .factor = 2)))

static void what_leaves_an_axis_out_is_refused(void **state) {
    (void)state;
    refused(first_stride,
        "conv: strides[1] is 0, but it is set for other axes: give a number for each of the 2 spatial axes, "
        "or stride for all of them (in weft_conv_with)");
    refused(first_dilation, "conv: dilations[1] is 0, but it is set for other axes");
    refused(both_paddings,
        "conv: padding = 1 and paddings are both set: give one number for all spatial axes, or one");
    refused(third_stride, "conv: strides[2] is 2, but x has only 2 spatial axes");
    refused(third_padding, "conv: paddings[2] is 1, but x has only 2 spatial axes");
    refused(after_equal, "conv: padding_after is set, but only mode WEFT_PADDING_EACH uses it");
    refused(padded_same, "conv: padding is set together with mode WEFT_PADDING_SAME");
    refused(first_window, "max_pool: windows[1] is 0, but it is set for other axes");
    refused(pool_stride, "max_pool: strides[1] is 0, but it is set for other axes");
    refused(pool_dilation, "avg_pool: dilations[0] is 0, but it is set for other axes");
    refused(lp_window, "lp_pool: windows[1] is 0, but it is set for other axes");
    refused(window_twice, "max_pool2d: the window size is given twice");
    refused(windows_twice, "avg_pool2d: the window size is given twice");
    refused(first_size, "resample: sizes[1] is 0 and factors[1] is 0: set exactly one of the two");
    refused(both_sizes, "resample: size = 5 and sizes are both set");
    refused(both_factors, "resample: factors[0] = 2 and factor are both set");
    refused(third_factor, "resample: factors[2] is 2, but x has fewer spatial axes");
    refused(size_and_factor, "resample: sizes[0] is 5 and factors[0] is 2: set exactly one of the two");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_number_counts_for_all_axes),
        cmocka_unit_test(paddings_may_differ), cmocka_unit_test(what_leaves_an_axis_out_is_refused)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
