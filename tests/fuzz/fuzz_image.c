/* PNG and JPEG images, and random transforms of them: what they are is in the last bytes. */
#include "fuzz.h"
#include "io/image_file.h"
#include "train/image_transform.h"
#include <stdlib.h>

enum { MOST_PIXELS = 1 << 14, MOST_TRANSFORMS = 6 };

static weft_transform take_transform(const uint8_t *data, size_t *size) {
    const int64_t height = 1 + fuzz_take_below(data, size, 40), width = 1 + fuzz_take_below(data, size, 40);
    switch (fuzz_take_below(data, size, 12)) {
    case 0: return weft_transform_resize(height, width);
    case 1: return weft_transform_resize_shorter(height);
    case 2: return weft_transform_centre_crop(height, width);
    case 3: return weft_transform_random_crop(height, width, fuzz_take_below(data, size, 64));
    case 4: return weft_transform_random_resized_crop(height, width);
    case 5: return weft_transform_random_flip(0.5);
    case 6: return weft_transform_random_vertical_flip(0.5);
    case 7: return weft_transform_random_grey(0.5);
    case 8: return weft_transform_random_rotation((double)(9 * height));
    case 9: return weft_transform_colour_jitter((double)height / 8, (double)width / 8, (double)height, 0.5);
    case 10: return weft_transform_random_erasing((double)width / 40);
    default: return weft_transform_rand_augment(height % 15, width % 31);
    }
}

static void transform(const wi_picture *picture, const weft_image_options *options, wi_example example) {
    wi_image_pipeline *const pipeline = malloc(sizeof *pipeline);
    wi_workspace workspace = {0};
    wi_image_view view = wi_view_of(picture->pixels, 3, picture->height, picture->width, true);
    fuzz_assert(picture->orientation >= 1 && picture->orientation <= 8);
    if (options->exif_orientation) wi_view_orient(&view, picture->orientation);
    int64_t height = view.height, width = view.width;
    bool any = false;
    fuzz_assert(wi_pipeline_init(pipeline, options, 3) == WEFT_OK);
    wi_pipeline_size(pipeline, &height, &width, &any);
    pipeline->height = height;
    pipeline->width = width;
    const size_t bytes = wi_pipeline_bytes(pipeline);
    void *const result = bytes < 1 << 24 ? malloc(bytes) : NULL;
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
        .layout = how & 2 ? WEFT_CHANNELS_LAST : WEFT_CHANNELS_FIRST, .bytes = how & 4,
        .exif_orientation = how & 8};
    const wi_example example = {.index = how >> 4, .seed = size};
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
