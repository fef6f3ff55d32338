/* Images as the source of a dataset: a store with the pixels or the names of files, and datasets of its images. */
#ifndef WI_IMAGE_SOURCE_H
#define WI_IMAGE_SOURCE_H

#include "train/image_transform.h"

typedef struct wi_image_file {
    const char *directory, *name; /* in the store's arena; the path is directory/name */
    int32_t label;
} wi_image_file;

/* The images: one block of memory, or files. Reference-counted, and not changed once a dataset has it. */
typedef struct wi_image_store {
    atomic_int references;
    const weft_allocator *allocator;
    size_t count;
    unsigned char *pixels; /* of `count` images of the same size; NULL: the images are files */
    int64_t channels, height, width;
    bool interleaved;
    wi_arena arena;
    wi_image_file *files;
    size_t capacity; /* of files */
} wi_image_store;

weft_status wi_image_store_create(wi_image_store **store, const weft_allocator *allocator);
void wi_image_store_release(wi_image_store *store); /* NULL is allowed */
/* Decodes a file of the store into block WI_BLOCK_PICTURE of the workspace, as RGB. The view is turned as the EXIF
 * orientation says, if the pipeline has this option. Errors: those of wi_picture_read. */
weft_status wi_image_store_read(const wi_image_store *store, size_t index, const wi_image_pipeline *pipeline,
    wi_workspace *workspace, wi_image_view *view);

/* Creates a dataset of the store's images, and retains the store. After the column "image" come label_count i32 columns
 * of the names `labels`, which the caller fills. options NULL: all defaults. */
weft_status wi_image_dataset_create(weft_dataset **dataset, weft_context *context, wi_image_store *store,
    const weft_image_options *options, const char *const *labels, size_t label_count);

#endif
