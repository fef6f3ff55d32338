/* async_probe.cl: the trial of asynchronous copies (src/cl/async_copies.c). As in gemm_gpu.cl, local memory holds three blocks,
 * two of which are in flight; a block has one quad for each item. The quads of every other block are copied as single numbers,
 * the four numbers of a quad to four different lines. Each item reads a quad that another item copied. The last item copies
 * zeros, from an address that must not be read. */
#include "async_copy.clh"

enum { WEFT_PROBE_ITEMS = 64, WEFT_PROBE_BLOCKS = 9, WEFT_PROBE_STAGES = 3 };

/* Begins to copy the item's quad of a block, if there is such a block. */
__attribute__((always_inline)) static inline void weft_probe_copy(weft_async *copies,
    __local float4 (*tile)[WEFT_PROBE_ITEMS], __global const float4 *in, int block, int item) {
    if (block < WEFT_PROBE_BLOCKS) {
        __local float *const to = (__local float *)tile[block % WEFT_PROBE_STAGES];
        const int there = item < WEFT_PROBE_ITEMS - 1;
        __global const float *const from =
            (__global const float *)(in + (there ? block * WEFT_PROBE_ITEMS + item : INT_MAX));
        if (block % 2) {
            for (int i = 0; i < 4; ++i)
                weft_async_copy_4(copies, to + i * WEFT_PROBE_ITEMS + item, from + i, there);
        } else {
            weft_async_copy_16(copies, to + 4 * item, from, there);
        }
    }
    WEFT_ASYNC_COMMIT(copies);
}

__kernel __attribute__((reqd_work_group_size(WEFT_PROBE_ITEMS, 1, 1))) void weft_async_probe(
    __global const float4 *in, __global float4 *out) {
    __local float4 tile[WEFT_PROBE_STAGES][WEFT_PROBE_ITEMS];
    const int item = (int)get_local_id(0), other = WEFT_PROBE_ITEMS - 1 - item;
    WEFT_ASYNC(copies, 4 * WEFT_PROBE_STAGES);
    weft_probe_copy(copies, tile, in, 0, item);
    weft_probe_copy(copies, tile, in, 1, item);
    for (int block = 0; block < WEFT_PROBE_BLOCKS; ++block) {
        WEFT_ASYNC_WAIT(copies, WEFT_PROBE_STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        weft_probe_copy(copies, tile, in, block + WEFT_PROBE_STAGES - 1, item);
        out[block * WEFT_PROBE_ITEMS + other] = tile[block % WEFT_PROBE_STAGES][other];
    }
}
