/* The EXIF orientation: all eight, in either order of bytes, and data that are damaged or hostile. */
#include "io/exif.h"
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_bytes.h"
#include "support/image_examples.h"
#include "support/image_tree.h"
#include "support/mutate.h"

enum { MOST = 1024 };

typedef struct file {
    unsigned char bytes[MOST];
    size_t size;
} file;

static void put(file *f, uint32_t value, size_t count, bool big) {
    assert_true(f->size + count <= MOST);
    for (size_t i = 0; i < count; i++)
        f->bytes[f->size++] = (unsigned char)(value >> 8 * (big ? count - 1 - i : i));
}

static void put_text(file *f, const char *text, size_t size) {
    assert_true(f->size + size <= MOST);
    memcpy(f->bytes + f->size, text, size);
    f->size += size;
}

/* A segment APP1 with EXIF data of two entries, the second of which is the orientation. */
typedef struct exif {
    bool big;
    uint32_t tag, type, count, value, offset, entries, magic;
} exif;

static exif good_exif(uint32_t value, bool big) {
    return (exif){.big = big,
        .tag = 0x112,
        .type = 3,
        .count = 1,
        .value = value,
        .offset = 8,
        .entries = 2,
        .magic = 42};
}

static void put_exif(file *f, const exif *e) {
    put(f, 0xffe1, 2, true);
    put(f, 2 + 6 + 8 + 2 + 2 * 12 + 4, 2, true);
    put_text(f, "Exif\0\0", 6);
    put_text(f, e->big ? "MM" : "II", 2);
    put(f, e->magic, 2, e->big);
    put(f, e->offset, 4, e->big);
    put(f, e->entries, 2, e->big);
    put(f, 0x10f, 2, e->big), put(f, 2, 2, e->big), put(f, 4, 4, e->big), put(f, 7, 4, e->big);
    put(f, e->tag, 2, e->big), put(f, e->type, 2, e->big), put(f, e->count, 4, e->big);
    put(f, e->value, 2, e->big), put(f, 0, 2, e->big);
    put(f, 0, 4, e->big);
}

static file begin_file(void) {
    file f = {.size = 0};
    put(&f, 0xffd8, 2, true);
    return f;
}

static int orientation_of(const exif *e) {
    file f = begin_file();
    put_exif(&f, e);
    put(&f, 0xffda, 2, true);
    return wi_exif_orientation(f.bytes, f.size);
}

static void the_tag_is_read(void **state) {
    (void)state;
    for (uint32_t value = 0; value <= 9; value++)
        for (int big = 0; big < 2; big++) {
            const exif e = good_exif(value, big);
            assert_int_equal(orientation_of(&e), value >= 1 && value <= 8 ? value : 1);
        }
}

static void what_is_not_understood_is_ignored(void **state) {
    (void)state;
    exif rows[10];
    for (size_t i = 0; i < 10; i++) rows[i] = good_exif(6, i % 2);
    rows[0].tag = 0x113;
    rows[1].type = 4;
    rows[2].count = 2;
    rows[3].value = 0x106;
    rows[4].offset = 0xffffffff;
    rows[5].offset = 0x7ffffff0;
    rows[6].entries = 1;
    rows[7].magic = 43;
    rows[8].offset = 9;
    rows[9].entries = 0;
    for (size_t i = 0; i < 10; i++)
        if (orientation_of(&rows[i]) != 1) fail_msg("row %zu", i);
    exif many = good_exif(6, false);
    many.entries = 0xffff;
    assert_int_equal(orientation_of(&many), 6);
    many.tag = 0x113;
    assert_int_equal(orientation_of(&many), 1);
    assert_int_equal(wi_exif_orientation(NULL, 0), 1);
}

/* The first segment with EXIF data counts, wherever it stands before the scan. */
static void segments_are_skipped(void **state) {
    (void)state;
    const exif six = good_exif(6, true), three = good_exif(3, false);
    file f = begin_file();
    put(&f, 0xffe0, 2, true), put(&f, 4, 2, true),
        put(&f, 0xffe1, 2, true); /* a segment with a marker in it */
    put(&f, 0xffe1, 2, true), put(&f, 9, 2, true), put_text(&f, "http://", 7); /* XMP */
    put(&f, 0xffff, 2, true);                                                  /* filling */
    put_exif(&f, &six);
    put_exif(&f, &three);
    assert_int_equal(wi_exif_orientation(f.bytes, f.size), 6);
    f = begin_file();
    put(&f, 0xffda, 2, true), put(&f, 2, 2, true);
    put_exif(&f, &six);
    assert_int_equal(wi_exif_orientation(f.bytes, f.size), 1);
    f = begin_file();
    put(&f, 0xffe0, 2, true), put(&f, 1, 2, true);
    put_exif(&f, &six);
    assert_int_equal(wi_exif_orientation(f.bytes, f.size), 1);
}

static bool read_damaged(void *user, const char *bytes, size_t size) {
    const int orientation = wi_exif_orientation((const unsigned char *)bytes, size);
    assert_in_range(orientation, 1, 8);
    (void)user;
    return orientation == 6;
}

static void damage_is_survived(void **state) {
    (void)state;
    const exif e = good_exif(6, true);
    file f = begin_file();
    put_exif(&f, &e);
    const mutate_counts counts = mutate_all((const char *)f.bytes, f.size, 3000, read_damaged, NULL);
    assert_true(counts.refused > f.size - 10 && counts.refused < counts.tries);
}

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
enum { TOP, RIGHT, BOTTOM, LEFT, HEIGHT = 8, WIDTH = 16, IMAGE = 3 * HEIGHT * WIDTH };

/* Saves a ramp of colours as a JPEG file with this orientation. */
static void save_image(const char *path, uint32_t orientation) {
    const exif e = good_exif(orientation, orientation % 2);
    file f = begin_file();
    put_exif(&f, &e);
    unsigned char pixels[IMAGE];
    for (size_t i = 0; i < IMAGE; i++)
        pixels[i] = (unsigned char)(9 * (i / 3 % WIDTH) + 14 * (i / 3 / WIDTH) + i % 3);
    const image_bytes jpeg = image_bytes_jpeg(HEIGHT, WIDTH, IMAGE_JPEG_RGB, pixels);
    unsigned char *const whole = malloc(f.size + jpeg.size);
    memcpy(whole, f.bytes, f.size);
    memcpy(whole + f.size, jpeg.data + 2, jpeg.size - 2);
    image_bytes_save(path, whole, f.size + jpeg.size - 2);
    free(whole);
    free(jpeg.data);
}

/* sides: where the EXIF standard shows row 0 and column 0, "0th row" at the visual top, right, bottom or left. */
static void check_turned(const unsigned char *got, const unsigned char *stored, const int sides[2]) {
    const bool swapped = sides[0] == LEFT || sides[0] == RIGHT;
    const size_t height = swapped ? WIDTH : HEIGHT, width = swapped ? HEIGHT : WIDTH;
    for (size_t row = 0; row < HEIGHT; row++)
        for (size_t column = 0; column < WIDTH; column++) {
            const size_t along[2] = {row, column};
            size_t y = 0, x = 0;
            for (int i = 0; i < 2; i++) {
                if (sides[i] == TOP) y = along[i];
                if (sides[i] == BOTTOM) y = height - 1 - along[i];
                if (sides[i] == LEFT) x = along[i];
                if (sides[i] == RIGHT) x = width - 1 - along[i];
            }
            assert_memory_equal(got + (y * width + x) * 3, stored + (row * WIDTH + column) * 3, 3);
        }
}

/* One image, and a folder whose images give the size of the column. */
static void images_are_turned(void **state) {
    (void)state;
    static const int sides[8][2] = {{TOP, LEFT}, {TOP, RIGHT}, {BOTTOM, RIGHT}, {BOTTOM, LEFT}, {LEFT, TOP},
        {RIGHT, TOP}, {RIGHT, BOTTOM}, {LEFT, BOTTOM}};
    const weft_image_options stored = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .layout = WEFT_CHANNELS_LAST},
                             upright = {WEFT_IMAGE_OPTIONS_INIT, .bytes = true, .layout = WEFT_CHANNELS_LAST,
                                 .exif_orientation = true};
    unsigned char plain[IMAGE], got[IMAGE], loaded[IMAGE];
    image_tree_begin("turned");
    image_tree_folder("a");
    for (uint32_t value = 1; value <= 8; value++) {
        weft_dataset *dataset = NULL;
        save_image(image_tree_path("a/turned.jpg"), value);
        assert_ok(
            weft_load_image(test_context(), image_tree_path("a/turned.jpg"), &stored, plain, sizeof plain));
        assert_ok(
            weft_load_image(test_context(), image_tree_path("a/turned.jpg"), &upright, got, sizeof got));
        check_turned(got, plain, sides[value - 1]);
        assert_ok(weft_dataset_open_image_folder(&dataset, test_context(), image_tree_root(), &upright));
        assert_int_equal(weft_dataset_column(dataset, 0)->dims[0], value >= 5 ? WIDTH : HEIGHT);
        assert_int_equal(weft_dataset_column(dataset, 0)->dims[1], value >= 5 ? HEIGHT : WIDTH);
        assert_int_equal(image_examples_load(dataset, NULL, 0, loaded, NULL), 1);
        assert_memory_equal(loaded, got, sizeof got);
        weft_dataset_release(dataset);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tag_is_read),
        cmocka_unit_test(what_is_not_understood_is_ignored),
        cmocka_unit_test(segments_are_skipped),
        cmocka_unit_test(damage_is_survived),
#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
        cmocka_unit_test(images_are_turned),
#endif
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
