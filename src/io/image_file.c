/* Files of images (contract in image_file.h). */
#include "io/image_file.h"
#include "base/file_guess.h"
#include "base/platform.h"
#include "io/exif.h"
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* The largest size of an image file: FILE_BYTES_PER_PIXEL for each allowed pixel (max_pixels), and
 * FILE_BYTES_BESIDES. */
enum { FILE_BYTES_PER_PIXEL = 8, FILE_BYTES_BESIDES = 16 << 20 };

/* The error of a build without the decoder. */
static weft_status without(const char *name, const char *kind, const char *option) {
    return wi_fail(WEFT_ERROR_UNSUPPORTED,
        "'%s' is a %s image, but this library was built without support for it (CMake option %s)", name, kind,
        option);
}

#ifndef WEFT_WITH_PNG
weft_status wi_picture_decode_png(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels) {
    (void)picture, (void)data, (void)bytes, (void)max_pixels;
    return without(name, "PNG", "WEFT_WITH_PNG");
}
static const bool has_png = false;
#else
static const bool has_png = true;
#endif

#ifndef WEFT_WITH_JPEG
weft_status wi_picture_decode_jpeg(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels) {
    (void)picture, (void)data, (void)bytes, (void)max_pixels;
    return without(name, "JPEG", "WEFT_WITH_JPEG");
}
static const bool has_jpeg = false;
#else
static const bool has_jpeg = true;
#endif

weft_status wi_picture_decode(
    wi_picture *picture, const char *name, const void *data, size_t bytes, uint64_t max_pixels) {
    static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const unsigned char jpeg[] = {0xff, 0xd8, 0xff};
    if (bytes >= sizeof png && memcmp(data, png, sizeof png) == 0) {
        WI_TRY(wi_picture_decode_png(picture, name, data, bytes, max_pixels));
        picture->orientation = 1;
        return WEFT_OK;
    }
    if (bytes >= sizeof jpeg && memcmp(data, jpeg, sizeof jpeg) == 0) {
        WI_TRY(wi_picture_decode_jpeg(picture, name, data, bytes, max_pixels));
        picture->orientation = wi_exif_orientation(data, bytes);
        return WEFT_OK;
    }
    WI_TRY(wi_file_refuse_page(name, data, bytes));
    if (bytes == 0) WI_FAIL(WEFT_ERROR_FORMAT, "'%s' is empty, expected a PNG or JPEG image", name);
    WI_FAIL(WEFT_ERROR_FORMAT, "'%s', of %zu bytes, is neither a PNG nor a JPEG image", name, bytes);
}

/* Fails if the path is not a regular file, such as a pipe, or if the file is too long for an image of max_pixels
 * pixels. */
static weft_status check_file(const char *path, uint64_t max_pixels) {
    wi_path_info info;
    WI_TRY(wi_path_look(&info, path, NULL));
    if (info.kind != WI_PATH_FILE)
        WI_FAIL(WEFT_ERROR_FILE, "cannot read '%s': it is not a regular file", path);
    if (info.bytes > FILE_BYTES_BESIDES &&
        (info.bytes - FILE_BYTES_BESIDES) / FILE_BYTES_PER_PIXEL > max_pixels)
        WI_FAIL(WEFT_ERROR_FORMAT,
            "'%s' has %" PRIu64 " bytes, too many for an image of at most %" PRIu64
            " pixels (option max_pixels)",
            path, info.bytes, max_pixels);
    return WEFT_OK;
}

weft_status wi_picture_read(wi_picture *picture, const char *path, uint64_t max_pixels) {
    char *data = NULL;
    size_t bytes = 0;
    WI_TRY(check_file(path, max_pixels));
    WI_TRY(wi_file_read(picture->allocator, path, &data, &bytes));
    const weft_status status = wi_picture_decode(picture, path, data, bytes, max_pixels);
    wi_release(picture->allocator, data);
    return status;
}

bool wi_is_image_name(const char *name, weft_status *status) {
    const char *const dot = strrchr(name, '.');
    const bool png = dot && strcasecmp(dot, ".png") == 0;
    const bool jpeg = dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
    *status = WEFT_OK;
    if (png && !has_png) *status = without(name, "PNG", "WEFT_WITH_PNG");
    if (jpeg && !has_jpeg) *status = without(name, "JPEG", "WEFT_WITH_JPEG");
    return png || jpeg;
}
