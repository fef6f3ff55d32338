/* Sparse updates: the gradient of an embedding table is a list of row indices with a gradient each. Gradients of
 * equal indices are added up, and only these rows of the table and of the optimizer's states are read and written. */
#include "base/pattern.h"
#include "nn/update_rules.h"
#include "ops/index/index.h"
#include "ops/op_table.h"

enum { MAX_PARTS = 16 }; /* embeddings of a network that read the same table */

weft_status weft_sparse_updates(weft_graph *graph, const char *parameters, bool sparse) {
    if (!graph || !parameters)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_sparse_updates: graph and parameters must not be NULL");
    WI_TRY(weft_graph_status(graph));
    bool found = false;
    for (size_t i = 0; i < weft_graph_parameter_count(graph); i++) {
        weft_tensor *const p = weft_graph_parameter(graph, i);
        if (!wi_pattern_matches(parameters, weft_tensor_name(p))) continue;
        if (sparse && (p->shape.rank != 2 || p->dtype != WEFT_F32))
            WI_FAIL(WEFT_ERROR_SHAPE,
                "weft_sparse_updates: parameter '%s' must be an f32 table of shape (rows, width)",
                weft_tensor_name(p));
        p->variable->sparse = sparse;
        found = true;
    }
    if (!found)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_sparse_updates: the graph has no parameter '%s'", parameters);
    return WEFT_OK;
}

/* ---- the gradient ---- */

typedef struct parts {
    weft_tensor *rows[MAX_PARTS], *index[MAX_PARTS];
    size_t count;
} parts;

/* The row indices of a gradient, with -1 in place of the padding token. */
static weft_tensor *index_of(const weft_tensor *sum) {
    weft_tensor *const index = sum->inputs[1];
    if (!sum->attributes->index.skips) return index;
    weft_tensor *const skipped =
        weft_equal(index, weft_number(index, (double)sum->attributes->index.skipped));
    return weft_where(skipped, weft_number(index, -1), index);
}

/* Adds the rows of a gradient to p, multiplied by factor (rank 0; NULL: 1). false: the gradient is not a sum of
 * index_sum nodes, or p is full. */
static bool collect(const weft_tensor *gradient, weft_tensor *factor, parts *p) {
    weft_tensor *const *const in = gradient->inputs;
    if (gradient->op == &wi_op_add) return collect(in[0], factor, p) && collect(in[1], factor, p);
    if (gradient->op == &wi_op_mul && in[1]->shape.rank == 0) /* the reciprocal of the loss scale */
        return collect(in[0], factor ? weft_mul(factor, in[1]) : in[1], p);
    if (gradient->op != &wi_op_index_sum || gradient->attributes->index.axis != 0 || p->count == MAX_PARTS)
        return false;
    p->rows[p->count] = factor ? weft_mul(in[0], factor) : in[0];
    p->index[p->count++] = index_of(gradient);
    return true;
}

static weft_status check_rule(const weft_optimizer *rule, const weft_tensor *parameter) {
    const char *const without = rule->kind == WEFT_LAMB   ? "LAMB"
                                : rule->accumulate > 1    ? "accumulate"
                                : rule->average_decay > 0 ? "average_decay"
                                                          : NULL;
    if (!without) return WEFT_OK;
    WI_FAIL(WEFT_ERROR_UNSUPPORTED,
        "optimizer: '%s' has sparse updates (weft_sparse_updates), which %s does not support",
        weft_tensor_name(parameter), without);
}

static weft_status fail_other(const weft_tensor *parameter, const weft_tensor *gradient) {
    WI_FAIL(WEFT_ERROR_ARGUMENT,
        "optimizer: '%s' has sparse updates (weft_sparse_updates), so only embeddings may use it, but "
        "its gradient also comes from another op (%s)",
        weft_tensor_name(parameter), gradient->op->name);
}

weft_status wi_row_gradient(wi_update *u, weft_tensor *gradient) {
    const weft_tensor *const parameter = weft_graph_parameter(u->graph, u->first);
    parts p = {.count = 0};
    WI_TRY(check_rule(u->optimizer, parameter));
    const bool all_collected = collect(gradient, NULL, &p);
    if (!all_collected && p.count == MAX_PARTS)
        WI_FAIL(WEFT_ERROR_UNSUPPORTED,
            "optimizer: '%s' has sparse updates (weft_sparse_updates), but more than %d embeddings read it",
            weft_tensor_name(parameter), MAX_PARTS);
    if (!all_collected) return fail_other(parameter, gradient);
    weft_tensor *const all = weft_concat(p.index, p.count, 0), *const source =
                                                                   weft_concat(p.rows, p.count, 0);
    u->segments = wi_segments_of(all, parameter->shape.dims[0]);
    u->g = u->sums = wi_segment_sum(source, u->segments);
    return weft_graph_status(u->graph);
}

/* ---- dense gradients of gradient shards ---- */

/* Adds to *counts, of the table's shape, how often each row occurs; false: the gradient is not a sum of index_sum nodes. */
static bool count_rows(const weft_tensor *gradient, weft_tensor **counts) {
    weft_tensor *const *const in = gradient->inputs;
    if (gradient->op == &wi_op_add) return count_rows(in[0], counts) && count_rows(in[1], counts);
    if (gradient->op == &wi_op_mul && in[1]->shape.rank == 0) return count_rows(in[0], counts);
    if (gradient->op != &wi_op_index_sum || gradient->attributes->index.axis != 0) return false;
    weft_tensor *const ones = weft_expand(weft_number(in[0], 1), in[0]->shape.rank, in[0]->shape.dims);
    weft_tensor *const inputs[] = {ones, in[1]};
    const wi_attributes attributes = wi_attributes_of(gradient);
    weft_tensor *const own =
        wi_node(gradient->graph, &wi_op_index_sum, inputs, 2, gradient->dtype, &gradient->shape, &attributes);
    *counts = *counts ? weft_add(*counts, own) : own;
    return true;
}

weft_status wi_row_counts(const wi_update *u, const weft_tensor *gradient, weft_tensor **counts) {
    const weft_tensor *const parameter = weft_graph_parameter(u->graph, u->first);
    WI_TRY(check_rule(u->optimizer, parameter));
    *counts = NULL;
    if (!count_rows(gradient, counts)) return fail_other(parameter, gradient);
    return weft_graph_status(u->graph);
}

/* ---- rows of the table and of its states ---- */

weft_tensor *wi_row_table(const wi_update *u, weft_tensor *flat, int64_t begin) {
    const wi_shape *const shape = &weft_graph_parameter(u->graph, u->first)->shape;
    weft_tensor *const own = wi_slice_dims(flat, 0, u->first_row - begin, u->rows, 1);
    weft_tensor *const line = weft_reshape_shape(own, 1, (const int64_t[]){u->rows * WI_FLAT_ROW});
    return weft_reshape_shape(wi_slice_dims(line, 0, 0, shape->dims[0] * shape->dims[1], 1), 2, shape->dims);
}

weft_tensor *wi_row_selected(const wi_update *u, weft_tensor *table) {
    return wi_segment_select(table, u->segments, u->sums);
}

weft_tensor *wi_row_assignment(const wi_update *u, weft_tensor *rows, weft_tensor *value) {
    weft_tensor *const table = rows->inputs[0];
    weft_tensor *next;
    if (u->apply) {
        weft_tensor *const token = wi_segment_tokens(u->segments);
        next =
            token ? wi_replace_rows(table, weft_where(u->apply, token, weft_number(token, -1)), value) : NULL;
    } else {
        next = wi_segment_copy(table, u->segments, value);
    }
    return next ? wi_assign_view(table, next) : NULL;
}

weft_tensor *wi_row_limited(weft_tensor *rows, float max_norm) {
    if (!rows || !(max_norm > 0)) return rows;
    weft_tensor *const norm = weft_norm_axes(rows, (const int64_t[]){-1, WEFT_END}, true);
    weft_tensor *const most = weft_number(norm, (double)max_norm);
    weft_tensor *const factor = weft_div(most, weft_add_number(norm, 1e-7));
    return weft_mul(rows, weft_where(weft_less(most, norm), factor, weft_number(norm, 1)));
}
