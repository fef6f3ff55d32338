/* Curves of bounded size (contract in page_curve.h). */
#include "train/page/page_curve.h"
#include <math.h>
#include <string.h>

enum { FIRST_GROUP = 4 }; /* points of the first groups, of which two remain */

/* Writes one or two extremes in the order of their steps, and returns their number. */
static size_t write_extremes(const wi_page_point *low, const wi_page_point *high, wi_page_point to[2]) {
    const bool ordered = low->step <= high->step;
    to[0] = ordered ? *low : *high;
    if (low->step == high->step) return 1;
    to[1] = ordered ? *high : *low;
    return 2;
}

/* Keeps the extremes of each group of four points. */
static void halve(wi_page_curve *curve) {
    size_t kept = 0;
    for (size_t i = 0; i < curve->count; i += FIRST_GROUP) {
        const size_t end = i + FIRST_GROUP < curve->count ? i + FIRST_GROUP : curve->count;
        wi_page_point low = curve->points[i], high = low;
        for (size_t k = i + 1; k < end; k++) {
            if (curve->points[k].value < low.value) low = curve->points[k];
            if (curve->points[k].value > high.value) high = curve->points[k];
        }
        kept += write_extremes(&low, &high, curve->points + kept);
    }
    curve->count = kept;
    curve->every = curve->every == 1 ? FIRST_GROUP : 2 * curve->every;
}

/* Moves the complete group to the points. */
static weft_status finish_group(wi_page_curve *curve, const weft_allocator *allocator, size_t limit) {
    while (curve->count + 2 > limit) halve(curve);
    if (curve->pending < curve->every) return WEFT_OK; /* halving made groups larger */
    WI_TRY(wi_grow(
        allocator, (void **)&curve->points, &curve->capacity, curve->count + 2, sizeof *curve->points));
    curve->count += write_extremes(&curve->low, &curve->high, curve->points + curve->count);
    curve->pending = 0;
    return WEFT_OK;
}

weft_status wi_page_curve_add(
    wi_page_curve *curve, const weft_allocator *allocator, const wi_page_point *point, size_t limit) {
    if (!isfinite(point->value)) {
        if (curve->not_finite++ == 0) curve->first_not_finite = point->step;
        return WEFT_OK;
    }
    if (curve->every == 0) curve->every = 1;
    if (curve->pending == 0 || point->value < curve->low.value) curve->low = *point;
    if (curve->pending == 0 || point->value > curve->high.value) curve->high = *point;
    curve->last = *point;
    curve->pending++;
    return curve->pending < curve->every ? WEFT_OK : finish_group(curve, allocator, limit);
}

size_t wi_page_curve_size(const wi_page_curve *curve) {
    return curve->count + 3;
}

size_t wi_page_curve_points(const wi_page_curve *curve, wi_page_point *points) {
    size_t count = curve->count;
    if (count) memcpy(points, curve->points, count * sizeof *points);
    if (curve->pending == 0) return count;
    count += write_extremes(&curve->low, &curve->high, points + count);
    if (points[count - 1].step != curve->last.step) points[count++] = curve->last;
    return count;
}
