/* The embedding layers: a parameter (vocabulary, width) whose rows are gathered by token. */
#include "graph/sizes.h"
#include "nn/layer_parameters.h"
#include "nn/update_rules.h"
#include "ops/index/index.h"
#include <inttypes.h>
#include <math.h>
#include <weft/nn.h>

static bool check(
    weft_graph *graph, int64_t vocabulary, int64_t width, const weft_embedding_options *options) {
    if (vocabulary < 1 || width < 1) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_embedding: vocabulary is %" PRId64 " and width is %" PRId64 ", expected 1 or more for both",
            vocabulary, width);
        return false;
    }
    if (!WI_TAKES_NUMBERS(graph, "weft_embedding", {"max_norm", (double)options->max_norm})) return false;
    if (!(options->max_norm >= 0) || isinf(options->max_norm)) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_embedding: max_norm is %g, expected above 0, or 0 for none", (double)options->max_norm);
        return false;
    }
    if (!options->padded || (options->padding >= -vocabulary && options->padding < vocabulary)) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
        "weft_embedding: padding index %" PRId64 " is not in %" PRId64 "..%" PRId64, options->padding,
        -vocabulary, vocabulary - 1);
    return false;
}

/* Checks the table of the options, and marks it for sparse updates and max_norm; NULL: an error was recorded. */
static weft_tensor *given_table(
    weft_graph *graph, int64_t vocabulary, int64_t width, const weft_embedding_options *options) {
    weft_tensor *const table = options->table;
    const wi_shape wanted = {.rank = 2, .dims = {vocabulary, width}};
    char text[WI_SHAPE_TEXT], text_wanted[WI_SHAPE_TEXT];
    if (options->name || options->initialiser || table->graph != graph)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT, "weft_embedding: %s",
            table->graph != graph
                ? "the table belongs to another graph"
                : "the options name and initialiser must not be set when the table is given");
    if (table->dtype != WEFT_F32 || !wi_shape_equal(&table->shape, &wanted))
        return wi_graph_fail(graph, WEFT_ERROR_SHAPE, "weft_embedding: the table is %s %s, expected f32 %s",
            weft_dtype_name(table->dtype), wi_shape_print(table->graph, &table->shape, text),
            wi_shape_print(graph, &wanted, text_wanted));
    if (!options->sparse && !(options->max_norm > 0)) return table;
    if (table->op != &wi_op_parameter)
        return wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_embedding: with sparse updates or max_norm the table must be a parameter");
    table->variable->sparse = true;
    if (options->max_norm > 0) table->variable->max_norm = options->max_norm;
    return table;
}

static int64_t padding_row(const weft_embedding_options *options, int64_t vocabulary) {
    return options->padding < 0 ? options->padding + vocabulary : options->padding;
}

/* Sets how a new table begins and is updated. A table that an earlier layer created keeps its settings. */
static void begin_table(const weft_tensor *table, const weft_embedding_options *options) {
    wi_variable *const variable = table->variable;
    variable->sparse = options->sparse || options->max_norm > 0;
    variable->max_norm = options->max_norm;
    if (!options->padded) return;
    variable->zero_bytes = (size_t)table->shape.dims[1] * sizeof(float);
    variable->zero_from = (size_t)padding_row(options, table->shape.dims[0]) * variable->zero_bytes;
}

/* Creates the layer's table, or finds it if the scope shares names with an earlier layer. */
static weft_tensor *own_table(
    weft_graph *graph, int64_t vocabulary, int64_t width, const weft_embedding_options *options) {
    char name[WI_LAYER_NAME];
    wi_layer_name(name, graph, "embedding", options->name);
    const weft_initialiser normal = weft_init_normal(0, 1);
    const size_t before = weft_graph_parameter_count(graph);
    weft_tensor *const table = wi_layer_parameter(graph, name, "weight",
        options->initialiser ? options->initialiser : &normal, 2, (int64_t[]){vocabulary, width});
    if (table && weft_graph_parameter_count(graph) > before) begin_table(table, options);
    return table;
}

/* Shortens gathered rows to max_norm. The gradient passes unchanged: the update shortens the same rows of the table
 * (row_update.c) before it subtracts the gradient. */
static weft_tensor *limited(weft_tensor *rows, float max_norm) {
    if (!rows || !(max_norm > 0)) return rows;
    weft_tensor *const fixed = weft_stop_gradient(rows);
    return weft_add(rows, weft_sub(wi_row_limited(fixed, max_norm), fixed));
}

static weft_tensor *build_embedding_layer(
    weft_tensor *tokens, int64_t vocabulary, int64_t width, const weft_embedding_options *given) {
    weft_embedding_options own;
    const weft_embedding_options *const options = &own;
    weft_graph *graph = wi_inputs_graph("embedding", &tokens, 1);
    if (!graph ||
        !WI_GRAPH_OPTIONS(graph, &own, given, "weft_embedding_layer", WEFT_EMBEDDING_OPTIONS_INIT) ||
        !check(graph, vocabulary, width, options))
        return NULL;
    const int64_t row = padding_row(options, vocabulary);
    weft_tensor *const table = (options->table ? given_table : own_table)(graph, vocabulary, width, options);
    if (!table) return NULL;
    weft_tensor *const rows =
        wi_embedding_with(table, tokens, options->padded ? &row : NULL, options->by_frequency);
    return limited(rows, options->max_norm);
}

weft_tensor *weft_embedding_layer(
    weft_tensor *tokens, int64_t vocabulary, int64_t width, const weft_embedding_options *given) {
    return WI_CALL(tokens, "weft_embedding", build_embedding_layer(tokens, vocabulary, width, given));
}

weft_tensor *(weft_embedding)(weft_tensor *tokens, int64_t vocabulary, int64_t width) {
    return weft_embedding_layer(tokens, vocabulary, width, NULL);
}

static weft_tensor *build_embedding_bag(weft_tensor *tokens, int64_t vocabulary, int64_t width,
    const weft_bag_options *bags, const weft_embedding_options *given) {
    weft_bag_options own;
    if (!wi_bag_check(tokens, WEFT_F32, bags, &own)) return NULL;
    weft_embedding_options table = {WEFT_EMBEDDING_OPTIONS_INIT};
    if (!WI_GRAPH_OPTIONS(tokens->graph, &table, given, "weft_embedding_bag", WEFT_EMBEDDING_OPTIONS_INIT))
        return NULL;
    if (table.padded) own.padded = true, own.padding = table.padding;
    return wi_bags(weft_embedding_layer(tokens, vocabulary, width, &table), tokens, &own, vocabulary);
}

weft_tensor *weft_embedding_bag(weft_tensor *tokens, int64_t vocabulary, int64_t width,
    const weft_bag_options *bags, const weft_embedding_options *given) {
    return WI_CALL(tokens, "weft_embedding_bag", build_embedding_bag(tokens, vocabulary, width, bags, given));
}
