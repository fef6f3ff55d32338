/* Trains a network on CIFAR-10 or CIFAR-100 where the user has its files, else on the digits that come with
 * Weft, enlarged to 32 x 32 and coloured grey. The weights and the classes' names are saved after each epoch,
 * for `classify`. */
#include "command_line.h"
#include "console.h"
#include "image_network.h"
#include "json_text.h"
#include "progress.h"
#include "stopping.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif

enum { SIDE = 32, PADDING = 4, MOST_TRANSFORMS = 3, MOST_SHOWN = 64, PATH_ROOM = 4096 };
enum { DATA, MODEL, AUGMENT, SHOW, EPOCHS, BATCH, RATE, SEED, FROM, SAVE, DEVICE, JSON, OPTIONS };

static const char program[] = "train_cifar";
static option options[OPTIONS] = {
    [DATA] = {"--data", OPTION_TEXT, "DIR", "folder of CIFAR's binary files; default the digits of Weft",
        NULL},
    [MODEL] = {"--model", OPTION_CHOICE, "alexnet|resnet20|resnet56", "network to train", "resnet20"},
    [AUGMENT] = {"--augment", OPTION_CHOICE, "standard|randaugment|mixup|cutmix", "how images are changed",
        "standard"},
    [SHOW] = {"--show-augmented", OPTION_OUTPUT, "FILE.png",
        "file for a picture of the first images that the network is trained on", NULL},
    [EPOCHS] = {"--epochs", OPTION_COUNT, "N", "passes over the training images", "20"},
    [BATCH] = {"--batch", OPTION_COUNT, "N", "images per step", "128"},
    [RATE] = {"--rate", OPTION_RATE, "R",
        "first learning rate, which falls to 0 by a cosine; default 0.1, alexnet 0.01", NULL},
    [SEED] = {"--seed", OPTION_SEED, "S", "random seed of the initial weights, order and augmentation", "0"},
    [FROM] = {"--from", OPTION_TEXT, "FILE", "file of initial weights, saved by an earlier run", NULL},
    [SAVE] = {"--save", OPTION_OUTPUT, "FILE", "file for the trained weights; default MODEL.safetensors",
        NULL},
    [DEVICE] = {"--device", OPTION_TEXT, "SEL", "device: gpu, cpu, part of a name, or platform:device", NULL},
    [JSON] = {"--json", OPTION_FLAG, NULL, "prints the result as a JSON object on the last line", NULL},
};

/* What there is to learn. */
typedef struct pictures {
    const char *name;
    weft_dataset *training, *test;
    size_t classes;
} pictures;

/* A run under way. */
typedef struct run {
    weft_context *context;
    weft_graph *graph;
    weft_trainer *trainer;
    pictures pictures;
    const char *weights;
    char default_weights[64], names[PATH_ROOM];
    weft_status saved;
    bool said;   /* what went wrong stands on stderr already */
    int stopped; /* by a signal: the exit status; 0: not */
} run;

static bool augments_by(const char *name) {
    return strcmp(options[AUGMENT].text, name) == 0;
}

/* Does the network learn from the column "target", as two images and their classes are mixed? */
static bool mixes_images(void) {
    return augments_by("mixup") || augments_by("cutmix");
}

/* Adds what --augment names to the crops and flips; returns how many transforms there are. */
static size_t add_augmentation(weft_transform *transforms, size_t count) {
    if (augments_by("randaugment")) transforms[count++] = weft_transform_rand_augment(2, 9);
    if (augments_by("mixup")) transforms[count++] = weft_transform_mixup(0.2);
    if (augments_by("cutmix")) transforms[count++] = weft_transform_cutmix(1);
    return count;
}

static weft_image_options image_options(const weft_transform *transforms, size_t count, size_t classes) {
    const image_format format = image_format_of("resnet20");
    weft_image_options made = {WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms, .transform_count = count,
        .layout = WEFT_CHANNELS_LAST, .channels = 3, .targets = mixes_images() ? (int64_t)classes : 0};
    memcpy(made.mean, format.mean, sizeof made.mean);
    memcpy(made.deviation, format.deviation, sizeof made.deviation);
    return made;
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_ROOM];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && console_can_read(path);
}

static weft_status open_cifar(run *r, const char *folder) {
    weft_transform moves[MOST_TRANSFORMS] = {
        weft_transform_random_crop(SIDE, SIDE, PADDING), weft_transform_random_flip(0.5)};
    const size_t count = add_augmentation(moves, 2);
    const bool ten = has_file(folder, "data_batch_1.bin"), hundred = !ten && has_file(folder, "train.bin");
    if (!ten && !hundred) {
        fprintf(stderr,
            "%s: '%s' has neither data_batch_1.bin (CIFAR-10) nor train.bin (CIFAR-100); unpack the binary "
            "version of https://www.cs.toronto.edu/~kriz/cifar.html in this folder\n",
            program, folder);
        r->said = true;
        return WEFT_ERROR_FILE;
    }
    r->pictures.name = ten ? "CIFAR-10" : "CIFAR-100";
    r->pictures.classes = ten ? 10 : 100;
    const weft_image_options moved = image_options(moves, count, r->pictures.classes),
                             still = image_options(NULL, 0, r->pictures.classes);
    const weft_status status = weft_dataset_open_cifar(
        &r->pictures.training, r->context, folder, ten ? WEFT_CIFAR_10_TRAIN : WEFT_CIFAR_100_TRAIN, &moved);
    if (status) return status;
    return weft_dataset_open_cifar(
        &r->pictures.test, r->context, folder, ten ? WEFT_CIFAR_10_TEST : WEFT_CIFAR_100_TEST, &still);
}

/* The digits of one prefix as a dataset of images. */
static weft_status open_digits(
    weft_dataset **dataset, weft_context *context, const char *prefix, const weft_image_options *how) {
    weft_dataset *digits = NULL;
    weft_status status = weft_dataset_open_idx(&digits, context, WEFT_SOURCE_DATA_DIR "/digits", prefix);
    if (status) return status;
    const weft_column *const image = weft_dataset_column(digits, 0), *const label =
                                                                         weft_dataset_column(digits, 1);
    const size_t examples = weft_dataset_size(digits);
    const size_t pixels = examples * (size_t)(image->dims[1] * image->dims[2]);
    unsigned char *const bytes = malloc(pixels);
    for (size_t i = 0; bytes && i < pixels; i++)
        bytes[i] = (unsigned char)(255.0f * ((const float *)image->data)[i] + 0.5f);
    const weft_image_block block = {.examples = examples,
        .channels = 1,
        .height = image->dims[1],
        .width = image->dims[2],
        .pixels = bytes,
        .labels = label->data};
    status = bytes ? weft_dataset_from_images(dataset, context, &block, how) : WEFT_ERROR_MEMORY;
    free(bytes);
    weft_dataset_release(digits);
    return status;
}

/* A mirrored digit is another digit, or none: they are moved only. */
static weft_status open_all_digits(run *r) {
    weft_transform moves[MOST_TRANSFORMS] = {
        weft_transform_resize(SIDE, SIDE), weft_transform_random_crop(SIDE, SIDE, PADDING)};
    const size_t count = add_augmentation(moves, 2);
    const weft_image_options moved = image_options(moves, count, 10), still = image_options(moves, 1, 10);
    r->pictures.name = "digits";
    r->pictures.classes = 10;
    const weft_status status = open_digits(&r->pictures.training, r->context, "train", &moved);
    return status ? status : open_digits(&r->pictures.test, r->context, "t10k", &still);
}

/* Tells the epoch, and saves the weights: a run that is interrupted leaves those of the last epoch. */
static bool finish_epoch(void *user, const weft_epoch *e) {
    run *const r = user;
    (void)show_epoch(NULL, e);
    r->saved = weft_weights_save(r->graph, r->weights);
    return r->saved == WEFT_OK;
}

/* Saves the first images of the first step, as they are after augmentation. */
static weft_status show_augmented(const run *r) {
    const image_format format = image_format_of("resnet20");
    const weft_loader_options loading = {WEFT_LOADER_OPTIONS_INIT, .shuffle = true,
        .batch = option_count_of(&options[BATCH]), .seed = option_count_of(&options[SEED])};
    static float pixels[MOST_SHOWN * SIDE * SIDE * 3];
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[4];
    weft_status status = weft_loader_create(&loader, r->pictures.training, &loading);
    if (!status) status = weft_loader_begin(loader, 0);
    if (!status) status = weft_loader_next(loader, &examples, columns);
    if (examples > MOST_SHOWN) examples = MOST_SHOWN;
    for (size_t i = 0; i < examples * SIDE * SIDE * 3; i++)
        pixels[i] = ((const float *)columns[0])[i] * format.deviation[i % 3] + format.mean[i % 3];
    weft_loader_release(loader);
    if (status) return status;
    return weft_image_save_png(options[SHOW].text, pixels,
        WEFT_WITH(png, .images = examples, .channels = 3, .height = SIDE, .width = SIDE,
            .channels_last = true, .zoom = 3));
}

static const char *model_name(void) {
    return strcmp(options[MODEL].text, "alexnet") == 0 ? "alexnet_r" : options[MODEL].text;
}

static weft_status make_trainer(run *r, const command_line *line) {
    const bool alexnet = strcmp(options[MODEL].text, "alexnet") == 0;
    const size_t batch = option_count_of(&options[BATCH]), epochs = option_count_of(&options[EPOCHS]);
    const size_t steps = epochs * ((weft_dataset_size(r->pictures.training) + batch - 1) / batch);
    const float rate = options[RATE].text ? strtof(options[RATE].text, NULL) : alexnet ? 0.01f : 0.1f;
    weft_schedule schedule = weft_cosine_schedule(steps, 0);
    schedule.per_step = true;

    r->graph = weft_context_graph(r->context);
    weft_tensor *const image = weft_image_input(r->graph, "image", 3, SIDE, SIDE);
    weft_tensor *const logits = weft_model(image, model_name(), (int64_t)r->pictures.classes, NULL);
    weft_tensor *const answers = mixes_images()
                                     ? weft_input(r->graph, "target", WEFT_F32, (int64_t)r->pictures.classes)
                                     : weft_input(r->graph, "label", WEFT_I32);
    weft_tensor *const loss = weft_cross_entropy(logits, answers);
    weft_trainer_options training = {WEFT_TRAINER_OPTIONS_INIT,
        .optimizer = weft_sgd_momentum(rate, 0.9f, 1e-4f), .schedule = schedule, .epochs = epochs,
        .batch = batch, .seed = option_count_of(&options[SEED]), .logits = logits,
        .validation = r->pictures.test, .user = r, .on_epoch = finish_epoch, .on_step = show_step};
    command_line_apply(line, &training);
    const weft_status status = weft_graph_status(r->graph);
    if (status) return status;
    if (options[FROM].text) {
        const weft_status loaded = weft_weights_load(r->graph, options[FROM].text, NULL);
        if (loaded) return loaded;
    }
    return weft_trainer_create(&r->trainer, loss, &training);
}

static void show_result(const run *r, double accuracy) {
    weft_training_info info;
    weft_trainer_get_info(r->trainer, &info);
    const char *const device = weft_context_device(r->context)->name;
    if (!options[JSON].text) {
        printf("%s, %s on %s: %zu steps in %.1f s%s, test accuracy %.4f\n", device, options[MODEL].text,
            r->pictures.name, info.steps, info.seconds, step_time(&info, false), accuracy);
        printf("the weights are in '%s', the classes' names in '%s'\n", r->weights, r->names);
        return;
    }
    printf("{\"device\": ");
    json_text_print(device);
    printf(", \"model\": \"%s\", \"data\": \"%s\", \"epochs\": %s, \"batch\": %s, \"steps\": %zu, ",
        options[MODEL].text, r->pictures.name, options[EPOCHS].text, options[BATCH].text, info.steps);
    printf("\"seconds\": %.4f, \"first_step_seconds\": %.4f, \"step_ms\": %.4f, \"test_accuracy\": %.5f, ",
        info.seconds, info.first_step_seconds, 1e3 * info.median_step_seconds, accuracy);
    printf("\"weights\": ");
    json_text_print(r->weights);
    printf("}\n");
}

static weft_status train(run *r, const command_line *line) {
    const weft_context_options opened = {PROGRAM_CONTEXT_OPTIONS_INIT, .device = options[DEVICE].text,
        .seed = option_count_of(&options[SEED])};
    const char *const folder = options[DATA].text;
    double accuracy = 0;
    weft_status status = weft_context_create(&r->context, &opened);
    if (!status) status = folder ? open_cifar(r, folder) : open_all_digits(r);
    if (!status && options[SHOW].text) status = show_augmented(r);
    if (!status) status = make_trainer(r, line);
    if (status) return status;
    printf("%s: %zu training images, %zu test images\n", r->pictures.name,
        weft_dataset_size(r->pictures.training), weft_dataset_size(r->pictures.test));
    r->said = !class_names_write(r->pictures.training, 1, r->pictures.classes, program, r->names);
    if (r->said) return WEFT_ERROR_FILE;
    status = stopping_run(r->trainer, r->pictures.training, line, &r->stopped);
    if (r->saved) status = r->saved;
    if (r->stopped) return status;
    if (!status) status = weft_trainer_evaluate(r->trainer, r->pictures.test, NULL, &accuracy);
    if (!status) show_result(r, accuracy);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {.program = program,
        .purpose = "Trains a network on CIFAR-10 or CIFAR-100.",
        .options = options,
        .option_count = OPTIONS,
        .trains = true};
    run r = {0};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    setvbuf(stdout, NULL, _IONBF, 0);
    (void)snprintf(r.default_weights, sizeof r.default_weights, "%s.safetensors", options[MODEL].text);
    r.weights = options[SAVE].text ? options[SAVE].text : r.default_weights;
    if (!class_names_path(r.names, sizeof r.names, program, r.weights)) return 2;
    if (!command_line_try(&line, r.weights) || !command_line_try(&line, r.names)) return 2;

    const weft_status status = train(&r, &line);
    if (status && !r.said) fprintf(stderr, "%s: %s\n", program, weft_last_error());
    weft_trainer_release(r.trainer);
    weft_dataset_release(r.pictures.test);
    weft_dataset_release(r.pictures.training);
    weft_context_release(r.context);
    return status != WEFT_OK ? 1 : r.stopped;
}
