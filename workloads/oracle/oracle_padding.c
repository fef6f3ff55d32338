/* Longer axes: pad, roll and tile: see oracle.h and reference_padding.h. */
#include "oracle/draw.h"
#include "oracle/reference_padding.h"

/* ---- pad: 8 integers before the axes, 8 after them, the mode ---- */

enum { BEFORE = 0, AFTER = WEFT_MAX_RANK, MODE = 2 * WEFT_MAX_RANK };

/* How much may stand on one side of an axis that has so many elements now. */
static int64_t most_of(weft_pad_mode mode, int64_t dim, int64_t size) {
    const int64_t most = draw_is_number(dim) || size < 2 ? size : 2;
    return mode == WEFT_PAD_REFLECT ? most - 1 : mode == WEFT_PAD_WRAP ? most : 9;
}

static int64_t draw_amount(oracle_draw *draw, int64_t most) {
    if (draw_chance(draw, 35)) return 0;
    return draw_chance(draw, 70) ? draw_below(draw, (most < 3 ? most : 3) + 1) : draw_below(draw, most + 1);
}

ORACLE_DRAW(pad) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 1, 6);
    if (call->inputs[0] < 0) return false;
    const weft_pad_mode mode = (weft_pad_mode)draw_below(draw, 4);
    call->integers[MODE] = mode;
    const int rank = draw_rank(draw, call->inputs[0]);
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        const int64_t size = draw_array(draw, call->inputs[0])->dims[i];
        const int64_t most = most_of(mode, draw_dim(draw, call->inputs[0], i), size);
        if (draw_chance(draw, 60)) {
            call->integers[BEFORE + i] = draw_amount(draw, most);
            call->integers[AFTER + i] = draw_amount(draw, most);
        }
        count *= call->integers[BEFORE + i] + size + call->integers[AFTER + i];
    }
    const int64_t any = mode == WEFT_PAD_CONSTANT || mode == WEFT_PAD_EDGE ? draw_any_size(draw, 8) : 0;
    if (any > 1000000 && draw_chance(draw, 50)) call->integers[BEFORE] = any; /* as much as the length */
    const bool integers = draw_dtype(draw, call->inputs[0]) != draw_format(draw);
    if (draw_chance(draw, 60)) call->numbers[0] = integers ? 1 : draw_exact(draw_between(draw, -3, 3));
    return count <= 2 * draw_most(draw);
}
static void amounts(const oracle_call *call, int first, const oracle_sizes *sizes, bool given, int64_t *to) {
    for (int i = 0; i < WEFT_MAX_RANK; i++)
        to[i] = given ? oracle_given(call->integers[first + i], sizes)
                      : oracle_size(call->integers[first + i], sizes);
}
ORACLE_BUILD(pad) {
    ORACLE_UNUSED;
    int64_t before[WEFT_MAX_RANK], after[WEFT_MAX_RANK];
    amounts(call, BEFORE, sizes, true, before);
    amounts(call, AFTER, sizes, true, after);
    return weft_pad(in[0], before, after, (weft_pad_mode)call->integers[MODE], call->numbers[0]);
}
ORACLE_EVALUATE(pad) {
    int64_t before[WEFT_MAX_RANK], after[WEFT_MAX_RANK];
    amounts(call, BEFORE, sizes, false, before);
    amounts(call, AFTER, sizes, false, after);
    return f64_pad(in[0], before, after, (weft_pad_mode)call->integers[MODE], call->numbers[0]);
}
ORACLE_OP(pad, "weft_pad($0, (const int64_t[]){$i0, $i1, $i2, $i3, $i4, $i5, $i6, $i7}, "
               "(const int64_t[]){$i8, $i9, $i10, $i11, $i12, $i13, $i14, $i15}, (weft_pad_mode)$i16, $n0)");

/* ---- roll: integers are the axis and the shift ---- */

ORACLE_DRAW(roll) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 1, 6);
    if (call->inputs[0] < 0) return false;
    const int axis = draw_axis(draw, call->inputs[0]);
    const int64_t size = draw_array(draw, call->inputs[0])->dims[axis];
    call->integers[0] = draw_from_either_end(draw, axis, draw_rank(draw, call->inputs[0]));
    call->integers[1] = draw_below(draw, 6 * size + 1) - 3 * size;
    /* Along the length, a number that large would stand for so many times the length. */
    if (draw_chance(draw, 10) && draw_dim(draw, call->inputs[0], axis) < 1000000)
        call->integers[1] = draw_below(draw, INT32_MAX) * (draw_chance(draw, 50) ? 1 : -1);
    return true;
}
ORACLE_BUILD(roll) {
    ORACLE_UNUSED;
    return weft_roll(in[0], (int)call->integers[0], call->integers[1]);
}
ORACLE_EVALUATE(roll) {
    (void)sizes;
    return f64_roll(in[0], call->integers[0], call->integers[1]);
}
ORACLE_OP(roll, "weft_roll($0, $a0, $a1)");

/* ---- tile: dims has the repeats ---- */

ORACLE_DRAW(tile) {
    call->inputs[0] = draw_value(draw, DRAW_ANY, 0, 5);
    if (call->inputs[0] < 0) return false;
    const int given = (int)draw_below(draw, draw_rank(draw, call->inputs[0]) + 2);
    int64_t left = 2 * draw_most(draw) / draw_count(draw, call->inputs[0]);
    for (int i = 0; i < given; i++) {
        call->dims[i] = draw_chance(draw, 40) ? 1 : 1 + draw_below(draw, left < 5 ? left : 5);
        left /= call->dims[i];
    }
    call->dims[given] = WEFT_END;
    return true;
}
ORACLE_BUILD(tile) {
    ORACLE_UNUSED;
    return weft_tile(in[0], f64_list_length(call->dims), call->dims);
}
ORACLE_EVALUATE(tile) {
    (void)sizes;
    return f64_tile(in[0], f64_list_length(call->dims), call->dims);
}
ORACLE_OP(tile, "weft_tile($0, $d)");
