/* The median of measurements. */
#ifndef WI_MEDIAN_H
#define WI_MEDIAN_H

#include <stddef.h>

/* Sorts the numbers in place. The median of an even count is the mean of the two middle numbers. count > 0. */
double wi_median(double *numbers, size_t count);

#endif
