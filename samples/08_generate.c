/* Writes text with a model that train_text --save FILE has left: generate --model FILE
 * [--cell lstm|gru|rnn] [--temperature T] [--length N] [--seed S]. Temperature 0 always takes the likeliest.
 */
#include "language_model.h"

enum { MODEL, CELL, TEMPERATURE, LENGTH, SEED, OPTIONS };
static option options[] = {{"--model", NULL, FILE_NAME}, {"--cell", "lstm", CELL_NAME},
    {"--temperature", "0.7", POSITIVE_OR_0}, {"--length", "300", COUNT}, {"--seed", "0", NUMBER}};

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_status status;

    if (!read_options("generate", argc, argv, options, OPTIONS, NULL)) return 2;
    const char *model_file = options[MODEL].value;
    if (!model_file)
        return fprintf(stderr, "generate: --model FILE says which model, one of train_text --save\n"), 2;
    if ((status = weft_context_create(&context, NULL))) goto done;
    if ((status = load_vocabulary(&vocabulary, context, model_file))) goto done;

    weft_graph *graph = weft_context_graph(context);
    const language_model model = build_language_model(graph, options[CELL].value, vocabulary, 1, 1);
    if ((status = weft_graph_status(graph))) goto done;
    if ((status = weft_weights_load(graph, model_file, NULL))) goto done;
    status = print_text(&model, vocabulary, (size_t)atoi(options[LENGTH].value),
        strtod(options[TEMPERATURE].value, NULL), (uint64_t)atoi(options[SEED].value));
done:
    if (status) fprintf(stderr, "generate: %s\n", weft_last_error());
    weft_vocabulary_release(vocabulary);
    weft_context_release(context);
    return status != WEFT_OK;
}
