/* Attention with a cache of keys and values (contract in ops.h). New rows are written to the caches in place, and queries attend to the
 * rows up to their own positions. Positions are data, so that one plan decodes a whole text. */
#include "base/names.h"
#include "ops/op_table.h"

typedef struct caches {
    weft_tensor *keys, *values; /* (..., capacity, d) */
    weft_tensor *position;      /* i32 of rank 0 */
} caches;

/* Is the cache a state with the shape of the new rows, except for the axis of positions? */
static bool fits(const char *what, const weft_tensor *cache, const weft_tensor *rows) {
    char text_cache[WI_SHAPE_TEXT], text_rows[WI_SHAPE_TEXT];
    const int rank = rows->shape.rank;
    wi_shape wanted = rows->shape;
    if (rank >= 2 && cache->shape.rank == rank) wanted.dims[rank - 2] = cache->shape.dims[rank - 2];
    if (cache->variable && !cache->variable->trainable && rank >= 2 && cache->dtype == rows->dtype &&
        wi_shape_equal(&wanted, &cache->shape))
        return true;
    wi_graph_fail(cache->graph, WEFT_ERROR_SHAPE,
        "attention_cached: the cache of %s is %s %s %s %s, but the new rows are %s %s; expected a state of "
        "the rows' dtype and of shape (..., capacity, d)",
        what, wi_article(cache->op->name), cache->op->name, weft_dtype_name(cache->dtype),
        wi_shape_print(cache->graph, &cache->shape, text_cache), weft_dtype_name(rows->dtype),
        wi_shape_print(rows->graph, &rows->shape, text_rows));
    return false;
}

static bool check(weft_tensor *const *inputs, const caches *c) {
    char text[WI_SHAPE_TEXT];
    weft_graph *const graph = wi_inputs_graph("attention_cached", inputs, 6);
    if (!graph) return false;
    if (c->position->dtype != WEFT_I32 || c->position->shape.rank != 0) {
        wi_graph_fail(graph, WEFT_ERROR_SHAPE, "attention_cached: position is %s %s, expected i32 of rank 0",
            weft_dtype_name(c->position->dtype),
            wi_shape_print(c->position->graph, &c->position->shape, text));
        return false;
    }
    return fits("keys", c->keys, inputs[1]) && fits("values", c->values, inputs[2]);
}

static weft_tensor *count_to(weft_graph *graph, int64_t end, int rank) {
    weft_tensor *const line = weft_arange(graph, WEFT_I32, 0, (double)end, 1);
    return rank == 1 ? line : weft_reshape_shape(line, 2, (const int64_t[]){end, 1});
}

static weft_tensor *build_attention_cached(weft_tensor *q, weft_tensor *k, weft_tensor *v,
    weft_tensor *key_cache, weft_tensor *value_cache, weft_tensor *position, weft_tensor **update) {
    const caches c = {key_cache, value_cache, position};
    weft_tensor *const inputs[] = {q, k, v, key_cache, value_cache, position};
    if (update) *update = NULL;
    if (!check(inputs, &c)) return NULL;
    if (!update) return wi_graph_fail(q->graph, WEFT_ERROR_ARGUMENT, "attention_cached: update is NULL");
    const int axis = k->shape.rank - 2;
    const int64_t length = k->shape.dims[axis], capacity = key_cache->shape.dims[axis];
    weft_tensor *const rows =
        wi_label(weft_add(count_to(q->graph, length, 1), position), WI_LABEL_CACHED, capacity, INT64_MIN);
    weft_tensor *const keys = weft_index_copy(key_cache, axis, rows, k), *const values = weft_index_copy(
                                                                             value_cache, axis, rows, v);
    weft_tensor *const last = weft_add(count_to(q->graph, length, 2), position);
    const weft_attention_options options = {
        WEFT_ATTENTION_OPTIONS_INIT, .mask = weft_less_equal(count_to(q->graph, capacity, 1), last)};
    weft_tensor *const parts[] = {weft_assign(key_cache, keys), weft_assign(value_cache, values)};
    *update = wi_assign_all(parts, 2);
    return weft_attention(q, keys, values, &options);
}

weft_tensor *weft_attention_cached(weft_tensor *q, weft_tensor *k, weft_tensor *v, weft_tensor *key_cache,
    weft_tensor *value_cache, weft_tensor *position, weft_tensor **update) {
    return WI_CALL(q, "weft_attention_cached",
        build_attention_cached(q, k, v, key_cache, value_cache, position, update));
}
