/* What the programs know about a network of images: the pixels that it is fed, the names of its classes.
 *
 * What goes wrong is a line on stderr that begins with the program's name, and false. */
#ifndef IMAGE_NETWORK_H
#define IMAGE_NETWORK_H

#include <weft/weft.h>

/* False, with the names that there are, when weft/models.h has no such network. */
bool image_network_known(const char *program, const char *model);

/* Pixels as the network is trained on: side × side, (pixel / 255 - mean) / deviation for each channel. */
typedef struct image_format {
    int64_t side;
    float mean[WEFT_MAX_IMAGE_CHANNELS], deviation[WEFT_MAX_IMAGE_CHANNELS];
} image_format;
/* 32²: the means and deviations of CIFAR-10; larger: those of torchvision's weights of that name. */
image_format image_format_of(const char *model);

/* The names of classes, in a file of a line each. */
typedef struct class_names {
    char *text;         /* owned; what the names point into */
    const char **names; /* ended by NULL */
    size_t count;
} class_names;
bool class_names_read(class_names *names, const char *program, const char *path);
void class_names_release(class_names *names);
/* Those of a column of labels, or where it has none the numbers from 0 to classes - 1. */
bool class_names_write(
    const weft_dataset *dataset, size_t column, size_t classes, const char *program, const char *path);
/* Where the names of a file of weights stand: "x.safetensors" -> "x.names". */
bool class_names_path(char *path, size_t capacity, const char *program, const char *weights);

#endif
