/* peak_amx.cl: the largest number of operations a second of the matrix engine AMX, for `weft bench`: products of tiles that stay in the
 * tile registers, four of sums, two of A and two of B. */
#include "amx.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void peak_amx(__global float *result, int rounds) {
    float sums[WEFT_AMX_TILE] __attribute__((aligned(64)));
    weft_amx_engine engine;
    weft_amx_begin(&engine);
    WEFT_AMX_ZERO(&engine, 0);
    WEFT_AMX_ZERO(&engine, 1);
    WEFT_AMX_ZERO(&engine, 2);
    WEFT_AMX_ZERO(&engine, 3);
    WEFT_AMX_ZERO(&engine, 4);
    WEFT_AMX_ZERO(&engine, 5);
    WEFT_AMX_ZERO(&engine, 6);
    WEFT_AMX_ZERO(&engine, 7);
    for (int round = 0; round < rounds; ++round) {
        WEFT_AMX_MULTIPLY(&engine, 0, 4, 6);
        WEFT_AMX_MULTIPLY(&engine, 1, 4, 7);
        WEFT_AMX_MULTIPLY(&engine, 2, 5, 6);
        WEFT_AMX_MULTIPLY(&engine, 3, 5, 7);
    }
    WEFT_AMX_STORE(&engine, 0, sums);
    WEFT_AMX_RELEASE(&engine);
    result[get_global_id(0)] = sums[0];
}
