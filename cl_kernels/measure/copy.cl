/* copy.cl: y = x, the yardstick of `weft bench map` and `weft bench reduce`. A work-item copies `share`
 * values of WEFT_LANES elements, one after another on cpu-class devices, `items` apart on gpu-class ones.
 * read: twice as many values, of which only the sum is written. */
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
