/* weft/image_data.h: datasets of images, decoded and augmented by the loader's threads. */
#ifndef WEFT_IMAGE_DATA_H
#define WEFT_IMAGE_DATA_H

#include <weft/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- transforms: small values, done one after the other on 8-bit pixels ----
 * What is random depends on the loader's seed, the epoch, the example and the transform's place in the list
 * alone: the same on every machine, and however many threads there are. Sizes are height, width; the
 * definitions are torchvision's. */
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
    double probability;             /* random flip: 0..1 */
    double least_area, most_area;   /* random resized crop: share of the image; default 0.08, 1 */
    double least_ratio, most_ratio; /* random resized crop: width / height; default 3/4, 4/3 */
} weft_transform;

/* Bilinear; where it makes smaller each result is the weighted mean of all pixels under it (antialias). */
WEFT_API weft_transform weft_transform_resize(int64_t height, int64_t width);
/* The shorter side becomes size, the other floor(size · longer / shorter). */
WEFT_API weft_transform weft_transform_resize_shorter(int64_t size);
/* The middle; what lies outside of a smaller image is black. */
WEFT_API weft_transform weft_transform_centre_crop(int64_t height, int64_t width);
/* A window anywhere in the image with `padding` black pixels on each side; one that is larger is an error. */
WEFT_API weft_transform weft_transform_random_crop(int64_t height, int64_t width, int64_t padding);
/* A window of a random share of the image and a random ratio, resized: Inception's augmentation. */
WEFT_API weft_transform weft_transform_random_resized_crop(int64_t height, int64_t width);
/* Left becomes right, this often. */
WEFT_API weft_transform weft_transform_random_flip(double probability);

/* ---- options of all datasets of images ---- */
typedef enum weft_image_layout {
    WEFT_CHANNELS_FIRST, /* an example is (C, H, W) */
    WEFT_CHANNELS_LAST   /* (H, W, C): as ops of images have it in memory; see weft_image_input */
} weft_image_layout;

#define WEFT_MAX_TRANSFORMS     16
#define WEFT_MAX_IMAGE_CHANNELS 4

typedef struct weft_image_options {
    size_t struct_size;
    const weft_transform *transforms; /* copied; default none */
    size_t transform_count;           /* at most WEFT_MAX_TRANSFORMS */
    weft_image_layout layout;         /* of the column; default channels first */
    int channels; /* 3: RGB; 1: grey, 0.299 R + 0.587 G + 0.114 B; default: as the data are, files 3 */
    /* The column is f32, (pixel / 255 - mean) / deviation for each channel. */
    float mean[WEFT_MAX_IMAGE_CHANNELS];      /* default 0 */
    float deviation[WEFT_MAX_IMAGE_CHANNELS]; /* default, where all are 0: 1 */
    bool bytes;           /* default false; true: the column is u8, 0..255, a quarter of the bytes to move */
    uint64_t max_pixels;  /* of a file: larger images are refused before memory is taken; default 2^26 */
    bool skip_unreadable; /* of a folder: every file is decoded once as it is opened, and those that cannot be
                             are left out, with a line in the log, and counted; default: an error as they are
                             loaded */
} weft_image_options;
#define WEFT_IMAGE_OPTIONS_INIT .struct_size = sizeof(weft_image_options)

/* ---- datasets: column 0 is "image", made as batches are loaded (its data is NULL) ----
 * Options NULL: every default. The result's size comes from the transforms, or is the first image's; an image
 * that becomes another size is an error as it is loaded. Retained and released as all datasets. */

/* The binary files of CIFAR (cs.toronto.edu/~kriz/cifar.html) in a folder: data_batch_1.bin to
 * data_batch_5.bin, test_batch.bin; train.bin, test.bin. 3 × 32 × 32 pixels a byte each, in host memory.
 * Columns: "image", "label" i32; of CIFAR-100 also "coarse_label". Categories: the names in batches.meta.txt;
 * fine_label_names.txt, coarse_label_names.txt; none where that file is missing. Errors: WEFT_ERROR_FILE;
 * WEFT_ERROR_FORMAT for a file of another length, a label out of range. */
typedef enum weft_cifar {
    WEFT_CIFAR_10_TRAIN = 1,
    WEFT_CIFAR_10_TEST,
    WEFT_CIFAR_100_TRAIN,
    WEFT_CIFAR_100_TEST
} weft_cifar;
WEFT_API weft_status weft_dataset_open_cifar(weft_dataset **dataset, weft_context *context,
    const char *folder, weft_cifar which, const weft_image_options *options);

/* A folder with one folder a class, and PNG and JPEG files (.png, .jpg, .jpeg) anywhere in those; other files
 * are left alone, and so are folders whose names begin with a dot. Classes are the folders' names, sorted by
 * their bytes; files are sorted, too: examples are in the order of torchvision's ImageFolder. Only names are
 * read now, files as they are loaded. Columns: "image", "label" i32 with the classes as categories. Errors:
 * WEFT_ERROR_FILE for what cannot be read, no class, a class without images, a link to a folder above it;
 * WEFT_ERROR_UNSUPPORTED for a format that the library was built without. */
WEFT_API weft_status weft_dataset_open_image_folder(
    weft_dataset **dataset, weft_context *context, const char *folder, const weft_image_options *options);
/* How many files were left out (option skip_unreadable). */
WEFT_API size_t weft_dataset_skipped(const weft_dataset *dataset);

/* From memory: pixels u8 (examples, channels, height, width), or (examples, height, width, channels) with
 * WEFT_CHANNELS_LAST, of 1 to 4 channels; copied. labels: one each, or NULL: no column "label". */
typedef struct weft_image_block {
    size_t examples;
    int64_t channels, height, width;
    weft_image_layout layout;
    const unsigned char *pixels;
    const int32_t *labels;
} weft_image_block;
WEFT_API weft_status weft_dataset_from_images(weft_dataset **dataset, weft_context *context,
    const weft_image_block *images, const weft_image_options *options);

/* The same images (shared, not copied) with other options: validation without augmentation, after
 * weft_dataset_split. */
WEFT_API weft_status weft_dataset_with_image_options(
    weft_dataset **dataset, const weft_dataset *images, const weft_image_options *options);

/* One file, as an example of such a dataset: data has room for exactly `bytes`. Random transforms are drawn
 * as for seed 0. Errors: WEFT_ERROR_SHAPE when the result has another size; what a dataset's files may have.
 */
WEFT_API weft_status weft_load_image(
    weft_context *context, const char *path, const weft_image_options *options, void *data, size_t bytes);

/* An f32 input of shape (N, channels, height, width) whose memory is (N, height, width, channels): what a
 * column of WEFT_CHANNELS_LAST feeds without any transposition. */
WEFT_API weft_tensor *weft_image_input(
    weft_graph *graph, const char *name, int64_t channels, int64_t height, int64_t width);

#ifdef __cplusplus
}
#endif
#endif
