/* weft check (contract in check.h): first some expressions over two matrices and the same in double on the
 * host, of odd sizes, as tails are where kernels go wrong; then every op, format by format. */
#include "check.h"
#include "base/platform.h"
#include "check_recorded.h"
#include "check_report.h"
#include "cl/context.h"
#include "cl/disk_cache.h"
#include "cl/findings.h"
#include "console.h"
#include "in_child.h"
#include "progress.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

static const weft_dtype formats[CHECK_FORMATS] = {WEFT_F32, WEFT_BF16, WEFT_F16, WEFT_F64};

enum { ROWS = 37, COLUMNS = 67, SIZE = ROWS * COLUMNS, MOST = SIZE };

typedef struct check_case {
    const char *name;
    weft_tensor *(*build)(weft_tensor *a, weft_tensor *b);
    void (*reference)(const float *a, const float *b, double *result);
    size_t count; /* of results */
    double tolerance;
} check_case;

/* ---- elementwise: (ROWS, COLUMNS), a and b in -2..2 ---- */

#define ELEMENTWISE(name, expression, value)                                                                 \
    static weft_tensor *build_##name(weft_tensor *a, weft_tensor *b) {                                       \
        (void)b;                                                                                             \
        return expression;                                                                                   \
    }                                                                                                        \
    static void host_##name(const float *as, const float *bs, double *result) {                              \
        for (size_t i = 0; i < SIZE; i++) {                                                                  \
            const double a = (double)as[i], b = (double)bs[i];                                               \
            (void)b;                                                                                         \
            result[i] = value;                                                                               \
        }                                                                                                    \
    }

ELEMENTWISE(add, weft_add(a, b), a + b)
ELEMENTWISE(sub, weft_sub(a, b), a - b)
ELEMENTWISE(mul, weft_mul(a, b), a *b)
ELEMENTWISE(div, weft_div(a, weft_add(weft_square(b), weft_number(b, 1.0))), a / (b * b + 1.0))
ELEMENTWISE(maximum, weft_maximum(a, b), fmax(a, b))
ELEMENTWISE(where, weft_where(weft_less(a, b), a, weft_neg(b)), a < b ? a : -b)
ELEMENTWISE(exp, weft_exp(a), exp(a))
ELEMENTWISE(log, weft_log(weft_add(weft_square(a), weft_number(a, 0.5))), log(a *a + 0.5))
ELEMENTWISE(sqrt, weft_sqrt(weft_square(a)), fabs(a))
ELEMENTWISE(tanh, weft_tanh(a), tanh(a))
ELEMENTWISE(sigmoid, weft_sigmoid(a), 1.0 / (1.0 + exp(-a)))
ELEMENTWISE(relu, weft_relu(a), fmax(a, 0.0))

/* ---- reductions and products ---- */

static weft_tensor *build_sum(weft_tensor *a, weft_tensor *b) {
    return weft_sum(weft_mul(a, b), 1);
}
static void host_sum(const float *a, const float *b, double *result) {
    for (size_t r = 0; r < ROWS; r++) {
        result[r] = 0.0;
        for (size_t c = 0; c < COLUMNS; c++)
            result[r] += (double)a[r * COLUMNS + c] * (double)b[r * COLUMNS + c];
    }
}

static weft_tensor *build_mean(weft_tensor *a, weft_tensor *b) {
    (void)b;
    return weft_mean(a, 0);
}
static void host_mean(const float *a, const float *b, double *result) {
    (void)b;
    for (size_t c = 0; c < COLUMNS; c++) {
        result[c] = 0.0;
        for (size_t r = 0; r < ROWS; r++) result[c] += (double)a[r * COLUMNS + c] / ROWS;
    }
}

static size_t row_argmax(const float *row) {
    size_t best = 0;
    for (size_t c = 1; c < COLUMNS; c++)
        if (row[c] > row[best]) best = c;
    return best;
}

static weft_tensor *build_max(weft_tensor *a, weft_tensor *b) {
    (void)b;
    return weft_max(a, 1);
}
static void host_max(const float *a, const float *b, double *result) {
    (void)b;
    for (size_t r = 0; r < ROWS; r++) result[r] = (double)a[r * COLUMNS + row_argmax(a + r * COLUMNS)];
}

static weft_tensor *build_argmax(weft_tensor *a, weft_tensor *b) {
    (void)b;
    return weft_cast(weft_argmax(a, 1), WEFT_F32);
}
static void host_argmax(const float *a, const float *b, double *result) {
    (void)b;
    for (size_t r = 0; r < ROWS; r++) result[r] = (double)row_argmax(a + r * COLUMNS);
}

static weft_tensor *build_softmax(weft_tensor *a, weft_tensor *b) {
    (void)b;
    return weft_softmax(a, 1);
}
static void host_softmax(const float *a, const float *b, double *result) {
    (void)b;
    for (size_t r = 0; r < ROWS; r++) {
        double sum = 0.0;
        for (size_t c = 0; c < COLUMNS; c++) sum += exp((double)a[r * COLUMNS + c]);
        for (size_t c = 0; c < COLUMNS; c++) result[r * COLUMNS + c] = exp((double)a[r * COLUMNS + c]) / sum;
    }
}

static weft_tensor *build_matmul(weft_tensor *a, weft_tensor *b) {
    return weft_matmul(a, weft_transpose(b));
}
static void host_matmul(const float *a, const float *b, double *result) {
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < ROWS; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < COLUMNS; k++)
                sum += (double)a[i * COLUMNS + k] * (double)b[j * COLUMNS + k];
            result[i * ROWS + j] = sum;
        }
}

/* ---- a gradient: of mean((a·bᵀ)²) with respect to a, which is 2·(a·bᵀ)·b / ROWS² ---- */

static weft_tensor *build_gradient(weft_tensor *a, weft_tensor *b) {
    return weft_gradient(weft_mean(weft_square(weft_matmul(a, weft_transpose(b)))), a);
}
static void host_gradient(const float *a, const float *b, double *result) {
    static double product[ROWS * ROWS];
    host_matmul(a, b, product);
    for (size_t i = 0; i < ROWS; i++)
        for (size_t c = 0; c < COLUMNS; c++) {
            double sum = 0.0;
            for (size_t j = 0; j < ROWS; j++) sum += product[i * ROWS + j] * (double)b[j * COLUMNS + c];
            result[i * COLUMNS + c] = 2.0 * sum / (ROWS * ROWS);
        }
}

/* The tolerances are for float32 sums of this length, relative to 1 or to the value where that is larger. */
static const check_case cases[] = {
    {"add", build_add, host_add, SIZE, 1e-6},
    {"sub", build_sub, host_sub, SIZE, 1e-6},
    {"mul", build_mul, host_mul, SIZE, 1e-6},
    {"div", build_div, host_div, SIZE, 1e-6},
    {"maximum", build_maximum, host_maximum, SIZE, 1e-6},
    {"where, less", build_where, host_where, SIZE, 1e-6},
    {"exp", build_exp, host_exp, SIZE, 1e-6},
    {"log", build_log, host_log, SIZE, 1e-6},
    {"sqrt", build_sqrt, host_sqrt, SIZE, 1e-6},
    {"tanh", build_tanh, host_tanh, SIZE, 1e-6},
    {"sigmoid", build_sigmoid, host_sigmoid, SIZE, 1e-6},
    {"relu", build_relu, host_relu, SIZE, 1e-6},
    {"sum", build_sum, host_sum, ROWS, 1e-5},
    {"mean", build_mean, host_mean, COLUMNS, 1e-5},
    {"max", build_max, host_max, ROWS, 1e-6},
    {"argmax", build_argmax, host_argmax, ROWS, 0.0},
    {"softmax", build_softmax, host_softmax, SIZE, 1e-5},
    {"matmul", build_matmul, host_matmul, ROWS *ROWS, 1e-5},
    {"gradient of matmul", build_gradient, host_gradient, SIZE, 1e-5},
};

enum { CASES = sizeof cases / sizeof *cases };

/* Cases on the device, in one plan, as a program costs as much to compile as several kernels; results as
 * float, MOST a case. */
static weft_status run_cases(
    weft_context *context, const check_case *c, size_t count, const float *a, const float *b, float *got) {
    const int64_t dims[] = {ROWS, COLUMNS};
    weft_graph *graph = NULL;
    weft_plan *plan = NULL;
    weft_tensor *outputs[CASES + 1];
    weft_status status = weft_graph_create(&graph, context);
    if (status != WEFT_OK) return status;
    weft_tensor *const left = weft_input_shape(graph, "a", WEFT_F32, 2, dims);
    weft_tensor *const right = weft_input_shape(graph, "b", WEFT_F32, 2, dims);
    for (size_t i = 0; i < count; i++) outputs[i] = c[i].build(left, right);
    outputs[count] = weft_add(left, right); /* makes both inputs part of every plan */
    if ((status = weft_graph_status(graph)) != WEFT_OK) goto done;
    if ((status = weft_plan_create(&plan, outputs, count + 1, NULL)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, left, a, SIZE * sizeof *a)) != WEFT_OK) goto done;
    if ((status = weft_plan_write(plan, right, b, SIZE * sizeof *b)) != WEFT_OK) goto done;
    if ((status = weft_plan_run(plan)) != WEFT_OK) goto done;
    for (size_t i = 0; i < count && status == WEFT_OK; i++)
        status = weft_plan_read(plan, outputs[i], got + i * MOST, c[i].count * sizeof *got);
done:
    weft_plan_release(plan);
    weft_graph_release(graph);
    return status;
}

/* The largest error, relative to max(1, |expected|); infinite where a result is not a number. */
static double largest_error(const float *got, const double *expected, size_t count) {
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        const double error = fabs((double)got[i] - expected[i]) / fmax(1.0, fabs(expected[i]));
        if (!(error <= largest)) largest = isnan(error) ? (double)INFINITY : error;
    }
    return largest;
}

static bool compare_case(const check_case *c, const float *a, const float *b, const float *got) {
    static double expected[MOST];
    c->reference(a, b, expected);
    const double error = largest_error(got, expected, c->count);
    const bool good = error <= c->tolerance;
    check_line("%-20s %s   largest error %.1e, allowed %.0e\n", c->name, good ? "ok    " : "FAILED", error,
        c->tolerance);
    return good;
}

/* All in one plan; when that fails as a whole, one by one. Returns how many are right. */
static size_t check_cases(weft_context *context, const float *a, const float *b) {
    static float got[CASES * MOST];
    in_child_say("computing the first expressions of two matrices");
    const bool together = run_cases(context, cases, CASES, a, b, got) == WEFT_OK;
    size_t passed = 0;
    for (size_t i = 0; i < CASES; i++) {
        if (together || run_cases(context, &cases[i], 1, a, b, got + i * MOST) == WEFT_OK)
            passed += compare_case(&cases[i], a, b, got + i * MOST);
        else
            check_line("%-20s FAILED   %s\n", cases[i].name, weft_last_error());
    }
    in_child_say("");
    return passed;
}

static void fill(float *values, unsigned seed) {
    for (size_t i = 0; i < SIZE; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) / (float)(1 << 24) * 4.0f - 2.0f;
    }
}

/* Which kernels are in quarantine, and why. */
static size_t show_quarantine(weft_context *context) {
    size_t count, wrong = 0;
    const wi_finding *const all = wi_findings_all(wi_context_device(context), &count);
    for (size_t i = 0; i < count; i++) wrong += all[i].fault != NULL;
    check_line("\nself-tests: %zu of the %zu kernels tested so far on driver %s failed and are not used "
               "(quarantine)\n",
        wrong, count, weft_context_device(context)->driver);
    for (size_t i = 0; i < count; i++) {
        if (all[i].fault) check_line("%s: %s\n", all[i].name, all[i].fault);
    }
    return wrong;
}

/* f64 where the device has it. */
static bool has_format(weft_context *context, weft_dtype format) {
    return format != WEFT_F64 || wi_context_device(context)->caps.fp64;
}

static weft_status check_format(weft_context *context, check_part *part) {
    static float a[SIZE], b[SIZE];
    if (part->format == WEFT_F32 && !part->only) {
        fill(a, 1);
        fill(b, 2);
        part->count = CASES;
        part->passed = check_cases(context, a, b);
    }
    check_line("\ntesting every op%s, with its gradients, in %s\n", part->all ? "" : ", one case each",
        weft_dtype_name(part->format));
    return weft_check_recorded(context, part);
}

static void show_table(weft_context *context, const check_part *parts, size_t count) {
    check_line("\n%-7s%7s%7s%9s%7s  %s\n", "format", "cases", "mixed", "missing", "wrong",
        "largest error of passed cases, allowed error");
    for (size_t i = 0; i < count; i++) {
        const check_part *const p = &parts[i];
        check_line("%-7s", weft_dtype_name(p->format));
        if (!has_format(context, p->format))
            check_line(" not supported by the device\n");
        else
            check_line("%7zu%7zu%9zu%7zu  %.1e, %.0e\n", p->count, p->mixed, p->missing, p->count - p->passed,
                p->largest, check_allowed(p->format));
    }
    check_line("mixed: how many of these cases are of ops that only take f32, which mixed precision computes "
               "in the format;\nmissing: further cases, of ops that do not support the format\n");
}

/* Kernels in quarantine are not a failure: others serve in their place. */
static int check_context(weft_context *context, const weft_check_options *asked) {
    check_part parts[CHECK_FORMATS];
    size_t passed = 0, count = 0, part_count = 0;
    weft_status status = WEFT_OK;
    const weft_device_info *const info = weft_context_device(context);
    check_line("%s  %s (%s, driver %s), kernels of class %s\n", info->selector, info->name, info->platform,
        info->driver, info->device_class == WEFT_CLASS_GPU ? "gpu" : "cpu");
    for (size_t i = 0; i < CHECK_FORMATS && status == WEFT_OK; i++) {
        if (!(asked->formats & 1u << i)) continue;
        check_part *const part = &parts[part_count++];
        *part = (check_part){.format = formats[i], .all = asked->all, .only = asked->only};
        if (has_format(context, part->format)) status = check_format(context, part);
        count += part->count;
        passed += part->passed;
    }
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_status_name(status));
    (void)show_quarantine(context);
    show_table(context, parts, part_count);
    check_line("%zu of %zu cases are correct\n", passed, count);
    return passed == count && count > 0 && status == WEFT_OK ? 0 : 1;
}

static int fail(void) {
    fprintf(stderr, "weft: %s\n", weft_last_error());
    return 1;
}

static void log_warning(void *user, weft_log_level level, const char *line) {
    (void)user;
    if (level == WEFT_LOG_WARNING) check_line("%s\n", line);
}

bool weft_check_read_precision(unsigned *bits, const char *text) {
    *bits = 0;
    for (size_t i = 0; i < CHECK_FORMATS; i++)
        if (strcmp(text, "all") == 0 || strcmp(text, weft_dtype_name(formats[i])) == 0) *bits |= 1u << i;
    return *bits != 0;
}

static int run_check(const void *data) {
    const weft_check_options *const asked = data;
    weft_context *context = NULL;
    const weft_context_options options = {
        PROGRAM_CONTEXT_OPTIONS_INIT, .device = asked->device, .log = log_warning};
    if (!wi_environment("WEFT_SELF_TEST")) console_set_variable("WEFT_SELF_TEST", "1");
    if (asked->report && check_report_begin(asked->report) != WEFT_OK) return fail();
    int result = 1;
    in_child_say("opening the device");
    if (weft_context_create(&context, &options) != WEFT_OK)
        (void)fail();
    else
        result = check_context(context, asked);
    if (asked->report && context) check_report_tuning(context);
    weft_context_release(context);
    return asked->report && check_report_end() != WEFT_OK ? fail() : result;
}

static void tell_of_crash(FILE *to, const in_child_end *end) {
    fprintf(to, "weft: the driver ended the process with signal %d%s%s%s\n", end->signal,
        end->said[0] ? " while " : "", end->said,
        strchr(end->said, ',') ? "; 'weft check --only OP' tests single ops, to find the one that fails"
                               : "");
}

int weft_check(const weft_check_options *asked) {
    in_child_end end;
    if (asked->only && !weft_check_knows(asked->only)) {
        fprintf(stderr,
            "weft: there is no test for an op '%s'; docs/ops.md lists the names of the ops, in Weft and in "
            "PyTorch\n",
            asked->only);
        return 2;
    }
    in_child(&end, run_check, asked);
    if (end.signal == 0) return end.status;
    tell_of_crash(stderr, &end);
    FILE *const report = asked->report ? console_open(asked->report, "ab") : NULL;
    if (report) {
        tell_of_crash(report, &end);
        fclose(report);
    }
    return 1;
}

weft_status weft_check_forget(void) {
    size_t forgotten = 0;
    const weft_status status = wi_disk_cache_forget_failures(NULL, NULL, &forgotten);
    if (status == WEFT_OK) printf("%zu kernels that did not compile will be tested again\n", forgotten);
    return status;
}
