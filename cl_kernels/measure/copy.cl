/* copy.cl: y = x, with which `weft bench map` and `weft bench reduce` compare. A work-item copies `share` values of WEFT_LANES elements:
 * contiguous values on devices of class cpu, values `items` apart on devices of class gpu. The kernel `read` reads twice as many values,
 * and writes only the sum of each item. */
#if WEFT_LANES == 16
__attribute__((reqd_work_group_size(1, 1, 1)))
#else
__attribute__((reqd_work_group_size(64, 1, 1)))
#endif
__kernel void
copy(__global const float *x, __global float *y, const int share, const int items) {
    const long item = (long)get_global_id(0);
#if WEFT_LANES == 16
    for (long i = item * share * 16; i < (item + 1) * share * 16; i += 16)
        vstore16(vload16(0, x + i), 0, y + i);
    (void)items;
#else
    for (int i = 0; i < share; i++) y[item + (long)i * items] = x[item + (long)i * items];
#endif
}

#if WEFT_LANES == 16
__attribute__((reqd_work_group_size(1, 1, 1)))
#else
__attribute__((reqd_work_group_size(64, 1, 1)))
#endif
__kernel void
read(__global const float *x, __global float *y, const int share, const int items) {
    const long item = (long)get_global_id(0);
#if WEFT_LANES == 16
    const __global float16 *from = (const __global float16 *)x + item * share * 2;
    float16 sum = 0.0f, other = 0.0f;
    for (int i = 0; i < share; ++i) {
        sum += from[2 * i];
        other += from[2 * i + 1];
    }
    vstore16(sum + other, item, y);
    (void)items;
#else
    float sum = 0.0f;
    for (int i = 0; i < 2 * share; i++) sum += x[item + (long)i * items];
    y[item] = sum;
#endif
}
