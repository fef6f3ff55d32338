/* The order of a dataset's examples in an epoch. */
#ifndef WI_EPOCH_ORDER_H
#define WI_EPOCH_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills `order` with 0 .. count - 1, count < 2^32: in ascending order, or shuffled by seed and epoch. The generator has 64 bits of state, so
 * at most 2^64 different orders occur. */
void wi_epoch_order(size_t *order, size_t count, bool shuffle, uint64_t seed, uint64_t epoch);

#endif
