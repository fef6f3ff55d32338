/* Folders of images: their order and classes, and every way in which folders and files can be wrong. */
/* test threads */
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_bytes.h"
#include "support/image_tree.h"
#include "support/scratch.h"
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
enum { SIDE = IMAGE_TREE_SIDE, IMAGE = 3 * SIDE * SIDE };

static weft_status open_with(weft_dataset **dataset, weft_image_options options) {
    options.struct_size = sizeof options;
    return weft_dataset_open_image_folder(dataset, test_context(), image_tree_root(), &options);
}

/* The red of each example, rounded, in order; returns how many there are. */
static size_t reds_of(weft_dataset *dataset, int *reds, int32_t *labels) {
    weft_loader *loader = NULL;
    size_t examples = 0, count = 0;
    const void *columns[2];
    const int64_t *const dims = weft_dataset_column(dataset, 0)->dims;
    const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = 3, .threads = 2};
    assert_ok(weft_loader_create(&loader, dataset, &options));
    assert_ok(weft_loader_begin(loader, 0));
    while (assert_ok(weft_loader_next(loader, &examples, columns)), examples) {
        for (size_t i = 0; i < examples; i++, count++) {
            const float red = ((const float *)columns[0])[i * (size_t)(dims[0] * dims[1] * dims[2])];
            reds[count] = (int)(red * 255 + 0.5f);
            labels[count] = ((const int32_t *)columns[1])[i];
        }
    }
    weft_loader_release(loader);
    return count;
}

/* As torchvision's ImageFolder lists them: classes sorted, within a class by folder, then by name. */
static void order_and_classes(void **state) {
    (void)state;
    static const char *const folders[] = {
        "dog", "Cat", "cat10", "cat2", "dog/b", "dog/a", "dog/a-x", "dog/a/z", ".hidden", "cat2/empty"};
    static const struct {
        const char *name;
        int value;
        int32_t label;
    } files[] = {{"Cat/only.png", 10, 0}, {"cat10/x.PNG", 20, 1}, {"cat2/1.jpeg", 30, 2},
        {"cat2/10.png", 40, 2}, {"cat2/2.JPG", 50, 2}, {"dog/w.png", 60, 3}, {"dog/x.png", 70, 3},
        {"dog/a/1.png", 80, 3}, {"dog/a-x/1.png", 90, 3}, {"dog/a/z/1.png", 100, 3}, {"dog/b/0.png", 110, 3}};
    enum { COUNT = sizeof files / sizeof *files };
    int reds[COUNT + 1];
    int32_t labels[COUNT + 1];
    weft_dataset *dataset = NULL;
    image_tree_begin("order");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) image_tree_folder(folders[i]);
    for (size_t i = COUNT; i-- > 0;) image_tree_put(files[i].name, (unsigned)files[i].value);
    image_tree_put_text("dog/notes.txt");
    image_tree_put_text("dog/png");
    image_tree_put_text("dog/x.gif");
    image_tree_put_text("readme.png"); /* beside the classes: in none of them */
    image_tree_put(".hidden/a.png", 200);
    assert_int_equal(symlink("nowhere", image_tree_path("dog/dangling")), 0);
    assert_int_equal(symlink("nowhere", image_tree_path("gone")), 0);
    assert_ok(open_with(&dataset, (weft_image_options){0}));
    assert_int_equal(weft_dataset_size(dataset), COUNT);
    assert_int_equal(weft_dataset_skipped(dataset), 0);
    assert_int_equal(weft_dataset_category_count(dataset, 1), 4);
    assert_string_equal(weft_dataset_category(dataset, 1, 0), "Cat");
    assert_string_equal(weft_dataset_category(dataset, 1, 1), "cat10");
    assert_string_equal(weft_dataset_category(dataset, 1, 2), "cat2");
    assert_string_equal(weft_dataset_category(dataset, 1, 3), "dog");
    assert_int_equal(reds_of(dataset, reds, labels), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_in_range(reds[i] + 3 - files[i].value, 0, 6); /* JPEG */
        assert_int_equal(labels[i], files[i].label);
    }
    weft_dataset_release(dataset);
}

static void folders_may_be_links(void **state) {
    (void)state;
    int reds[4];
    int32_t labels[4];
    weft_dataset *dataset = NULL;
    image_tree_begin("links");
    image_tree_folder("a");
    image_tree_put("a/1.png", 10);
    assert_int_equal(symlink("a", image_tree_path("b")), 0);
    assert_int_equal(symlink("1.png", image_tree_path("a/2.png")), 0);
    assert_ok(open_with(&dataset, (weft_image_options){0}));
    assert_int_equal(reds_of(dataset, reds, labels), 4);
    assert_int_equal(labels[3], 1);
    weft_dataset_release(dataset);
}

/* Sizes: of the first image without transforms; an image that becomes another is named. */
static void sizes_must_agree(void **state) {
    (void)state;
    const weft_transform resize = weft_transform_resize(4, 5), shorter = weft_transform_resize_shorter(6);
    int reds[4];
    int32_t labels[4];
    weft_dataset *dataset = NULL;
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[2];
    image_tree_begin("sizes");
    image_tree_folder("a");
    image_tree_put_sized("a/1.png", 7, 9, 10);
    image_tree_put_sized("a/2.png", 7, 9, 20);
    image_tree_put_sized("a/3.png", 9, 7, 30);
    assert_ok(open_with(&dataset, (weft_image_options){0}));
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[1], 7);
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[2], 9);
    assert_ok(weft_loader_create(&loader, dataset, NULL));
    assert_ok(weft_loader_begin(loader, 0));
    assert_fails(weft_loader_next(loader, &examples, columns), WEFT_ERROR_SHAPE,
        "a/3.png' gives 9 x 7 pixels, but the dataset's images are 7 x 9");
    weft_loader_release(loader);
    weft_dataset_release(dataset);
    assert_ok(open_with(&dataset, (weft_image_options){.transforms = &shorter, .transform_count = 1}));
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[2], 7); /* floor(6 · 9 / 7) */
    weft_dataset_release(dataset);
    assert_ok(open_with(&dataset, (weft_image_options){.transforms = &resize, .transform_count = 1}));
    assert_int_equal(weft_dataset_column(dataset, 0)->dims[1], 4);
    assert_int_equal(reds_of(dataset, reds, labels), 3);
    assert_int_equal(reds[2], 30);
    weft_dataset_release(dataset);
}

/* Truncated, of other content, empty, a pipe, a folder's name, a dangling link: each is an error that names
 * it. */
static void make_bad_files(void) {
    image_tree_put("a/1.png", 10);
    image_tree_put("a/5.jpg", 50);
    image_tree_put("b/1.png", 60);
    image_tree_put("a/2.png", 20);
    assert_int_equal(truncate(image_tree_path("a/2.png"), 60), 0);
    image_tree_put("a/3.jpg", 30);
    struct stat state;
    assert_int_equal(stat(image_tree_path("a/3.jpg"), &state), 0);
    assert_int_equal(truncate(image_tree_path("a/3.jpg"), state.st_size - 2), 0);
    image_tree_put_text("a/4.png");
    image_bytes_save(image_tree_path("b/0.jpeg"), "", 0);
}

static void one_unreadable_file_is_named(void **state) {
    (void)state;
    static const char *const bad[] = {"a/2.png", "a/3.jpg", "a/4.png", "b/0.jpeg"};
    weft_dataset *dataset = NULL;
    weft_loader *loader = NULL;
    size_t examples = 0;
    const void *columns[2];
    image_tree_begin("bad");
    image_tree_folder("a");
    image_tree_folder("b");
    make_bad_files();
    assert_ok(open_with(&dataset, (weft_image_options){0})); /* the first is good, and says the size */
    assert_int_equal(weft_dataset_size(dataset), 7);
    for (size_t threads = 1; threads <= 4; threads *= 2) {
        const weft_loader_options options = {WEFT_LOADER_OPTIONS_INIT, .batch = 7, .threads = threads};
        assert_ok(weft_loader_create(&loader, dataset, &options));
        for (uint64_t epoch = 0; epoch < 20; epoch++) { /* always the first in the batch's order */
            assert_ok(weft_loader_begin(loader, epoch));
            assert_fails(weft_loader_next(loader, &examples, columns), WEFT_ERROR_FORMAT, bad[0]);
        }
        weft_loader_release(loader);
    }
    /* the good ones before it come */
    const weft_loader_options single = {WEFT_LOADER_OPTIONS_INIT, .batch = 1, .threads = 4, .prefetch = 8};
    assert_ok(weft_loader_create(&loader, dataset, &single));
    assert_ok(weft_loader_begin(loader, 0));
    assert_ok(weft_loader_next(loader, &examples, columns));
    assert_int_equal(examples, 1);
    assert_fails(weft_loader_next(loader, &examples, columns), WEFT_ERROR_FORMAT, "the PNG image is damaged");
    weft_loader_release(loader);
    weft_dataset_release(dataset);
    for (size_t i = 0; i < 4; i++) { /* alone, each is named */
        float image[IMAGE];
        assert_fails(weft_load_image(test_context(), image_tree_path(bad[i]), NULL, image, sizeof image),
            WEFT_ERROR_FORMAT, bad[i]);
    }
    unlink(image_tree_path("a/1.png")); /* now the first one is broken */
    assert_fails(open_with(&dataset, (weft_image_options){0}), WEFT_ERROR_FORMAT, "a/2.png");
    assert_null(dataset);
}

static void a_trainer_names_it_too(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    weft_trainer *trainer = NULL;
    image_tree_begin("trained");
    image_tree_folder("a");
    image_tree_folder("b");
    make_bad_files();
    assert_ok(open_with(&dataset, (weft_image_options){0}));
    weft_graph *const graph = test_graph();
    weft_tensor *const x = weft_input(graph, "image", WEFT_F32, 3, SIDE, SIDE);
    weft_tensor *const w = weft_parameter(graph, "w", weft_zeros(), 3, SIDE, SIDE);
    weft_tensor *const loss = weft_mean(weft_mul(x, w));
    const weft_trainer_options options = {
        WEFT_TRAINER_OPTIONS_INIT, .batch = 1, .keep_order = true, .loader_threads = 3};
    assert_ok(weft_trainer_create(&trainer, loss, &options));
    for (int run = 0; run < 2; run++)
        assert_fails(weft_trainer_run(trainer, dataset), WEFT_ERROR_FORMAT, "a/2.png");
    weft_trainer_release(trainer);
    weft_graph_release(graph);
    weft_dataset_release(dataset);
}

static void unreadable_files_are_left_out_when_asked(void **state) {
    (void)state;
    static const char *const bad[] = {
        "a/2.png", "a/3.jpg", "a/4.png", "b/0.jpeg", "b/gone.png", "b/pipe.png", "b/above", "c/x.png"};
    static scratch_log log;
    int reds[3];
    int32_t labels[3];
    weft_dataset *dataset = NULL;
    image_tree_begin("skip");
    image_tree_folder("a");
    image_tree_folder("b");
    image_tree_folder("c"); /* nothing in it can be read: the class stays where it was asked for */
    make_bad_files();
    image_tree_put_text("c/x.png");
    assert_int_equal(symlink("nowhere", image_tree_path("b/gone.png")), 0);
    assert_int_equal(mkfifo(image_tree_path("b/pipe.png"), 0600), 0);
    assert_int_equal(symlink("..", image_tree_path("b/above")), 0);
    weft_context *const context = test_context_open(
        (weft_context_options){WEFT_CONTEXT_OPTIONS_INIT, .log = scratch_log_line, .log_user = &log});
    weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .skip_unreadable = true};
    assert_fails(weft_dataset_open_image_folder(&dataset, context, image_tree_root(), &options),
        WEFT_ERROR_FILE, "the class 'c' has no image that can be read");
    assert_null(dataset);
    log = (scratch_log){0};
    options.classes = (const char *const[]){"a", "b", "c", NULL};
    assert_ok(weft_dataset_open_image_folder(&dataset, context, image_tree_root(), &options));
    assert_int_equal(weft_dataset_size(dataset), 3);
    assert_int_equal(weft_dataset_skipped(dataset), 8);
    assert_int_equal(weft_dataset_category_count(dataset, 1), 3);
    assert_int_equal(reds_of(dataset, reds, labels), 3);
    assert_int_equal(labels[1], 0);
    assert_int_equal(labels[2], 1);
    assert_int_equal(log.warnings, 8);
    for (size_t i = 0; i < 8; i++) assert_non_null(strstr(log.text, bad[i]));
    weft_dataset_release(dataset);
    unlink(image_tree_path("a/1.png"));
    unlink(image_tree_path("a/5.jpg"));
    unlink(image_tree_path("b/1.png"));
    assert_fails(weft_dataset_open_image_folder(&dataset, context, image_tree_root(), &options),
        WEFT_ERROR_FILE, "none of the images (8) can be read");
    weft_context_release(context);
}

static void refused(const char *part) {
    weft_dataset *dataset = (weft_dataset *)&dataset;
    assert_fails(open_with(&dataset, (weft_image_options){0}), WEFT_ERROR_FILE, part);
    assert_null(dataset);
}

static void wrong_folders_are_refused(void **state) {
    (void)state;
    image_tree_begin("wrong");
    refused("has no folders with images");
    image_tree_put("image.png", 10);
    refused("has no folders with images");
    const weft_image_options named = {WEFT_IMAGE_OPTIONS_INIT, .classes = (const char *const[]){"a", NULL}};
    weft_dataset *dataset = NULL;
    assert_fails(weft_dataset_open_image_folder(&dataset, test_context(), image_tree_root(), &named),
        WEFT_ERROR_FILE, "has no folders with images");
    image_tree_folder("a");
    refused("/a' has no images");
    image_tree_folder("a/b");
    image_tree_put_text("a/b/notes.txt");
    refused("/a' has no images");
    image_tree_put("a/b/1.png", 10);
    assert_int_equal(symlink("..", image_tree_path("a/b/up")), 0);
    refused("a/b/up' is a link to a folder that contains the link");
    unlink(image_tree_path("a/b/up"));
    assert_int_equal(symlink("../..", image_tree_path("a/b/up")), 0);
    refused("a/b/up' is a link to a folder that contains the link");
    unlink(image_tree_path("a/b/up"));
    assert_int_equal(symlink(".", image_tree_path("self")), 0);
    refused("self' is a link to a folder that contains the link");
    unlink(image_tree_path("self"));
    assert_int_equal(symlink("loop", image_tree_path("loop")), 0);
    refused("loop'");
    unlink(image_tree_path("loop"));
    assert_int_equal(symlink("loop.png", image_tree_path("a/loop.png")), 0);
    refused("a/loop.png'");
    unlink(image_tree_path("a/loop.png"));
    assert_int_equal(symlink("nowhere", image_tree_path("a/gone.jpg")), 0);
    refused("a/gone.jpg'");
    unlink(image_tree_path("a/gone.jpg"));
    assert_int_equal(mkfifo(image_tree_path("a/pipe.png"), 0600), 0);
    refused("a/pipe.png': it is not a regular file");
    image_tree_name("nowhere at all");
    refused("nowhere at all'");
}

/* Root may read everything: it becomes another user meanwhile. */
static void folders_without_permission_are_refused(void **state) {
    (void)state;
    image_tree_begin("locked");
    image_tree_folder("a");
    image_tree_folder("b");
    image_tree_put("a/1.png", 10);
    image_tree_put("b/1.png", 10);
    assert_int_equal(chmod(test_folder(), 0755), 0);
    assert_int_equal(chmod(image_tree_root(), 0755), 0);
    assert_int_equal(chmod(image_tree_path("a"), 0755), 0);
    assert_int_equal(chmod(image_tree_path("a/1.png"), 0644), 0);
    assert_int_equal(chmod(image_tree_path("b"), 0), 0);
    const bool is_root = geteuid() == 0;
    if (is_root) assert_int_equal(seteuid(65534), 0);
    weft_dataset *dataset = NULL;
    const weft_status status = open_with(&dataset, (weft_image_options){0});
    char line[512];
    snprintf(line, sizeof line, "%s", weft_last_error());
    size_t left = 0;
    const weft_status unlisted = open_with(&dataset, (weft_image_options){.skip_unreadable = true});
    char skipped[512];
    snprintf(skipped, sizeof skipped, "%s", weft_last_error());
    const weft_status skipping = open_with(&dataset,
        (weft_image_options){.skip_unreadable = true, .classes = (const char *const[]){"a", "b", NULL}});
    if (skipping == WEFT_OK) left = weft_dataset_skipped(dataset);
    weft_dataset_release(dataset);
    if (is_root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, WEFT_ERROR_FILE);
    assert_non_null(strstr(line, "cannot read the folder"));
    assert_non_null(strstr(line, "/b'"));
    assert_int_equal(unlisted, WEFT_ERROR_FILE);
    assert_non_null(strstr(skipped, "the class 'b' has no image that can be read"));
    assert_int_equal(skipping, WEFT_OK);
    assert_int_equal(left, 1);
}

static void large_images_are_refused(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    image_tree_begin("large");
    image_tree_folder("a");
    image_tree_put("a/1.png", 10);
    image_tree_put_sized("a/2.png", 50, 40, 10);
    assert_ok(open_with(&dataset, (weft_image_options){.max_pixels = 1999, .skip_unreadable = true}));
    assert_int_equal(weft_dataset_skipped(dataset), 1);
    weft_dataset_release(dataset);
    image_tree_put_sized("a/0.png", 50, 40, 10);
    assert_fails(open_with(&dataset, (weft_image_options){.max_pixels = 1999}), WEFT_ERROR_FORMAT,
        "a/0.png': the image has 40 x 50 pixels, more than the limit of 1999 pixels (option max_pixels)");
}

static void one_image(void **state) {
    (void)state;
    const weft_transform crop = weft_transform_centre_crop(2, 3);
    const weft_image_options options = {
        WEFT_IMAGE_OPTIONS_INIT, .transforms = &crop, .transform_count = 1, .layout = WEFT_CHANNELS_LAST};
    float image[18];
    image_tree_begin("one");
    image_tree_put("x.png", 51);
    assert_ok(weft_load_image(test_context(), image_tree_path("x.png"), &options, image, sizeof image));
    for (int i = 0; i < 18; i++) assert_true(image[i] == (float)(51 + 20 * (i % 3)) / 255.0f);
    assert_fails(weft_load_image(test_context(), image_tree_path("x.png"), &options, image, 71),
        WEFT_ERROR_SHAPE, "gives 3 channels of 2 x 3 pixels, 72 bytes, but data has 71 bytes");
    assert_status(weft_load_image(test_context(), NULL, NULL, image, 72), WEFT_ERROR_ARGUMENT);
    assert_status(weft_load_image(NULL, "x", NULL, image, 72), WEFT_ERROR_ARGUMENT);
    assert_status(weft_load_image(test_context(), "x", NULL, NULL, 72), WEFT_ERROR_ARGUMENT);
    weft_dataset *dataset = NULL;
    assert_status(
        weft_dataset_open_image_folder(&dataset, NULL, image_tree_root(), NULL), WEFT_ERROR_ARGUMENT);
    assert_status(weft_dataset_open_image_folder(&dataset, test_context(), NULL, NULL), WEFT_ERROR_ARGUMENT);
    assert_status(
        weft_dataset_open_image_folder(NULL, test_context(), image_tree_root(), NULL), WEFT_ERROR_ARGUMENT);
}

/* Wherever memory ends, the error says so and nothing is lost. */
static void memory_may_end_anywhere(void **state) {
    (void)state;
    scratch_allocator allocator;
    weft_image_options options = {WEFT_IMAGE_OPTIONS_INIT, .skip_unreadable = true};
    image_tree_begin("memory");
    image_tree_folder("a");
    image_tree_folder("b");
    image_tree_put("a/1.png", 10);
    image_tree_put("b/1.jpg", 10);
    image_tree_put_text("b/2.jpg");
    static scratch_log log;
    scratch_allocator_init(&allocator, -1);
    weft_context *const context = test_context_open((weft_context_options){
        WEFT_CONTEXT_OPTIONS_INIT, .allocator = &allocator.hooks, .log = scratch_log_line, .log_user = &log});
    const long live = allocator.live;
    weft_status status = WEFT_ERROR_MEMORY;
    for (long after = 0; status != WEFT_OK; after++) {
        weft_dataset *dataset = NULL;
        allocator.fail_after = allocator.made + after;
        status = weft_dataset_open_image_folder(&dataset, context, image_tree_root(), &options);
        allocator.fail_after = -1;
        assert_true(after < 1000);
        assert_true(status == WEFT_OK || status == WEFT_ERROR_MEMORY);
        assert_true((status == WEFT_OK) == (dataset != NULL));
        weft_dataset_release(dataset);
        assert_int_equal(allocator.live, live);
    }
    weft_context_release(context);
}
#else
static void the_missing_option_is_named(void **state) {
    (void)state;
    weft_dataset *dataset = NULL;
    const bool has_png = strstr(weft_build_options(), "png=yes");
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path("root"));
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s", test_path("root/a"));
    assert_int_equal(mkdir(path, 0700), 0);
    image_bytes_save(test_path(has_png ? "root/a/1.jpg" : "root/a/1.png"), "", 0);
    assert_fails(weft_dataset_open_image_folder(&dataset, test_context(), test_path("root"), NULL),
        WEFT_ERROR_UNSUPPORTED, has_png ? "WEFT_WITH_JPEG" : "WEFT_WITH_PNG");
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
        cmocka_unit_test(order_and_classes),
        cmocka_unit_test(folders_may_be_links),
        cmocka_unit_test(sizes_must_agree),
        cmocka_unit_test(one_unreadable_file_is_named),
        cmocka_unit_test(a_trainer_names_it_too),
        cmocka_unit_test(unreadable_files_are_left_out_when_asked),
        cmocka_unit_test(wrong_folders_are_refused),
        cmocka_unit_test(folders_without_permission_are_refused),
        cmocka_unit_test(large_images_are_refused),
        cmocka_unit_test(one_image),
        cmocka_unit_test(memory_may_end_anywhere),
#else
        cmocka_unit_test(the_missing_option_is_named),
#endif
    };
    return test_finish(cmocka_run_group_tests(tests, NULL, NULL));
}
