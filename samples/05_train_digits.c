/* Trains a network on handwritten digits; --help tells the options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { DATA, MODEL, DEVICE, SAVE, EPOCHS, BATCH, SEED, OPTIONS };
static const char *names[] = {"--data", "--model", "--device", "--save", "--epochs", "--batch", "--seed"};
static const char *values[] = {WEFT_SOURCE_DATA_DIR "/digits", "cnn", NULL, NULL, "20", "32", "0"};
static const char help[] = "usage: train_digits [--model cnn|mlp] [--epochs N] [--batch N] [--seed S]\n"
                           "                    [--data DIR] [--device SEL] [--save FILE] [--json]\n";
static bool json = false;

static bool read_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int option = 0;
        while (option < OPTIONS && strcmp(argv[i], names[option]) != 0) option++;
        if (option == OPTIONS ? strcmp(argv[i], "--json") != 0 : i + 1 == argc)
            return fprintf(stderr, "train_digits: '%s' is no option, or lacks its value\n", argv[i]), false;
        if (option < OPTIONS) values[option] = argv[++i];
        json = json || option == OPTIONS;
    }
    for (int i = EPOCHS; i <= SEED; i++) {
        const size_t length = strlen(values[i]), digits = strspn(values[i], "0123456789");
        if (length == 0 || length > 9 || digits < length || (i != SEED && atoi(values[i]) == 0))
            return fprintf(stderr, "train_digits: %s cannot be '%s'\n", names[i], values[i]), false;
    }
    if (strcmp(values[MODEL], "cnn") == 0 || strcmp(values[MODEL], "mlp") == 0) return true;
    return fprintf(stderr, "train_digits: no model '%s'; there are cnn and mlp\n", values[MODEL]), false;
}

static weft_tensor *convolution(weft_tensor *x, int64_t filters) {
    const weft_conv_layer_options same = {
        WEFT_CONV_LAYER_OPTIONS_INIT, .conv = {WEFT_CONV_OPTIONS_INIT, .mode = WEFT_PADDING_SAME}};
    return weft_relu(weft_conv_layer(x, filters, (const int64_t[]){3, 3}, &same));
}

static weft_tensor *network(weft_tensor *x) {
    if (strcmp(values[MODEL], "cnn") == 0) x = weft_max_pool2d(convolution(convolution(x, 32), 64), 2);
    return weft_linear(weft_relu(weft_linear(weft_flatten(x), 128)), 10);
}

static bool draw_bar(void *user, const weft_epoch *e) {
    (void)user;
    printf("epoch %2zu/%zu [%-24.*s]\r", e->epoch + 1, e->epochs,
        (int)(24 * e->step_in_epoch / e->steps_per_epoch), "########################");
    return true;
}

static bool print_epoch(void *user, const weft_epoch *e) {
    (void)user;
    printf("epoch %2zu/%zu  loss %.4f  training %.2f %%  test %.2f %%  %.2f s\n", e->epoch + 1, e->epochs,
        e->loss, 100 * e->accuracy, 100 * e->validation_accuracy, e->seconds);
    return true;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_dataset *digits = NULL, *test = NULL;
    weft_trainer *trainer = NULL;
    weft_training_info info;
    double accuracy = 0;
    weft_status status;
    if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0;
    if (!read_options(argc, argv)) return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    const size_t seed = (size_t)atoi(values[SEED]), epochs = (size_t)atoi(values[EPOCHS]);
    const weft_context_options device = {WEFT_CONTEXT_OPTIONS_INIT, .device = values[DEVICE], .seed = seed};
    if ((status = weft_context_create(&context, &device))) goto done;
    if ((status = weft_dataset_open_idx(&digits, context, values[DATA], "train"))) goto done;
    if ((status = weft_dataset_open_idx(&test, context, values[DATA], "t10k"))) goto done;
    const int64_t *dims = weft_dataset_column(digits, 0)->dims;
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *logits = network(weft_input(graph, "image", WEFT_F32, 1, dims[1], dims[2]));
    weft_tensor *loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(1e-3f),
        .seed = seed, .epochs = epochs, .batch = (size_t)atoi(values[BATCH]), .logits = logits,
        .validation = test, .on_epoch = print_epoch, .on_step = isatty(STDOUT_FILENO) ? draw_bar : NULL};
    if ((status = weft_trainer_create(&trainer, loss, &options))) goto done;
    if ((status = weft_trainer_run(trainer, digits))) goto done;
    if ((status = weft_trainer_evaluate(trainer, test, NULL, &accuracy))) goto done;
    if (values[SAVE] && (status = weft_weights_save(graph, values[SAVE]))) goto done;
    weft_trainer_get_info(trainer, &info);
    const char *const form =
        json ? "{\"device\": \"%s\", \"model\": \"%s\", \"epochs\": %zu, \"seconds\": %.4f, "
               "\"first_step_seconds\": %.4f, \"step_ms\": %.4f, \"test_accuracy\": %.5f}\n"
             : "%s, %s: %zu epochs in %.2f s, first step after %.3f s, %.3f ms a step, test accuracy %.4f\n";
    printf(form, weft_context_device(context)->name, values[MODEL], epochs, info.seconds,
        info.first_step_seconds, 1e3 * info.median_step_seconds, accuracy);
done:
    if (status) fprintf(stderr, "train_digits: %s\n", weft_last_error());
    weft_trainer_release(trainer), weft_dataset_release(test), weft_dataset_release(digits);
    weft_context_release(context);
    return status != WEFT_OK;
}
