/* Other shapes and orders of axes in float64: see reference_movement.h. */
#include "oracle/reference_movement.h"
#include <assert.h>

f64_array *f64_permute_axes(const f64_array *x, const int64_t *axes) {
    int places[WEFT_MAX_RANK];
    for (int i = 0; i < x->rank; i++) places[i] = f64_axis(axes[i], x->rank);
    return f64_permute(x, places);
}

f64_array *f64_flatten(const f64_array *x) {
    return f64_reshape(x, 2, (const int64_t[]){x->dims[0], (int64_t)x->count / x->dims[0]});
}

f64_array *f64_flatten_axes(const f64_array *x, int64_t start, int64_t end) {
    const int first = f64_axis(start, x->rank), last = f64_axis(end, x->rank);
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++) {
        if (i > first && i <= last)
            dims[rank - 1] *= x->dims[i];
        else
            dims[rank++] = x->dims[i];
    }
    return f64_reshape(x, rank, dims);
}

f64_array *f64_squeeze(const f64_array *x, const int64_t *axes) {
    int64_t dims[WEFT_MAX_RANK];
    int rank = 0;
    for (int axis = 0; axis < x->rank; axis++) {
        bool dropped = axes[0] == WEFT_END && x->dims[axis] == 1;
        for (int i = 0; axes[i] != WEFT_END; i++) dropped |= f64_axis(axes[i], x->rank) == axis;
        if (!dropped) dims[rank++] = x->dims[axis];
    }
    return f64_reshape(x, rank, dims);
}

f64_array *f64_unsqueeze(const f64_array *x, int64_t axis) {
    const int at = f64_axis(axis, x->rank + 1);
    int64_t dims[WEFT_MAX_RANK];
    for (int i = 0; i <= x->rank; i++) dims[i] = i == at ? 1 : x->dims[i < at ? i : i - 1];
    return f64_reshape(x, x->rank + 1, dims);
}

f64_array *f64_swap_axes(const f64_array *x, int64_t axis1, int64_t axis2) {
    const int a = f64_axis(axis1, x->rank), b = f64_axis(axis2, x->rank);
    int axes[WEFT_MAX_RANK];
    for (int i = 0; i < x->rank; i++) axes[i] = i == a ? b : i == b ? a : i;
    return f64_permute(x, axes);
}

f64_array *f64_move_axis(const f64_array *x, int64_t from, int64_t to) {
    const int moved = f64_axis(from, x->rank), place = f64_axis(to, x->rank);
    int axes[WEFT_MAX_RANK], next = 0;
    for (int i = 0; i < x->rank; i++) {
        next += next == moved;
        axes[i] = i == place ? moved : next++;
    }
    return f64_permute(x, axes);
}

enum { MOST_STACKED = 9 };

f64_array *f64_stack(const f64_array *const *arrays, size_t count, int64_t axis) {
    const f64_array *parts[MOST_STACKED];
    for (size_t i = 0; i < count; i++) parts[i] = f64_unsqueeze(arrays[i], axis);
    return f64_concat(parts, count, f64_axis(axis, arrays[0]->rank + 1));
}

/* ---- any other move (reference.h) ---- */

f64_array *f64_pick(const f64_array *a, int rank, const int64_t *dims, f64_place *place, const void *context,
    double outside) {
    f64_array *const y = f64_zeros(rank, dims);
    int64_t index[WEFT_MAX_RANK] = {0};
    for (size_t i = 0; i < y->count; i++, f64_next(index, rank, dims)) {
        int64_t from[WEFT_MAX_RANK] = {0};
        y->value[i] = outside;
        if (!place(context, a, index, from)) continue;
        size_t at = 0;
        for (int axis = 0; axis < a->rank; axis++) {
            assert(from[axis] >= 0 && from[axis] < a->dims[axis]);
            at = at * (size_t)a->dims[axis] + (size_t)from[axis];
        }
        y->value[i] = a->value[at];
        y->error[i] = a->error[at];
    }
    return y;
}
