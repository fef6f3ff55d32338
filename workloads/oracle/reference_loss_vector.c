/* Losses of scores against 1 and -1, and of vectors: see reference_loss.h. */
#include "oracle/reference_loss.h"
#include <math.h>

#define N(x) f64_number(x)
#define LAST ((const int64_t[]){-1, WEFT_END})

/* 1 where t is the value, else 0. Where t may round to the value, or away from it, the error is 1. */
static const f64_array *is_equal(const f64_array *t, double value) {
    f64_array *const hit = f64_copy(t);
    for (size_t i = 0; i < hit->count; i++) {
        hit->value[i] = t->value[i] == value;
        hit->error[i] = t->error[i] > 0 && fabs(t->value[i] - value) <= t->error[i];
    }
    return hit;
}

static f64_array *where_equal(const f64_array *t, double value, const f64_array *yes, const f64_array *no) {
    const f64_array *const hit = is_equal(t, value);
    return f64_add(f64_mul(hit, yes), f64_mul(f64_sub(N(1), hit), no));
}

static double formula_softplus(double x, double y, double z) {
    (void)y, (void)z;
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

f64_array *f64_hinge(const f64_array *x, const f64_array *t) {
    return f64_relu(f64_sub(N(1), f64_mul(x, t)));
}
f64_array *f64_soft_margin(const f64_array *x, const f64_array *t) {
    return f64_map(formula_softplus, f64_sub(N(0), f64_mul(x, t)), NULL, NULL);
}
f64_array *f64_hinge_embedding(const f64_array *x, const f64_array *t, double margin) {
    const f64_array *const far = f64_relu(f64_sub(N(margin), x));
    return where_equal(t, 1, x, where_equal(t, -1, far, f64_add(far, x)));
}
f64_array *f64_margin_ranking(const f64_array *a, const f64_array *b, const f64_array *t, double margin) {
    return f64_relu(f64_sub(N(margin), f64_mul(t, f64_sub(a, b))));
}

/* The norm along an axis of a, stretched to the shape of `wide`, with `added` to its square. */
static f64_array *norm_of(const f64_array *a, const f64_array *wide, int axis, double added) {
    const int64_t axes[] = {axis, WEFT_END};
    const f64_array *const squares = f64_square(f64_expand(a, wide->rank, wide->dims));
    return f64_sqrt(f64_add(f64_sum(squares, axes, false), N(added)));
}

static f64_array *cosine(const f64_array *a, const f64_array *b, int axis, double epsilon, double added) {
    const int64_t axes[] = {axis, WEFT_END};
    const f64_array *const wide = f64_mul(a, b);
    const f64_array *const p = f64_maximum(norm_of(a, wide, axis, added), N(epsilon));
    const f64_array *const q = f64_maximum(norm_of(b, wide, axis, added), N(epsilon));
    return f64_div(f64_div(f64_sum(wide, axes, false), p), q);
}

f64_array *f64_norm_like(const f64_array *a, const f64_array *wide, int axis) {
    return norm_of(a, wide, axis, 0);
}

f64_array *f64_cosine_similarity(const f64_array *a, const f64_array *b, int axis, double epsilon) {
    return cosine(a, b, axis, epsilon, 0);
}

f64_array *f64_cosine_embedding(const f64_array *a, const f64_array *b, const f64_array *t, double margin) {
    const f64_array *const c = cosine(a, b, -1, 0, 1e-12);
    return where_equal(t, 1, f64_sub(N(1), c), where_equal(t, -1, f64_relu(f64_sub(c, N(margin))), N(0)));
}

static const f64_array *distance(const f64_array *a, const f64_array *b, int p) {
    const f64_array *const d = f64_add(f64_sub(a, b), N(1e-6));
    if (p == 1) return f64_sum(f64_maximum(d, f64_sub(N(0), d)), LAST, false);
    return f64_sqrt(f64_sum(f64_square(d), LAST, false));
}

f64_array *f64_triplet_margin(const f64_array *anchor, const f64_array *positive, const f64_array *negative,
    double margin, int p, bool swap) {
    const f64_array *const wide = f64_add(f64_add(anchor, positive), negative);
    const f64_array *const a = f64_expand(anchor, wide->rank, wide->dims);
    const f64_array *const b = f64_expand(positive, wide->rank, wide->dims);
    const f64_array *far = distance(a, negative, p);
    if (swap) far = f64_sub(N(0), f64_maximum(f64_sub(N(0), far), f64_sub(N(0), distance(b, negative, p))));
    return f64_relu(f64_add(f64_sub(distance(a, b, p), far), N(margin)));
}
