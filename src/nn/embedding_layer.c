/* The embedding layer: a table of its own, and rows picked from it. */
#include "nn/layer_parameters.h"
#include <inttypes.h>
#include <weft/nn.h>

static bool check(
    weft_graph *graph, int64_t vocabulary, int64_t width, const weft_embedding_options *options) {
    if (vocabulary < 1 || width < 1) {
        wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
            "weft_embedding: %" PRId64 " tokens of width %" PRId64 ", expected 1 or more of both", vocabulary,
            width);
        return false;
    }
    if (!options->padded || (options->padding >= -vocabulary && options->padding < vocabulary)) return true;
    wi_graph_fail(graph, WEFT_ERROR_ARGUMENT,
        "weft_embedding: padding index %" PRId64 " is not in %" PRId64 "..%" PRId64, options->padding,
        -vocabulary, vocabulary - 1);
    return false;
}

weft_tensor *weft_embedding_layer(
    weft_tensor *tokens, int64_t vocabulary, int64_t width, const weft_embedding_options *given) {
    weft_embedding_options own;
    const weft_embedding_options *const options = &own;
    weft_graph *graph = wi_inputs_graph("embedding", &tokens, 1);
    if (!graph ||
        !WI_GRAPH_OPTIONS(graph, &own, given, "weft_embedding_layer", WEFT_EMBEDDING_OPTIONS_INIT) ||
        !check(graph, vocabulary, width, options))
        return NULL;
    char name[WI_LAYER_NAME];
    wi_layer_name(name, graph, "embedding", options->name);
    const weft_initialiser normal = weft_init_normal(0, 1);
    const size_t before = weft_graph_parameter_count(graph);
    weft_tensor *table = wi_layer_parameter(graph, name, "weight",
        options->initialiser ? options->initialiser : &normal, 2, (int64_t[]){vocabulary, width});
    if (!table || !options->padded) return weft_embedding_with(table, tokens);
    const int64_t row = options->padding < 0 ? options->padding + vocabulary : options->padding;
    if (weft_graph_parameter_count(graph) > before) { /* a shared one keeps what it began with */
        table->variable->zero_bytes = (size_t)width * sizeof(float);
        table->variable->zero_from = (size_t)row * table->variable->zero_bytes;
    }
    return weft_embedding_padded_with(table, tokens, row);
}

weft_tensor *weft_embedding(weft_tensor *tokens, int64_t vocabulary, int64_t width) {
    return weft_embedding_layer(tokens, vocabulary, width, NULL);
}
