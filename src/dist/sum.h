/* Sums over shards. Each process has the numbers of a range of shards; all get the sum over all shards.
 *
 * Additions are done in the order of the shards, so that the bits of the sum depend on the number of shards, but not on how many processes
 * there are. MPI's own reductions do not promise an order. Each process adds up an equal chunk of the numbers: it gets this chunk of every
 * shard, and all get its sums. */
#ifndef WI_SUM_H
#define WI_SUM_H

#include "dist/group.h"

/* Which shards a process has: [first, first + count) of `shards`. */
typedef struct wi_shard_range {
    size_t first, count;
} wi_shard_range;
wi_shard_range wi_shards_of(size_t shards, size_t rank, size_t ranks);
/* The examples of a shard in a batch of `examples` examples: [first, first + count). Shards of one batch differ by at most one example. */
wi_shard_range wi_examples_of(size_t examples, size_t shard, size_t shards);

typedef struct wi_sum {
    weft_distributed *group; /* NULL: this process has all shards */
    const weft_allocator *allocator;
    size_t shards, rank, ranks, rounds; /* rounds: the most shards that a process has */
    wi_shard_range own;
    size_t floats;
    float *slots;    /* of each own shard, `floats` numbers */
    float *received; /* of each shard, this process's chunk; NULL: the process is alone */
    float *result;
    size_t *numbers; /* 4 lists of a number per rank, for an exchange */
    wi_transport_work **work;
    size_t begun; /* rounds of exchanges so far */
} wi_sum;

/* The caller clears the sum, also after an error. WEFT_ERROR_UNSUPPORTED: there are 2^29 numbers or more. */
weft_status wi_sum_init(
    wi_sum *sum, weft_distributed *group, const weft_allocator *allocator, size_t shards, size_t floats);
void wi_sum_clear(wi_sum *sum);
/* Where the numbers of own shard i are stored. */
float *wi_sum_slot(const wi_sum *sum, size_t i);
/* Slot i is filled: its exchange begins. In order of i. */
weft_status wi_sum_begin(wi_sum *sum, size_t i);
/* Waits for all exchanges, and adds. *result: the sums, valid until the next call of wi_sum_begin. */
weft_status wi_sum_finish(wi_sum *sum, const float **result);

#endif
