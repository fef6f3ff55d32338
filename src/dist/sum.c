/* Sums over shards (contract in sum.h). */
#include "dist/sum.h"
#include <string.h>

wi_shard_range wi_shards_of(size_t shards, size_t rank, size_t ranks) {
    const size_t first = rank * shards / ranks;
    return (wi_shard_range){first, (rank + 1) * shards / ranks - first};
}

wi_shard_range wi_examples_of(size_t examples, size_t shard, size_t shards) {
    return wi_shards_of(examples, shard, shards);
}

/* Rank r adds up the numbers [first, first + count) of all shards. */
static wi_shard_range chunk_of(const wi_sum *sum, size_t rank) {
    return wi_shards_of(sum->floats, rank, sum->ranks);
}

weft_status wi_sum_init(
    wi_sum *sum, weft_distributed *group, const weft_allocator *allocator, size_t shards, size_t floats) {
    const size_t ranks = weft_distributed_size(group), rank = weft_distributed_rank(group);
    *sum = (wi_sum){.group = group, .allocator = allocator, .shards = shards, .rank = rank, .ranks = ranks};
    if (floats >= (size_t)1 << 29)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "distributed: a sum of %zu numbers over several processes; at most 2^29 - 1 are supported",
            floats);
    sum->floats = floats;
    sum->own = wi_shards_of(shards, rank, ranks);
    for (size_t r = 0; r < ranks; r++) {
        const size_t count = wi_shards_of(shards, r, ranks).count;
        sum->rounds = count > sum->rounds ? count : sum->rounds;
    }
    sum->slots = wi_allocate_array(allocator, sum->own.count * floats + 1, sizeof(float));
    sum->result = wi_allocate_array(allocator, floats + 1, sizeof(float));
    if (!sum->slots || !sum->result) return WEFT_ERROR_MEMORY;
    if (ranks == 1) return WEFT_OK;
    sum->received = wi_allocate_array(allocator, shards * chunk_of(sum, rank).count + 1, sizeof(float));
    sum->numbers = wi_allocate_array(allocator, 4 * ranks, sizeof *sum->numbers);
    sum->work = wi_allocate_array(allocator, sum->rounds, sizeof *sum->work);
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

/* In round i every process sends its shard i, if it has one. What it receives of a shard is stored at the shard's number. */
weft_status wi_sum_begin(wi_sum *sum, size_t i) {
    char line[WI_TRANSPORT_LINE] = "";
    if (sum->ranks == 1) return WEFT_OK;
    size_t *const send_bytes = sum->numbers, *const send_at = send_bytes + sum->ranks,
                  *const receive_bytes = send_at + sum->ranks, *const receive_at = receive_bytes + sum->ranks;
    const size_t own_chunk = chunk_of(sum, sum->rank).count;
    for (size_t r = 0; r < sum->ranks; r++) {
        const wi_shard_range chunk = chunk_of(sum, r), shards = wi_shards_of(sum->shards, r, sum->ranks);
        send_bytes[r] = i < sum->own.count ? chunk.count * sizeof(float) : 0;
        send_at[r] = chunk.first * sizeof(float);
        receive_bytes[r] = i < shards.count ? own_chunk * sizeof(float) : 0;
        receive_at[r] = i < shards.count ? (shards.first + i) * own_chunk * sizeof(float) : 0;
    }
    const float *const slot = i < sum->own.count ? wi_sum_slot(sum, i) : sum->slots;
    if (!sum->group->transport->exchange(
            &sum->work[i], slot, send_bytes, send_at, sum->received, receive_bytes, receive_at, line))
        WI_FAIL(WEFT_ERROR_PEER, "distributed: %s", line);
    sum->begun = i + 1;
    return WEFT_OK;
}

/* The numbers of this process's chunk of a shard. */
static const float *chunk_of_shard(const wi_sum *sum, size_t shard) {
    return sum->ranks == 1 ? wi_sum_slot(sum, shard) : sum->received + shard * chunk_of(sum, sum->rank).count;
}

weft_status wi_sum_finish(wi_sum *sum, const float **result) {
    const wi_shard_range chunk = chunk_of(sum, sum->rank);
    float *const own = sum->result + chunk.first;
    *result = sum->result;
    for (size_t i = sum->begun; i < sum->rounds && sum->ranks > 1; i++) WI_TRY(wi_sum_begin(sum, i));
    for (size_t i = 0; i < sum->rounds && sum->ranks > 1; i++)
        WI_TRY(wi_group_wait(sum->group, sum->work[i]));
    sum->begun = 0;
    memcpy(own, chunk_of_shard(sum, 0), chunk.count * sizeof *own);
    for (size_t s = 1; s < sum->shards; s++) {
        const float *const added = chunk_of_shard(sum, s);
        for (size_t i = 0; i < chunk.count; i++) own[i] += added[i];
    }
    if (sum->ranks == 1) return WEFT_OK;
    char line[WI_TRANSPORT_LINE] = "";
    wi_transport_work *work = NULL;
    size_t *const bytes = sum->numbers, *const at = bytes + sum->ranks;
    for (size_t r = 0; r < sum->ranks; r++) {
        bytes[r] = chunk_of(sum, r).count * sizeof(float);
        at[r] = chunk_of(sum, r).first * sizeof(float);
    }
    /* MPI does not allow that it reads the memory that it writes. */
    float *const sent = sum->received;
    memcpy(sent, own, chunk.count * sizeof *own);
    if (!sum->group->transport->gather(&work, sent, sum->result, bytes, at, line))
        WI_FAIL(WEFT_ERROR_PEER, "distributed: %s", line);
    return wi_group_wait(sum->group, work);
}
