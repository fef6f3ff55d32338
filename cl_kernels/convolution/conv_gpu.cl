/* conv_gpu.cl: convolution and its data gradient for devices with many work-items and local memory.
 *
 *     x: images, channels side by side   w: any strides   result: whatever WEFT_STORE makes of an element
 *
 * A matrix product over windows: row = position of the result, column = channel made, step of k = (tap,
 * channel read). A is never written down: as gemm_gpu.cl, but for where a tile of A comes from.
 *
 * pack: writes the weight as panels[k][column], once a run, so that neighbouring items read neighbouring
 * words.
 *
 * tiles: a work-group of GROUP x GROUP items owns a tile of positions and channels of the result, MICRO x
 * MICRO of them per item. It walks k in steps of STEP. With GROUP 16 and MICRO 4, item (x, y) loads step x of
 * k for the rows y, y + 16, y + 32, y + 48: the beginnings of these windows are computed once, and the tap
 * and channel of its k advance by 16. Neighbouring items read neighbouring channels:
 *
 *       image                         tile of A (64 rows, 16 steps)
 *     . . . . . .       tap (t)         x ->  channels c .. c + 15 of one pixel
 *     . w w w . .   ------------>    y  [ row y:      pixel t of its window ]
 *     . w t w . .                       [ row y + 16: pixel t of its window ]
 *
 * MICRO 1 is for few channels or few tiles. The parameters stand in src/kernels/convolution/conv_gpu.c.
 *
 * The data gradient of stride s is s (s², s³) products, "phases": positions with the same remainder meet the
 * same taps, and no multiplication with a stuffed zero is done. Taps are packed phase after phase.
 *
 * The arguments are described in src/kernels/convolution/conv_product.h, the macros before an inclusion
 * (WEFT_NAME, WEFT_EPILOGUE_PARAMETERS, WEFT_STORE) in src/kernels/product/gemm.h. */

#ifndef WEFT_CONV_GPU
#define WEFT_CONV_GPU

WEFT_REQUIRE(weft_conv_gpu_items_are_steps, WEFT_CONV_GPU_STEP == WEFT_CONV_GPU_GROUP);

/* One word more than the tile, so that columns of a tile lie in different banks. */
#define WEFT_CONV_GPU_ROOM (WEFT_CONV_GPU_STEP * (WEFT_CONV_GPU_GROUP * WEFT_CONV_GPU_MICRO + 1))

/* The taps that positions of a phase meet: `count` of them along each axis, index = position in the phase *
 * stride (of a transposed one: 1) + base + number of the tap * step; `order` taps of other phases are packed
 * before them. */
typedef struct weft_conv_gpu_axis {
    int count, order, base, step;
} weft_conv_gpu_axis;

static int weft_conv_gpu_modulo(int a, int n) {
    const int rest = a % n;
    return rest < 0 ? rest + n : rest;
}

WEFT_APART static weft_conv_gpu_axis weft_conv_gpu_taps(
    int phase, int taps, int stride, int dilation, int before, int transposed) {
    weft_conv_gpu_axis axis = {taps, 0, -before, dilation};
    if (!transposed) return axis;
    axis.count = axis.base = axis.step = 0;
    for (int tap = 0; tap < taps; ++tap) {
        const int own = weft_conv_gpu_modulo(tap * dilation - before, stride);
        if (own < phase) ++axis.order;
        if (own != phase) continue;
        const int at = (phase + before - tap * dilation) / stride; /* without a rest */
        if (axis.count == 0) axis.base = at;
        if (axis.count == 1) axis.step = at - axis.base;
        ++axis.count;
    }
    return axis;
}

/* The phase of a tap, and where it stands among those of its phase. */
static int2 weft_conv_gpu_number(int tap, int stride, int dilation, int before, int transposed) {
    if (!transposed) return (int2)(0, tap);
    const int phase = weft_conv_gpu_modulo(tap * dilation - before, stride);
    int number = 0;
    for (int other = 0; other < tap; ++other)
        number += weft_conv_gpu_modulo(other * dilation - before, stride) == phase;
    return (int2)(phase, number);
}

/* What the items of a launch share: axes 0 to 2 are x, y, z. */
typedef struct weft_conv_gpu_problem {
    int images, channels, filters, group, row_tiles, transposed;
    int3 read, made, taps, stride, dilation, before;
    long x_image, x0, x1, x2;
} weft_conv_gpu_problem;

/* A phase of it: `rows` positions, size along each axis; `first` taps are packed before its own. */
typedef struct weft_conv_gpu_phase {
    int3 phase, out, in, size, count, base, step;
    int rows, first;
} weft_conv_gpu_phase;

static weft_conv_gpu_phase weft_conv_gpu_phase_of(const weft_conv_gpu_problem *w, int number) {
    weft_conv_gpu_phase p;
    const int3 one = (int3)(1, 1, 1);
    p.out = w->transposed ? w->stride : one;
    p.in = w->transposed ? one : w->stride;
    p.phase = (int3)(number / p.out.z / p.out.y, number / p.out.z % p.out.y, number % p.out.z);
    p.size = (w->made - p.phase + p.out - 1) / p.out;
    const weft_conv_gpu_axis a0 =
        weft_conv_gpu_taps(p.phase.x, w->taps.x, w->stride.x, w->dilation.x, w->before.x, w->transposed);
    const weft_conv_gpu_axis a1 =
        weft_conv_gpu_taps(p.phase.y, w->taps.y, w->stride.y, w->dilation.y, w->before.y, w->transposed);
    const weft_conv_gpu_axis a2 =
        weft_conv_gpu_taps(p.phase.z, w->taps.z, w->stride.z, w->dilation.z, w->before.z, w->transposed);
    p.count = (int3)(a0.count, a1.count, a2.count);
    p.base = (int3)(a0.base, a1.base, a2.base);
    p.step = (int3)(a0.step, a1.step, a2.step);
    p.first = a0.order * w->taps.y * w->taps.z + a0.count * (a1.order * w->taps.z + a1.count * a2.order);
    p.rows = w->images * p.size.x * p.size.y * p.size.z;
    p.size = max(p.size, one); /* they divide, in a phase without positions too */
    return p;
}

/* The position of a row in its phase: axes, and the image. */
static int4 weft_conv_gpu_position(const weft_conv_gpu_phase *p, int row) {
    const int line = row / p->size.z, plane = line / p->size.y;
    return (int4)(plane % p->size.x, line % p->size.y, row % p->size.z, plane / p->size.x);
}

#define WEFT_CONV_GPU_PARAMETERS                                                                             \
    WEFT_OPERANDS_A *x, long x_offset, __global const float *panels, long panels_offset, int row_tiles,      \
        int images, int channels, int filters, int read0, int read1, int read2, int made0, int made1,        \
        int made2, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,    \
        int dilation1, int dilation2, int before0, int before1, int before2, int transposed, long x_image,   \
        long x0, long x1, long x2
#define WEFT_CONV_GPU_PROBLEM                                                                                \
    {                                                                                                        \
        images, channels, filters, (int)get_group_id(2), row_tiles, transposed, (int3)(read0, read1, read2), \
            (int3)(made0, made1, made2), (int3)(taps0, taps1, taps2), (int3)(stride0, stride1, stride2),     \
            (int3)(dilation0, dilation1, dilation2), (int3)(before0, before1, before2), x_image, x0, x1, x2  \
    }

#endif

#ifndef WEFT_NAME
#define WEFT_NAME(suffix)                          conv_##suffix
#define WEFT_EPILOGUE_PARAMETERS                   , __global float *c, long c_batch, long c_row
#define WEFT_STORE(acc, batch, row, column, lanes) c[(batch)*c_batch + (row)*c_row + (column)] = (acc)
#define WEFT_FORMAT_A                              f32
#define WEFT_FORMAT_B                              f32
#define WEFT_CONV_ALONE
#endif

/* acc = rows top .. of the windows · columns left .. of the weight. */
__attribute__((always_inline)) static inline void WEFT_NAME(multiply)(
    float acc[WEFT_CONV_GPU_MICRO][WEFT_CONV_GPU_MICRO], __local float *a_tile, __local float *b_tile,
    WEFT_OPERANDS_A *x, __global const float *panels, const weft_conv_gpu_problem *w,
    const weft_conv_gpu_phase *p, int top, int left) {
    const int lx = (int)get_local_id(0), ly = (int)get_local_id(1), item = ly * WEFT_CONV_GPU_GROUP + lx;
    const int width = WEFT_CONV_GPU_GROUP * WEFT_CONV_GPU_MICRO;
    const int k = top < p->rows ? p->count.x * p->count.y * p->count.z * w->channels : 0;
    /* Where the windows of this item's rows begin; a row past the last meets nothing. */
    long from[WEFT_CONV_GPU_MICRO];
    int3 at[WEFT_CONV_GPU_MICRO];
    int limit[WEFT_CONV_GPU_MICRO];
    WEFT_UNROLL for (int i = 0; i < WEFT_CONV_GPU_MICRO; ++i) {
        const int row = top + ly + WEFT_CONV_GPU_GROUP * i;
        const int4 place = weft_conv_gpu_position(p, row);
        limit[i] = row < p->rows ? w->read.x : 0;
        at[i] = place.xyz * p->in + p->base;
        from[i] = place.w * w->x_image + at[i].x * w->x0 + at[i].y * w->x1 + at[i].z * w->x2 +
                  (long)w->group * w->channels;
        WEFT_UNROLL for (int j = 0; j < WEFT_CONV_GPU_MICRO; ++j) acc[i][j] = 0.0f;
    }
    panels += (long)p->first * w->channels * w->filters + left;
    int3 tap = (int3)(0, 0, 0);
    int channel = lx;
    for (int start = 0; start < k; start += WEFT_CONV_GPU_STEP) {
        while (channel >= w->channels) {
            channel -= w->channels;
            if (++tap.z < p->count.z) continue;
            tap.z = 0;
            if (++tap.y < p->count.y) continue;
            tap.y = 0;
            ++tap.x;
        }
        const int3 reach = tap * p->step;
        const long further = reach.x * w->x0 + reach.y * w->x1 + reach.z * w->x2 + channel;
        const bool some = start + lx < k;
        WEFT_UNROLL for (int i = 0; i < WEFT_CONV_GPU_MICRO; ++i) {
            const int3 index = at[i] + reach;
            const bool inside = some && index.x >= 0 && index.x < limit[i] && index.y >= 0 &&
                                index.y < w->read.y && index.z >= 0 && index.z < w->read.z;
            a_tile[lx * (width + 1) + ly + WEFT_CONV_GPU_GROUP * i] =
                inside ? WEFT_OF_A(WEFT_GET_)(x, from[i] + further) : 0.0f;
        }
        channel += WEFT_CONV_GPU_STEP;
        WEFT_UNROLL for (int i = 0; i < WEFT_CONV_GPU_MICRO; ++i) {
            const int e = item + WEFT_CONV_GPU_GROUP * WEFT_CONV_GPU_GROUP * i;
            const int step = e / width, column = e % width;
            b_tile[step * (width + 1) + column] = start + step < k && left + column < w->filters
                                                      ? panels[(long)(start + step) * w->filters + column]
                                                      : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int step = 0; step < WEFT_CONV_GPU_STEP; ++step) {
            float from_a[WEFT_CONV_GPU_MICRO];
            WEFT_UNROLL for (int i = 0; i < WEFT_CONV_GPU_MICRO; ++i) from_a[i] =
                a_tile[step * (width + 1) + ly + WEFT_CONV_GPU_GROUP * i];
            WEFT_UNROLL for (int j = 0; j < WEFT_CONV_GPU_MICRO; ++j) {
                const float from_b = b_tile[step * (width + 1) + lx + WEFT_CONV_GPU_GROUP * j];
                WEFT_UNROLL for (int i = 0; i < WEFT_CONV_GPU_MICRO; ++i) acc[i][j] =
                    WEFT_MULTIPLY_ADD(from_a[i], from_b, acc[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* Work-item: an element of the panels, (group, tap, channel, column). */
__kernel __attribute__((reqd_work_group_size(WEFT_CONV_GPU_PACKED, 1, 1))) void WEFT_NAME(pack)(
    WEFT_OPERANDS_B *w, long w_offset, __global float *panels, long panels_offset, int elements, int channels,
    int filters, int taps0, int taps1, int taps2, int stride0, int stride1, int stride2, int dilation0,
    int dilation1, int dilation2, int before0, int before1, int before2, int transposed, long w_group,
    long w_filter, long w_channel, long w0, long w1, long w2) {
    const int element = (int)get_global_id(0);
    if (element >= elements) return;
    const int column = element % filters, channel = element / filters % channels;
    const int all = element / filters / channels, t2 = all % taps2, t1 = all / taps2 % taps1,
              t0 = all / taps2 / taps1 % taps0, group = all / taps2 / taps1 / taps0;
    const int2 n0 = weft_conv_gpu_number(t0, stride0, dilation0, before0, transposed);
    const int2 n1 = weft_conv_gpu_number(t1, stride1, dilation1, before1, transposed);
    const int2 n2 = weft_conv_gpu_number(t2, stride2, dilation2, before2, transposed);
    const weft_conv_gpu_axis a0 = weft_conv_gpu_taps(n0.x, taps0, stride0, dilation0, before0, transposed);
    const weft_conv_gpu_axis a1 = weft_conv_gpu_taps(n1.x, taps1, stride1, dilation1, before1, transposed);
    const weft_conv_gpu_axis a2 = weft_conv_gpu_taps(n2.x, taps2, stride2, dilation2, before2, transposed);
    const int first = a0.order * taps1 * taps2 + a0.count * (a1.order * taps2 + a1.count * a2.order);
    const int place = group * taps0 * taps1 * taps2 + first + (n0.y * a1.count + n1.y) * a2.count + n2.y;
    panels[panels_offset + ((long)place * channels + channel) * filters + column] = WEFT_OF_B(WEFT_GET_)(w,
        w_offset + group * w_group + column * w_filter + channel * w_channel + t0 * w0 + t1 * w1 + t2 * w2);
}

/* Work-group (columns, phase and rows, group). */
__kernel __attribute__((reqd_work_group_size(WEFT_CONV_GPU_GROUP, WEFT_CONV_GPU_GROUP, 1))) void WEFT_NAME(
    tiles)(WEFT_CONV_GPU_PARAMETERS WEFT_EPILOGUE_PARAMETERS) {
    __local float a_tile[WEFT_CONV_GPU_ROOM], b_tile[WEFT_CONV_GPU_ROOM];
    const int width = WEFT_CONV_GPU_GROUP * WEFT_CONV_GPU_MICRO;
    const weft_conv_gpu_problem w = WEFT_CONV_GPU_PROBLEM;
    const weft_conv_gpu_phase p = weft_conv_gpu_phase_of(&w, (int)get_group_id(1) / row_tiles);
    const int top = (int)get_group_id(1) % row_tiles * width, left = (int)get_group_id(0) * width;
    float acc[WEFT_CONV_GPU_MICRO][WEFT_CONV_GPU_MICRO];
    WEFT_NAME(multiply)
    (acc, a_tile, b_tile, x + x_offset,
        panels + panels_offset + (long)w.group * taps0 * taps1 * taps2 * channels * filters, &w, &p, top,
        left);
    WEFT_UNROLL for (int i = 0; i < WEFT_CONV_GPU_MICRO; ++i) {
        const int row = top + (int)get_local_id(1) + WEFT_CONV_GPU_GROUP * i;
        const int4 at = weft_conv_gpu_position(&p, row);
        const int line = (at.w * made0 + at.x * p.out.x + p.phase.x) * made1 + at.y * p.out.y + p.phase.y;
        const int along = at.z * p.out.z + p.phase.z;
        WEFT_UNROLL for (int j = 0; j < WEFT_CONV_GPU_MICRO; ++j) {
            const int column = left + (int)get_local_id(0) + WEFT_CONV_GPU_GROUP * j;
            if (row < p.rows && column < filters)
                WEFT_STORE(acc[i][j], line, along, w.group * filters + column, 1);
        }
    }
}

#ifdef WEFT_CONV_ALONE
#undef WEFT_CONV_ALONE
#undef WEFT_FORMAT_A
#undef WEFT_FORMAT_B
#undef WEFT_NAME
#undef WEFT_EPILOGUE_PARAMETERS
#undef WEFT_STORE
#endif
