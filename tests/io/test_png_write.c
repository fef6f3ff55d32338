/* Images that are saved as PNG: the file is checked byte by byte here, and read again by the library where it can. */
/* test quick */
#include "base/file_read.h"
#include "io/image_file.h"
#include "io/image_grid.h"
#include "io/png_write.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/scratch.h"
#include <math.h>
#include <weft/weft.h>
#include <zlib.h>

/* ---- an own reader of what the writer makes ---- */

typedef struct unpacked {
    uint32_t height, width;
    size_t channels, chunks; /* chunks: of data */
    unsigned char *pixels;
} unpacked;

static uint32_t big_endian(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void read_header(unpacked *image, const unsigned char *data) {
    static const size_t channels[] = {1, 0, 3, 0, 2, 0, 4}; /* by colour type */
    image->width = big_endian(data), image->height = big_endian(data + 4);
    assert_int_equal(data[8], 8);
    assert_in_range(data[9], 0, 6);
    image->channels = channels[data[9]];
    assert_int_equal(data[10] | data[11] | data[12], 0);
}

/* The rows, without the byte for the filter, which must be 0. */
static void read_rows(unpacked *image, unsigned char *packed, size_t bytes) {
    const size_t row = image->width * image->channels;
    uLongf size = (uLongf)(image->height * (row + 1));
    unsigned char *const rows = malloc(size + 1);
    uLongf got = size + 1;
    assert_int_equal(uncompress(rows, &got, packed, (uLong)bytes), Z_OK);
    assert_int_equal(got, size);
    image->pixels = malloc(image->height * row);
    for (size_t y = 0; y < image->height; y++) {
        assert_int_equal(rows[y * (row + 1)], 0);
        memcpy(image->pixels + y * row, rows + y * (row + 1) + 1, row);
    }
    free(rows);
}

static unpacked unpack(const char *file, size_t bytes) {
    const unsigned char *const data = (const unsigned char *)file;
    unpacked image = {0};
    unsigned char *const packed = malloc(bytes);
    size_t count = 0, at = 8;
    assert_memory_equal(data, "\x89PNG\r\n\x1a\n", 8);
    for (bool ended = false; !ended; at += 12 + big_endian(data + at)) {
        assert_true(at + 12 <= bytes && at + 12 + big_endian(data + at) <= bytes);
        const uint32_t length = big_endian(data + at);
        const unsigned char *const type = data + at + 4;
        assert_int_equal(big_endian(type + 4 + length), crc32(0, type, length + 4));
        if (at == 8) assert_memory_equal(type, "IHDR", 4), read_header(&image, type + 4);
        if (memcmp(type, "IDAT", 4) == 0)
            memcpy(packed + count, type + 4, length), count += length, image.chunks++;
        ended = memcmp(type, "IEND", 4) == 0;
    }
    assert_int_equal(at, bytes);
    read_rows(&image, packed, count);
    free(packed);
    return image;
}

/* What the library's own decoder, if it was built, makes of the file: RGB of the same pixels. */
static void check_by_decoder(const char *file, size_t bytes, const unpacked *image) {
#ifdef WEFT_WITH_PNG
    wi_picture picture = {.pixels = NULL};
    assert_ok(wi_picture_decode(&picture, "x.png", file, bytes, 1 << 26));
    assert_int_equal(picture.height, image->height);
    assert_int_equal(picture.width, image->width);
    for (size_t i = 0; i < (size_t)image->height * image->width; i++)
        for (size_t c = 0; c < 3; c++)
            assert_int_equal(picture.pixels[3 * i + c],
                image->pixels[i * image->channels + (image->channels >= 3 ? c : 0)]);
    wi_picture_clear(&picture);
#else
    (void)file, (void)bytes, (void)image;
#endif
}

static void each_kind_is_written(void **state) {
    (void)state;
    static unsigned char pixels[4 * 300 * 301];
    test_random random = test_random_named("png", 0);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)test_random_bits(&random);
    static const int64_t sizes[][2] = {{1, 1}, {1, 5}, {7, 1}, {300, 301}};
    for (int64_t channels = 1; channels <= 4; channels++) {
        for (size_t s = 0; s < 4; s++) {
            const wi_png_image image = {pixels, sizes[s][0], sizes[s][1], channels};
            wi_text file;
            wi_text_init(&file, NULL);
            assert_ok(wi_png_write(&file, &image));
            unpacked again = unpack(file.data, file.length);
            assert_int_equal(again.height, sizes[s][0]);
            assert_int_equal(again.width, sizes[s][1]);
            assert_int_equal(again.channels, channels);
            assert_true(again.chunks >= (s == 3 ? 10 : 1));
            assert_memory_equal(again.pixels, pixels, (size_t)(sizes[s][0] * sizes[s][1] * channels));
            check_by_decoder(file.data, file.length, &again);
            free(again.pixels);
            wi_text_clear(&file);
        }
    }
}

/* ---- grids ---- */

static unpacked grid_of(const void *pixels, const weft_png_options *options) {
    wi_text file;
    wi_text_init(&file, NULL);
    assert_ok(wi_image_grid_write(&file, "x", pixels, options));
    const unpacked image = unpack(file.data, file.length);
    wi_text_clear(&file);
    return image;
}

/* Three images of 1 x 2 pixels, two in a row, pixels twice as large, and a gap of one pixel. */
static void images_stand_in_rows(void **state) {
    (void)state;
    static const unsigned char pixels[] = {1, 2, 3, 4, 5, 6};
    static const unsigned char expected[] = {1, 1, 2, 2, 128, 3, 3, 4, 4, 1, 1, 2, 2, 128, 3, 3, 4,
        4,                                                                         /* first row */
        128, 128, 128, 128, 128, 128, 128, 128, 128,                               /* gap */
        5, 5, 6, 6, 128, 128, 128, 128, 128, 5, 5, 6, 6, 128, 128, 128, 128, 128}; /* second row */
    const unpacked grid = grid_of(
        pixels, WEFT_WITH(png, .dtype = WEFT_U8, .images = 3, .height = 1, .width = 2, .gap = 1, .zoom = 2));
    assert_int_equal(grid.height, 5);
    assert_int_equal(grid.width, 9);
    assert_memory_equal(grid.pixels, expected, sizeof expected);
    free(grid.pixels);
    const unpacked line = grid_of(pixels, WEFT_WITH(png, .dtype = WEFT_U8, .images = 3, .height = 1,
                                              .width = 2, .columns = 7, .gap = WEFT_ZERO));
    assert_int_equal(line.height, 1);
    assert_int_equal(line.width, 6);
    assert_memory_equal(line.pixels, pixels, sizeof pixels);
    free(line.pixels);
}

/* The same two RGB images with channels first and last. */
static void both_layouts_are_one_picture(void **state) {
    (void)state;
    enum { COUNT = 2, HEIGHT = 3, WIDTH = 4, CHANNELS = 3 };
    unsigned char first[COUNT][CHANNELS][HEIGHT][WIDTH], last[COUNT][HEIGHT][WIDTH][CHANNELS];
    for (size_t i = 0; i < sizeof first; i++) {
        const size_t x = i % WIDTH, y = i / WIDTH % HEIGHT, c = i / WIDTH / HEIGHT % CHANNELS;
        first[i / sizeof *first][c][y][x] = last[i / sizeof *first][y][x][c] = (unsigned char)(i * 3);
    }
    const weft_png_options how = {WEFT_PNG_OPTIONS_INIT, .dtype = WEFT_U8, .images = COUNT,
        .channels = CHANNELS, .height = HEIGHT, .width = WIDTH, .columns = 1, .gap = WEFT_ZERO};
    weft_png_options other = how;
    other.channels_last = true;
    const unpacked one = grid_of(first, &how), two = grid_of(last, &other);
    assert_int_equal(two.height, COUNT * HEIGHT);
    assert_int_equal(two.width, WIDTH);
    assert_memory_equal(two.pixels, last, sizeof last);
    assert_memory_equal(one.pixels, last, sizeof last);
    free(one.pixels), free(two.pixels);
}

static void numbers_become_bytes_by_their_range(void **state) {
    (void)state;
    static const float values[] = {0, 1, 0.5f, -3, 7, NAN, INFINITY, -INFINITY, 0.25f};
    static const unsigned char expected[] = {0, 255, 128, 0, 255, 0, 255, 0, 64};
    static const unsigned char centred[] = {128, 255, 191, 0, 255, 0, 255, 0, 159};
    const unpacked plain = grid_of(values, WEFT_WITH(png, .height = 1, .width = 9));
    assert_memory_equal(plain.pixels, expected, sizeof expected);
    const unpacked moved = grid_of(values, WEFT_WITH(png, .height = 1, .width = 9, .least = -1));
    assert_memory_equal(moved.pixels, centred, sizeof centred);
    const unpacked below =
        grid_of(values, WEFT_WITH(png, .height = 1, .width = 4, .least = -6, .most = WEFT_ZERO));
    assert_memory_equal(below.pixels, ((const unsigned char[]){255, 255, 255, 128}), 4);
    free(plain.pixels), free(moved.pixels), free(below.pixels);
}

/* ---- files and errors ---- */

static void a_file_is_replaced_as_a_whole(void **state) {
    (void)state;
    const float pixels[] = {0, 1, 1, 0};
    const char *const path = test_path("saved.png");
    char *data = NULL;
    size_t bytes = 0;
    assert_ok(weft_image_save_png(path, pixels, WEFT_WITH(png, .height = 4, .width = 1)));
    assert_ok(weft_image_save_png(path, pixels, WEFT_WITH(png, .height = 2, .width = 2, .zoom = 8)));
    assert_fails(
        weft_image_save_png(path, pixels, WEFT_WITH(png, .height = 2)), WEFT_ERROR_SHAPE, "saved.png");
    assert_ok(wi_file_read(NULL, path, &data, &bytes));
    const unpacked image = unpack(data, bytes);
    assert_int_equal(image.height * 100 + image.width, 1616);
    check_by_decoder(data, bytes, &image);
    free(image.pixels);
    wi_release(NULL, data);
}

static void wrong_calls_are_named(void **state) {
    (void)state;
    static const struct {
        weft_png_options options;
        weft_status status;
        const char *part;
    } cases[] = {
        {{.height = 2, .width = 0}, WEFT_ERROR_SHAPE, "'a.png': 1 images of 1 channels and 2 x 0 pixels"},
        {{.height = -2, .width = 2}, WEFT_ERROR_SHAPE, "-2 x 2"},
        {{.height = 2, .width = 2, .channels = 5}, WEFT_ERROR_SHAPE, "5 channels"},
        {{.height = 2, .width = 2, .images = SIZE_MAX}, WEFT_ERROR_SHAPE, "images of 1 channels"},
        {{.height = 1 << 24, .width = 2, .zoom = 2}, WEFT_ERROR_SHAPE, "has 33554432 x 4 pixels"},
        {{.height = 2, .width = 2, .zoom = 1025}, WEFT_ERROR_ARGUMENT, "zoom 1025"},
        {{.height = 2, .width = 2, .gap = -1}, WEFT_ERROR_ARGUMENT, "gap -1"},
        {{.height = 2, .width = 2, .dtype = WEFT_I32}, WEFT_ERROR_DTYPE, "pixels are i32"},
        {{.height = 2, .width = 2, .least = 2}, WEFT_ERROR_ARGUMENT, "from least 2 to most 1 is empty"},
        {{.height = 2, .width = 2, .most = NAN}, WEFT_ERROR_ARGUMENT, "is empty"},
    };
    const float pixels[4] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        weft_png_options options = cases[i].options;
        options.struct_size = sizeof options;
        assert_fails(weft_image_save_png("a.png", pixels, &options), cases[i].status, cases[i].part);
    }
    const weft_png_options good = {WEFT_PNG_OPTIONS_INIT, .height = 2, .width = 2}, unset = {.height = 2};
    assert_fails(weft_image_save_png(NULL, pixels, &good), WEFT_ERROR_ARGUMENT, "path is NULL");
    assert_fails(weft_image_save_png("a.png", NULL, &good), WEFT_ERROR_ARGUMENT, "'a.png'");
    assert_fails(weft_image_save_png("a.png", pixels, NULL), WEFT_ERROR_ARGUMENT, "options are NULL");
    assert_fails(weft_image_save_png("a.png", pixels, &unset), WEFT_ERROR_ARGUMENT, "WEFT_PNG_OPTIONS_INIT");
    assert_fails(weft_image_save_png(test_path("no/a.png"), pixels, &good), WEFT_ERROR_FILE, "no/a.png");
    assert_fails(weft_image_save_png(test_folder(), pixels, &good), WEFT_ERROR_FILE, test_folder());
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    static const unsigned char pixels[3 * 64 * 64] = {1, 2, 3};
    const weft_png_options how = {
        WEFT_PNG_OPTIONS_INIT, .dtype = WEFT_U8, .channels = 3, .height = 64, .width = 64};
    weft_status status = WEFT_ERROR_MEMORY;
    for (long after = 0; status != WEFT_OK; after++) {
        scratch_allocator allocator;
        scratch_allocator_init(&allocator, after);
        wi_text file;
        wi_text_init(&file, &allocator.hooks);
        assert_true(after < 100);
        status = wi_image_grid_write(&file, "x", pixels, &how);
        assert_true(status == WEFT_OK || status == WEFT_ERROR_MEMORY);
        assert_true((status == WEFT_OK) == (allocator.made <= after));
        wi_text_clear(&file);
        assert_int_equal(allocator.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_written),
        cmocka_unit_test(images_stand_in_rows),
        cmocka_unit_test(both_layouts_are_one_picture),
        cmocka_unit_test(numbers_become_bytes_by_their_range),
        cmocka_unit_test(a_file_is_replaced_as_a_whole),
        cmocka_unit_test(wrong_calls_are_named),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
