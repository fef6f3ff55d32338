/* The index space and the operands of each step.
 *
 * Operands are broadcast to the space (stride 0). Axes of size 1 are dropped, and neighbouring axes are merged if every operand has them
 * contiguous to each other, so that most maps have a single dimension. A generator that depends on the index (a coordinate, random
 * numbers) is an operand whose "address" is the number it depends on. */
#include "plan/layout/loops.h"
#include "cl/opened_device.h"
#include <string.h>

/* ---- merging dimensions ---- */

static bool merges(const wi_loop *loop, int outer, int inner) {
    if (loop->space.reduced[outer] != loop->space.reduced[inner]) return false;
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_size *strides = loop->operands[i].layout.strides;
        const wi_padding *padding = loop->operands[i].padding;
        if (padding && (padding[outer].mode || padding[inner].mode)) return false;
        if (!wi_size_equal(strides[outer], wi_size_mul(strides[inner], loop->space.dims[inner])))
            return false;
    }
    return true;
}

static void move_dimension(wi_loop *loop, int to, int from) {
    loop->space.dims[to] = loop->space.dims[from];
    loop->space.reduced[to] = loop->space.reduced[from];
    for (int i = 0; i < loop->operand_count; i++) {
        wi_operand *operand = &loop->operands[i];
        operand->layout.strides[to] = operand->layout.strides[from];
        if (operand->padding) operand->padding[to] = operand->padding[from];
    }
}

static void merge_space(wi_loop *loop) {
    wi_space *space = &loop->space;
    int count = 0;
    for (int i = 0; i < space->rank; i++) {
        if (wi_size_is(space->dims[i], 1)) continue;
        if (count > 0 && merges(loop, count - 1, i)) {
            const wi_size outer = space->dims[count - 1];
            move_dimension(loop, count - 1, i);
            space->dims[count - 1] = wi_size_mul(outer, space->dims[count - 1]);
        } else {
            move_dimension(loop, count++, i);
        }
    }
    if (count == 0) { /* one element */
        space->dims[0] = wi_size_of(1);
        space->reduced[0] = false;
        for (int i = 0; i < loop->operand_count; i++) loop->operands[i].layout.strides[0] = wi_size_of(0);
        count = 1;
    }
    space->rank = count;
}

/* Interchanged loops have longer code, which takes longer to compile. That pays for many rows, but not for a few rows for each example. */
static bool has_many_rows(const wi_space *space) {
    enum { MANY = 4096, MANY_AN_EXAMPLE = 16 };
    int64_t rows = 1;
    bool batch = false;
    for (int i = 0; i < space->rank; i++) {
        if (space->reduced[i]) continue;
        rows *= space->dims[i].general;
        batch = batch || space->dims[i].general % WI_GENERAL_BATCH == 0;
    }
    return batch ? rows / WI_GENERAL_BATCH >= MANY_AN_EXAMPLE : rows >= MANY;
}

/* Can the lanes of a vector be neighbours along this kept dimension? Not if they would gather different rows of a table or read padded
 * elements with a stride. */
static bool lanes_may_walk(const wi_loop *loop, int kept) {
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_operand *const operand = &loop->operands[i];
        if (operand->is_index && wi_operand_varies(operand, kept)) return false;
        if (operand->padding && operand->padding[kept].mode) return false;
    }
    return true;
}

/* Makes this dimension the last one; all data by dimension moves along. */
static void move_to_last(wi_loop *loop, int dimension) {
    wi_space *const space = &loop->space;
    const int last = space->rank - 1;
    const wi_size dim = space->dims[dimension];
    const bool reduced = space->reduced[dimension];
    wi_size strides[WI_MAX_OPERANDS];
    wi_padding paddings[WI_MAX_OPERANDS] = {0};
    for (int i = 0; i < loop->operand_count; i++) {
        strides[i] = loop->operands[i].layout.strides[dimension];
        if (loop->operands[i].padding) paddings[i] = loop->operands[i].padding[dimension];
    }
    for (int d = dimension; d < last; d++) move_dimension(loop, d, d + 1);
    space->dims[last] = dim;
    space->reduced[last] = reduced;
    for (int i = 0; i < loop->operand_count; i++) {
        loop->operands[i].layout.strides[last] = strides[i];
        if (loop->operands[i].padding) loop->operands[i].padding[last] = paddings[i];
    }
}

/* Does an item read each row as whole vectors of contiguous elements? */
static bool has_rows_of_vectors(const wi_loops *loops, const wi_loop *loop) {
    const int last = loop->space.rank - 1;
    const wi_device_profile *const profile = &wi_step_device(loops->partition, loop->step)->profile;
    if (!profile->item_walks) return false;
    for (int i = 0; i < loop->operand_count; i++) {
        const wi_size stride = loop->operands[i].layout.strides[last];
        if (!wi_size_is(stride, 0) && !wi_size_is(stride, 1)) return false;
    }
    return loop->space.dims[last].general % profile->lanes == 0;
}

/* For short rows that do not fill vectors, vectors over neighbouring rows use more lanes than vectors inside a row: the innermost kept
 * dimension becomes the last. */
static void interchange_short_rows(const wi_loops *loops, wi_loop *loop) {
    enum { SHORT = 32 };
    const wi_space *const space = &loop->space;
    const int last = space->rank - 1;
    if (!space->reduced[last] || space->dims[last].general > SHORT || !has_many_rows(space) ||
        has_rows_of_vectors(loops, loop))
        return;
    int kept = last;
    while (kept >= 0 && space->reduced[kept]) kept--;
    if (kept < 0 || space->dims[kept].general < 16 || !lanes_may_walk(loop, kept)) return;
    move_to_last(loop, kept);
}

/* The number of operands that are contiguous along the dimension; -1: it cannot be the dimension of the lanes. */
static int contiguous_along(const wi_loop *loop, int dimension) {
    int count = 0;
    if (loop->space.dims[dimension].general < 16 || !lanes_may_walk(loop, dimension)) return -1;
    for (int i = 0; i < loop->operand_count; i++)
        count += wi_size_is(loop->operands[i].layout.strides[dimension], 1);
    return count;
}

/* If item_walks is true, an item computes a row in vectors. A map whose rows fill less than half of a vector then uses another dimension as
 * the row, if operands are contiguous along it. Examples: an image of three channels whose memory order changes, and a channel shuffle
 * with two groups. */
static void interchange_short_map(const wi_loops *loops, wi_loop *loop) {
    enum { SHORT = 8 };
    const wi_space *const space = &loop->space;
    const int last = space->rank - 1;
    const wi_device *const device = wi_step_device(loops->partition, loop->step);
    if (!device->profile.item_walks || loop->step->reduced || space->dims[last].general > SHORT ||
        !has_many_rows(space))
        return;
    for (int i = 0; i < loop->operand_count; i++)
        if (loop->operands[i].value < 0) return; /* a generator */
    int best = -1, most = 0;
    for (int d = 0; d < last; d++) {
        const int count = contiguous_along(loop, d);
        if (count > most) most = count, best = d;
    }
    if (best >= 0) move_to_last(loop, best);
}

/* The space of a product is (batch, row, column), of a sum by segments (table row, segment, dimensions of the source). */
static void product_space(wi_loop *loop) {
    const wi_step *step = loop->step;
    const int rank = step->extent.rank;
    loop->space.rank = 3;
    loop->space.dims[0] = (wi_size){step->gemm.batch, step->gemm.batch};
    loop->space.dims[1] = step->extent.dims[rank - 2];
    loop->space.dims[2] = step->extent.dims[rank - 1];
    for (int d = 0; step->has_merged_rows && d < rank - 2; d++)
        loop->space.dims[1] = wi_size_mul(loop->space.dims[1], step->extent.dims[d]);
    if (!step->by_segments) return;
    loop->space.rank = 2 + step->source_extent.rank;
    for (int d = 0; d < step->source_extent.rank; d++) loop->space.dims[2 + d] = step->source_extent.dims[d];
}

/* Sets the dimensions of the space to those of the step. The dimensions of a kernel op are not merged afterwards. */
static void whole_space(wi_loop *loop) {
    const wi_step *step = loop->step;
    loop->space.rank = step->extent.rank;
    for (int i = 0; i < step->extent.rank; i++) {
        loop->space.dims[i] = step->extent.dims[i];
        loop->space.reduced[i] = step->reduced >> i & 1;
    }
}

static weft_status check_space(const wi_loops *loops, const wi_loop *loop) {
    for (int i = 0; i < loop->space.rank; i++) {
        if (loop->space.dims[i].actual > INT32_MAX / 2)
            return wi_fail_large(
                loops->partition->values[loop->step->members[0]].node, loop->space.dims[i].actual);
    }
    return WEFT_OK;
}

static weft_status make_space(const wi_loops *loops, wi_loop *loop) {
    if (loop->step->kind == WI_STEP_PRODUCT) {
        product_space(loop);
        return WEFT_OK;
    }
    whole_space(loop);
    if (loop->step->kind == WI_STEP_KERNEL) return WEFT_OK;
    merge_space(loop);
    if (loop->step->kind == WI_STEP_TRANSFER) return WEFT_OK;
    if (!loops->partition->request->plain) {
        interchange_short_rows(loops, loop);
        interchange_short_map(loops, loop);
    }
    return check_space(loops, loop);
}

weft_status wi_fail_large(const weft_tensor *node, int64_t elements) {
    char text[WI_NODE_TEXT];
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "plan: the step that computes %s counts %lld elements, but a kernel counts fewer than 2^30: use a "
        "smaller batch or smaller shapes",
        wi_node_print(node, text), (long long)elements);
}

/* ---- loops of all steps ---- */

/* Most loops have few operands. Storing WI_MAX_OPERANDS for each would take more memory than the rest of the plan. */
static weft_status keep_operands(const wi_loops *loops, wi_loop *loop) {
    const size_t bytes = (size_t)loop->operand_count * sizeof *loop->operands;
    wi_operand *const kept = wi_arena_take(loops->partition->request->arena, bytes);
    if (!kept) return WEFT_ERROR_MEMORY;
    memcpy(kept, loop->operands, bytes);
    loop->operands = kept;
    return WEFT_OK;
}

weft_status wi_make_loop(wi_loops *loops, const wi_step *step) {
    wi_loop *loop = &loops->of[step->index];
    *loop = (wi_loop){.step = step, .operands = loops->room, .staged = -1, .staging = -1};
    WI_TRY(wi_find_operands(loops->partition, loop));
    WI_TRY(keep_operands(loops, loop));
    WI_TRY(make_space(loops, loop));
    if (step->kind == WI_STEP_KERNEL || step->kind == WI_STEP_TRANSFER) return WEFT_OK;
    wi_count_sweeps(loops, loop);
    wi_find_staged(loops, loop);
    return WEFT_OK;
}

/* An assignment adds at most two steps and two values to the partition. */
static weft_status make_room(wi_loops *loops) {
    const wi_partition *p = loops->partition;
    const size_t more = 2 * p->assignment_count + 1;
    loops->of = wi_arena_take(p->request->arena, (p->step_count + more) * sizeof *loops->of);
    loops->sweep = wi_arena_take(p->request->arena, (p->value_count + more) * sizeof *loops->sweep);
    loops->room = wi_arena_take(p->request->arena, WI_MAX_OPERANDS * sizeof *loops->room);
    return loops->of && loops->sweep && loops->room ? WEFT_OK : WEFT_ERROR_MEMORY;
}

weft_status wi_plan_loops(wi_partition *partition, wi_loops *loops) {
    *loops = (wi_loops){.partition = partition};
    WI_TRY(make_room(loops));
    for (size_t i = 0; i < partition->step_count; i++) WI_TRY(wi_make_loop(loops, partition->steps[i]));
    return wi_plan_assignments(partition, loops);
}
