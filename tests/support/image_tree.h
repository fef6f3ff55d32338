/* A folder with subfolders of image files; there is one at a time. */
#ifndef IMAGE_TREE_H
#define IMAGE_TREE_H

#include <stddef.h>

#if defined(WEFT_WITH_PNG) && defined(WEFT_WITH_JPEG)

enum { IMAGE_TREE_SIDE = 6 };

/* Creates an empty folder for the next test; the functions below write files to it. */
void image_tree_begin(const char *name);
/* Sets the path of the folder, as image_tree_begin does, but does not create it. */
void image_tree_name(const char *name);
const char *image_tree_root(void);
/* The path of the file `name` in the folder, valid until the next call. */
const char *image_tree_path(const char *name);
void image_tree_folder(const char *name);
/* Writes an image of one colour, with red `value`, green value + 20, blue value + 40: a JPEG file if the name says so, otherwise PNG. */
void image_tree_put_sized(const char *name, size_t height, size_t width, unsigned value);
void image_tree_put(const char *name, unsigned value);
/* Writes a file of this name that is not an image. */
void image_tree_put_text(const char *name);

#endif
#endif
