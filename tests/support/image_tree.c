/* See image_tree.h. */
#include "support/image_tree.h"

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)
#include "support/checks.h"
#include "support/fixture.h"
#include "support/image_bytes.h"
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[4096];

const char *image_tree_path(const char *name) {
    static char path[8192];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

void image_tree_name(const char *name) {
    snprintf(root, sizeof root, "%s", test_path(name));
}

void image_tree_begin(const char *name) {
    image_tree_name(name);
    assert_int_equal(mkdir(root, 0700), 0);
}

void image_tree_folder(const char *name) {
    assert_int_equal(mkdir(image_tree_path(name), 0700), 0);
}

void image_tree_put_sized(const char *name, size_t height, size_t width, unsigned value) {
    unsigned char *const pixels = malloc(3 * height * width);
    for (size_t i = 0; i < height * width; i++)
        for (size_t c = 0; c < 3; c++) pixels[3 * i + c] = (unsigned char)(value + 20 * c);
    const bool jpeg = strstr(name, ".j") || strstr(name, ".J");
    const image_bytes file =
        jpeg ? image_bytes_jpeg(height, width, IMAGE_JPEG_RGB, pixels)
             : image_bytes_png(height, width, PNG_COLOR_TYPE_RGB, 8, false, false, pixels);
    image_bytes_save(image_tree_path(name), file.data, file.size);
    free(file.data);
    free(pixels);
}

void image_tree_put(const char *name, unsigned value) {
    image_tree_put_sized(name, IMAGE_TREE_SIDE, IMAGE_TREE_SIDE, value);
}

void image_tree_put_text(const char *name) {
    image_bytes_save(image_tree_path(name), "no image", 8);
}

const char *image_tree_root(void) {
    return root;
}

#endif
