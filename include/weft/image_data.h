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
    WEFT_TRANSFORM_RANDOM_FLIP,
    WEFT_TRANSFORM_RANDOM_VERTICAL_FLIP,
    WEFT_TRANSFORM_RANDOM_GREY,
    WEFT_TRANSFORM_RANDOM_ROTATION,
    WEFT_TRANSFORM_COLOUR_JITTER,
    WEFT_TRANSFORM_RANDOM_ERASING,
    WEFT_TRANSFORM_RAND_AUGMENT,
    WEFT_TRANSFORM_MIXUP,
    WEFT_TRANSFORM_CUTMIX
} weft_transform_kind;

/* Made by the weft_transform_ functions, whose comments give the numbers that they set. A program may change the fields
 * of a transform before it lists the transform in options. */
typedef struct weft_transform {
    weft_transform_kind kind;
    int64_t height, width;          /* of the result */
    int64_t padding;                /* random crop: black pixels on each side */
    double probability;             /* flips, grey, erasing: in [0, 1] */
    double least_area, most_area;   /* random resized crop, erasing: fractions of the image */
    double least_ratio, most_ratio; /* random resized crop: width / height; erasing: height / width */
    /* Rotation, RandAugment, erasing: the value of pixels without a source, 0 to 255, or WEFT_FILL_MEAN. */
    double fill;
    double least, most;                      /* rotation: degrees, -360 to 360 */
    double brightness, contrast, saturation; /* colour jitter: how much, 0 to 100 */
    double hue;                              /* colour jitter: 0 to 0.5, in turns */
    int64_t operations, magnitude;           /* RandAugment: 0 to 14 operations of magnitude 0 to 30 */
    double alpha;                            /* mixup, cutmix: 0.001 to 1000 */
} weft_transform;
/* The pixels nearest to the option `mean`, which are about 0 after normalisation. */
#define WEFT_FILL_MEAN (-1)

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
/* Exchanges left and right, or top and bottom, with this probability. */
WEFT_API weft_transform weft_transform_random_flip(double probability);
WEFT_API weft_transform weft_transform_random_vertical_flip(double probability);

/* ---- transforms of colours and shapes ----
 * The definitions are those of torchvision for PIL images, or where it has none (erasing, mixtures) for tensors. Hue is
 * not rounded to 8 bits in between, as PIL does. What needs red, green and blue (grey, saturation, hue) leaves images
 * without exactly three channels as they are. Random factors are multiples of 2^-16. */
/* With this probability, all three channels become 0.299 R + 0.587 G + 0.114 B. */
WEFT_API weft_transform weft_transform_random_grey(double probability);
/* Rotates by an angle of -degrees to degrees about the centre, counter-clockwise, with bilinear interpolation. fill: 0,
 * black. */
WEFT_API weft_transform weft_transform_random_rotation(double degrees);
/* Changes brightness, contrast, saturation and hue in random order. The first three are multiplied by a factor of
 * max(0, 1 - x) to 1 + x; the hue is turned by -hue to hue. 0: is not changed. */
WEFT_API weft_transform weft_transform_colour_jitter(
    double brightness, double contrast, double saturation, double hue);
/* Fills a random rectangle with this probability. least_area 0.02, most_area 0.33, least_ratio 0.3, most_ratio 3.3;
 * fill: WEFT_FILL_MEAN, as torchvision erases after normalisation, with 0. */
WEFT_API weft_transform weft_transform_random_erasing(double probability);
/* RandAugment (Cubuk et al. 2019): this number of operations, each drawn from 14, with magnitudes of 31 bins;
 * torchvision's default is 2 operations of magnitude 9. Interpolation is bilinear. fill: 0, black. */
WEFT_API weft_transform weft_transform_rand_augment(int64_t operations, int64_t magnitude);

/* ---- mixtures of the examples of a batch, after all other transforms ----
 * A weight w is drawn from Beta(alpha, alpha) for each batch. Each example is mixed with the one before it in the batch,
 * and the first with the last. The targets are mixed with the same weights (option `targets`, which a mixture needs),
 * and the label becomes that of the greater part. Of several mixtures in a list, each batch gets one at random. The
 * batch, and not the example, determines the random numbers. A trainer with gradient shards mixes the examples of each
 * shard with one another. weft_load_image mixes nothing. */
/* w · example + (1 - w) · the example before it (Zhang et al. 2017). */
WEFT_API weft_transform weft_transform_mixup(double alpha);
/* Copies a rectangle of about 1 - w of the image from the example before it (Yun et al. 2019); the weight of the targets
 * is that of the rectangle. */
WEFT_API weft_transform weft_transform_cutmix(double alpha);

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
    /* Default 0. A number of classes: the dataset has another last column, "target", f32 (targets), which is 1 for the
     * label and 0 for other classes, and mixed by mixup and cutmix. It suits weft_cross_entropy(logits,
     * weft_input(graph, "target", WEFT_F32, targets)); the column "label" stays, for the accuracy. A dataset for
     * validation needs the option, too. A label that is not in 0..targets-1 is an error when it is loaded. */
    int64_t targets;
    /* Default false: pixels are in the order of the file, as in torchvision's ImageFolder. true: the image is turned
     * and mirrored as the EXIF orientation of a JPEG file says; EXIF data that cannot be understood are ignored. */
    bool exif_orientation;
} weft_image_options;
#define WEFT_IMAGE_OPTIONS_INIT .struct_size = sizeof(weft_image_options)

/* ---- datasets: column 0 is "image"; its data is NULL, as images are decoded when batches are loaded ----
 * options NULL means all defaults. The transforms determine the size of an example; if they leave the size open, it is
 * that of the first image, and an image with another size is an error when it is loaded. */

/* A dataset from a folder with the binary files of CIFAR (cs.toronto.edu/~kriz/cifar.html): data_batch_1.bin to
 * data_batch_5.bin and test_batch.bin, or train.bin and test.bin. The images have 3 × 32 × 32 bytes, and are kept in
 * host memory (at most weft_context_options.data_limit bytes; otherwise they stay in the files). Columns: "image",
 * "label" i32; for CIFAR-100 also "coarse_label". Categories: the names in batches.meta.txt, or in fine_label_names.txt
 * and coarse_label_names.txt; none if this file is missing. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a file of the
 * wrong length, or a label out of range). */
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
/* Writes the path of an example's file to buffer, as weft_plan_describe writes a description, for a dataset of
 * weft_dataset_open_image_folder and those made from it. WEFT_ERROR_ARGUMENT: any other dataset, or no such example. */
WEFT_API weft_status weft_dataset_file(
    const weft_dataset *dataset, size_t example, char *buffer, size_t capacity, size_t *length);

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

/* ---- files of records: the examples one after the other, each with a checksum ---- */
typedef struct weft_records_options {
    size_t struct_size;
    /* For a file whose first column is u8 pixels of images (C, H, W) or (H, W, C): they become the column "image" of a
     * dataset of images with these options. Default NULL: all columns are as in the file. */
    const weft_image_options *images;
    /* Default false: a record whose checksum is wrong is an error when it is loaded, and a truncated file is an error when it
     * is opened. true: the file is read once when it is opened; damaged and missing records are left out, counted
     * (weft_dataset_skipped) and logged. */
    bool skip_damaged;
} weft_records_options;
#define WEFT_RECORDS_OPTIONS_INIT .struct_size = sizeof(weft_records_options)

/* Saves the examples of a dataset, in their order, as a file of records, which is written completely or not at all. `weft
 * pack` does so from the command line. Save images with the option `bytes`, and without random transforms, so that they
 * take one byte for each number and can be augmented later. Errors: WEFT_ERROR_FILE, those of loading an example, and
 * WEFT_ERROR_UNSUPPORTED (names of columns and categories of more than 16 MB). */
WEFT_API weft_status weft_dataset_save_records(weft_dataset *dataset, const char *path);
/* A dataset from a file of records, which stay in the file: the threads of a loader read each record when they need it,
 * and host memory does not depend on the size of the file. Labels are checked when they are loaded. options NULL means
 * all defaults. Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT (a damaged header; a truncated file: the line names the
 * first missing record and its offset); those of images. */
WEFT_API weft_status weft_dataset_open_records(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_records_options *options);

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
