/* Writes text with a model that train_text --save FILE has left. */
#include "command_line.h"
#include "language_model.h"

enum { MODEL, CELL, TEMPERATURE, LENGTH, SEED, OPTIONS };
static option options[OPTIONS] = {
    [MODEL] = {"--model", OPTION_TEXT, "FILE", "what train_text --save has left; needed", NULL},
    [CELL] = {"--cell", OPTION_CHOICE, "lstm|gru|rnn", "as it was trained", "lstm"},
    [TEMPERATURE] = {"--temperature", OPTION_AMOUNT, "T", "0 always takes the likeliest", "0.7"},
    [LENGTH] = {"--length", OPTION_COUNT, "N", "how many characters or words", "300"},
    [SEED] = {"--seed", OPTION_SEED, "S", "of the choices", "0"},
};

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_status status;
    int end = 0;
    command_line line = {.program = "generate",
        .purpose = "Writes text with a model that train_text has trained.",
        .options = options,
        .option_count = OPTIONS};

    if (!command_line_read(&line, argc, argv, &end)) return end;
    const char *model_file = options[MODEL].text;
    if (!model_file)
        return fprintf(stderr, "generate: --model FILE says which model, one of train_text --save\n"), 2;
    if ((status = weft_context_create(&context, NULL))) goto done;
    if ((status = load_vocabulary(&vocabulary, context, model_file))) goto done;

    weft_graph *graph = weft_context_graph(context);
    const language_model model = build_language_model(graph, options[CELL].text, vocabulary, 1, 1);
    if ((status = weft_graph_status(graph))) goto done;
    if ((status = weft_weights_load(graph, model_file, NULL))) goto done;
    status = print_text(&model, vocabulary, option_count_of(&options[LENGTH]),
        strtod(options[TEMPERATURE].text, NULL), option_count_of(&options[SEED]));
done:
    if (status) fprintf(stderr, "generate: %s\n", weft_last_error());
    weft_vocabulary_release(vocabulary);
    weft_context_release(context);
    return status != WEFT_OK;
}
