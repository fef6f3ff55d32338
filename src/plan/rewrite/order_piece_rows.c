/* Gathers rows from a table in pieces, and adds or writes rows to one (contract in order_pieces.h).
 *
 * Each piece gets its own index tensor: the row's number inside the piece, or -1 for a row of another piece, which the kernels skip. An
 * index outside the whole table stays out of range in the index of the first piece, whose kernel reports the fault. */
#include "ops/index/index.h"
#include "ops/op_descriptors.h"
#include "plan/rewrite/order_pieces.h"
#include <weft/ops.h>

static bool reads_rows(const weft_tensor *y) {
    return y->op == &wi_op_embedding || y->op == &wi_op_index_select || y->op == &wi_op_gather ||
           y->op == &wi_op_segment_select;
}

static bool adds_up_rows(const weft_tensor *y) {
    return y->op == &wi_op_index_sum || y->op == &wi_op_scatter_sum;
}

/* Can the op write the rows of each piece separately, and skip the rows of other pieces? An index_copy without skipped rows cannot: the last of
 * several equal indices must win, and kernels that skip rows do not guarantee this. */
static bool replaces_rows(const weft_tensor *y) {
    return y->op == &wi_op_segment_copy || (y->op == &wi_op_index_copy && y->attributes->index.skips);
}

static bool has_index(const weft_tensor *y) {
    return reads_rows(y) || adds_up_rows(y) || replaces_rows(y) || y->op == &wi_op_index_copy;
}

bool wi_names_pieces(const wi_piecing *c, const weft_tensor *y) {
    if (!has_index(y)) return false;
    if (adds_up_rows(y)) return wi_is_too_large(c, y);
    const wi_piece_image *const x = wi_piece_image_of(c, y->inputs[0]);
    return wi_stays_cut(c, y->inputs[0]) &&
           (y->op != &wi_op_index_copy || replaces_rows(y) || x->cut.axis != wi_index_axis(y));
}

/* ---- index tensors of pieces ---- */

typedef struct rows {
    weft_tensor *index; /* i32 */
    int64_t size;       /* dimension of the whole table along the axis */
    const wi_index_attributes *attributes;
} rows;

static rows rows_of(const wi_piecing *c, const weft_tensor *y) {
    const bool segments = y->op == &wi_op_segment_select || y->op == &wi_op_segment_copy;
    weft_tensor *const index = wi_whole_of_pieces(c, y->inputs[1], y->op->name);
    const wi_shape *const named = adds_up_rows(y) ? &y->shape : &y->inputs[0]->shape;
    return (rows){
        segments ? wi_segment_tokens(index) : index, named->dims[wi_index_axis(y)], &y->attributes->index};
}

static weft_tensor *within(weft_tensor *index, int64_t begin, int64_t end) {
    return weft_logical_and(weft_less_equal(weft_number(index, (double)begin), index),
        weft_less(index, weft_number(index, (double)end)));
}

static weft_tensor *except(const rows *r, weft_tensor *chosen) {
    if (!r->attributes->skips) return chosen;
    weft_tensor *const skipped = weft_number(r->index, (double)r->attributes->skipped);
    return weft_logical_and(chosen, weft_not_equal(r->index, skipped));
}

static weft_tensor *index_within(const rows *r, const wi_cut *cut, int piece) {
    weft_tensor *const index = r->index, *none = weft_number(index, -1);
    weft_tensor *const inside = except(r, within(index, cut->at[piece], cut->at[piece + 1]));
    if (piece == 0) {
        weft_tensor *const outside = except(r, weft_logical_not(within(index, 0, r->size)));
        none = weft_where(outside, weft_number(index, (double)r->size), none);
    }
    return weft_where(inside, weft_sub(index, weft_number(index, (double)cut->at[piece])), none);
}

/* Creates the op on a piece, with the index tensor of the piece. */
static weft_tensor *node_of_piece(
    const weft_tensor *y, const wi_op *op, weft_tensor *x, weft_tensor *index, const wi_shape *shape) {
    weft_tensor *const inputs[] = {x, index};
    wi_attributes attributes = wi_attributes_of(y);
    attributes.index.skips = true;
    attributes.index.skipped = -1;
    return x && index ? wi_node(y->graph, op, inputs, 2, y->dtype, shape, &attributes) : NULL;
}

/* ---- pieces along the axis that the index selects from ---- */

/* Creates a mask, true for the rows of the result that come from the piece. The mask can be broadcast to the result. */
static weft_tensor *rows_within(const weft_tensor *y, const rows *r, const wi_cut *cut, int piece) {
    weft_tensor *const inside = within(r->index, cut->at[piece], cut->at[piece + 1]);
    int64_t dims[WEFT_MAX_RANK];
    if (y->op == &wi_op_gather || !inside) return inside;
    for (int i = 0; i < y->shape.rank; i++) dims[i] = i == wi_index_axis(y) ? y->shape.dims[i] : 1;
    return weft_reshape_shape(inside, y->shape.rank, dims);
}

/* Only segment_select leaves out rows of the index `skipped` (wi_index_attributes), which have no gradient. The other ops must read these
 * rows, because the forward pass uses them. */
static weft_status read_rows(const wi_piecing *c, const weft_tensor *y, wi_piece_image *own) {
    static const wi_index_attributes none = {0};
    const wi_piece_image *const table = wi_piece_image_of(c, y->inputs[0]);
    const bool segments = y->op == &wi_op_segment_select;
    rows r = rows_of(c, y);
    if (!segments) r.attributes = &none;
    for (int i = 0; i < table->cut.count; i++) {
        weft_tensor *const picked = node_of_piece(y, segments ? &wi_op_index_select : y->op, table->parts[i],
            index_within(&r, &table->cut, i), &y->shape);
        own->whole = i == 0 ? picked : weft_where(rows_within(y, &r, &table->cut, i), picked, own->whole);
        WI_TRY(wi_piecing_status(c));
    }
    return WEFT_OK;
}

static weft_tensor *sum_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const rows r = rows_of(c, y);
    const wi_shape shape = wi_piece_shape(&y->shape, cut, piece);
    return node_of_piece(
        y, y->op, wi_whole_of_pieces(c, y->inputs[0], y->op->name), index_within(&r, cut, piece), &shape);
}

static weft_tensor *replaced_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const rows r = rows_of(c, y);
    weft_tensor *const table = wi_piece_image_of(c, y->inputs[0])->parts[piece];
    return wi_replace_rows(
        table, index_within(&r, cut, piece), wi_whole_of_pieces(c, y->inputs[2], y->op->name));
}

/* ---- pieces along another axis ---- */

static weft_tensor *piece_beside(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const wi_shape shape = wi_piece_shape(&y->shape, cut, piece);
    weft_tensor *inputs[WI_KERNEL_INPUTS];
    for (int i = 0; i < y->input_count; i++) {
        const weft_tensor *const x = y->inputs[i];
        const bool all = x->shape.rank != y->shape.rank;
        inputs[i] =
            all ? wi_whole_of_pieces(c, x, y->op->name)
                : wi_range_of_pieces(c, x, y->op->name, cut->axis, cut->at[piece], cut->at[piece + 1]);
        if (!inputs[i]) return NULL;
    }
    return wi_node_over(y, inputs, &shape);
}

static weft_status cut_of_sum(const wi_piecing *c, const weft_tensor *y, wi_cut *cut) {
    *cut = *wi_wanted_cut(c, y);
    return cut->count ? WEFT_OK : wi_cut_to_fit(c, y, cut);
}

weft_status wi_make_of_rows(const wi_piecing *c, const weft_tensor *y, wi_piece_image *own) {
    wi_cut cut = wi_piece_image_of(c, y->inputs[0])->cut;
    if (adds_up_rows(y)) WI_TRY(cut_of_sum(c, y, &cut));
    /* A single row is too large for a buffer. */
    if (cut.count == 0) return wi_check_whole_piece(c, y, "the plan");
    const bool along = cut.axis == wi_index_axis(y);
    if (along && reads_rows(y)) return read_rows(c, y, own);
    const wi_make_piece make = !along ? piece_beside : adds_up_rows(y) ? sum_piece : replaced_piece;
    return wi_make_pieces(c, y, &cut, make, own);
}
