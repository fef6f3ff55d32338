/* Divides nodes that depend on a variable larger than a buffer, which is stored in pieces (graph/weft_graph.h).
 *
 * A variable in pieces becomes one node for each piece, which views the piece's block. A map or a view of the variable becomes one node
 * for each piece. So do products, reductions, and ops that gather rows; their pieces are added up if the product or the reduction sums
 * over the axis that is cut. A result that fits in a buffer is joined in memory if another op than a map reads it: bias and activation
 * are still computed by the product's epilogue. A gradient as large as the variable is computed in the pieces to which it is assigned.
 * The resulting nodes are ordinary ones, and later passes do not know about pieces. */
#include "plan/rewrite/order_pieces.h"
#include "base/integers.h"
#include "cl/opened_device.h"
#include "ops/op_table.h"
#include <stdio.h>

/* ---- whole nodes and ranges ---- */

static weft_tensor *fail(const wi_piecing *c, weft_status status) {
    if (*c->status == WEFT_OK) *c->status = status;
    return NULL;
}

weft_status wi_piecing_status(const wi_piecing *c) {
    return *c->status == WEFT_OK ? weft_graph_status(c->request->graph) : *c->status;
}

weft_status wi_check_whole_piece(const wi_piecing *c, const weft_tensor *node, const char *reader) {
    if (!wi_is_too_large(c, node)) return WEFT_OK;
    char what[WI_NODE_TEXT + 64], text[WI_NODE_TEXT];
    snprintf(what, sizeof what, "plan: %s, which %s needs in one buffer,", wi_node_print(node, text), reader);
    return wi_buffer_check_largest(
        c->request->devices.of[0], (size_t)wi_node_bytes(node, c->request->batch), what);
}

weft_tensor *wi_whole_of_pieces(const wi_piecing *c, const weft_tensor *node, const char *reader) {
    wi_piece_image *const own = wi_piece_image_of(c, node);
    if (own->whole || !own->parts) return own->whole;
    const weft_status status = wi_check_whole_piece(c, node, reader);
    if (status != WEFT_OK) return fail(c, status);
    own->whole = weft_concat(own->parts, (size_t)own->cut.count, own->cut.axis);
    return own->whole;
}

static weft_tensor *slice(weft_tensor *x, int axis, int64_t begin, int64_t end) {
    return wi_slice_dims(x, axis, begin, end - begin, 1);
}

weft_tensor *wi_range_of_pieces(
    const wi_piecing *c, const weft_tensor *node, const char *reader, int axis, int64_t begin, int64_t end) {
    const wi_piece_image *const own = wi_piece_image_of(c, node);
    const wi_cut *const cut = &own->cut;
    if (!own->parts) return slice(wi_whole_of_pieces(c, node, reader), axis, begin, end);
    weft_tensor **const found = wi_arena_take(c->request->arena, (size_t)cut->count * sizeof *found);
    size_t count = 0;
    if (!found) return fail(c, WEFT_ERROR_MEMORY);
    for (int i = 0; i < cut->count; i++) {
        const bool along = cut->axis == axis;
        const int64_t from = along ? wi_max64(begin, cut->at[i]) - cut->at[i] : begin,
                      to = along ? wi_min64(end, cut->at[i + 1]) - cut->at[i] : end;
        if (from < to) found[count++] = slice(own->parts[i], axis, from, to);
    }
    return count == 1 ? found[0] : weft_concat(found, count, cut->axis);
}

/* The range of an input that a piece of y needs; the whole input if the input has dimension 1 along the axis. */
static weft_tensor *input_range(
    const wi_piecing *c, const weft_tensor *y, const weft_tensor *x, const wi_cut *cut, int piece) {
    const int axis = wi_axis_within(x, &y->shape, cut->axis);
    if (axis < 0) return wi_whole_of_pieces(c, x, y->op->name);
    return wi_range_of_pieces(c, x, y->op->name, axis, cut->at[piece], cut->at[piece + 1]);
}

/* ---- nodes whose pieces depend on ranges of the inputs ---- */

weft_status wi_make_pieces(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, wi_make_piece make, wi_piece_image *own) {
    own->cut = *cut;
    own->parts = wi_arena_take(c->request->arena, (size_t)cut->count * sizeof *own->parts);
    if (!own->parts) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < cut->count; i++) {
        own->parts[i] = make(c, y, cut, i);
        WI_TRY(wi_piecing_status(c));
    }
    return WEFT_OK;
}

static weft_tensor *map_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const wi_shape shape = wi_piece_shape(&y->shape, cut, piece);
    weft_tensor *inputs[WI_KERNEL_INPUTS];
    for (int i = 0; i < y->input_count; i++) {
        inputs[i] = input_range(c, y, y->inputs[i], cut, piece);
        if (!inputs[i]) return NULL;
    }
    return wi_node_over(y, inputs, &shape);
}

/* Creates the undivided node over undivided inputs. */
static weft_status make_over_wholes(const wi_piecing *c, weft_tensor *y, wi_piece_image *own) {
    weft_tensor **const inputs =
        wi_arena_take(c->request->arena, ((size_t)y->input_count + 1) * sizeof *inputs);
    bool is_another = false;
    if (!inputs) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < y->input_count; i++) {
        inputs[i] = wi_whole_of_pieces(c, y->inputs[i], y->op->name);
        if (!inputs[i]) return wi_piecing_status(c);
        is_another = is_another || inputs[i] != y->inputs[i];
    }
    own->whole = is_another ? wi_node_over(y, inputs, &y->shape) : y;
    return wi_piecing_status(c);
}

/* The pieces of a variable have consecutive blocks; the first one has the variable's number. */
static weft_tensor *source_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const size_t size = weft_dtype_size(y->dtype), block = wi_graph_block_of(y) + (size_t)piece;
    const int64_t row = (int64_t)(WI_FLAT_ROW_BYTES / size),
                  rows = (int64_t)(y->graph->blocks[block].bytes / WI_FLAT_ROW_BYTES);
    const wi_shape flat = {.rank = 2, .dims = {rows, row}}, shape = wi_piece_shape(&y->shape, cut, piece);
    const wi_attributes attributes = {.flat = {.block = (uint32_t)block}};
    int64_t count;
    int power;
    (void)c;
    wi_shape_count(y->graph, &shape, &count, &power);
    weft_tensor *const memory = wi_node(y->graph, &wi_op_flat, NULL, 0, y->dtype, &flat, &attributes);
    if (memory && !memory->name) memory->name = y->name;
    if (!memory || wi_shape_equal(&flat, &shape)) return memory;
    weft_tensor *const line = weft_reshape_shape(memory, 1, (const int64_t[]){rows * row});
    return line ? weft_reshape_shape(wi_slice_dims(line, 0, 0, count, 1), shape.rank, shape.dims) : NULL;
}

/* ---- views ---- */

/* The last piece of flat gradients is padded to whole rows of WI_FLAT_ROW elements. */
static weft_tensor *in_rows(weft_tensor *x, const wi_shape *shape) {
    int64_t count;
    int power;
    if (!x) return NULL;
    wi_shape_count(x->graph, &x->shape, &count, &power);
    const int64_t gap = shape->dims[0] * shape->dims[1] - count;
    weft_tensor *line = weft_reshape_shape(x, 1, &count);
    if (line && gap) line = weft_pad(line, (const int64_t[]){0}, &gap, WEFT_PAD_CONSTANT, 0);
    return line ? weft_reshape_shape(line, shape->rank, shape->dims) : NULL;
}

static bool slices_along(const weft_tensor *y, const wi_cut *cut) {
    return y->op == &wi_op_slice && y->attributes->slice.axis == cut->axis;
}

/* The range of the input that a piece of a view shows. */
static weft_tensor *viewed_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const weft_tensor *const x = y->inputs[0];
    if (!slices_along(y, cut)) return wi_piece_image_of(c, x)->parts[piece];
    const wi_slice_attributes *const a = &y->attributes->slice;
    const int64_t begin = a->start + cut->at[piece] * a->step,
                  end = a->start + (cut->at[piece + 1] - 1) * a->step + 1;
    return wi_range_of_pieces(c, x, y->op->name, a->axis, begin, end);
}

static weft_tensor *view_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const wi_shape shape = wi_piece_shape(&y->shape, cut, piece);
    weft_tensor *x = viewed_piece(c, y, cut, piece);
    if (!x) return NULL;
    if (y->op == &wi_op_flat_gradients) return in_rows(x, &shape);
    if (y->op == &wi_op_reshape) return weft_reshape_shape(x, shape.rank, shape.dims);
    if (y->op == &wi_op_expand) return weft_expand(x, shape.rank, shape.dims);
    if (y->op != &wi_op_slice) return wi_node_over(y, &x, &shape);
    const wi_slice_attributes *const a = &y->attributes->slice;
    return wi_slice_dims(x, a->axis, slices_along(y, cut) ? 0 : a->start, shape.dims[a->axis], a->step);
}

/* A piece of flat gradients whose input is not divided. The cut is the one that the readers of the gradients need. */
static weft_tensor *gradient_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const weft_tensor *const x = y->inputs[0];
    const wi_shape shape = wi_piece_shape(&y->shape, cut, piece);
    weft_tensor *const whole = wi_whole_of_pieces(c, x, y->op->name);
    int64_t count;
    int power;
    wi_shape_count(x->graph, &x->shape, &count, &power);
    weft_tensor *const line = whole ? weft_reshape_shape(whole, 1, &count) : NULL;
    const int64_t begin = cut->at[piece] * WI_FLAT_ROW,
                  end = wi_min64(cut->at[piece + 1] * WI_FLAT_ROW, count);
    return line ? in_rows(slice(line, 0, begin, end), &shape) : NULL;
}

static weft_status make_view(const wi_piecing *c, weft_tensor *y, wi_piece_image *own) {
    const wi_piece_image *const x = wi_piece_image_of(c, y->inputs[0]);
    const wi_cut *const wanted = wi_wanted_cut(c, y);
    wi_cut cut = {0};
    const bool goes_on = y->op == &wi_op_reshape ? wi_is_cut(c, y->inputs[0]) : wi_stays_cut(c, y->inputs[0]);
    if (goes_on) WI_TRY(wi_cut_of_view(c, y, &x->cut, &cut));
    if (cut.count == 1) {
        own->whole = view_piece(c, y, &cut, 0);
        return wi_piecing_status(c);
    }
    if (cut.count) return wi_make_pieces(c, y, &cut, view_piece, own);
    if (y->op == &wi_op_flat_gradients && wanted->count)
        return wi_make_pieces(c, y, wanted, gradient_piece, own);
    return make_over_wholes(c, y, own);
}

/* ---- sums over pieces ---- */

static weft_tensor *reduced_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    weft_tensor *const x = wi_piece_image_of(c, y->inputs[0])->parts[piece];
    const bool over = y->attributes->over.axes >> cut->axis & 1;
    const wi_shape shape = over ? y->shape : wi_piece_shape(&y->shape, cut, piece);
    return wi_node_over(y, &x, &shape);
}

/* Keeps partial sums in f32 where mixed precision stores the complete sum in 16 bits. */
static weft_tensor *kept(const wi_piecing *c, weft_tensor *sum) {
    const wi_request *const request = c->request;
    return request->precision == WEFT_F32 || !sum || sum->dtype != WEFT_F32 ? sum : weft_keep_f32(sum);
}

static weft_status add_up(
    const wi_piecing *c, wi_piece_image *own, weft_tensor *(*combine)(weft_tensor *, weft_tensor *)) {
    own->whole = own->parts[0];
    for (int i = 1; i < own->cut.count; i++)
        own->whole = combine(kept(c, own->whole), kept(c, own->parts[i]));
    own->parts = NULL;
    return wi_piecing_status(c);
}

static weft_status make_reduction(const wi_piecing *c, const weft_tensor *y, wi_piece_image *own) {
    const wi_cut *const cut = &wi_piece_image_of(c, y->inputs[0])->cut;
    const bool over = y->attributes->over.axes >> cut->axis & 1;
    WI_TRY(wi_make_pieces(c, y, cut, reduced_piece, own));
    return over ? add_up(c, own, y->op->combine) : WEFT_OK;
}

/* A piece of the product's rows, columns or leading dimensions. */
static weft_tensor *product_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    const wi_shape shape = wi_piece_shape(&y->shape, cut, piece);
    weft_tensor *inputs[2];
    for (int i = 0; i < 2; i++) {
        const weft_tensor *const x = y->inputs[i];
        const int own = cut->axis - (y->shape.rank - x->shape.rank);
        const bool is_sum_axis = cut->axis == y->shape.rank - (i == 0 ? 1 : 2);
        const bool all = own < 0 || is_sum_axis || x->shape.dims[own] == 1;
        inputs[i] = all ? wi_whole_of_pieces(c, x, y->op->name)
                        : wi_range_of_pieces(c, x, y->op->name, own, cut->at[piece], cut->at[piece + 1]);
        if (!inputs[i]) return NULL;
    }
    return wi_node_over(y, inputs, &shape);
}

/* The product over a range of k, the axis over which it sums. */
static weft_tensor *summed_piece(const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, int piece) {
    weft_tensor *inputs[2];
    for (int i = 0; i < 2; i++) {
        const int axis = y->inputs[i]->shape.rank - (i == 0 ? 1 : 2);
        inputs[i] =
            wi_range_of_pieces(c, y->inputs[i], y->op->name, axis, cut->at[piece], cut->at[piece + 1]);
        if (!inputs[i]) return NULL;
    }
    return wi_node_over(y, inputs, &y->shape);
}

/* The cut of the first factor that exists only in pieces. *summed: the cut is along k. */
static wi_cut cut_of_factors(const wi_piecing *c, const weft_tensor *y, bool *summed) {
    *summed = false;
    for (int i = 0; i < 2; i++) {
        const weft_tensor *const x = y->inputs[i];
        if (!wi_stays_cut(c, x)) continue;
        wi_cut cut = wi_piece_image_of(c, x)->cut;
        *summed = cut.axis == x->shape.rank - (i == 0 ? 1 : 2);
        cut.axis += y->shape.rank - x->shape.rank;
        return cut;
    }
    return (wi_cut){0};
}

/* A product that is too large for a buffer is cut as its readers need; other products are cut as their factors, or so that the pieces
 * fit. */
static weft_status cut_of_product(const wi_piecing *c, const weft_tensor *y, wi_cut *cut, bool *summed) {
    const wi_cut *const wanted = wi_wanted_cut(c, y);
    *cut = *wanted;
    *summed = false;
    if (wanted->count && wi_is_too_large(c, y)) return WEFT_OK;
    *cut = cut_of_factors(c, y, summed);
    return cut->count ? WEFT_OK : wi_cut_to_fit(c, y, cut);
}

static weft_status make_sum_of_products(
    const wi_piecing *c, const weft_tensor *y, const wi_cut *cut, wi_piece_image *own) {
    WI_TRY(wi_make_pieces(c, y, cut, summed_piece, own));
    return add_up(c, own, weft_add);
}

static weft_status make_product(const wi_piecing *c, weft_tensor *y, wi_piece_image *own) {
    wi_cut cut;
    bool summed;
    WI_TRY(cut_of_product(c, y, &cut, &summed));
    if (cut.count == 0) return make_over_wholes(c, y, own);
    return summed ? make_sum_of_products(c, y, &cut, own) : wi_make_pieces(c, y, &cut, product_piece, own);
}

/* ---- assignments ---- */

static weft_status make_assignments(const wi_piecing *c, const weft_tensor *y, wi_piece_image *own) {
    const wi_piece_image *const variable = wi_piece_image_of(c, y->inputs[0]);
    const wi_cut *const cut = &variable->cut;
    weft_tensor **const all = wi_arena_take(c->request->arena, (size_t)cut->count * sizeof *all);
    if (!all) return WEFT_ERROR_MEMORY;
    for (int i = 0; i < cut->count; i++) {
        weft_tensor *const value =
            wi_range_of_pieces(c, y->inputs[1], y->op->name, cut->axis, cut->at[i], cut->at[i + 1]);
        all[i] = wi_assign_view(variable->parts[i], value);
        WI_TRY(wi_piecing_status(c));
    }
    own->whole = wi_assign_all(all, (size_t)cut->count);
    return wi_piecing_status(c);
}

/* ---- every node ---- */

static bool reads_pieces(const wi_piecing *c, const weft_tensor *y) {
    for (int i = 0; i < y->input_count; i++)
        if (wi_stays_cut(c, y->inputs[i])) return true;
    return false;
}

/* A map is cut as its readers need, or otherwise as its first input that is cut. */
static wi_cut cut_of_map(const wi_piecing *c, const weft_tensor *y) {
    wi_cut cut = *wi_wanted_cut(c, y);
    for (int i = 0; i < y->input_count && cut.count == 0; i++) {
        const weft_tensor *const x = y->inputs[i];
        if (!wi_is_cut(c, x)) continue;
        cut = wi_piece_image_of(c, x)->cut;
        cut.axis += y->shape.rank - x->shape.rank;
    }
    if (y->op->reads_padded && cut.count && y->attributes->padding.mode[cut.axis] != WI_PADDING_NONE)
        cut.count = 0;
    return cut;
}

static bool may_reduce(const wi_piecing *c, const weft_tensor *y) {
    const wi_cut *const cut = &wi_piece_image_of(c, y->inputs[0])->cut;
    return y->input_count == 1 && (y->op->combine || !(y->attributes->over.axes >> cut->axis & 1));
}

static weft_status make_node(const wi_piecing *c, weft_tensor *y, wi_piece_image *own) {
    const bool reads = reads_pieces(c, y);
    wi_cut cut = {0};
    if (wi_is_in_pieces(y)) {
        WI_TRY(wi_cut_of_source(c, y, &cut));
        return wi_make_pieces(c, y, &cut, source_piece, own);
    }
    if (wi_names_pieces(c, y)) return wi_make_of_rows(c, y, own);
    if (y->op->kind == WI_VIEW || y->op == &wi_op_flat_gradients) return make_view(c, y, own);
    if (y->op->kind == WI_MAP) cut = cut_of_map(c, y);
    if (cut.count) return wi_make_pieces(c, y, &cut, map_piece, own);
    if (y->op == &wi_op_matmul && (reads || wi_is_too_large(c, y))) return make_product(c, y, own);
    if (y->op->kind == WI_REDUCE && reads && may_reduce(c, y)) return make_reduction(c, y, own);
    if (y->op == &wi_op_assign && wi_piece_image_of(c, y->inputs[0])->parts)
        return make_assignments(c, y, own);
    return make_over_wholes(c, y, own);
}

static bool any_in_pieces(const wi_node_order *order) {
    for (size_t i = 0; i < order->count; i++)
        if (wi_is_in_pieces(order->nodes[i])) return true;
    return false;
}

/* Does the output remain divided into pieces, which follow one another in the caller's copy? */
static bool is_cut_output(const wi_piecing *c, size_t root) {
    const weft_tensor *const node = c->order->roots[root];
    return root < c->order->output_count && wi_stays_cut(c, node) &&
           wi_elements_before(&node->shape, wi_piece_image_of(c, node)->cut.axis) == 1;
}

static weft_status take_roots(const wi_piecing *c) {
    wi_node_order *const order = c->order;
    wi_root_parts *const roots = wi_arena_take(c->request->arena, order->root_count * sizeof *roots);
    if (!roots) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < order->root_count; i++) {
        wi_piece_image *const own = wi_piece_image_of(c, order->roots[i]);
        const bool cut = is_cut_output(c, i);
        if (!cut && !wi_whole_of_pieces(c, order->roots[i], "the caller")) return wi_piecing_status(c);
        roots[i] =
            cut ? (wi_root_parts){own->parts, (size_t)own->cut.count} : (wi_root_parts){&own->whole, 1};
    }
    return wi_replace_roots(order, roots);
}

weft_status wi_order_pieces(wi_node_order *order, bool *any) {
    const wi_request *const request = order->request;
    weft_status status = WEFT_OK;
    wi_piecing c = {.order = order,
        .request = request,
        .largest = wi_buffer_largest(request->devices.of[0]),
        .status = &status};
    *any = any_in_pieces(order);
    if (!*any) return WEFT_OK;
    if (request->devices.count > 1)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "plan: a parameter or state is larger than the largest buffer of %s, and only plans on one "
            "device can store it in several buffers",
            request->devices.of[0]->info.name);
    c.images = wi_arena_take(request->arena, order->count * sizeof *c.images);
    c.wanted = wi_arena_take(request->arena, order->count * sizeof *c.wanted);
    if (!c.images || !c.wanted) return WEFT_ERROR_MEMORY;
    WI_TRY(wi_find_wanted_cuts(&c));
    for (size_t i = 0; i < order->count; i++) WI_TRY(make_node(&c, order->nodes[i], &c.images[i]));
    return take_roots(&c);
}
