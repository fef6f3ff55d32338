/* segment_lists.cl: the segments of equal numbers of an index, from the order that sorts it.
 *
 *     index, order (n)   lists (4, n) i32: token, begin, order, of; see src/ops/index/segments.c
 *
 * A number outside 0 .. size - 1 other than -1 is noted, and its segment has the token -1. Work split: cpu, one item; gpu,
 * one group of WEFT_SEGMENT_ITEMS items, of which each takes a share of the order: they count the segments that begin in
 * it, and then know the number of each. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) segment_lists_##suffix
#define WEFT_SEGMENT_ITEMS WEFT_GROUP
#endif

#ifndef WEFT_SEGMENT_LISTS
#define WEFT_SEGMENT_LISTS

static inline bool weft_segment_begins(__global const int *index, __global const int *order, long k) {
    return k == 0 || index[order[k]] != index[order[k - 1]];
}

#endif

/* Goes through the order from `begin` to `end`, where segment `next` - 1 goes on unless one begins; what follows. */
static inline long WEFT_NAME(share)(__global const int *restrict index, __global const int *restrict order,
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
    return next;
}

#if WEFT_LANES == 16

__kernel void WEFT_NAME(lists)(__global const int *restrict index, long index_offset,
    __global const int *restrict order, long order_offset, __global int *restrict lists, long lists_offset,
    __global int *faults, long fault, long n, long size) {
    lists += lists_offset;
    const long count = WEFT_NAME(share)(
        index + index_offset, order + order_offset, lists, faults, fault, n, size, 0, n, 0);
    for (long s = count; s < n; s++) {
        lists[s] = -1;
        lists[n + s] = (int)n;
    }
}

#else

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
    (void)WEFT_NAME(share)(index, order, lists, faults, fault, n, size, begin, end, before);
    for (long s = max(count, begin); s < end; s++) {
        lists[s] = -1;
        lists[n + s] = (int)n;
    }
}

#endif
