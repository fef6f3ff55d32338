/* See bench_images.h. A figure is the best of several rounds of a fixed time: what else the machine does can
 * only slow a round down. Nothing is computed with the batches: they are asked for as fast as they come. */
#include "bench_images.h"
#include "base/platform.h"
#include "show_warning.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft.h>

enum { ROUNDS = 5, BATCH = 128, EXAMPLES = 10000, SIDE = 32, LARGE = 224 };

typedef struct bench {
    weft_context *context;
    const char *folder;
    bool json;
} bench;

static const double round_seconds = 0.5;

static weft_status open_source(const bench *b, weft_dataset **dataset, weft_image_layout layout) {
    const weft_transform small[] = {
        weft_transform_random_crop(SIDE, SIDE, 4), weft_transform_random_flip(0.5)};
    const weft_transform large[] = {
        weft_transform_random_resized_crop(LARGE, LARGE), weft_transform_random_flip(0.5)};
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = b->folder ? large : small,
        .transform_count = 2, .layout = layout, .mean = {0.485f, 0.456f, 0.406f},
        .deviation = {0.229f, 0.224f, 0.225f}};
    if (b->folder) return weft_dataset_open_image_folder(dataset, b->context, b->folder, &options);
    unsigned char *const pixels = malloc((size_t)EXAMPLES * 3 * SIDE * SIDE);
    if (!pixels) return WEFT_ERROR_MEMORY;
    for (size_t i = 0; i < (size_t)EXAMPLES * 3 * SIDE * SIDE; i++)
        pixels[i] = (unsigned char)(i * 2654435761u >> 7);
    const weft_image_block block = {
        .examples = EXAMPLES, .channels = 3, .height = SIDE, .width = SIDE, .pixels = pixels};
    const weft_status status = weft_dataset_from_images(dataset, b->context, &block, &options);
    free(pixels);
    return status;
}

/* Images a second of one round. */
static weft_status measure(weft_loader *loader, uint64_t *epoch, double *rate) {
    const void *columns[2];
    size_t examples = 0, count = 0;
    const double began = wi_clock_seconds();
    double now = began;
    weft_status status = weft_loader_begin(loader, ++*epoch);
    while (status == WEFT_OK && now < began + round_seconds) {
        status = weft_loader_next(loader, &examples, columns);
        if (status == WEFT_OK && examples == 0) status = weft_loader_begin(loader, ++*epoch);
        count += examples;
        now = wi_clock_seconds();
    }
    *rate = (double)count / (now - began);
    return status;
}

static weft_status run(const bench *b, weft_dataset *dataset, weft_image_layout layout, size_t threads) {
    const weft_loader_options options = {
        WEFT_LOADER_OPTIONS_INIT, .batch = BATCH, .shuffle = true, .threads = threads};
    weft_loader *loader = NULL;
    uint64_t epoch = 0;
    double best = 0;
    weft_status status = weft_loader_create(&loader, dataset, &options);
    for (int i = 0; status == WEFT_OK && i < ROUNDS; i++) {
        double rate = 0;
        status = measure(loader, &epoch, &rate);
        best = rate > best ? rate : best;
    }
    weft_loader_release(loader);
    if (status != WEFT_OK) return status;
    const char *const source = b->folder ? "folder" : "cifar";
    const char *const order = layout == WEFT_CHANNELS_LAST ? "channels_last" : "channels_first";
    if (b->json)
        printf("{\"source\": \"%s\", \"layout\": \"%s\", \"threads\": %zu, \"images_s\": %.0f}\n", source,
            order, threads, best);
    else
        printf("%-8s %-15s %7zu %12.0f\n", source, order, threads, best);
    return WEFT_OK;
}

static weft_status run_all(const bench *b) {
    if (!b->json) printf("%-8s %-15s %7s %12s\n", "source", "layout", "threads", "images/s");
    for (int layout = WEFT_CHANNELS_FIRST; layout <= WEFT_CHANNELS_LAST; layout++) {
        weft_dataset *dataset = NULL;
        weft_status status = open_source(b, &dataset, (weft_image_layout)layout);
        for (size_t threads = 1; status == WEFT_OK && threads <= wi_processor_count(); threads *= 2)
            status = run(b, dataset, (weft_image_layout)layout, threads);
        weft_dataset_release(dataset);
        if (status != WEFT_OK) return status;
    }
    return WEFT_OK;
}

int weft_bench_images(int argc, char **argv) {
    bench b = {0};
    const char *device = NULL;
    if (argc == 1 && strcmp(argv[0], "--help") == 0)
        return puts("usage: weft bench images [OPTION]...\nMeasures loading and augmentation of images, with "
                    "different numbers of threads.\n  --folder DIR    folder of images; default: images of "
                    "CIFAR's size from memory\n  --device SEL    device; see weft --help\n  --json          "
                    "prints one JSON object per line") < 0;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            b.json = true;
        } else if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc) {
            b.folder = argv[++i];
        } else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
            device = argv[++i];
        } else {
            fprintf(stderr, "weft: bench images takes --json, --folder DIR and --device SEL, not '%s'\n",
                argv[i]);
            return 2;
        }
    }
    const weft_context_options options = {TOOL_CONTEXT_OPTIONS_INIT, .device = device};
    weft_status status = weft_context_create(&b.context, &options);
    if (status == WEFT_OK) status = run_all(&b);
    if (status != WEFT_OK) fprintf(stderr, "weft: %s\n", weft_last_error());
    weft_context_release(b.context);
    return status != WEFT_OK;
}
