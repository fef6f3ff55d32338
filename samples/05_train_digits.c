/* Trains a network on handwritten digits: train_digits [--data DIR] [--model mlp] [--epochs N] [--batch N]
 * [--seed S] [--device SEL] [--save FILE] [--json] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/weft.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { DATA, MODEL, DEVICE, SAVE, EPOCHS, BATCH, SEED, OPTIONS };
static const char *const names[] = {
    "--data", "--model", "--device", "--save", "--epochs", "--batch", "--seed"};
static const char *values[] = {NULL, "mlp", NULL, NULL, "20", "32", "0"};
static bool terminal = false, json = false;

static bool read_options(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const bool flag = strcmp(argv[i], "--json") == 0;
        int option = 0;
        json = json || flag;
        while (option < OPTIONS && strcmp(argv[i], names[option]) != 0) option++;
        if (!flag && (option == OPTIONS || i + 1 == argc))
            return fprintf(stderr, "train_digits: '%s' is no option, or lacks its value\n", argv[i]), false;
        if (!flag) values[option] = argv[++i];
    }
    for (int i = EPOCHS; i <= SEED; i++) {
        const bool digits = *values[i] && strspn(values[i], "0123456789") == strlen(values[i]);
        if (!digits || strlen(values[i]) > 9 || (i != SEED && atoi(values[i]) == 0))
            return fprintf(stderr, "train_digits: %s cannot be '%s'\n", names[i], values[i]), false;
    }
    if (strcmp(values[MODEL], "mlp") == 0) return true;
    return fprintf(stderr, "train_digits: no model '%s'; there is mlp\n", values[MODEL]), false;
}

static bool draw_bar(void *user, const weft_epoch *e) {
    (void)user;
    const int width = 30, filled = (int)(e->step_in_epoch * 30 / e->steps_per_epoch);
    printf("\repoch %2zu/%zu [%.*s%*s]", e->epoch + 1, e->epochs, filled, "##############################",
        width - filled, "");
    return true;
}

static bool print_epoch(void *user, const weft_epoch *e) {
    (void)user;
    printf("%sepoch %2zu/%zu  loss %.4f  training %.2f %%  test %.2f %%  %.2f s\n", terminal ? "\r" : "",
        e->epoch + 1, e->epochs, e->loss, 100 * e->accuracy, 100 * e->validation_accuracy, e->seconds);
    return true;
}

int main(int argc, char **argv) {
    weft_context *context = NULL;
    weft_dataset *digits = NULL, *test = NULL;
    weft_trainer *trainer = NULL;
    weft_training_info info;
    double accuracy = 0;
    weft_status status;

    if (!read_options(argc, argv)) return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    terminal = isatty(STDOUT_FILENO);
    const bool built_here = access(WEFT_SOURCE_DATA_DIR "/digits", R_OK) == 0;
    if (!values[DATA]) values[DATA] = built_here ? WEFT_SOURCE_DATA_DIR "/digits" : "data/digits";
    const size_t seed = (size_t)atoi(values[SEED]), epochs = (size_t)atoi(values[EPOCHS]);
    const weft_context_options device = {WEFT_CONTEXT_OPTIONS_INIT, .device = values[DEVICE], .seed = seed};
    if ((status = weft_context_create(&context, &device))) goto done;
    if ((status = weft_dataset_open_idx(&digits, context, values[DATA], "train"))) goto done;
    if ((status = weft_dataset_open_idx(&test, context, values[DATA], "t10k"))) goto done;

    const weft_column *image = weft_dataset_column(digits, 0);
    weft_graph *graph = weft_context_graph(context);
    weft_tensor *x = weft_input(graph, "image", WEFT_F32, 1, image->dims[1], image->dims[2]);
    weft_tensor *logits = weft_linear(weft_relu(weft_linear(weft_flatten(x), 128)), 10);
    weft_tensor *loss = weft_cross_entropy(logits, weft_input(graph, "label", WEFT_I32));
    const weft_trainer_options options = {WEFT_TRAINER_OPTIONS_INIT, .optimizer = weft_adam(1e-3f),
        .seed = seed, .epochs = epochs, .batch = (size_t)atoi(values[BATCH]), .logits = logits,
        .validation = test, .on_epoch = print_epoch, .on_step = terminal ? draw_bar : NULL};
    if ((status = weft_trainer_create(&trainer, loss, &options))) goto done;
    if ((status = weft_trainer_run(trainer, digits))) goto done;
    if ((status = weft_trainer_evaluate(trainer, test, NULL, &accuracy))) goto done;
    if (values[SAVE] && (status = weft_weights_save(graph, values[SAVE]))) goto done;

    weft_trainer_get_info(trainer, &info);
    const char *const form =
        json ? "{\"device\": \"%s\", \"model\": \"mlp\", \"epochs\": %zu, \"seconds\": %.4f, "
               "\"first_step_seconds\": %.4f, \"step_ms\": %.4f, \"test_accuracy\": %.5f}\n"
             : "%s: %zu epochs in %.2f s, first step after %.3f s, %.3f ms a step, test accuracy %.4f\n";
    printf(form, weft_context_device(context)->name, epochs, info.seconds, info.first_step_seconds,
        1e3 * info.median_step_seconds, accuracy);
done:
    if (status) fprintf(stderr, "train_digits: %s\n", weft_last_error());
    weft_trainer_release(trainer);
    weft_dataset_release(test);
    weft_dataset_release(digits);
    weft_context_release(context);
    return status != WEFT_OK;
}
