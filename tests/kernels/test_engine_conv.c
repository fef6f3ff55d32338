/* The index arithmetic of convolutions by the matrix engines of GPUs, forward, of the image's gradient and of the weight's: each
 * engine's instruction is replaced by a model in plain OpenCL C (cl_kernels/product/engine_model.clh), as in
 * test_gemm_engine_model. Numbers are eighths up to 1, so that every sum is exact in f32: results are compared with those in double
 * precision bit by bit. */
/* test gpu:optimised */
#include "graph/dtype.h"
#include "kernels/contraction_case.h"
#include "kernels/convolution/conv_weight.h"
#include "kernels/product/gemm_product.h"
#include "kernels/registry.h"
#include "ops/op_table.h"
#include "support/checks.h"
#include "support/engine_numbers.h"
#include "support/fixture.h"
#include <stdio.h>
#include <string.h>

typedef struct layer {
    const char *name;
    int64_t images, groups, channels, filters; /* of a group */
    int64_t image[3], taps[3], stride[3], dilation[3], before[3];
    weft_dtype formats[2]; /* of image and weight, or of what stands in their place */
    weft_dtype precision;
} layer;

#define FLAT(a, b)                                                                                           \
    { 1, a, b }
#define STORED(a, b, as) {WEFT_##a, WEFT_##b}, WEFT_##as
#define UNPADDED                                                                                             \
    { 0, 0, 0 }
#define ONES                                                                                                 \
    { 1, 1, 1 }

/* Each pair of formats is a program: most layers have the one of mixed precision in bf16; each format is read as image and as weight, and
 * rounded to each precision, by one other. */
static const layer layers[] = {
    {"one number", 1, 1, 1, 1, FLAT(1, 1), ONES, ONES, ONES, UNPADDED, STORED(BF16, F32, BF16)},
    {"chunks where they are", 2, 1, 16, 24, FLAT(7, 9), FLAT(3, 3), ONES, ONES, {0, 1, 1},
        STORED(BF16, F32, BF16)},
    {"a tap in several blocks", 1, 1, 72, 67, FLAT(9, 8), FLAT(3, 3), ONES, ONES, {0, 1, 1},
        STORED(BF16, F32, BF16)},
    {"whole blocks", 1, 1, 64, 70, FLAT(11, 12), ONES, ONES, ONES, UNPADDED, STORED(F16, F16, F16)},
    {"first layer", 1, 1, 3, 18, FLAT(13, 11), FLAT(7, 7), FLAT(2, 2), ONES, {0, 3, 3},
        STORED(F32, BF16, BF16)},
    {"positions of weights in splits", 4, 1, 16, 24, FLAT(9, 10), FLAT(3, 3), ONES, ONES, {0, 1, 1},
        STORED(BF16, F32, BF16)},
    {"the same of odd channels", 4, 1, 7, 70, FLAT(9, 10), FLAT(3, 3), ONES, ONES, {0, 1, 1},
        STORED(BF16, F32, BF16)},
    {"the same of channels that are quads and no chunks", 4, 2, 12, 10, FLAT(9, 10), FLAT(1, 3), ONES, ONES,
        {0, 0, 1}, STORED(F16, F32, F16)},
    {"odd channels of f16", 2, 1, 21, 9, FLAT(6, 5), FLAT(3, 2), ONES, ONES, {0, 1, 0},
        STORED(F16, F32, F16)},
    {"stride 2, phases of 1, 2 and 4 taps", 1, 1, 24, 33, FLAT(13, 10), FLAT(3, 3), FLAT(2, 2), ONES,
        {0, 1, 1}, STORED(BF16, F32, BF16)},
    {"stride 3 over one tap, phases without taps", 1, 1, 40, 17, FLAT(10, 8), ONES, FLAT(3, 3), ONES,
        UNPADDED, STORED(BF16, F32, BF16)},
    {"dilation", 2, 1, 8, 16, FLAT(12, 9), FLAT(3, 3), ONES, FLAT(2, 3), {0, 2, 3}, STORED(F16, BF16, BF16)},
    {"stride and dilation", 1, 1, 16, 8, FLAT(14, 11), FLAT(3, 2), FLAT(2, 3), FLAT(3, 2), {0, 2, 1},
        STORED(F32, BF16, F16)},
    {"groups", 2, 3, 16, 24, FLAT(6, 7), FLAT(3, 3), ONES, ONES, {0, 1, 1}, STORED(BF16, F32, BF16)},
    {"groups of odd channels", 1, 2, 5, 7, FLAT(8, 6), FLAT(2, 2), FLAT(2, 1), ONES, {0, 1, 0},
        STORED(BF16, F32, BF16)},
    {"more padding than image", 1, 1, 8, 5, FLAT(2, 3), FLAT(2, 2), ONES, ONES, {0, 4, 3},
        STORED(BF16, F32, BF16)},
    {"three axes", 1, 1, 9, 10, {4, 5, 3}, {2, 3, 2}, {1, 2, 1}, ONES, {1, 0, 1}, STORED(BF16, F32, BF16)},
};
enum { LAYERS = sizeof layers / sizeof *layers, SOME = 4 };
/* One tile, not full in any direction, and two blocks of k in the products of all three kinds. */
static const layer small_layer = {
    "one tile", 1, 1, 5, 6, FLAT(6, 7), FLAT(3, 3), ONES, ONES, {0, 1, 1}, STORED(BF16, F32, BF16)};

/* Of its weight's gradient, sums of four channels are stored at once. */
static const layer small_quads = {
    "quads of a tile", 1, 1, 12, 6, FLAT(6, 7), ONES, ONES, ONES, UNPADDED, STORED(BF16, F32, BF16)};

static const char *const engines[] = {"mma", "wmma", "wmma12", "mfma", "xmx8", "xmx16"};
enum { ENGINES = sizeof engines / sizeof *engines, MOST_HEADERS = 8 };

/* ---- a layer as a site ---- */

static wi_conv conv_of(const layer *l) {
    wi_conv conv = {.images = l->images, .groups = l->groups, .channels = l->channels, .filters = l->filters};
    for (int i = 0; i < 3; i++) {
        conv.image[i] = l->image[i];
        conv.taps[i] = l->taps[i];
        conv.stride[i] = l->stride[i];
        conv.dilation[i] = l->dilation[i];
        conv.before[i] = l->before[i];
        conv.result[i] =
            (l->image[i] + 2 * l->before[i] - (l->taps[i] - 1) * l->dilation[i] - 1) / l->stride[i] + 1;
    }
    return conv;
}

static wi_conv_geometry geometry_of(const wi_conv *conv, bool transposed) {
    const int64_t taps = conv->taps[0] * conv->taps[1] * conv->taps[2], step = conv->channels * taps;
    wi_conv_geometry w = {.transposed = transposed,
        .images = conv->images,
        .groups = conv->groups,
        .channels = transposed ? conv->filters : conv->channels,
        .filters = transposed ? conv->channels : conv->filters,
        .w_filter = transposed ? taps : step,
        .w_channel = transposed ? step : taps,
        .w_tap = {conv->taps[1] * conv->taps[2], conv->taps[2], 1},
        .w_group = conv->filters * step};
    memcpy(w.taps, conv->taps, sizeof w.taps);
    memcpy(w.stride, conv->stride, sizeof w.stride);
    memcpy(w.dilation, conv->dilation, sizeof w.dilation);
    memcpy(w.before, conv->before, sizeof w.before);
    memcpy(w.read, transposed ? conv->result : conv->image, sizeof w.read);
    memcpy(w.made, transposed ? conv->image : conv->result, sizeof w.made);
    w.step[2] = w.groups * w.channels;
    w.step[1] = w.step[2] * w.read[2];
    w.step[0] = w.step[1] * w.read[1];
    w.image = w.step[0] * w.read[0];
    return w;
}

static void make_case(wi_contraction_case *small, const layer *l, bool transposed) {
    *small = (wi_contraction_case){.site = {.device = &wi_context_device(test_context())->profile,
                                       .formats = {l->formats[0], l->formats[1]},
                                       .precision = l->precision}};
    small->conv = conv_of(l);
    small->geometry = geometry_of(&small->conv, transposed);
    const wi_conv_geometry *const w = &small->geometry;
    small->shape = (wi_gemm_shape){.batch = w->images * w->made[0] * w->made[1],
        .m = w->made[2],
        .n = w->groups * w->filters,
        .k = w->channels * w->taps[0] * w->taps[1] * w->taps[2],
        .convolution = w};
    small->site.product = &small->shape;
    small->counts[WI_CASE_A] = w->images * w->image;
    small->counts[WI_CASE_B] = w->groups * w->w_group;
    small->counts[WI_CASE_C] = small->shape.batch * small->shape.m * small->shape.n;
}

/* The same as the site of the weight's gradient, whose node is described in zeros. */
static void make_weight_case(
    wi_contraction_case *small, const layer *l, weft_tensor *node, wi_attributes *attributes) {
    make_case(small, l, false);
    const wi_conv *const conv = &small->conv;
    wi_shape shapes[3] = {{.rank = 5, .dims = {conv->images}}, {.rank = 5, .dims = {conv->images}},
        {.rank = 5, .dims = {conv->groups * conv->filters, conv->channels}}};
    wi_conv_attributes *const window = &attributes->conv;
    window->groups = (int32_t)conv->groups;
    for (int i = 0; i < 3; i++) {
        window->window.size[i] = (int32_t)conv->taps[i];
        window->window.stride[i] = (int32_t)conv->stride[i];
        window->window.dilation[i] = (int32_t)conv->dilation[i];
        window->window.padding[i] = (int32_t)conv->before[i];
        shapes[0].dims[1 + i] = conv->image[i];
        shapes[1].dims[1 + i] = conv->result[i];
        shapes[2].dims[2 + i] = conv->taps[i];
    }
    shapes[0].dims[4] = conv->groups * conv->channels;
    shapes[1].dims[4] = conv->groups * conv->filters;
    node->op = &wi_op_conv_weight;
    node->input_count = 2;
    node->attributes = attributes;
    node->shape = shapes[2];
    small->site.product = NULL;
    small->site.node = node;
    for (int i = 0; i < 2; i++) {
        small->site.inputs[i] = wi_extent_of(&shapes[i], 1);
        small->site.layouts[i] = wi_layout_contiguous(&small->site.inputs[i]);
    }
    small->site.result = wi_extent_of(&shapes[2], 1);
    small->counts[WI_CASE_B] = wi_conv_weight_positions(conv) * conv->groups * conv->filters;
    small->counts[WI_CASE_C] = wi_conv_weight_elements(conv);
}

/* ---- its result ---- */

static void check(const wi_contraction_case *small, const float *made, const char *engine, const char *name,
    const char *what) {
    const int64_t count = small->counts[WI_CASE_A];
    double *const numbers = malloc((size_t)(count + small->counts[WI_CASE_B]) * sizeof *numbers);
    assert_non_null(numbers);
    for (int64_t i = 0; i < count + small->counts[WI_CASE_B]; i++)
        numbers[i] = (double)engine_number((size_t)i);
    for (int64_t i = 0; i < small->counts[WI_CASE_C]; i++) {
        const double sum = wi_contraction_case_expected(small, numbers, numbers + count, i);
        if ((double)made[i] != sum)
            fail_msg("%s, %s, %s: element %lld is %g, not %g", engine, name, what, (long long)i,
                (double)made[i], sum);
    }
    free(numbers);
}

static void compute(const wi_implementation *model, const wi_variant *variant,
    const wi_contraction_case *small, float *made) {
    wi_device *const device = wi_context_device(test_context());
    const wi_kernel_site *const site = &small->site;
    const size_t bytes = (size_t)small->counts[WI_CASE_C] * sizeof *made;
    wi_buffer buffers[WI_CASE_ARRAYS] = {0};
    wi_gemm_product product;
    assert_true(wi_implementation_accepts(model, variant, site));
    upload_engine_numbers(&buffers[0], site->formats[0], (size_t)small->counts[WI_CASE_A], 0);
    upload_engine_numbers(
        &buffers[1], site->formats[1], (size_t)small->counts[WI_CASE_B], (size_t)small->counts[WI_CASE_A]);
    memset(made, 0xFF, bytes);
    assert_ok(wi_buffer_create(&buffers[2], device, bytes));
    assert_ok(wi_buffer_write(device, buffers[2].memory, 0, made, bytes));
    assert_ok(wi_gemm_product_create_at(&product, device, model, variant, site,
        &(wi_gemm_operands){.a = buffers[0].memory,
            .b = buffers[1].memory,
            .c = buffers[2].memory,
            .formats = {site->formats[0], site->formats[1]},
            .precision = site->precision}));
    assert_ok(wi_gemm_product_run(&product));
    assert_ok(wi_buffer_read(device, buffers[2].memory, 0, made, bytes));
    wi_gemm_product_clear(&product);
    for (int i = 0; i < WI_CASE_ARRAYS; i++) wi_buffer_release(&buffers[i], device);
}

static void try(const wi_implementation *model, const wi_variant *variant, const wi_contraction_case *small,
    const char *engine, const layer *l, const char *what) {
    float *const made = malloc((size_t)small->counts[WI_CASE_C] * sizeof *made);
    assert_non_null(made);
    compute(model, variant, small, made);
    check(small, made, engine, l->name, what);
    free(made);
}

/* ---- engines ---- */

typedef struct model {
    wi_implementation record;
    const char *headers[MOST_HEADERS];
} model;

/* The record conv_<engine><ending> of the family, with a model in place of the instruction. */
static void find(
    model *found, const wi_implementation *const *family, const char *engine, const char *ending) {
    char name[32];
    snprintf(name, sizeof name, "conv_%s%s", engine, ending);
    while (*family && strcmp((*family)->name, name) != 0) family++;
    if (!*family) fail_msg("there is no %s", name);
    found->record = **family;
    for (int i = 0; found->record.headers[i]; i++) {
        assert_true(i + 1 < MOST_HEADERS);
        const char *const header = found->record.headers[i];
        found->headers[i] = strcmp(header, "engines.clh") == 0 ? "engine_modelled.clh" : header;
        found->headers[i + 1] = NULL;
    }
    found->record.headers = found->headers;
    found->record.needs.engines = 0;
}

static void skip_unless_gpu(void) {
    if (wi_context_device(test_context())->caps.device_class == WEFT_CLASS_GPU) return;
    print_message("skipped: the kernels are of class gpu\n");
    skip();
}

/* Mesa 22.3 loses the first sums of some lanes of this one; PoCL and Intel's runtime do not. */
static bool is_miscompiled(const char *engine) {
    const bool miscompiled = strcmp(engine, "wmma12") == 0 &&
                             strncmp(wi_context_device(test_context())->info.name, "llvmpipe", 8) == 0;
    if (miscompiled) print_message("%s left out: llvmpipe computes wrong sums of its model\n", engine);
    return miscompiled;
}

static void try_layer(const char *engine, int v, const layer *l) {
    model image;
    wi_contraction_case small;
    find(&image, wi_convolution_family, engine, "");
    const wi_variant *const variant = wi_implementation_variant(&image.record, v);
    for (int transposed = 0; transposed < 2; transposed++) {
        make_case(&small, l, transposed);
        try(&image.record, variant, &small, engine, l, transposed ? "data" : "forward");
    }
}

static void try_weight(const char *engine, int v, const layer *l) {
    model weight;
    wi_contraction_case small;
    wi_attributes attributes = {0};
    weft_tensor *const node = calloc(1, sizeof *node + 2 * sizeof(weft_tensor *));
    assert_non_null(node);
    find(&weight, wi_convolution_weight_family, engine, "_weight");
    make_weight_case(&small, l, node, &attributes);
    try(&weight.record, wi_implementation_variant(&weight.record, v), &small, engine, l, "weight");
    free(node);
}

/* The geometry of a layer is the templates' business, the same for all engines: every layer by one whose lanes hold words of A and
 * by one whose lanes hold single numbers, some by the others. */
static int layers_of(const char *engine) {
    return strcmp(engine, "mma") == 0 || strcmp(engine, "xmx16") == 0 ? LAYERS : SOME;
}

/* What reads formats and rounds them is the templates' business, too: by one engine all are tried, by the others one of each precision. */
static layer layer_for(const char *engine, int i) {
    layer l = layers[i];
    if (strcmp(engine, "mma") == 0) return l;
    l.formats[0] = l.precision;
    l.formats[1] = l.precision == WEFT_BF16 ? WEFT_F32 : WEFT_F16;
    return l;
}

static void every_layer(void **state) {
    (void)state;
    skip_unless_gpu();
    if (test_reduced()) skip();
    for (int engine = 0; engine < ENGINES; engine++) {
        if (is_miscompiled(engines[engine])) continue;
        for (int i = 0; i < layers_of(engines[engine]); i++) {
            const layer l = layer_for(engines[engine], i);
            try_layer(engines[engine], 1, &l);
        }
    }
}

static void every_weight(void **state) {
    (void)state;
    skip_unless_gpu();
    if (test_reduced()) skip();
    for (int engine = 0; engine < ENGINES; engine++) {
        for (int i = 0; i < layers_of(engines[engine]); i++) {
            const layer l = layer_for(engines[engine], i);
            try_weight(engines[engine], 1, &l);
        }
    }
}

/* Interpreters take a minute for it: reduced runs have it by one engine, unless another is asked for. */
static void one_tile(void **state) {
    const char *const engine = *state;
    skip_unless_gpu();
    if (test_reduced() && !test_selects_some() && strcmp(engine, "mma") != 0) skip();
    if (!is_miscompiled(engine)) try_layer(engine, 1, &small_layer);
    try_weight(engine, 1, &small_layer);
    try_weight(engine, 1, &small_quads);
}

/* Several tiles each way, of the image or of the weight: both templates have the tiles of each engine from one table, and every_layer and
 * every_weight have the smaller ones in both. */
static void large_tiles(void **state) {
    static const layer large = {
        "large", 1, 1, 40, 140, FLAT(13, 12), FLAT(3, 3), ONES, ONES, {0, 1, 1}, STORED(BF16, F32, BF16)};
    (void)state;
    skip_unless_gpu();
    if (test_reduced()) skip();
    for (int engine = 0; engine < ENGINES; engine++) {
        if (engine % 2)
            try_weight(engines[engine], 0, &large);
        else if (!is_miscompiled(engines[engine]))
            try_layer(engines[engine], 0, &large);
    }
}

#define ONE_TILE(engine)                                                                                     \
    { "one_tile." engine, one_tile, NULL, NULL, engine }

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_layer), cmocka_unit_test(every_weight),
        cmocka_unit_test(large_tiles), ONE_TILE("mma"), ONE_TILE("wmma"), ONE_TILE("wmma12"),
        ONE_TILE("mfma"), ONE_TILE("xmx8"), ONE_TILE("xmx16")};
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
