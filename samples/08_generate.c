/* Writes text with a model that train_text --save FILE has left. It reads a prompt in one run, however long, and goes on with
 * one token a run: the same network at two lengths. */
#include "command_line.h"
#include "language_model.h"
#include "progress.h"

enum { MODEL, CELL, PROMPT, TEMPERATURE, LENGTH, SEED, OPTIONS };
static option options[OPTIONS] = {
    [MODEL] = {"--model", OPTION_TEXT, "FILE", "model file that train_text --save wrote; required", NULL},
    [CELL] = {"--cell", OPTION_CHOICE, "lstm|gru|rnn",
        "kind of the recurrent layers with which it was trained", "lstm"},
    [PROMPT] = {"--prompt", OPTION_TEXT, "TEXT",
        "beginning of the text, which the model continues; default a new line", NULL},
    [TEMPERATURE] = {"--temperature", OPTION_AMOUNT, "T",
        "randomness; 0 always takes the most probable token", "0.7"},
    [LENGTH] = {"--length", OPTION_COUNT, "N", "number of characters or words to write", "300"},
    [SEED] = {"--seed", OPTION_SEED, "S", "random seed of the choices", "0"},
};

/* All but the last of its tokens, in order, change the state of the model; *last is what the next one follows. */
static weft_status read_prompt(
    const language_model *m, const weft_vocabulary *vocabulary, const char *text, int32_t *last) {
    const size_t bytes = strlen(text);
    int32_t *tokens = calloc(bytes + 1, sizeof *tokens);
    weft_tensor *outputs[] = {m->keeps[0], m->keeps[1]};
    weft_plan *plan = NULL;
    size_t count = 0;
    weft_status status =
        tokens ? weft_vocabulary_encode(vocabulary, text, bytes, tokens, bytes, &count) : WEFT_ERROR_MEMORY;
    if (!status && count > 0) *last = tokens[count - 1];
    if (!status && count > 1) {
        const weft_plan_options at_length = {
            WEFT_PLAN_OPTIONS_INIT, .inference = true, .length = (int64_t)count - 1};
        float carry = 1;
        status = weft_plan_create(&plan, outputs, m->keep_count, &at_length);
        const weft_value values[] = {
            {m->tokens, tokens, (count - 1) * sizeof *tokens}, {m->carry, &carry, sizeof carry}};
        if (!status) status = weft_plan_step(plan, values, 2);
    }
    weft_plan_release(plan);
    free(tokens);
    return status;
}

int main(int argc, char **argv) {
    const weft_context_options shown = {PROGRAM_CONTEXT_OPTIONS_INIT};
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_status status;
    int end = 0;
    command_line line = {.program = "generate",
        .purpose = "Writes text with a model that was trained by train_text.",
        .options = options,
        .option_count = OPTIONS};

    if (!command_line_read(&line, argc, argv, &end)) return end;
    const char *model_file = options[MODEL].text;
    if (!model_file)
        return fprintf(stderr,
                   "generate: --model FILE is missing; it must name a model that train_text --save wrote\n"),
               2;
    if ((status = weft_context_create(&context, &shown))) goto done;
    if ((status = load_vocabulary(&vocabulary, context, model_file))) goto done;

    weft_graph *graph = weft_context_graph(context);
    const language_model model = build_language_model(graph, options[CELL].text, vocabulary, 1, WEFT_LENGTH);
    const char *prompt = options[PROMPT].text;
    int32_t last = line_break(vocabulary);
    if ((status = weft_graph_status(graph))) goto done;
    if ((status = weft_weights_load(graph, model_file, NULL))) goto done;
    if (prompt && (status = read_prompt(&model, vocabulary, prompt, &last))) goto done;
    if (prompt) fputs(prompt, stdout);
    status = print_text(&model, vocabulary, last, option_count_of(&options[LENGTH]),
        strtod(options[TEMPERATURE].text, NULL), option_count_of(&options[SEED]));
done:
    if (status) fprintf(stderr, "generate: %s\n", weft_last_error());
    weft_vocabulary_release(vocabulary);
    weft_context_release(context);
    return status != WEFT_OK;
}
