/* PNG and JPEG: every kind of them becomes 8-bit RGB, and every way in which they can be broken is an error
 * that names the file, prints nothing and leaks nothing. */
#include "io/image_file.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_bytes.h"
#include "support/mutate.h"
#include "support/scratch.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_PIXELS = 1 << 20 };

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
#include <png.h>
#include <zlib.h>

/* ---- PNG ---- */

enum { HEIGHT = 13, WIDTH = 11 };

static unsigned sample(const unsigned char *row, size_t index, int depth) {
    if (depth == 16) return (unsigned)row[2 * index] << 8 | row[2 * index + 1];
    const size_t bit = index * (size_t)depth;
    return (unsigned)row[bit / 8] >> (8 - depth - (int)(bit % 8)) & ((1u << depth) - 1);
}

static size_t channels_of(int colour) {
    switch (colour) {
    case PNG_COLOR_TYPE_GRAY_ALPHA: return 2;
    case PNG_COLOR_TYPE_RGB: return 3;
    case PNG_COLOR_TYPE_RGB_ALPHA: return 4;
    default: return 1;
    }
}

/* What one pixel's channel must become, from the definition of the format. */
static unsigned expected_byte(const unsigned char *row, size_t x, size_t c, int colour, int depth) {
    const size_t channels = channels_of(colour);
    if (colour == PNG_COLOR_TYPE_PALETTE) {
        const unsigned entry = sample(row, x, depth);
        return (c == 0 ? entry * 37 : c == 1 ? entry * 59 + 1 : entry * 83 + 2) & 255;
    }
    const unsigned value = sample(row, x * channels + (channels >= 3 ? c : 0), depth);
    return (unsigned)lround(value * 255.0 / ((1u << depth) - 1));
}

static void each_kind_of_png_becomes_rgb(void **state) {
    (void)state;
    static const struct {
        int colour, depth;
        bool interlaced, transparent;
    } kinds[] = {
        {PNG_COLOR_TYPE_RGB, 8, false, false},
        {PNG_COLOR_TYPE_RGB, 8, true, false},
        {PNG_COLOR_TYPE_RGB, 16, false, false},
        {PNG_COLOR_TYPE_RGB_ALPHA, 8, false, false},
        {PNG_COLOR_TYPE_RGB_ALPHA, 16, true, false},
        {PNG_COLOR_TYPE_GRAY, 1, false, false},
        {PNG_COLOR_TYPE_GRAY, 2, false, false},
        {PNG_COLOR_TYPE_GRAY, 4, true, false},
        {PNG_COLOR_TYPE_GRAY, 8, false, false},
        {PNG_COLOR_TYPE_GRAY, 16, false, false},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 8, false, false},
        {PNG_COLOR_TYPE_GRAY_ALPHA, 16, false, false},
        {PNG_COLOR_TYPE_PALETTE, 1, false, true},
        {PNG_COLOR_TYPE_PALETTE, 2, true, false},
        {PNG_COLOR_TYPE_PALETTE, 4, false, true},
        {PNG_COLOR_TYPE_PALETTE, 8, false, false},
        {PNG_COLOR_TYPE_PALETTE, 8, false, true},
    };
    wi_picture picture = {0};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const int colour = kinds[k].colour, depth = kinds[k].depth;
        const size_t row = (WIDTH * channels_of(colour) * (size_t)depth + 7) / 8;
        unsigned char rows[HEIGHT * WIDTH * 8];
        test_random random = test_random_named("png", k);
        for (size_t i = 0; i < sizeof rows; i++) rows[i] = (unsigned char)test_random_bits(&random);
        const image_bytes file =
            image_bytes_png(HEIGHT, WIDTH, colour, depth, kinds[k].interlaced, kinds[k].transparent, rows);
        assert_ok(wi_picture_decode(&picture, "x.png", file.data, file.size, MAX_PIXELS));
        assert_int_equal(picture.height, HEIGHT);
        assert_int_equal(picture.width, WIDTH);
        for (size_t y = 0; y < HEIGHT; y++)
            for (size_t x = 0; x < WIDTH; x++)
                for (size_t c = 0; c < 3; c++)
                    assert_int_equal(picture.pixels[(y * WIDTH + x) * 3 + c],
                        expected_byte(rows + y * row, x, c, colour, depth));
        free(file.data);
    }
    wi_picture_clear(&picture);
}

/* ---- JPEG ---- */

/* Smooth, so that quality 100 keeps it within a few units. */
static void paint(unsigned char *pixels, size_t channels) {
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            for (size_t c = 0; c < channels; c++)
                pixels[(y * WIDTH + x) * channels + c] =
                    (unsigned char)(60 + 9 * x + 4 * y * (c == 1) + 40 * c - 8 * y * (c == 2));
}

static void check_near(const wi_picture *picture, const unsigned char *pixels, image_jpeg_kind kind) {
    const bool cmyk = kind == IMAGE_JPEG_CMYK || kind == IMAGE_JPEG_PLAIN_CMYK;
    for (size_t i = 0; i < HEIGHT * WIDTH; i++)
        for (size_t c = 0; c < 3; c++) {
            double wanted = pixels[3 * i + c];
            if (kind == IMAGE_JPEG_GREY) wanted = pixels[i];
            if (cmyk) { /* Adobe's are inverted: R = C·K / 255 of what is stored */
                double ink = pixels[4 * i + c], key = pixels[4 * i + 3];
                if (kind == IMAGE_JPEG_PLAIN_CMYK) ink = 255 - ink, key = 255 - key;
                wanted = ink * key / 255;
            }
            if (fabs(picture->pixels[3 * i + c] - wanted) > 4)
                fail_msg("kind %d, pixel %zu, channel %zu: %d, expected %g", (int)kind, i, c,
                    picture->pixels[3 * i + c], wanted);
        }
}

static void each_kind_of_jpeg_becomes_rgb(void **state) {
    (void)state;
    wi_picture picture = {0};
    for (image_jpeg_kind kind = IMAGE_JPEG_RGB; kind <= IMAGE_JPEG_PLAIN_CMYK; kind++) {
        unsigned char pixels[HEIGHT * WIDTH * 4];
        paint(pixels, kind == IMAGE_JPEG_GREY ? 1 : kind >= IMAGE_JPEG_CMYK ? 4 : 3);
        const image_bytes file = image_bytes_jpeg(HEIGHT, WIDTH, kind, pixels);
        assert_ok(wi_picture_decode(&picture, "x.jpg", file.data, file.size, MAX_PIXELS));
        assert_int_equal(picture.height, HEIGHT);
        assert_int_equal(picture.width, WIDTH);
        check_near(&picture, pixels, kind);
        free(file.data);
    }
    wi_picture_clear(&picture);
}

/* ---- damage ---- */

typedef struct damage {
    image_bytes good;
    scratch_allocator allocator;
    size_t prefixes;
} damage;

/* The first thing that was wrong: told once the streams are what they were. */
static char complaint[512];

static void expect(bool good, const char *what, size_t size) {
    if (!good && !*complaint)
        snprintf(complaint, sizeof complaint, "%s, for %zu bytes: %.300s", what, size, weft_last_error());
}

static bool read_damaged(void *user, const char *bytes, size_t size) {
    damage *const d = user;
    wi_picture picture = {.allocator = &d->allocator.hooks};
    const weft_status status = wi_picture_decode(&picture, "damaged file", bytes, size, MAX_PIXELS);
    const bool prefix = size < d->good.size && memcmp(bytes, d->good.data, size) == 0;
    d->prefixes += prefix;
    expect(status == WEFT_OK || status == WEFT_ERROR_FORMAT, weft_status_name(status), size);
    expect(status == WEFT_OK || strstr(weft_last_error(), "'damaged file'"), "no name in the error", size);
    expect(!prefix || status != WEFT_OK, "a truncated file was taken", size);
    wi_picture_clear(&picture);
    expect(d->allocator.live == 0, "memory is lost", size);
    return status == WEFT_OK;
}

/* What the decoders write to the two streams while this runs. */
static long printed_while(void (*run)(void)) {
    FILE *const file = tmpfile();
    assert_non_null(file);
    fflush(NULL);
    const int out = dup(1), err = dup(2);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    run();
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    fseek(file, 0, SEEK_END);
    const long bytes = ftell(file);
    fclose(file);
    return bytes;
}

static void sweep(image_bytes good) {
    damage d = {.good = good};
    scratch_allocator_init(&d.allocator, -1);
    const mutate_counts counts =
        mutate_all((const char *)good.data, good.size, test_reduced() ? 50 : 1500, read_damaged, &d);
    expect(d.prefixes >= good.size, "too few prefixes", good.size);
    expect(counts.refused > d.prefixes, "no change was noticed", good.size);
    free(good.data);
}

static void damage_files(void) {
    unsigned char pixels[HEIGHT * WIDTH * 4];
    test_random random = test_random_named("damage", 0);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (unsigned char)test_random_bits(&random);
    sweep(image_bytes_png(6, 5, PNG_COLOR_TYPE_RGB, 8, false, false, pixels));
    sweep(image_bytes_png(6, 5, PNG_COLOR_TYPE_PALETTE, 4, true, true, pixels));
    sweep(image_bytes_jpeg(6, 5, IMAGE_JPEG_RGB, pixels));
    sweep(image_bytes_jpeg(HEIGHT, WIDTH, IMAGE_JPEG_PROGRESSIVE, pixels));
    sweep(image_bytes_jpeg(6, 5, IMAGE_JPEG_CMYK, pixels));
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    const long printed = printed_while(damage_files);
    assert_string_equal(complaint, "");
    assert_int_equal(printed, 0);
}

static void put_big_endian(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void large_images_are_refused_before_memory_is_taken(void **state) {
    (void)state;
    static const unsigned char pixels[3 * 8 * 8];
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, -1);
    wi_picture picture = {.allocator = &allocator.hooks};
    image_bytes file = image_bytes_png(8, 8, PNG_COLOR_TYPE_RGB, 8, false, false, pixels);
    assert_fails(wi_picture_decode(&picture, "big.png", file.data, file.size, 63), WEFT_ERROR_FORMAT,
        "'big.png': the image has 8 x 8 pixels, more than the limit of 63");
    assert_ok(wi_picture_decode(&picture, "big.png", file.data, file.size, 64));
    wi_picture_clear(&picture);
    put_big_endian(file.data + 16, 0xffffff); /* the width, the height, and their checksum */
    put_big_endian(file.data + 20, 0xffffff);
    put_big_endian(file.data + 29, (uint32_t)crc32(0, file.data + 12, 17));
    assert_fails(wi_picture_decode(&picture, "big.png", file.data, file.size, 1 << 26), WEFT_ERROR_FORMAT,
        "16777215 x 16777215 pixels, more than the limit of 67108864");
    put_big_endian(file.data + 16, 0x7fffffff);
    put_big_endian(file.data + 29, (uint32_t)crc32(0, file.data + 12, 17));
    assert_fails(wi_picture_decode(&picture, "big.png", file.data, file.size, 1 << 26), WEFT_ERROR_FORMAT,
        "'big.png'");
    free(file.data);
    file = image_bytes_jpeg(8, 8, IMAGE_JPEG_RGB, pixels);
    for (size_t i = 0; i + 9 < file.size; i++)
        if (file.data[i] == 0xff && file.data[i + 1] == 0xc0) memset(file.data + i + 5, 0xfe, 4);
    assert_fails(wi_picture_decode(&picture, "big.jpg", file.data, file.size, 1 << 26), WEFT_ERROR_FORMAT,
        "65278 x 65278 pixels");
    free(file.data);
    assert_null(picture.pixels);
    assert_int_equal(allocator.live, 0);
}

/* A progressive image whose first scan comes `times` more. */
static image_bytes repeat_scan(const image_bytes *file, size_t times) {
    size_t begin = 2, end = 0;
    while (file->data[begin] != 0xff || file->data[begin + 1] != 0xda) begin++;
    for (end = begin + 2; file->data[end] != 0xff || file->data[end + 1] == 0;) end++;
    const size_t scan = end - begin;
    image_bytes longer = {malloc(file->size + times * scan), file->size + times * scan};
    memcpy(longer.data, file->data, end);
    for (size_t i = 0; i < times; i++) memcpy(longer.data + end + i * scan, file->data + begin, scan);
    memcpy(longer.data + end + times * scan, file->data + end, file->size - end);
    return longer;
}

static void many_scans_of_many_pixels_are_refused(void **state) {
    (void)state;
    enum { SIDE = 64 };
    static const unsigned char pixels[3 * SIDE * SIDE];
    wi_picture picture = {0};
    const image_bytes file = image_bytes_jpeg(SIDE, SIDE, IMAGE_JPEG_PROGRESSIVE, pixels);
    const image_bytes longer = repeat_scan(&file, 40), endless = repeat_scan(&file, 1000);
    assert_ok(wi_picture_decode(&picture, "x", file.data, file.size, SIDE * SIDE));
    assert_fails(wi_picture_decode(&picture, "x", longer.data, longer.size, SIDE * SIDE), WEFT_ERROR_FORMAT,
        "'x': the JPEG image of 64 x 64 pixels has 33 scans or more");
    assert_ok(wi_picture_decode(&picture, "x", longer.data, longer.size, 2 * SIDE * SIDE));
    assert_fails(wi_picture_decode(&picture, "x", endless.data, endless.size, 1 << 26), WEFT_ERROR_FORMAT,
        "has 1001 scans");
    wi_picture_clear(&picture);
    free(file.data);
    free(longer.data);
    free(endless.data);
}

/* A text of 4 MB in 4 kB, a hundred times: the chunks are not unpacked. */
static void texts_in_images_cost_nothing(void **state) {
    (void)state;
    enum { TEXT = 4 << 20, TIMES = 100 };
    static const unsigned char pixels[3 * 8 * 8];
    const image_bytes file = image_bytes_png(8, 8, PNG_COLOR_TYPE_RGB, 8, false, false, pixels);
    unsigned char *const text = calloc(TEXT, 1), *const chunk = malloc(TEXT);
    uLongf packed = TEXT - 16;
    memcpy(chunk + 4, "zTXta\0\0", 7);
    assert_int_equal(compress2(chunk + 11, &packed, text, TEXT, 9), Z_OK);
    put_big_endian(chunk, (uint32_t)packed + 3);
    put_big_endian(chunk + 11 + packed, (uint32_t)crc32(0, chunk + 4, (uInt)packed + 7));
    const size_t bytes = packed + 15, head = 33; /* signature and IHDR */
    image_bytes bomb = {malloc(file.size + TIMES * bytes), file.size + TIMES * bytes};
    memcpy(bomb.data, file.data, head);
    for (size_t i = 0; i < TIMES; i++) memcpy(bomb.data + head + i * bytes, chunk, bytes);
    memcpy(bomb.data + head + TIMES * bytes, file.data + head, file.size - head);
    scratch_allocator allocator;
    scratch_allocator_init(&allocator, 100); /* allocations, in all */
    wi_picture picture = {.allocator = &allocator.hooks};
    assert_ok(wi_picture_decode(&picture, "x", bomb.data, bomb.size, MAX_PIXELS));
    assert_true(allocator.made < 50);
    wi_picture_clear(&picture);
    free(text);
    free(chunk);
    free(file.data);
    free(bomb.data);
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    static const unsigned char pixels[3 * 8 * 8];
    const image_bytes files[] = {image_bytes_png(8, 8, PNG_COLOR_TYPE_RGB, 8, false, false, pixels),
        image_bytes_jpeg(8, 8, IMAGE_JPEG_CMYK, pixels)};
    for (size_t i = 0; i < 2; i++) {
        weft_status status = WEFT_ERROR_MEMORY;
        for (long after = 0; status != WEFT_OK; after++) {
            scratch_allocator allocator;
            scratch_allocator_init(&allocator, after);
            wi_picture picture = {.allocator = &allocator.hooks};
            assert_true(after < 100);
            status = wi_picture_decode(&picture, "x", files[i].data, files[i].size, MAX_PIXELS);
            assert_true(status == WEFT_OK || status == WEFT_ERROR_MEMORY);
            assert_true((status == WEFT_OK) == (allocator.made <= after));
            wi_picture_clear(&picture);
            assert_int_equal(allocator.live, 0);
        }
        free(files[i].data);
    }
}
#else
static void the_missing_option_is_named(void **state) {
    (void)state;
    static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0},
                               jpeg[] = {0xff, 0xd8, 0xff, 0};
    wi_picture picture = {0};
    const bool has_png = strstr(weft_build_options(), "png=yes");
    const bool has_jpeg = strstr(weft_build_options(), "jpeg=yes");
    if (!has_png)
        assert_fails(wi_picture_decode(&picture, "a.png", png, sizeof png, MAX_PIXELS),
            WEFT_ERROR_UNSUPPORTED, "WEFT_WITH_PNG");
    if (!has_jpeg)
        assert_fails(wi_picture_decode(&picture, "a.jpg", jpeg, sizeof jpeg, MAX_PIXELS),
            WEFT_ERROR_UNSUPPORTED, "WEFT_WITH_JPEG");
    assert_false(has_png && has_jpeg);
}
#endif

static void other_content_is_refused(void **state) {
    (void)state;
    wi_picture picture = {0};
    assert_fails(wi_picture_decode(&picture, "a.png", "GIF89a", 6, MAX_PIXELS), WEFT_ERROR_FORMAT,
        "'a.png', of 6 bytes, is neither a PNG nor a JPEG image");
    assert_fails(
        wi_picture_decode(&picture, "a.png", "", 0, MAX_PIXELS), WEFT_ERROR_FORMAT, "'a.png' is empty");
    assert_fails(wi_picture_read(&picture, test_path("none.png"), MAX_PIXELS), WEFT_ERROR_FILE, "none.png");
    assert_fails(
        wi_picture_read(&picture, test_folder(), MAX_PIXELS), WEFT_ERROR_FILE, "it is not a regular file");
    /* 100 MB that are no image are not read for one pixel */
    const char *const path = test_path("long.png");
    image_bytes_save(path, "", 0);
    assert_int_equal(truncate(path, 100 << 20), 0);
    assert_fails(wi_picture_read(&picture, path, 1), WEFT_ERROR_FORMAT, "too many for an image");
    assert_fails(wi_picture_resize(&picture, "a.png", 0, 5, 9), WEFT_ERROR_FORMAT,
        "'a.png': the image has 5 x 0 pixels");
    assert_null(picture.pixels);
}

static void names_of_images(void **state) {
    (void)state;
    static const char *const good[] = {"a.png", "a.PNG", "a.b.jpg", "x.JPEG", ".jpg"};
    static const char *const others[] = {"a.gif", "png", "a.png.txt", "a.jpgx", "", "a."};
    weft_status status;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(wi_is_image_name(good[i], &status));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(wi_is_image_name(others[i], &status));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
        cmocka_unit_test(each_kind_of_png_becomes_rgb),
        cmocka_unit_test(each_kind_of_jpeg_becomes_rgb),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(large_images_are_refused_before_memory_is_taken),
        cmocka_unit_test(many_scans_of_many_pixels_are_refused),
        cmocka_unit_test(texts_in_images_cost_nothing),
        cmocka_unit_test(memory_may_end_anywhere),
#else
        cmocka_unit_test(the_missing_option_is_named),
#endif
        cmocka_unit_test(other_content_is_refused),
        cmocka_unit_test(names_of_images),
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
