/* Finds a process that is persistently slow (contract in speeds.h). */
#include "dist/speeds.h"
#include "base/median.h"
#include "base/memory.h"

weft_status wi_speeds_init(wi_speeds *speeds, const weft_allocator *allocator, size_t ranks) {
    *speeds = (wi_speeds){.allocator = allocator, .ranks = ranks, .slowest = SIZE_MAX};
    speeds->sums = wi_allocate_array(allocator, ranks, sizeof *speeds->sums);
    speeds->others = wi_allocate_array(allocator, ranks, sizeof *speeds->others);
    if (speeds->sums && speeds->others) return WEFT_OK;
    wi_speeds_clear(speeds);
    return WEFT_ERROR_MEMORY;
}

void wi_speeds_clear(wi_speeds *speeds) {
    wi_release(speeds->allocator, speeds->sums);
    wi_release(speeds->allocator, speeds->others);
    *speeds = (wi_speeds){0};
}

/* The slowest rank, compared with the median of the others. */
static wi_slow_rank compare(const wi_speeds *speeds) {
    size_t slowest = 0, count = 0;
    for (size_t r = 1; r < speeds->ranks; r++)
        if (speeds->sums[r] > speeds->sums[slowest]) slowest = r;
    for (size_t r = 0; r < speeds->ranks; r++)
        if (r != slowest) speeds->others[count++] = speeds->sums[r];
    const double median = wi_median(speeds->others, count), own = speeds->sums[slowest];
    return (wi_slow_rank){slowest, own / (double)speeds->steps, median > 0 ? own / median : 1};
}

wi_slow_rank wi_speeds_step(wi_speeds *speeds) {
    const double least = 1.5;
    if (++speeds->steps < WI_SPEED_STEPS) return (wi_slow_rank){0};
    const wi_slow_rank found = compare(speeds);
    speeds->steps = 0;
    for (size_t r = 0; r < speeds->ranks; r++) speeds->sums[r] = 0;
    const size_t before = speeds->slowest;
    speeds->slowest = found.factor >= least ? found.rank : SIZE_MAX;
    if (speeds->slowest != before) speeds->is_known = false;
    if (speeds->slowest == SIZE_MAX || speeds->slowest != before || speeds->is_known)
        return (wi_slow_rank){0};
    speeds->is_known = true;
    return found;
}
