/* Trains a language model on a text and writes some more of it: train_text [--data FILE]
 * [--level char|word] [--cell lstm|gru|rnn] [--epochs N] [--seed S] [--length N] [--save FILE] [--json] */
#include "language_model.h"

#include <unistd.h>

enum { DATA, SAVE, LEVEL, CELL, EPOCHS, LENGTH, SEED, OPTIONS, STREAMS = 16, STEPS = 32 };
static option options[] = {{"--data", NULL, FILE_NAME}, {"--save", NULL, FILE_NAME},
    {"--level", "char", LEVEL_NAME}, {"--cell", "lstm", CELL_NAME}, {"--epochs", "20", COUNT},
    {"--length", "300", COUNT}, {"--seed", "0", NUMBER}};
static bool terminal = false, json = false;

static bool print_epoch(void *user, const weft_epoch *e) {
    (void)user;
    printf("%sepoch %2zu/%zu  loss %.4f  validation %.4f (perplexity %.2f)  %.2f s\n", terminal ? "\r" : "",
        e->epoch + 1, e->epochs, e->loss, e->validation_loss, exp(e->validation_loss), e->seconds);
    return true;
}

/* The last tenth of the text is kept for validation; a short text has fewer streams. */
static weft_status read_text(weft_dataset **training, weft_dataset **validation, size_t *streams,
    const char *path, const weft_vocabulary *vocabulary, weft_context *context) {
    weft_dataset *all = NULL; /* one stream of one step: the tokens one after another */
    weft_text_options shape = {WEFT_TEXT_OPTIONS_INIT, .streams = 1, .steps = 1};
    weft_status status = weft_dataset_open_text(&all, context, path, vocabulary, &shape);
    if (status) return status;
    const int32_t *tokens = weft_dataset_column(all, 0)->data;
    const size_t count = weft_dataset_size(all), held = count / 10;
    shape.streams = STREAMS, shape.steps = STEPS;
    while (shape.streams > 1 && held <= shape.streams * STEPS) shape.streams /= 2;
    *streams = shape.streams;
    status = weft_dataset_from_tokens(training, context, tokens, count - held, &shape);
    if (!status) status = weft_dataset_from_tokens(validation, context, tokens + count - held, held, &shape);
    weft_dataset_release(all);
    return status;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *training = NULL, *validation = NULL;
    weft_trainer *trainer = NULL;
    weft_graph *writer = NULL;
    weft_training_info info;
    size_t streams = 0;
    weft_status status;

    if (!read_options("train_text", argc, argv, options, OPTIONS, &json)) return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    terminal = isatty(STDOUT_FILENO);
    const char *shipped = WEFT_SOURCE_DATA_DIR "/text/alice.txt", *path = options[DATA].value;
    if (!path) path = access(shipped, R_OK) == 0 ? shipped : "data/text/alice.txt";
    const size_t seed = (size_t)atoi(options[SEED].value), length = (size_t)atoi(options[LENGTH].value);
    const bool words = strcmp(options[LEVEL].value, "word") == 0;
    const weft_vocabulary_options tokens = {WEFT_VOCABULARY_OPTIONS_INIT, .minimum_count = words ? 2 : 1,
        .level = words ? WEFT_TEXT_WORDS : WEFT_TEXT_CHARACTERS};
    if ((status = weft_context_create(
             &context, &(weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .seed = seed})))
        goto done;
    if ((status = weft_vocabulary_from_file(&vocabulary, context, path, &tokens))) goto done;
    if ((status = read_text(&training, &validation, &streams, path, vocabulary, context))) goto done;

    weft_graph *graph = weft_context_graph(context);
    language_model model = build_language_model(graph, options[CELL].value, vocabulary, streams, STEPS);
    const int64_t window[] = {(int64_t)streams, STEPS}, rows = window[0] * window[1];
    weft_tensor *next = weft_reshape(weft_input_shape(graph, "next", WEFT_I32, 2, window), rows);
    weft_tensor *loss = weft_cross_entropy(model.logits, next); /* logits: (rows, tokens) */
    const weft_trainer_options training_options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(3e-3f),
        .epochs = (size_t)atoi(options[EPOCHS].value), .batch = streams, .keep_order = true,
        .carries = model.keeps, .carry_count = model.keep_count, .validation = validation,
        .early_stopping = {.restore_best = true}, .on_epoch = print_epoch,
        .on_step = terminal ? draw_bar : NULL};
    if ((status = weft_trainer_create(&trainer, loss, &training_options))) goto done;
    if ((status = weft_trainer_run(trainer, training))) goto done;
    if (options[SAVE].value && (status = save_language_model(graph, vocabulary, options[SAVE].value)))
        goto done;

    if ((status = weft_graph_create(&writer, context))) goto done;
    model = build_language_model(writer, options[CELL].value, vocabulary, 1, 1);
    if ((status = copy_weights(writer, graph))) goto done;
    if ((status = print_text(&model, vocabulary, length, 0.7, seed))) goto done;
    weft_trainer_get_info(trainer, &info);
    if (json)
        printf(
            "{\"device\": \"%s\", \"level\": \"%s\", \"cell\": \"%s\", \"epochs\": %s, \"best_epoch\": %zu, "
            "\"seconds\": %.4f, \"step_ms\": %.4f, \"validation_loss\": %.5f}\n",
            weft_context_device(context)->name, options[LEVEL].value, options[CELL].value,
            options[EPOCHS].value, info.best_epoch + 1, info.seconds, 1e3 * info.median_step_seconds,
            info.best);
done:
    if (status) fprintf(stderr, "train_text: %s\n", weft_last_error());
    weft_graph_release(writer);
    weft_trainer_release(trainer);
    weft_dataset_release(validation), weft_dataset_release(training);
    weft_vocabulary_release(vocabulary);
    weft_context_release(context);
    return status != WEFT_OK;
}
