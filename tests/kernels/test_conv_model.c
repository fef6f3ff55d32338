/* The index arithmetic of convolutions by a matrix engine: the engine's instructions are replaced by a model in plain OpenCL C
 * (cl_kernels/product/amx_model.clh), so that the kernel runs on any device of class cpu, and under interpreters that see
 * every access. */
/* test slow */
#include "graph/dtype.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/product/gemm_product.h"
#include "kernels/registry.h"
#include "support/checks.h"
#include "support/engine_numbers.h"
#include "support/fixture.h"
#include <math.h>
#include <string.h>

typedef struct shape {
    const char *name;
    int64_t images, groups, channels, filters; /* of a group: read, made */
    int64_t read[2], made[2], taps[2], stride[2], dilation[2], before[2];
    bool transposed;
    weft_dtype formats[2];
} shape;

/* Multiples of no tile; a first layer; more steps of k than the kernel takes at once; a data gradient of each kind. */
static const shape shapes[] = {
    {"first layer", 1, 1, 3, 18, {9, 8}, {5, 4}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, false, {WEFT_F32, WEFT_F32}},
    {"long", 1, 1, 75, 17, {4, 5}, {4, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false, {WEFT_BF16, WEFT_F32}},
    {"groups, dilated", 2, 2, 5, 6, {6, 5}, {4, 3}, {2, 2}, {1, 1}, {2, 2}, {0, 0}, false,
        {WEFT_F16, WEFT_BF16}},
    {"data", 2, 1, 6, 35, {5, 6}, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, {WEFT_BF16, WEFT_F32}},
    {"data, stride 2", 1, 1, 20, 9, {4, 3}, {8, 6}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true,
        {WEFT_BF16, WEFT_F32}},
    {"data, phases without taps", 1, 1, 33, 5, {3, 2}, {5, 6}, {1, 1}, {2, 3}, {1, 1}, {0, 0}, true,
        {WEFT_BF16, WEFT_F32}},
};

/* Rows of the image that the engine reads where they lie: odd sizes, strides, padding wider than the filter, one channel and
 * more than a block of them, tiles of every height, rows of taps with and without a rest; reversed taps. */
static const shape row_shapes[] = {
    {"first layer", 1, 1, 3, 18, {9, 8}, {5, 4}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, false, {WEFT_F32, WEFT_F32}},
    {"one channel", 2, 1, 1, 1, {5, 21}, {5, 21}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false,
        {WEFT_F16, WEFT_BF16}},
    {"small", 2, 1, 16, 16, {5, 7}, {5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false, {WEFT_BF16, WEFT_F32}},
    {"two tiles across", 1, 1, 12, 33, {4, 19}, {3, 18}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, false,
        {WEFT_BF16, WEFT_BF16}},
    {"no rest", 2, 1, 32, 20, {3, 4}, {3, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, false, {WEFT_F32, WEFT_F32}},
    {"48 channels", 1, 1, 48, 5, {5, 3}, {5, 3}, {1, 3}, {1, 1}, {1, 1}, {0, 1}, false,
        {WEFT_BF16, WEFT_F32}},
    {"wide padding", 1, 1, 6, 7, {3, 4}, {9, 8}, {2, 2}, {1, 1}, {1, 1}, {4, 3}, false,
        {WEFT_BF16, WEFT_F32}},
    {"skipped rows", 1, 1, 4, 7, {9, 10}, {3, 3}, {1, 2}, {3, 4}, {1, 1}, {0, 0}, false,
        {WEFT_BF16, WEFT_F32}},
    {"dilated rows", 2, 1, 5, 6, {6, 5}, {4, 4}, {2, 2}, {1, 1}, {2, 1}, {0, 0}, false,
        {WEFT_F16, WEFT_BF16}},
    {"data", 2, 1, 6, 35, {5, 6}, {5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, true, {WEFT_BF16, WEFT_F32}},
    {"data, no padding", 1, 1, 7, 9, {4, 18}, {6, 20}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, true,
        {WEFT_F32, WEFT_F32}},
};

static const char *const model_headers[] = {"amx_model.clh", "conv_walk_cpu.clh", "conv_cpu_amx.clh", NULL};
/* A model of vdpbf16ps alone. */
static const char *const vector_headers[] = {
    "amx_vectors_model.clh", "conv_walk_cpu.clh", "conv_cpu_amx.clh", NULL};

static wi_implementation modelled(const char *name) {
    for (int i = 0; wi_convolution_family[i]; i++) {
        if (strcmp(wi_convolution_family[i]->name, name) != 0) continue;
        wi_implementation model = *wi_convolution_family[i];
        model.headers = model_headers;
        model.needs.engines = 0;
        return model;
    }
    fail_msg("there is no %s", name);
    return (wi_implementation){0};
}

static wi_conv_geometry geometry_of(const shape *s) {
    const int64_t step = s->groups * s->channels, taps = s->taps[0] * s->taps[1];
    return (wi_conv_geometry){.transposed = s->transposed,
        .images = s->images,
        .groups = s->groups,
        .channels = s->channels,
        .filters = s->filters,
        .read = {1, s->read[0], s->read[1]},
        .made = {1, s->made[0], s->made[1]},
        .taps = {1, s->taps[0], s->taps[1]},
        .stride = {1, s->stride[0], s->stride[1]},
        .dilation = {1, s->dilation[0], s->dilation[1]},
        .before = {0, s->before[0], s->before[1]},
        .image = s->read[0] * s->read[1] * step,
        .step = {0, s->read[1] * step, step},
        .w_filter = s->channels * taps,
        .w_channel = taps,
        .w_tap = {0, s->taps[1], 1},
        .w_group = s->filters * s->channels * taps};
}

/* The image's index along an axis; -1: the tap meets none. */
static int64_t index_of(const shape *s, int axis, int64_t at, int64_t tap) {
    int64_t index = at * s->stride[axis] + tap * s->dilation[axis] - s->before[axis];
    if (s->transposed) {
        index = at + s->before[axis] - tap * s->dilation[axis];
        if (index % s->stride[axis] != 0) return -1;
        index /= s->stride[axis];
    }
    return index < s->read[axis] ? index : -1;
}

/* Of result (image, i, j), filter f of group g; the weight's numbers begin at `weight`. */
static double expected(
    const shape *s, const wi_conv_geometry *w, const int64_t *at, int64_t g, int64_t f, size_t weight) {
    double sum = 0.0;
    for (int64_t tap = 0; tap < s->taps[0] * s->taps[1]; tap++) {
        const int64_t t1 = tap / s->taps[1], t2 = tap % s->taps[1];
        const int64_t i = index_of(s, 0, at[1], t1), j = index_of(s, 1, at[2], t2);
        if (i < 0 || j < 0) continue;
        const int64_t pixel = at[0] * w->image + i * w->step[1] + j * w->step[2] + g * s->channels;
        const int64_t first = g * w->w_group + f * w->w_filter + t1 * w->w_tap[1] + t2 * w->w_tap[2];
        for (int64_t c = 0; c < s->channels; c++)
            sum += (double)engine_number((size_t)(pixel + c)) *
                   (double)engine_number(weight + (size_t)(first + c * w->w_channel));
    }
    return sum;
}

static void check(const shape *s, const wi_conv_geometry *w, const float *made, size_t weight) {
    const int64_t filters = s->groups * s->filters;
    for (int64_t i = 0; i < s->images * s->made[0] * s->made[1] * filters; i++) {
        const int64_t place = i / filters, f = i % filters;
        const int64_t at[] = {
            place / s->made[1] / s->made[0], place / s->made[1] % s->made[0], place % s->made[1]};
        const double sum = expected(s, w, at, f / s->filters, f % s->filters, weight);
        if (isfinite(sum) ? (double)made[i] != sum : isfinite(made[i]))
            fail_msg("%s: number %lld is %g, not %g", s->name, (long long)i, (double)made[i], sum);
    }
}

static void convolve(const wi_implementation *model, const shape *s) {
    static float made[1 << 12];
    wi_device *const device = wi_context_device(test_context());
    const wi_conv_geometry w = geometry_of(s);
    const wi_gemm_shape product_shape = {.batch = s->images * s->made[0],
        .m = s->made[1],
        .n = s->groups * s->filters,
        .k = s->channels * s->taps[0] * s->taps[1],
        .convolution = &w};
    const size_t read = (size_t)(s->images * w.image), weights = (size_t)(s->groups * w.w_group);
    const size_t count = (size_t)(product_shape.batch * product_shape.m * product_shape.n);
    wi_buffer buffers[3] = {0};
    wi_gemm_product product;
    assert_true(count <= sizeof made / sizeof *made);
    upload_engine_numbers(&buffers[0], s->formats[0], read, 0);
    upload_engine_numbers(&buffers[1], s->formats[1], weights, read);
    assert_ok(wi_buffer_create(&buffers[2], device, count * sizeof *made));
    assert_ok(wi_gemm_product_create(&product, device, model, NULL, &product_shape,
        &(wi_gemm_operands){.a = buffers[0].memory,
            .b = buffers[1].memory,
            .c = buffers[2].memory,
            .formats = {s->formats[0], s->formats[1]},
            .precision = WEFT_BF16},
        NULL));
    assert_ok(wi_gemm_product_run(&product));
    assert_ok(wi_buffer_read(device, buffers[2].memory, 0, made, count * sizeof *made));
    wi_gemm_product_clear(&product);
    for (int i = 0; i < 3; i++) wi_buffer_release(&buffers[i], device);
    check(s, &w, made, read);
}

static void skip_unless_cpu(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_CPU) return;
    print_message("skipped: the kernel is one of class cpu\n");
    skip();
}

static void every_kind_of_window(void **state) {
    const wi_implementation model = modelled("amx");
    (void)state;
    skip_unless_cpu();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!test_reduced() || i != 1) convolve(&model, &shapes[i]);
    }
}

static void every_kind_of_row(void **state) {
    const wi_implementation model = modelled("amx_rows");
    (void)state;
    skip_unless_cpu();
    for (size_t i = 0; i < sizeof row_shapes / sizeof *row_shapes; i++) convolve(&model, &row_shapes[i]);
}

/* Fewer rows than a tile has, and a rest of k; tiles in memory, as AVX-512 BF16 multiplies them. */
static void rows_by_vectors(void **state) {
    wi_implementation model = modelled("amx_rows");
    (void)state;
    skip_unless_cpu();
    model.headers = vector_headers;
    convolve(&model, &row_shapes[0]);
}

/* What a window does not see changes nothing, where it lies in the tile's row, too. */
static void infinity_beside_a_window(void **state) {
    const wi_implementation model = modelled("amx_rows");
    (void)state;
    skip_unless_cpu();
    for (size_t i = 0; i < 3; i++) {
        const shape *const s = &row_shapes[i];
        engine_infinity = (size_t)((2 * s->read[1] + 3) * s->channels);
        convolve(&model, s);
    }
    engine_infinity = SIZE_MAX;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_of_window),
        cmocka_unit_test(every_kind_of_row), cmocka_unit_test(rows_by_vectors),
        cmocka_unit_test(infinity_beside_a_window)};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
