/* weft/image_data.h: datasets of images, which the threads of the loader decode and augment. */
#ifndef WEFT_IMAGE_DATA_H
#define WEFT_IMAGE_DATA_H

#include <weft/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- transforms of 8-bit pixels, applied one after another ----
 * The random numbers of a transform depend only on the seed of the loader, the epoch, the example and the index of the
 * transform in the list: results are the same on every machine and for any number of threads. Sizes are height, width.
 * The definitions are those of torchvision. */
typedef enum weft_transform_kind {
    WEFT_TRANSFORM_RESIZE = 1,
    WEFT_TRANSFORM_RESIZE_SHORTER,
    WEFT_TRANSFORM_CENTRE_CROP,
    WEFT_TRANSFORM_RANDOM_CROP,
    WEFT_TRANSFORM_RANDOM_RESIZED_CROP,
    WEFT_TRANSFORM_RANDOM_FLIP
} weft_transform_kind;

typedef struct weft_transform {
    weft_transform_kind kind;
    int64_t height, width;
    int64_t padding;                /* random crop: black pixels on each side; default 0 */
    double probability;             /* random flip: in [0, 1] */
    double least_area, most_area;   /* random resized crop: fractions of the image; default 0.08, 1 */
    double least_ratio, most_ratio; /* random resized crop: width / height; default 3/4, 4/3 */
} weft_transform;

/* Resizes the image by bilinear interpolation. When the image becomes smaller, each pixel is a weighted mean over all
 * pixels that it covers (antialiasing). */
WEFT_API weft_transform weft_transform_resize(int64_t height, int64_t width);
/* Resizes the image: the shorter side becomes `size`, the longer side floor(size · longer / shorter). */
WEFT_API weft_transform weft_transform_resize_shorter(int64_t size);
/* The centre of the image; if the image is smaller, the pixels outside of it are black. */
WEFT_API weft_transform weft_transform_centre_crop(int64_t height, int64_t width);
/* A crop at a random position of the image, after adding `padding` black pixels on each side. A crop that is larger
 * than the padded image is an error. */
WEFT_API weft_transform weft_transform_random_crop(int64_t height, int64_t width, int64_t padding);
/* A crop with a random area and a random aspect ratio, resized to this size: the augmentation of Inception. */
WEFT_API weft_transform weft_transform_random_resized_crop(int64_t height, int64_t width);
/* Exchanges left and right with this probability. */
WEFT_API weft_transform weft_transform_random_flip(double probability);

/* ---- options of all datasets of images ---- */
typedef enum weft_image_layout {
    WEFT_CHANNELS_FIRST, /* an example is (C, H, W) */
    WEFT_CHANNELS_LAST   /* an example is (H, W, C), the memory order of image ops; see weft_image_input */
} weft_image_layout;

#define WEFT_MAX_TRANSFORMS     16
#define WEFT_MAX_IMAGE_CHANNELS 4

typedef struct weft_image_options {
    size_t struct_size;
    const weft_transform *transforms; /* copied; default none */
    size_t transform_count;           /* at most WEFT_MAX_TRANSFORMS */
    weft_image_layout layout;         /* layout of the column; default channels first */
    int channels; /* 3: RGB; 1: grey, 0.299 R + 0.587 G + 0.114 B; default: those of the data, 3 for files */
    /* The column is f32: (pixel / 255 - mean) / deviation, with one number per channel. A single number, as in {0.5f},
     * holds for all channels; {0.5f, WEFT_ZERO} is 0 for the channels after the first. */
    float mean[WEFT_MAX_IMAGE_CHANNELS];      /* default 0 */
    float deviation[WEFT_MAX_IMAGE_CHANNELS]; /* default 1 */
    /* Default false. true: the column is u8, 0..255, not normalised, with a quarter of the bytes. */
    bool bytes;
    /* A file with more pixels is an error, before memory is allocated; default 2^26. All scans of a progressive JPEG
     * together may have 32 · max_pixels. */
    uint64_t max_pixels;
    /* Of a folder. true: every file is decoded once when the dataset is opened, and files that cannot be decoded are
     * left out, counted and logged. Default false: such a file is an error when it is loaded. */
    bool skip_unreadable;
    /* Of a folder: the names of the classes in the order of their numbers, ended by NULL; or, with `like`, the
     * categories of another dataset's column "label", such as the training's. A subfolder with another name is an
     * error; a class may have no images. Default: the names of the subfolders. */
    const char *const *classes;
    const weft_dataset *like;
} weft_image_options;
#define WEFT_IMAGE_OPTIONS_INIT .struct_size = sizeof(weft_image_options)

/* ---- datasets: column 0 is "image"; its data is NULL, as images are decoded when batches are loaded ----
 * options NULL means all defaults. The transforms determine the size of an example; if they leave the size open, it is
 * that of the first image, and an image with another size is an error when it is loaded. */

/* A dataset from a folder with the binary files of CIFAR (cs.toronto.edu/~kriz/cifar.html): data_batch_1.bin to
 * data_batch_5.bin and test_batch.bin, or train.bin and test.bin. The images have 3 × 32 × 32 bytes, and are kept in
 * host memory. Columns: "image", "label" i32; for CIFAR-100 also "coarse_label". Categories: the names in
 * batches.meta.txt, or in fine_label_names.txt and coarse_label_names.txt; none if this file is missing. Errors:
 * WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a file of the wrong length, or a label out of range). */
typedef enum weft_cifar {
    WEFT_CIFAR_10_TRAIN = 1,
    WEFT_CIFAR_10_TEST,
    WEFT_CIFAR_100_TRAIN,
    WEFT_CIFAR_100_TEST
} weft_cifar;
WEFT_API weft_status weft_dataset_open_cifar(weft_dataset **dataset, weft_context *context,
    const char *folder, weft_cifar which, const weft_image_options *options);

/* A dataset from a folder with one subfolder per class, which contains PNG and JPEG files (.png, .jpg, .jpeg) at any
 * depth. Other files, and folders whose names begin with a dot, are ignored. The classes are the names of the
 * subfolders, sorted by bytes; files are sorted, too, so that the order of examples is that of torchvision's
 * ImageFolder. Each folder numbers its classes from 0: give `like` if the network was trained with another folder (a
 * trainer maps classes by their names, also without `like`). This call reads only names; files are read when they are
 * loaded. Columns: "image", "label" i32 with the classes as categories. Errors: WEFT_ERROR_FILE (something cannot be
 * read, there is no class, a class has no images or all were left out, a link leads to a folder above it);
 * WEFT_ERROR_ARGUMENT (a class that `classes` or `like` does not have); WEFT_ERROR_UNSUPPORTED (a format that the
 * library was built without). */
WEFT_API weft_status weft_dataset_open_image_folder(
    weft_dataset **dataset, weft_context *context, const char *folder, const weft_image_options *options);
/* The number of files that were left out (option skip_unreadable). */
WEFT_API size_t weft_dataset_skipped(const weft_dataset *dataset);

/* Images in memory: pixels u8 (examples, channels, height, width), or (examples, height, width, channels) with
 * WEFT_CHANNELS_LAST, of 1 to 4 channels. labels: one per example, or NULL for a dataset without the column "label".
 * weft_dataset_from_images copies pixels and labels. */
typedef struct weft_image_block {
    size_t examples;
    int64_t channels, height, width;
    weft_image_layout layout;
    const unsigned char *pixels;
    const int32_t *labels;
} weft_image_block;
WEFT_API weft_status weft_dataset_from_images(weft_dataset **dataset, weft_context *context,
    const weft_image_block *images, const weft_image_options *options);

/* A dataset of the same images (shared, not copied) with other options, for example for validation without
 * augmentation after weft_dataset_split. */
WEFT_API weft_status weft_dataset_with_image_options(
    weft_dataset **dataset, const weft_dataset *images, const weft_image_options *options);

/* Loads one file as an example of a dataset with these options; data has exactly `bytes` bytes. Random transforms use
 * the seed 0. Errors: WEFT_ERROR_SHAPE (the result has another size), and those of the files of a dataset. */
WEFT_API weft_status weft_load_image(
    weft_context *context, const char *path, const weft_image_options *options, void *data, size_t bytes);

/* An f32 input of shape (batch, channels, height, width) that is stored as (batch, height, width, channels), so that a
 * column of WEFT_CHANNELS_LAST feeds it without a layout conversion. */
WEFT_API weft_tensor *weft_image_input(
    weft_graph *graph, const char *name, int64_t channels, int64_t height, int64_t width);

#ifdef __cplusplus
}
#endif
#endif
