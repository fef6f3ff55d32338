/* Sums over shards. Each process has the numbers of a range of shards; all get the sum over all shards.
 *
 * Additions are done in the order of the shards, so that the bits of the sum depend on the number of shards, but not on how many processes
 * there are. MPI's own reductions do not promise an order. Each process adds up an equal chunk of the numbers: it gets this chunk of every
 * shard, and all get its sums.
 *
 * The numbers are exchanged in buckets, which the caller fills in turn: bucket 0 has the last gradients, which a backward pass computes first.
 * A bucket is sent as soon as it is filled, and its sums as soon as it has arrived from all processes, while the caller computes the
 * next. Exchanges are made in the same order in all processes: those of chunks by shard and bucket, those of sums by bucket. */
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

typedef struct wi_sum_options {
    size_t shards, floats;
    /* Rank r has the shards [firsts[r], firsts[r + 1]); valid as long as the sum. NULL: wi_shards_of. */
    const size_t *firsts;
    size_t late; /* of the floats, those at the end, which are filled last: the last bucket has them */
    bool
        rounds; /* the floats before the late ones, and their sums, are rounded to bf16 for the exchange, and also without one */
} wi_sum_options;

/* The numbers [of.first, of.first + of.count) of each shard. */
typedef struct wi_sum_bucket {
    wi_shard_range of;
    size_t bytes;       /* of an exchanged number: 4, or 2 for bf16 */
    size_t received_at; /* where the chunks of all shards begin in `received` */
    wi_transport_work *gather;
} wi_sum_bucket;

enum { WI_SUM_BUCKETS = 17 };
typedef struct wi_sum {
    weft_distributed *group; /* NULL: this process has all shards */
    const weft_allocator *allocator;
    size_t shards, rank, ranks, rounds; /* rounds: the most shards that a process has */
    wi_shard_range own;
    const size_t *firsts; /* NULL: wi_shards_of */
    size_t floats;
    wi_sum_bucket buckets[WI_SUM_BUCKETS];
    size_t bucket_count;
    float *slots;            /* of each own shard, `floats` numbers */
    unsigned char *received; /* of each bucket and shard, this process's chunk; NULL: the process is alone */
    float *result;
    size_t *numbers;          /* 4 lists of a number per rank, for an exchange */
    wi_transport_work **work; /* of the exchange of round i and bucket b: work[i * bucket_count + b] */
    /* Of this sum so far: exchanges of chunks that have begun and that have finished; exchanges of sums, likewise. */
    size_t begun, arrived, gathers, gathered;
    double busy_since; /* when the exchanges in progress began */
    /* Of all sums so far: while some exchange was in progress, and of this the time in wi_sum_finish, when there is nothing else to do. */
    double seconds, exposed_seconds;
} wi_sum;

/* The caller clears the sum, also after an error. WEFT_ERROR_UNSUPPORTED: there are 2^29 numbers or more. */
weft_status wi_sum_init(
    wi_sum *sum, weft_distributed *group, const weft_allocator *allocator, const wi_sum_options *options);
void wi_sum_clear(wi_sum *sum);
/* Where the numbers of own shard i are stored. */
float *wi_sum_slot(const wi_sum *sum, size_t i);
/* The next bucket of slot i is filled: its exchange begins. In order of i, and of buckets. */
weft_status wi_sum_begin_bucket(wi_sum *sum, size_t i);
/* All buckets of slot i are filled: the exchanges of those that have not been exchanged begin. */
weft_status wi_sum_begin(wi_sum *sum, size_t i);
/* Lets exchanges that have begun go on, without waiting. */
weft_status wi_sum_progress(wi_sum *sum);
bool wi_sum_is_idle(const wi_sum *sum); /* no exchange is in progress */
/* Waits for all exchanges, and adds. *result: the sums, valid until the next call of wi_sum_begin. */
weft_status wi_sum_finish(wi_sum *sum, const float **result);

/* ---- bf16.c ---- */
/* The numbers rounded to bf16, to nearest even. `to` may be the memory of the numbers. */
void wi_bf16_pack(void *to, const float *from, size_t count);
/* The reverse. `from` may be the second half of the memory of `to`. */
void wi_bf16_unpack(float *to, const void *from, size_t count);

#endif
