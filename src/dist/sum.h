/* Sums over shards (parts of a batch). Each process has the numbers of some shards; all processes get the sum over all shards.
 *
 * Additions are done in the order of the shards, so that the bits of the sum depend on the number of shards, but not on how many processes
 * there are. MPI's reductions do not promise an order. Each process adds up an equal *chunk* of the numbers: it receives this chunk of every
 * shard, and sends its sums to all processes.
 *
 * The numbers are exchanged in *buckets*, which the caller fills in turn: bucket 0 has the last gradients, which a backward pass computes
 * first. A bucket is sent as soon as it is filled, and its sums as soon as it has arrived from all processes, while the caller computes the
 * next bucket. All processes do the exchanges in the same order: those of chunks by shard and bucket, those of sums by bucket. */
#ifndef WI_SUM_H
#define WI_SUM_H

#include "dist/group.h"

/* A range of shards, examples or numbers: [first, first + count). */
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
        rounds; /* floats before the late ones, and their sums, are rounded to bf16, also if nothing is exchanged */
} wi_sum_options;

/* A bucket: the numbers [of.first, of.first + of.count) of each shard. */
typedef struct wi_sum_bucket {
    wi_shard_range of;
    size_t bytes;       /* bytes of a number in exchanges: 4, or 2 for bf16 */
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
    float *slots; /* `floats` numbers of each shard of this process */
    unsigned char
        *received; /* this process's chunk of each bucket and shard; NULL: the process has all shards */
    float *result;
    size_t *numbers;          /* 4 lists of a number per rank, for an exchange */
    wi_transport_work **work; /* work[i * bucket_count + b]: the exchange of round i and bucket b */
    /* Counters of this sum: exchanges of chunks that have begun, and that have finished; gathers of sums that have begun, and that have
     * finished. */
    size_t begun, arrived, gathers, gathered;
    double busy_since; /* time at which the exchanges in progress began */
    /* Times over all sums so far: while an exchange was in progress, and the part of it in wi_sum_finish, where the process only waits. */
    double seconds, exposed_seconds;
} wi_sum;

/* The caller clears the sum, also after an error. WEFT_ERROR_UNSUPPORTED: there are 2^29 numbers or more. */
weft_status wi_sum_init(
    wi_sum *sum, weft_distributed *group, const weft_allocator *allocator, const wi_sum_options *options);
void wi_sum_clear(wi_sum *sum);
/* The memory for the numbers of this process's shard i, counted from 0. */
float *wi_sum_slot(const wi_sum *sum, size_t i);
/* The caller has filled the next bucket of slot i; its exchange begins. The calls must be in the order of i, and of buckets. */
weft_status wi_sum_begin_bucket(wi_sum *sum, size_t i);
/* The caller has filled all buckets of slot i; the exchanges of those that have not begun yet begin. */
weft_status wi_sum_begin(wi_sum *sum, size_t i);
/* Lets MPI continue exchanges that have begun, without waiting for them. */
weft_status wi_sum_progress(wi_sum *sum);
bool wi_sum_is_idle(const wi_sum *sum); /* is no exchange in progress? */
/* Waits for all exchanges, and adds up the numbers. *result: the sums, valid until the next call of wi_sum_begin. */
weft_status wi_sum_finish(wi_sum *sum, const float **result);

/* ---- bf16.c ---- */
/* Rounds the numbers to bf16, ties to even. `to` may be the memory of the numbers. */
void wi_bf16_pack(void *to, const float *from, size_t count);
/* Converts bf16 to f32. `from` may be the second half of the memory of `to`. */
void wi_bf16_unpack(float *to, const void *from, size_t count);

#endif
