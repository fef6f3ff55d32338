/* scan.cl: running sums, products and linear recurrences along one axis.
 *
 *     x, b, y (outer, n, inner), contiguous; along each line of n elements, s before the first element is
 *
 *     WEFT_KIND 0, sum         s = 0    s <- s + x[j]
 *     WEFT_KIND 1, product     s = 1    s <- s * x[j]
 *     WEFT_KIND 2, recurrence  s = 0    s <- x[j] * s + b[j], where x[j] = 0 removes s, even inf or NaN
 *
 *     y[j] = s after j (form 0), s before j (form 1), or, recurrence only, x[j-1] * y[j-1] + b[j] (form 2)
 *
 * backwards: from the last element to the first. A scan combines states by an associative operation, so a line may be divided into splits:
 *
 *     pass 0      [ split 0 ] [ split 1 ] [ split 2 ]      the total of each split is stored in `totals`
 *     pass 1      [ split 0 ] [ split 1 ] [ split 2 ]      each split begins with the totals before it, and computes y
 *
 * One split needs only pass 1. Float sums carry their rounding errors along (two-sum: Knuth, TAOCP 2, 4.2.2). So do products, which also
 * have a separate exponent. Neither the length nor the order of a line then makes results inexact or lets them overflow early.
 *
 * columns: an item walks along the axis with WEFT_LANES neighbouring lines. lines (inner = 1): an item of class cpu scans 16 elements at a
 * time; a group of class gpu scans tiles of WEFT_GROUP * WEFT_SCAN_TILE elements. An item has `lines_an_item` lines (or vectors of lines)
 * of one split. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) scan_##suffix
#define WEFT_KIND         0
#define WEFT_FLOAT        1
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

#ifndef WEFT_SCAN
#define WEFT_SCAN

/* The state of a scan. Float sum: b + a, where a is the rounding error. Product: (a + b) * 2^e, where b is the rounding error. Recurrence:
 * the function s -> a * 2^e * s + b. Integers: e. */
typedef struct weft_scan_state {
    WF a;
    WI e;
    WF b;
} weft_scan_state;

#define WEFT_SCAN_STORED (WEFT_SCAN_STATE * WEFT_LANES) /* ints of a state in memory */

static inline void weft_scan_store(weft_scan_state s, __global int *p) {
#if WEFT_LANES == 16
    vstore16(as_int16(s.a), 0, p);
    vstore16(s.e, 0, p + 16);
    vstore16(as_int16(s.b), 0, p + 32);
#else
    p[0] = as_int(s.a);
    p[1] = s.e;
    p[2] = as_int(s.b);
#endif
}
static inline weft_scan_state weft_scan_load(__global const int *p) {
    weft_scan_state s;
#if WEFT_LANES == 16
    s.a = as_float16(vload16(0, p));
    s.e = vload16(0, p + 16);
    s.b = as_float16(vload16(0, p + 32));
#else
    s.a = as_float(p[0]);
    s.e = p[1];
    s.b = as_float(p[2]);
#endif
    return s;
}

/* x = a * 2^e with 0.5 <= |a| < 1, or e = 0 and a = x, if x is 0, infinite or NaN. (frexp is not used, because Oclgrind does not support
 * its pointer argument.) */
static inline void weft_scan_split(WF x, WF *a, WI *e) {
    const WI tiny = (WI)(fabs(x) < (WF)(0x1p-100f)), whole = (WI)(isfinite(x) & (x != (WF)(0.0f)));
    const WI bits = WEFT_AS_WI(select(x, x * (WF)(0x1p100f), tiny));
    const WI exponent = ((bits >> (WI)(23)) & (WI)(255)) - select((WI)(126), (WI)(226), tiny);
    *a = select(x, WEFT_AS_WF((bits & (WI)(0x807FFFFF)) | (WI)(0x3F000000)), whole);
    *e = select((WI)(0), exponent, whole);
}
static inline WF weft_scan_scale(WF x, WI e) {
    return ldexp(x, clamp(e, (WI)(-400), (WI)(400)));
}

#if WEFT_LANES == 16
#define WEFT_SCAN_LOAD_float(p, at, lanes)                                                                   \
    ((lanes) == 16 ? weft_load_f32(p, at) : weft_load_tail_f32(p, at, (int)(lanes)))
#define WEFT_SCAN_LOAD_int(p, at, lanes)                                                                     \
    ((lanes) == 16 ? weft_load_i32(p, at) : weft_load_tail_i32(p, at, (int)(lanes)))
static inline void weft_scan_put_float(float16 v, __global float *p, long at, int lanes) {
    if (lanes == 16)
        vstore16(v, 0, p + at);
    else
        weft_store_tail_f32(v, p, at, lanes);
}
static inline void weft_scan_put_int(int16 v, __global int *p, long at, int lanes) {
    if (lanes == 16)
        vstore16(v, 0, p + at);
    else
        weft_store_tail_i32(v, p, at, lanes);
}
/* Loads `lanes` elements from `at` on, upwards or, if backwards, downwards. */
static inline float16 weft_scan_load_line_float(__global const float *p, long at, int lanes, int backwards) {
    if (lanes < 16) return weft_load_strided_f32(p, at, backwards ? -1 : 1, lanes);
    return backwards ? vload16(0, p + at - 15).sfedcba9876543210 : vload16(0, p + at);
}
static inline int16 weft_scan_load_line_int(__global const int *p, long at, int lanes, int backwards) {
    if (lanes < 16) return weft_load_strided_i32(p, at, backwards ? -1 : 1, lanes);
    return backwards ? vload16(0, p + at - 15).sfedcba9876543210 : vload16(0, p + at);
}
static inline void weft_scan_store_line_float(
    float16 v, __global float *p, long at, int lanes, int backwards) {
    if (lanes < 16)
        weft_store_strided_f32(v, p, at, backwards ? -1 : 1, lanes);
    else if (backwards)
        vstore16(v.sfedcba9876543210, 0, p + at - 15);
    else
        vstore16(v, 0, p + at);
}
static inline void weft_scan_store_line_int(int16 v, __global int *p, long at, int lanes, int backwards) {
    if (lanes < 16)
        weft_store_strided_i32(v, p, at, backwards ? -1 : 1, lanes);
    else if (backwards)
        vstore16(v.sfedcba9876543210, 0, p + at - 15);
    else
        vstore16(v, 0, p + at);
}
/* The state `distance` lanes to the left; the first lanes get `otherwise`. */
#define WEFT_SCAN_SHIFT(s, otherwise, distance, lanes)                                                       \
    (weft_scan_state) {                                                                                      \
        select((s).a.lanes, (otherwise).a, WEFT_LANE_INDEX < (int16)(distance)),                             \
            select((s).e.lanes, (otherwise).e, WEFT_LANE_INDEX < (int16)(distance)),                         \
            select((s).b.lanes, (otherwise).b, WEFT_LANE_INDEX < (int16)(distance))                          \
    }
#else
#define WEFT_SCAN_LOAD_float(p, at, lanes)   ((p)[at])
#define WEFT_SCAN_LOAD_int(p, at, lanes)     ((p)[at])
#define weft_scan_put_float(v, p, at, lanes) ((p)[at] = (v))
#define weft_scan_put_int(v, p, at, lanes)   ((p)[at] = (v))
#endif

#endif

#if WEFT_FLOAT
#define WEFT_S          float
#define WEFT_V          WF
#define WEFT_LOAD       WEFT_SCAN_LOAD_float
#define WEFT_PUT        weft_scan_put_float
#define WEFT_LOAD_LINE  weft_scan_load_line_float
#define WEFT_STORE_LINE weft_scan_store_line_float
#else
#define WEFT_S          int
#define WEFT_V          WI
#define WEFT_LOAD       WEFT_SCAN_LOAD_int
#define WEFT_PUT        weft_scan_put_int
#define WEFT_LOAD_LINE  weft_scan_load_line_int
#define WEFT_STORE_LINE weft_scan_store_line_int
#endif

/* ---- states ---- */

static inline weft_scan_state WEFT_NAME(nothing)(void) {
    weft_scan_state s;
    s.a = (WF)(WEFT_KIND == 0 ? 0.0f : 0.5f);
    s.e = (WI)(WEFT_KIND == 0 ? 0 : 1);
    s.b = (WF)(0.0f);
    return s;
}

static inline weft_scan_state WEFT_NAME(element)(WEFT_V x, WEFT_V b, int form) {
    weft_scan_state s = WEFT_NAME(nothing)();
#if !WEFT_FLOAT
    s.e = x;
#elif WEFT_KIND == 0
    s.b = x;
#else
    weft_scan_split(x, &s.a, &s.e);
#if WEFT_KIND == 2
    s.b = form == 2 ? select(x * b, (WF)(0.0f), (WI)(x == (WF)(0.0f))) : b;
#endif
#endif
    return s;
}

static inline weft_scan_state WEFT_NAME(combine)(weft_scan_state first, weft_scan_state second) {
    weft_scan_state s = first;
#if !WEFT_FLOAT
    s.e = WEFT_KIND == 0 ? first.e + second.e : first.e * second.e;
#elif WEFT_KIND == 0
    s.b = first.b + second.b;
    const WF added = s.b - first.b;
    const WF error = (first.b - (s.b - added)) + (second.b - added);
    s.a = first.a + second.a + select((WF)(0.0f), error, (WI)(isfinite(s.b)));
#else
    const WF a = first.a * second.a;
    const WI small = (WI)(fabs(a) < (WF)(0.5f));
    s.a = select(a, a + a, small);
    s.e = clamp(first.e + second.e - select((WI)(0), (WI)(1), small), (WI)(-(1 << 28)), (WI)(1 << 28));
#if WEFT_KIND == 1
    const WF error = fma(first.a, second.a, -a) + fma(first.a, second.b, first.b * second.a);
    s.b = select((WF)(0.0f), select(error, error + error, small), (WI)(isfinite(a)));
#else
    const WF kept = weft_scan_scale(first.b * second.a, second.e);
    s.b = second.b + select(kept, (WF)(0.0f), (WI)(second.a == (WF)(0.0f)));
#endif
#endif
    return s;
}

static inline WEFT_V WEFT_NAME(value)(weft_scan_state s) {
#if !WEFT_FLOAT
    return s.e;
#elif WEFT_KIND == 0
    return s.b + s.a;
#elif WEFT_KIND == 1
    return weft_scan_scale(s.a + s.b, s.e);
#else
    return s.b;
#endif
}

/* The element of y whose states before and after are given. */
static inline WEFT_V WEFT_NAME(result)(weft_scan_state before, weft_scan_state after, WEFT_V b, int form) {
    if (form == 0) return WEFT_NAME(value)(after);
    return form == 1 ? WEFT_NAME(value)(before) : WEFT_NAME(value)(before) + b;
}

/* ---- neighbouring lines ---- */

__kernel void WEFT_NAME(columns)(__global const WEFT_S *x, long x_offset, __global const WEFT_S *b,
    long b_offset, __global WEFT_S *y, long y_offset, __global int *totals, long totals_offset,
    WEFT_INDEX outer, WEFT_INDEX n, WEFT_INDEX inner, WEFT_INDEX splits, WEFT_INDEX split_length,
    WEFT_INDEX lines_an_item, int form, int backwards, int pass) {
    const WEFT_INDEX columns = (inner + WEFT_LANES - 1) / WEFT_LANES, lines = outer * columns;
    const WEFT_INDEX runs =
        (lines + lines_an_item - 1) / lines_an_item; /* a run is the lines that an item scans in one split */
    const WEFT_INDEX run = (WEFT_INDEX)get_global_id(0) % runs, split = (WEFT_INDEX)get_global_id(0) / runs;
    const WEFT_INDEX step = backwards ? -inner : inner;
    x += x_offset;
    b += b_offset;
    y += y_offset;
    totals += totals_offset;
    if (split >= splits) return;
    for (WEFT_INDEX line = run * lines_an_item; line < min((run + 1) * lines_an_item, lines); line++) {
        const WEFT_INDEX o = line / columns, column = line % columns * WEFT_LANES;
        const WEFT_INDEX count = min(split_length, n - split * split_length);
        const int lanes = (int)min((WEFT_INDEX)WEFT_LANES, inner - column);
        WEFT_INDEX at = o * n * inner + column + (backwards ? (n - 1) * inner : (WEFT_INDEX)0) +
                        split * split_length * step;
        weft_scan_state s = WEFT_NAME(nothing)();
        if (pass == 1) {
            for (WEFT_INDEX before = 0; before < split; before++)
                s = WEFT_NAME(combine)(
                    s, weft_scan_load(totals + (before * lines + line) * WEFT_SCAN_STORED));
        }
        for (WEFT_INDEX j = 0; j < count; j++, at += step) {
            const WEFT_V b_j = WEFT_KIND == 2 ? WEFT_LOAD(b, at, lanes) : (WEFT_V)(0);
            const weft_scan_state after =
                WEFT_NAME(combine)(s, WEFT_NAME(element)(WEFT_LOAD(x, at, lanes), b_j, form));
            if (pass == 1) WEFT_PUT(WEFT_NAME(result)(s, after, b_j, form), y, at, lanes);
            s = after;
        }
        if (pass == 0) weft_scan_store(s, totals + (split * lines + line) * WEFT_SCAN_STORED);
    }
}

/* ---- lines whose elements are neighbours ---- */

#if WEFT_LANES == 16

/* Combines each lane's state with those of all lanes before it. */
static inline weft_scan_state WEFT_NAME(across)(weft_scan_state s) {
    const weft_scan_state nothing = WEFT_NAME(nothing)();
    s = WEFT_NAME(combine)(WEFT_SCAN_SHIFT(s, nothing, 1, s00123456789abcde), s);
    s = WEFT_NAME(combine)(WEFT_SCAN_SHIFT(s, nothing, 2, s000123456789abcd), s);
    s = WEFT_NAME(combine)(WEFT_SCAN_SHIFT(s, nothing, 4, s00000123456789ab), s);
    return WEFT_NAME(combine)(WEFT_SCAN_SHIFT(s, nothing, 8, s0000000001234567), s);
}

static inline weft_scan_state WEFT_NAME(last)(weft_scan_state s) {
    return (weft_scan_state){(float16)(s.a.sf), (int16)(s.e.sf), (float16)(s.b.sf)};
}

__kernel void WEFT_NAME(lines)(__global const WEFT_S *x, long x_offset, __global const WEFT_S *b,
    long b_offset, __global WEFT_S *y, long y_offset, __global int *totals, long totals_offset,
    WEFT_INDEX outer, WEFT_INDEX n, WEFT_INDEX inner, WEFT_INDEX splits, WEFT_INDEX split_length,
    WEFT_INDEX lines_an_item, int form, int backwards, int pass) {
    const WEFT_INDEX runs = (outer + lines_an_item - 1) / lines_an_item;
    const WEFT_INDEX run = (WEFT_INDEX)get_global_id(0) % runs, split = (WEFT_INDEX)get_global_id(0) / runs;
    const WEFT_INDEX step = backwards ? -1 : 1;
    x += x_offset;
    b += b_offset;
    y += y_offset;
    totals += totals_offset;
    for (WEFT_INDEX line = run * lines_an_item; line < min((run + 1) * lines_an_item, outer); line++) {
        WEFT_INDEX at = line * n + (backwards ? n - 1 : (WEFT_INDEX)0) + split * split_length * step;
        weft_scan_state s = WEFT_NAME(nothing)();
        if (pass == 1) {
            for (WEFT_INDEX before = 0; before < split; before++)
                s = WEFT_NAME(combine)(
                    s, weft_scan_load(totals + (before * outer + line) * WEFT_SCAN_STORED));
        }
        const WEFT_INDEX count = min(split_length, n - split * split_length);
        for (WEFT_INDEX j = 0; j < count; j += 16, at += 16 * step) {
            const int lanes = (int)min((WEFT_INDEX)16, count - j);
            const WEFT_V b_j = WEFT_KIND == 2 ? WEFT_LOAD_LINE(b, at, lanes, backwards) : (WEFT_V)(0);
            const weft_scan_state all =
                WEFT_NAME(across)(WEFT_NAME(element)(WEFT_LOAD_LINE(x, at, lanes, backwards), b_j, form));
            const weft_scan_state after = WEFT_NAME(combine)(s, all);
            if (pass == 1) {
                const weft_scan_state before = WEFT_SCAN_SHIFT(after, s, 1, s00123456789abcde);
                WEFT_STORE_LINE(WEFT_NAME(result)(before, after, b_j, form), y, at, lanes, backwards);
            }
            s = WEFT_NAME(last)(after); /* not used after the last vector, which may be a tail */
            if (lanes < 16) {
                int a[16], e[16], w[16];
                vstore16(as_int16(after.a), 0, a);
                vstore16(after.e, 0, e);
                vstore16(as_int16(after.b), 0, w);
                s = (weft_scan_state){(float16)(as_float(a[lanes - 1])), (int16)(e[lanes - 1]),
                    (float16)(as_float(w[lanes - 1]))};
            }
        }
        if (pass == 0) weft_scan_store(s, totals + (split * outer + line) * WEFT_SCAN_STORED);
    }
}

#else

/* *state: on entry this item's state, on return the combined state of all items before it in the group. *total: the state of the whole
 * group. (The states are not returned, because Oclgrind cannot run clang's code for a returned structure.) */
__attribute__((always_inline)) static inline void WEFT_NAME(across)(
    weft_scan_state *state, weft_scan_state *total, __local float *a, __local int *e, __local float *b) {
    const int me = (int)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    a[me] = state->a;
    e[me] = state->e;
    b[me] = state->b;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me < WEFT_GROUP / 8) { /* each of these items combines the states of eight items */
        weft_scan_state s = WEFT_NAME(nothing)();
        for (int i = me * 8; i < me * 8 + 8; i++) {
            s = WEFT_NAME(combine)(s, (weft_scan_state){a[i], e[i], b[i]});
            a[i] = s.a;
            e[i] = s.e;
            b[i] = s.b;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    weft_scan_state s = WEFT_NAME(nothing)(), before = s;
    for (int run = 0; run < WEFT_GROUP / 8; run++) {
        if (run == me / 8) before = s;
        const int i = run * 8 + 7;
        s = WEFT_NAME(combine)(s, (weft_scan_state){a[i], e[i], b[i]});
    }
    *total = s;
    if (me % 8) before = WEFT_NAME(combine)(before, (weft_scan_state){a[me - 1], e[me - 1], b[me - 1]});
    *state = before;
}

__kernel __attribute__((reqd_work_group_size(WEFT_GROUP, 1, 1))) void WEFT_NAME(lines)(
    __global const WEFT_S *x, long x_offset, __global const WEFT_S *b, long b_offset, __global WEFT_S *y,
    long y_offset, __global int *totals, long totals_offset, WEFT_INDEX outer, WEFT_INDEX n, WEFT_INDEX inner,
    WEFT_INDEX splits, WEFT_INDEX split_length, WEFT_INDEX lines_an_item, int form, int backwards, int pass) {
    __local float group_a[WEFT_GROUP], group_b[WEFT_GROUP];
    __local int group_e[WEFT_GROUP];
    const WEFT_INDEX line = (WEFT_INDEX)get_group_id(0) % outer, split = (WEFT_INDEX)get_group_id(0) / outer;
    const WEFT_INDEX me = (WEFT_INDEX)get_local_id(0), step = backwards ? -1 : 1;
    const WEFT_INDEX count = min(split_length, n - split * split_length);
    const WEFT_INDEX first = line * n + (backwards ? n - 1 : (WEFT_INDEX)0) + split * split_length * step;
    x += x_offset + first;
    b += b_offset + first;
    y += y_offset + first;
    totals += totals_offset;
    weft_scan_state carry = WEFT_NAME(nothing)(), total;
    if (pass == 1) {
        const WEFT_INDEX share = (split + WEFT_GROUP - 1) / WEFT_GROUP;
        for (WEFT_INDEX before = me * share; before < min((me + 1) * share, split); before++)
            carry = WEFT_NAME(combine)(
                carry, weft_scan_load(totals + (before * outer + line) * WEFT_SCAN_STORED));
        WEFT_NAME(across)(&carry, &total, group_a, group_e, group_b);
        carry = total;
    }
    for (WEFT_INDEX tile = 0; tile < count; tile += WEFT_GROUP * WEFT_SCAN_TILE) {
        const WEFT_INDEX begin = tile + me * WEFT_SCAN_TILE, end = min(begin + WEFT_SCAN_TILE, count);
        weft_scan_state s = WEFT_NAME(nothing)();
        for (WEFT_INDEX j = begin; j < end; j++)
            s = WEFT_NAME(combine)(
                s, WEFT_NAME(element)(x[j * step], WEFT_KIND == 2 ? b[j * step] : (WEFT_S)0, form));
        WEFT_NAME(across)(&s, &total, group_a, group_e, group_b);
        s = WEFT_NAME(combine)(carry, s);
        for (WEFT_INDEX j = begin; j < end && pass == 1; j++) {
            const WEFT_S b_j = WEFT_KIND == 2 ? b[j * step] : (WEFT_S)0;
            const weft_scan_state after = WEFT_NAME(combine)(s, WEFT_NAME(element)(x[j * step], b_j, form));
            y[j * step] = WEFT_NAME(result)(s, after, b_j, form);
            s = after;
        }
        carry = WEFT_NAME(combine)(carry, total);
    }
    if (pass == 0 && me == 0) weft_scan_store(carry, totals + (split * outer + line) * WEFT_SCAN_STORED);
}

#endif

#undef WEFT_S
#undef WEFT_V
#undef WEFT_LOAD
#undef WEFT_PUT
#undef WEFT_LOAD_LINE
#undef WEFT_STORE_LINE
