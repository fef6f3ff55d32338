/* See bench_conv.h. Each figure is the median of several rounds; a round times the peak and then the plan, so
 * that a change of the processor's clock meets both. Images come and go channels-last, as between the layers
 * of a network; packing the weight is inside the time. Multiply-adds with zeros of the padding count, as
 * usual. */
#include "bench_conv.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "plan/steps.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { ROUNDS = 11, MAX_SIZES = 32, PASSES = 3 };
static const char *const pass_names[PASSES] = {"forward", "data", "weight"};

/* Square images and windows, padded so that stride 1 keeps the size. */
typedef struct bench_size {
    int64_t batch, size, channels, filters, window, stride, groups;
} bench_size;

static const bench_size usual_sizes[] = {{16, 56, 64, 64, 3, 1, 1}, {16, 28, 128, 128, 3, 1, 1},
    {16, 14, 256, 256, 3, 1, 1}, {16, 7, 512, 512, 3, 1, 1}, {16, 56, 64, 64, 1, 1, 1},
    {16, 28, 128, 128, 1, 1, 1}, {16, 14, 256, 256, 1, 1, 1}, {16, 7, 512, 512, 1, 1, 1},
    {16, 56, 144, 144, 3, 1, 144}, {16, 56, 144, 144, 3, 2, 144}, {16, 14, 576, 576, 3, 1, 576}};

typedef struct bench_state {
    weft_context *context;
    bench_peak peak;
    bool json;
    bench_size sizes[MAX_SIZES];
    int size_count;
} bench_state;

typedef struct bench_figure {
    double seconds, gflops, peak_gflops;
    const char *implementation;
} bench_figure;

static weft_status time_rounds(bench_figure *figure, bench_state *bench, weft_plan *plan, double flops) {
    double peaks[ROUNDS], times[ROUNDS], once = 0.0;
    WI_TRY(bench_peak_time(&peaks[0], &bench->peak, bench->context)); /* both compile at their first run */
    for (int i = 0; i < 2; i++) WI_TRY(bench_time_plan(&once, plan, 1));
    const int repeats = once < 0.005 ? (int)(0.005 / once) + 1 : 1;
    for (int i = 0; i < ROUNDS; i++) {
        WI_TRY(bench_peak_time(&peaks[i], &bench->peak, bench->context));
        WI_TRY(bench_time_plan(&times[i], plan, repeats));
    }
    figure->seconds = bench_median(times, ROUNDS);
    figure->gflops = flops / figure->seconds * 1e-9;
    figure->peak_gflops = bench->peak.flops / bench_median(peaks, ROUNDS) * 1e-9;
    return WEFT_OK;
}

typedef struct bench_net {
    weft_tensor *x, *weight, *slope, *output;
} bench_net;

/* Inputs and results in the order that images have in memory. */
static weft_status build(
    bench_net *net, weft_graph *graph, const bench_size *size, int64_t result, int pass) {
    net->x = weft_input(graph, "x", WEFT_F32, size->size, size->size, size->channels);
    net->weight = weft_input_shape(graph, "weight", WEFT_F32, 4,
        (const int64_t[]){size->filters, size->channels / size->groups, size->window, size->window});
    net->slope = weft_input(graph, "slope", WEFT_F32, result, result, size->filters);
    const weft_conv_options options = {WEFT_CONV_OPTIONS_INIT, .stride = WEFT_ALL(size->stride),
        .padding = WEFT_ALL(size->window / 2), .groups = size->groups};
    weft_tensor *const y = weft_conv_with(wi_channels_first(net->x), net->weight, NULL, &options);
    net->output = wi_channels_last(y);
    if (pass == 0) return weft_graph_status(graph);
    weft_tensor *const loss = weft_sum(weft_mul(net->output, net->slope));
    return weft_gradients(loss, (weft_tensor *[]){pass == 1 ? net->x : net->weight}, 1, &net->output);
}

/* Of the step with the most work. */
static const char *implementation_of(const weft_plan *plan) {
    const wi_step *most = plan->steps[0];
    for (size_t i = 1; i < plan->step_count; i++) {
        if (plan->steps[i]->flops > most->flops) most = plan->steps[i];
    }
    return most->kind == WI_STEP_PRODUCT ? most->implementation->name
           : most->kernel                ? most->kernel->file
                                         : "generated";
}

static void print_figure(
    const bench_state *bench, const bench_size *size, int pass, const bench_figure *figure) {
    const double share = figure->gflops / figure->peak_gflops;
    char shape[96];
    const int length = snprintf(shape, sizeof shape, "%lldx%lldx%lldx%lldx%lldx%lld", (long long)size->batch,
        (long long)size->size, (long long)size->channels, (long long)size->filters, (long long)size->window,
        (long long)size->stride);
    if (size->groups > 1)
        snprintf(shape + length, sizeof shape - (size_t)length, "x%lld", (long long)size->groups);
    if (bench->json)
        printf("{\"shape\": \"%s\", \"pass\": \"%s\", \"microseconds\": %.2f, \"gflops\": %.2f, "
               "\"peak_gflops\": %.2f,"
               " \"share\": %.4f, \"implementation\": \"%s\"}\n",
            shape, pass_names[pass], figure->seconds * 1e6, figure->gflops, figure->peak_gflops, share,
            figure->implementation);
    else
        printf("%-24s %-8s %12.1f %10.1f %10.1f %6.0f%%  %s\n", shape, pass_names[pass],
            figure->seconds * 1e6, figure->gflops, figure->peak_gflops, 100.0 * share,
            figure->implementation);
    fflush(stdout);
}

static weft_status measure(bench_figure *figure, bench_state *bench, const bench_size *size, int pass) {
    const int64_t result = (size->size + 2 * (size->window / 2) - size->window) / size->stride + 1;
    const size_t images = (size_t)(size->batch * size->size * size->size * size->channels);
    const size_t results = (size_t)(size->batch * result * result * size->filters);
    const size_t weights =
        (size_t)(size->filters * (size->channels / size->groups) * size->window * size->window);
    const double flops =
        2.0 * (double)results * (double)(size->channels / size->groups * size->window * size->window);
    bench_net net;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_status status;
    WI_TRY_DONE(weft_graph_create(&graph, bench->context));
    WI_TRY_DONE(build(&net, graph, size, result, pass));
    WI_TRY_DONE(weft_plan_create(
        &plan, &net.output, 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = size->batch}));
    if (pass != 1) WI_TRY_DONE(bench_fill(plan, net.x, images));
    if (pass != 2) WI_TRY_DONE(bench_fill(plan, net.weight, weights));
    if (pass != 0) WI_TRY_DONE(bench_fill(plan, net.slope, results));
    status = time_rounds(figure, bench, plan, flops);
    figure->implementation = implementation_of(plan);
done:
    if (status == WEFT_OK) print_figure(bench, size, pass, figure);
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static weft_status run(bench_state *bench) {
    WI_TRY(bench_peak_create(&bench->peak, bench->context));
    if (!bench->json)
        printf("%s\n%-24s pass     microseconds    GFLOP/s       peak   share  implementation\n",
            weft_context_device(bench->context)->name, "batch x size x C x F x window x stride [x groups]");
    for (int i = 0; i < PASSES * bench->size_count; i++) {
        bench_figure figure = {0};
        WI_TRY(measure(&figure, bench, &bench->sizes[i / PASSES], i % PASSES));
    }
    return WEFT_OK;
}

static bool parse_size(bench_state *bench, const char *text) {
    long long n[7];
    char rest;
    const int count = sscanf(
        text, "%lldx%lldx%lldx%lldx%lldx%lldx%lld%c", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &rest);
    if (bench->size_count == MAX_SIZES || count < 6 || count > 7) return false;
    for (int i = 0; i < count; i++) {
        if (n[i] < 1 || n[i] > 1 << 16) return false;
    }
    if (n[4] > n[1] || (count == 7 && (n[2] % n[6] || n[3] % n[6]))) return false;
    bench->sizes[bench->size_count++] =
        (bench_size){n[0], n[1], n[2], n[3], n[4], n[5], count == 7 ? n[6] : 1};
    return true;
}

static bool parse(bench_state *bench, weft_context_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (bench_take_option(argc, argv, &i, &bench->json, options)) continue;
        if (!parse_size(bench, argv[i])) return false;
    }
    if (bench->size_count > 0) return true;
    bench->size_count = (int)(sizeof usual_sizes / sizeof *usual_sizes);
    memcpy(bench->sizes, usual_sizes, sizeof usual_sizes);
    return true;
}

int weft_bench_conv(int argc, char **argv) {
    bench_state bench = {0};
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT};
    if (!parse(&bench, &options, argc, argv)) {
        fprintf(stderr, "usage: weft bench conv [--json] [--device SELECTOR]"
                        " [BATCHxSIZExCHANNELSxFILTERSxWINDOWxSTRIDE[xGROUPS] ...]\n");
        return 2;
    }
    weft_status status = weft_context_create(&bench.context, &options);
    if (status == WEFT_OK) {
        status = run(&bench);
        bench_peak_clear(&bench.peak, bench.context);
    }
    if (status != WEFT_OK) fprintf(stderr, "%s\n", weft_last_error());
    weft_context_release(bench.context);
    return status != WEFT_OK;
}
