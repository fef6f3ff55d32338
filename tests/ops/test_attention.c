/* Attention against its definition in float64: lengths across the kernels' blocks, masks, causal, strided
 * inputs, shapes that are composed instead, extreme numbers, bad input. */
#include "support/op_case.h"

#include "ops/covered_ops.h"
#include "plan/steps.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the definition ---- */

/* case fields: keep: causal; start: the scale is 0.3 */
static double scale_of(const op_case *c, int64_t d) {
    return c->start ? (double)0.3f : 1 / sqrt((double)d);
}

static weft_tensor *build_attention(const op_case *c, weft_graph *graph, weft_tensor *const *inputs) {
    (void)graph;
    return weft_attention(inputs[0], inputs[1], inputs[2],
        &(weft_attention_options){
            WEFT_ATTENTION_OPTIONS_INIT, .mask = inputs[3], .causal = c->keep, .scale = c->start ? 0.3f : 0});
}

/* Stretched to the leading dimensions and its own last two, or to the scores' shape. */
static f64_array *stretch(const f64_array *x, int rank, const int64_t *lead, int64_t rows, int64_t columns) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < rank - 2; i++) dims[i] = lead[i];
    dims[rank - 2] = rows;
    dims[rank - 1] = columns;
    return f64_expand(x, rank, dims);
}

typedef struct row {
    const f64_array *k, *v;
    int64_t keys, d, dv;
    const double *q, *mask; /* mask: a number to be added for each key */
    double scale;
} row;

/* A float32 sum of n terms is wrong by about sqrt(n) roundings, and a logit's error is a relative one of its
 * weight. */
static void attend(const row *r, size_t n, double *y, double *error) {
    double *const s = calloc((size_t)r->keys, sizeof *s);
    assert_non_null(s);
    double top = -INFINITY, size = 0, total = 0;
    for (int64_t j = 0; j < r->keys; j++) {
        double sum = 0;
        for (int64_t p = 0; p < r->d; p++) {
            const double term = r->q[p] * r->k->value[((int64_t)n * r->keys + j) * r->d + p] * r->scale;
            s[j] += term;
            sum += fabs(term);
        }
        s[j] += r->mask[j];
        top = fmax(top, s[j]);
        if (isfinite(r->mask[j])) size = fmax(size, sum + fabs(r->mask[j]));
    }
    for (int64_t j = 0; j < r->keys; j++) total += s[j] = top == -INFINITY ? 0 : exp(s[j] - top);
    const double wrong = 0x1p-24 * (2 * (4 + sqrt((double)r->d)) * size + 16 + sqrt((double)r->keys));
    for (int64_t x = 0; x < r->dv; x++) {
        double sum = 0;
        for (int64_t j = 0; j < r->keys && total > 0; j++) {
            const double term = s[j] / total * r->v->value[((int64_t)n * r->keys + j) * r->dv + x];
            y[x] += term;
            sum += fabs(term);
        }
        error[x] = wrong * sum;
    }
    free(s);
}

static f64_array *reference_attention(const op_case *c, const f64_array *const *inputs) {
    const f64_array *q = inputs[0], *k = inputs[1], *v = inputs[2], *mask = inputs[3];
    int rank = 0;
    int64_t dims[WEFT_MAX_RANK] = {0};
    for (int i = 0; i < 3; i++) rank = inputs[i]->rank > rank ? inputs[i]->rank : rank;
    for (int i = 0; i < 3; i++) {
        const int shift = rank - inputs[i]->rank;
        for (int a = 0; a < inputs[i]->rank - 2; a++)
            if (inputs[i]->dims[a] > dims[a + shift]) dims[a + shift] = inputs[i]->dims[a];
    }
    const int64_t queries = q->dims[q->rank - 2], keys = k->dims[k->rank - 2];
    row r = {.keys = keys, .d = q->dims[q->rank - 1], .dv = v->dims[v->rank - 1]};
    r.scale = scale_of(c, r.d);
    q = stretch(q, rank, dims, queries, r.d);
    r.k = stretch(k, rank, dims, keys, r.d);
    r.v = stretch(v, rank, dims, keys, r.dv);
    if (mask) mask = stretch(mask, rank, dims, queries, keys);
    dims[rank - 2] = queries;
    dims[rank - 1] = r.dv;
    f64_array *const y = f64_zeros(rank, dims);
    double *const bias = calloc((size_t)keys, sizeof *bias);
    assert_non_null(bias);
    for (size_t i = 0; i < y->count / (size_t)r.dv; i++) {
        for (int64_t j = 0; j < keys; j++) {
            bias[j] = mask ? mask->value[(int64_t)i * keys + j] : 0;
            if (mask && c->inputs[3].dtype == WEFT_BOOL) bias[j] = bias[j] != 0 ? 0 : -INFINITY;
            if (c->keep && j > (int64_t)i % queries) bias[j] = -INFINITY;
        }
        r.q = q->value + (int64_t)i * r.d;
        r.mask = bias;
        attend(&r, i / (size_t)queries, y->value + (int64_t)i * r.dv, y->error + (int64_t)i * r.dv);
    }
    free(bias);
    return y;
}

/* ---- cases ---- */

#define X(...) F32(-2, 2, __VA_ARGS__)
#define BOOL(...)                                                                                            \
    { WEFT_BOOL, OP_RANDOM, 0, 1, DIMS(__VA_ARGS__), OP_WHOLE }

static const op_case attention_cases[] = {
    CASE("size 1", attention, INPUTS(X(1, 1), X(1, 1), X(1, 1))),
    CASE("one query", attention, INPUTS(X(2, 1, 8), X(2, 17, 8), X(2, 17, 8))),
    CASE("one key", attention, INPUTS(X(5, 8), X(1, 8), X(1, 8))),
    CASE("odd sizes, batch", attention,
        INPUTS(X(WEFT_BATCH, 2, 9, 7), X(WEFT_BATCH, 2, 19, 7), X(WEFT_BATCH, 2, 19, 5))),
    CASE("across blocks", attention, INPUTS(X(2, 130, 8), X(2, 211, 8), X(2, 211, 8))),
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
    CASE("composed: too wide", attention, INPUTS(X(3, 257), X(5, 257), X(5, 4), BOOL(3, 5)), .keep = true),
    CASE("composed: over the batch", attention, INPUTS(X(WEFT_BATCH, 5), X(WEFT_BATCH, 5), X(WEFT_BATCH, 4))),
};

int main(void) {
    static const op_cases ops[] = {ATTENTION_OPS(COVERED_CASES)};
    const int failed = op_suite_run("attention", ops, sizeof ops / sizeof *ops);
    return test_finish(failed);
}
