/* See image_examples.h. */
#include "support/image_examples.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <stdlib.h>
#include <string.h>

weft_dataset *image_examples_make(
    const weft_image_options *options, size_t examples, int64_t channels, int64_t height, int64_t width) {
    weft_dataset *dataset = NULL;
    const size_t bytes = examples * (size_t)(channels * height * width);
    unsigned char *const pixels = malloc(bytes);
    int32_t *const labels = malloc(examples * sizeof *labels);
    test_random random = test_random_named("pixels", (uint64_t)height);
    for (size_t i = 0; i < bytes; i++) pixels[i] = (unsigned char)test_random_bits(&random);
    for (size_t i = 0; i < examples; i++) labels[i] = (int32_t)i;
    const weft_image_block block = {.examples = examples,
        .channels = channels,
        .height = height,
        .width = width,
        .pixels = pixels,
        .labels = labels};
    assert_ok(weft_dataset_from_images(&dataset, test_context(), &block, options));
    free(pixels);
    free(labels);
    return dataset;
}

size_t image_examples_load(weft_dataset *dataset, const weft_loader_options *options, uint64_t epoch,
    void *images, int32_t *labels) {
    weft_loader *loader = NULL;
    size_t count = 0, examples = 0;
    const void *columns[3];
    const weft_column *const column = weft_dataset_column(dataset, 0);
    size_t bytes = weft_dtype_size(column->dtype);
    for (int i = 0; i < column->rank; i++) bytes *= (size_t)column->dims[i];
    assert_null(column->data);
    assert_ok(weft_loader_create(&loader, dataset, options));
    assert_ok(weft_loader_begin(loader, epoch));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        memcpy((char *)images + count * bytes, columns[0], examples * bytes);
        if (labels) memcpy(labels + count, columns[1], examples * sizeof *labels);
        count += examples;
    }
    weft_loader_release(loader);
    return count;
}
