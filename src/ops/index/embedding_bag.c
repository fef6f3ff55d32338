/* Bags of tokens: the sum, the mean or the maximum of the rows of a table that a bag names. A bag is the last axis of the tokens; or it
 * begins at an offset, and its rows are added by index.
 *
 *     offsets   0 2 2     tokens   7 3 5 1 4     bag of each   0 0 2 2 2     the second bag is empty */
#include "ops/index/index.h"
#include "ops/op_table.h"
#include <inttypes.h>
#include <math.h>

/* ---- checks ---- */

static bool check_shapes(weft_graph *graph, const weft_tensor *tokens, const weft_bag_options *o) {
    char text[WI_SHAPE_TEXT], other[WI_SHAPE_TEXT];
    const weft_tensor *const offsets = o->offsets, *const weights = o->weights;
    if (offsets && (offsets->shape.rank != 1 || tokens->shape.rank != 1))
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "embedding_bag: tokens are %s and offsets are %s, expected one axis for both",
            wi_shape_print(tokens->graph, &tokens->shape, text),
            wi_shape_print(offsets->graph, &offsets->shape, other));
    else if (!offsets && tokens->shape.rank < 2)
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "embedding_bag: tokens are %s; without offsets, expected (..., tokens per bag)",
            wi_shape_print(tokens->graph, &tokens->shape, text));
    else if (weights && !wi_shape_equal(&weights->shape, &tokens->shape))
        wi_graph_fail(graph, WEFT_ERROR_SHAPE,
            "embedding_bag: weights are %s and tokens are %s, expected the same shape",
            wi_shape_print(weights->graph, &weights->shape, text),
            wi_shape_print(tokens->graph, &tokens->shape, other));
    else
        return true;
    return false;
}

static bool check_options(weft_graph *graph, weft_dtype dtype, const weft_bag_options *o) {
    if (o->mode != WEFT_BAG_MEAN && o->mode != WEFT_BAG_SUM && o->mode != WEFT_BAG_MAX)
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "embedding_bag: mode is %d, which is not a weft_bag_mode",
            (int)o->mode);
    else if (o->weights && o->mode != WEFT_BAG_SUM)
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "embedding_bag: weights are given, but only mode WEFT_BAG_SUM takes them");
    else if (o->weights && o->weights->dtype != dtype)
        wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "embedding_bag: the table is %s, but the weights are %s; weft_cast converts",
            weft_dtype_name(dtype), weft_dtype_name(o->weights->dtype));
    else if (o->offsets && o->offsets->dtype != WEFT_I32)
        wi_graph_fail(graph, WEFT_ERROR_DTYPE, "embedding_bag: offsets are i32, not %s; weft_cast converts",
            weft_dtype_name(o->offsets->dtype));
    else
        return true;
    return false;
}

bool wi_bag_check(
    weft_tensor *tokens, weft_dtype dtype, const weft_bag_options *given, weft_bag_options *own) {
    weft_graph *const graph = wi_inputs_graph("embedding_bag", &tokens, 1);
    if (!graph || !WI_GRAPH_OPTIONS(graph, own, given, "weft_embedding_bag", WEFT_BAG_OPTIONS_INIT))
        return false;
    weft_tensor *more[] = {
        tokens, own->offsets ? own->offsets : tokens, own->weights ? own->weights : tokens};
    return wi_inputs_graph("embedding_bag", more, 3) && check_options(graph, dtype, own) &&
           check_shapes(graph, tokens, own);
}

/* ---- bags ---- */

/* rows: (..., tokens, width). used: which tokens are not padding; NULL: none is padding. bag_of: if bags begin at
 * offsets, the number of the bag of each token, otherwise NULL. */
typedef struct bags {
    weft_tensor *rows, *used, *bag_of, *offsets;
} bags;

/* The number of the bag of each token: the number of offsets that are not behind the token, minus 1. Offsets behind all
 * tokens, which belong to empty bags at the end, do not count. */
weft_tensor *wi_bags_of_places(weft_tensor *tokens, weft_tensor *offsets) {
    weft_tensor *const place = wi_coordinate(tokens->graph, &tokens->shape, 0);
    weft_tensor *const last = weft_max_axes(place, (const int64_t[]){0, WEFT_END}, true);
    weft_tensor *const counts = weft_cast(weft_less_equal(offsets, last), WEFT_I32);
    weft_tensor *const begins = weft_index_sum(counts, 0, weft_minimum(offsets, last), tokens->shape.dims[0]);
    return weft_add_number(weft_cumsum(begins, 0), -1);
}

/* The sums over each bag: from (..., tokens, n) to (..., n). */
static weft_tensor *added_up(const bags *b, weft_tensor *x) {
    return b->bag_of ? weft_index_sum(x, 0, b->bag_of, b->offsets->shape.dims[0])
                     : weft_sum_axes(x, (const int64_t[]){-2, WEFT_END}, false);
}

/* (..., 1): the number of tokens in each bag. */
static weft_tensor *counted(const bags *b) {
    weft_tensor *const like = weft_slice(b->rows, -1, 0, 1);
    weft_tensor *const one = weft_number(b->rows, 1);
    weft_tensor *const ones = b->used ? weft_where(b->used, one, weft_number(b->rows, 0)) : one;
    return like ? added_up(b, weft_expand(ones, like->shape.rank, like->shape.dims)) : NULL;
}

/* The maxima over each bag. With offsets, rows of other bags are replaced by the lowest number, as rows of padding are. */
static weft_tensor *largest(const bags *b) {
    weft_tensor *rows = b->rows, *used = b->used;
    if (b->bag_of) {
        weft_tensor *const bag = weft_unsqueeze(weft_unsqueeze(b->bag_of, 1), 0);
        weft_tensor *const number = wi_coordinate(rows->graph, &b->offsets->shape, 0);
        weft_tensor *const own = weft_equal(bag, weft_unsqueeze(weft_unsqueeze(number, 1), 2));
        used = used ? weft_logical_and(own, weft_unsqueeze(used, 0)) : own;
        rows = weft_unsqueeze(rows, 0);
    }
    if (used) rows = weft_where(used, rows, weft_number(rows, -INFINITY));
    return weft_max_axes(rows, (const int64_t[]){-2, WEFT_END}, false);
}

/* The result of an empty bag is 0. */
static weft_tensor *of_mode(const bags *b, weft_bag_mode mode) {
    weft_tensor *const y = mode == WEFT_BAG_MAX ? largest(b) : added_up(b, b->rows);
    if (!y || mode == WEFT_BAG_SUM) return y;
    weft_tensor *const count = counted(b);
    if (mode == WEFT_BAG_MEAN) return weft_div(y, weft_maximum_number(count, 1));
    return b->used || b->bag_of ? weft_where(weft_equal(count, weft_number(y, 0)), weft_number(y, 0), y) : y;
}

/* (tokens..., 1): is the token no padding? */
static weft_tensor *tokens_used(weft_tensor *tokens, int64_t padding, int64_t vocabulary) {
    const int64_t row = padding < 0 ? padding + vocabulary : padding;
    if (row < 0 || row >= vocabulary)
        return wi_graph_fail(tokens->graph, WEFT_ERROR_ARGUMENT,
            "embedding_bag: padding index %" PRId64 " is not in %" PRId64 "..%" PRId64, padding, -vocabulary,
            vocabulary - 1);
    return weft_unsqueeze(weft_not_equal(tokens, weft_number(tokens, (double)row)), -1);
}

weft_tensor *wi_bags(weft_tensor *rows, weft_tensor *tokens, const weft_bag_options *o, int64_t vocabulary) {
    if (!rows) return NULL;
    bags b = {.rows = rows, .offsets = o->offsets};
    if (o->offsets && !(b.bag_of = wi_bags_of_places(tokens, o->offsets))) return NULL;
    if (o->padded && !(b.used = tokens_used(tokens, o->padding, vocabulary))) return NULL;
    if (o->weights) b.rows = weft_mul(rows, weft_unsqueeze(o->weights, -1));
    if (b.used && o->mode != WEFT_BAG_MAX) b.rows = weft_where(b.used, b.rows, weft_number(rows, 0));
    return of_mode(&b, o->mode);
}

static weft_tensor *build_embedding_bag_with(
    weft_tensor *table, weft_tensor *tokens, const weft_bag_options *options) {
    weft_bag_options own;
    if (!table || !wi_bag_check(tokens, table->dtype, options, &own)) return NULL;
    weft_tensor *const rows = own.padded ? weft_embedding_padded_with(table, tokens, own.padding)
                                         : weft_embedding_with(table, tokens);
    return rows ? wi_bags(rows, tokens, &own, table->shape.dims[0]) : NULL;
}

weft_tensor *weft_embedding_bag_with(
    weft_tensor *table, weft_tensor *tokens, const weft_bag_options *options) {
    return WI_CALL(table, "weft_embedding_bag_with", build_embedding_bag_with(table, tokens, options));
}
