/* The gradients of a shard: read in buckets while the backward pass goes on, and exchanged (contract in shards.h). */
#include "base/platform.h"
#include "train/shards.h"

/* ---- the reads of a plan ---- */

/* Adds the reads of the bucket's gradients, from the last to the first. */
static void list_bucket(const wi_shards *shards, wi_shard_plans *plans, size_t b) {
    const wi_divided_update *const divided = &shards->divided;
    const wi_shard_range of = shards->sum.buckets[b].of;
    size_t end = shards->gradients;
    for (size_t i = divided->count; i-- > 0;) {
        const size_t begin = end - divided->bytes[i] / sizeof(float);
        const size_t first = of.first > begin ? of.first : begin,
                     last = of.first + of.count < end ? of.first + of.count : end;
        if (first < last)
            plans->reads.of[plans->reads.count++] = (wi_early_read){.output = divided->gradients[i],
                .first = (first - begin) * sizeof(float),
                .bytes = (last - first) * sizeof(float),
                .at = first * sizeof(float)};
        end = begin;
    }
    plans->read_ends[b] = plans->reads.count;
}

static weft_status list_reads(const wi_shards *shards, wi_shard_plans *plans) {
    const size_t most = shards->sum.bucket_count + shards->divided.count;
    plans->reads =
        (wi_early_reads){.of = wi_allocate_array(shards->allocator, most + 1, sizeof *plans->reads.of)};
    if (!plans->reads.of) return WEFT_ERROR_MEMORY;
    for (size_t b = 0; b < shards->sum.bucket_count; b++) list_bucket(shards, plans, b);
    wi_early_reads_find(plans->loss[0], &plans->reads);
    return WEFT_OK;
}

weft_status wi_shards_list_reads(wi_shards *shards) {
    if (shards->devices.count > 1) return WEFT_OK;
    for (size_t i = 0; i < WI_SHARD_SIZES; i++) {
        wi_shard_plans *const plans = &shards->plans[i];
        if (plans->loss[0] && !plans->reads.of) WI_TRY(list_reads(shards, plans));
    }
    return WEFT_OK;
}

void wi_shards_forget_reads(const wi_shards *shards, wi_shard_plans *plans) {
    wi_early_reads_clear(&plans->reads);
    wi_release(shards->allocator, plans->reads.of);
    plans->reads = (wi_early_reads){0};
}

/* ---- a step ---- */

weft_status wi_shards_run_reading(wi_shards *shards, wi_shard_plans *plans, size_t own) {
    return wi_plan_run_reading(plans->loss[0], &plans->reads, wi_sum_slot(&shards->sum, own));
}

/* Waits for the read, and meanwhile lets exchanges continue, because MPI transfers data only while it is called. Between the calls the thread
 * sleeps, because the device may be the same processor. */
static weft_status wait_for(wi_shards *shards, const weft_plan *plan, wi_early_read *read) {
    const double longest = 500e-6;
    for (double sleeps = 20e-6;; sleeps = sleeps * 2 < longest ? sleeps * 2 : longest) {
        bool done = false;
        WI_TRY(wi_sum_progress(&shards->sum));
        if (wi_sum_is_idle(&shards->sum)) return wi_early_read_wait(plan, read);
        WI_TRY(wi_early_read_test(read, &done));
        if (done) return WEFT_OK;
        wi_clock_sleep(sleeps);
    }
}

weft_status wi_shards_send_gradients(wi_shards *shards, wi_shard_plans *plans, size_t own) {
    wi_early_read *const reads = plans->reads.of;
    size_t done = 0;
    if (shards->sum.ranks == 1) return WEFT_OK; /* the gradients are added after the last shard */
    for (size_t b = 0; b < shards->sum.bucket_count && plans->read_ends[b] > done; b++) {
        for (; done < plans->read_ends[b]; done++) WI_TRY(wait_for(shards, plans->loss[0], &reads[done]));
        WI_TRY(wi_sum_begin_bucket(&shards->sum, own));
    }
    return WEFT_OK;
}

void wi_shards_exchange_seconds(const wi_shards *shards, double *all, double *exposed) {
    *all = shards->sum.seconds;
    *exposed = shards->sum.exposed_seconds;
}
