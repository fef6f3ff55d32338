/* See bench_map.h. Every op is a plan of its own over arrays of the same length. A figure is the median of
 * several rounds; a round times the op and then a copy that moves as many bytes, so that whatever else the
 * machine does meets both. What is shorter than a round's time is run several times in a row. */
#include "bench_map.h"
#include "base/median.h"
#include "base/platform.h"
#include "bench_copy.h"
#include "bench_measure.h"
#include "bench_peak.h"
#include "cl/context.h"
#include "ops/op_table.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { ROUNDS = 11, MAX_REPEATS = 400, MAX_NAMES = 64, COLUMNS = 1024, LARGEST = 1 << 28 };

typedef weft_tensor *build_function(weft_tensor *const *x);

typedef struct bench_row {
    const char *op;
    bool takes_bool; /* the first input is a bool, or all are */
    bool only_bool;
    build_function *build;
} bench_row;

/* ---- the rows: all maps of the op table, and reductions ---- */

#define CALL(name, ...)                                                                                      \
    static weft_tensor *build_##name(weft_tensor *const *x) {                                                \
        return weft_##name(__VA_ARGS__);                                                                     \
    }
#define WI_MAP1(name, ...) CALL(name, x[0])
#define WI_MAP2(name, ...) CALL(name, x[0], x[1])
#define WI_MAP3(name, ...) CALL(name, x[0], x[1], x[2])
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
#include "ops/op_list.h"

enum types { NUMERIC, FLOAT, PRECISE, COMPARE, WHERE, LOGIC };
#define MAP_ROW(name, types)      {#name, types == WHERE || types == LOGIC, types == LOGIC, build_##name},
#define WI_MAP1(name, types, ...) MAP_ROW(name, types)
#define WI_MAP2(name, types, ...) MAP_ROW(name, types)
#define WI_MAP3(name, types, ...) MAP_ROW(name, types)
#define WI_NODE(name)
#define WI_FUNCTION_ROW(name)
static const bench_row maps[] = {
#include "ops/op_list.h"
};

CALL(sum, x[0])
static weft_tensor *build_sum_rows(weft_tensor *const *x) {
    return weft_sum(x[0], 1);
}
static weft_tensor *build_sum_columns(weft_tensor *const *x) {
    return weft_sum(x[0], 0);
}
static weft_tensor *build_mean_rows(weft_tensor *const *x) {
    return weft_mean(x[0], 1);
}
static weft_tensor *build_max_rows(weft_tensor *const *x) {
    return weft_max(x[0], 1);
}
static weft_tensor *build_max_columns(weft_tensor *const *x) {
    return weft_max(x[0], 0);
}
static weft_tensor *build_argmax_rows(weft_tensor *const *x) {
    return weft_argmax(x[0], 1);
}
static weft_tensor *build_sum_of_logs(weft_tensor *const *x) {
    return weft_sum(weft_log(x[0]), 1);
}
static weft_tensor *build_sum_of_products(weft_tensor *const *x) {
    return weft_sum(weft_mul(x[0], x[1]), 1);
}
static weft_tensor *build_softmax_rows(weft_tensor *const *x) {
    return weft_softmax(x[0], 1);
}
#define REDUCE_ROW(name) {#name, false, false, build_##name},
static const bench_row reductions[] = {REDUCE_ROW(sum) REDUCE_ROW(sum_rows) REDUCE_ROW(sum_columns)
        REDUCE_ROW(mean_rows) REDUCE_ROW(max_rows) REDUCE_ROW(max_columns) REDUCE_ROW(argmax_rows)
            REDUCE_ROW(sum_of_logs) REDUCE_ROW(sum_of_products) REDUCE_ROW(softmax_rows)};

typedef struct bench {
    weft_context *context;
    bool json;
    int64_t elements; /* 0: the two usual lengths */
    const char *names[MAX_NAMES];
    int name_count;
    bench_copy copy;
} bench;

/* ---- measuring ---- */

/* plan NULL: the copy. */
static weft_status time_runs(double *seconds, bench *b, weft_plan *plan, int repeats) {
    const double begin = wi_clock_seconds();
    for (int i = 0; i < repeats; i++)
        WI_TRY(plan ? weft_plan_run(plan) : wi_launch_run(&b->copy.launch, wi_context_device(b->context)));
    WI_TRY(wi_queue_finish(wi_context_device(b->context)));
    *seconds = (wi_clock_seconds() - begin) / repeats;
    return WEFT_OK;
}

typedef struct figure {
    double seconds, bytes, gbytes, copy_gbytes;
} figure;

static weft_status time_rounds(figure *f, bench *b, weft_plan *plan) {
    weft_plan_info info;
    double ops[ROUNDS], copies[ROUNDS], copied, once = 0;
    WI_TRY(weft_plan_get_info(plan, &info));
    WI_TRY(bench_copy_size(&b->copy, b->context, info.bytes_moved, &copied));
    for (int i = 0; i < 3; i++) { /* both compile at their first run */
        WI_TRY(time_runs(&once, b, NULL, 1));
        WI_TRY(time_runs(&once, b, plan, 1));
    }
    const double wanted = 0.01 / once;
    const int repeats = wanted > MAX_REPEATS ? MAX_REPEATS : wanted < 1 ? 1 : (int)wanted;
    for (int i = 0; i < ROUNDS; i++) {
        WI_TRY(time_runs(&copies[i], b, NULL, repeats));
        WI_TRY(time_runs(&ops[i], b, plan, repeats));
    }
    f->seconds = wi_median(ops, ROUNDS);
    f->bytes = info.bytes_moved;
    f->gbytes = f->bytes / f->seconds * 1e-9;
    f->copy_gbytes = copied / wi_median(copies, ROUNDS) * 1e-9;
    return WEFT_OK;
}

/* Numbers that every op takes: in 0.1 .. 0.9, the second input in 0.6 .. 1.4; bools are 1. */
static weft_status fill(weft_plan *plan, weft_tensor *input, int which, int64_t elements) {
    const size_t size = weft_dtype_size(weft_tensor_dtype(input));
    unsigned char *const data = wi_allocate_array(NULL, (size_t)elements, size);
    if (!data) return WEFT_ERROR_MEMORY;
    for (int64_t i = 0; i < elements; i++) {
        const float part = 0.8f * (float)(i * 7919 % 10007) / 10007.0f,
                    number = part + (which == 1 ? 0.6f : 0.1f);
        if (size == 1)
            data[i] = 1;
        else
            memcpy(data + (size_t)i * size, &number, sizeof number);
    }
    const weft_status status = weft_plan_write(plan, input, data, (size_t)elements * size);
    wi_release(NULL, data);
    return status;
}

static weft_status measure(figure *f, bench *b, const bench_row *row, int64_t elements) {
    const int64_t dims[] = {elements / COLUMNS, COLUMNS};
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *x[3], *y;
    weft_status status;
    WI_TRY_DONE(weft_graph_create(&graph, b->context));
    for (int i = 0; i < 3; i++) {
        const bool is_bool = row->only_bool || (row->takes_bool && i == 0);
        x[i] = weft_input_shape(graph, "x", is_bool ? WEFT_BOOL : WEFT_F32, 2, dims);
    }
    y = row->build(x);
    WI_TRY_DONE(weft_graph_status(graph));
    WI_TRY_DONE(weft_plan_create(&plan, &y, 1, NULL));
    for (int i = 0; i < 3 && i < (y->op->kind == WI_MAP ? y->input_count : 1); i++)
        WI_TRY_DONE(fill(plan, x[i], i, elements));
    if (strcmp(row->op, "sum_of_products") == 0) WI_TRY_DONE(fill(plan, x[1], 1, elements));
    status = time_rounds(f, b, plan);
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

/* ---- output and options ---- */

static void print_figure(const bench *b, const char *op, int64_t elements, const figure *f) {
    const double share = f->gbytes / f->copy_gbytes;
    printf(b->json ? "{\"op\": \"%s\", \"elements\": %lld, \"microseconds\": %.2f, \"bytes\": %.0f, "
                     "\"gbytes_s\": %.2f,"
                     " \"copy_gbytes_s\": %.2f, \"share\": %.4f}\n"
                   : "%-16s %10lld %12.1f %12.0f %8.1f %8.1f %8.2f\n",
        op, (long long)elements, f->seconds * 1e6, f->bytes, f->gbytes, f->copy_gbytes, share);
    fflush(stdout);
}

static bool is_asked(const bench *b, const char *op) {
    for (int i = 0; i < b->name_count; i++)
        if (strcmp(b->names[i], op) == 0) return true;
    return b->name_count == 0;
}

static weft_status run(bench *b, const bench_row *rows, size_t count) {
    const int64_t usual[] = {1 << 24, 1 << 17};
    const int64_t longest = b->elements ? b->elements : usual[0];
    WI_TRY(bench_copy_create(&b->copy, b->context, (size_t)longest * 2 * sizeof(float)));
    if (!b->json)
        printf("%s\n%-16s %10s %12s %12s %8s %8s %8s\n", weft_context_device(b->context)->name, "op",
            "elements", "microseconds", "bytes", "GB/s", "copy", "share");
    for (int k = 0; k < (b->elements ? 1 : 2); k++) {
        const int64_t elements = b->elements ? b->elements : usual[k];
        for (size_t i = 0; i < count; i++) {
            figure f = {0};
            if (!is_asked(b, rows[i].op)) continue;
            WI_TRY(measure(&f, b, &rows[i], elements));
            print_figure(b, rows[i].op, elements, &f);
        }
    }
    return WEFT_OK;
}

static bool is_row(const bench_row *rows, size_t count, const char *op) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].op, op) == 0) return true;
    return false;
}

/* NULL, or the argument that cannot be taken. */
static const char *parse(
    bench *b, weft_context_options *options, const bench_row *rows, size_t count, int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (bench_take_option(argc, argv, &i, &b->json, options)) continue;
        if (strcmp(argv[i], "--elements") == 0 && i + 1 < argc) {
            char *end;
            b->elements = strtoll(argv[++i], &end, 10);
            if (*end || b->elements < COLUMNS || b->elements > LARGEST || b->elements % COLUMNS)
                return argv[i];
        } else if (b->name_count < MAX_NAMES && is_row(rows, count, argv[i])) {
            b->names[b->name_count++] = argv[i];
        } else {
            return argv[i];
        }
    }
    return NULL;
}

static void print_usage(FILE *to, const char *what) {
    fprintf(to, "usage: weft bench %s [--json] [--device SEL] [--elements N (a multiple of %d)] [OP]...\n",
        what, COLUMNS);
}

static int print_help(const char *what, const bench_row *rows, size_t count) {
    print_usage(stdout, what);
    printf("Measures ops; 'share' is their speed divided by that of a copy of as many bytes. The ops:\n");
    for (size_t i = 0; i < count; i++) printf("%s%s", rows[i].op, i + 1 == count || i % 8 == 7 ? "\n" : " ");
    return 0;
}

static int bench_rows(const char *what, const bench_row *rows, size_t count, int argc, char **argv) {
    bench b = {0};
    weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT};
    if (argc == 1 && strcmp(argv[0], "--help") == 0) return print_help(what, rows, count);
    const char *const bad = parse(&b, &options, rows, count, argc, argv);
    if (bad) {
        fprintf(stderr, "weft: cannot take '%s'; ", bad);
        print_usage(stderr, what);
        return 2;
    }
    weft_status status = weft_context_create(&b.context, &options);
    if (status == WEFT_OK) {
        status = run(&b, rows, count);
        bench_copy_clear(&b.copy, b.context);
    }
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(b.context);
    return status != WEFT_OK;
}

int weft_bench_map(int argc, char **argv) {
    return bench_rows("map", maps, sizeof maps / sizeof *maps, argc, argv);
}

int weft_bench_reduce(int argc, char **argv) {
    return bench_rows("reduce", reductions, sizeof reductions / sizeof *reductions, argc, argv);
}
