/* See bench_attention.h. Each figure is the median of several rounds; a round times the peak and then the
 * plan, so that a change of the processor's clock meets both. Forward is weft_attention alone; training adds
 * the gradients of q, k and v for a given gradient of the result. Floating-point operations are those of the
 * definition, 4 L² d forward and twice that backward for each head (half with --causal), not those computed
 * again. */
#include "bench_attention.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "graph/nodes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { ROUNDS = 11, MAX_SIZES = 16, LEAVES = 4 };

typedef struct bench_size {
    int64_t batch, heads, length, width;
} bench_size;

static const bench_size usual_sizes[] = {
    {1, 8, 1024, 64}, {4, 8, 1024, 64}, {1, 8, 256, 64}, {1, 8, 1024, 128}, {32, 4, 64, 32}};

typedef struct bench_state {
    weft_context *context;
    bench_peak peak;
    bool json, causal;
    bench_size sizes[MAX_SIZES];
    int size_count;
} bench_state;

typedef struct bench_figure {
    double seconds, gflops, peak_gflops;
    size_t arena_bytes;
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

/* outputs: y, or the gradients of q, k and v. Returns their number; leaves: q, k, v, the gradient of y. */
static size_t build(const bench_state *bench, const bench_size *size, weft_graph *graph, bool training,
    weft_tensor **leaves, weft_tensor **outputs) {
    static const char *const names[LEAVES] = {"q", "k", "v", "slope"};
    for (int i = 0; i < LEAVES; i++)
        leaves[i] = weft_input_shape(graph, names[i], WEFT_F32, 4,
            (const int64_t[]){WEFT_BATCH, size->heads, size->length, size->width});
    outputs[0] = weft_attention(leaves[0], leaves[1], leaves[2],
        &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .causal = bench->causal});
    if (!training) return 1;
    weft_tensor *const loss = weft_sum(weft_mul(outputs[0], leaves[3]));
    return weft_gradients(loss, leaves, 3, outputs) == WEFT_OK ? 3 : 0;
}

static weft_status measure(bench_figure *figure, bench_state *bench, const bench_size *size, bool training) {
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *leaves[LEAVES], *outputs[LEAVES];
    weft_plan_info info;
    weft_status status;
    WI_TRY_DONE(weft_graph_create(&graph, bench->context));
    const size_t count = build(bench, size, graph, training, leaves, outputs);
    WI_TRY_DONE(weft_graph_status(graph));
    WI_TRY_DONE(weft_plan_create(&plan, outputs, count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = size->batch, .inference = !training}));
    WI_TRY_DONE(weft_plan_get_info(plan, &info));
    for (int i = 0; i < (training ? LEAVES : 3); i++)
        WI_TRY_DONE(
            bench_fill(plan, leaves[i], (size_t)(size->batch * size->heads * size->length * size->width)));
    const double scores = (double)(size->batch * size->heads * size->length * size->length);
    const double flops = scores * (double)size->width * (training ? 12.0 : 4.0) * (bench->causal ? 0.5 : 1.0);
    status = time_rounds(figure, bench, plan, flops);
    figure->arena_bytes = info.arena_bytes;
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static void print_figure(
    const bench_state *bench, const bench_size *size, bool training, const bench_figure *figure) {
    const double share = figure->gflops / figure->peak_gflops;
    const char *const pass = training ? "training" : "forward";
    if (bench->json)
        printf(
            "{\"batch\": %lld, \"heads\": %lld, \"length\": %lld, \"width\": %lld, \"causal\": %s, \"pass\": "
            "\"%s\", \"milliseconds\": %.3f, \"gflops\": %.2f, \"peak_gflops\": %.2f, \"share\": %.4f, "
            "\"arena_bytes\": %zu}\n",
            (long long)size->batch, (long long)size->heads, (long long)size->length, (long long)size->width,
            bench->causal ? "true" : "false", pass, figure->seconds * 1e3, figure->gflops,
            figure->peak_gflops, share, figure->arena_bytes);
    else
        printf("%5lld %5lld %6lld %5lld  %-8s %12.2f %10.1f %10.1f %6.0f%% %12.2f\n", (long long)size->batch,
            (long long)size->heads, (long long)size->length, (long long)size->width, pass,
            figure->seconds * 1e3, figure->gflops, figure->peak_gflops, 100.0 * share,
            (double)figure->arena_bytes / (1 << 20));
    fflush(stdout);
}

static weft_status run(bench_state *bench) {
    WI_TRY(bench_peak_create(&bench->peak, bench->context));
    if (!bench->json)
        printf("%s\nbatch heads length width  pass     milliseconds    GFLOP/s       peak   share    arena "
               "MiB\n",
            weft_context_device(bench->context)->name);
    for (int i = 0; i < 2 * bench->size_count; i++) {
        bench_figure figure = {0};
        WI_TRY(measure(&figure, bench, &bench->sizes[i / 2], i % 2));
        print_figure(bench, &bench->sizes[i / 2], i % 2, &figure);
    }
    return WEFT_OK;
}

static bool parse_size(bench_state *bench, const char *text) {
    long long b, h, l, d;
    char rest;
    if (bench->size_count == MAX_SIZES || sscanf(text, "%lldx%lldx%lldx%lld%c", &b, &h, &l, &d, &rest) != 4)
        return false;
    if (b < 1 || h < 1 || l < 1 || d < 1 || b > 4096 || h > 4096 || l > 1 << 20 || d > 1 << 12) return false;
    bench->sizes[bench->size_count++] = (bench_size){b, h, l, d};
    return true;
}

static bool parse(bench_state *bench, weft_context_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (bench_take_option(argc, argv, &i, &bench->json, options)) continue;
        if (strcmp(argv[i], "--causal") == 0)
            bench->causal = true;
        else if (!parse_size(bench, argv[i]))
            return false;
    }
    if (bench->size_count > 0) return true;
    bench->size_count = (int)(sizeof usual_sizes / sizeof *usual_sizes);
    memcpy(bench->sizes, usual_sizes, sizeof usual_sizes);
    return true;
}

int weft_bench_attention(int argc, char **argv) {
    bench_state bench = {0};
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT};
    if (!parse(&bench, &options, argc, argv)) {
        fprintf(stderr, "usage: weft bench attention [--json] [--causal] [--device SELECTOR]"
                        " [BATCHxHEADSxLENGTHxWIDTH ...]\n");
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
