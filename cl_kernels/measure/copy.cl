/* copy.cl: y = x, the yardstick of `weft bench map` and `weft bench reduce`. A work-item copies `share`
 * values of WEFT_LANES elements, one after another on cpu-class devices, `items` apart on gpu-class ones. */
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
