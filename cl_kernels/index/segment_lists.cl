/* segment_lists.cl: the segments of equal numbers of an index.
 *
 *     index (n)   lists (4, n) i32: token (the number that the indices of a segment have), begin, order, of (the picture is in
 *     src/ops/index/segments.c)
 *
 * A number outside 0 .. size - 1 other than -1 is reported as a fault, and its segment has the token -1.
 *
 * Class cpu: one item sorts pairs of a number and its position, as one number of 64 bits, by radix (LSD; Knuth, TAOCP 3, 5.2.5), in as few
 * passes as the table's size allows, and then writes the lists. Class gpu: one group of WEFT_SEGMENT_ITEMS items gets the order as a second
 * input. Each item has a range of the order: the items count the segments that begin in their ranges, so that each knows the number of its
 * first segment. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)  segment_lists_##suffix
#define WEFT_SEGMENT_ITEMS WEFT_GROUP
#define WEFT_SEGMENT_DIGIT 11
#endif

#if WEFT_LANES == 16

#ifndef WEFT_SEGMENT_LISTS
#define WEFT_SEGMENT_LISTS

/* The passes over a number of 32 bits, by digits of at most WEFT_SEGMENT_DIGIT bits. */
#define WEFT_SEGMENT_PASSES ((32 + WEFT_SEGMENT_DIGIT - 1) / WEFT_SEGMENT_DIGIT)

/* Writes the pairs of the index into `elements`, and counts how often each digit occurs in each pass. */
static inline void weft_segment_count(__global const int *restrict index, __global ulong *restrict elements,
    __global int *faults, long fault, long n, long size, int passes, int bits, __private uint *counts) {
    for (int i = 0; i < passes << bits; i++) counts[i] = 0;
    for (long j = 0; j < n; j++) {
        const int token = index[j];
        const bool good = token >= 0 && token < size;
        const uint key = good ? (uint)token + 1 : 0;
        if (!good && token != -1) WEFT_FAULT(faults, fault, j);
        elements[j] = (ulong)key << 32 | (ulong)j;
        for (int pass = 0; pass < passes; pass++)
            counts[pass << bits | (int)(key >> pass * bits & ((1u << bits) - 1))]++;
    }
}

/* One pass of the sort, from a to b, by the digit that is counted in `counts`. */
static inline void weft_segment_pass(__global const ulong *restrict a, __global ulong *restrict b, long n,
    int shift, uint mask, __private uint *counts) {
    uint sum = 0;
    for (uint i = 0; i <= mask; i++) {
        const uint here = counts[i];
        counts[i] = sum;
        sum += here;
    }
    for (long j = 0; j < n; j++) b[counts[(uint)(a[j] >> shift) & mask]++] = a[j];
}

/* Writes the lists from the sorted elements. */
static inline void weft_segment_write(
    __global const ulong *restrict sorted, __global int *restrict lists, long n) {
    long count = 0;
    for (long k = 0; k < n; k++) {
        const int at = (int)(uint)sorted[k], token = (int)(sorted[k] >> 32) - 1;
        if (k == 0 || sorted[k] >> 32 != sorted[k - 1] >> 32) {
            lists[count] = token;
            lists[n + count++] = (int)k;
        }
        lists[2 * n + k] = at;
        lists[3 * n + at] = (int)count - 1;
    }
    for (long s = count; s < n; s++) {
        lists[s] = -1;
        lists[n + s] = (int)n;
    }
}

#endif

__kernel WEFT_ITEMS(1) void WEFT_NAME(lists)(__global const int *restrict index, long index_offset,
    __global int *restrict lists, long lists_offset, __global int *restrict memory, long memory_offset,
    __global int *faults, long fault, long n, long size, int passes, int bits) {
    uint counts[WEFT_SEGMENT_PASSES << WEFT_SEGMENT_DIGIT];
    __global ulong *a = (__global ulong *)(memory + memory_offset), *b = a + n;
    weft_segment_count(index + index_offset, a, faults, fault, n, size, passes, bits, counts);
    for (int pass = 0; pass < passes; pass++) {
        weft_segment_pass(a, b, n, 32 + pass * bits, (1u << bits) - 1, counts + (pass << bits));
        __global ulong *const swap = a;
        a = b;
        b = swap;
    }
    weft_segment_write(a, lists + lists_offset, n);
}

#else

#ifndef WEFT_SEGMENT_LISTS
#define WEFT_SEGMENT_LISTS

static inline bool weft_segment_begins(__global const int *index, __global const int *order, long k) {
    return k == 0 || index[order[k]] != index[order[k - 1]];
}

#endif

/* Writes the lists for positions begin .. end - 1 of the order. `next` is the number of the first segment that begins there; positions
 * before that belong to the segment of the preceding number, which began earlier. */
static inline void WEFT_NAME(share)(__global const int *restrict index, __global const int *restrict order,
    __global int *restrict lists, __global int *faults, long fault, long n, long size, long begin, long end,
    long next) {
    for (long k = begin; k < end; k++) {
        const int at = order[k], token = index[at];
        if (weft_segment_begins(index, order, k)) {
            const bool good = token >= 0 && token < size;
            if (!good && token != -1) WEFT_FAULT(faults, fault, at);
            lists[next] = good ? token : -1;
            lists[n + next++] = (int)k;
        }
        lists[2 * n + k] = at;
        lists[3 * n + at] = (int)next - 1;
    }
}

__kernel __attribute__((reqd_work_group_size(WEFT_SEGMENT_ITEMS, 1, 1))) void WEFT_NAME(lists)(
    __global const int *restrict index, long index_offset, __global const int *restrict order,
    long order_offset, __global int *restrict lists, long lists_offset, __global int *faults, long fault,
    long n, long size) {
    __local int counts[WEFT_SEGMENT_ITEMS];
    const int item = (int)get_local_id(0);
    const long each = (n + WEFT_SEGMENT_ITEMS - 1) / WEFT_SEGMENT_ITEMS, begin = min(item * each, n),
               end = min(begin + each, n);
    int own = 0;
    index += index_offset;
    order += order_offset;
    lists += lists_offset;
    for (long k = begin; k < end; k++) own += weft_segment_begins(index, order, k);
    counts[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    long before = 0, count = 0;
    for (int i = 0; i < WEFT_SEGMENT_ITEMS; i++) {
        before += i < item ? counts[i] : 0;
        count += counts[i];
    }
    WEFT_NAME(share)(index, order, lists, faults, fault, n, size, begin, end, before);
    for (long s = max(count, begin); s < end; s++) {
        lists[s] = -1;
        lists[n + s] = (int)n;
    }
}

#endif
