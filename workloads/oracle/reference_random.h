/* The generator of random numbers, written down from its paper: Philox4x32-10 (J. K. Salmon et al., "Parallel random numbers: as
 * easy as 1, 2, 3", SC 2011). */
#ifndef REFERENCE_RANDOM_H
#define REFERENCE_RANDOM_H

#include "oracle/reference.h"

void f64_philox(uint32_t x[4], uint32_t key0, uint32_t key1);
/* What element `index` of random node `stream` is drawn from in a run, which are counted from 1. */
void f64_random_words(uint64_t seed, uint64_t index, uint32_t stream, uint32_t run, uint32_t words[4]);
/* In 0 .. 1, a multiple of 2^-24; a normal number (Box and Muller 1958) and the radius that its error is measured by. */
double f64_uniform_of(const uint32_t words[4]);
double f64_normal_of(const uint32_t words[4], double *radius);

#endif
