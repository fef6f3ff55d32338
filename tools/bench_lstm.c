/* See bench_lstm.h. Each figure is the median of several rounds; a round times the peak and then the plan, so
 * that a change of the processor's clock meets both. Floating-point operations are those of the products: 8
 * H² a step and row for the recurrence, as many for the inputs, twice both for the gradients. */
#include "bench_lstm.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "ops/recurrent_scan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { ROUNDS = 11, MAX_SIZES = 32, MAX_OUTPUTS = 8 };

typedef enum bench_pass { SCAN, FORWARD, TRAINING, PASSES } bench_pass;
static const char *const pass_names[PASSES] = {"scan", "forward", "training"};

typedef struct bench_size {
    int64_t hidden, batch, steps;
} bench_size;

static const bench_size usual_sizes[] = {{128, 1, 32}, {256, 1, 32}, {512, 1, 32}, {128, 32, 32},
    {256, 32, 32}, {512, 32, 32}, {128, 128, 32}, {256, 128, 32}, {512, 128, 32}};

typedef struct bench_state {
    weft_context *context;
    bench_peak peak;
    bool json;
    bench_size sizes[MAX_SIZES];
    int size_count;
} bench_state;

typedef struct bench_figure {
    double seconds, gflops, peak_gflops;
    weft_plan_info info;
} bench_figure;

static weft_status time_rounds(bench_figure *figure, bench_state *bench, weft_plan *plan, double flops) {
    double peaks[ROUNDS], times[ROUNDS];
    WI_TRY(bench_peak_time(&peaks[0], &bench->peak, bench->context)); /* both compile at their first run */
    for (int i = 0; i < 2; i++) WI_TRY(bench_time_plan(&times[0], plan, 1));
    for (int i = 0; i < ROUNDS; i++) {
        WI_TRY(bench_peak_time(&peaks[i], &bench->peak, bench->context));
        WI_TRY(bench_time_plan(&times[i], plan, 1));
    }
    figure->seconds = bench_median(times, ROUNDS);
    figure->gflops = flops / figure->seconds * 1e-9;
    figure->peak_gflops = bench->peak.flops / bench_median(peaks, ROUNDS) * 1e-9;
    return WEFT_OK;
}

/* Returns the number of outputs, 0 after an error; leaves: x (for the scan: the products), the gradient of y.
 */
static size_t build(
    weft_graph *graph, const bench_size *size, bench_pass pass, weft_tensor **leaves, weft_tensor **outputs) {
    const int64_t width = pass == SCAN ? 4 * size->hidden : size->hidden;
    leaves[0] = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){size->steps, WEFT_BATCH, width});
    leaves[1] = weft_input_shape(
        graph, "slope", WEFT_F32, 3, (const int64_t[]){size->steps, WEFT_BATCH, size->hidden});
    if (pass == SCAN) {
        const wi_scan scan = {.cell = WI_CELL_LSTM,
            .x = leaves[0],
            .w = weft_parameter_shape(graph, "w", weft_init_uniform(-0.05f, 0.05f), 2,
                (const int64_t[]){4 * size->hidden, size->hidden})};
        outputs[0] = wi_recurrent_scan(&scan).y;
        return 1;
    }
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .time_major = true};
    outputs[0] = weft_lstm(leaves[0], size->hidden, &options).y;
    if (pass == FORWARD) return 1;
    weft_tensor *const loss = weft_sum(weft_mul(outputs[0], leaves[1]));
    weft_tensor *wrt[MAX_OUTPUTS] = {leaves[0]};
    const size_t count = 1 + weft_graph_parameter_count(graph);
    for (size_t i = 1; i < count; i++) wrt[i] = weft_graph_parameter(graph, i - 1);
    return weft_gradients(loss, wrt, count, outputs) == WEFT_OK ? count : 0;
}

static weft_status measure(
    bench_figure *figure, bench_state *bench, const bench_size *size, bench_pass pass) {
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *leaves[2], *outputs[MAX_OUTPUTS];
    weft_status status;
    WI_TRY_DONE(weft_graph_create(&graph, bench->context));
    const size_t count = build(graph, size, pass, leaves, outputs);
    WI_TRY_DONE(weft_graph_status(graph));
    WI_TRY_DONE(weft_plan_create(&plan, outputs, count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = size->batch, .inference = pass != TRAINING}));
    WI_TRY_DONE(weft_plan_get_info(plan, &figure->info));
    const int64_t rows = size->steps * size->batch;
    WI_TRY_DONE(bench_fill(plan, leaves[0], (size_t)(rows * size->hidden * (pass == SCAN ? 4 : 1))));
    if (pass == TRAINING) WI_TRY_DONE(bench_fill(plan, leaves[1], (size_t)(rows * size->hidden)));
    const double one = 8.0 * (double)rows * (double)(size->hidden * size->hidden);
    status = time_rounds(figure, bench, plan, one * (pass == SCAN ? 1 : pass == FORWARD ? 2 : 6));
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static void print_figure(
    const bench_state *bench, const bench_size *size, bench_pass pass, const bench_figure *figure) {
    const double share = figure->gflops / figure->peak_gflops;
    if (bench->json)
        printf(
            "{\"hidden\": %lld, \"batch\": %lld, \"steps\": %lld, \"pass\": \"%s\", \"milliseconds\": %.4f, "
            "\"gflops\": %.2f, \"peak_gflops\": %.2f, \"share\": %.4f, \"launches\": %zu, \"arena_bytes\": "
            "%zu}\n",
            (long long)size->hidden, (long long)size->batch, (long long)size->steps, pass_names[pass],
            figure->seconds * 1e3, figure->gflops, figure->peak_gflops, share, figure->info.launches,
            figure->info.arena_bytes);
    else
        printf("%6lld %5lld %5lld  %-8s %12.3f %10.1f %10.1f %6.0f%% %9zu %12.2f\n", (long long)size->hidden,
            (long long)size->batch, (long long)size->steps, pass_names[pass], figure->seconds * 1e3,
            figure->gflops, figure->peak_gflops, 100.0 * share, figure->info.launches,
            (double)figure->info.arena_bytes / (1 << 20));
    fflush(stdout);
}

static weft_status run(bench_state *bench) {
    WI_TRY(bench_peak_create(&bench->peak, bench->context));
    if (!bench->json)
        printf(
            "%s\nhidden batch steps  pass     milliseconds    GFLOP/s       peak   share  launches    arena "
            "MiB\n",
            weft_context_device(bench->context)->name);
    for (int i = 0; i < PASSES * bench->size_count; i++) {
        bench_figure figure = {0};
        const bench_size *size = &bench->sizes[i / PASSES];
        WI_TRY(measure(&figure, bench, size, (bench_pass)(i % PASSES)));
        print_figure(bench, size, (bench_pass)(i % PASSES), &figure);
    }
    return WEFT_OK;
}

static bool parse_size(bench_state *bench, const char *text) {
    long long h, n, t;
    char rest;
    if (bench->size_count == MAX_SIZES || sscanf(text, "%lldx%lldx%lld%c", &h, &n, &t, &rest) != 3)
        return false;
    if (h < 1 || n < 1 || t < 1 || h > 1 << 13 || n > 1 << 13 || t > 1 << 13) return false;
    bench->sizes[bench->size_count++] = (bench_size){h, n, t};
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

int weft_bench_lstm(int argc, char **argv) {
    bench_state bench = {0};
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT};
    if (!parse(&bench, &options, argc, argv)) {
        fprintf(stderr, "usage: weft bench lstm [--json] [--device SELECTOR] [HIDDENxBATCHxSTEPS ...]\n");
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
