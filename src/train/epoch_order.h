/* The order of a dataset's examples in an epoch. */
#ifndef WI_EPOCH_ORDER_H
#define WI_EPOCH_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills `order` with 0 .. count - 1, count < 2^32: in this order, or shuffled by seed and epoch. Every order is possible, as far as 64 bits
 * of a state allow. */
void wi_epoch_order(size_t *order, size_t count, bool shuffle, uint64_t seed, uint64_t epoch);

#endif
