/* Trains a language model on a text and writes some more of it. */
#include "console.h"
#include "language_model.h"
#include "progress.h"
#include "stopping.h"

enum { STREAMS = 16, STEPS = 32 };
enum { DATA, LEVEL, CELL, EPOCHS, SEED, LENGTH, SAVE, JSON, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "FILE", "text file; default the text that comes with Weft", NULL},
    [LEVEL] = {"--level", OPTION_CHOICE, "char|word", "unit of text that the model predicts", "char"},
    [CELL] = {"--cell", OPTION_CHOICE, "lstm|gru|rnn", "kind of the recurrent layers", "lstm"},
    [EPOCHS] = {"--epochs", OPTION_COUNT, "N", "passes over the text", "20"},
    [SEED] = {"--seed", OPTION_SEED, "S", "random seed of the initial weights and of the written text", "0"},
    [LENGTH] = {"--length", OPTION_COUNT, "N", "number of characters or words to write", "300"},
    [SAVE] = {"--save", OPTION_OUTPUT, "FILE", "file in which the model is saved for generate; default none",
        NULL},
    [JSON] = {"--json", OPTION_FLAG, NULL, "prints the result as a JSON object on the last line", NULL},
};
static bool print_epoch(void *user, const weft_epoch *e) {
    (void)user;
    note_epoch(e);
    printf("epoch %2zu/%zu  loss %.4f  validation %.4f (perplexity %.2f)  %.2f s\n", e->epoch + 1, e->epochs,
        e->loss, e->validation_loss, exp(e->validation_loss), e->seconds);
    return true;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_vocabulary *vocabulary = NULL;
    weft_dataset *training = NULL, *validation = NULL;
    weft_trainer *trainer = NULL;
    weft_graph *writer = NULL;
    weft_training_info info;
    size_t streams = STREAMS;
    weft_status status;
    int stopped = 0;
    command_line line = {.program = "train_text",
        .purpose = "Trains a language model on a text and writes more text with it.",
        .options = options,
        .option_count = OPTIONS,
        .trains = true};

    char beside[LONGEST_PATH];
    if (!command_line_read(&line, argc, argv, &stopped)) return stopped;
    if (options[SAVE].text && !command_line_try(&line, vocabulary_path(beside, options[SAVE].text))) return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    const char *shipped = WEFT_SOURCE_DATA_DIR "/text/alice.txt", *path = options[DATA].text;
    if (!path) path = console_can_read(shipped) ? shipped : "data/text/alice.txt";
    const size_t seed = option_count_of(&options[SEED]);
    const bool words = strcmp(options[LEVEL].text, "word") == 0;
    const weft_vocabulary_options tokens = {WEFT_VOCABULARY_OPTIONS_INIT, .minimum_count = words ? 2 : 1,
        .level = words ? WEFT_TEXT_WORDS : WEFT_TEXT_CHARACTERS};
    const weft_context_options opened = {PROGRAM_CONTEXT_OPTIONS_INIT, .seed = seed};
    if ((status = weft_context_create(&context, &opened))) goto done;
    if ((status = weft_vocabulary_from_file(&vocabulary, context, path, &tokens))) goto done;
    if ((status = read_text(&training, &validation, &streams, STEPS, path, vocabulary, context))) goto done;

    weft_graph *graph = weft_context_graph(context);
    language_model model = build_language_model(graph, options[CELL].text, vocabulary, streams, STEPS);
    const int64_t window[] = {(int64_t)streams, STEPS}, rows = window[0] * window[1];
    weft_tensor *next = weft_reshape(weft_input_shape(graph, "next", WEFT_I32, 2, window), rows);
    weft_tensor *loss = weft_cross_entropy(model.logits, next); /* logits: (rows, tokens) */
    weft_trainer_options training_options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(3e-3f),
        .epochs = option_count_of(&options[EPOCHS]), .batch = streams, .keep_order = true,
        .carries = model.keeps, .carry_count = model.keep_count, .validation = validation,
        .early_stopping = {.restore_best = true}, .on_epoch = print_epoch, .on_step = show_step};
    command_line_apply(&line, &training_options);
    if ((status = weft_trainer_create(&trainer, loss, &training_options))) goto done;
    if ((status = stopping_run(trainer, training, &line, &stopped)) || stopped) goto done;
    if (options[SAVE].text && (status = save_language_model(graph, vocabulary, options[SAVE].text)))
        goto done;

    if ((status = weft_graph_create(&writer, context))) goto done;
    model = build_language_model(writer, options[CELL].text, vocabulary, 1, 1);
    if ((status = copy_weights(writer, graph))) goto done;
    const size_t length = option_count_of(&options[LENGTH]);
    if ((status = print_text(&model, vocabulary, line_break(vocabulary), length, 0.7, seed))) goto done;
    weft_trainer_get_info(trainer, &info);
    if (options[JSON].text)
        printf(
            "{\"device\": \"%s\", \"level\": \"%s\", \"cell\": \"%s\", \"epochs\": %s, \"best_epoch\": %zu, "
            "\"seconds\": %.4f, \"step_ms\": %.4f, \"validation_loss\": %.5f}\n",
            weft_context_device(context)->name, options[LEVEL].text, options[CELL].text, options[EPOCHS].text,
            info.best_epoch + 1, info.seconds, 1e3 * info.median_step_seconds, info.best);
done:
    if (status) fprintf(stderr, "train_text: %s\n", weft_last_error());
    weft_graph_release(writer);
    weft_trainer_release(trainer);
    weft_dataset_release(validation), weft_dataset_release(training);
    weft_vocabulary_release(vocabulary);
    weft_context_release(context);
    return status != WEFT_OK ? 1 : stopped;
}
