/* Longer axes in float64: see reference_padding.h. */
#include "oracle/reference_padding.h"
#include <string.h>

typedef struct padding {
    const int64_t *before;
    weft_pad_mode mode;
} padding;

static bool place_pad(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const padding *const p = context;
    for (int axis = 0; axis < a->rank; axis++) {
        const int64_t n = a->dims[axis];
        int64_t at = to[axis] - p->before[axis];
        while (at < 0 || at >= n) {
            switch (p->mode) {
            case WEFT_PAD_CONSTANT: return false;
            case WEFT_PAD_REFLECT: at = at < 0 ? -at : 2 * n - 2 - at; break;
            case WEFT_PAD_EDGE: at = at < 0 ? 0 : n - 1; break;
            case WEFT_PAD_WRAP: at += at < 0 ? n : -n; break;
            }
        }
        from[axis] = at;
    }
    return true;
}

f64_array *f64_pad(
    const f64_array *x, const int64_t *before, const int64_t *after, weft_pad_mode mode, double value) {
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = before[i] + x->dims[i] + after[i];
    return f64_pick(x, x->rank, dims, place_pad, &(const padding){before, mode}, value);
}

static bool place_roll(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const int64_t *const pair = context, n = a->dims[pair[0]];
    memcpy(from, to, (size_t)a->rank * sizeof *to);
    from[pair[0]] = ((from[pair[0]] - pair[1]) % n + n) % n;
    return true;
}

f64_array *f64_roll(const f64_array *x, int64_t axis, int64_t shift) {
    const int64_t pair[] = {f64_axis(axis, x->rank), shift};
    return f64_pick(x, x->rank, x->dims, place_roll, pair, 0);
}

static bool place_tile(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const int more = *(const int *)context - a->rank;
    for (int axis = 0; axis < a->rank; axis++) from[axis] = to[axis + more] % a->dims[axis];
    return true;
}

f64_array *f64_tile(const f64_array *x, int count, const int64_t *repeats) {
    const int rank = count > x->rank ? count : x->rank;
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i < rank; i++) {
        const int axis = i - (rank - x->rank), repeat = i - (rank - count);
        dims[i] = (axis < 0 ? 1 : x->dims[axis]) * (repeat < 0 ? 1 : repeats[repeat]);
    }
    return f64_pick(x, rank, dims, place_tile, &rank, 0);
}
