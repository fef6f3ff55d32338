/* What is computed from images keeps their order in memory: (N, C, spatial...) over (N, spatial..., C).
 *
 * Every expression is written once and computed twice: from channels-last memory, where nothing may change
 * the layout, forward or backward, and from (N, C, spatial...) memory, the ordinary way, whose numbers stand
 * against float64 in the ops' own tests. test_channels_last.c has a tower of such expressions against
 * float64. */
/* test slow */
#include "support/op_case.h"

#include "ops/op_table.h"
#include <math.h>
#include <string.h>

#define AXIS(...) ((const int64_t[]){__VA_ARGS__, WEFT_END})

/* ---- expressions of an image x ---- */

typedef weft_tensor *expression(weft_tensor *x);
#define EXPRESSION(name, value)                                                                              \
    static weft_tensor *name(weft_tensor *x) {                                                               \
        weft_graph *const g = x->graph;                                                                      \
        (void)g;                                                                                             \
        return value;                                                                                        \
    }

/* A number for each channel, whose gradient is a sum over channels-last memory. */
static weft_tensor *each_channel(weft_tensor *x, double scale) {
    const wi_shape shape = {.rank = 1, .dims = {x->shape.dims[1]}};
    weft_tensor *const i = weft_cast(wi_coordinate(x->graph, &shape, 0), WEFT_F32);
    wi_shape beside = {.rank = x->shape.rank - 1, .dims = {x->shape.dims[1], 1, 1, 1}};
    return weft_reshape_shape(weft_mul_number(weft_add_number(i, 1), scale), beside.rank, beside.dims);
}
/* An op of images of its own: takes channels-last memory, gives it. */
static weft_tensor *image_op(weft_tensor *x) {
    return wi_channels_first(weft_tanh(wi_channels_last(x)));
}
static weft_tensor *pad(weft_tensor *x, weft_pad_mode mode, int channels, int height, int width) {
    const int64_t before[] = {0, channels, height, width}, after[] = {0, 2 * channels, height, width};
    return weft_pad(x, before, after, mode, 0.5);
}
static weft_tensor *part(weft_tensor *x, int axis, int which) {
    weft_tensor *parts[8];
    return weft_split(x, axis, (size_t)x->shape.dims[axis], parts) == WEFT_OK ? parts[which] : NULL;
}
static weft_tensor *normalised(weft_tensor *x, const int64_t *axes) {
    weft_tensor *const mean = weft_mean_axes(x, axes, true);
    weft_tensor *const spread = weft_var_with(x, 0, axes, true);
    return weft_mul(weft_sub(x, mean), weft_rsqrt(weft_add_number(spread, 1e-3)));
}
/* (N, 6, H, W) in 3 groups of 2 channels. */
static weft_tensor *grouped(weft_tensor *x) {
    const int64_t *d = x->shape.dims;
    weft_tensor *const split = weft_reshape_shape(x, 5, (const int64_t[]){d[0], 3, 2, d[2], d[3]});
    weft_tensor *const y = normalised(split, AXIS(2, 3, 4));
    return weft_mul(image_op(weft_reshape_shape(y, 4, d)), each_channel(x, 0.3));
}
static weft_tensor *squeezed_excited(weft_tensor *x) {
    weft_tensor *const pooled = weft_flatten(weft_mean_axes(x, AXIS(2, 3), true));
    weft_tensor *const gate = weft_sigmoid(weft_matmul(pooled, weft_reshape(each_channel(x, 0.2), 6, 1)));
    return weft_mul(x, weft_reshape(gate, WEFT_BATCH, 1, 1, 1));
}
static weft_tensor *column(weft_tensor *x) {
    weft_tensor *const narrow = weft_slice(x, 3, 2, 3);
    return weft_unsqueeze(weft_tanh(weft_squeeze(narrow, 3)), 2);
}
static weft_tensor *classes(weft_tensor *x) { /* labels of pixels, from their places */
    const wi_shape shape = {.rank = 3, .dims = {WEFT_BATCH, x->shape.dims[2], x->shape.dims[3]}};
    weft_tensor *const h = wi_coordinate(x->graph, &shape, 1), *const w = wi_coordinate(x->graph, &shape, 2);
    weft_tensor *const label = weft_remainder(weft_add(h, w), weft_number(w, 6));
    return weft_cross_entropy_loss(
        x, label, &(weft_class_loss_options){WEFT_CLASS_LOSS_OPTIONS_INIT, .reduction = WEFT_LOSS_NONE});
}
EXPRESSION(chosen, weft_where(weft_less(x, weft_number(x, 0.3)), weft_square(weft_stop_gradient(x)),
                       weft_mul(x, each_channel(x, 0.5))))
EXPRESSION(place_in_all, weft_cast(weft_argmax_axes(x, AXIS(1, 2, 3), true), WEFT_F32))
EXPRESSION(sliced, weft_slice_step(weft_mul(weft_exp(part(x, 1, 2)), part(x, 1, 4)), 3, 0, WEFT_END, 2))
EXPRESSION(reflected, pad(weft_sigmoid(x), WEFT_PAD_REFLECT, 1, 0, 0))
EXPRESSION(turned, weft_flip(weft_roll(weft_roll(x, 1, 2), 3, -1), 1, 2))
EXPRESSION(spatial_merged, weft_softmax(weft_reshape(x, WEFT_BATCH, 6, 20), 2))

typedef struct subject {
    const char *name;
    expression *make;
    bool smooth; /* it has a gradient */
} subject;
#define SUBJECT(name)                                                                                        \
    { #name, name, true }
static const subject subjects[] = {{"place_in_all", place_in_all, false}, SUBJECT(chosen), SUBJECT(sliced),
    SUBJECT(reflected), SUBJECT(turned), SUBJECT(spatial_merged), SUBJECT(grouped), SUBJECT(squeezed_excited),
    SUBJECT(column), SUBJECT(classes)};

/* ---- computing all of them ---- */

enum {
    COUNT = sizeof subjects / sizeof subjects[0],
    BATCH = 3,
    C = 6,
    H = 5,
    W = 4,
    SIZE = BATCH * C * H * W
};

/* How an image reaches the expressions. */
typedef enum source { CHANNELS_LAST, CHANNELS_FIRST } source;

typedef struct outcome {
    float loss[COUNT], gradient[SIZE]; /* of all losses together; (N, C, H, W) */
    weft_plan_info info;
} outcome;

/* The sum of w·e, where w tells every place from the others. */
static weft_tensor *weighed(weft_tensor *e) {
    weft_tensor *w = wi_coordinate(e->graph, &e->shape, 0);
    for (int i = 1; i < e->shape.rank; i++)
        w = weft_add(weft_mul_number(w, 3), wi_coordinate(e->graph, &e->shape, i));
    w = weft_mul_number(weft_cast(w, WEFT_F32), 0.02);
    return weft_sum_axes(weft_mul(e, w), NULL, false);
}

static void image_values(float *x) {
    test_random random = test_random_named("image", 0);
    for (int i = 0; i < SIZE; i++) x[i] = (float)test_random_between(&random, -1.5, 1.5);
}

/* (N, C, H, W) to (N, H, W, C), or back. */
static void reorder(const float *from, float *to, bool back) {
    for (int i = 0; i < SIZE; i++) {
        const int w = i % W, h = i / W % H, c = i / W / H % C, n = i / W / H / C;
        const int last = ((n * H + h) * W + w) * C + c;
        to[back ? i : last] = from[back ? last : i];
    }
}

static weft_tensor *image_of(weft_graph *graph, source how, weft_tensor **input) {
    const bool first = how == CHANNELS_FIRST;
    const int64_t dims[] = {WEFT_BATCH, first ? C : H, first ? H : W, first ? W : C};
    *input = weft_input_shape(graph, "image", WEFT_F32, 4, dims);
    return first ? *input : weft_channels_first(*input);
}

static void compute(source how, outcome *out) {
    weft_graph *const graph = test_graph();
    weft_tensor *input, *outputs[COUNT + 1], *total = NULL;
    weft_tensor *const x = image_of(graph, how, &input);
    for (int i = 0; i < COUNT; i++) {
        outputs[i] = weighed(subjects[i].make(x));
        if (subjects[i].smooth) total = total ? weft_add(total, outputs[i]) : outputs[i];
    }
    outputs[COUNT] = weft_gradient(total, input);
    weft_plan *plan = NULL;
    assert_weft_ok(weft_graph_status(graph));
    assert_weft_ok(weft_plan_create(
        &plan, outputs, COUNT + 1, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}));
    float values[SIZE], lying[SIZE];
    image_values(values);
    reorder(values, lying, false);
    assert_weft_ok(weft_plan_write(plan, input, how == CHANNELS_FIRST ? values : lying, sizeof lying));
    assert_weft_ok(weft_plan_run(plan));
    for (int i = 0; i < COUNT; i++)
        assert_weft_ok(weft_plan_read(plan, outputs[i], &out->loss[i], sizeof(float)));
    assert_weft_ok(weft_plan_read(plan, outputs[COUNT], lying, sizeof lying));
    if (how == CHANNELS_FIRST)
        memcpy(out->gradient, lying, sizeof lying);
    else
        reorder(lying, out->gradient, true);
    assert_weft_ok(weft_plan_get_info(plan, &out->info));
    weft_plan_release(plan);
    weft_graph_release(graph);
}

static bool near(double a, double b, double scale) {
    return fabs(a - b) <= 2e-5 * fmax(scale, 1);
}

static void compare(const outcome *a, const outcome *b) {
    for (int i = 0; i < COUNT; i++) {
        if (!near((double)a->loss[i], (double)b->loss[i], fabs((double)a->loss[i])))
            fail_msg("%s: %g and %g", subjects[i].name, (double)a->loss[i], (double)b->loss[i]);
    }
    double scale = 0;
    for (int i = 0; i < SIZE; i++) scale = fmax(scale, fabs((double)a->gradient[i]));
    for (int i = 0; i < SIZE; i++) {
        if (!near((double)a->gradient[i], (double)b->gradient[i], scale))
            fail_msg("gradient %d of all is %g and %g", i, (double)a->gradient[i], (double)b->gradient[i]);
    }
}

/* No step only moves data, and two operands are read in another order than they lie in. One is x in `place_in_all`,
 * whose result counts places in the order (C, H, W). The other is the weights of `column`, (N, C, 1, H): being a function
 * of the index, they are made anew for a reader in memory order, but here the reader is the gradient of `unsqueeze`,
 * which sees them as (N, C, H) through a reshape, and a reshaped function of the index is read as it was stored. */
static void test_order_is_kept(void **state) {
    (void)state;
    static outcome last, first;
    compute(CHANNELS_LAST, &last);
    compute(CHANNELS_FIRST, &first);
    compare(&first, &last);
    assert_int_equal(last.info.layout_conversions, 2);
    assert_int_equal(last.info.conversions, 0);
    assert_true(first.info.layout_conversions >= 2); /* to the op of images in `grouped`, and back */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_is_kept)};
    return test_finish(cmocka_run_group_tests_name("memory order", tests, NULL, NULL));
}
