/* PNG through libpng (contract in image_file.h).
 *
 * libpng reports errors by a function that must not return: ours writes the line and jumps back to `decode`,
 * which is the only place that calls setjmp. Everything that the jump could lose is in `reading`, outside of
 * the functions that it leaves. Memory comes from the picture's allocator. */
#ifdef WEFT_WITH_PNG
#include "io/image_file.h"
#include <png.h>
#include <string.h>

enum { MAX_SIDE = 1 << 24, MAX_CHUNK = 8 << 20 };

typedef struct reading {
    wi_picture *picture;
    const char *name;
    const unsigned char *data;
    size_t bytes, used;
    uint64_t max_pixels;
    png_structp png;
    png_infop info;
    weft_status status;
} reading;

static void fail_at(png_structp png, png_const_charp message) {
    reading *const r = png_get_error_ptr(png);
    if (r->status == WEFT_OK)
        r->status = wi_fail(WEFT_ERROR_FORMAT, "'%s': the PNG image is damaged: %s", r->name, message);
    png_longjmp(png, 1);
}

static void ignore_warning(png_structp png, png_const_charp message) {
    (void)png, (void)message;
}

static png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
    reading *const r = png_get_mem_ptr(png);
    void *const block = wi_reallocate(r->picture->allocator, NULL, bytes);
    if (!block) r->status = WEFT_ERROR_MEMORY;
    return block;
}

static void release(png_structp png, png_voidp block) {
    reading *const r = png_get_mem_ptr(png);
    wi_release(r->picture->allocator, block);
}

static void read_bytes(png_structp png, png_bytep target, size_t bytes) {
    reading *const r = png_get_io_ptr(png);
    if (bytes > r->bytes - r->used) png_error(png, "the file ends too soon");
    memcpy(target, r->data + r->used, bytes);
    r->used += bytes;
}

/* Configures libpng so that it converts every format of pixels to rows of 8-bit RGB. */
static void ask_for_rgb(png_structp png) {
    png_set_expand(png);
    png_set_scale_16(png);
    png_set_strip_alpha(png);
    png_set_gray_to_rgb(png);
}

static void read_image(reading *r) {
    png_read_info(r->png, r->info);
    const png_uint_32 height = png_get_image_height(r->png, r->info),
                      width = png_get_image_width(r->png, r->info);
    r->status = wi_picture_resize(r->picture, r->name, height, width, r->max_pixels);
    if (r->status != WEFT_OK) return;
    ask_for_rgb(r->png);
    const int passes = png_set_interlace_handling(r->png);
    png_read_update_info(r->png, r->info);
    if (png_get_rowbytes(r->png, r->info) != (size_t)width * 3)
        png_error(r->png, "the image cannot be converted to 8-bit RGB");
    for (int pass = 0; pass < passes; pass++)
        for (png_uint_32 y = 0; y < height; y++)
            png_read_row(r->png, r->picture->pixels + (size_t)y * width * 3, NULL);
    png_read_end(r->png, NULL);
}

static void decode(reading *r) {
    if (setjmp(png_jmpbuf(r->png))) return; /* the error is recorded */
    r->info = png_create_info_struct(r->png);
    if (!r->info) return;
    png_set_read_fn(r->png, r, read_bytes);
    png_set_user_limits(r->png, MAX_SIDE, MAX_SIDE);
    png_set_chunk_malloc_max(r->png, MAX_CHUNK);
    /* Skips chunks such as texts and colour profiles, because libpng would unpack each of them to as much as MAX_CHUNK
     * bytes. */
    png_set_keep_unknown_chunks(r->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    read_image(r);
}

weft_status wi_picture_decode_png(
    wi_picture *picture, const char *name, const unsigned char *data, size_t bytes, uint64_t max_pixels) {
    reading r = {.picture = picture, .name = name, .data = data, .bytes = bytes, .max_pixels = max_pixels};
    r.png =
        png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &r, fail_at, ignore_warning, &r, allocate, release);
    if (r.png) decode(&r);
    if (r.status == WEFT_OK && (!r.png || !r.info))
        r.status = wi_fail(WEFT_ERROR_MEMORY, "'%s': out of host memory while starting libpng", name);
    png_destroy_read_struct(&r.png, &r.info, NULL);
    return r.status;
}
#else
typedef int wi_without_png; /* a file must not be empty */
#endif
