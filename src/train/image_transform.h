/* What becomes of an image on its way into a batch: transforms, conversion of channels, normalisation. */
#ifndef WI_IMAGE_TRANSFORM_H
#define WI_IMAGE_TRANSFORM_H

#include "train/image_view.h"
#include <weft/image_data.h>

/* The workspace's blocks. A transform that resizes goes from one of two to the other. */
enum { WI_BLOCK_PICTURE, WI_BLOCK_GREY, WI_BLOCK_RESIZED, WI_BLOCK_WEIGHTS = 4, WI_BLOCK_ROWS };

typedef struct wi_image_pipeline {
    weft_transform transforms[WEFT_MAX_TRANSFORMS];
    size_t count;
    int64_t channels, height, width; /* of the result; height 0: not known yet */
    bool bytes, channels_last;
    uint64_t max_pixels;
    double mean[WEFT_MAX_IMAGE_CHANNELS], deviation[WEFT_MAX_IMAGE_CHANNELS];
    float tables[WEFT_MAX_IMAGE_CHANNELS][256]; /* the result for each byte */
} wi_image_pipeline;

/* Checks and copies the options (NULL: every default) for images of that many channels. */
weft_status wi_pipeline_init(
    wi_image_pipeline *pipeline, const weft_image_options *options, int64_t channels);
/* The result's size for an image of this size; *any: it is that for every size. The height may be 0. */
void wi_pipeline_size(const wi_image_pipeline *pipeline, int64_t *height, int64_t *width, bool *any);
size_t wi_pipeline_bytes(const wi_image_pipeline *pipeline); /* of a result */
/* The column of the results. */
weft_column wi_pipeline_column(const wi_image_pipeline *pipeline);
/* How they are normalised; it uses the pipeline's numbers. */
weft_encoding wi_pipeline_encoding(const wi_image_pipeline *pipeline);
/* Draws the transforms for an example of `channels` channels, and writes the result. name: in errors. */
weft_status wi_pipeline_run(const wi_image_pipeline *pipeline, wi_image_view view, int64_t channels,
    const char *name, const wi_example *example, wi_workspace *workspace, void *target);

#endif
