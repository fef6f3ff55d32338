/* Skip-gram with negative sampling (T. Mikolov et al. 2013): words that stand among the same others get similar vectors.
 * Both tables are updated by rows: a step reads and writes those of its batch, however many words there are. */
#include "trace.h"
#include "training_loop.h"
#include <stdio.h>
#include <stdlib.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { WINDOW = 4, PICKED = 6, WIDTH = 64 }; /* picked: a word of the context, and five others */
enum { DATA, STEPS, BATCH, TABLE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "a text of words", WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "updates", "2000"},
    [BATCH] = {"--batch", OPTION_COUNT, "N", "pairs of words in each", "256"},
    [TABLE] = {"--table", OPTION_COUNT, "N", "rows of the tables, of which the text uses the first", "1"},
};

/* All words of the text, as numbers; NULL with a status after an error. */
static int32_t *read_words(
    weft_vocabulary **vocabulary, weft_context *context, size_t *count, weft_status *status) {
    const weft_vocabulary_options words = {WEFT_VOCABULARY_OPTIONS_INIT, .level = WEFT_TEXT_WORDS};
    const weft_text_options one = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 1};
    weft_dataset *text = NULL;
    int32_t *tokens = NULL;
    *status = weft_vocabulary_from_file(vocabulary, context, options[DATA].text, &words);
    if (!*status) *status = weft_dataset_open_text(&text, context, options[DATA].text, *vocabulary, &one);
    *count = weft_dataset_size(text);
    if (!*status && !(tokens = malloc(*count * sizeof *tokens))) *status = WEFT_ERROR_MEMORY;
    for (size_t i = 0; tokens && i < *count; i++)
        tokens[i] = ((const int32_t *)weft_dataset_column(text, 0)->data)[i];
    weft_dataset_release(text);
    return tokens;
}

/* A batch: words, and for each one of its neighbours, then words from anywhere. */
static void draw_pairs(const int32_t *text, size_t count, int32_t *words, int32_t *others, size_t batch) {
    for (size_t i = 0; i < batch; i++) {
        const size_t at = draw_below(count), step = 1 + draw_below(WINDOW);
        words[i] = text[at];
        others[i * PICKED] = text[(at + (draw_below(2) ? step : count - step)) % count];
        for (size_t k = 1; k < PICKED; k++) others[i * PICKED + k] = text[draw_below(count)];
    }
}

int main(int argc, char **argv) {
    command_line line = {
        "skip_gram", "Learns vectors of the words of a text.", options, OPTIONS, .loops = true};
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_plan *plan = NULL;
    weft_status status;
    int32_t *text = NULL, *words = NULL, *others = NULL;
    size_t count = 0;
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    const size_t batch = option_count_of(&options[BATCH]);
    if ((status = loop_context(&context, &line))) goto done;
    if (!(text = read_words(&vocabulary, context, &count, &status))) goto done;
    const size_t least = option_count_of(&options[TABLE]), known = weft_vocabulary_size(vocabulary);
    const int64_t rows = (int64_t)(least > known ? least : known);
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *word = weft_input(graph, "word", WEFT_I32);
    weft_tensor *other = weft_input(graph, "other", WEFT_I32, PICKED);
    const weft_initialiser start = weft_init_uniform(-0.1f, 0.1f);
    const weft_embedding_options by_rows = {
        WEFT_EMBEDDING_OPTIONS_INIT, .initialiser = &start, .sparse = true};
    weft_tensor *inner = weft_embedding_layer(word, rows, WIDTH, &by_rows);
    weft_tensor *outer = weft_embedding_layer(other, rows, WIDTH, &by_rows);
    weft_tensor *logits = weft_sum(weft_mul(weft_unsqueeze(inner, 1), outer), 2); /* (batch, PICKED) */
    weft_tensor *sign =
        weft_array(graph, WEFT_F32, (const float[]){-1, 1, 1, 1, 1, 1}, 1, (const int64_t[]){PICKED});
    weft_tensor *loss = weft_mean(weft_sum(weft_softplus(weft_mul(logits, sign)), 1));
    weft_optimizer rule = weft_adagrad(0.2f);
    weft_tensor *outputs[] = {loss, weft_optimizer_minimize(weft_optimizer_create(graph, &rule), loss, NULL)};
    const weft_plan_options size = {WEFT_PLAN_OPTIONS_INIT, .batch = (int64_t)batch};
    if ((status = weft_plan_create(&plan, outputs, 2, &size))) goto done;
    words = malloc(batch * sizeof *words), others = malloc(batch * PICKED * sizeof *others);
    float mean = 0, now = 0;
    const weft_value values[] = {{word, words, batch * sizeof *words},
        {other, others, batch * PICKED * sizeof *others}, {loss, &now, sizeof now}};
    training_loop loop = {.line = &line, .graph = graph, .last = option_count_of(&options[STEPS])};
    loop_keep(&loop, "mean", &mean, sizeof mean);
    status = words && others ? loop_begin(&loop) : WEFT_ERROR_MEMORY;
    while (loop_next(&loop, &status)) {
        draw_pairs(text, count, words, others, batch);
        status = weft_plan_step(plan, values, 3);
        mean += (now - mean) / (float)(loop.step < 100 ? loop.step : 100);
        if (!status && loop_every(&loop, 500)) printf("step %5zu: loss %.4f\n", loop.step, (double)mean);
    }
    end = loop.stopped;
done:
    if (status) fprintf(stderr, "skip_gram: %s\n", weft_last_error());
    free(text), free(words), free(others);
    weft_plan_release(plan), weft_vocabulary_release(vocabulary), weft_context_release(context);
    return status ? 1 : end;
}
