/* A folder of image files for one test at a time. */
#ifndef IMAGE_TREE_H
#define IMAGE_TREE_H

#include <stddef.h>

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)

enum { IMAGE_TREE_SIDE = 6 };

/* An empty folder for the next test, which the functions below fill. */
void image_tree_begin(const char *name);
/* The same without making it. */
void image_tree_name(const char *name);
const char *image_tree_root(void);
/* The path of a name in it, until the next call. */
const char *image_tree_path(const char *name);
void image_tree_folder(const char *name);
/* An image whose red is this value everywhere, its green and blue follow; JPEG by the name, else PNG. */
void image_tree_put_sized(const char *name, size_t height, size_t width, unsigned value);
void image_tree_put(const char *name, unsigned value);
/* A file that is no image. */
void image_tree_put_text(const char *name);

#endif
#endif
