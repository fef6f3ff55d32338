/* Images in memory (contract in picture.h). */
#include "io/picture.h"
#include <inttypes.h>

void wi_picture_clear(wi_picture *picture) {
    wi_release(picture->allocator, picture->pixels);
    *picture = (wi_picture){.allocator = picture->allocator};
}

weft_status wi_picture_resize(
    wi_picture *picture, const char *name, uint64_t height, uint64_t width, uint64_t max_pixels) {
    if (height == 0 || width == 0)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the image has %" PRIu64 " x %" PRIu64 " pixels, expected 1 or more each way", name, width,
            height);
    if (width > max_pixels / height || height * width > SIZE_MAX / 3)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s': the image has %" PRIu64 " x %" PRIu64 " pixels, more than the limit of %" PRIu64
            " pixels (option max_pixels)",
            name, width, height, max_pixels);
    const size_t bytes = (size_t)(height * width) * 3;
    if (bytes > picture->capacity) {
        wi_picture_clear(picture);
        picture->pixels = wi_reallocate(picture->allocator, NULL, bytes);
        if (!picture->pixels) return WEFT_ERROR_MEMORY;
        picture->capacity = bytes;
    }
    picture->height = (int64_t)height;
    picture->width = (int64_t)width;
    return WEFT_OK;
}
