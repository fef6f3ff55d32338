/* Images as the source of a dataset: a store with the pixels, records of files with pixels, or the names of image files; and
 * datasets of its images. */
#ifndef WI_IMAGE_SOURCE_H
#define WI_IMAGE_SOURCE_H

#include "io/records.h"
#include "train/image_transform.h"

typedef struct wi_image_file {
    const char *directory, *name; /* in the store's arena; the path is directory/name */
    int32_t label;
} wi_image_file;

/* The images: one block of memory, records, or files. Reference-counted, and not changed once a dataset has it. */
typedef struct wi_image_store {
    atomic_int references;
    const weft_allocator *allocator;
    size_t count;
    unsigned char *pixels; /* of `count` images of the same size; NULL: the images are records or files */
    wi_records *records; /* files of records, in the store's arena, of images of the same size; NULL: none */
    size_t record_files;
    size_t labels_first; /* bytes of a record before the pixels */
    /* Bytes of the columns whose data follow the pixels in a record, in the store's arena; the source makes them. */
    size_t *others;
    size_t other_count;
    int64_t channels, height, width;
    bool interleaved;
    wi_arena arena;
    wi_image_file *files;
    size_t capacity; /* of files */
} wi_image_store;

size_t wi_image_store_pixels(const wi_image_store *store); /* bytes of an image that is not a file */

weft_status wi_image_store_create(wi_image_store **store, const weft_allocator *allocator);
void wi_image_store_release(wi_image_store *store); /* NULL is allowed */
/* Decodes a file of the store into block WI_BLOCK_PICTURE of the workspace, as RGB. The view is turned as the EXIF
 * orientation says, if the pipeline has this option. Errors: those of wi_picture_read. */
weft_status wi_image_store_read(const wi_image_store *store, size_t index, const wi_image_pipeline *pipeline,
    wi_workspace *workspace, wi_image_view *view);

/* Creates a dataset of the store's images, and retains the store. After the column "image" come `count` other columns,
 * which the caller fills unless the store's records have them. options NULL: all defaults. */
weft_status wi_image_dataset_create(weft_dataset **dataset, weft_context *context, wi_image_store *store,
    const weft_image_options *options, const weft_column *others, size_t count);
/* Whether the examples of column 0 are images of the order (height, width, channels). */
bool wi_image_dataset_is_last(const weft_dataset *dataset);

#endif
