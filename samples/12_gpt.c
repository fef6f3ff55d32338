/* A small GPT learns the characters of a text, then writes on from a prompt: each token reads the keys and values that the
 * ones before have left in caches, and the drawn token becomes the next input without leaving the device. */
#include "gpt_model.h"
#include "trace.h"
#include "training_loop.h"
#include <weft/short_names.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { DATA, STEPS, SEQUENCES, LAYERS, WIDTH, HEADS, PLACES, PROMPT, TEMPERATURE, LIKELIEST, SHARE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "text file", WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "1000"},
    [SEQUENCES] = {"--batch", OPTION_COUNT, "N", "sequences per update", "16"},
    [LAYERS] = {"--layers", OPTION_COUNT, "N", "number of transformer blocks", "2"},
    [WIDTH] = {"--width", OPTION_COUNT, "N", "size of the vector of each character", "64"},
    [HEADS] = {"--heads", OPTION_COUNT, "N", "attention heads; must divide the width", "4"},
    [PLACES] = {"--context", OPTION_COUNT, "N", "characters of a sequence, and of the written text", "64"},
    [PROMPT] = {"--prompt", OPTION_TEXT, "TEXT", "beginning of the text, which the model continues",
        "Alice "},
    [TEMPERATURE] = {"--temperature", OPTION_AMOUNT, "T",
        "randomness; 0 always takes the most probable character", "0.8"},
    [LIKELIEST] = {"--top-k", OPTION_COUNT, "K", "draws among the K most probable characters", "20"},
    [SHARE] = {"--top-p", OPTION_RATE, "P", "of these, among the most probable with total probability P",
        "0.95"},
};

static int64_t count_of(int i) {
    return (int64_t)option_count_of(&options[i]);
}

/* Sequences from random places; each character's target is the next one. */
static status learn(gpt *m, const int32_t *text, size_t count, training_loop *loop) {
    const size_t batch = (size_t)count_of(SEQUENCES), length = (size_t)m->length,
                 size = batch * length * sizeof *text;
    int32_t *seen = malloc(size), *wanted = malloc(size);
    float now = 0;
    plan *update = NULL;
    tensor *tokens = input(m->graph, "tokens", I32, m->length),
           *next = input(m->graph, "next", I32, m->length);
    tensor *loss = sequence_cross_entropy(gpt_logits(m, tokens), next, NULL);
    status error = seen && wanted ? OK : ERROR_MEMORY;
    if (!error)
        error = plan_create(&update, TENSORS(loss, train_step(loss, adamw(3e-3f, 0.01f), NULL)),
            WITH(plan, .batch = count_of(SEQUENCES)));
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {{tokens, seen, size}, {next, wanted, size}, VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        for (size_t i = 0; i < batch; i++) {
            const int32_t *from = text + draw_below(count - length);
            memcpy(seen + i * length, from, length * sizeof *from);
            memcpy(wanted + i * length, from + 1, length * sizeof *from);
        }
        error = plan_step(update, values, 3);
        trace_values(values, 3);
        if (loop_every(loop, 100)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    plan_release(update);
    free(seen), free(wanted);
    return error;
}

static status train(training_loop *loop) {
    vocabulary *characters = NULL;
    dataset *text = NULL;
    const char *path = options[DATA].text;
    status error = vocabulary_from_file(&characters, loop->context, path, NULL);
    /* a text of one stream of single tokens is the text itself */
    if (!error)
        error =
            dataset_open_text(&text, loop->context, path, characters, WITH(text, .streams = 1, .steps = 1));
    if (error) goto done;
    gpt m = {.graph = loop->graph, .batch = BATCH, .length = count_of(PLACES), .context = count_of(PLACES)};
    m.vocabulary = (int64_t)vocabulary_size(characters), m.width = count_of(WIDTH);
    m.heads = count_of(HEADS), m.layers = count_of(LAYERS);
    const gpt_sampling how = {options[PROMPT].text, strtod(options[TEMPERATURE].text, NULL),
        strtod(options[SHARE].text, NULL), count_of(LIKELIEST)};
    if (dataset_size(text) <= (size_t)m.length) {
        fprintf(stderr, "gpt: the text must be longer than --context\n");
        loop->stopped = 1;
        goto done;
    }
    error = learn(&m, dataset_column(text, 0)->data, dataset_size(text), loop);
    if (!error && !loop->stopped) error = gpt_write_on(&m, characters, &how);
done:
    dataset_release(text), vocabulary_release(characters);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"gpt", "Trains a GPT on the characters of a text, then continues a prompt.", options,
        OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
