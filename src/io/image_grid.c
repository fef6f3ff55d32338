/* Images as a grid (contract in image_grid.h): all of them are copied to one canvas, which the writer of PNG takes. */
#include "io/image_grid.h"
#include "base/integers.h"
#include "base/options.h"
#include "base/platform.h"
#include "io/png_write.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_ZOOM = 1024, GAP = 2, GAP_GREY = 128, MOST_CHANNELS = 4 };

/* Replaces 0 by the defaults. */
static weft_status read_options(weft_png_options *o, const char *name, const weft_png_options *given) {
    WI_TRY(WI_OPTIONS(o, given, "weft_image_save_png", WEFT_PNG_OPTIONS_INIT));
    if (o->images == 0) o->images = 1;
    if (o->channels == 0) o->channels = 1;
    if (o->zoom == 0) o->zoom = 1;
    o->gap = WI_OPTION(o->gap, GAP);
    o->most = WI_OPTION(o->most, 1.0f);
    if (o->images > WI_PNG_MOST_SIDE || o->channels < 1 || o->channels > MOST_CHANNELS || o->height < 1 ||
        o->height > WI_PNG_MOST_SIDE || o->width < 1 || o->width > WI_PNG_MOST_SIDE)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "cannot write '%s': %zu images of %" PRId64 " channels and %" PRId64 " x %" PRId64
            " pixels; expected 1 to 4 channels, and 1 to %d of the others",
            name, o->images, o->channels, o->height, o->width, WI_PNG_MOST_SIDE);
    if (o->zoom < 1 || o->zoom > MOST_ZOOM || o->gap < 0 || o->gap > MOST_ZOOM)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "cannot write '%s': zoom %" PRId64 " is not in 1..%d, or gap %" PRId64 " is not in 0..%d", name,
            o->zoom, MOST_ZOOM, o->gap, MOST_ZOOM);
    if (o->columns == 0) o->columns = (size_t)ceil(sqrt((double)o->images));
    if (o->columns > o->images) o->columns = o->images;
    return WEFT_OK;
}

static weft_status check_values(const weft_png_options *o, const char *name) {
    if (o->dtype != WEFT_U8 && o->dtype != WEFT_F32)
        WI_FAIL(WEFT_ERROR_DTYPE, "cannot write '%s': pixels are %s, expected u8 or f32", name,
            weft_dtype_name(o->dtype));
    if (o->dtype == WEFT_F32 && !(isfinite(o->least) && isfinite(o->most) && o->least < o->most))
        WI_FAIL(WEFT_ERROR_ARGUMENT, "cannot write '%s': the range from least %g to most %g is empty", name,
            (double)o->least, (double)o->most);
    return WEFT_OK;
}

/* The size of the whole grid; `pixels` is left NULL. */
static weft_status measure_canvas(wi_png_image *canvas, const weft_png_options *o, const char *name) {
    const int64_t columns = (int64_t)o->columns, rows = wi_divide_up((int64_t)o->images, columns);
    *canvas = (wi_png_image){.height = rows * (o->height * o->zoom + o->gap) - o->gap,
        .width = columns * (o->width * o->zoom + o->gap) - o->gap,
        .channels = o->channels};
    if (canvas->height > WI_PNG_MOST_SIDE || canvas->width > WI_PNG_MOST_SIDE)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "cannot write '%s': the grid of %" PRId64 " x %" PRId64 " images has %" PRId64 " x %" PRId64
            " pixels, more than %d on a side",
            name, rows, columns, canvas->height, canvas->width, WI_PNG_MOST_SIDE);
    return WEFT_OK;
}

static unsigned char byte_of(float value, float least, float most) {
    const float share = (value - least) / (most - least);
    return share > 0 ? share < 1 ? (unsigned char)(255 * share + 0.5f) : 255 : 0; /* NaN is not above 0 */
}

/* One row of one image, each pixel `zoom` times. */
static void draw_row(unsigned char *target, const void *pixels, size_t first, const weft_png_options *o) {
    const size_t channels = (size_t)o->channels, x_step = o->channels_last ? channels : 1;
    const size_t channel_step = o->channels_last ? 1 : (size_t)(o->height * o->width);
    for (int64_t x = 0; x < o->width * o->zoom; x++) {
        for (size_t c = 0; c < channels; c++) {
            const size_t at = first + (size_t)(x / o->zoom) * x_step + c * channel_step;
            *target++ = o->dtype == WEFT_U8 ? ((const unsigned char *)pixels)[at]
                                            : byte_of(((const float *)pixels)[at], o->least, o->most);
        }
    }
}

static void draw_image(
    unsigned char *target, size_t row_bytes, const void *pixels, size_t first, const weft_png_options *o) {
    const int64_t y_step = o->channels_last ? o->width * o->channels : o->width;
    const size_t bytes = (size_t)(o->width * o->zoom * o->channels);
    for (int64_t y = 0; y < o->height * o->zoom; y++, target += row_bytes) {
        if (y % o->zoom == 0)
            draw_row(target, pixels, first + (size_t)(y / o->zoom * y_step), o);
        else
            memcpy(target, target - row_bytes, bytes);
    }
}

static void draw_images(
    unsigned char *canvas, size_t row_bytes, const void *pixels, const weft_png_options *o) {
    const size_t channels = (size_t)o->channels, numbers = channels * (size_t)(o->height * o->width);
    const size_t down = (size_t)(o->height * o->zoom + o->gap) * row_bytes;
    const size_t along = (size_t)(o->width * o->zoom + o->gap) * channels;
    for (size_t i = 0; i < o->images; i++)
        draw_image(
            canvas + i / o->columns * down + i % o->columns * along, row_bytes, pixels, i * numbers, o);
}

weft_status wi_image_grid_write(
    wi_text *file, const char *name, const void *pixels, const weft_png_options *options) {
    weft_png_options o;
    wi_png_image canvas;
    if (!pixels || !options)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "cannot write '%s': pixels or options are NULL", name);
    WI_TRY(read_options(&o, name, options));
    WI_TRY(check_values(&o, name));
    WI_TRY(measure_canvas(&canvas, &o, name));
    const size_t row_bytes = (size_t)(canvas.width * canvas.channels);
    unsigned char *const drawn = wi_allocate_array(file->allocator, (size_t)canvas.height, row_bytes);
    if (!drawn) return WEFT_ERROR_MEMORY;
    memset(drawn, GAP_GREY, (size_t)canvas.height * row_bytes);
    draw_images(drawn, row_bytes, pixels, &o);
    canvas.pixels = drawn;
    const weft_status status = wi_png_write(file, &canvas);
    wi_release(file->allocator, drawn);
    return status;
}

weft_status weft_image_save_png(const char *path, const void *pixels, const weft_png_options *options) {
    wi_text file;
    if (!path) WI_FAIL(WEFT_ERROR_ARGUMENT, "weft_image_save_png: path is NULL");
    wi_text_init(&file, NULL);
    weft_status status = wi_image_grid_write(&file, path, pixels, options);
    if (status == WEFT_OK) status = wi_file_write_atomic(path, file.data, file.length);
    wi_text_clear(&file);
    return status;
}
