/* Rows of a table gathered by token; the gradient of the table adds the rows of equal tokens. Kernels: gather.cl
 * and, through index_sum, lists_cpu.cl and segments_gpu.cl.
 *
 * The node has inputs (table (vocabulary, width), tokens (count)). Its attributes name axis 0 and, if there
 * is one, the token whose row gets no gradient. */
#include "ops/index/index.h"
#include "ops/op_table.h"
#include <inttypes.h>

static void embedding_backward(weft_tensor *y, weft_tensor *g, weft_tensor **gradients) {
    const int64_t vocabulary = y->inputs[0]->shape.dims[0];
    const wi_index_attributes *const a = &y->attributes->index;
    if (a->by_frequency) g = wi_by_frequency(g, y->inputs[1], vocabulary);
    gradients[0] = a->skips ? wi_index_sum_skipping(g, y->inputs[1], vocabulary, a->skipped)
                            : weft_index_sum(g, 0, y->inputs[1], vocabulary);
}

const wi_op wi_op_embedding = {.name = "embedding",
    .kind = WI_KERNEL,
    .along = wi_index_axis,
    .attribute_bytes = sizeof(wi_index_attributes),
    .contiguous = 3,
    .fault = "a token is outside the vocabulary",
    .fault_index = "(row-major) of its tokens"};

static bool check(weft_tensor *table, weft_tensor *tokens) {
    char text[WI_SHAPE_TEXT];
    weft_tensor *inputs[] = {table, tokens};
    weft_graph *graph = wi_inputs_graph("embedding", inputs, 2);
    if (!graph) return false;
    if (!wi_dtype_is_float(table->dtype) || tokens->dtype != WEFT_I32) {
        wi_graph_fail(graph, WEFT_ERROR_DTYPE,
            "embedding: takes a table of %s and tokens of i32, not %s and %s; weft_cast converts",
            wi_dtypes_text(WI_TAKES_FLOATS), weft_dtype_name(table->dtype), weft_dtype_name(tokens->dtype));
        return false;
    }
    if (table->shape.rank == 2 && table->shape.dims[0] > 0 && table->shape.dims[1] > 0) return true;
    wi_graph_fail(graph, WEFT_ERROR_SHAPE, "embedding: the table is %s, expected (vocabulary, width)",
        wi_shape_print(table->graph, &table->shape, text));
    return false;
}

static weft_tensor *pick_rows(weft_tensor *table, weft_tensor *tokens, wi_index_attributes given) {
    char text[WI_SHAPE_TEXT];
    int64_t count;
    int power;
    wi_shape_count(tokens->graph, &tokens->shape, &count, &power);
    if (power > 1 || tokens->shape.rank + 1 > WEFT_MAX_RANK)
        return wi_graph_fail(table->graph, WEFT_ERROR_SHAPE,
            "embedding: tokens %s have more than one batch axis or too many axes",
            wi_shape_print(tokens->graph, &tokens->shape, text));
    const int64_t length = power ? -count : count, width = table->shape.dims[1];
    const wi_shape flat = {.rank = 2, .dims = {length, width}};
    wi_shape shape = tokens->shape;
    shape.dims[shape.rank++] = width;
    if (wi_shape_check(table->graph, &shape, "embedding") != WEFT_OK)
        return wi_graph_fail_recorded(table->graph, WEFT_ERROR_SHAPE);
    weft_tensor *inputs[] = {table, weft_reshape_shape(tokens, 1, &length)};
    if (!inputs[1]) return NULL;
    const wi_attributes attributes = {.index = given};
    weft_tensor *y = wi_node(table->graph, &wi_op_embedding, inputs, 2, table->dtype, &flat, &attributes);
    return y ? weft_reshape_shape(y, shape.rank, shape.dims) : NULL;
}

weft_tensor *wi_embedding_with(
    weft_tensor *table, weft_tensor *tokens, const int64_t *padding, bool by_frequency) {
    if (!check(table, tokens)) return NULL;
    return pick_rows(table, tokens,
        (wi_index_attributes){
            .skips = padding != NULL, .skipped = padding ? *padding : 0, .by_frequency = by_frequency});
}

static weft_tensor *build_embedding_with(weft_tensor *table, weft_tensor *tokens) {
    return check(table, tokens) ? pick_rows(table, tokens, (wi_index_attributes){0}) : NULL;
}

weft_tensor *weft_embedding_with(weft_tensor *table, weft_tensor *tokens) {
    return WI_CALL(table, "weft_embedding_with", build_embedding_with(table, tokens));
}

static weft_tensor *build_embedding_padded_with(weft_tensor *table, weft_tensor *tokens, int64_t padding) {
    if (!check(table, tokens)) return NULL;
    const int64_t vocabulary = table->shape.dims[0], row = padding < 0 ? padding + vocabulary : padding;
    if (row < 0 || row >= vocabulary)
        return wi_graph_fail(table->graph, WEFT_ERROR_ARGUMENT,
            "embedding: padding index %" PRId64 " is not in %" PRId64 "..%" PRId64, padding, -vocabulary,
            vocabulary - 1);
    return pick_rows(table, tokens, (wi_index_attributes){.skips = true, .skipped = row});
}

weft_tensor *weft_embedding_padded_with(weft_tensor *table, weft_tensor *tokens, int64_t padding) {
    return WI_CALL(table, "weft_embedding_padded_with", build_embedding_padded_with(table, tokens, padding));
}

const wi_op_rules wi_embedding_rules[] = {{.op = &wi_op_embedding, .backward = embedding_backward}, {0}};
