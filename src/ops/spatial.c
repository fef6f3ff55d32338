/* Options of spatial axes (contract in spatial.h). */
#include "ops/spatial.h"
#include <inttypes.h>

enum { AXES = 3 };

static bool fail_both(const weft_tensor *x, const char *op, const wi_spatial *f) {
    wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
        "%s: %s = %" PRId64 " and %s are both set: give one number for all spatial axes, or one for each", op,
        f->one, f->number, f->many);
    return false;
}

static bool fail_axis(const weft_tensor *x, const char *op, const wi_spatial *f, int axis, int axes) {
    if (axis < axes)
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: %s[%d] is 0, but it is set for other axes: give a number for each of the %d spatial axes, "
            "or %s for all of them",
            op, f->many, axis, axes, f->one);
    else
        wi_graph_fail(x->graph, WEFT_ERROR_ARGUMENT,
            "%s: %s[%d] is %" PRId64 ", but x has only %d spatial ax%s", op, f->many, axis, f->numbers[axis],
            axes, axes == 1 ? "is" : "es");
    return false;
}

bool wi_spatial_read(const weft_tensor *x, const char *op, int axes, const wi_spatial *f) {
    int given = 0;
    for (int i = 0; i < AXES; i++) given += f->numbers[i] != 0;
    if (f->number && given) return fail_both(x, op, f);
    for (int i = 0; i < AXES && given; i++)
        if (i < axes ? !f->numbers[i] && !f->may_be_zero : f->numbers[i] != 0)
            return fail_axis(x, op, f, i, axes);
    for (int i = 0; i < axes && !given; i++) f->numbers[i] = f->number;
    return true;
}
