/* Trains a network on handwritten digits; --help tells the options. */
#include "console.h"
#include "progress.h"
#include "stopping.h"
#include "wrong_answers.h"
#include <stdio.h>
#include <string.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { DATA, MODEL, EPOCHS, BATCH, SEED, SAVE, ANSWERS, MISTAKES, DEVICE, JSON, OPTIONS };
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "DIR", "folder of the IDX files", WEFT_SOURCE_DATA_DIR "/digits"},
    [MODEL] = {"--model", OPTION_CHOICE, "cnn|mlp", "network: convolutions, or linear layers only", "cnn"},
    [EPOCHS] = {"--epochs", OPTION_COUNT, "N", "passes over the training digits", "20"},
    [BATCH] = {"--batch", OPTION_COUNT, "N", "digits per step", "32"},
    [SEED] = {"--seed", OPTION_SEED, "S", "random seed of the initial weights and order", "0"},
    [SAVE] = {"--save", OPTION_OUTPUT, "FILE", "file for the trained weights; default none", NULL},
    [ANSWERS] = {"--answers", OPTION_OUTPUT, "FILE.npy", "file for the predictions of the test images", NULL},
    [MISTAKES] = {"--mistakes", OPTION_OUTPUT, "FILE.png", "picture of the worst errors, which are listed",
        NULL},
    [DEVICE] = {"--device", OPTION_TEXT, "SEL", "device: gpu, cpu, part of a name, or platform:device", NULL},
    [JSON] = {"--json", OPTION_FLAG, NULL, "prints the result as a JSON object on the last line", NULL},
};

static weft_tensor *network(weft_tensor *x) {
    if (strcmp(options[MODEL].text, "cnn") == 0) {
        x = weft_relu(weft_conv2d(x, 32, 3, .padding = 1));
        x = weft_relu(weft_conv2d(x, 64, 3, .padding = 1));
        x = weft_max_pool2d(x, 2);
    }
    return weft_linear(weft_relu(weft_linear(weft_flatten(x), 128)), 10);
}

static weft_status save_answers(weft_tensor *logits, const weft_dataset *test, const char *path) {
    static int32_t answers[10000]; /* for the first 10,000 images */
    const size_t size = weft_dataset_size(test), count = size < 10000 ? size : 10000;
    const weft_status status = weft_predict(
        weft_argmax(logits, 1), count, weft_dataset_column(test, 0), 1, answers, count * sizeof *answers);
    return status ? status : weft_save_npy(path, WEFT_I32, answers, 1, (const int64_t[]){(int64_t)count});
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_dataset *digits = NULL, *test = NULL;
    weft_trainer *trainer = NULL;
    weft_training_info info;
    double accuracy = 0;
    weft_status status;
    int stopped = 0;
    command_line line = {"train_digits", "Learns handwritten digits.", options, OPTIONS, .trains = true};
    if (!command_line_read(&line, argc, argv, &stopped)) return stopped;
    setvbuf(stdout, NULL, _IONBF, 0);
    const size_t seed = option_count_of(&options[SEED]), epochs = option_count_of(&options[EPOCHS]);
    const weft_context_options device = {
        PROGRAM_CONTEXT_OPTIONS_INIT, .device = options[DEVICE].text, .seed = seed};
    if ((status = weft_context_create(&context, &device))) goto done;
    if ((status = weft_dataset_open_idx(&digits, context, options[DATA].text, "train"))) goto done;
    if ((status = weft_dataset_open_idx(&test, context, options[DATA].text, "t10k"))) goto done;
    const int64_t *dims = weft_dataset_column(digits, 0)->dims;
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *logits = network(weft_input(graph, "image", WEFT_F32, 1, dims[1], dims[2]));
    weft_tensor *loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    weft_trainer_options training = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(1e-3f), .seed = seed,
        .epochs = epochs, .batch = option_count_of(&options[BATCH]), .logits = logits, .validation = test,
        .on_epoch = show_epoch, .on_step = show_step};
    command_line_apply(&line, &training);
    if ((status = weft_trainer_create(&trainer, loss, &training))) goto done;
    if ((status = stopping_run(trainer, digits, &line, &stopped)) || stopped) goto done;
    if ((status = weft_trainer_evaluate(trainer, test, NULL, &accuracy))) goto done;
    if (options[SAVE].text && (status = weft_weights_save(graph, options[SAVE].text))) goto done;
    if (options[ANSWERS].text && (status = save_answers(logits, test, options[ANSWERS].text))) goto done;
    if (options[MISTAKES].text && (status = mistakes_show(logits, test, options[MISTAKES].text))) goto done;
    weft_trainer_get_info(trainer, &info);
    const char *const form =
        options[JSON].text ? "{\"device\": \"%s\", \"model\": \"%s\", \"epochs\": %zu, \"seconds\": %.4f%s, "
                             "\"test_accuracy\": %.5f, \"first_step_seconds\": %.4f}\n"
                           : "%s, %s: %zu epochs in %.2f s%s, test accuracy %.4f\n";
    printf(form, weft_context_device(context)->name, options[MODEL].text, epochs, info.seconds,
        step_time(&info, options[JSON].text), accuracy, info.first_step_seconds);
done:
    if (status) fprintf(stderr, "train_digits: %s\n", weft_last_error());
    weft_trainer_release(trainer), weft_dataset_release(test), weft_dataset_release(digits);
    weft_context_release(context);
    return status != WEFT_OK ? 1 : stopped;
}
