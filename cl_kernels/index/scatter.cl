/* scatter.cl: sums of a source's elements by index along one axis.
 *
 *     source (outer, count, inner)   index (outer, count, inner) or (count)   y (outer, size, inner)
 *     all contiguous
 *
 *     y[o][r][i] = sum of source[o][j][i] over all j with index = r, in the order of j
 *
 * index is index[o][j][i] with WEFT_EACH 1, index[j] with WEFT_EACH 0. An item computes the rows r_begin .. r_end - 1 of one o in `width`
 * neighbouring columns: it sets them to zero and walks through the whole index. Items share no memory that they write, so there are no
 * atomics, and each sum has one fixed order. WEFT_ELEMENT is float or int. With WEFT_SKIPS the index `skipped` is ignored.
 *
 * With WEFT_EXTREME 1 or -1, y is the largest or smallest element instead of the sum: y begins as WEFT_START, which is 0 for sums, and is
 * replaced by an element that is larger (smaller) or NaN; a NaN is not replaced. */

#ifndef WEFT_NAME
#define WEFT_NAME(suffix) scatter_##suffix
#define WEFT_ELEMENT      float
#define WEFT_EACH         1
#define WEFT_SKIPS        0
#define WEFT_EXTREME      0
#define WEFT_START        0
#ifndef WEFT_INDEX
#define WEFT_INDEX long
#endif
#endif

#undef WEFT_TAKE
#if WEFT_EXTREME
#define WEFT_TAKE(y, b)                                                                                      \
    do {                                                                                                     \
        const WEFT_ELEMENT a_ = *(y), b_ = (b);                                                              \
        if (a_ == a_ && !(WEFT_EXTREME > 0 ? b_ <= a_ : b_ >= a_)) *(y) = b_;                                \
    } while (0)
#else
#define WEFT_TAKE(y, b) (*(y) += (b))
#endif

__kernel void WEFT_NAME(sum)(__global const WEFT_ELEMENT *restrict source, long source_offset,
    __global const int *restrict index, long index_offset, __global WEFT_ELEMENT *restrict y, long y_offset,
    __global int *faults, long fault, WEFT_INDEX items, WEFT_INDEX count, WEFT_INDEX size, WEFT_INDEX inner,
    WEFT_INDEX width, WEFT_INDEX columns, WEFT_INDEX ranges, WEFT_INDEX rows_a_range, long skipped) {
    const WEFT_INDEX item = (WEFT_INDEX)get_global_id(0);
    if (item >= items) return;
    /* neighbouring items have neighbouring columns */
    const WEFT_INDEX column = item % columns, range = item / columns % ranges, o = item / columns / ranges;
    const WEFT_INDEX begin = column * width, end = min(begin + width, inner);
    const WEFT_INDEX r_begin = range * rows_a_range, r_end = min(r_begin + rows_a_range, size);
    source += source_offset + o * count * inner;
    index += index_offset;
    y += y_offset + o * size * inner;
    for (WEFT_INDEX r = r_begin; r < r_end; r++) {
        for (WEFT_INDEX i = begin; i < end; i++) y[r * inner + i] = WEFT_START;
    }
#if WEFT_EACH
    index += o * count * inner;
    for (WEFT_INDEX j = 0; j < count; j++) {
        for (WEFT_INDEX i = begin; i < end; i++) {
            const int k = index[j * inner + i];
            if (k >= r_begin && k < r_end) WEFT_TAKE(y + k * inner + i, source[j * inner + i]);
            if (range == 0 && (k < 0 || k >= size)) WEFT_FAULT(faults, fault, (o * count + j) * inner + i);
        }
    }
#else
    for (WEFT_INDEX j = 0; j < count; j++) {
        const int k = index[j];
#if WEFT_SKIPS
        if (k == skipped) continue;
#endif
        if (k >= r_begin && k < r_end) {
            for (WEFT_INDEX i = begin; i < end; i++) WEFT_TAKE(y + k * inner + i, source[j * inner + i]);
        }
        if (range == 0 && begin == 0 && (k < 0 || k >= size)) WEFT_FAULT(faults, fault, j);
    }
#endif
}
