/* The median of measurements (contract in median.h). */
#include "base/median.h"
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

double wi_median(double *numbers, size_t count) {
    qsort(numbers, count, sizeof *numbers, ascending);
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2.0;
}
