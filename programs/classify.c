/* Tells what is in an image: the most probable classes of a trained network; or how many images of a folder it tells rightly, and
 * which ones wrongly. The weights are a file of train_cifar, or any of a network of weft/models.h, as torchvision has them. */
#include "command_line.h"
#include "console.h"
#include "image_network.h"
#include "json_text.h"
#include "progress.h"
#include "wrong_answers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 64, LARGEST = 4096, PATH_ROOM = 4096 };
enum { WEIGHTS, MODEL, NAMES, CLASSES, TOP, SIZE, GREY, MISTAKES, DEVICE, JSON, OPTIONS };

static const char program[] = "classify";
static option options[OPTIONS] = {
    [WEIGHTS] = {"--weights", OPTION_TEXT, "FILE", "safetensors file with the network's weights; required",
        NULL},
    [MODEL] = {"--model", OPTION_TEXT, "NAME", "network: alexnet, or one of weft/models.h", "resnet20"},
    [NAMES] = {"--names", OPTION_TEXT, "FILE",
        "file with one class name per line; default FILE.names of the weights", NULL},
    [CLASSES] = {"--classes", OPTION_COUNT, "N", "number of classes; default the number of names, else 10",
        NULL},
    [TOP] = {"--top", OPTION_COUNT, "N", "number of classes to show", "5"},
    [SIZE] = {"--size", OPTION_COUNT, "N", "height and width of the network's input; default the model's",
        NULL},
    [GREY] = {"--grey", OPTION_FLAG, NULL, "converts the image to grey, for networks with one input channel",
        NULL},
    [MISTAKES] = {"--mistakes", OPTION_OUTPUT, "FILE.png",
        "picture of the worst errors in a folder, which are listed", NULL},
    [DEVICE] = {"--device", OPTION_TEXT, "SEL", "device: gpu, cpu, part of a name, or platform:device", NULL},
    [JSON] = {"--json", OPTION_FLAG, NULL, "prints the result as a JSON object", NULL},
};

/* What was asked for, checked. */
typedef struct request {
    const char *image, *model;
    class_names names; /* none: classes are told by their numbers */
    size_t classes, top;
    int64_t channels;
    image_format format;
    bool weights_differ; /* from what the network has */
} request;

/* The file that was asked for must be there; the one beside the weights may be. */
static bool read_names(class_names *names) {
    char beside[PATH_ROOM];
    if (options[NAMES].text) return class_names_read(names, program, options[NAMES].text);
    if (!class_names_path(beside, sizeof beside, program, options[WEIGHTS].text)) return false;
    return !console_can_read(beside) || class_names_read(names, program, beside);
}

static bool count_classes(request *r) {
    const size_t asked = option_count_of(&options[CLASSES]), named = r->names.count;
    r->classes = asked ? asked : named ? named : 10;
    r->top = option_count_of(&options[TOP]);
    if (r->top > r->classes) r->top = r->classes;
    if (!named || named == r->classes) return true;
    fprintf(stderr, "%s: --classes is %zu, but there are %zu names of classes\n", program, asked, named);
    return false;
}

static bool make_request(request *r, const char *image) {
    const char *const model = options[MODEL].text;
    r->image = image;
    r->model = strcmp(model, "alexnet") == 0 ? "alexnet_r" : model;
    if (!options[WEIGHTS].text)
        return fprintf(stderr, "%s: --weights is missing; see %s --help\n", program, program), false;
    if (options[MISTAKES].text && !console_is_folder(image))
        return fprintf(stderr, "%s: --mistakes needs a folder of images, but '%s' is none\n", program, image),
               false;
    if (!image_network_known(program, r->model) || !read_names(&r->names) || !count_classes(r)) return false;
    r->channels = options[GREY].text ? 1 : 3;
    r->format = image_format_of(r->model);
    if (options[SIZE].text) r->format.side = (int64_t)option_count_of(&options[SIZE]);
    if (r->format.side <= LARGEST) return true;
    return fprintf(
               stderr, "%s: --size is %s, but must be at most %d\n", program, options[SIZE].text, LARGEST),
           false;
}

/* The middle of an image. A large network sees 7/8 of the shorter side, as it was trained; a small one all. `middle` is the caller's,
 * and is pointed to. */
static weft_image_options middle_of(const request *r, weft_transform middle[2]) {
    const int64_t side = r->format.side, shorter = side > LARGE ? (side * 8 + 3) / 7 : side;
    middle[0] = weft_transform_resize_shorter(shorter);
    middle[1] = weft_transform_centre_crop(side, side);
    weft_image_options how = {WEFT_IMAGE_OPTIONS_INIT, .transforms = middle, .transform_count = 2,
        .layout = WEFT_CHANNELS_LAST, .channels = (int)r->channels};
    memcpy(how.mean, r->format.mean, sizeof how.mean);
    memcpy(how.deviation, r->format.deviation, sizeof how.deviation);
    return how;
}

/* Weights of torchvision hold more than inference takes: counts of batches, auxiliary classifiers. */
static weft_status load_weights(request *r, weft_graph *graph) {
    const weft_weights_options some = {WEFT_WEIGHTS_OPTIONS_INIT, .allow_extra = true};
    const weft_status status = weft_weights_load(graph, options[WEIGHTS].text, &some);
    r->weights_differ = status == WEFT_ERROR_FORMAT || status == WEFT_ERROR_SHAPE;
    return status;
}

static weft_status build_network(request *r, weft_context *context, weft_tensor **logits) {
    const int64_t side = r->format.side;
    weft_graph *const graph = weft_context_graph(context);
    weft_tensor *const x = weft_image_input(graph, "image", r->channels, side, side);
    *logits = weft_model(x, r->model, (int64_t)r->classes, NULL);
    const weft_status status = weft_graph_status(graph);
    return status ? status : load_weights(r, graph);
}

static size_t largest(const float *shares, size_t count) {
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (shares[i] > shares[best]) best = i;
    return best;
}

/* NULL: classes have numbers alone. */
static const char *name_of(const request *r, size_t class) {
    return r->names.count ? r->names.names[class] : NULL;
}

static void show_text(const request *r, size_t class, float share) {
    const char *const name = name_of(r, class);
    printf("%6.2f %%  ", 100 * (double)share);
    if (name)
        printf("%s\n", name);
    else
        printf("class %zu\n", class);
}

static void show_json(const request *r, size_t class, float share) {
    printf("{\"class\": %zu, \"name\": ", class);
    if (name_of(r, class))
        json_text_print(name_of(r, class));
    else
        printf("null");
    printf(", \"probability\": %.6f}", (double)share);
}

/* The classes from the most probable on; those that are told are struck out. */
static void show_classes(const request *r, float *shares) {
    const bool json = options[JSON].text != NULL;
    if (json) {
        printf("{\"image\": ");
        json_text_print(r->image);
        printf(", \"model\": \"%s\", \"top\": [", r->model);
    }
    for (size_t i = 0; i < r->top; i++) {
        const size_t class = largest(shares, r->classes);
        if (json && i) printf(", ");
        (json ? show_json : show_text)(r, class, shares[class]);
        shares[class] = -1;
    }
    if (json) printf("]}\n");
}

static weft_status classify_image(request *r, weft_context *context, weft_tensor *logits) {
    const int64_t side = r->format.side;
    const size_t bytes = (size_t)(side * side * r->channels) * sizeof(float);
    float *const pixels = malloc(bytes), *const shares = malloc(r->classes * sizeof *shares);
    const weft_column image = {.name = "image", .rank = 3, .dims = {side, side, r->channels}, .data = pixels};
    weft_transform middle[2];
    const weft_image_options how = middle_of(r, middle);
    weft_status status = pixels && shares ? WEFT_OK : WEFT_ERROR_MEMORY;
    if (!status) status = weft_load_image(context, r->image, &how, pixels, bytes);
    if (!status)
        status = weft_predict(weft_softmax(logits, -1), 1, &image, 1, shares, r->classes * sizeof *shares);
    if (!status) show_classes(r, shares);
    free(pixels);
    free(shares);
    return status;
}

/* ---- a folder with a subfolder for each class ---- */

static void show_mistakes(const request *r, const weft_dataset *images, const weft_mistakes *found) {
    const size_t right = found->examples - found->wrong;
    if (options[MISTAKES].text && !options[JSON].text)
        mistakes_print(found, images, r->names.count ? r->names.names : NULL);
    printf(options[JSON].text ? "{\"images\": %zu, \"right\": %zu, \"accuracy\": %.5f}\n"
                              : "%zu images, %zu are right: accuracy %.4f\n",
        found->examples, right, (double)right / (double)found->examples);
}

static weft_status classify_folder(request *r, weft_context *context, weft_tensor *logits) {
    weft_transform middle[2];
    weft_image_options how = middle_of(r, middle);
    weft_dataset *images = NULL;
    weft_mistakes found;
    how.classes = r->names.count ? r->names.names : NULL;
    weft_status status = weft_dataset_open_image_folder(&images, context, r->image, &how);
    if (!status) status = weft_find_mistakes(&found, logits, images, NULL, options[MISTAKES].text);
    if (!status) show_mistakes(r, images, &found);
    weft_dataset_release(images);
    return status;
}

static weft_status classify(request *r) {
    const weft_context_options opened = {PROGRAM_CONTEXT_OPTIONS_INIT, .device = options[DEVICE].text};
    const bool is_folder = console_is_folder(r->image);
    weft_context *context = NULL;
    weft_tensor *logits = NULL;
    weft_status status = weft_context_create(&context, &opened);
    if (!status) status = build_network(r, context, &logits);
    if (!status) status = (is_folder ? classify_folder : classify_image)(r, context, logits);
    if (status) fprintf(stderr, "%s: %s", program, *weft_last_error() ? weft_last_error() : "out of memory");
    if (r->weights_differ)
        fprintf(stderr, "; check that the weights belong to %s with %zu classes", options[MODEL].text,
            r->classes);
    if (status) fprintf(stderr, "\n");
    weft_context_release(context);
    return status;
}

int main(int argc, char **argv) {
    command_line line = {.program = program,
        .purpose = "Classifies a PNG or JPEG image with a trained network, or all images of a folder that "
                   "has a subfolder for each\nclass.",
        .options = options,
        .option_count = OPTIONS,
        .operand_sign = "IMAGE"};
    request r = {0};
    int end = 0;
    if (!command_line_read(&line, argc, argv, &end)) return end;
    const bool good = make_request(&r, line.operand);
    const int result = good ? classify(&r) != WEFT_OK : 2;
    class_names_release(&r.names);
    return result;
}
