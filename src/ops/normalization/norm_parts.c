/* Recognises layer norm and RMS norm by parts, without their weights, which are maps of the result:
 *
 *     d / sqrt(mean(d²) + epsilon)  or  d · rsqrt(mean(d²) + epsilon)     d = x - mean(x) or x, means over the last axes */
#include "ops/parts.h"
#include <math.h>
#include <weft/normalization.h>

/* The tensor whose mean over the last axes y is, or NULL; *axes: their number, which must be the same each time. */
static weft_tensor *in_mean(weft_tensor *y, int *axes, wi_recognised *found) {
    double number;
    if (y->op != &wi_op_mul && y->op != &wi_op_div) return NULL;
    weft_tensor *const sum = y->inputs[0], *const x = sum->op == &wi_op_sum ? sum->inputs[0] : NULL;
    if (!x || x->dtype != WEFT_F32 || !wi_parts_number(y->inputs[1], &number)) return NULL;
    const int rank = x->shape.rank;
    int last = 0;
    int64_t count = 1;
    while (last < rank && sum->attributes->over.axes >> (rank - 1 - last) & 1) {
        if (x->shape.dims[rank - 1 - last] < 0 || wi_axis_is_symbolic(x, rank - 1 - last)) return NULL;
        count *= x->shape.dims[rank - 1 - last++];
    }
    const uint32_t wanted = ((1u << rank) - 1) & ~((1u << (rank - last)) - 1);
    const double share = y->op == &wi_op_div ? 1 / number : number;
    if (last == 0 || sum->attributes->over.axes != wanted || fabs(share * (double)count - 1) > 1e-6)
        return NULL;
    if (*axes != 0 && *axes != last) return NULL;
    *axes = last;
    return wi_parts_note(found, y) && wi_parts_note(found, sum) ? x : NULL;
}

/* The tensor of which y is the square, or NULL. */
static weft_tensor *in_square(weft_tensor *y, wi_recognised *found) {
    double number;
    const bool is_power = y->op == &wi_op_pow && wi_parts_number(y->inputs[1], &number) && number == 2,
               is_product = y->op == &wi_op_mul && y->inputs[0] == y->inputs[1];
    return (is_power || is_product || y->op == &wi_op_square) && wi_parts_note(found, y) ? y->inputs[0]
                                                                                         : NULL;
}

/* The tensor of which y is mean(d²), or its variance. */
static weft_tensor *in_variance(weft_tensor *y, int *axes, wi_recognised *found) {
    weft_tensor *const square = in_mean(y, axes, found);
    return square ? in_square(square, found) : NULL;
}

/* The other factor of the root in y, or NULL; *variance: the root is that of *variance + epsilon. */
static weft_tensor *without_root(
    weft_tensor *y, weft_tensor **variance, double *epsilon, wi_recognised *found) {
    const bool divides = y->op == &wi_op_div;
    const wi_op *const op = divides ? &wi_op_sqrt : &wi_op_rsqrt;
    const int at = y->inputs[1]->op == op ? 1 : 0;
    weft_tensor *const root = y->inputs[at];
    if (root->op != op || (divides && at == 0) || !wi_parts_note(found, root)) return NULL;
    weft_tensor *const sum = root->inputs[0];
    if (sum->op != &wi_op_add || !wi_parts_note(found, sum)) return NULL;
    const int number = wi_parts_number(sum->inputs[1], epsilon) ? 1 : 0;
    if (!wi_parts_number(sum->inputs[number], epsilon) || !(*epsilon >= 0) || isinf(*epsilon)) return NULL;
    *variance = sum->inputs[1 - number];
    return y->inputs[1 - at];
}

bool wi_norm_recognise(weft_tensor *y, wi_recognised *found) {
    weft_tensor *variance = NULL;
    double epsilon = 0;
    int axes = 0;
    weft_tensor *const d = y->dtype == WEFT_F32 ? without_root(y, &variance, &epsilon, found) : NULL;
    if (!d || d->dtype != WEFT_F32 || !wi_shape_equal(&d->shape, &y->shape) ||
        in_variance(variance, &axes, found) != d)
        return false;
    weft_tensor *x = d;
    const bool centred = d->op == &wi_op_sub && in_mean(d->inputs[1], &axes, found) == d->inputs[0];
    if (centred) {
        if (!wi_parts_note(found, d)) return false;
        x = d->inputs[0];
    }
    found->leaves[0] = x;
    found->node = centred ? weft_layer_norm_with(x, axes, NULL, NULL, (float)epsilon)
                          : weft_rms_norm_with(x, axes, NULL, (float)epsilon);
    return found->node != NULL;
}
