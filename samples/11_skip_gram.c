/* Skip-gram with negative sampling (T. Mikolov et al. 2013): words that stand among the same others get similar vectors.
 * Both tables are updated by rows: a step reads and writes those of its batch, however many words there are. */
#include "trace.h"
#include "training_loop.h"
#include <stdio.h>
#include <stdlib.h>
#include <weft/short_names.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
enum { WINDOW = 4, PICKED = 6, WIDTH = 64 }; /* picked: a word of the context, and five others */
enum { DATA, STEPS, PAIRS, TABLE, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "text file", WEFT_SOURCE_DATA_DIR "/text/alice.txt"},
    [STEPS] = {"--steps", OPTION_COUNT, "N", "number of updates", "2000"},
    [PAIRS] = {"--batch", OPTION_COUNT, "N", "pairs of words per update", "256"},
    [TABLE] = {"--table", OPTION_COUNT, "N",
        "least number of rows of the embedding tables, for tests of large ones", "1"},
};

/* A batch: words, and for each one of its neighbours, then words from anywhere. */
static void draw_pairs(const int32_t *text, size_t count, int32_t *words, int32_t *others, size_t batch) {
    for (size_t i = 0; i < batch; i++) {
        const size_t at = draw_below(count), away = 1 + draw_below(WINDOW);
        words[i] = text[at];
        others[i * PICKED] = text[(at + (draw_below(2) ? away : count - away)) % count];
        for (size_t k = 1; k < PICKED; k++) others[i * PICKED + k] = text[draw_below(count)];
    }
}

static status train(training_loop *loop) {
    const size_t batch = option_count_of(&options[PAIRS]), least = option_count_of(&options[TABLE]);
    const char *path = options[DATA].text;
    int32_t *words = calloc(batch, sizeof *words), *others = calloc(batch * PICKED, sizeof *others);
    vocabulary *known = NULL;
    dataset *text = NULL;
    plan *learn = NULL;
    graph *g = loop->graph;
    float mean_loss = 0, now = 0;
    status error = words && others ? OK : ERROR_MEMORY;
    if (!error)
        error = vocabulary_from_file(&known, loop->context, path, WITH(vocabulary, .level = TEXT_WORDS));
    /* a text of one stream of single tokens is the text itself */
    if (!error)
        error = dataset_open_text(&text, loop->context, path, known, WITH(text, .streams = 1, .steps = 1));
    if (error) goto done;

    const size_t count = dataset_size(text), size = vocabulary_size(known);
    const int64_t rows = (int64_t)(least > size ? least : size);
    const initialiser small = init_uniform(-0.1f, 0.1f);
    const embedding_options *by_rows = WITH(embedding, .initialiser = &small, .sparse = true);
    tensor *word = input(g, "word", I32), *other = input(g, "other", I32, PICKED);
    tensor *inner = embedding_layer(word, rows, WIDTH, by_rows);
    tensor *outer = embedding_layer(other, rows, WIDTH, by_rows);
    tensor *logits = sum(mul(unsqueeze(inner, 1), outer), 2); /* (batch, PICKED) */
    tensor *sign = array(g, F32, (const float[]){-1, 1, 1, 1, 1, 1}, SHAPE(PICKED));
    tensor *loss = mean(sum(softplus(mul(logits, sign)), 1));
    error = plan_create(
        &learn, TENSORS(loss, train_step(loss, adagrad(0.2f), NULL)), WITH(plan, .batch = (int64_t)batch));
    loop_keep(loop, "mean", &mean_loss, sizeof mean_loss);
    if (!error) error = loop_begin(loop, option_count_of(&options[STEPS]));
    const value values[] = {{word, words, batch * sizeof *words},
        {other, others, batch * PICKED * sizeof *others}, VALUE(loss, now)};
    while (loop_next(loop, &error)) {
        draw_pairs(dataset_column(text, 0)->data, count, words, others, batch);
        error = plan_step(learn, values, 3);
        trace_values(values, 3);
        mean_loss += (now - mean_loss) / (float)(loop->step < 100 ? loop->step : 100);
        if (loop_every(loop, 500)) printf("step %5zu: loss %.4f\n", loop->step, (double)mean_loss);
    }
done:
    free(words), free(others);
    plan_release(learn), dataset_release(text), vocabulary_release(known);
    return error;
}

int main(int argc, char **argv) {
    command_line line = {
        "skip_gram", "Learns a vector for each word of a text.", options, OPTIONS, .loops = true};
    return loop_main(&line, argc, argv, train);
}
