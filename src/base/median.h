/* The median of measurements. */
#ifndef WI_MEDIAN_H
#define WI_MEDIAN_H

#include <stddef.h>

/* Sorts them. Of an even count it is the mean of the two in the middle; count must not be 0. */
double wi_median(double *numbers, size_t count);

#endif
