/* A small Llama (H. Touvron et al. 2023) learns the characters of a text: RMS norms, rotary positions, grouped queries and a
 * gated MLP. Then it writes on with caches of keys and values, and reads what it wrote without them. */
#include "llama_model.h"
#include "trace.h"
#include "training_loop.h"

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { BATCH_SIZE = 16 };
enum { DATA, STEPS, PROMPT, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "text file", WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "500"},
    [PROMPT] = {"--prompt", OPTION_TEXT, "TEXT", "beginning of the text, which the model continues",
        "Alice "},
};

/* Sequences from random places; each character's target is the next one. */
static void get_batch(const dataset *text, int32_t (*seen)[CONTEXT], int32_t (*wanted)[CONTEXT]) {
    const int32_t *all = dataset_column(text, 0)->data;
    for (int i = 0; i < BATCH_SIZE; i++) {
        const int32_t *from = all + draw_below(dataset_size(text) - CONTEXT);
        memcpy(seen[i], from, sizeof *seen);
        memcpy(wanted[i], from + 1, sizeof *wanted);
    }
}

/* Goes on with the likeliest tokens, until the context is full; then all are read at once. */
static status generate(llama m, tensor *tokens, tensor *logits, const vocabulary *letters) {
    int32_t text[CONTEXT] = {0}, likeliest[CONTEXT];
    const char *prompt = options[PROMPT].text;
    plan *read = NULL, *write = NULL;
    size_t begin = 0, alike = 0;
    m.caches = true, m.batch = m.length = 1;
    tensor *token = input_shape(m.graph, "token", I32, SHAPE(1, 1)), *all = argmax(logits, 2);
    tensor *next = argmax(llama_logits(&m, token), 2),
           *outputs[] = {next, m.updates[0], m.updates[1], m.moved};
    status error = vocabulary_encode(letters, prompt, strlen(prompt), text, CONTEXT, &begin) ||
                   plan_create(&read, TENSORS(all), WITH(plan, .inference = true)) ||
                   plan_create(&write, outputs, 4, WITH(plan, .inference = true));
    for (size_t i = 0; i + 1 < CONTEXT && !error; i++) {
        int32_t guess = 0;
        error = plan_step(write, VALUES(VALUE(token, text[i]), VALUE(next, guess)));
        if (i + 1 >= begin) text[i + 1] = guess;
    }
    if (!error) error = plan_step(read, VALUES(VALUE(tokens, text), VALUE(all, likeliest)));
    for (size_t i = 0; i < CONTEXT && !error; i++) {
        printf("%s", vocabulary_token(letters, text[i], NULL));
        alike += i >= begin && text[i] == likeliest[i - 1];
    }
    if (!error)
        printf("\n%zu of %zu characters are the same when computed without caches\n", alike, CONTEXT - begin);
    plan_release(read), plan_release(write);
    return error;
}

static status train(training_loop *loop) {
    static int32_t seen[BATCH_SIZE][CONTEXT], wanted[BATCH_SIZE][CONTEXT];
    const char *path = options[DATA].text;
    float now = 0;
    vocabulary *letters = NULL;
    dataset *text = NULL;
    plan *learn = NULL;
    status error = vocabulary_from_file(&letters, loop->context, path, NULL);
    /* a text of one stream of single tokens is the text itself */
    if (!error)
        error = dataset_open_text(&text, loop->context, path, letters, WITH(text, .streams = 1, .steps = 1));
    llama m = {.graph = loop->graph, .batch = BATCH, .length = CONTEXT};
    m.vocabulary = (int64_t)vocabulary_size(letters);
    tensor *tokens = input(m.graph, "tokens", I32, CONTEXT), *next = input(m.graph, "next", I32, CONTEXT);
    tensor *logits = llama_logits(&m, tokens), *loss = sequence_cross_entropy(logits, next, NULL);
    if (!error)
        error = plan_create(&learn, TENSORS(loss, train_step(loss, adamw(3e-3f, 0.01f), NULL)),
                    WITH(plan, .batch = BATCH_SIZE)) ||
                loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {VALUE(tokens, seen), VALUE(next, wanted), VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        get_batch(text, seen, wanted);
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        if (loop_every(loop, 100)) printf("step %4zu: loss %.3f\n", loop->step, (double)now);
    }
    if (!error && !loop->stopped) error = generate(m, tokens, logits, letters);
    plan_release(learn), dataset_release(text), vocabulary_release(letters);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {"llama", "Trains a LLaMA on the characters of a text, then continues a prompt.",
        options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
