/* select_rows.cl: the numbers of the rows that a mask chooses, then those of all other rows, both in order; the first k of them.
 *
 *     mask (n) i32   y (k):   mask 0 1 1 0 1, k = 4   ->   y 1 2 4 0
 *
 * If more than k rows are chosen, the first for which y has no place is reported as a fault. Class cpu: one item. Class gpu: one group of
 * WEFT_SELECT_ITEMS items, each of which has a range of the mask. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) select_rows_##suffix
#define WEFT_SELECT_ITEMS WEFT_GROUP
#endif

#if WEFT_LANES == 16

__kernel void WEFT_NAME(rows)(__global const int *restrict mask, long mask_offset, __global int *restrict y,
    long y_offset, __global int *faults, long fault, long n, long k) {
    long chosen = 0, other = 0;
    mask += mask_offset;
    y += y_offset;
    for (long j = 0; j < n; j++) other += mask[j] != 0;
    for (long j = 0; j < n; j++) {
        const long rank = mask[j] ? chosen++ : other++;
        if (rank < k)
            y[rank] = (int)j;
        else if (mask[j])
            WEFT_FAULT(faults, fault, j);
    }
}

#else

__kernel __attribute__((reqd_work_group_size(WEFT_SELECT_ITEMS, 1, 1))) void WEFT_NAME(rows)(
    __global const int *restrict mask, long mask_offset, __global int *restrict y, long y_offset,
    __global int *faults, long fault, long n, long k) {
    __local int counts[WEFT_SELECT_ITEMS], before[WEFT_SELECT_ITEMS + 1];
    const int item = (int)get_local_id(0);
    const long share = (n + WEFT_SELECT_ITEMS - 1) / WEFT_SELECT_ITEMS, begin = min(item * share, n),
               end = min(begin + share, n);
    int count = 0;
    mask += mask_offset;
    y += y_offset;
    for (long j = begin; j < end; j++) count += mask[j] != 0;
    counts[item] = count;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        int sum = 0;
        for (int i = 0; i < WEFT_SELECT_ITEMS; i++) {
            before[i] = sum;
            sum += counts[i];
        }
        before[WEFT_SELECT_ITEMS] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    long chosen = before[item], other = before[WEFT_SELECT_ITEMS] + begin - before[item];
    for (long j = begin; j < end; j++) {
        const long rank = mask[j] ? chosen++ : other++;
        if (rank < k)
            y[rank] = (int)j;
        else if (mask[j])
            WEFT_FAULT(faults, fault, j);
    }
}

#endif
