/* Transforms of images (contract in image_transform.h): the options of a pipeline, and the transforms that change the size
 * or the view. image_augment.c has the others, which change pixels.
 *
 * The definitions are those of torchvision.transforms: RandomCrop, RandomResizedCrop (Szegedy et al., "Going
 * Deeper with Convolutions", 2015), CenterCrop, RandomHorizontalFlip, Resize. */
#include "train/image_transform.h"
#include "base/options.h"
#include "graph/sizes.h"
#include "train/image_augment.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { ATTEMPTS = 10, MAX_PIXELS = 1 << 26, MAX_TARGETS = 1 << 24 };

/* ---- options ---- */

static weft_status check_options(const weft_image_options *options, int64_t channels) {
    if (options->transform_count > WEFT_MAX_TRANSFORMS || (options->transform_count && !options->transforms))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: transform_count is %zu, expected at most %d, and transforms must not be NULL",
            options->transform_count, WEFT_MAX_TRANSFORMS);
    if (options->layout != WEFT_CHANNELS_FIRST && options->layout != WEFT_CHANNELS_LAST)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "images: layout is %d, which is not a weft_image_layout",
            (int)options->layout);
    if (options->channels && options->channels != channels &&
        !((options->channels == 1 && channels == 3) || (options->channels == 3 && channels == 1)))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: the option channels is %d, but the images have %" PRId64
            "; only 3 channels can be converted to 1, and 1 to 3",
            options->channels, channels);
    if (options->targets < 0 || options->targets > MAX_TARGETS)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: targets is %" PRId64 ", expected a number of classes of at most %d, or 0",
            options->targets, MAX_TARGETS);
    return WEFT_OK;
}

static weft_status copy_transforms(wi_image_pipeline *pipeline, const weft_image_options *options) {
    for (size_t i = 0; i < options->transform_count; i++) {
        WI_TRY(wi_transform_check(&options->transforms[i], i));
        pipeline->transforms[i] = options->transforms[i];
        if (wi_transform_mixes(&options->transforms[i]) && options->targets == 0)
            WI_FAIL(WEFT_ERROR_ARGUMENT,
                "images: transform %zu mixes examples; set the option targets to the number of classes", i);
    }
    return WEFT_OK;
}

/* The mean or deviation of a channel. If only the first number is given, it applies to all channels, as in
 * torchvision. */
static float channel_number(const float numbers[WEFT_MAX_IMAGE_CHANNELS], int64_t channel) {
    bool is_alone = true;
    for (int64_t c = 1; c < WEFT_MAX_IMAGE_CHANNELS; c++) is_alone = is_alone && numbers[c] == 0.0f;
    const float number = numbers[is_alone ? 0 : channel];
    return number == (float)WEFT_ZERO ? 0.0f : number;
}

static weft_status set_channel(wi_image_pipeline *pipeline, int64_t channel, float mean, float deviation) {
    WI_TRY(WI_CHECK_NUMBERS("images", {"mean", (double)mean}, {"deviation", (double)deviation}));
    if (!isfinite(mean) || !isfinite(deviation) || deviation <= 0.0f)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: channel %" PRId64
            ": mean %g and deviation %g; expected finite numbers, deviations above 0",
            channel, (double)mean, (double)deviation);
    pipeline->mean[channel] = (double)mean;
    pipeline->deviation[channel] = pipeline->bytes ? 1 / 255.0 : (double)deviation;
    for (int i = 0; i < 256; i++) {
        const float scaled = (float)i / 255.0f;
        pipeline->tables[channel][i] = (scaled - mean) / deviation;
    }
    return WEFT_OK;
}

/* The arithmetic of torchvision's ToTensor and Normalize, computed once for each value of a byte. */
static weft_status set_channels(wi_image_pipeline *pipeline, const weft_image_options *options) {
    bool has_deviation = false, changes = false;
    for (int64_t c = 0; c < WEFT_MAX_IMAGE_CHANNELS; c++) {
        has_deviation = has_deviation || options->deviation[c] != 0.0f;
        changes = changes || has_deviation || options->mean[c] != 0.0f;
    }
    if (options->bytes && changes)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "images: the options mean and deviation need f32 images, not bytes");
    for (int64_t c = 0; c < pipeline->channels; c++)
        WI_TRY(set_channel(pipeline, c, channel_number(options->mean, c),
            has_deviation ? channel_number(options->deviation, c) : 1.0f));
    return WEFT_OK;
}

weft_status wi_pipeline_init(wi_image_pipeline *pipeline, const weft_image_options *given, int64_t channels) {
    weft_image_options own;
    const weft_image_options *const options = &own;
    WI_TRY(WI_OPTIONS(&own, given, "images", WEFT_IMAGE_OPTIONS_INIT));
    WI_TRY(check_options(options, channels));
    *pipeline = (wi_image_pipeline){.count = options->transform_count,
        .channels = options->channels ? options->channels : channels,
        .bytes = options->bytes,
        .channels_last = options->layout == WEFT_CHANNELS_LAST,
        .max_pixels = options->max_pixels ? options->max_pixels : MAX_PIXELS,
        .targets = options->targets,
        .exif_orientation = options->exif_orientation};
    WI_TRY(copy_transforms(pipeline, options));
    return set_channels(pipeline, options);
}

/* ---- sizes ---- */

/* Scales the size of an image so that its shorter side becomes `size`. */
static void shorter_size(int64_t *height, int64_t *width, int64_t size) {
    const int64_t shorter = *height < *width ? *height : *width, longer = *height < *width ? *width : *height;
    const int64_t other = size * longer / shorter;
    const bool tall = *height > *width;
    *height = tall ? other : size;
    *width = tall ? size : other;
}

void wi_pipeline_size(const wi_image_pipeline *pipeline, int64_t *height, int64_t *width, bool *any) {
    *any = false;
    for (size_t i = 0; i < pipeline->count; i++) {
        const weft_transform *const t = &pipeline->transforms[i];
        if (!wi_transform_sets_size(t)) continue;
        *any = t->kind != WEFT_TRANSFORM_RESIZE_SHORTER;
        if (!*any && *height > 0) shorter_size(height, width, t->height);
        if (*any) *height = t->height, *width = t->width;
    }
}

size_t wi_pipeline_bytes(const wi_image_pipeline *pipeline) {
    const size_t numbers = (size_t)pipeline->channels * (size_t)pipeline->height * (size_t)pipeline->width;
    return numbers * (pipeline->bytes ? 1 : sizeof(float));
}

weft_column wi_pipeline_column(const wi_image_pipeline *pipeline) {
    const int64_t c = pipeline->channels, h = pipeline->height, w = pipeline->width;
    weft_column column = {.name = "image", .dtype = pipeline->bytes ? WEFT_U8 : WEFT_F32, .rank = 3};
    const int64_t first[] = {c, h, w}, last[] = {h, w, c};
    memcpy(column.dims, pipeline->channels_last ? last : first, sizeof first);
    return column;
}

weft_encoding wi_pipeline_encoding(const wi_image_pipeline *pipeline) {
    return (weft_encoding){.kind = WI_PIXELS,
        .count = (size_t)pipeline->channels,
        .mean = pipeline->mean,
        .deviation = pipeline->deviation,
        .height = pipeline->height,
        .width = pipeline->width};
}

/* ---- the transforms ---- */

typedef struct running {
    const wi_image_pipeline *pipeline;
    const wi_example *example;
    const char *name;
    wi_workspace *workspace;
    wi_image_view view;
    int64_t channels;
} running;

/* One of two blocks, the one that does not hold the pixels of the view. */
static size_t free_block(const running *r) {
    return WI_BLOCK_RESIZED + (r->view.pixels == r->workspace->blocks[WI_BLOCK_RESIZED]);
}

static weft_status resize(running *r, int64_t height, int64_t width) {
    const wi_resize_blocks blocks = {
        .target = free_block(r), .rows = WI_BLOCK_ROWS, .weights = WI_BLOCK_WEIGHTS};
    if (height > WI_MAX_SIDE || width > WI_MAX_SIDE)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "'%s' would be resized to %" PRId64 " x %" PRId64 " pixels, but a side may have at most %d",
            r->name, height, width, WI_MAX_SIDE);
    return wi_view_resize(&r->view, r->channels, height, width, r->workspace, &blocks);
}

static weft_status random_crop(running *r, const weft_transform *t, const uint32_t words[4]) {
    const int64_t down = r->view.height + 2 * t->padding - t->height;
    const int64_t right = r->view.width + 2 * t->padding - t->width;
    if (down < 0 || right < 0)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "'%s' has %" PRId64 " x %" PRId64 " pixels, which with a padding of %" PRId64
            " is too small for a random_crop of %" PRId64 " x %" PRId64,
            r->name, r->view.height, r->view.width, t->padding, t->height, t->width);
    const int64_t top = wi_word_below(words[0], down + 1), left = wi_word_below(words[1], right + 1);
    wi_view_crop(&r->view, top - t->padding, left - t->padding, t->height, t->width);
    return WEFT_OK;
}

/* (all - part) / 2, where torchvision rounds half of an odd difference to the even number, as Python does. */
static int64_t middle(int64_t all, int64_t part) {
    const int64_t difference = all - part, half = difference / 2;
    return difference <= 0 || difference % 2 == 0 ? half : half + half % 2;
}

static void centre_crop(running *r, const weft_transform *t) {
    wi_view_crop(
        &r->view, middle(r->view.height, t->height), middle(r->view.width, t->width), t->height, t->width);
}

/* After all attempts failed: the largest crop in the middle of the image whose ratio is allowed. */
static void crop_fallback(wi_image_view *view, const weft_transform *t) {
    const double ratio = (double)view->width / (double)view->height;
    int64_t height = view->height, width = view->width;
    if (ratio < t->least_ratio) height = (int64_t)nearbyint((double)width / t->least_ratio);
    if (ratio > t->most_ratio) width = (int64_t)nearbyint((double)height * t->most_ratio);
    if (height < 1) height = 1;
    if (width < 1) width = 1;
    wi_view_crop(view, (view->height - height) / 2, (view->width - width) / 2, height, width);
}

static void random_resized_crop(running *r, const weft_transform *t, size_t transform) {
    wi_image_view *const view = &r->view;
    const double area = (double)view->height * (double)view->width;
    for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t words[4];
        double width, height;
        wi_example_draw(r->example, transform, attempt, words);
        wi_draw_rectangle(t, area, words, &width, &height);
        if (!(width >= 1 && width <= (double)view->width && height >= 1 && height <= (double)view->height))
            continue;
        const int64_t top = wi_word_below(words[2], view->height - (int64_t)height + 1);
        const int64_t left = wi_word_below(words[3], view->width - (int64_t)width + 1);
        wi_view_crop(view, top, left, (int64_t)height, (int64_t)width);
        return;
    }
    crop_fallback(view, t);
}

/* Copies the pixels of the view to memory of the pipeline, unless they are there already in the order of planes. */
static weft_status own_pixels(running *r, wi_planes *planes) {
    const wi_image_view *const view = &r->view;
    wi_workspace *const w = r->workspace;
    const int64_t height = view->height, width = view->width;
    const size_t bytes = (size_t)(r->channels * height * width), block = free_block(r);
    unsigned char *const copy = wi_workspace_take(w, block, bytes);
    if (!copy) return WEFT_ERROR_MEMORY;
    *planes = (wi_planes){.channels = r->channels, .height = height, .width = width};
    const size_t other = 2 * WI_BLOCK_RESIZED + 1 - block;
    if (wi_view_is_whole(view) && view->pixels == w->blocks[other]) {
        planes->pixels = w->blocks[other];
        planes->spare = copy;
        return WEFT_OK;
    }
    for (int64_t c = 0; c < r->channels; c++)
        for (int64_t y = 0; y < height; y++) wi_view_row(view, y, c, copy + (c * height + y) * width);
    r->view = wi_view_of(copy, r->channels, height, width, false);
    planes->pixels = copy;
    planes->spare =
        wi_workspace_take(w, other, bytes); /* the pixels that the view has read are not needed any more */
    return planes->spare ? WEFT_OK : WEFT_ERROR_MEMORY;
}

static weft_status augment(running *r, const weft_transform *t, size_t transform) {
    wi_planes planes;
    unsigned char fill[WEFT_MAX_IMAGE_CHANNELS];
    for (int c = 0; c < WEFT_MAX_IMAGE_CHANNELS; c++) {
        const double mean = nearbyint(255 * r->pipeline->mean[c]);
        fill[c] = (unsigned char)(t->fill >= 0 ? t->fill : mean < 0 ? 0 : mean > 255 ? 255 : mean);
    }
    WI_TRY(own_pixels(r, &planes));
    wi_planes_augment(&planes, t, transform, r->example, fill);
    r->view = wi_view_of(planes.pixels, planes.channels, planes.height, planes.width, false);
    return WEFT_OK;
}

static weft_status apply(running *r, size_t transform) {
    const weft_transform *const t = &r->pipeline->transforms[transform];
    uint32_t words[4];
    wi_example_draw(r->example, transform, 0, words);
    if (wi_transform_has_probability(t) && (double)words[0] * 0x1p-32 >= t->probability) return WEFT_OK;
    switch (t->kind) {
    case WEFT_TRANSFORM_RESIZE: return resize(r, t->height, t->width);
    case WEFT_TRANSFORM_RESIZE_SHORTER: {
        int64_t height = r->view.height, width = r->view.width;
        shorter_size(&height, &width, t->height);
        return resize(r, height, width);
    }
    case WEFT_TRANSFORM_CENTRE_CROP: centre_crop(r, t); return WEFT_OK;
    case WEFT_TRANSFORM_RANDOM_CROP: return random_crop(r, t, words);
    case WEFT_TRANSFORM_RANDOM_RESIZED_CROP:
        random_resized_crop(r, t, transform);
        return resize(r, t->height, t->width);
    case WEFT_TRANSFORM_RANDOM_FLIP: wi_view_flip(&r->view); return WEFT_OK;
    case WEFT_TRANSFORM_RANDOM_VERTICAL_FLIP: wi_view_turn(&r->view); return WEFT_OK;
    case WEFT_TRANSFORM_MIXUP:
    case WEFT_TRANSFORM_CUTMIX: return WEFT_OK; /* of whole batches: image_mix.c */
    default: return augment(r, t, transform);
    }
}

/* ---- the result ---- */

static weft_status make_grey(running *r) {
    wi_image_view *const view = &r->view;
    const int64_t height = view->height, width = view->width;
    unsigned char *const grey =
        wi_workspace_take(r->workspace, WI_BLOCK_GREY, (size_t)(height + 3) * (size_t)width);
    if (!grey) return WEFT_ERROR_MEMORY;
    unsigned char *const red = grey + height * width, *const green = red + width, *const blue = green + width;
    for (int64_t y = 0; y < height; y++) {
        wi_view_row(view, y, 0, red);
        wi_view_row(view, y, 1, green);
        wi_view_row(view, y, 2, blue);
        for (int64_t x = 0; x < width; x++)
            grey[y * width + x] = (unsigned char)wi_luma(red[x], green[x], blue[x]);
    }
    *view = wi_view_of(grey, 1, height, width, false);
    r->channels = 1;
    return WEFT_OK;
}

/* Writes the result row by row; f32 numbers come from the table of each channel. */
static weft_status write_result(running *r, void *target) {
    const wi_image_pipeline *const p = r->pipeline;
    const int64_t height = p->height, width = p->width, channels = p->channels;
    const int64_t step = p->channels_last ? channels : 1;
    unsigned char *const row = wi_workspace_take(r->workspace, WI_BLOCK_ROWS, (size_t)width);
    if (!row) return WEFT_ERROR_MEMORY;
    for (int64_t c = 0; c < channels; c++) {
        const float *const table = p->tables[c];
        for (int64_t y = 0; y < height; y++) {
            const int64_t at = p->channels_last ? y * width * channels + c : (c * height + y) * width;
            wi_view_row(&r->view, y, c, row);
            if (p->bytes)
                for (int64_t x = 0; x < width; x++) ((unsigned char *)target + at)[x * step] = row[x];
            else
                for (int64_t x = 0; x < width; x++) ((float *)target + at)[x * step] = table[row[x]];
        }
    }
    return WEFT_OK;
}

weft_status wi_pipeline_run(const wi_image_pipeline *pipeline, wi_image_view view, int64_t channels,
    const char *name, const wi_example *example, wi_workspace *workspace, void *target) {
    running r = {.pipeline = pipeline,
        .example = example,
        .name = name,
        .workspace = workspace,
        .view = view,
        .channels = channels};
    if (pipeline->channels == 1 && channels == 3) WI_TRY(make_grey(&r));
    for (size_t i = 0; i < pipeline->count; i++) WI_TRY(apply(&r, i));
    if (r.channels < pipeline->channels) r.view.channel = 0; /* all channels read the grey one */
    if (r.view.height != pipeline->height || r.view.width != pipeline->width)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "'%s' gives %" PRId64 " x %" PRId64 " pixels, but the dataset's images are %" PRId64 " x %" PRId64
            "; resize or crop all images to one size",
            name, r.view.height, r.view.width, pipeline->height, pipeline->width);
    return write_result(&r, target);
}
