/* A small GPT learns the characters of a text, then writes on from a prompt: each token reads the keys and values that the
 * ones before have left in caches, and the drawn token becomes the next input without leaving the device. */
#include "gpt_model.h"
#include "trace.h"
#include "training_loop.h"

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { DATA, STEPS, BATCH, LAYERS, WIDTH, HEADS, CONTEXT };
enum { PROMPT = CONTEXT + 1, TEMPERATURE, TOP_K, TOP_P, TRACE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "the text", WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "updates", "1000"},
    [BATCH] = {"--batch", OPTION_COUNT, "N", "sequences in each", "16"},
    [LAYERS] = {"--layers", OPTION_COUNT, "N", "blocks", "2"},
    [WIDTH] = {"--width", OPTION_COUNT, "N", "numbers for each character", "64"},
    [HEADS] = {"--heads", OPTION_COUNT, "N", "heads of attention, a divisor of the width", "4"},
    [CONTEXT] = {"--context", OPTION_COUNT, "N", "characters of a sequence, and of what it writes", "64"},
    [PROMPT] = {"--prompt", OPTION_TEXT, "TEXT", "what it goes on from", "Alice "},
    [TEMPERATURE] = {"--temperature", OPTION_AMOUNT, "T", "0 always takes the likeliest", "0.8"},
    [TOP_K] = {"--top-k", OPTION_COUNT, "K", "draws among the K likeliest", "20"},
    [TOP_P] = {"--top-p", OPTION_RATE, "P", "of these, among the likeliest that add up to P", "0.95"},
    [TRACE] = TRACE_OPTION,
};

static int64_t number(int i) {
    return (int64_t)option_count_of(&options[i]);
}

/* Sequences from random places; each character's target is the next one. */
static weft_status train(gpt *g, const int32_t *text, size_t count, training_loop *loop) {
    const size_t batch = (size_t)number(BATCH), length = (size_t)g->length,
                 size = batch * length * sizeof *text;
    weft_tensor *tokens = weft_input(g->graph, "tokens", WEFT_I32, g->length),
                *next = weft_input(g->graph, "next", WEFT_I32, g->length);
    weft_tensor *outputs[2] = {weft_sequence_cross_entropy(gpt_logits(g, tokens), next, NULL)};
    const weft_optimizer rule = weft_adamw(3e-3f, 0.01f);
    const weft_plan_options sized = {WEFT_PLAN_OPTIONS_INIT, .batch = number(BATCH)};
    weft_plan *plan = NULL;
    int32_t *seen = malloc(size), *wanted = malloc(size);
    float loss = 0;
    outputs[1] = weft_optimizer_minimize(weft_optimizer_create(g->graph, &rule), outputs[0], NULL);
    const weft_value values[] = {
        {tokens, seen, size}, {next, wanted, size}, {outputs[0], &loss, sizeof loss}};
    weft_status status = seen && wanted ? weft_graph_status(g->graph) : WEFT_ERROR_MEMORY;
    if (!status) status = weft_plan_create(&plan, outputs, 2, &sized);
    if (!status) status = trace_begin(options[TRACE].text, g->graph);
    if (!status) status = loop_begin(loop);
    while (loop_next(loop, &status)) {
        for (size_t i = 0; i < batch; i++) {
            const int32_t *from = text + draw_below(count - length);
            memcpy(seen + i * length, from, length * sizeof *from);
            memcpy(wanted + i * length, from + 1, length * sizeof *from);
        }
        status = weft_plan_step(plan, values, 3);
        if (!status) trace_step(&loss, 1, 2, seen, size, wanted, size);
        if (!status && loop_every(loop, 100)) printf("step %4zu: loss %.3f\n", loop->step, (double)loss);
    }
    weft_plan_release(plan);
    free(seen), free(wanted);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {.program = "gpt", .options = options, .option_count = OPTIONS, .loops = true};
    line.purpose = "Learns the characters of a text, and writes on from a prompt.";
    const weft_text_options one = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 1};
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *text = NULL;
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    const char *path = options[DATA].text;
    gpt g = {.batch = WEFT_BATCH, .length = number(CONTEXT), .context = number(CONTEXT)};
    g.width = number(WIDTH), g.heads = number(HEADS), g.layers = number(LAYERS);
    weft_status status = loop_context(&context, &line);
    if (!status) status = weft_vocabulary_from_file(&vocabulary, context, path, NULL);
    if (!status) status = weft_dataset_open_text(&text, context, path, vocabulary, &one);
    if (status) goto done;
    if (weft_dataset_size(text) <= (size_t)g.context) {
        fprintf(stderr, "gpt: the text is not longer than the context\n");
        end = 1;
        goto done;
    }
    g.graph = weft_context_graph(context);
    g.vocabulary = (int64_t)weft_vocabulary_size(vocabulary);
    training_loop loop = {.line = &line, .graph = g.graph, .last = option_count_of(&options[STEPS])};
    /* a text of one stream of single tokens is the text itself */
    status = train(&g, weft_dataset_column(text, 0)->data, weft_dataset_size(text), &loop);
    const gpt_sampling how = {options[PROMPT].text, strtod(options[TEMPERATURE].text, NULL),
        strtod(options[TOP_P].text, NULL), number(TOP_K)};
    if (!status && !(end = loop.stopped)) status = gpt_write_on(&g, vocabulary, &how);
done:
    if (status) fprintf(stderr, "gpt: %s\n", weft_last_error());
    weft_dataset_release(text), weft_vocabulary_release(vocabulary), weft_context_release(context);
    return status ? 1 : end;
}
