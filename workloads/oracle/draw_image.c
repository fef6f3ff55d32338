/* Choosing images for random calls: see draw_image.h. */
#include "oracle/draw_image.h"
#include <math.h>

enum { MOST_CHANNELS = 65 };

int64_t draw_image_size(const oracle_draw *draw, int image, int axis) {
    return draw_array(draw, image)->dims[2 + axis];
}

int64_t draw_small(oracle_draw *draw, int64_t bound) {
    const int64_t a = draw_below(draw, bound), b = draw_below(draw, bound);
    return a < b ? a : b;
}

int64_t draw_divisor(oracle_draw *draw, int64_t n) {
    int64_t divisors[64], count = 0;
    for (int64_t i = 1; i <= n && count < 64; i++)
        if (n % i == 0) divisors[count++] = i;
    return divisors[draw_below(draw, count)];
}

/* Mostly sizes like those of its neighbours, now and then a long axis. */
static int64_t draw_side(oracle_draw *draw, int64_t left, int axes) {
    const int64_t fair = (int64_t)pow((double)left, 1.0 / axes) + 1;
    const int64_t most = draw_chance(draw, 20) ? left : 2 * fair < left ? 2 * fair : left;
    return draw_chance(draw, 50) ? draw_size(draw, most) : 1 + draw_below(draw, most < 14 ? most : 14);
}

int draw_new_image(oracle_draw *draw, const draw_image_options *options) {
    const int rank = 2 + options->axes;
    int64_t dims[WEFT_MAX_RANK + 1], left = draw_most(draw);
    draw_shape(draw, rank, dims);
    if (dims[0] != WEFT_BATCH) dims[0] = 1 + draw_below(draw, 3);
    left /= draw_count_of(draw, (const int64_t[]){dims[0], WEFT_END}) * options->divisor;
    for (int i = 0; i < options->axes; i++) left /= options->step;
    const int64_t most = left < MOST_CHANNELS / options->divisor ? left : MOST_CHANNELS / options->divisor;
    dims[1] = options->divisor * draw_size(draw, most > 1 ? most : 1);
    left /= dims[1] / options->divisor;
    for (int i = 0; i < options->axes; i++) {
        int64_t *const dim = &dims[2 + i];
        if (options->fixed || options->step > 1 || (*dim > 0 && *dim < WEFT_LENGTH / 2))
            *dim = options->step * draw_side(draw, left > 1 ? left : 1, options->axes - i);
        const int64_t size = draw_count_of(draw, (const int64_t[]){*dim, WEFT_END}) / options->step;
        left = left / size > 1 ? left / size : 1;
    }
    return draw_source(draw, &(draw_source_options){.dtype = draw_format(draw),
                                 .dims = dims,
                                 .low = fmax(options->low, -3),
                                 .high = fmin(options->high, 3)});
}

static bool is_image(const oracle_draw *draw, int value, double low, double high) {
    const f64_array *const a = draw_array(draw, value);
    if (!draw_may_read(draw, value) || draw_dtype(draw, value) != draw_format(draw)) return false;
    if (!draw_is_fixed(draw, value, 1)) return false;
    for (int i = 2; i < a->rank; i++)
        if (draw_dim(draw, value, i) < 0) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!(a->value[i] >= low && a->value[i] <= high)) return false;
    return true;
}

int draw_image(oracle_draw *draw, int least_axes, int most_axes, double low, double high) {
    int found = -1;
    for (int i = 0; i < draw_value_count(draw); i++) {
        const int axes = draw_rank(draw, i) - 2;
        if (axes < least_axes || axes > most_axes || !is_image(draw, i, low, high)) continue;
        if (found < 0 || draw_chance(draw, 50)) found = i; /* mostly a recent one */
    }
    if (found >= 0 && draw_chance(draw, 80)) return found;
    const int axes = least_axes + (int)draw_below(draw, most_axes - least_axes + 1);
    return draw_new_image(
        draw, &(draw_image_options){.axes = axes, .low = low, .high = high, .divisor = 1, .step = 1});
}

int draw_fixed_image(oracle_draw *draw, int least_axes, int most_axes, double low, double high) {
    const int image = draw_image(draw, least_axes, most_axes, low, high);
    if (image < 0) return -1;
    const int axes = draw_rank(draw, image) - 2;
    for (int i = 0; i < axes; i++)
        if (!draw_is_fixed(draw, image, 2 + i))
            return draw_new_image(draw, &(draw_image_options){axes, low, high, 1, 1, true});
    return image;
}
