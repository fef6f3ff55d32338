/* See bench_attention.h. --precision bf16: a graph in mixed precision. Forward is weft_attention alone; training adds the gradients of q, k and v for a
 * given gradient of the result. Floating-point operations are those of the definition, 4 L² d forward and
 * twice that backward for each head (half with --causal), not those computed again. */
#include "bench_attention.h"
#include "bench_measure.h"
#include "bench_sizes.h"
#include <stdio.h>
#include <weft/weft.h>

enum { SOURCES = 4 };

typedef struct attention_size {
    int64_t batch, heads, length, width;
} attention_size;

static const int64_t usual_sizes[][BENCH_NUMBERS] = {
    {1, 8, 1024, 64}, {4, 8, 1024, 64}, {1, 8, 256, 64}, {1, 8, 1024, 128}, {32, 4, 64, 32}};

/* outputs: y, or the gradients of q, k and v. Returns their number; sources: q, k, v, the gradient of y. */
static size_t build(const bench_state *bench, const attention_size *size, weft_graph *graph, bool training,
    weft_tensor **sources, weft_tensor **outputs) {
    static const char *const names[SOURCES] = {"q", "k", "v", "slope"};
    for (int i = 0; i < SOURCES; i++)
        sources[i] = weft_input_shape(graph, names[i], WEFT_F32, 4,
            (const int64_t[]){WEFT_BATCH, size->heads, size->length, size->width});
    outputs[0] = weft_attention(sources[0], sources[1], sources[2],
        &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .causal = bench->flag});
    if (!training) return 1;
    weft_tensor *const loss = weft_sum(weft_mul(outputs[0], sources[3]));
    return weft_gradients(loss, sources, 3, outputs) == WEFT_OK ? 3 : 0;
}

static void print_figure(const bench_state *bench, const attention_size *size, bool training,
    const bench_figure *figure, size_t arena_bytes) {
    const char *const pass = training ? "training" : "forward";
    if (bench->json)
        printf("{\"precision\": \"%s\", \"batch\": %lld, \"heads\": %lld, \"length\": %lld, \"width\": %lld, "
               "\"causal\": %s, \"pass\": "
               "\"%s\", \"milliseconds\": %.3f, \"gflops\": %.2f, \"peak_gflops\": %.2f, \"share\": %.4f, "
               "\"arena_bytes\": %zu}\n",
            weft_dtype_name(bench->precision), (long long)size->batch, (long long)size->heads,
            (long long)size->length, (long long)size->width, bench->flag ? "true" : "false", pass,
            figure->seconds * 1e3, figure->gflops, figure->peak_gflops, figure->share, arena_bytes);
    else
        printf("%5lld %5lld %6lld %5lld  %-8s %12.2f %10.1f %10.1f %6.0f%% %12.2f\n", (long long)size->batch,
            (long long)size->heads, (long long)size->length, (long long)size->width, pass,
            figure->seconds * 1e3, figure->gflops, figure->peak_gflops, 100.0 * figure->share,
            (double)arena_bytes / (1 << 20));
}

static weft_status measure(bench_state *bench, const int64_t *n, int training) {
    const attention_size given = {n[0], n[1], n[2], n[3]}, *const size = &given;
    bench_figure figure;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *sources[SOURCES], *outputs[SOURCES];
    weft_plan_info info;
    weft_status status;
    WI_TRY_DONE(weft_graph_create(&graph, bench->context));
    if (bench->precision == WEFT_BF16) WI_TRY_DONE(weft_graph_set_precision(graph, WEFT_PRECISION_BF16));
    const size_t count = build(bench, size, graph, training, sources, outputs);
    WI_TRY_DONE(weft_graph_status(graph));
    WI_TRY_DONE(weft_plan_create(&plan, outputs, count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = size->batch, .inference = !training}));
    WI_TRY_DONE(weft_plan_get_info(plan, &info));
    for (int i = 0; i < (training ? SOURCES : 3); i++)
        WI_TRY_DONE(
            bench_fill(plan, sources[i], (size_t)(size->batch * size->heads * size->length * size->width)));
    const double scores = (double)(size->batch * size->heads * size->length * size->length);
    const double flops = scores * (double)size->width * (training ? 12.0 : 4.0) * (bench->flag ? 0.5 : 1.0);
    WI_TRY_DONE(bench_plan_rounds(&figure, bench, plan, flops));
    print_figure(bench, size, training, &figure, info.arena_bytes);
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static bool fits(int64_t *n) {
    return n[0] <= 4096 && n[1] <= 4096 && n[3] <= 4096;
}

static const bench_op op = {.name = "attention",
    .numbers = "BATCHxHEADSxLENGTHxWIDTH",
    .flag = "--causal",
    .precisions = true,
    .header = "batch heads length width  pass     milliseconds    GFLOP/s       peak   share    arena MiB",
    .usual = usual_sizes,
    .usual_count = sizeof usual_sizes / sizeof *usual_sizes,
    .passes = 2,
    .least = 4,
    .most = 4,
    .fits = fits,
    .measure = measure};

int weft_bench_attention(int argc, char **argv) {
    return bench_sizes(&op, argc, argv);
}
