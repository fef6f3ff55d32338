/* See bench_lstm.h. Floating-point operations are those of the products: 8 H² a step and row for the
 * recurrence, as many for the inputs, twice both for the gradients. */
#include "bench_lstm.h"
#include "bench_measure.h"
#include "bench_sizes.h"
#include "ops/recurrent/recurrent_scan.h"
#include <stdio.h>
#include <weft/weft.h>

enum { MAX_OUTPUTS = 8 };

typedef enum bench_pass { SCAN, FORWARD, TRAINING, PASSES } bench_pass;
static const char *const pass_names[PASSES] = {"scan", "forward", "training"};

typedef struct lstm_size {
    int64_t hidden, batch, steps;
} lstm_size;

static const int64_t usual_sizes[][BENCH_NUMBERS] = {{128, 1, 32}, {256, 1, 32}, {512, 1, 32}, {128, 32, 32},
    {256, 32, 32}, {512, 32, 32}, {128, 128, 32}, {256, 128, 32}, {512, 128, 32}};

/* Returns the number of outputs, 0 after an error; sources: x (for the scan: the products), the gradient of y.
 */
static size_t build(
    weft_graph *graph, const lstm_size *size, bench_pass pass, weft_tensor **sources, weft_tensor **outputs) {
    const int64_t width = pass == SCAN ? 4 * size->hidden : size->hidden;
    sources[0] = weft_input_shape(graph, "x", WEFT_F32, 3, (const int64_t[]){size->steps, WEFT_BATCH, width});
    sources[1] = weft_input_shape(
        graph, "slope", WEFT_F32, 3, (const int64_t[]){size->steps, WEFT_BATCH, size->hidden});
    if (pass == SCAN) {
        const wi_scan scan = {.cell = WI_CELL_LSTM,
            .x = sources[0],
            .w = weft_parameter_shape(graph, "w", weft_init_uniform(-0.05f, 0.05f), 2,
                (const int64_t[]){4 * size->hidden, size->hidden})};
        outputs[0] = wi_recurrent_scan(&scan).y;
        return 1;
    }
    const weft_recurrent_options options = {WEFT_RECURRENT_OPTIONS_INIT, .time_major = true};
    outputs[0] = weft_lstm(sources[0], size->hidden, &options).y;
    if (pass == FORWARD) return 1;
    weft_tensor *const loss = weft_sum(weft_mul(outputs[0], sources[1]));
    weft_tensor *wrt[MAX_OUTPUTS] = {sources[0]};
    const size_t count = 1 + weft_graph_parameter_count(graph);
    for (size_t i = 1; i < count; i++) wrt[i] = weft_graph_parameter(graph, i - 1);
    return weft_gradients(loss, wrt, count, outputs) == WEFT_OK ? count : 0;
}

static void print_figure(const bench_state *bench, const lstm_size *size, bench_pass pass,
    const bench_figure *figure, const weft_plan_info *info) {
    if (bench->json)
        printf(
            "{\"hidden\": %lld, \"batch\": %lld, \"steps\": %lld, \"pass\": \"%s\", \"milliseconds\": %.4f, "
            "\"gflops\": %.2f, \"peak_gflops\": %.2f, \"share\": %.4f, \"launches\": %zu, \"arena_bytes\": "
            "%zu}\n",
            (long long)size->hidden, (long long)size->batch, (long long)size->steps, pass_names[pass],
            figure->seconds * 1e3, figure->gflops, figure->peak_gflops, figure->share, info->launches,
            info->arena_bytes);
    else
        printf("%6lld %5lld %5lld  %-8s %12.3f %10.1f %10.1f %6.0f%% %9zu %12.2f\n", (long long)size->hidden,
            (long long)size->batch, (long long)size->steps, pass_names[pass], figure->seconds * 1e3,
            figure->gflops, figure->peak_gflops, 100.0 * figure->share, info->launches,
            (double)info->arena_bytes / (1 << 20));
}

static weft_status measure(bench_state *bench, const int64_t *n, int which) {
    const lstm_size given = {n[0], n[1], n[2]}, *const size = &given;
    const bench_pass pass = (bench_pass)which;
    bench_figure figure;
    weft_plan_info info;
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *sources[2], *outputs[MAX_OUTPUTS];
    weft_status status;
    WI_TRY_DONE(weft_graph_create(&graph, bench->context));
    const size_t count = build(graph, size, pass, sources, outputs);
    WI_TRY_DONE(weft_graph_status(graph));
    WI_TRY_DONE(weft_plan_create(&plan, outputs, count,
        &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = size->batch, .inference = pass != TRAINING}));
    WI_TRY_DONE(weft_plan_get_info(plan, &info));
    const int64_t rows = size->steps * size->batch;
    WI_TRY_DONE(bench_fill(plan, sources[0], (size_t)(rows * size->hidden * (pass == SCAN ? 4 : 1))));
    if (pass == TRAINING) WI_TRY_DONE(bench_fill(plan, sources[1], (size_t)(rows * size->hidden)));
    const double one = 8.0 * (double)rows * (double)(size->hidden * size->hidden);
    WI_TRY_DONE(bench_plan_rounds(&figure, bench, plan, one * (pass == SCAN ? 1 : pass == FORWARD ? 2 : 6)));
    print_figure(bench, size, pass, &figure, &info);
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

static bool fits(int64_t *n) {
    return n[0] <= 1 << 13 && n[1] <= 1 << 13 && n[2] <= 1 << 13;
}

static const bench_op op = {.name = "lstm",
    .numbers = "HIDDENxBATCHxSTEPS",
    .header =
        "hidden batch steps  pass     milliseconds    GFLOP/s       peak   share  launches    arena MiB",
    .usual = usual_sizes,
    .usual_count = sizeof usual_sizes / sizeof *usual_sizes,
    .passes = PASSES,
    .least = 3,
    .most = 3,
    .fits = fits,
    .measure = measure};

int weft_bench_lstm(int argc, char **argv) {
    return bench_sizes(&op, argc, argv);
}
