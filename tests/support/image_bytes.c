/* Image files for tests (contract in image_bytes.h). */
#include "support/image_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void image_bytes_save(const char *path, const void *data, size_t size) {
    FILE *const file = fopen(path, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();
}

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
#include <jpeglib.h>
#include <png.h>

static void append(png_structp png, png_bytep data, size_t size) {
    image_bytes *const bytes = png_get_io_ptr(png);
    bytes->data = realloc(bytes->data, bytes->size + size);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void set_palette(png_structp png, png_infop info, int depth, bool transparent) {
    png_color palette[256];
    const int count = 1 << depth;
    png_byte alpha[2] = {0, 128};
    for (int i = 0; i < count; i++)
        palette[i] = (png_color){(png_byte)(i * 37), (png_byte)(i * 59 + 1), (png_byte)(i * 83 + 2)};
    png_set_PLTE(png, info, palette, count);
    if (transparent) png_set_tRNS(png, info, alpha, 2, NULL);
}

image_bytes image_bytes_png(
    size_t height, size_t width, int colour, int depth, bool interlaced, bool transparent, const void *rows) {
    image_bytes bytes = {NULL, 0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &bytes, append, NULL);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, depth, colour,
        interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
        PNG_FILTER_TYPE_DEFAULT);
    if (colour == PNG_COLOR_TYPE_PALETTE) set_palette(png, info, depth, transparent);
    png_write_info(png, info);
    const size_t row = png_get_rowbytes(png, info);
    const int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < height; y++) png_write_row(png, (png_const_bytep)rows + y * row);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return bytes;
}

static void set_kind(struct jpeg_compress_struct *jpeg, image_jpeg_kind kind) {
    const bool cmyk = kind == IMAGE_JPEG_CMYK || kind == IMAGE_JPEG_PLAIN_CMYK;
    jpeg->input_components = cmyk ? 4 : kind == IMAGE_JPEG_GREY ? 1 : 3;
    jpeg->in_color_space = cmyk ? JCS_CMYK : kind == IMAGE_JPEG_GREY ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, 100, TRUE);
    for (int c = 0; c < jpeg->num_components; c++)
        jpeg->comp_info[c].h_samp_factor = jpeg->comp_info[c].v_samp_factor = 1;
    if (kind == IMAGE_JPEG_PROGRESSIVE) jpeg_simple_progression(jpeg);
    if (kind == IMAGE_JPEG_NO_HEADER) jpeg->write_JFIF_header = FALSE;
    if (kind == IMAGE_JPEG_PLAIN_CMYK) jpeg->write_Adobe_marker = FALSE;
}

image_bytes image_bytes_jpeg(size_t height, size_t width, image_jpeg_kind kind, const unsigned char *pixels) {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *data = NULL;
    unsigned long size = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &data, &size);
    jpeg.image_height = (JDIMENSION)height;
    jpeg.image_width = (JDIMENSION)width;
    set_kind(&jpeg, kind);
    jpeg_start_compress(&jpeg, TRUE);
    for (size_t y = 0; y < height; y++) {
        JSAMPROW row = (JSAMPROW)(size_t)(pixels + y * width * (size_t)jpeg.input_components);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    return (image_bytes){data, size};
}
#else
image_bytes image_bytes_png(
    size_t height, size_t width, int colour, int depth, bool interlaced, bool transparent, const void *rows) {
    (void)height, (void)width, (void)colour, (void)depth, (void)interlaced, (void)transparent, (void)rows;
    abort();
}
image_bytes image_bytes_jpeg(size_t height, size_t width, image_jpeg_kind kind, const unsigned char *pixels) {
    (void)height, (void)width, (void)kind, (void)pixels;
    abort();
}
#endif
