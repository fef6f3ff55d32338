/* sort.cl: the order of the elements along one axis, or of the first of them.
 *
 *     x (outer, n, inner) -> y (outer, k, inner): y[o][r][i] = j if x[o][j][i] is the r-th in order
 *
 * An element is one number of 64 bits with the key above the index. One comparison compares two elements, and no two are equal, so every
 * method of sorting is stable. The key is computed from the bits of the number, and has the order of the values: -0 equals 0, every NaN is
 * above infinity, and `flip` reverses the order.
 *
 *     tiles   each tile of a line is sorted; its first `keep` elements are kept    [....][....][....][..]
 *     merge   pairs of sorted runs are merged                                      [........ ][........]
 *
 * A sort keeps all elements, and merges log2(tiles) times. A selection (k small) keeps k elements of each tile, and sorts these in tiles
 * again, until one tile has all. The first launch reads x, and the last writes y; between them the elements are in scratch memory, at the
 * offsets `from` and `to` in elements (-1: x and y).
 *
 * Class cpu: an item sorts a tile, few elements by insertion, many by radix (LSD, four times eight bits; Knuth, TAOCP 3, 5.2.5). Class gpu:
 * a group sorts WEFT_SORT_TILE elements in local memory (Batcher 1968), which may be several short tiles. Merge: an item computes `chunk`
 * elements of the result, and finds by bisection where they begin in both runs (merge path: Odeh et al. 2012). */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) sort_##suffix
#define WEFT_FLOAT        1
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

static inline WEFT_INDEX WEFT_NAME(place)(WEFT_INDEX line, WEFT_INDEX j, WEFT_INDEX n, WEFT_INDEX inner) {
    return (line / inner * n + j) * inner + line % inner;
}
static inline void WEFT_NAME(give)(__global int *y, __global ulong *scratch, WEFT_INDEX to, WEFT_INDEX line,
    WEFT_INDEX rank, WEFT_INDEX kept, WEFT_INDEX inner, ulong element) {
    if (to < 0)
        y[WEFT_NAME(place)(line, rank, kept, inner)] = (int)(uint)element;
    else
        scratch[to + line * kept + rank] = element;
}

static inline ulong WEFT_NAME(take)(__global const uint *x, __global const ulong *scratch, WEFT_INDEX from,
    WEFT_INDEX line, WEFT_INDEX j, WEFT_INDEX n, WEFT_INDEX inner, uint flip) {
    if (from >= 0) return scratch[from + line * n + j];
    const uint bits = x[WEFT_NAME(place)(line, j, n, inner)];
#if WEFT_FLOAT
    const uint magnitude = bits & 0x7FFFFFFFu;
    uint key = bits ^ (bits >> 31 ? 0xFFFFFFFFu : 0x80000000u);
    if (magnitude == 0) key = 0x80000000u;
    if (magnitude > 0x7F800000u) key = 0xFFFFFFFFu;
#else
    const uint key = bits ^ 0x80000000u;
#endif
    return (ulong)(key ^ flip) << 32 | (uint)j;
}

#if WEFT_LANES == 16

/* Sorts a by its keys, with b as the second buffer. Returns a or b, whichever has the result. */
static inline __global ulong *WEFT_NAME(radix)(
    __global ulong *a, __global ulong *b, WEFT_INDEX count, __private uint counts[4][256]) {
    for (int digit = 0; digit < 4; digit++) {
        const int shift = 32 + 8 * digit;
        if (counts[digit][a[0] >> shift & 255] == (uint)count) continue;
        uint sum = 0;
        for (int i = 0; i < 256; i++) {
            const uint here = counts[digit][i];
            counts[digit][i] = sum;
            sum += here;
        }
        for (WEFT_INDEX j = 0; j < count; j++) b[counts[digit][a[j] >> shift & 255]++] = a[j];
        __global ulong *const swap = a;
        a = b;
        b = swap;
    }
    return a;
}

__kernel void WEFT_NAME(tiles)(__global const uint *x, long x_offset, __global int *y, long y_offset,
    __global int *memory, long memory_offset, WEFT_INDEX lines, WEFT_INDEX n, WEFT_INDEX inner,
    WEFT_INDEX tile, WEFT_INDEX keep, WEFT_INDEX kept, WEFT_INDEX span, WEFT_INDEX from, WEFT_INDEX to,
    WEFT_INDEX work, int flip) {
    __global ulong *const scratch = (__global ulong *)(memory + memory_offset);
    const WEFT_INDEX tiles = (n + tile - 1) / tile, units = lines * tiles,
                     item = (WEFT_INDEX)get_global_id(0);
    x += x_offset;
    y += y_offset;
    for (WEFT_INDEX unit = item * span; unit < min((item + 1) * span, units); unit++) {
        const WEFT_INDEX line = unit / tiles, begin = unit % tiles * tile, count = min(tile, n - begin);
        const WEFT_INDEX first = unit % tiles * keep, wanted = min(keep, count);
        if (wanted <= WEFT_SORT_FEW) {
            ulong best[WEFT_SORT_FEW];
            WEFT_INDEX have = 0;
            for (WEFT_INDEX j = 0; j < count; j++) {
                const ulong element =
                    WEFT_NAME(take)(x, scratch, from, line, begin + j, n, inner, (uint)flip);
                if (have == wanted && element > best[have - 1]) continue;
                WEFT_INDEX at = have < wanted ? have++ : have - 1;
                for (; at > 0 && best[at - 1] > element; at--) best[at] = best[at - 1];
                best[at] = element;
            }
            for (WEFT_INDEX r = 0; r < wanted; r++)
                WEFT_NAME(give)(y, scratch, to, line, first + r, kept, inner, best[r]);
            continue;
        }
        uint counts[4][256];
        for (int i = 0; i < 1024; i++) counts[i / 256][i % 256] = 0;
        __global ulong *a = scratch + work + item * 2 * tile;
        for (WEFT_INDEX j = 0; j < count; j++) {
            a[j] = WEFT_NAME(take)(x, scratch, from, line, begin + j, n, inner, (uint)flip);
            for (int digit = 0; digit < 4; digit++) counts[digit][a[j] >> (32 + 8 * digit) & 255]++;
        }
        a = WEFT_NAME(radix)(a, a + tile, count, counts);
        for (WEFT_INDEX r = 0; r < wanted; r++)
            WEFT_NAME(give)(y, scratch, to, line, first + r, kept, inner, a[r]);
    }
}

#else

/* span: a power of two, at least the size of a tile; the group sorts WEFT_SORT_TILE / span tiles. */
__kernel __attribute__((reqd_work_group_size(WEFT_GROUP, 1, 1))) void WEFT_NAME(tiles)(__global const uint *x,
    long x_offset, __global int *y, long y_offset, __global int *memory, long memory_offset, WEFT_INDEX lines,
    WEFT_INDEX n, WEFT_INDEX inner, WEFT_INDEX tile, WEFT_INDEX keep, WEFT_INDEX kept, WEFT_INDEX span,
    WEFT_INDEX from, WEFT_INDEX to, WEFT_INDEX work, int flip) {
    __local ulong sorted[WEFT_SORT_TILE];
    __global ulong *const scratch = (__global ulong *)(memory + memory_offset);
    const WEFT_INDEX tiles = (n + tile - 1) / tile, units = lines * tiles;
    const WEFT_INDEX first_unit = (WEFT_INDEX)get_group_id(0) * (WEFT_SORT_TILE / span);
    const int me = (int)get_local_id(0), size = (int)span;
    x += x_offset;
    y += y_offset;
    for (int i = me; i < WEFT_SORT_TILE; i += WEFT_GROUP) {
        const WEFT_INDEX unit = first_unit + i / size, line = unit / tiles, begin = unit % tiles * tile;
        const WEFT_INDEX j = i % size, count = min(tile, n - begin);
        sorted[i] = unit < units && j < count
                        ? WEFT_NAME(take)(x, scratch, from, line, begin + j, n, inner, (uint)flip)
                        : ~(ulong)0;
    }
    for (int block = 2; block <= size; block *= 2) {
        for (int distance = block / 2; distance > 0; distance /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int pair = me; pair < WEFT_SORT_TILE / 2; pair += WEFT_GROUP) {
                const int i = 2 * pair - (pair & (distance - 1));
                const ulong a = sorted[i], b = sorted[i + distance];
                const bool up = block == size || (i & block) == 0;
                if ((a > b) == up) {
                    sorted[i] = b;
                    sorted[i + distance] = a;
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = me; i < WEFT_SORT_TILE; i += WEFT_GROUP) {
        const WEFT_INDEX unit = first_unit + i / size, line = unit / tiles, t = unit % tiles;
        const WEFT_INDEX r = i % size, count = min(tile, n - t * tile);
        if (unit < units && r < min(keep, count))
            WEFT_NAME(give)(y, scratch, to, line, t * keep + r, kept, inner, sorted[i]);
    }
}

#endif

/* An item computes `chunk` elements of a line of merged pairs of runs; chunk divides 2 * run. kept: the elements of a line that are
 * wanted. */
__kernel void WEFT_NAME(merge)(__global int *y, long y_offset, __global int *memory, long memory_offset,
    WEFT_INDEX lines, WEFT_INDEX n, WEFT_INDEX inner, WEFT_INDEX run, WEFT_INDEX kept, WEFT_INDEX chunk,
    WEFT_INDEX from, WEFT_INDEX to) {
    __global ulong *const scratch = (__global ulong *)(memory + memory_offset);
    const WEFT_INDEX chunks = (kept + chunk - 1) / chunk;
    const WEFT_INDEX line = (WEFT_INDEX)get_global_id(0) / chunks,
                     start = (WEFT_INDEX)get_global_id(0) % chunks * chunk;
    if (line >= lines) return;
    const WEFT_INDEX pair = start / (2 * run) * (2 * run), skip = start - pair;
    const WEFT_INDEX count_a = min(run, n - pair), count_b = min(run, n - pair - count_a);
    __global const ulong *const a = scratch + from + line * n + pair, *const b = a + count_a;
    WEFT_INDEX low = max((WEFT_INDEX)0, skip - count_b), high = min(skip, count_a);
    while (low < high) { /* finds how many elements of a are among the first `skip` */
        const WEFT_INDEX middle = (low + high) / 2;
        if (a[middle] < b[skip - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    WEFT_INDEX i = low, j = skip - low;
    y += y_offset;
    for (WEFT_INDEX r = start; r < min(start + chunk, kept); r++) {
        const bool take_a = j >= count_b || (i < count_a && a[i] < b[j]);
        WEFT_NAME(give)(y, scratch, to, line, r, kept, inner, take_a ? a[i] : b[j]);
        i += take_a;
        j += !take_a;
    }
}
