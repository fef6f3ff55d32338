/* See bench_sizes.h. */
#include "bench_sizes.h"
#include "base/median.h"
#include "base/platform.h"
#include "bench_measure.h"
#include "cl/context.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 11, MOST_SIZES = 32, MOST_REPEATS = 200 };

static const double WARM_SECONDS = 1.5;

typedef struct size_list {
    int64_t n[MOST_SIZES][BENCH_NUMBERS];
    int count;
} size_list;

typedef weft_status timing(double *seconds, void *work, weft_context *context, int repeats);

static weft_status run_rounds(
    bench_figure *figure, const bench_state *bench, timing *time, void *work, double flops) {
    double peaks[ROUNDS + 1], times[ROUNDS], shares[ROUNDS], once = 0.0;
    WI_TRY(bench_peak_time(&peaks[0], &bench->peak, bench->context)); /* both compile at their first run */
    for (int i = 0; i < 2; i++) WI_TRY(time(&once, work, bench->context, 1));
    const double wanted = 0.005 / once;
    const int repeats = wanted > MOST_REPEATS ? MOST_REPEATS : wanted < 1.0 ? 1 : (int)wanted;
    WI_TRY(bench_peak_time(&peaks[0], &bench->peak, bench->context));
    for (int i = 0; i < ROUNDS; i++) {
        WI_TRY(time(&times[i], work, bench->context, repeats));
        WI_TRY(bench_peak_time(&peaks[i + 1], &bench->peak, bench->context));
        shares[i] = flops / times[i] * (peaks[i] + peaks[i + 1]) / 2.0 / bench->peak.flops;
    }
    figure->seconds = wi_median(times, ROUNDS);
    figure->gflops = flops / figure->seconds * 1e-9;
    figure->peak_gflops = bench->peak.flops / wi_median(peaks, ROUNDS + 1) * 1e-9;
    figure->share = wi_median(shares, ROUNDS);
    return WEFT_OK;
}

static weft_status time_plan(double *seconds, void *work, weft_context *context, int repeats) {
    (void)context;
    return bench_time_plan(seconds, work, repeats);
}

weft_status bench_plan_rounds(bench_figure *figure, const bench_state *bench, weft_plan *plan, double flops) {
    return run_rounds(figure, bench, time_plan, plan, flops);
}

static weft_status time_product(double *seconds, void *work, weft_context *context, int repeats) {
    const double begin = wi_clock_seconds();
    for (int i = 0; i < repeats; i++) WI_TRY(wi_gemm_product_run(work));
    WI_TRY(wi_queue_finish(wi_context_device(context)));
    *seconds = (wi_clock_seconds() - begin) / repeats;
    return WEFT_OK;
}

weft_status bench_product_rounds(
    bench_figure *figure, const bench_state *bench, wi_gemm_product *product, double flops) {
    return run_rounds(figure, bench, time_product, product, flops);
}

/* "16x56x64": whole numbers from 1 to 2^20, and what the op lets stand behind a colon. */
static bool parse_size(const bench_op *op, size_list *sizes, const char *text) {
    if (sizes->count == MOST_SIZES) return false;
    int64_t *const n = sizes->n[sizes->count];
    int count = 0;
    const char *at = text;
    for (;; at++) {
        char *end;
        if (count == op->most || *at < '1' || *at > '9') return false;
        n[count] = strtoll(at, &end, 10);
        if (n[count++] > 1 << 20) return false;
        at = end;
        if (*at != 'x') break;
    }
    if (*at == ':' ? !op->suffix || !op->suffix(n, at + 1) : *at != '\0') return false;
    if (count < op->least || (op->fits && !op->fits(n))) return false;
    sizes->count++;
    return true;
}

static bool parse_precision(weft_dtype *precision, const char *name) {
    static const weft_dtype taken[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        *precision = taken[i];
        if (strcmp(weft_dtype_name(taken[i]), name) == 0) return true;
    }
    return false;
}

static bool parse_products(weft_matmul_precision *products, const char *name) {
    static const char *const names[] = {[WEFT_MATMUL_PRECISION_HIGHEST] = "highest",
        [WEFT_MATMUL_PRECISION_HIGH] = "high",
        [WEFT_MATMUL_PRECISION_MEDIUM] = "medium"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *products = (weft_matmul_precision)i;
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

/* NULL, or the argument that cannot be taken. */
static const char *parse(const bench_op *op, bench_state *bench, size_list *sizes,
    weft_context_options *options, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (bench_take_option(argc, argv, &i, &bench->json, options)) continue;
        if (op->flag && strcmp(argv[i], op->flag) == 0)
            bench->flag = true;
        else if (op->precisions && strcmp(argv[i], "--precision") == 0 && i + 1 < argc) {
            if (!parse_precision(&bench->precision, argv[++i])) return argv[i];
        } else if (op->products && strcmp(argv[i], "--matmul-precision") == 0 && i + 1 < argc) {
            if (!parse_products(&bench->products, argv[++i])) return argv[i];
        } else if (!parse_size(op, sizes, argv[i]))
            return argv[i];
    }
    if (sizes->count > 0) return NULL;
    sizes->count = op->usual_count;
    memcpy(sizes->n, op->usual, (size_t)op->usual_count * sizeof *op->usual);
    return NULL;
}

static void print_usage(FILE *to, const bench_op *op) {
    fprintf(to, "usage: weft bench %s [--json]%s%s%s%s%s [--device SEL] [%s]...\n", op->name,
        op->flag ? " [" : "", op->flag ? op->flag : "", op->flag ? "]" : "",
        op->precisions ? " [--precision f32|f16|bf16]" : "",
        op->products ? " [--matmul-precision highest|high|medium]" : "", op->numbers);
}

static int print_help(const bench_op *op) {
    print_usage(stdout, op);
    printf("Measures the given sizes, by default %d usual ones; times are medians of %d rounds.\n'peak' is "
           "the speed of the device's arithmetic%s, measured in the same rounds;\n'share' is the speed "
           "divided by this peak.\n",
        op->usual_count, ROUNDS, op->precisions ? " (bf16: of its matrix engine if it has one)" : "");
    return 0;
}

/* A virtual machine's host gives a second core, and a processor its clock, only under load: after a second
 * of it where this was written. */
static weft_status warm_up(const bench_state *bench) {
    const double begin = wi_clock_seconds();
    double seconds;
    do WI_TRY(bench_peak_time(&seconds, &bench->peak, bench->context));
    while (wi_clock_seconds() - begin < WARM_SECONDS);
    return WEFT_OK;
}

static weft_status run(const bench_op *op, bench_state *bench, const size_list *sizes) {
    WI_TRY(bench_peak_create(&bench->peak, bench->context, bench->precision == WEFT_BF16));
    WI_TRY(warm_up(bench));
    if (!bench->json) printf("%s\n%s\n", weft_context_device(bench->context)->name, op->header);
    for (int i = 0; i < op->passes * sizes->count; i++) {
        WI_TRY(op->measure(bench, sizes->n[i / op->passes], i % op->passes));
        fflush(stdout);
    }
    return WEFT_OK;
}

int bench_sizes(const bench_op *op, int argc, char **argv) {
    bench_state bench = {0};
    size_list sizes = {0};
    weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return print_help(op);
    const char *const bad = parse(op, &bench, &sizes, &options, argc, argv);
    if (bad) {
        fprintf(stderr, "weft: cannot take '%s'; ", bad);
        print_usage(stderr, op);
        return 2;
    }
    weft_status status = weft_context_create(&bench.context, &options);
    if (status == WEFT_OK) {
        status = run(op, &bench, &sizes);
        bench_peak_clear(&bench.peak, bench.context);
    }
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(bench.context);
    return status != WEFT_OK;
}
