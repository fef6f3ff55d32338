/* See bench_gemm.h. Each figure is the median of several rounds; a round times the peak and then the product,
 * so that a change of the processor's clock meets both. Packing and everything else that a product needs is
 * inside its time; products that are shorter than a round are run several times in a row, as in a training
 * step. */
#include "bench_gemm.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "plan/gemm_product.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 11, MAX_SIZES = 32, MAX_REPEATS = 200 };

typedef struct bench_size {
    int64_t m, n, k;
    bool b_turned, a_turned; /* the matrix lies transposed in memory */
} bench_size;

/* Squares, rectangles, and the products of a small network's training step. */
static const bench_size usual_sizes[] = {{512, 512, 512, false, false}, {1024, 1024, 1024, false, false},
    {2048, 2048, 2048, false, false}, {1024, 1024, 1024, true, false}, {1024, 1024, 1024, false, true},
    {128, 128, 128, false, false}, {256, 256, 256, false, false}, {64, 4096, 1024, true, false},
    {4096, 64, 1024, false, false}, {32, 128, 64, true, false}, {32, 10, 128, true, false},
    {32, 128, 10, false, false}, {10, 128, 32, false, true}, {128, 64, 32, false, true}};

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

static weft_status time_product(
    double *seconds, const wi_gemm_product *product, weft_context *context, int repeats) {
    const double begin = wi_clock_seconds();
    for (int i = 0; i < repeats; i++) WI_TRY(wi_gemm_product_run(product, context));
    WI_TRY(wi_queue_finish(context));
    *seconds = (wi_clock_seconds() - begin) / repeats;
    return WEFT_OK;
}

static weft_status time_rounds(
    bench_figure *figure, bench_state *bench, const wi_gemm_product *product, double flops) {
    double peaks[ROUNDS], products[ROUNDS], once = 0.0;
    WI_TRY(bench_peak_time(&peaks[0], &bench->peak, bench->context)); /* both compile at their first run */
    WI_TRY(time_product(&once, product, bench->context, 1));
    WI_TRY(time_product(&once, product, bench->context, 1));
    const double wanted = 0.005 / once;
    const int repeats = wanted > MAX_REPEATS ? MAX_REPEATS : wanted < 1.0 ? 1 : (int)wanted;
    for (int i = 0; i < ROUNDS; i++) {
        WI_TRY(bench_peak_time(&peaks[i], &bench->peak, bench->context));
        WI_TRY(time_product(&products[i], product, bench->context, repeats));
    }
    figure->seconds = bench_median(products, ROUNDS);
    figure->gflops = flops / figure->seconds * 1e-9;
    figure->peak_gflops = bench->peak.flops / bench_median(peaks, ROUNDS) * 1e-9;
    return WEFT_OK;
}

static weft_status fill(wi_buffer *buffer, weft_context *context, int64_t count) {
    float *const values = wi_allocate_array(NULL, (size_t)count, sizeof *values);
    if (!values) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < count; i++) values[i] = (float)(i % 19) / 19.0f - 0.5f;
    weft_status status = wi_buffer_create(buffer, context, (size_t)count * sizeof *values);
    if (status == WEFT_OK)
        status = wi_buffer_write(context, buffer->memory, 0, values, (size_t)count * sizeof *values);
    wi_release(NULL, values);
    return status;
}

static weft_status measure(bench_figure *figure, bench_state *bench, const bench_size *size) {
    const int64_t m = size->m, n = size->n, k = size->k;
    const wi_gemm_shape shape = {1, m, n, k, 0, size->a_turned ? 1 : k, size->a_turned ? m : 1, 0,
        size->b_turned ? 1 : n, size->b_turned ? k : 1, NULL};
    const wi_gemm_implementation *implementation = NULL;
    wi_gemm_product product = {0};
    wi_buffer a = {0}, b = {0}, c = {0};
    weft_status status;
    WI_TRY_DONE(fill(&a, bench->context, m * k));
    WI_TRY_DONE(fill(&b, bench->context, k * n));
    WI_TRY_DONE(wi_buffer_create(&c, bench->context, (size_t)(m * n) * sizeof(float)));
    WI_TRY_DONE(wi_gemm_select(&implementation, bench->context, &shape));
    WI_TRY_DONE(wi_gemm_product_create(&product, bench->context, implementation, &shape,
        &(wi_gemm_operands){.a = a.memory, .b = b.memory, .c = c.memory}, NULL));
    figure->implementation = implementation->name;
    status = time_rounds(figure, bench, &product, 2.0 * (double)m * (double)n * (double)k);
done:
    wi_gemm_product_clear(&product, bench->context);
    wi_buffer_release(&a, bench->context);
    wi_buffer_release(&b, bench->context);
    wi_buffer_release(&c, bench->context);
    return status;
}

static void print_figure(const bench_state *bench, const bench_size *size, const bench_figure *figure) {
    const double share = figure->gflops / figure->peak_gflops;
    if (bench->json)
        printf("{\"m\": %lld, \"n\": %lld, \"k\": %lld, \"a_transposed\": %s, \"b_transposed\": %s,"
               " \"microseconds\": %.2f, \"gflops\": %.2f, \"peak_gflops\": %.2f, \"share\": %.4f,"
               " \"implementation\": \"%s\"}\n",
            (long long)size->m, (long long)size->n, (long long)size->k, size->a_turned ? "true" : "false",
            size->b_turned ? "true" : "false", figure->seconds * 1e6, figure->gflops, figure->peak_gflops,
            share, figure->implementation);
    else
        printf("%6lld %6lld %6lld  %c%c %12.1f %10.1f %10.1f %6.0f%%  %s\n", (long long)size->m,
            (long long)size->n, (long long)size->k, size->a_turned ? 'T' : 'N', size->b_turned ? 'T' : 'N',
            figure->seconds * 1e6, figure->gflops, figure->peak_gflops, 100.0 * share,
            figure->implementation);
    fflush(stdout);
}

static weft_status run(bench_state *bench) {
    WI_TRY(bench_peak_create(&bench->peak, bench->context));
    if (!bench->json)
        printf("%s\n     m      n      k  AB microseconds    GFLOP/s       peak   share  implementation\n",
            weft_context_device(bench->context)->name);
    for (int i = 0; i < bench->size_count; i++) {
        bench_figure figure = {0};
        WI_TRY(measure(&figure, bench, &bench->sizes[i]));
        print_figure(bench, &bench->sizes[i], &figure);
    }
    return WEFT_OK;
}

static bool parse_size(bench_state *bench, const char *text) {
    long long m, n, k;
    char rest;
    if (bench->size_count == MAX_SIZES || sscanf(text, "%lldx%lldx%lld%c", &m, &n, &k, &rest) != 3)
        return false;
    if (m < 1 || n < 1 || k < 1 || m > 1 << 20 || n > 1 << 20 || k > 1 << 20) return false;
    bench->sizes[bench->size_count++] = (bench_size){m, n, k, false, false};
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

int weft_bench_gemm(int argc, char **argv) {
    bench_state bench = {0};
    weft_context_options options = {WEFT_CONTEXT_OPTIONS_INIT};
    if (!parse(&bench, &options, argc, argv)) {
        fprintf(stderr, "usage: weft bench gemm [--json] [--device SELECTOR] [MxNxK ...]\n");
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
