/* Parts of axes in float64: see reference_slice.h. */
#include "oracle/reference_slice.h"
#include <string.h>

typedef struct stepped {
    int axis;
    int64_t start, step;
} stepped;

static bool place_step(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const stepped *const s = context;
    memcpy(from, to, (size_t)a->rank * sizeof *to);
    from[s->axis] = s->start + to[s->axis] * s->step;
    return true;
}

f64_array *f64_slice_step(const f64_array *x, int64_t axis, int64_t start, int64_t end, int64_t step) {
    stepped s = {f64_axis(axis, x->rank), start, step};
    int64_t dims[WEFT_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    const int64_t size = dims[s.axis];
    if (s.start < 0) s.start += size;
    if (end == WEFT_END) end = size;
    if (end < 0) end += size;
    dims[s.axis] = 0;
    for (int64_t i = s.start; i < end; i += step) dims[s.axis]++;
    return f64_pick(x, x->rank, dims, place_step, &s, 0);
}

static bool place_flip(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const bool *const flipped = context;
    for (int i = 0; i < a->rank; i++) from[i] = flipped[i] ? a->dims[i] - 1 - to[i] : to[i];
    return true;
}

f64_array *f64_flip(const f64_array *x, const int64_t *axes) {
    bool flipped[WEFT_MAX_RANK];
    for (int i = 0; i < x->rank; i++) flipped[i] = axes[0] == WEFT_END;
    for (int i = 0; axes[i] != WEFT_END; i++) flipped[f64_axis(axes[i], x->rank)] = true;
    return f64_pick(x, x->rank, x->dims, place_flip, flipped, 0);
}

static bool place_window(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const stepped *const s = context;
    memcpy(from, to, (size_t)a->rank * sizeof *to);
    from[s->axis] = to[s->axis] * s->step + to[a->rank];
    return true;
}

f64_array *f64_unfold(const f64_array *x, int64_t axis, int64_t size, int64_t step) {
    const stepped s = {f64_axis(axis, x->rank), 0, step};
    int64_t dims[WEFT_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[s.axis] = (dims[s.axis] - size) / step + 1;
    dims[x->rank] = size;
    return f64_pick(x, x->rank + 1, dims, place_window, &s, 0);
}

typedef struct diagonals {
    int axis1, axis2;
    int64_t offset;
} diagonals;

static bool place_diagonal(const void *context, const f64_array *a, const int64_t *to, int64_t *from) {
    const diagonals *const d = context;
    int next = 0;
    for (int axis = 0; axis < a->rank; axis++)
        if (axis != d->axis1 && axis != d->axis2) from[axis] = to[next++];
    from[d->axis1] = to[next] + (d->offset < 0 ? -d->offset : 0);
    from[d->axis2] = to[next] + (d->offset > 0 ? d->offset : 0);
    return true;
}

f64_array *f64_diagonal(const f64_array *x, int64_t offset, int64_t axis1, int64_t axis2) {
    const diagonals d = {f64_axis(axis1, x->rank), f64_axis(axis2, x->rank), offset};
    int64_t dims[WEFT_MAX_RANK], length = 0;
    int rank = 0;
    for (int axis = 0; axis < x->rank; axis++)
        if (axis != d.axis1 && axis != d.axis2) dims[rank++] = x->dims[axis];
    for (int64_t i = 0; i < x->dims[d.axis1]; i++)
        length += i + d.offset >= 0 && i + d.offset < x->dims[d.axis2];
    dims[rank++] = length;
    return f64_pick(x, rank, dims, place_diagonal, &d, 0);
}
