/* What epilogues of products and convolutions read beside their sums: numbers made from the place of an element, random bits, and views,
 * parts and rows of other images, after the product, before it, and of the weight. A plan of all of it, which fuses what it can, gives
 * what plans of its parts give, each of which begins with inputs and ends with outputs, so that nothing is fused across them. */
/* test slow */
#include "support/fixture.h"
#include "support/op_case.h"

#include "ops/op_table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, MOST_AXES = 5 };

/* ---- products ---- */

typedef enum form { MATRICES, CONVOLUTION, TRANSPOSED } form;

typedef struct product {
    const char *what;
    form form;
    int rank;
    int64_t image[MOST_AXES], weight[MOST_AXES];
    weft_conv_options options;
} product;

#define OPTIONS(...)                                                                                         \
    { WEFT_CONV_OPTIONS_INIT, __VA_ARGS__ }

static const product products[] = {
    {"product", MATRICES, 2, {WEFT_BATCH, 5}, {5, 6}, OPTIONS(.groups = 1)},
    {"batched product", MATRICES, 3, {WEFT_BATCH, 4, 5}, {WEFT_BATCH, 5, 6}, OPTIONS(.groups = 1)},
    {"product over two batch axes", MATRICES, 4, {2, 3, 4, 5}, {2, 3, 5, 6}, OPTIONS(.groups = 1)},
    {"product with one matrix", MATRICES, 4, {2, WEFT_BATCH, 4, 5}, {1, 1, 5, 6}, OPTIONS(.groups = 1)},
    {"convolution of one axis", CONVOLUTION, 3, {WEFT_BATCH, 4, 7}, {6, 4, 3}, OPTIONS(.paddings = {1})},
    {"convolution of two axes", CONVOLUTION, 4, {WEFT_BATCH, 4, 5, 6}, {8, 4, 3, 3},
        OPTIONS(.paddings = {1, 1})},
    {"pointwise convolution", CONVOLUTION, 4, {WEFT_BATCH, 8, 5, 4}, {6, 8, 1, 1}, OPTIONS(.groups = 1)},
    {"depthwise convolution", CONVOLUTION, 4, {2, 4, 5, 6}, {4, 1, 3, 3}, OPTIONS(.groups = 4)},
    {"convolution of three axes", CONVOLUTION, 5, {WEFT_BATCH, 4, 3, 4, 5}, {6, 4, 2, 1, 3},
        OPTIONS(.paddings = {0, 0, 1})},
    {"a transposed one", TRANSPOSED, 4, {WEFT_BATCH, 4, 3, 4}, {4, 6, 3, 3}, OPTIONS(.strides = {2, 1})},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static weft_tensor *multiply(const product *p, weft_tensor *x, weft_tensor *w) {
    if (p->form == MATRICES) return weft_matmul(x, w);
    return p->form == TRANSPOSED ? weft_conv_transpose_with(x, w, NULL, &p->options)
                                 : weft_conv_with(x, w, NULL, &p->options);
}

/* ---- a graph, and what its inputs hold ---- */

enum { MOST_INPUTS = 32 };

typedef struct net {
    weft_graph *graph;
    weft_tensor *inputs[MOST_INPUTS];
    float *numbers[MOST_INPUTS];
    size_t counts[MOST_INPUTS];
    int count;
    bool has_channels; /* tensors are images, whose second axis is the last in memory */
} net;

static size_t count_of(const weft_tensor *t) {
    size_t count = 1;
    for (int i = 0; i < weft_tensor_rank(t); i++) {
        const int64_t size = weft_tensor_dimension(t, i);
        count *= (size_t)(size < 0 ? BATCH : size);
    }
    return count;
}

static weft_tensor *input_with(net *n, int rank, const int64_t *dims, float *numbers) {
    char name[16];
    assert_true(n->count < MOST_INPUTS);
    snprintf(name, sizeof name, "input %d", n->count);
    weft_tensor *const t = weft_input_shape(n->graph, name, WEFT_F32, rank, dims);
    assert_non_null(t);
    n->inputs[n->count] = t;
    n->counts[n->count] = count_of(t);
    n->numbers[n->count++] = numbers;
    return t;
}

static weft_tensor *input(net *n, int rank, const int64_t *dims) {
    weft_tensor *const t = input_with(n, rank, dims, NULL);
    const size_t count = count_of(t);
    float *const numbers = malloc(count * sizeof *numbers);
    test_random random = test_random_named("epilogue operands", (uint64_t)n->count);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)test_random_between(&random, -1.0, 1.0);
    n->numbers[n->count - 1] = numbers;
    return t;
}

/* The numbers belong to the net from here on. */
static weft_tensor *input_like(net *n, const weft_tensor *like, float *numbers) {
    return input_with(n, like->shape.rank, like->shape.dims, numbers);
}

/* The outputs of a plan of these alone, new memory each. */
static void compute(const net *n, const char *what, weft_tensor *const *outputs, size_t count, float **got) {
    weft_plan *plan = NULL;
    if (weft_plan_create(
            &plan, outputs, count, &(weft_plan_options){WEFT_PLAN_OPTIONS_INIT, .batch = BATCH}) != WEFT_OK)
        fail_msg("%s: %s", what, weft_last_error());
    for (int i = 0; i < n->count; i++) {
        bool is_read = false;
        for (size_t k = 0; k < count; k++) is_read = is_read || op_depends_on(outputs[k], n->inputs[i]);
        if (is_read)
            assert_weft_ok(weft_plan_write(plan, n->inputs[i], n->numbers[i], n->counts[i] * sizeof(float)));
    }
    n->graph->draws = 0; /* random bits are those of the first run */
    assert_weft_ok(weft_plan_run(plan));
    for (size_t k = 0; k < count; k++) {
        const size_t bytes = count_of(outputs[k]) * sizeof(float);
        got[k] = malloc(bytes);
        assert_non_null(got[k]);
        assert_weft_ok(weft_plan_read(plan, outputs[k], got[k], bytes));
    }
    weft_plan_release(plan);
}

/* ---- operands ---- */

/* One an axis: COORDINATE + axis, and so on. */
enum {
    BELOW,                          /* tril */
    ABOVE,                          /* triu */
    WHERE,                          /* chosen by the second to last coordinate */
    MASKED,                         /* masked_fill by an arange along the last axis */
    DIAGONAL,                       /* an identity matrix */
    BITS,                           /* random bits for each element */
    ROW_BITS,                       /* for each element of a row */
    NUMBER,                         /* a number that the program gives */
    IMAGE,                          /* another tensor as large */
    EXPANDED,                       /* numbers of the second axis, stretched to all */
    TILED,                          /* the last axis repeated */
    PADDED,                         /* along the last axis */
    TRANSPOSE,                      /* another tensor with its last axes swapped */
    REVERSED,                       /* and with all axes in the reverse order */
    COORDINATE,                     /* the place along an axis */
    ALONG = COORDINATE + MOST_AXES, /* numbers of that axis alone */
    WITHOUT = ALONG + MOST_AXES,    /* and of all others */
    FLIPPED = WITHOUT + MOST_AXES,  /* another tensor along that axis */
    ROLLED = FLIPPED + MOST_AXES,
    SLICED = ROLLED + MOST_AXES,     /* of a tensor that is larger there */
    STEPPED = SLICED + MOST_AXES,    /* each second element */
    GATHERED = STEPPED + MOST_AXES,  /* chosen by an index */
    COMPUTED = GATHERED + MOST_AXES, /* by another step, with the place along that axis */
    OPERANDS = COMPUTED + MOST_AXES
};

static const char *const names[] = {"below", "above", "where", "masked", "diagonal", "bits", "row bits",
    "number", "image", "expanded", "tiled", "padded", "transpose", "reversed"};
static const char *const axis_names[] = {
    "coordinate", "along", "without", "flipped", "rolled", "sliced", "stepped", "gathered", "computed"};

static weft_tensor *another(net *n, const weft_tensor *like, int axis, int64_t factor, int64_t more) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < weft_tensor_rank(like); i++)
        dims[i] = weft_tensor_dimension(like, i) * (i == axis ? factor : 1) + (i == axis ? more : 0);
    return input(n, weft_tensor_rank(like), dims);
}

/* With the second axis last. */
static weft_tensor *input_in_memory(net *n, const weft_tensor *like) {
    int64_t dims[WEFT_MAX_RANK];
    const int last = weft_tensor_rank(like) - 1;
    for (int i = 0; i < last; i++) dims[i] = weft_tensor_dimension(like, i ? i + 1 : 0);
    dims[last] = weft_tensor_dimension(like, 1);
    return input(n, last + 1, dims);
}

/* The axes that `kept` says have the sizes of `like`, others have one element. */
static void keep_axes(int64_t *dims, const weft_tensor *like, unsigned kept) {
    for (int i = 0; i < like->shape.rank; i++) dims[i] = kept >> i & 1 ? like->shape.dims[i] : 1;
}

static weft_tensor *narrow(net *n, const weft_tensor *like, unsigned kept) {
    int64_t dims[WEFT_MAX_RANK];
    keep_axes(dims, like, kept);
    return input(n, like->shape.rank, dims);
}

static weft_tensor *place(const weft_tensor *like, int axis) {
    return weft_cast(wi_coordinate(like->graph, &like->shape, axis), WEFT_F32);
}

static weft_tensor *random_bits(const weft_tensor *like, unsigned kept) {
    int64_t dims[WEFT_MAX_RANK];
    keep_axes(dims, like, kept);
    return weft_uniform(like->graph, -1.0f, 1.0f, like->shape.rank, dims);
}

static weft_tensor *permuted(net *n, const weft_tensor *like, bool all) {
    int64_t dims[WEFT_MAX_RANK];
    int axes[WEFT_MAX_RANK];
    const int rank = weft_tensor_rank(like);
    for (int i = 0; i < rank; i++) {
        axes[i] = all ? rank - 1 - i : i < rank - 2 ? i : 2 * rank - 3 - i;
        dims[axes[i]] = weft_tensor_dimension(like, i);
    }
    return weft_permute_axes(input(n, rank, dims), rank, axes);
}

static weft_tensor *padded(net *n, const weft_tensor *like) {
    const int last = weft_tensor_rank(like) - 1;
    int64_t before[WEFT_MAX_RANK] = {0}, after[WEFT_MAX_RANK] = {0};
    before[last] = after[last] = 1;
    return weft_pad(another(n, like, last, 1, -2), before, after, WEFT_PAD_CONSTANT, 0.5);
}

static weft_tensor *tiled(net *n, const weft_tensor *like) {
    const int rank = weft_tensor_rank(like);
    int64_t repeats[WEFT_MAX_RANK], dims[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        repeats[i] = i == rank - 1 ? weft_tensor_dimension(like, i) : 1;
        dims[i] = i == rank - 1 ? 1 : weft_tensor_dimension(like, i);
    }
    return weft_tile(input(n, rank, dims), rank, repeats);
}

/* Of a step that adds up numbers side by side in memory, as the product reads them: of images those of all channels. */
static weft_tensor *computed(net *n, const weft_tensor *like, int axis) {
    weft_tensor *const image =
        n->has_channels ? weft_channels_first(input_in_memory(n, like)) : another(n, like, -1, 1, 0);
    const int64_t side[] = {n->has_channels ? 1 : -1, WEFT_END};
    return weft_mul(weft_mul(image, weft_sum_axes(image, side, true)), place(like, axis));
}

/* From the last to the first. */
static weft_tensor *gathered(net *n, const weft_tensor *like, int axis) {
    int32_t index[16];
    const int64_t count = weft_tensor_dimension(like, axis);
    assert_in_range(count, 1, 16);
    for (int64_t i = 0; i < count; i++) index[i] = (int32_t)(count - 1 - i);
    return weft_index_select(
        another(n, like, -1, 1, 0), axis, weft_array(n->graph, WEFT_I32, index, 1, &count));
}

static weft_tensor *along_axis(net *n, const weft_tensor *like, int kind, int axis) {
    const unsigned all = (1u << weft_tensor_rank(like)) - 1;
    const int64_t size = weft_tensor_dimension(like, axis);
    switch (kind) {
    case COORDINATE: return place(like, axis);
    case ALONG: return narrow(n, like, 1u << axis);
    case WITHOUT: return narrow(n, like, all & ~(1u << axis));
    case FLIPPED: return weft_flip_axes(another(n, like, -1, 1, 0), (const int64_t[]){axis, WEFT_END});
    case ROLLED: return weft_roll(another(n, like, -1, 1, 0), axis, 1);
    case SLICED: return weft_slice(another(n, like, axis, 1, 3), axis, 1, size + 1);
    case STEPPED: return weft_slice_step(another(n, like, axis, 2, 0), axis, 1, 2 * size, 2);
    case GATHERED: return gathered(n, like, axis);
    default: return computed(n, like, axis);
    }
}

/* A tensor that broadcasts to `like`; NULL: there is none of the kind. */
static weft_tensor *operand_of(net *n, const weft_tensor *like, int kind) {
    const int rank = weft_tensor_rank(like);
    switch (kind) {
    case DIAGONAL:
        return weft_eye(
            n->graph, WEFT_F32, weft_tensor_dimension(like, rank - 2), weft_tensor_dimension(like, rank - 1));
    case BITS: return random_bits(like, ~0u);
    case ROW_BITS: return random_bits(like, 1u << (rank - 1));
    case NUMBER: return input(n, 0, NULL);
    case IMAGE: return another(n, like, -1, 1, 0);
    case EXPANDED: return weft_expand(narrow(n, like, 2), rank, like->shape.dims);
    case TILED: return tiled(n, like);
    case PADDED: return padded(n, like);
    case TRANSPOSE: return permuted(n, like, false);
    case REVERSED: return permuted(n, like, true);
    default: break;
    }
    const int axis = (kind - COORDINATE) % MOST_AXES;
    return along_axis(n, like, kind - axis, axis);
}

/* Axes of a free size are neither cut nor gathered, nor rows of an identity. */
static bool is_for(const weft_tensor *like, int kind) {
    const int rank = weft_tensor_rank(like), axis = kind < COORDINATE ? 0 : (kind - COORDINATE) % MOST_AXES;
    if (kind == DIAGONAL) return weft_tensor_dimension(like, rank - 2) > 0;
    if (kind == PADDED) return weft_tensor_dimension(like, rank - 1) > 2;
    if (kind < COORDINATE) return true;
    return axis < rank && (kind < ROLLED || kind >= COMPUTED || weft_tensor_dimension(like, axis) > 0);
}

/* t with the operand; made: the operand of this kind, if it is a tensor. */
static weft_tensor *apply(weft_tensor *t, int kind, weft_tensor *made) {
    const int rank = weft_tensor_rank(t);
    const int64_t last = weft_tensor_dimension(t, rank - 1);
    weft_tensor *const half = weft_mul_number(t, 0.5);
    switch (kind) {
    case BELOW: return weft_tril(t, 0);
    case ABOVE: return weft_triu(t, 1);
    case WHERE: return weft_where(weft_less_number(place(t, rank - 2), 2), t, half);
    case MASKED:
        return weft_masked_fill(
            t, weft_less_number(weft_arange(t->graph, WEFT_I32, 0, (double)last, 1), 2), 0.25);
    default: return weft_mul(t, made);
    }
}

/* ---- both ways ---- */

/* y, the gradients of image and weight, and that of the operand of y, if it is an input. */
enum { RESULTS = 4 };

typedef struct trial {
    net n;
    const product *product;
    int kind;
    char what[96];
    weft_tensor *x, *w, *made[3], *slope; /* made: operands of image, weight, result */
    size_t results;
    weft_tensor *result; /* of the product: its shape */
} trial;

static void name_trial(trial *t) {
    const int axis = t->kind < COORDINATE ? 0 : (t->kind - COORDINATE) % MOST_AXES;
    if (t->kind < COORDINATE)
        snprintf(t->what, sizeof t->what, "%s, %s", t->product->what, names[t->kind]);
    else
        snprintf(t->what, sizeof t->what, "%s, %s axis %d", t->product->what,
            axis_names[(t->kind - COORDINATE) / MOST_AXES], axis);
}

static bool has_gradient(int kind) {
    return kind == NUMBER || kind == IMAGE || (kind >= ALONG && kind < FLIPPED);
}

/* NULL where the operand is not for a tensor of these axes, which is left as it is. */
static weft_tensor *made_for(trial *t, const weft_tensor *like) {
    return t->kind > MASKED && is_for(like, t->kind) ? operand_of(&t->n, like, t->kind) : NULL;
}

static weft_tensor *applied(const trial *t, weft_tensor *to, int which) {
    return is_for(to, t->kind) ? apply(to, t->kind, t->made[which]) : to;
}

static void begin(trial *t) {
    const product *const p = t->product;
    name_trial(t);
    t->n.graph = test_graph();
    t->n.has_channels = p->form != MATRICES;
    t->x = input(&t->n, p->rank, p->image);
    t->w = input(&t->n, p->rank, p->weight);
    t->result = multiply(p, t->x, t->w);
    assert_weft_ok(weft_graph_status(t->n.graph));
    t->slope = another(&t->n, t->result, -1, 1, 0);
    t->made[0] = made_for(t, t->x);
    t->made[1] = made_for(t, t->w);
    t->made[2] = made_for(t, t->result);
    t->results = t->made[2] && has_gradient(t->kind) ? RESULTS : RESULTS - 1;
    assert_weft_ok(weft_graph_status(t->n.graph));
}

static void end(trial *t) {
    for (int i = 0; i < t->n.count; i++) free(t->n.numbers[i]);
    weft_graph_release(t->n.graph);
}

static weft_tensor *weighted(weft_tensor *y, weft_tensor *by) {
    return weft_sum(weft_mul(y, by));
}

static void compute_whole(const trial *t, float **got) {
    weft_tensor *const of[] = {t->x, t->w, t->made[2]}, *outputs[RESULTS];
    weft_tensor *const sums = multiply(t->product, applied(t, t->x, 0), applied(t, t->w, 1));
    outputs[0] = applied(t, sums, 2);
    assert_weft_ok(weft_gradients(weighted(outputs[0], t->slope), of, t->results - 1, outputs + 1));
    compute(&t->n, t->what, outputs, t->results, got);
}

/* What comes before the product and after it, with the gradients there: *result is that of the loss for the product. */
static void compute_around(trial *t, weft_tensor **before, float **got, weft_tensor **result) {
    float *numbers[3];
    weft_tensor *outputs[] = {applied(t, t->x, 0), applied(t, t->w, 1)};
    compute(&t->n, t->what, outputs, 2, numbers);
    for (int i = 0; i < 2; i++) before[i] = input_like(&t->n, i ? t->w : t->x, numbers[i]);
    weft_tensor *made = multiply(t->product, before[0], before[1]);
    compute(&t->n, t->what, &made, 1, numbers);
    made = input_like(&t->n, t->result, numbers[0]);
    weft_tensor *const of[] = {made, t->made[2]}, *after[3] = {applied(t, made, 2)};
    assert_weft_ok(weft_gradients(weighted(after[0], t->slope), of, t->results - 2, after + 1));
    compute(&t->n, t->what, after, t->results - 1, numbers);
    got[0] = numbers[0];
    if (t->results == RESULTS) got[3] = numbers[2];
    *result = input_like(&t->n, t->result, numbers[1]);
}

static void compute_parts(trial *t, float **got) {
    weft_tensor *before[2], *result, *gradients[2];
    float *numbers[2];
    compute_around(t, before, got, &result);
    assert_weft_ok(
        weft_gradients(weighted(multiply(t->product, before[0], before[1]), result), before, 2, gradients));
    compute(&t->n, t->what, gradients, 2, numbers);
    for (int i = 0; i < 2; i++) {
        weft_tensor *const own = i ? t->w : t->x, *const from = input_like(&t->n, own, numbers[i]);
        assert_weft_ok(weft_gradients(weighted(applied(t, own, i), from), &own, 1, &gradients[i]));
    }
    compute(&t->n, t->what, gradients, 2, got + 1);
}

static void compare(const trial *t, int result, const float *got, const float *wanted) {
    const weft_tensor *const of[RESULTS] = {t->result, t->x, t->w, t->made[2]};
    const size_t count = count_of(of[result]);
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)wanted[i]) <= 2e-5 * largest))
            fail_msg("%s: number %zu of result %d is %g, not %g", t->what, i, result, (double)got[i],
                (double)wanted[i]);
}

static void check(const product *p, int kind) {
    trial t = {.product = p, .kind = kind};
    float *whole[RESULTS], *parts[RESULTS];
    begin(&t);
    compute_whole(&t, whole);
    compute_parts(&t, parts);
    for (size_t i = 0; i < t.results; i++) {
        compare(&t, (int)i, whole[i], parts[i]);
        free(whole[i]);
        free(parts[i]);
    }
    end(&t);
}

/* ---- tests ---- */

static void operands_are_read_rightly(void **state) {
    for (int kind = 0; kind < OPERANDS; kind++) {
        if (kind >= COORDINATE && (kind - COORDINATE) % MOST_AXES >= ((const product *)*state)->rank)
            continue;
        check(*state, kind);
    }
}

int main(void) {
    struct CMUnitTest tests[PRODUCTS];
    for (size_t i = 0; i < PRODUCTS; i++)
        tests[i] = (struct CMUnitTest){
            products[i].what, operands_are_read_rightly, NULL, NULL, (void *)&products[i]};
    return test_finish(_cmocka_run_group_tests("epilogue operands", tests, PRODUCTS, NULL, NULL));
}
