/* See bench_conv.h. Images come and go channels-last, as between the layers of a network; packing the weight
 * is inside the time. Multiply-adds with zeros of the padding count, as usual. In formats of 16 bits a convolution and its
 * data gradient read images of that format and a weight of f32, and store f32; a weight's gradient reads f32, as plans do
 * with inputs, and may round it. */
#include "bench_conv.h"
#include "bench_measure.h"
#include "bench_sizes.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "kernels/convolution/conv_product.h"
#include "kernels/product/gemm_product.h"
#include "kernels/selection.h"
#include "ops/op_table.h"
#include "plan/compiled_plan.h"
#include <stdio.h>
#include <weft/weft.h>

enum { PASSES = 3 };
static const char *const pass_names[PASSES] = {"forward", "data", "weight"};

/* Square images and windows, padded so that stride 1 keeps the size. */
typedef struct conv_size {
    int64_t batch, size, channels, filters, window, stride, groups;
} conv_size;

static const int64_t usual_sizes[][BENCH_NUMBERS] = {{16, 56, 64, 64, 3, 1, 1}, {16, 28, 128, 128, 3, 1, 1},
    {16, 14, 256, 256, 3, 1, 1}, {16, 7, 512, 512, 3, 1, 1}, {16, 56, 64, 64, 1, 1, 1},
    {16, 28, 128, 128, 1, 1, 1}, {16, 14, 256, 256, 1, 1, 1}, {16, 7, 512, 512, 1, 1, 1},
    {16, 56, 144, 144, 3, 1, 144}, {16, 56, 144, 144, 3, 2, 144}, {16, 14, 576, 576, 3, 1, 576}};

typedef struct conv_net {
    weft_tensor *x, *weight, *slope, *output;
} conv_net;

/* Inputs and results in the order that images have in memory. */
static weft_status build(conv_net *net, weft_graph *graph, const conv_size *size, int64_t result, int pass) {
    net->x = weft_input(graph, "x", WEFT_F32, size->size, size->size, size->channels);
    net->weight = weft_input_shape(graph, "weight", WEFT_F32, 4,
        (const int64_t[]){size->filters, size->channels / size->groups, size->window, size->window});
    net->slope = weft_input(graph, "slope", WEFT_F32, result, result, size->filters);
    const weft_conv_options options = {
        WEFT_CONV_OPTIONS_INIT, .stride = size->stride, .padding = size->window / 2, .groups = size->groups};
    weft_tensor *const y = weft_conv_with(wi_channels_first(net->x), net->weight, NULL, &options);
    net->output = wi_channels_last(y);
    if (pass == 0) return weft_graph_status(graph);
    weft_tensor *const loss = weft_sum(weft_mul(net->output, net->slope));
    return weft_gradients(loss, (weft_tensor *[]){pass == 1 ? net->x : net->weight}, 1, &net->output);
}

/* Of the step with the most work. */
static const char *implementation_of(const weft_plan *plan) {
    size_t most = 0;
    for (size_t i = 1; i < plan->partition.step_count; i++) {
        if (plan->schedule.of[i].flops > plan->schedule.of[most].flops) most = i;
    }
    return wi_step_implementation_name(plan, plan->partition.steps[most]);
}

/* ---- on its own, in formats ---- */

/* Pass 1 reads the result and makes the image. */
static wi_conv_geometry geometry_of(const conv_size *s, int64_t result, int pass) {
    const bool data = pass == 1;
    const int64_t channels = s->channels / s->groups, filters = s->filters / s->groups;
    const int64_t taps = s->window * s->window, step = data ? s->filters : s->channels;
    const int64_t read = data ? result : s->size, made = data ? s->size : result;
    return (wi_conv_geometry){.transposed = data,
        .images = s->batch,
        .groups = s->groups,
        .channels = data ? filters : channels,
        .filters = data ? channels : filters,
        .read = {1, read, read},
        .made = {1, made, made},
        .taps = {1, s->window, s->window},
        .stride = {1, s->stride, s->stride},
        .dilation = {1, 1, 1},
        .before = {0, s->window / 2, s->window / 2},
        .image = read * read * step,
        .step = {0, read * step, step},
        .w_filter = data ? taps : channels * taps,
        .w_channel = data ? channels * taps : taps,
        .w_tap = {0, s->window, 1},
        .w_group = filters * channels * taps};
}

static weft_status fill(wi_buffer *buffer, const bench_state *bench, weft_dtype dtype, int64_t count) {
    wi_device *const device = wi_context_device(bench->context);
    const wi_format *const format = wi_format_of(dtype);
    void *const values = wi_allocate_array(NULL, (size_t)count, format->size);
    if (!values) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) format->put(values, (size_t)i, (double)(i % 19) / 19.0 - 0.5);
    weft_status status = wi_buffer_create(buffer, device, (size_t)count * format->size);
    if (status == WEFT_OK)
        status = wi_buffer_write(device, buffer->memory, 0, values, (size_t)count * format->size);
    wi_release(NULL, values);
    return status;
}

/* The site of a convolution outside a plan. */
static weft_status time_in_formats(bench_figure *figure, const char **name, const bench_state *bench,
    const wi_conv_geometry *w, double flops) {
    wi_device *const device = wi_context_device(bench->context);
    const wi_gemm_shape shape = {.batch = w->images * w->made[1],
        .m = w->made[2],
        .n = w->filters * w->groups,
        .k = w->channels * w->taps[1] * w->taps[2],
        .convolution = w};
    const wi_kernel_site site = {.device = &device->profile,
        .product = &shape,
        .formats = {bench->precision, WEFT_F32},
        .precision = bench->precision};
    wi_selection selection;
    wi_gemm_product product = {0};
    wi_buffer x = {0}, weight = {0}, made = {0};
    weft_status status;
    WI_TRY_DONE(fill(&x, bench, bench->precision, wi_conv_read_elements(w)));
    WI_TRY_DONE(fill(&weight, bench, WEFT_F32, shape.n * shape.k));
    WI_TRY_DONE(wi_buffer_create(&made, device, (size_t)(shape.batch * shape.m * shape.n) * sizeof(float)));
    WI_TRY_DONE(wi_select(&selection, device, w->transposed ? &wi_op_conv_data : &wi_op_conv, &site));
    *name = selection.chosen->name;
    WI_TRY_DONE(wi_gemm_product_create(&product, device, selection.chosen, selection.variant, &shape,
        &(wi_gemm_operands){.a = x.memory,
            .b = weight.memory,
            .c = made.memory,
            .formats = {bench->precision, WEFT_F32},
            .precision = bench->precision},
        NULL));
    status = bench_product_rounds(figure, bench, &product, flops);
done:
    wi_gemm_product_clear(&product);
    wi_buffer_release(&x, device);
    wi_buffer_release(&weight, device);
    wi_buffer_release(&made, device);
    return status;
}

/* ---- rows ---- */

static void print_figure(const bench_state *bench, const conv_size *size, int pass,
    const bench_figure *figure, const char *implementation) {
    char shape[96];
    const int length = snprintf(shape, sizeof shape, "%lldx%lldx%lldx%lldx%lldx%lld", (long long)size->batch,
        (long long)size->size, (long long)size->channels, (long long)size->filters, (long long)size->window,
        (long long)size->stride);
    if (size->groups > 1)
        snprintf(shape + length, sizeof shape - (size_t)length, "x%lld", (long long)size->groups);
    if (bench->json)
        printf("{\"precision\": \"%s\", \"shape\": \"%s\", \"pass\": \"%s\", \"microseconds\": %.2f, "
               "\"gflops\": %.2f, "
               "\"peak_gflops\": %.2f,"
               " \"share\": %.4f, \"implementation\": \"%s\"}\n",
            weft_dtype_name(bench->precision), shape, pass_names[pass], figure->seconds * 1e6, figure->gflops,
            figure->peak_gflops, figure->share, implementation);
    else
        printf("%-24s %-8s %12.1f %10.1f %10.1f %6.0f%%  %s\n", shape, pass_names[pass],
            figure->seconds * 1e6, figure->gflops, figure->peak_gflops, 100.0 * figure->share,
            implementation);
}

static weft_status measure(bench_state *bench, const int64_t *n, int pass) {
    const conv_size given = {n[0], n[1], n[2], n[3], n[4], n[5], n[6]}, *const size = &given;
    bench_figure figure;
    const int64_t result = (size->size + 2 * (size->window / 2) - size->window) / size->stride + 1;
    const size_t images = (size_t)(size->batch * size->size * size->size * size->channels);
    const size_t results = (size_t)(size->batch * result * result * size->filters);
    const size_t weights =
        (size_t)(size->filters * (size->channels / size->groups) * size->window * size->window);
    const double flops =
        2.0 * (double)results * (double)(size->channels / size->groups * size->window * size->window);
    const wi_conv_geometry geometry = geometry_of(size, result, pass);
    const char *name = NULL;
    conv_net net;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_status status;
    if (bench->precision != WEFT_F32 && pass < 2) {
        WI_TRY(time_in_formats(&figure, &name, bench, &geometry, flops));
        print_figure(bench, size, pass, &figure, name);
        return WEFT_OK;
    }
    WI_TRY_DONE(weft_graph_create(&graph, bench->context));
    if (bench->precision == WEFT_BF16) WI_TRY_DONE(weft_graph_set_precision(graph, WEFT_PRECISION_BF16));
    WI_TRY_DONE(build(&net, graph, size, result, pass));
    WI_TRY_DONE(weft_plan_create(
        &plan, &net.output, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = size->batch}));
    if (pass != 1) WI_TRY_DONE(bench_fill(plan, net.x, images));
    if (pass != 2) WI_TRY_DONE(bench_fill(plan, net.weight, weights));
    if (pass != 0) WI_TRY_DONE(bench_fill(plan, net.slope, results));
    WI_TRY_DONE(bench_plan_rounds(&figure, bench, plan, flops));
    print_figure(bench, size, pass, &figure, implementation_of(plan));
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static bool fits(int64_t *n) {
    for (int i = 0; i < 6; i++) {
        if (n[i] > 1 << 16) return false;
    }
    if (n[6] == 0) n[6] = 1;
    return n[4] <= n[1] && n[2] % n[6] == 0 && n[3] % n[6] == 0;
}

static const bench_op op = {.name = "conv",
    .numbers = "BATCHxSIZExCHANNELSxFILTERSxWINDOWxSTRIDE[xGROUPS]",
    .header = "batch x size x C x F x ...  pass  microseconds    GFLOP/s       peak   share  implementation",
    .usual = usual_sizes,
    .usual_count = sizeof usual_sizes / sizeof *usual_sizes,
    .precisions = true,
    .passes = PASSES,
    .least = 6,
    .most = 7,
    .fits = fits,
    .measure = measure};

int weft_bench_conv(int argc, char **argv) {
    return bench_sizes(&op, argc, argv);
}
