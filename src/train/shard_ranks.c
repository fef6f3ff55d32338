/* Which process computes which shards (contract in shards.h).
 *
 * The first epoch has ranges of equal size. Each step measures how long each process needs for a shard, and tells all. Before a later epoch the
 * shards are divided again if the slowest process would then need a tenth less. Gradients are added in the order of the shards, whoever has them,
 * so that no bit depends on the division. */
#include "base/log.h"
#include "train/shards.h"
#include <string.h>

/* The first steps compile kernels and keep them on disk. */
enum { STEPS_BEFORE = 3 };

wi_shard_range wi_shards_of_rank(const wi_shards *shards, size_t rank) {
    const size_t *const firsts = shards->by_rank.firsts;
    if (!firsts) return wi_shards_of(shards->count, rank, weft_distributed_size(shards->group));
    return (wi_shard_range){firsts[rank], firsts[rank + 1] - firsts[rank]};
}

weft_status wi_shards_reserve_ranks(wi_shards *shards) {
    wi_shard_ranks *const by_rank = &shards->by_rank;
    const size_t ranks = weft_distributed_size(shards->group);
    if (ranks == 1 || by_rank->firsts) return WEFT_OK;
    wi_release(shards->allocator, by_rank->seconds); /* of an earlier call that ran out of memory */
    by_rank->seconds = wi_allocate_array(shards->allocator, ranks, sizeof *by_rank->seconds);
    if (!by_rank->seconds) return WEFT_ERROR_MEMORY;
    by_rank->firsts = wi_allocate_array(shards->allocator, 2 * ranks + 1, sizeof *by_rank->firsts);
    if (!by_rank->firsts) return WEFT_ERROR_MEMORY;
    for (size_t r = 0; r <= ranks; r++) by_rank->firsts[r] = r * shards->count / ranks;
    return WEFT_OK;
}

void wi_shards_note_seconds(wi_shards *shards) {
    wi_shard_ranks *const by_rank = &shards->by_rank;
    if (!by_rank->firsts || ++by_rank->steps <= STEPS_BEFORE) return;
    for (size_t r = 0; r < weft_distributed_size(shards->group); r++) {
        const wi_shard_range of = wi_shards_of_rank(shards, r);
        by_rank->seconds[r] += shards->results[of.first].seconds / (double)of.count;
    }
}

void wi_count_shards(size_t *counts, const double *seconds, size_t ranks, size_t shards, size_t least) {
    for (size_t r = 0; r < ranks; r++) counts[r] = least;
    for (size_t given = ranks * least; given < shards; given++) {
        size_t best = ranks;
        for (size_t r = 0; r < ranks; r++) {
            if (counts[r] == WI_MAX_OWN_SHARDS) continue;
            const double end = (double)(counts[r] + 1) * seconds[r];
            if (best == ranks || end < (double)(counts[best] + 1) * seconds[best]) best = r;
        }
        counts[best]++;
    }
}

/* The seconds of the slowest rank. counts: of each rank; NULL: those that it has. */
static double slowest(const wi_shards *shards, const size_t *counts) {
    double most = 0;
    for (size_t r = 0; r < weft_distributed_size(shards->group); r++) {
        const size_t count = counts ? counts[r] : wi_shards_of_rank(shards, r).count;
        const double own = (double)count * shards->by_rank.seconds[r];
        most = own > most ? own : most;
    }
    return most;
}

/* The devices of this process divide another number of shards. What they were measured at remains. */
static void divide_devices(wi_shards *shards) {
    const wi_shard_devices before = shards->devices;
    wi_shard_devices_init(&shards->devices, before.count, shards->own.count, shards->equal_devices);
    if (before.seconds[0] <= 0) return;
    shards->devices.waits = 0;
    memcpy(shards->devices.seconds, before.seconds, sizeof before.seconds);
    wi_shard_devices_divide(&shards->devices);
}

static weft_status take(wi_shards *shards, const size_t *counts) {
    const size_t rank = weft_distributed_rank(shards->group);
    const double seconds = shards->sum.seconds, exposed = shards->sum.exposed_seconds;
    size_t *const firsts = shards->by_rank.firsts;
    for (size_t r = 0; r < weft_distributed_size(shards->group); r++) {
        firsts[r + 1] = firsts[r] + counts[r];
        if (rank == 0)
            wi_log_line(&shards->part->graph->context->log, WEFT_LOG_INFO,
                "rank %zu computes %zu of %zu gradient shards, %.3g s each", r, counts[r], shards->count,
                shards->by_rank.seconds[r] / (double)(shards->by_rank.steps - STEPS_BEFORE));
    }
    shards->own = wi_shards_of_rank(shards, rank);
    divide_devices(shards);
    wi_sum_clear(&shards->sum);
    const weft_status status = wi_shards_init_sum(shards);
    shards->sum.seconds = seconds;
    shards->sum.exposed_seconds = exposed;
    return status;
}

weft_status wi_shards_divide_ranks(wi_shards *shards, bool *changes) {
    wi_shard_ranks *const by_rank = &shards->by_rank;
    const size_t ranks = weft_distributed_size(shards->group);
    weft_status status = WEFT_OK;
    const bool may_divide = by_rank->may_divide && by_rank->steps > STEPS_BEFORE;
    by_rank->may_divide = false;
    if (!may_divide) return WEFT_OK;
    size_t *const counts = by_rank->firsts + ranks + 1;
    wi_count_shards(counts, by_rank->seconds, ranks, shards->count, shards->devices.count);
    *changes = slowest(shards, counts) < 0.9 * slowest(shards, NULL);
    if (*changes) status = take(shards, counts);
    memset(by_rank->seconds, 0, ranks * sizeof *by_rank->seconds);
    by_rank->steps = STEPS_BEFORE;
    return status;
}
