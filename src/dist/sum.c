/* Sums over shards (contract in sum.h). */
#include "dist/sum.h"
#include "base/platform.h"
#include <string.h>

wi_shard_range wi_shards_of(size_t shards, size_t rank, size_t ranks) {
    const size_t first = rank * shards / ranks;
    return (wi_shard_range){first, (rank + 1) * shards / ranks - first};
}

wi_shard_range wi_examples_of(size_t examples, size_t shard, size_t shards) {
    return wi_shards_of(examples, shard, shards);
}

static wi_shard_range shards_of(const wi_sum *sum, size_t rank) {
    if (!sum->firsts) return wi_shards_of(sum->shards, rank, sum->ranks);
    return (wi_shard_range){sum->firsts[rank], sum->firsts[rank + 1] - sum->firsts[rank]};
}

/* Rank r adds up the numbers [first, first + count) of the bucket. */
static wi_shard_range chunk_of(const wi_sum *sum, const wi_sum_bucket *bucket, size_t rank) {
    return wi_shards_of(bucket->of.count, rank, sum->ranks);
}

/* ---- creation ---- */

/* Divides the numbers into buckets, from the end to the beginning: buckets of equal size of at least 1 MiB, because each message has a fixed
 * cost, then a bucket with the late floats. */
static void make_buckets(wi_sum *sum, const wi_sum_options *options) {
    enum { LEAST = 1 << 18 };
    const size_t early = options->floats - options->late, most = sum->ranks == 1 ? 1 : WI_SUM_BUCKETS - 1;
    size_t count = early / LEAST < most ? early / LEAST : most;
    if (count == 0 && early > 0) count = 1;
    for (size_t b = 0; b < count; b++)
        sum->buckets[sum->bucket_count++] = (wi_sum_bucket){
            .of = wi_shards_of(early, count - 1 - b, count), .bytes = options->rounds ? 2 : sizeof(float)};
    if (options->late)
        sum->buckets[sum->bucket_count++] =
            (wi_sum_bucket){.of = {early, options->late}, .bytes = sizeof(float)};
}

/* Sets received_at of all buckets, and returns the bytes of the chunks that this process receives from all shards. */
static size_t place_received(wi_sum *sum) {
    size_t bytes = 0;
    for (size_t b = 0; b < sum->bucket_count; b++) {
        wi_sum_bucket *const bucket = &sum->buckets[b];
        bucket->received_at = bytes;
        bytes += sum->shards * chunk_of(sum, bucket, sum->rank).count * bucket->bytes;
        bytes = (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    }
    return bytes;
}

weft_status wi_sum_init(
    wi_sum *sum, weft_distributed *group, const weft_allocator *allocator, const wi_sum_options *options) {
    const size_t ranks = weft_distributed_size(group), rank = weft_distributed_rank(group),
                 shards = options->shards, floats = options->floats;
    *sum = (wi_sum){.group = group,
        .allocator = allocator,
        .shards = shards,
        .rank = rank,
        .ranks = ranks,
        .firsts = options->firsts};
    if (floats >= (size_t)1 << 29)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "distributed: a sum of %zu numbers over several processes; at most 2^29 - 1 are supported",
            floats);
    sum->floats = floats;
    sum->own = shards_of(sum, rank);
    for (size_t r = 0; r < ranks; r++) {
        const size_t count = shards_of(sum, r).count;
        sum->rounds = count > sum->rounds ? count : sum->rounds;
    }
    make_buckets(sum, options);
    sum->slots = wi_allocate_array(allocator, sum->own.count * floats + 1, sizeof(float));
    sum->result = wi_allocate_array(allocator, floats + 1, sizeof(float));
    if (!sum->slots || !sum->result) return WEFT_ERROR_MEMORY;
    if (ranks == 1) return WEFT_OK;
    sum->received = wi_allocate(allocator, place_received(sum) + 1);
    sum->numbers = wi_allocate_array(allocator, 4 * ranks, sizeof *sum->numbers);
    sum->work = wi_allocate_array(allocator, sum->rounds * sum->bucket_count + 1, sizeof *sum->work);
    return sum->received && sum->numbers && sum->work ? WEFT_OK : WEFT_ERROR_MEMORY;
}

void wi_sum_clear(wi_sum *sum) {
    wi_release(sum->allocator, sum->slots);
    wi_release(sum->allocator, sum->received);
    wi_release(sum->allocator, sum->result);
    wi_release(sum->allocator, sum->numbers);
    wi_release(sum->allocator, sum->work);
    *sum = (wi_sum){0};
}

float *wi_sum_slot(const wi_sum *sum, size_t i) {
    return sum->slots + i * sum->floats;
}

/* ---- chunks ---- */

bool wi_sum_is_idle(const wi_sum *sum) {
    return sum->arrived == sum->begun && sum->gathered == sum->gathers;
}

/* Begins the exchange of a bucket in round i, in which every process sends the chunks of its shard i, if it has so many. Received chunks are
 * stored in the order of the shards' numbers. */
static weft_status exchange(wi_sum *sum, size_t i, const wi_sum_bucket *bucket) {
    char line[WI_TRANSPORT_LINE] = "";
    size_t *const send_bytes = sum->numbers, *const send_at = send_bytes + sum->ranks,
                  *const receive_bytes = send_at + sum->ranks, *const receive_at = receive_bytes + sum->ranks;
    const size_t own_chunk = chunk_of(sum, bucket, sum->rank).count * bucket->bytes;
    for (size_t r = 0; r < sum->ranks; r++) {
        const wi_shard_range chunk = chunk_of(sum, bucket, r), shards = shards_of(sum, r);
        send_bytes[r] = i < sum->own.count ? chunk.count * bucket->bytes : 0;
        send_at[r] = chunk.first * bucket->bytes;
        receive_bytes[r] = i < shards.count ? own_chunk : 0;
        receive_at[r] = i < shards.count ? (shards.first + i) * own_chunk : 0;
    }
    if (sum->group->is_over) WI_FAIL(WEFT_ERROR_PEER, "%s", sum->group->over);
    float *const numbers = (i < sum->own.count ? wi_sum_slot(sum, i) : sum->slots) + bucket->of.first;
    if (bucket->bytes < sizeof(float) && i < sum->own.count) wi_bf16_pack(numbers, numbers, bucket->of.count);
    if (wi_sum_is_idle(sum)) sum->busy_since = wi_clock_seconds();
    if (!sum->group->transport->exchange(&sum->work[sum->begun], numbers, send_bytes, send_at,
            sum->received + bucket->received_at, receive_bytes, receive_at, line))
        WI_FAIL(WEFT_ERROR_PEER, "distributed: %s", line);
    return WEFT_OK;
}

weft_status wi_sum_begin_bucket(wi_sum *sum, size_t i) {
    if (sum->ranks > 1) WI_TRY(exchange(sum, i, &sum->buckets[sum->begun % sum->bucket_count]));
    sum->begun++;
    return WEFT_OK;
}

weft_status wi_sum_begin(wi_sum *sum, size_t i) {
    while (sum->begun < (i + 1) * sum->bucket_count) WI_TRY(wi_sum_begin_bucket(sum, i));
    return WEFT_OK;
}

/* ---- sums ---- */

static void unpack(float *to, const unsigned char *from, const wi_sum_bucket *bucket, size_t count) {
    if (bucket->bytes == sizeof(float))
        memcpy(to, from, count * sizeof *to);
    else
        wi_bf16_unpack(to, from, count);
}

/* own += the numbers of a shard's chunk. */
static void add(float *own, const unsigned char *from, const wi_sum_bucket *bucket, size_t count) {
    enum { PORTION = 512 };
    float added[PORTION];
    for (size_t done = 0, next; done < count; done += next, own += next) {
        next = count - done < PORTION ? count - done : PORTION;
        unpack(added, from + done * bucket->bytes, bucket, next);
        for (size_t i = 0; i < next; i++) own[i] += added[i];
    }
}

/* The chunk of a shard that this process adds up. */
static const unsigned char *chunk_of_shard(const wi_sum *sum, const wi_sum_bucket *bucket, size_t shard) {
    const size_t count = chunk_of(sum, bucket, sum->rank).count;
    return sum->ranks == 1 ? (const unsigned char *)(wi_sum_slot(sum, shard) + bucket->of.first)
                           : sum->received + bucket->received_at + shard * count * bucket->bytes;
}

/* Adds up this process's chunk of a bucket. */
static float *add_chunk(const wi_sum *sum, const wi_sum_bucket *bucket, wi_shard_range chunk) {
    float *const own = sum->result + bucket->of.first + chunk.first;
    unpack(own, chunk_of_shard(sum, bucket, 0), bucket, chunk.count);
    for (size_t s = 1; s < sum->shards; s++) add(own, chunk_of_shard(sum, bucket, s), bucket, chunk.count);
    return own;
}

/* Begins the gather by which all processes get the sums of a bucket. In MPI the sent and the received memory must not overlap. */
static weft_status gather(wi_sum *sum, wi_sum_bucket *bucket) {
    char line[WI_TRANSPORT_LINE] = "";
    size_t *const bytes = sum->numbers, *const at = bytes + sum->ranks;
    const wi_shard_range chunk = chunk_of(sum, bucket, sum->rank);
    float *const own = add_chunk(sum, bucket, chunk);
    unsigned char *const sent = sum->received + bucket->received_at, *const whole =
                                                                         (unsigned char *)(sum->result +
                                                                                           bucket->of.first);
    for (size_t r = 0; r < sum->ranks; r++) {
        bytes[r] = chunk_of(sum, bucket, r).count * bucket->bytes;
        at[r] = chunk_of(sum, bucket, r).first * bucket->bytes;
    }
    if (bucket->bytes == sizeof(float))
        memcpy(sent, own, chunk.count * sizeof *own);
    else
        wi_bf16_pack(sent, own, chunk.count);
    /* Sums in bf16 are received in the second half of the memory, and then unpacked in place. */
    if (!sum->group->transport->gather(&bucket->gather, sent,
            whole + bucket->of.count * (sizeof(float) - bucket->bytes), bytes, at, line))
        WI_FAIL(WEFT_ERROR_PEER, "distributed: %s", line);
    sum->gathers++;
    return WEFT_OK;
}

static void take_gathered(wi_sum *sum) {
    const wi_sum_bucket *const bucket = &sum->buckets[sum->gathered++];
    float *const whole = sum->result + bucket->of.first;
    if (bucket->bytes < sizeof(float))
        wi_bf16_unpack(whole, (unsigned char *)whole + bucket->of.count * bucket->bytes, bucket->of.count);
}

/* Has the next bucket to be gathered arrived from all processes? */
static bool may_gather(const wi_sum *sum) {
    return sum->gathers < sum->bucket_count &&
           sum->arrived > (sum->rounds - 1) * sum->bucket_count + sum->gathers;
}

weft_status wi_sum_progress(wi_sum *sum) {
    bool finished = true;
    if (sum->ranks == 1 || wi_sum_is_idle(sum)) return WEFT_OK;
    while (finished && sum->arrived < sum->begun) {
        WI_TRY(wi_group_test(sum->group, sum->work[sum->arrived], &finished));
        sum->arrived += finished;
    }
    while (may_gather(sum)) WI_TRY(gather(sum, &sum->buckets[sum->gathers]));
    for (finished = true; finished && sum->gathered < sum->gathers;) {
        WI_TRY(wi_group_test(sum->group, sum->buckets[sum->gathered].gather, &finished));
        if (finished) take_gathered(sum);
    }
    if (wi_sum_is_idle(sum)) sum->seconds += wi_clock_seconds() - sum->busy_since;
    return WEFT_OK;
}

/* Adds up all shards in this process, with the same rounding as with exchanges. */
static void add_alone(wi_sum *sum) {
    for (size_t b = 0; b < sum->bucket_count; b++) {
        const wi_sum_bucket *const bucket = &sum->buckets[b];
        for (size_t s = 0; s < sum->shards && bucket->bytes < sizeof(float); s++) {
            float *const numbers = wi_sum_slot(sum, s) + bucket->of.first;
            wi_bf16_pack(numbers, numbers, bucket->of.count);
        }
        float *const whole = add_chunk(sum, bucket, (wi_shard_range){0, bucket->of.count});
        if (bucket->bytes == sizeof(float)) continue;
        unsigned char *const half = (unsigned char *)whole + bucket->of.count * bucket->bytes;
        wi_bf16_pack(whole, whole, bucket->of.count);
        memcpy(half, whole, bucket->of.count * bucket->bytes);
        wi_bf16_unpack(whole, half, bucket->of.count);
    }
}

/* Waits for all exchanges, in the order in which they began. */
static weft_status finish_exchanges(wi_sum *sum) {
    const size_t last = sum->rounds * sum->bucket_count;
    while (sum->begun < last) WI_TRY(wi_sum_begin_bucket(sum, sum->begun / sum->bucket_count));
    while (sum->gathered < sum->bucket_count) {
        wi_transport_work *const next =
            sum->arrived < last ? sum->work[sum->arrived] : sum->buckets[sum->gathered].gather;
        WI_TRY(wi_group_wait(sum->group, next));
        if (sum->arrived < last)
            sum->arrived++;
        else
            take_gathered(sum);
        while (may_gather(sum)) WI_TRY(gather(sum, &sum->buckets[sum->gathers]));
    }
    return WEFT_OK;
}

weft_status wi_sum_finish(wi_sum *sum, const float **result) {
    const double began = wi_clock_seconds();
    *result = sum->result;
    if (sum->ranks == 1) {
        add_alone(sum);
    } else {
        const bool was_idle = wi_sum_is_idle(sum) && sum->begun == sum->rounds * sum->bucket_count;
        WI_TRY(finish_exchanges(sum));
        const double now = wi_clock_seconds();
        if (!was_idle) sum->seconds += now - sum->busy_since;
        sum->exposed_seconds += now - began;
    }
    sum->begun = sum->arrived = sum->gathers = sum->gathered = 0;
    return WEFT_OK;
}
