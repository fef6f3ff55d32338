/* Resampling, pixel shuffles, local response normalisation, and the shortcut of CIFAR ResNets. */
/* test slow */
/* test.indices64.gpu WEFT_TEST_INDICES=64 reduced */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "oracle/reference_pooling.h"
#include <math.h>

#define X(...) F32(-2, 2, __VA_ARGS__)

/* ---- resampling ---- */

#define RESAMPLE(...)                                                                                        \
    .row = &(const weft_resample_options) {                                                                  \
        WEFT_RESAMPLE_OPTIONS_INIT, __VA_ARGS__                                                              \
    }

static weft_tensor *build_resample(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_resample(inputs[0], c->row);
}
static f64_array *reference_resample(const op_case *c, const f64_array *const *inputs) {
    return f64_resample(inputs[0], c->row);
}

#define LINEAR .mode = WEFT_RESAMPLE_LINEAR
static const op_case resample_cases[] = {
    CASE("nearest, larger, batch", resample, INPUTS(X(WEFT_BATCH, 17, 3, 5)), RESAMPLE(.sizes = {7, 8})),
    CASE("nearest, smaller", resample, INPUTS(X(2, 64, 7, 5)), RESAMPLE(.sizes = {3, 2})),
    CASE("nearest, factors", resample, INPUTS(X(1, 3, 4, 4)), RESAMPLE(.factors = {2.5, 0.75})),
    CASE("nearest, a signal", resample, INPUTS(X(2, 3, 9)), RESAMPLE(.sizes = {4})),
    CASE("nearest, a volume", resample, INPUTS(X(2, 3, 2, 3, 5)), RESAMPLE(.sizes = {5, 2, 7})),
    CASE("nearest, an image of 1 x 1", resample, INPUTS(X(2, 17, 1, 1)), RESAMPLE(.sizes = {3, 4})),
    CASE("linear, larger, batch", resample, INPUTS(X(WEFT_BATCH, 17, 3, 5)),
        RESAMPLE(LINEAR, .sizes = {7, 8})),
    CASE("linear, smaller", resample, INPUTS(X(2, 64, 7, 9)), RESAMPLE(LINEAR, .sizes = {3, 2})),
    CASE("linear, factors", resample, INPUTS(X(1, 3, 4, 4)), RESAMPLE(LINEAR, .factors = {2.3, 0.6})),
    CASE("linear, a factor and a size", resample, INPUTS(X(1, 3, 5, 6)),
        RESAMPLE(LINEAR, .sizes = {9}, .factors = {0, 1.7})),
    CASE("linear, the same size", resample, INPUTS(X(1, 3, 5, 6)), RESAMPLE(LINEAR, .sizes = {5, 6})),
    CASE("linear, a signal", resample, INPUTS(X(2, 3, 9)), RESAMPLE(LINEAR, .sizes = {23})),
    CASE("linear, a volume", resample, INPUTS(X(2, 16, 2, 3, 5)), RESAMPLE(LINEAR, .sizes = {5, 2, 7})),
    CASE("linear, an image of 1 x 1", resample, INPUTS(X(2, 17, 1, 1)), RESAMPLE(LINEAR, .sizes = {3, 4})),
    CASE("linear, to 1 x 1", resample, INPUTS(X(2, 3, 4, 5)), RESAMPLE(LINEAR, .sizes = {1, 1})),
    CASE("corners, larger", resample, INPUTS(X(2, 17, 3, 5)),
        RESAMPLE(LINEAR, .sizes = {7, 8}, .align_corners = true)),
    CASE("corners, smaller", resample, INPUTS(X(1, 64, 7, 9)),
        RESAMPLE(LINEAR, .sizes = {3, 4}, .align_corners = true)),
    CASE("corners, a volume", resample, INPUTS(X(2, 3, 2, 3, 4)),
        RESAMPLE(LINEAR, .factors = {2, 1.5, 0.5}, .align_corners = true)),
    CASE("corners, to 1 x 1", resample, INPUTS(X(2, 3, 4, 5)),
        RESAMPLE(LINEAR, .sizes = {1, 1}, .align_corners = true)),
    CASE("of a permuted", resample, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 3, 4, 5)),
        RESAMPLE(LINEAR, .sizes = {6, 3})),
};

static weft_tensor *build_upsample_nearest(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_upsample_nearest(inputs[0], c->start);
}
static f64_array *reference_upsample_nearest(const op_case *c, const f64_array *const *inputs) {
    return f64_upsample_nearest(inputs[0], c->start);
}
static weft_tensor *build_upsample_linear(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_upsample_linear(inputs[0], c->start, c->keep);
}
static f64_array *reference_upsample_linear(const op_case *c, const f64_array *const *inputs) {
    return f64_upsample_linear(inputs[0], c->start, c->keep);
}
static const op_case upsample_nearest_cases[] = {
    CASE("twice", upsample_nearest, INPUTS(X(2, 17, 3, 4)), .start = 2)};
static const op_case upsample_linear_cases[] = {
    CASE("twice", upsample_linear, INPUTS(X(1, 64, 3, 4)), .start = 2),
    CASE("three times, corners", upsample_linear, INPUTS(X(1, 3, 4, 4)), .start = 3, .keep = true)};

/* ---- pixel shuffles ---- */

static weft_tensor *build_shuffle(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return c->keep ? weft_pixel_unshuffle(inputs[0], c->start) : weft_pixel_shuffle(inputs[0], c->start);
}
static f64_array *reference_shuffle(const op_case *c, const f64_array *const *inputs) {
    return c->keep ? f64_pixel_unshuffle(inputs[0], c->start) : f64_pixel_shuffle(inputs[0], c->start);
}
static const op_case pixel_shuffle_cases[] = {
    CASE("2 x 2, batch", shuffle, INPUTS(X(WEFT_BATCH, 12, 3, 5)), .start = 2),
    CASE("3 x 3", shuffle, INPUTS(X(2, 9, 1, 2)), .start = 3)};
static const op_case pixel_unshuffle_cases[] = {
    CASE("2 x 2, batch", shuffle, INPUTS(X(WEFT_BATCH, 3, 4, 6)), .start = 2, .keep = true),
    CASE("3 x 3", shuffle, INPUTS(X(2, 5, 3, 6)), .start = 3, .keep = true)};

/* ---- local response normalisation ---- */

typedef struct response {
    int64_t size;
    double alpha, beta, k;
} response;
#define RESPONSE(...)                                                                                        \
    .row = &(const response) {                                                                               \
        __VA_ARGS__                                                                                          \
    }

static weft_tensor *build_local_response_norm(
    const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    const response *const r = c->row;
    return weft_local_response_norm(inputs[0], r->size, r->alpha, r->beta, r->k);
}
static f64_array *reference_local_response_norm(const op_case *c, const f64_array *const *inputs) {
    const response *const r = c->row;
    return f64_local_response_norm(inputs[0], r->size, r->alpha, r->beta, r->k);
}
static const op_case local_response_norm_cases[] = {
    CASE("AlexNet's, batch", local_response_norm, INPUTS(X(WEFT_BATCH, 17, 3, 4)), RESPONSE(5, 0.5, 0.75, 2)),
    CASE("64 channels", local_response_norm, INPUTS(X(2, 64, 3, 2)), RESPONSE(4, 1, 0.75, 1)),
    CASE("another power", local_response_norm, INPUTS(X(2, 3, 2, 4)), RESPONSE(3, 2, 1.3, 1.5)),
    CASE("a window longer than the channels", local_response_norm, INPUTS(X(2, 3, 5)),
        RESPONSE(17, 3, 0.5, 1)),
    CASE("one channel, a volume", local_response_norm, INPUTS(X(1, 1, 2, 3, 4)), RESPONSE(2, 2, 1, 1)),
};

/* ---- the shortcut of CIFAR ResNets: every other pixel, and zeros as further channels ---- */

static weft_tensor *build_shortcut(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    const int64_t sides[] = {0, 3, 0, 0};
    weft_tensor *const even = weft_slice_step(inputs[0], 2, 0, WEFT_END, 2);
    return weft_relu(weft_add(
        weft_pad(weft_slice_step(even, 3, 0, WEFT_END, 2), sides, sides, WEFT_PAD_CONSTANT, 0), inputs[1]));
}
static bool shortcut_place(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    (void)context;
    from[0] = to[0];
    from[1] = to[1] - 3;
    from[2] = 2 * to[2];
    from[3] = 2 * to[3];
    return from[1] >= 0 && from[1] < a->dims[1];
}
static f64_array *reference_shortcut(const op_case *c, const f64_array *const *inputs) {
    (void)c;
    return f64_relu(f64_add(f64_pick(inputs[0], 4, inputs[1]->dims, shortcut_place, NULL, 0), inputs[1]));
}
static const op_case shortcut_cases[] = {
    CASE("shortcut", shortcut, INPUTS(X(WEFT_BATCH, 6, 5, 4), X(WEFT_BATCH, 12, 3, 2)))};

/* ---- bad input ---- */

typedef struct bad_resample {
    weft_status status;
    const char *message;
    weft_tensor *(*build)(weft_tensor *x, weft_tensor *flat);
} bad_resample;

#define BAD(name, expression)                                                                                \
    static weft_tensor *name(weft_tensor *x, weft_tensor *flat) {                                            \
        (void)x, (void)flat;                                                                                 \
        return expression;                                                                                   \
    }
#define OPTIONS(...) (&(const weft_resample_options){WEFT_RESAMPLE_OPTIONS_INIT, __VA_ARGS__})
BAD(no_options, weft_resample(x, NULL))
BAD(old_options, weft_resample(x, &(const weft_resample_options){.sizes = {2, 2}}))
BAD(no_size, weft_resample(x, OPTIONS(.sizes = {2})))
BAD(size_and_factor, weft_resample(x, OPTIONS(.sizes = {2, 3}, .factors = {2})))
BAD(negative_size, weft_resample(x, OPTIONS(.sizes = {2, -3})))
BAD(small_factor, weft_resample(x, OPTIONS(.factors = {0.2, 1})))
BAD(nan_factor, weft_resample(x, OPTIONS(.factors = {1, NAN})))
BAD(bad_mode, weft_resample(x, OPTIONS(.sizes = {2, 3}, .mode = (weft_resample_mode)7)))
BAD(nearest_corners, weft_resample(x, OPTIONS(.sizes = {2, 3}, .align_corners = true)))
BAD(no_image, weft_upsample_nearest(flat, 2))
BAD(negative_factor, weft_upsample_linear(x, -2, false))
BAD(integers, weft_upsample_linear(weft_cast(x, WEFT_I32), 2, true))
BAD(odd_channels, weft_pixel_shuffle(x, 2))
BAD(odd_sides, weft_pixel_unshuffle(x, 4))
BAD(no_factor, weft_pixel_shuffle(x, 0))
BAD(no_picture, weft_pixel_unshuffle(weft_flatten_axes(x, 2, 3), 2))
BAD(no_window, weft_local_response_norm(x, 0, 1, 1, 1))
BAD(long_window, weft_local_response_norm(x, 65, 1, 1, 1))
BAD(infinite_alpha, weft_local_response_norm(x, 5, INFINITY, 1, 1))
BAD(batch_channels, weft_local_response_norm(weft_swap_axes(x, 0, 1), 5, 1, 1, 1))
BAD(flat_response, weft_local_response_norm(flat, 5, 1, 1, 1))

static const bad_resample bad_resamples[] = {
    {WEFT_ERROR_ARGUMENT, "resample: options is NULL; set sizes, factor or factors", no_options},
    {WEFT_ERROR_ARGUMENT, "resample: the options have struct_size 0, expected ", old_options},
    {WEFT_ERROR_ARGUMENT, "resample: sizes[1] is 0 and factors[1] is 0: set exactly one of the two", no_size},
    {WEFT_ERROR_ARGUMENT, "resample: sizes[0] is 2 and factors[0] is 2: set exactly one of the two",
        size_and_factor},
    {WEFT_ERROR_ARGUMENT, "resample: sizes[1] = -3 is not in 1..2^30", negative_size},
    {WEFT_ERROR_ARGUMENT, "resample: factors[0] = 0.2 gives an axis of 4 elements a size outside 1..2^30",
        small_factor},
    {WEFT_ERROR_ARGUMENT, "resample: factors[1] = nan gives an axis of 6 elements a size outside 1..2^30",
        nan_factor},
    {WEFT_ERROR_ARGUMENT, "resample: mode is 7, which is not a weft_resample_mode", bad_mode},
    {WEFT_ERROR_ARGUMENT, "resample: align_corners is set, but only mode WEFT_RESAMPLE_LINEAR uses it",
        nearest_corners},
    {WEFT_ERROR_SHAPE, "resample: (batch, 5) is not (N, C, L), (N, C, H, W) or (N, C, D, H, W)", no_image},
    {WEFT_ERROR_ARGUMENT, "resample: factors[0] = -2 gives an axis of 4 elements a size outside",
        negative_factor},
    {WEFT_ERROR_DTYPE, "resample: takes f32, not i32", integers},
    {WEFT_ERROR_SHAPE, "pixel_shuffle: the channels of (batch, 3, 4, 6) are not a multiple of 2 squared",
        odd_channels},
    {WEFT_ERROR_SHAPE, "pixel_unshuffle: height and width of (batch, 3, 4, 6) are not multiples of 4",
        odd_sides},
    {WEFT_ERROR_ARGUMENT, "pixel_shuffle: the factor is 0, expected 1 to 32767", no_factor},
    {WEFT_ERROR_SHAPE, "pixel_unshuffle: (batch, 3, 24) is not (N, C, H, W)", no_picture},
    {WEFT_ERROR_ARGUMENT, "local_response_norm: size is 0 channels, expected 1 to 64", no_window},
    {WEFT_ERROR_ARGUMENT, "local_response_norm: size is 65 channels, expected 1 to 64", long_window},
    {WEFT_ERROR_ARGUMENT, "local_response_norm: alpha = inf, beta = 1 and k = 1 are not all finite",
        infinite_alpha},
    {WEFT_ERROR_SHAPE, "local_response_norm: the channels of (3, batch, 4, 6) depend on the batch size",
        batch_channels},
    {WEFT_ERROR_SHAPE, "local_response_norm: (batch, 5) is not (N, C, L)", flat_response},
};

static void test_bad_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_resamples / sizeof *bad_resamples; i++) {
        weft_graph *const graph = test_graph();
        const int64_t dims[] = {WEFT_BATCH, 3, 4, 6}, flat_dims[] = {WEFT_BATCH, 5};
        weft_tensor *const x = weft_input_shape(graph, "x", WEFT_F32, 4, dims);
        weft_tensor *const flat = weft_input_shape(graph, "f", WEFT_F32, 2, flat_dims);
        assert_null(bad_resamples[i].build(x, flat));
        assert_weft_fails(bad_resamples[i].status, weft_graph_status(graph), bad_resamples[i].message);
        weft_graph_release(graph);
    }
}

int main(void) {
    static const op_cases ops[] = {RESAMPLE_OPS(COVERED_CASES){NULL, shortcut_cases, 1}};
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_input)};
    const int failed = op_suite_run("resample", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
