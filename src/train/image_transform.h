/* The pipeline that turns an image into an example: transforms, conversion of channels, normalisation. */
#ifndef WI_IMAGE_TRANSFORM_H
#define WI_IMAGE_TRANSFORM_H

#include "train/image_view.h"
#include <weft/image_data.h>

/* Blocks of the workspace. Successive transforms that resize or change pixels write WI_BLOCK_RESIZED and the block after
 * it in turn. */
enum { WI_BLOCK_PICTURE, WI_BLOCK_GREY, WI_BLOCK_RESIZED, WI_BLOCK_WEIGHTS = 4, WI_BLOCK_ROWS };

typedef struct wi_image_pipeline {
    weft_transform transforms[WEFT_MAX_TRANSFORMS];
    size_t count;
    int64_t channels, height, width; /* of a result; height 0: not known yet */
    bool bytes, channels_last;
    int64_t targets; /* number of classes of the column "target"; 0: there is no such column */
    bool exif_orientation;
    uint64_t max_pixels;
    double mean[WEFT_MAX_IMAGE_CHANNELS], deviation[WEFT_MAX_IMAGE_CHANNELS];
    float tables[WEFT_MAX_IMAGE_CHANNELS][256]; /* the f32 result for each value of a byte */
} wi_image_pipeline;

/* The largest side of a result, and of an image that a transform makes. */
enum { WI_MAX_SIDE = 1 << 16 };

/* Checks the fields of transform i of a list. Error: WEFT_ERROR_ARGUMENT. */
weft_status wi_transform_check(const weft_transform *transform, size_t i);
bool wi_transform_sets_size(const weft_transform *transform);       /* of the result */
bool wi_transform_has_probability(const weft_transform *transform); /* otherwise it is always applied */
bool wi_transform_mixes(const weft_transform *transform);           /* the examples of a batch */

/* Checks and copies the options (NULL: all defaults) for images of `channels` channels. Error: WEFT_ERROR_ARGUMENT. */
weft_status wi_pipeline_init(
    wi_image_pipeline *pipeline, const weft_image_options *options, int64_t channels);
/* Replaces the size of an image by the size of the result that the pipeline makes of it. *any: images of any size give
 * a result of this size. A height of 0 means that the size is not known. */
void wi_pipeline_size(const wi_image_pipeline *pipeline, int64_t *height, int64_t *width, bool *any);
size_t wi_pipeline_bytes(const wi_image_pipeline *pipeline); /* of a result */
/* The column of a dataset that has the results. */
weft_column wi_pipeline_column(const wi_image_pipeline *pipeline);
/* How the results are normalised. The encoding points to the means and deviations of the pipeline. */
weft_encoding wi_pipeline_encoding(const wi_image_pipeline *pipeline);
/* Transforms an image of `channels` channels with the random numbers of the example, and writes the result to target.
 * name: of the image, for errors. WEFT_ERROR_SHAPE: an image that is too small, or a result of another size. */
weft_status wi_pipeline_run(const wi_image_pipeline *pipeline, wi_image_view view, int64_t channels,
    const char *name, const wi_example *example, wi_workspace *workspace, void *target);

#endif
