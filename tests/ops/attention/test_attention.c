/* Attention against its definition in float64: lengths across the kernels' blocks, masks, causal, strided
 * inputs, shapes that are composed instead, extreme numbers, bad input. */
/* test slow gpu:optimised */
/* test.mixed format=mixed WEFT_ATTENTION=amx optimised */
/* test.mixed.model format=mixed WEFT_ATTENTION=amx WEFT_MATRIX_ENGINES=model reduced */
/* test.mixed.cpu format=mixed WEFT_ATTENTION=cpu WEFT_MATRIX_ENGINES=0 optimised */
/* test.{workitemloops,auto}.gpu POCL_WORK_GROUP_METHOD={} */
/* test.workitemrepl.gpu POCL_WORK_GROUP_METHOD=workitemrepl POCL_MAX_WORK_GROUP_SIZE=8 */
/* test.naive WEFT_ATTENTION=naive slow */
/* test.mixed.mma gpu format=mixed WEFT_ATTENTION=gpu_mma WEFT_MATRIX_ENGINES=model-mma optimised */
/* test.mixed.{wmma,wmma12,mfma,xmx8,xmx16} gpu format=mixed WEFT_ATTENTION=gpu_{} WEFT_MATRIX_ENGINES=model-{} reduced */
/* test.mixed_f16.{engines} gpu format=mixed_f16 WEFT_ATTENTION=gpu_{} WEFT_MATRIX_ENGINES=model-{} reduced */
/* test.forward_naive WEFT_ATTENTION=attention_naive reduced slow */
/* test.gradient_naive WEFT_ATTENTION=gradient_naive reduced slow */
/* test.eights device=eights */
/* test.{least,group8,group1} device={} reduced short_launches */
#include "oracle/reference_attention.h"
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* ---- the definition ---- */

/* case fields: keep: causal; start: the scale is 0.3 */
static weft_tensor *build_attention(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_attention(inputs[0], inputs[1], inputs[2],
        &(weft_attention_options){
            WEFT_ATTENTION_OPTIONS_INIT, .mask = inputs[3], .causal = c->keep, .scale = c->start ? 0.3f : 0});
}

static f64_array *reference_attention(const op_case *c, const f64_array *const *inputs) {
    return f64_attention(inputs[0], inputs[1], inputs[2],
        &(f64_attention_options){.mask = inputs[3],
            .bool_mask = c->inputs[3].dtype == WEFT_BOOL,
            .causal = c->keep,
            .scale = c->start ? (double)0.3f : 0});
}

/* ---- cases ---- */

#define X(...) F32(-2, 2, __VA_ARGS__)
#define BOOL(...)                                                                                            \
    { WEFT_BOOL, OP_RANDOM, 0, 1, DIMS(__VA_ARGS__), OP_WHOLE }

/* With one key its weight is 1 whatever the score, whose gradient is the difference of two equal sums of 8 products dy v,
 * which a driver may round differently: of terms of about 0.5, wrong by sqrt(8) roundings each. Along a direction it is
 * multiplied by a scale of 1/sqrt(8), and by 5 rows of 8 products of keys and the direction, 0.67 each: 1.4e-6, where the
 * gradient would be about 3 without the difference. Three times that is allowed. */
#define ONE_KEY (3 * (1.41 * 2.83 * 4 * 0x1p-24) * (0.354 * 0.67 * 6.33))

static const op_case attention_cases[] = {
    CASE("size 1", attention, INPUTS(X(1, 1), X(1, 1), X(1, 1))),
    CASE("one query", attention, INPUTS(X(2, 1, 8), X(2, 17, 8), X(2, 17, 8))),
    CASE("one key", attention, INPUTS(X(5, 8), X(1, 8), X(1, 8)), .gradient_error = ONE_KEY),
    CASE("odd sizes, batch", attention,
        INPUTS(X(WEFT_BATCH, 2, 9, 7), X(WEFT_BATCH, 2, 19, 7), X(WEFT_BATCH, 2, 19, 5))),
    CASE("across blocks", attention, INPUTS(X(2, 130, 8), X(2, 211, 8), X(2, 211, 8))),
    CASE("heads of 64, across blocks", attention, INPUTS(X(70, 64), X(75, 64), X(75, 40))),
    CASE(
        "wide heads across blocks, causal", attention, INPUTS(X(70, 96), X(75, 96), X(75, 96)), .keep = true),
    CASE("wide", attention, INPUTS(X(5, 128), X(70, 128), X(70, 65))),
    CASE("widest", attention, INPUTS(X(3, 256), X(60, 256), X(60, 256))),
    CASE("a scale", attention, INPUTS(X(4, 8), X(6, 8), X(6, 8)), .start = 1),
    CASE("large logits", attention, INPUTS(F32(-15, 15, 5, 8), F32(-15, 15, 9, 8), X(9, 8)), .start = 1),
    CASE("strided inputs", attention,
        INPUTS(F32_VIEW(OP_TRANSPOSED, -2, 2, 2, 9, 8), F32_VIEW(OP_SLICED, -2, 2, 2, 11, 8),
            F32_VIEW(OP_REVERSED, -2, 2, 2, 11, 8))),
    CASE("broadcast", attention, INPUTS(X(3, 1, 4, 8), X(2, 5, 8), X(5, 8))),
    CASE("rank 5, batch inside", attention,
        INPUTS(X(2, WEFT_BATCH, 2, 3, 8), X(2, WEFT_BATCH, 2, 4, 8), X(2, WEFT_BATCH, 2, 4, 8))),
    CASE("causal", attention, INPUTS(X(3, 17, 8), X(3, 17, 8), X(3, 17, 8)), .keep = true),
    CASE("causal across blocks", attention, INPUTS(X(140, 8), X(140, 8), X(140, 8)), .keep = true),
    CASE("causal, more keys", attention, INPUTS(X(5, 8), X(120, 8), X(120, 8)), .keep = true),
    CASE("causal, more queries", attention, INPUTS(X(70, 8), X(3, 8), X(3, 8)), .keep = true),
    CASE("mask of every score", attention,
        INPUTS(X(WEFT_BATCH, 2, 9, 8), X(WEFT_BATCH, 2, 13, 8), X(WEFT_BATCH, 2, 13, 8), BOOL(9, 13))),
    CASE("mask of keys", attention,
        INPUTS(X(WEFT_BATCH, 2, 9, 8), X(WEFT_BATCH, 2, 13, 8), X(WEFT_BATCH, 2, 13, 8),
            BOOL(WEFT_BATCH, 1, 1, 13))),
    CASE("mask of queries", attention, INPUTS(X(9, 8), X(13, 8), X(13, 8), BOOL(9, 1))),
    CASE("mask across blocks, causal", attention,
        INPUTS(X(2, 70, 8), X(2, 110, 8), X(2, 110, 8), BOOL(70, 110)), .keep = true),
    CASE("trained mask", attention, INPUTS(X(2, 9, 8), X(2, 13, 8), X(2, 13, 8), X(9, 13))),
    CASE("trained mask of keys, causal", attention, INPUTS(X(2, 9, 8), X(2, 13, 8), X(2, 13, 8), X(2, 1, 13)),
        .keep = true),
    CASE("few queries, trained mask, causal", attention,
        INPUTS(X(2, 5, 16), X(2, 40, 16), X(2, 40, 32), X(5, 40)), .keep = true),
    CASE("few queries, mask of keys", attention,
        INPUTS(X(WEFT_BATCH, 2, 3, 32), X(WEFT_BATCH, 2, 35, 32), X(WEFT_BATCH, 2, 35, 16),
            BOOL(WEFT_BATCH, 1, 1, 35))),
    /* For interpreters of OpenCL: one group of a matrix engine's kernels, and of each of their widths of heads. */
    CASE("engine, two blocks, mask, causal", attention, INPUTS(X(33, 3), X(34, 3), X(34, 2), BOOL(1, 34)),
        .keep = true),
    CASE("engine, more than 32 columns", attention, INPUTS(X(1, 35), X(2, 35), X(2, 5))),
    CASE("engine, more than 64 columns", attention, INPUTS(X(1, 67), X(2, 67), X(2, 5))),
    CASE("composed: too wide", attention, INPUTS(X(3, 257), X(5, 257), X(5, 4), BOOL(3, 5)), .keep = true),
    CASE("composed: over the batch", attention, INPUTS(X(WEFT_BATCH, 5), X(WEFT_BATCH, 5), X(WEFT_BATCH, 4))),
};

/* ---- extreme numbers ---- */

typedef struct small {
    weft_graph *graph;
    weft_plan *plan;
    weft_tensor *q, *k, *v, *mask, *y, *gradients[3];
} small;

enum { ROWS = 3, KEYS = 4, WIDTH = 2 };

static small small_make(weft_dtype mask) {
    small s = {.graph = test_graph()};
    s.q = weft_input_shape(s.graph, "q", WEFT_F32, 2, (const int64_t[]){ROWS, WIDTH});
    s.k = weft_input_shape(s.graph, "k", WEFT_F32, 2, (const int64_t[]){KEYS, WIDTH});
    s.v = weft_input_shape(s.graph, "v", WEFT_F32, 2, (const int64_t[]){KEYS, WIDTH});
    s.mask = weft_input_shape(s.graph, "mask", mask, 2, (const int64_t[]){ROWS, KEYS});
    s.y = weft_attention(
        s.q, s.k, s.v, &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = s.mask, .scale = 1});
    weft_tensor *const loss = weft_sum(s.y);
    assert_weft_ok(weft_gradients(loss, (weft_tensor *[]){s.q, s.k, s.v}, 3, s.gradients));
    weft_tensor *outputs[] = {s.y, s.gradients[0], s.gradients[1], s.gradients[2]};
    assert_weft_ok(weft_plan_create(&s.plan, outputs, 4, NULL));
    return s;
}

static void small_run(const small *s, const float *q, const float *k, const void *mask, float *y) {
    static const float v[KEYS * WIDTH] = {1, 2, 3, 4, 5, 6, 7, 8};
    assert_weft_ok(weft_plan_write(s->plan, s->q, q, ROWS * WIDTH * sizeof *q));
    assert_weft_ok(weft_plan_write(s->plan, s->k, k, KEYS * WIDTH * sizeof *k));
    assert_weft_ok(weft_plan_write(s->plan, s->v, v, sizeof v));
    assert_weft_ok(
        weft_plan_write(s->plan, s->mask, mask, ROWS * KEYS * weft_dtype_size(weft_tensor_dtype(s->mask))));
    assert_weft_ok(weft_plan_run(s->plan));
    assert_weft_ok(weft_plan_read(s->plan, s->y, y, ROWS * WIDTH * sizeof *y));
}

static void small_end(const small *s) {
    weft_plan_release(s->plan);
    weft_graph_release(s->graph);
}

static void assert_numbers(const float *got, const float *wanted, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const bool same =
            isnan(wanted[i]) ? isnan(got[i]) : fabsf(got[i] - wanted[i]) <= 1e-6f * fabsf(wanted[i]);
        if (!same) fail_msg("element %zu is %.9g, expected %.9g", i, (double)got[i], (double)wanted[i]);
    }
}

/* A row that sees nothing is 0, and so is its share of every gradient. */
static void test_all_masked(void **state) {
    (void)state;
    static const float q[] = {1, 0, 2, 1, -1, 3}, k[] = {0, 0, 0, 0, 0, 0, 0, 0};
    static const unsigned char flags[] = {0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1};
    const float no = -INFINITY, added[] = {no, 0, 0, no, no, no, no, no, 0, 0, 0, 0};
    static const float wanted[] = {4, 5, 0, 0, 4, 5},
                       wanted_dv[] = {.25f, .25f, .75f, .75f, .75f, .75f, .25f, .25f};
    static const void *const masks[] = {flags, NULL};
    for (int i = 0; i < 2; i++) {
        const small s = small_make(i ? WEFT_F32 : WEFT_BOOL);
        float y[ROWS * WIDTH], dq[ROWS * WIDTH], dk[KEYS * WIDTH], dv[KEYS * WIDTH];
        small_run(&s, q, k, masks[i] ? masks[i] : added, y);
        assert_numbers(y, wanted, ROWS * WIDTH);
        assert_weft_ok(weft_plan_read(s.plan, s.gradients[0], dq, sizeof dq));
        assert_weft_ok(weft_plan_read(s.plan, s.gradients[1], dk, sizeof dk));
        assert_weft_ok(weft_plan_read(s.plan, s.gradients[2], dv, sizeof dv));
        for (int x = 0; x < ROWS * WIDTH; x++) assert_true(dq[x] == 0); /* k is 0 */
        for (int x = 0; x < KEYS * WIDTH; x++) assert_true(isfinite(dk[x]));
        assert_true(dk[0] != 0);
        assert_numbers(dv, wanted_dv, KEYS * WIDTH);
        small_end(&s);
    }
}

/* A row of nothing but the lowest number has a largest one: as in PyTorch 2.15, all its keys weigh the same. Beside a key
 * that is seen they weigh nothing; beside -inf they do. */
static const float low = -2.4e38f, lowest = -FLT_MAX, never = -INFINITY, high = 2.4e38f;
enum { LOW_ROWS = 6 };
#define LOW_MASK                                                                                             \
    {                                                                                                        \
        low, low, low, low, lowest, lowest, lowest, lowest, 0, lowest, low, never, never, lowest, lowest,    \
            never, high, high, high, high, never, -1e9f, never, -1e9f                                        \
    }
static const float low_weights[LOW_ROWS * KEYS] = {0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 0.25f, 1,
    0, 0, 0, 0, 0.5f, 0.5f, 0, 0.25f, 0.25f, 0.25f, 0.25f, 0, 0.5f, 0, 0.5f};

/* Results and gradients of what the weights are known of: width is that of q and k. */
typedef struct low_case {
    int width;
    float q[LOW_ROWS * 257], k[KEYS * 257], v[KEYS * WIDTH], dy[LOW_ROWS * WIDTH];
    float wanted[LOW_ROWS * WIDTH], dq[LOW_ROWS * 257], dk[KEYS * 257], dv[KEYS * WIDTH],
        dmask[LOW_ROWS * KEYS];
} low_case;

static void low_gradients(low_case *c, int i, int j) {
    const float weight = low_weights[i * KEYS + j], scale = 1 / sqrtf((float)c->width);
    float change = 0;
    for (int x = 0; x < WIDTH; x++) {
        change += c->dy[i * WIDTH + x] * (c->v[j * WIDTH + x] - c->wanted[i * WIDTH + x]);
        c->dv[j * WIDTH + x] += weight * c->dy[i * WIDTH + x];
    }
    c->dmask[i * KEYS + j] = weight * change;
    for (int x = 0; x < c->width; x++) {
        c->dq[i * c->width + x] += weight * change * scale * c->k[j * c->width + x];
        c->dk[j * c->width + x] += weight * change * scale * c->q[i * c->width + x];
    }
}

static low_case low_numbers(int width) {
    low_case c = {.width = width};
    for (int i = 0; i < LOW_ROWS * width; i++) c.q[i] = (float)(i % 3) - 1;
    for (int i = 0; i < KEYS * width; i++) c.k[i] = (float)(i % 5) - 2;
    for (int i = 0; i < KEYS * WIDTH; i++) c.v[i] = (float)(1 + i);
    for (int i = 0; i < LOW_ROWS * WIDTH; i++)
        c.dy[i] = (float)(i % 4 - 1) / 64; /* f16 has room for the scale of losses */
    for (int i = 0; i < LOW_ROWS * KEYS; i++)
        for (int x = 0; x < WIDTH; x++)
            c.wanted[i / KEYS * WIDTH + x] += low_weights[i] * c.v[i % KEYS * WIDTH + x];
    for (int i = 0; i < LOW_ROWS * KEYS; i++) low_gradients(&c, i / KEYS, i % KEYS);
    return c;
}

/* Within a part of the largest of them. */
static void assert_near(const char *what, const float *got, const float *wanted, int count, float part) {
    float largest = 0;
    for (int i = 0; i < count; i++) largest = fmaxf(largest, fabsf(wanted[i]));
    for (int i = 0; i < count; i++)
        if (!(fabsf(got[i] - wanted[i]) <= part * largest))
            fail_msg("%s: element %d is %.9g, expected %.9g", what, i, (double)got[i], (double)wanted[i]);
}

static void low_masks(int width, weft_precision precision) {
    weft_graph *const graph = test_graph();
    const low_case c = low_numbers(width);
    const float mask[LOW_ROWS * KEYS] = LOW_MASK;
    weft_tensor *const in[] = {weft_input_shape(graph, "q", WEFT_F32, 2, (const int64_t[]){LOW_ROWS, width}),
        weft_input_shape(graph, "k", WEFT_F32, 2, (const int64_t[]){KEYS, width}),
        weft_input_shape(graph, "v", WEFT_F32, 2, (const int64_t[]){KEYS, WIDTH}),
        weft_input_shape(graph, "mask", WEFT_F32, 2, (const int64_t[]){LOW_ROWS, KEYS})};
    const void *const data[] = {c.q, c.k, c.v, mask};
    const float *const wanted[] = {c.dq, c.dk, c.dv, c.dmask, c.wanted};
    static const char *const names[] = {"dq", "dk", "dv", "the gradient of the mask", "y"};
    const int counts[] = {LOW_ROWS * width, KEYS * width, KEYS * WIDTH, LOW_ROWS * KEYS, LOW_ROWS * WIDTH};
    weft_tensor *outputs[5];
    weft_plan *plan = NULL;
    float got[LOW_ROWS * 257];
    assert_weft_ok(weft_graph_set_precision(graph, precision));
    outputs[4] = weft_attention(
        in[0], in[1], in[2], &(weft_attention_options){WEFT_ATTENTION_OPTIONS_INIT, .mask = in[3]});
    weft_tensor *const dy = weft_array(graph, WEFT_F32, c.dy, 2, (const int64_t[]){LOW_ROWS, WIDTH});
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(outputs[4], dy)), in, 4, outputs));
    assert_weft_ok(weft_plan_create(&plan, outputs, 5, NULL));
    for (int i = 0; i < 4; i++)
        assert_weft_ok(weft_plan_write(plan, in[i], data[i], (size_t)counts[i] * sizeof(float)));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < 5; i++) {
        assert_weft_ok(weft_plan_read(plan, outputs[i], got, (size_t)counts[i] * sizeof(float)));
        assert_near(names[i], got, wanted[i], counts[i], precision == WEFT_PRECISION_F32 ? 2e-6f : 0.02f);
    }
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static void test_low_masks(void **state) {
    (void)state;
    static const weft_precision precisions[] = {WEFT_PRECISION_F32, WEFT_PRECISION_BF16, WEFT_PRECISION_F16};
    for (int i = 0; i < 3; i++) {
        low_masks(8, precisions[i]);
        low_masks(16, precisions[i]);
        low_masks(257, precisions[i]); /* composed */
    }
}

/* Logits of ±1e4 and of ±1e30 neither overflow nor vanish; NaN and inf stay in their rows, as in PyTorch. */
static void test_large_numbers(void **state) {
    (void)state;
    const small s = small_make(WEFT_BOOL);
    static const unsigned char all[ROWS * KEYS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float k[] = {1, 0, 1, 0, -1, 0, 0, 1}, q[] = {1e4f, 0, -1e4f, 0, 0, 1e30f};
    static const float wanted[] = {2, 3, 5, 6, 7, 8};
    const float bad[] = {NAN, 0, 1e4f, 0, INFINITY, 1}, wanted_bad[] = {NAN, NAN, 2, 3, NAN, NAN};
    float y[ROWS * WIDTH], gradient[ROWS * WIDTH];
    small_run(&s, q, k, all, y);
    assert_numbers(y, wanted, ROWS * WIDTH);
    assert_weft_ok(weft_plan_read(s.plan, s.gradients[0], gradient, sizeof gradient));
    for (int i = 0; i < ROWS * WIDTH; i++) assert_true(isfinite(gradient[i]));
    small_run(&s, bad, k, all, y);
    assert_numbers(y, wanted_bad, ROWS * WIDTH);
    small_end(&s);
}

/* The scores of 300 x 300 would be 360 kB: what the plan takes is far less than one of them. */
static void test_memory(void **state) {
    (void)state;
    weft_graph *const graph = test_graph();
    weft_tensor *x[4], *gradients[3];
    for (int i = 0; i < 4; i++) x[i] = weft_input_shape(graph, "x", WEFT_F32, 2, (const int64_t[]){300, 8});
    weft_tensor *const y = weft_attention(x[0], x[1], x[2], NULL);
    assert_weft_ok(weft_gradients(weft_sum(weft_mul(y, x[3])), x, 3, gradients));
    weft_plan *plan = NULL;
    weft_plan_info info;
    assert_weft_ok(weft_plan_create(&plan, gradients, 3, NULL));
    assert_weft_ok(weft_plan_get_info(plan, &info));
    assert_true(info.arena_bytes < 300 * 300 * sizeof(float) / 5);
    weft_plan_release(plan);
    weft_graph_release(graph);
}

/* ---- bad input ---- */

static weft_tensor *build_bad(int which, weft_graph *g) {
    weft_tensor *x = weft_input(g, "x", WEFT_F32, 5, 6), *y = weft_input(g, "y", WEFT_F32, 5, 7),
                *z = weft_input(g, "z", WEFT_F32, 4, 6), *f = weft_input(g, "f", WEFT_F32),
                *i = weft_input(g, "i", WEFT_I32, 5, 6), *m = weft_input(g, "m", WEFT_F32, 5, 4),
                *o = weft_input_shape(g, "o", WEFT_F32, 3, (const int64_t[]){3, 5, 6});
    weft_attention_options options = {WEFT_ATTENTION_OPTIONS_INIT};
    switch (which) {
    case 0: return weft_attention(f, x, x, NULL);
    case 1: return weft_attention(x, y, x, NULL);
    case 2: return weft_attention(x, x, z, NULL);
    case 3: return weft_attention(x, o, o, NULL);
    case 4: return weft_attention(x, i, x, NULL);
    case 5: options.mask = m; break;
    case 6: options.mask = i; break;
    case 7: options.scale = -1; break;
    case 8: options.scale = INFINITY; break;
    case 9: options.struct_size = 4; break;
    default: return weft_attention(x, NULL, x, NULL);
    }
    return weft_attention(x, x, x, &options);
}

static void test_bad_input(void **state) {
    (void)state;
    static const struct {
        weft_status status;
        const char *message;
    } cases[] = {
        {WEFT_ERROR_SHAPE,
            "attention: q (batch), k (batch, 5, 6), v (batch, 5, 6): each needs rank 2 or more"},
        {WEFT_ERROR_SHAPE, "k (batch, 5, 7), v (batch, 5, 6): the widths of q and k differ"},
        {WEFT_ERROR_SHAPE, "v (batch, 4, 6): the lengths of k and v differ"},
        {WEFT_ERROR_SHAPE, "k (3, 5, 6), v (3, 5, 6): the leading dimensions do not broadcast"},
        {WEFT_ERROR_DTYPE, "attention: takes f32, not (f32, i32, f32)"},
        {WEFT_ERROR_SHAPE,
            "attention: the mask (batch, 5, 4) does not broadcast to (batch, 5, 5), the shape of the scores"},
        {WEFT_ERROR_DTYPE, "attention: a mask is bool or f32, not i32"},
        {WEFT_ERROR_ARGUMENT, "attention: scale is -1, expected a positive number, or 0 for 1/sqrt(d)"},
        {WEFT_ERROR_ARGUMENT, "attention: scale is inf"},
        {WEFT_ERROR_ARGUMENT, "attention: the options have struct_size 4"},
        {WEFT_ERROR_ARGUMENT, "attention: input 1 is NULL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_graph *const graph = test_graph();
        assert_null(build_bad((int)i, graph));
        assert_weft_fails(cases[i].status, weft_graph_status(graph), cases[i].message);
        weft_graph_release(graph);
    }
}

int main(void) {
    static const op_cases ops[] = {ATTENTION_OPS(COVERED_CASES)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_masked),
        cmocka_unit_test(test_low_masks),
        cmocka_unit_test(test_large_numbers),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_bad_input),
    };
    const int failed = op_suite_run("attention", ops, sizeof ops / sizeof *ops);
    return test_finish(failed + cmocka_run_group_tests(tests, NULL, NULL));
}
