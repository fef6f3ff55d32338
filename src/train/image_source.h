/* Images as the source of a dataset: where the pixels come from, and what becomes of them. */
#ifndef WI_IMAGE_SOURCE_H
#define WI_IMAGE_SOURCE_H

#include "train/image_transform.h"

typedef struct wi_image_file {
    const char *directory, *name; /* in the store's arena; the path is directory/name */
    int32_t label;
} wi_image_file;

/* Where the pixels are: one block of memory, or files. Not changed once a dataset has it; counted. */
typedef struct wi_image_store {
    atomic_int references;
    const weft_allocator *allocator;
    size_t count;
    unsigned char *pixels; /* of images of one size; NULL: files */
    int64_t channels, height, width;
    bool interleaved;
    wi_arena arena;
    wi_image_file *files;
    size_t capacity; /* of files */
} wi_image_store;

weft_status wi_image_store_create(wi_image_store **store, const weft_allocator *allocator);
void wi_image_store_release(wi_image_store *store); /* NULL is fine */
/* Reads and decodes a file of the store into block 0 of the workspace; *height and *width are its size. */
weft_status wi_image_store_read(const wi_image_store *store, size_t index, uint64_t max_pixels,
    wi_workspace *workspace, int64_t *height, int64_t *width);

/* A dataset of the store's images (which it retains), with `labels` more columns of i32 numbers, to be filled
 * by the caller. options NULL: every default. */
weft_status wi_image_dataset_create(weft_dataset **dataset, weft_context *context, wi_image_store *store,
    const weft_image_options *options, const char *const *labels, size_t label_count);

#endif
