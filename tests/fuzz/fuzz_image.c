/* PNG and JPEG images, and random transforms of them: what they are is in the last bytes. */
#include "fuzz.h"
#include "io/image_file.h"
#include "train/image_transform.h"
#include <stdlib.h>

enum { MOST_PIXELS = 1 << 14, MOST_TRANSFORMS = 6 };

static weft_transform take_transform(const uint8_t *data, size_t *size) {
    const int64_t height = 1 + fuzz_take_below(data, size, 40), width = 1 + fuzz_take_below(data, size, 40);
    switch (fuzz_take_below(data, size, 6)) {
    case 0: return weft_transform_resize(height, width);
    case 1: return weft_transform_resize_shorter(height);
    case 2: return weft_transform_centre_crop(height, width);
    case 3: return weft_transform_random_crop(height, width, fuzz_take_below(data, size, 64));
    case 4: return weft_transform_random_resized_crop(height, width);
    default: return weft_transform_random_flip(0.5);
    }
}

static void transform(const wi_picture *picture, const weft_image_options *options, wi_example example) {
    wi_image_pipeline *const pipeline = malloc(sizeof *pipeline);
    wi_workspace workspace = {0};
    int64_t height = picture->height, width = picture->width;
    bool any = false;
    fuzz_assert(wi_pipeline_init(pipeline, options, 3) == WEFT_OK);
    wi_pipeline_size(pipeline, &height, &width, &any);
    pipeline->height = height;
    pipeline->width = width;
    const size_t bytes = wi_pipeline_bytes(pipeline);
    void *const result = bytes < 1 << 24 ? malloc(bytes) : NULL;
    const wi_image_view view = wi_view_of(picture->pixels, 3, picture->height, picture->width, true);
    if (result) fuzz_check_status(wi_pipeline_run(pipeline, view, 3, "file", &example, &workspace, result));
    wi_workspace_clear(&workspace);
    free(result);
    free(pipeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    weft_transform transforms[MOST_TRANSFORMS];
    wi_picture picture = {0};
    const size_t count = fuzz_take_below(data, &size, MOST_TRANSFORMS + 1);
    for (size_t i = 0; i < count; i++) transforms[i] = take_transform(data, &size);
    const unsigned how = fuzz_take_byte(data, &size);
    const weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .transforms = transforms,
        .transform_count = count, .channels = how & 1 ? 1 : 0,
        .layout = how & 2 ? WEFT_CHANNELS_LAST : WEFT_CHANNELS_FIRST, .bytes = how & 4};
    const wi_example example = {.index = how >> 3, .seed = size};
    char *const bytes = fuzz_copy(data, size);
    const weft_status status = wi_picture_decode(&picture, "file", bytes, size, MOST_PIXELS);
    fuzz_check_status(status);
    if (status == WEFT_OK) {
        fuzz_assert(picture.height * picture.width <= MOST_PIXELS);
        transform(&picture, &options, example);
    }
    wi_picture_clear(&picture);
    free(bytes);
    return 0;
}
