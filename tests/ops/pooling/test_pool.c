/* Pooling: windows of every kind over images of one, two and three axes; ties, NaN and infinities; bad
 * options. */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <math.h>
#include <string.h>
#include <weft/images.h>

#define X(...) F32(-2, 2, __VA_ARGS__)

/* ---- references ---- */

/* What a case is made of; sizes: of an adaptive one. */
typedef struct pool_row {
    weft_pool_options options;
    int64_t sizes[3];
    double p;
} pool_row;
#define POOL(...)                                                                                            \
    .row = &(const pool_row) {                                                                               \
        .options = { WEFT_POOL_OPTIONS_INIT, __VA_ARGS__ }                                                   \
    }
#define LP(order, ...)                                                                                       \
    .row = &(const pool_row) {                                                                               \
        .p = order, .options = { WEFT_POOL_OPTIONS_INIT, __VA_ARGS__ }                                       \
    }
#define SIZES(...)                                                                                           \
    .row = &(const pool_row) {                                                                               \
        .sizes = { __VA_ARGS__ }                                                                             \
    }

/* The elements of one axis that a place sees, and how many it counts with its padding. */
typedef struct seen {
    int64_t at[64];
    int64_t count, counted;
} seen;

static int64_t or_else(int64_t value, int64_t otherwise) {
    return value ? value : otherwise;
}

static seen seen_by(const pool_row *row, int axis, int64_t n, int64_t place) {
    const weft_pool_options *const o = &row->options;
    seen s = {.count = 0};
    if (row->sizes[0]) {
        for (int64_t i = 0; i < n; i++) /* (place / size, (place + 1) / size) meets (i / n, (i + 1) / n) */
            if (place * n < (i + 1) * row->sizes[axis] && i * row->sizes[axis] < (place + 1) * n)
                s.at[s.count++] = i;
        s.counted = s.count;
        return s;
    }
    for (int64_t k = 0; k < o->window[axis]; k++) {
        const int64_t at = place * or_else(o->stride[axis], o->window[axis]) - o->padding[axis] +
                           k * or_else(o->dilation[axis], 1);
        s.counted += at < n + o->padding[axis];
        if (at >= 0 && at < n) s.at[s.count++] = at;
    }
    return s;
}

/* Places are added as long as the window fits, or with ceil_mode: as something is left to see. */
static int64_t places(const pool_row *row, int axis, int64_t n) {
    const weft_pool_options *const o = &row->options;
    if (row->sizes[0]) return row->sizes[axis];
    const int64_t stride = or_else(o->stride[axis], o->window[axis]), padding = o->padding[axis];
    const int64_t reach = or_else(o->dilation[axis], 1) * (o->window[axis] - 1) + 1;
    int64_t count = 1;
    for (;; count++) {
        const int64_t begin = count * stride - padding, left = n + padding - (begin - stride + reach);
        if (o->ceil_mode ? left <= 0 || begin >= n : begin + reach > n + padding) return count;
    }
}

/* One window: its elements, in window order. */
typedef struct window {
    double value[512], error[512];
    size_t count;
    double counted;
} window;

static window window_at(const pool_row *row, const f64_array *x, const int64_t *index) {
    const int spatial = x->rank - 2;
    seen s[3] = {{{0}, 1, 1}, {{0}, 1, 1}, {{0}, 1, 1}};
    int64_t n[3] = {1, 1, 1};
    for (int i = 0; i < spatial; i++) {
        n[i + 3 - spatial] = x->dims[2 + i];
        s[i + 3 - spatial] = seen_by(row, i, x->dims[2 + i], index[2 + i]);
    }
    window w = {.counted = (double)(s[0].counted * s[1].counted * s[2].counted)};
    const int64_t image = index[0] * x->dims[1] + index[1];
    for (int64_t d = 0; d < s[0].count; d++) {
        for (int64_t h = 0; h < s[1].count; h++) {
            for (int64_t v = 0; v < s[2].count; v++) {
                const int64_t at = ((image * n[0] + s[0].at[d]) * n[1] + s[1].at[h]) * n[2] + s[2].at[v];
                w.value[w.count] = x->value[at];
                w.error[w.count++] = x->error[at];
            }
        }
    }
    return w;
}

static void maximum(const pool_row *row, const window *w, double *value, double *error) {
    (void)row;
    *value = -INFINITY;
    for (size_t i = 0; i < w->count; i++) {
        if (!(w->value[i] > *value)) continue;
        *value = w->value[i];
        *error = w->error[i];
    }
}

static void mean(const pool_row *row, const window *w, double *value, double *error) {
    const weft_pool_options *const o = &row->options;
    const double divisor = o->divisor           ? (double)o->divisor
                           : o->exclude_padding ? (double)w->count
                                                : w->counted;
    double sum = 0, size = 0, carried = 0;
    for (size_t i = 0; i < w->count; i++) {
        sum += w->value[i];
        size += fabs(w->value[i]);
        carried += w->error[i];
    }
    *value = sum / divisor;
    *error = (carried + 1e-6 * (1 + log2((double)w->count)) * size) / divisor;
}

static f64_array *pooled(const pool_row *row, const f64_array *x,
    void (*judge)(const pool_row *, const window *, double *, double *)) {
    int64_t dims[WEFT_MAX_RANK] = {x->dims[0], x->dims[1]}, index[WEFT_MAX_RANK] = {0};
    for (int i = 2; i < x->rank; i++) dims[i] = places(row, i - 2, x->dims[i]);
    f64_array *const y = f64_zeros(x->rank, dims);
    size_t at = 0;
    do {
        const window w = window_at(row, x, index);
        judge(row, &w, &y->value[at], &y->error[at]);
        at++;
    } while (f64_next(index, x->rank, dims));
    return y;
}

/* ---- cases ---- */

#define BUILD(function, ...)                                                                                 \
    static weft_tensor *build_##function(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {  \
        (void)graph;                                                                                         \
        const pool_row *const row = c->row;                                                                  \
        (void)row;                                                                                           \
        return weft_##function(inputs[0], __VA_ARGS__);                                                      \
    }
#define REFERENCE(function, judge, used)                                                                     \
    static f64_array *reference_##function(const op_case *c, const f64_array *const *inputs) {               \
        (void)c;                                                                                             \
        return pooled(used, inputs[0], judge);                                                               \
    }
static const pool_row whole = {.sizes = {1, 1, 1}}, twos = {.options = {.window = {2, 2}}},
                      threes = {.options = {.window = {3, 3}}};

BUILD(max_pool, &row->options)
BUILD(avg_pool, &row->options)
BUILD(lp_pool, row->p, &row->options)
BUILD(adaptive_max_pool, row->sizes)
BUILD(adaptive_avg_pool, row->sizes)
BUILD(max_pool2d, 2)
BUILD(avg_pool2d, 3)
static weft_tensor *build_global_max_pool(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_global_max_pool(inputs[0]);
}
static weft_tensor *build_global_avg_pool(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)c, (void)graph;
    return weft_global_avg_pool(inputs[0]);
}
REFERENCE(max_pool, maximum, c->row)
REFERENCE(avg_pool, mean, c->row)
REFERENCE(adaptive_max_pool, maximum, c->row)
REFERENCE(adaptive_avg_pool, mean, c->row)
REFERENCE(max_pool2d, maximum, &twos)
REFERENCE(avg_pool2d, mean, &threes)
REFERENCE(global_max_pool, maximum, &whole)
REFERENCE(global_avg_pool, mean, &whole)

static double to_power(double a, double b, double c) {
    (void)c;
    return pow(a, b);
}
static double to_root(double a, double b, double c) {
    (void)c;
    return a == 0 ? 0 : pow(a, 1 / b);
}
static f64_array *reference_lp_pool(const op_case *c, const f64_array *const *inputs) {
    const pool_row *const row = c->row;
    double size = 1;
    for (int i = 0; i < inputs[0]->rank - 2; i++) size *= (double)row->options.window[i];
    const f64_array *const p = f64_number(row->p);
    const f64_array *const powers = f64_map(to_power, inputs[0], p, NULL);
    return f64_map(to_root, f64_mul(pooled(row, powers, mean), f64_number(size)), p, NULL);
}

/* The windows that max and mean are both tried with. */
#define WINDOW_CASES(op)                                                                                     \
    CASE("side by side, batch", op, INPUTS(X(WEFT_BATCH, 3, 4, 5)), POOL(.window = {2, 2})),                 \
        CASE("a small image", op, INPUTS(X(1, 1, 4, 5)), POOL(.window = {2, 3}, .stride = {1, 2})),          \
        CASE("overlapping, padded", op, INPUTS(X(2, 17, 9, 7)),                                              \
            POOL(.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1})),                                    \
        CASE("at every place", op, INPUTS(X(1, 64, 4, 3)),                                                   \
            POOL(.window = {3, 3}, .stride = {1, 1}, .padding = {1, 1})),                                    \
        CASE("ceil", op, INPUTS(X(1, 64, 7, 6)),                                                             \
            POOL(.window = {3, 3}, .stride = {2, 2}, .ceil_mode = true)),                                    \
        CASE("ceil, padded, steps beyond the window", op, INPUTS(X(2, 3, 8, 11)),                            \
            POOL(.window = {2, 3}, .stride = {3, 5}, .padding = {1, 1}, .ceil_mode = true)),                 \
        CASE("dilated", op, INPUTS(X(2, 1, 9, 10)),                                                          \
            POOL(.window = {2, 3}, .stride = {1, 2}, .padding = {1, 2}, .dilation = {3, 2})),                \
        CASE("an image of 1 x 1", op, INPUTS(X(3, 17, 1, 1)), POOL(.window = {1, 1})),                       \
        CASE("an image of 1 x 1, padded", op, INPUTS(X(3, 3, 1, 1)),                                         \
            POOL(.window = {3, 2}, .stride = {1, 1}, .padding = {1, 1})),                                    \
        CASE("window and image are one", op, INPUTS(X(2, 64, 5, 3)), POOL(.window = {5, 3})),                \
        CASE(                                                                                                \
            "signal", op, INPUTS(X(WEFT_BATCH, 3, 17)), POOL(.window = {4}, .stride = {3}, .padding = {2})), \
        CASE("volume", op, INPUTS(X(2, 20, 4, 5, 3)),                                                        \
            POOL(.window = {2, 3, 2}, .stride = {2, 1, 1}, .padding = {1, 1, 0})),                           \
        CASE("dilated volume, ceil", op, INPUTS(X(1, 3, 5, 6, 7)),                                           \
            POOL(.window = {2, 2, 3}, .stride = {2, 2, 2}, .dilation = {2, 3, 1}, .ceil_mode = true)),       \
        CASE("of a permuted", op, INPUTS(F32_VIEW(OP_REVERSED, -2, 2, 2, 5, 6, 7)),                          \
            POOL(.window = {3, 3}, .stride = {2, 2}))

static const op_case max_pool_cases[] = {WINDOW_CASES(max_pool)};

static const op_case avg_pool_cases[] = {WINDOW_CASES(avg_pool),
    CASE("without the padding", avg_pool, INPUTS(X(2, 17, 6, 5)),
        POOL(.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .exclude_padding = true)),
    CASE("without the padding, dilated, ceil", avg_pool, INPUTS(X(2, 3, 8, 7)),
        POOL(.window = {3, 2}, .stride = {2, 2}, .padding = {2, 1}, .dilation = {2, 2},
            .exclude_padding = true, .ceil_mode = true)),
    CASE("ceil behind the padding", avg_pool, INPUTS(X(1, 3, 4, 6)),
        POOL(.window = {3, 4}, .stride = {2, 3}, .padding = {1, 2}, .ceil_mode = true)),
    CASE("divisor", avg_pool, INPUTS(X(1, 17, 4, 5)),
        POOL(.window = {3, 2}, .padding = {1, 1}, .divisor = 5, .exclude_padding = true))};

static const op_case lp_pool_cases[] = {
    CASE("p = 1", lp_pool, INPUTS(X(1, 3, 4, 4)), LP(1, .window = {2, 2})),
    CASE("p = 2", lp_pool, INPUTS(X(WEFT_BATCH, 3, 7, 6)), LP(2, .window = {3, 2}, .stride = {2, 2})),
    CASE("p = 2, padded, dilated", lp_pool, INPUTS(X(2, 17, 7, 6)),
        LP(2, .window = {3, 3}, .stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2})),
    CASE("p = 2.5, ceil", lp_pool, INPUTS(F32(0.25, 2, 2, 3, 7, 8)),
        LP(2.5, .window = {3, 3}, .stride = {2, 2}, .ceil_mode = true)),
    CASE("signal", lp_pool, INPUTS(F32(0.25, 2, 2, 3, 9)), LP(3, .window = {4}, .stride = {2})),
    CASE("volume", lp_pool, INPUTS(X(2, 3, 4, 4, 5)), LP(2, .window = {2, 2, 3}))};

#define ADAPTIVE_CASES(op)                                                                                   \
    CASE("dividing", op, INPUTS(X(WEFT_BATCH, 17, 6, 4)), SIZES(3, 2)),                                      \
        CASE("overlapping", op, INPUTS(X(2, 3, 7, 5)), SIZES(3, 4)),                                         \
        CASE("more than there are", op, INPUTS(X(1, 64, 3, 2)), SIZES(5, 4)),                                \
        CASE("one", op, INPUTS(X(1, 3, 4, 4)), SIZES(1, 1)),                                                 \
        CASE("signal", op, INPUTS(X(2, 3, 11)), SIZES(4)),                                                   \
        CASE("volume", op, INPUTS(X(2, 5, 3, 4, 5)), SIZES(2, 4, 3))
static const op_case adaptive_max_pool_cases[] = {ADAPTIVE_CASES(adaptive_max_pool)};
static const op_case adaptive_avg_pool_cases[] = {ADAPTIVE_CASES(adaptive_avg_pool)};

#define GLOBAL_CASES(op)                                                                                     \
    CASE("image", op, INPUTS(X(WEFT_BATCH, 17, 7, 5))), CASE("signal", op, INPUTS(X(2, 3, 8))),              \
        CASE("volume", op, INPUTS(X(1, 64, 2, 3, 4))), CASE("1 x 1", op, INPUTS(X(2, 3, 1, 1)))
static const op_case global_max_pool_cases[] = {GLOBAL_CASES(global_max_pool)};
static const op_case global_avg_pool_cases[] = {GLOBAL_CASES(global_avg_pool)};

static const op_case max_pool2d_cases[] = {CASE("of 2 x 2", max_pool2d, INPUTS(X(1, 3, 4, 5)))};
static const op_case avg_pool2d_cases[] = {CASE("of 3 x 3", avg_pool2d, INPUTS(X(2, 17, 6, 7)))};

/* ---- ties, NaN and infinities ---- */

/* y and dx of the sum of y · (1, 2, 3, ...), from x (1, channels, length) with all channels alike. */
static void check_winners(int64_t channels, const weft_pool_options *options, const float *x, int64_t length,
    const float *wanted, const float *wanted_gradient) {
    weft_graph *const graph = test_graph();
    const int64_t dims[] = {1, channels, length};
    weft_tensor *const input = weft_input_shape(graph, "x", WEFT_F32, 3, dims);
    weft_tensor *const y = weft_max_pool(input, options);
    assert_non_null(y);
    const int64_t count = weft_tensor_dimension(y, 2);
    weft_tensor *const places = weft_arange(graph, WEFT_F32, 1, (double)(count + 1), 1);
    weft_tensor *const gradient = weft_gradient(weft_sum(weft_mul(y, places)), input);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_plan_create(&plan, (weft_tensor *[]){y, gradient}, 2, NULL));
    float data[64 * 16], got[64 * 16], got_gradient[64 * 16];
    for (int64_t c = 0; c < channels; c++) memcpy(data + c * length, x, (size_t)length * sizeof *x);
    assert_weft_ok(weft_plan_write(plan, input, data, (size_t)(channels * length) * sizeof *data));
    assert_weft_ok(weft_plan_run(plan));
    assert_weft_ok(weft_plan_read(plan, y, got, (size_t)(channels * count) * sizeof *got));
    assert_weft_ok(
        weft_plan_read(plan, gradient, got_gradient, (size_t)(channels * length) * sizeof *got_gradient));
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t i = 0; i < count; i++) {
            const float v = got[c * count + i];
            if (!(v == wanted[i] || (isnan(v) && isnan(wanted[i]))))
                fail_msg("channel %d, place %d: %g, not %g", (int)c, (int)i, (double)v, (double)wanted[i]);
        }
        for (int64_t i = 0; i < length; i++) {
            if (got_gradient[c * length + i] != wanted_gradient[i])
                fail_msg("channel %d, gradient of element %d: %g, not %g", (int)c, (int)i,
                    (double)got_gradient[c * length + i], (double)wanted_gradient[i]);
        }
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* As torch.nn.functional.max_pool1d does: the first of equals, the last of several NaN. */
static void test_winners(void **state) {
    (void)state;
    const float inf = INFINITY, nan = NAN;
    const weft_pool_options threes_by_two = {
        WEFT_POOL_OPTIONS_INIT, .window = {3}, .stride = {2}, .padding = {1}};
    const float x[] = {1, 1, 0, 0, nan, 5, nan, -inf, -inf, -inf, -inf, inf};
    /* windows:        -.1 1 | 1 0 0 | 0 nan 5 | 5 nan -inf | -inf -inf -inf | -inf -inf inf */
    const float y[] = {1, 1, nan, nan, -inf, inf};
    const float dx[] = {1, 2, 0, 0, 3, 0, 4, 5, 0, 0, 0, 6};
    for (int64_t channels = 1; channels <= 64; channels = channels == 1 ? 17 : channels + 47)
        check_winners(channels, &threes_by_two, x, 12, y, dx);
    if (test_reduced()) return;
    const weft_pool_options overlapping = {WEFT_POOL_OPTIONS_INIT, .window = {4}, .stride = {1}};
    const float x2[] = {nan, 2, nan, 7, 7, nan, 0, 0};
    const float y2[] = {nan, nan, nan, nan, nan};
    const float dx2[] = {0, 0, 1 + 2, 0, 0, 3 + 4 + 5, 0, 0};
    check_winners(3, &overlapping, x2, 8, y2, dx2);
    /* A window of two taps, both in the padding of a short signal: nothing wins, nothing flows. */
    const weft_pool_options far = {
        WEFT_POOL_OPTIONS_INIT, .window = {2}, .stride = {1}, .padding = {1}, .dilation = {4}};
    const float x3[] = {4, 5, 6}, y3[] = {-inf}, dx3[] = {0, 0, 0};
    check_winners(3, &far, x3, 3, y3, dx3);
}

/* ---- bad input ---- */

typedef struct bad_pool {
    weft_status status;
    const char *message;
    weft_tensor *(*build)(weft_tensor *x, weft_tensor *flat);
} bad_pool;

#define BAD(name, expression)                                                                                \
    static weft_tensor *name(weft_tensor *x, weft_tensor *flat) {                                            \
        (void)x, (void)flat;                                                                                 \
        return expression;                                                                                   \
    }
#define OPTIONS(...) (&(const weft_pool_options){WEFT_POOL_OPTIONS_INIT, __VA_ARGS__})
BAD(too_long, weft_max_pool(x, OPTIONS(.window = {7, 2}, .padding = {1, 0})))
BAD(too_long_dilated, weft_avg_pool(x, OPTIONS(.window = {2, 3}, .dilation = {1, 3})))
BAD(much_padding, weft_max_pool(x, OPTIONS(.window = {2, 3}, .padding = {1, 2})))
BAD(negative_padding, weft_avg_pool(x, OPTIONS(.window = {2, 3}, .padding = {-1, 0})))
BAD(no_window, weft_max_pool(x, OPTIONS(.window = {2})))
BAD(negative_stride, weft_lp_pool(x, 2, OPTIONS(.window = {2, 2}, .stride = {1, -1})))
BAD(negative_dilation, weft_max_pool(x, OPTIONS(.window = {2, 2}, .dilation = {-2, 1})))
BAD(no_options, weft_avg_pool(x, NULL))
BAD(old_options, weft_max_pool(x, &(const weft_pool_options){.window = {2, 2}}))
BAD(no_lp_options, weft_lp_pool(x, 2, NULL))
BAD(max_divisor, weft_max_pool(x, OPTIONS(.window = {2, 2}, .divisor = 3)))
BAD(lp_padding, weft_lp_pool(x, 2, OPTIONS(.window = {2, 2}, .exclude_padding = true)))
BAD(negative_divisor, weft_avg_pool(x, OPTIONS(.window = {2, 2}, .divisor = -3)))
BAD(zero_order, weft_lp_pool(x, 0, OPTIONS(.window = {2, 2})))
BAD(infinite_order, weft_lp_pool(x, INFINITY, OPTIONS(.window = {2, 2})))
BAD(no_image, weft_max_pool(flat, OPTIONS(.window = {2, 2})))
BAD(no_picture, weft_max_pool2d(weft_flatten_axes(x, 2, 3), 2))
BAD(batch_axis, weft_global_avg_pool(weft_permute(x, 1, 2, 0, 3)))
BAD(no_sizes, weft_adaptive_max_pool(x, NULL))
BAD(zero_size, weft_adaptive_avg_pool(x, (const int64_t[]){2, 0}))
BAD(integers, weft_max_pool2d(weft_cast(x, WEFT_I32), 2))
BAD(zero_square, weft_avg_pool2d(x, 0))

static const bad_pool bad_pools[] = {
    {WEFT_ERROR_SHAPE,
        "max_pool: a window over 7 elements is longer than axis 2 of (batch, 3, 4, 6) with padding 1",
        too_long},
    {WEFT_ERROR_SHAPE,
        "avg_pool: a window over 7 elements is longer than axis 3 of (batch, 3, 4, 6) with padding 0",
        too_long_dilated},
    {WEFT_ERROR_ARGUMENT, "max_pool: padding[1] = 2 for axis 3 of (batch, 3, 4, 6) is not in 0..1",
        much_padding},
    {WEFT_ERROR_ARGUMENT, "avg_pool: padding[0] = -1 for axis 2 of (batch, 3, 4, 6) is not in 0..1",
        negative_padding},
    {WEFT_ERROR_ARGUMENT, "max_pool: window[1] = 0 for axis 3 of (batch, 3, 4, 6) is not in 1..1073741824",
        no_window},
    {WEFT_ERROR_ARGUMENT, "avg_pool: stride[1] = -1 for axis 3", negative_stride},
    {WEFT_ERROR_ARGUMENT, "max_pool: dilation[0] = -2 for axis 2", negative_dilation},
    {WEFT_ERROR_ARGUMENT, "avg_pool: options is NULL, expected a window", no_options},
    {WEFT_ERROR_ARGUMENT, "max_pool: options of 0 bytes, expected ", old_options},
    {WEFT_ERROR_ARGUMENT, "lp_pool: options is NULL, expected a window", no_lp_options},
    {WEFT_ERROR_ARGUMENT, "max_pool: exclude_padding and divisor are for avg_pool", max_divisor},
    {WEFT_ERROR_ARGUMENT, "lp_pool: exclude_padding and divisor are for avg_pool", lp_padding},
    {WEFT_ERROR_ARGUMENT, "avg_pool: a divisor of -3 is not in 0..2^31 - 1", negative_divisor},
    {WEFT_ERROR_ARGUMENT, "lp_pool: p = 0 is not a positive number", zero_order},
    {WEFT_ERROR_ARGUMENT, "lp_pool: p = inf is not a positive number", infinite_order},
    {WEFT_ERROR_SHAPE, "max_pool: (batch, 5) is not (N, C, L), (N, C, H, W) or (N, C, D, H, W)", no_image},
    {WEFT_ERROR_SHAPE, "max_pool2d: (batch, 3, 24) is not (N, C, H, W)", no_picture},
    {WEFT_ERROR_SHAPE, "global_avg_pool: axis 2 of (3, 4, batch, 6) is not a number up to 2^30", batch_axis},
    {WEFT_ERROR_ARGUMENT, "adaptive_max_pool: sizes is NULL", no_sizes},
    {WEFT_ERROR_ARGUMENT, "adaptive_avg_pool: sizes[1] = 0 is not in 1..2^30", zero_size},
    {WEFT_ERROR_DTYPE, "max_pool2d: takes f32, not i32", integers},
    {WEFT_ERROR_ARGUMENT, "avg_pool: window[0] = 0 for axis 2", zero_square},
};

static void test_bad_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_pools / sizeof *bad_pools; i++) {
        weft_graph *const graph = test_graph();
        weft_tensor *const x = weft_input_shape(
                               graph, "x", WEFT_F32, 4, (const int64_t[]){WEFT_BATCH, 3, 4, 6}),
                           *const flat =
                               weft_input_shape(graph, "f", WEFT_F32, 2, (const int64_t[]){WEFT_BATCH, 5});
        assert_null(bad_pools[i].build(x, flat));
        assert_weft_fails(bad_pools[i].status, weft_graph_status(graph), bad_pools[i].message);
        weft_graph_release(graph);
    }
    assert_null(weft_max_pool2d(NULL, 2));
    assert_null(weft_global_avg_pool(NULL));
}

int main(void) {
    static const op_cases ops[] = {POOL_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_winners),
        cmocka_unit_test(test_bad_input),
    };
    const int failed = op_suite_run("pool", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
