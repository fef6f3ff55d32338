/* Transforms of images (contract in image_transform.h).
 *
 * Random numbers are Philox4x32-10 with the seed as key and the counter (example, low half of the epoch, high half,
 * transform · 2^16 + block), so that an example gets the same numbers on any thread and at any time. A random whole
 * number below n is floor(word · n / 2^32).
 *
 * The definitions are those of torchvision.transforms: RandomCrop, RandomResizedCrop (Szegedy et al., "Going
 * Deeper with Convolutions", 2015), CenterCrop, RandomHorizontalFlip, Resize. */
#include "train/image_transform.h"
#include "base/options.h"
#include "base/philox.h"
#include "graph/length.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MAX_SIDE = 1 << 16, ATTEMPTS = 10, MAX_PIXELS = 1 << 26 };

/* ---- the values ---- */

weft_transform weft_transform_resize(int64_t height, int64_t width) {
    return (weft_transform){.kind = WEFT_TRANSFORM_RESIZE, .height = height, .width = width};
}

weft_transform weft_transform_resize_shorter(int64_t size) {
    return (weft_transform){.kind = WEFT_TRANSFORM_RESIZE_SHORTER, .height = size, .width = size};
}

weft_transform weft_transform_centre_crop(int64_t height, int64_t width) {
    return (weft_transform){.kind = WEFT_TRANSFORM_CENTRE_CROP, .height = height, .width = width};
}

weft_transform weft_transform_random_crop(int64_t height, int64_t width, int64_t padding) {
    return (weft_transform){
        .kind = WEFT_TRANSFORM_RANDOM_CROP, .height = height, .width = width, .padding = padding};
}

weft_transform weft_transform_random_resized_crop(int64_t height, int64_t width) {
    return (weft_transform){.kind = WEFT_TRANSFORM_RANDOM_RESIZED_CROP,
        .height = height,
        .width = width,
        .least_area = 0.08,
        .most_area = 1,
        .least_ratio = 3.0 / 4,
        .most_ratio = 4.0 / 3};
}

weft_transform weft_transform_random_flip(double probability) {
    return (weft_transform){.kind = WEFT_TRANSFORM_RANDOM_FLIP, .probability = probability};
}

/* ---- checks ---- */

static const char *const names[] = {
    NULL, "resize", "resize_shorter", "centre_crop", "random_crop", "random_resized_crop", "random_flip"};

static weft_status check_transform(const weft_transform *t, size_t i) {
    if (t->kind < WEFT_TRANSFORM_RESIZE || t->kind > WEFT_TRANSFORM_RANDOM_FLIP)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: transform %zu is of kind %d (use the weft_transform_ functions)", i, (int)t->kind);
    const char *const name = names[t->kind];
    if (t->kind == WEFT_TRANSFORM_RANDOM_FLIP) {
        if (!(t->probability >= 0 && t->probability <= 1))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "images: transform %zu, %s: probability is %g, expected 0 to 1", i,
                name, t->probability);
        return WEFT_OK;
    }
    if (t->height < 1 || t->width < 1 || t->height > MAX_SIDE || t->width > MAX_SIDE)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: transform %zu, %s: the size is %" PRId64 " x %" PRId64 ", expected sides of 1 to %d", i,
            name, t->height, t->width, MAX_SIDE);
    if (t->padding < 0 || t->padding > MAX_SIDE)
        WI_FAIL(WEFT_ERROR_ARGUMENT, "images: transform %zu, %s: padding is %" PRId64 ", expected 0 to %d", i,
            name, t->padding, MAX_SIDE);
    WI_TRY(WI_CHECK_NUMBERS("images", {"least_ratio", t->least_ratio}, {"most_ratio", t->most_ratio}));
    if (t->kind == WEFT_TRANSFORM_RANDOM_RESIZED_CROP &&
        !(t->least_area > 0 && t->least_area <= t->most_area && t->most_area <= 1 && t->least_ratio > 0 &&
            t->least_ratio <= t->most_ratio && t->most_ratio < INFINITY))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: transform %zu, %s: the areas are %g to %g and the ratios %g to %g, expected areas from "
            "above 0 to 1 and ratios above 0, in ascending order",
            i, name, t->least_area, t->most_area, t->least_ratio, t->most_ratio);
    return WEFT_OK;
}

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
        .max_pixels = options->max_pixels ? options->max_pixels : MAX_PIXELS};
    for (size_t i = 0; i < options->transform_count; i++) {
        WI_TRY(check_transform(&options->transforms[i], i));
        pipeline->transforms[i] = options->transforms[i];
    }
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
        if (t->kind == WEFT_TRANSFORM_RANDOM_FLIP) continue;
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

static void draw(const wi_example *example, size_t transform, uint32_t block, uint32_t words[4]) {
    words[0] = (uint32_t)example->index;
    words[1] = (uint32_t)example->epoch;
    words[2] = (uint32_t)(example->epoch >> 32);
    words[3] = (uint32_t)transform << 16 | block;
    wi_philox(words, example->seed);
}

static int64_t below(uint32_t word, int64_t bound) {
    return (int64_t)((uint64_t)word * (uint64_t)bound >> 32);
}

static double between(uint32_t word, double low, double high) {
    return low + (high - low) * ((double)word * 0x1p-32);
}

/* Resizes into one of two blocks, the one that does not hold the pixels of the view. */
static weft_status resize(running *r, int64_t height, int64_t width) {
    const bool second = r->view.pixels == r->workspace->blocks[WI_BLOCK_RESIZED];
    const wi_resize_blocks blocks = {
        .target = WI_BLOCK_RESIZED + second, .rows = WI_BLOCK_ROWS, .weights = WI_BLOCK_WEIGHTS};
    if (height > MAX_SIDE || width > MAX_SIDE)
        WI_FAIL(WEFT_ERROR_SHAPE,
            "'%s' would be resized to %" PRId64 " x %" PRId64 " pixels, but a side may have at most %d",
            r->name, height, width, MAX_SIDE);
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
    const int64_t top = below(words[0], down + 1), left = below(words[1], right + 1);
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
        draw(r->example, transform, attempt, words);
        const double wanted = area * between(words[0], t->least_area, t->most_area);
        const double ratio = exp(between(words[1], log(t->least_ratio), log(t->most_ratio)));
        const double width = nearbyint(sqrt(wanted * ratio)), height = nearbyint(sqrt(wanted / ratio));
        if (!(width >= 1 && width <= (double)view->width && height >= 1 && height <= (double)view->height))
            continue;
        const int64_t top = below(words[2], view->height - (int64_t)height + 1);
        const int64_t left = below(words[3], view->width - (int64_t)width + 1);
        wi_view_crop(view, top, left, (int64_t)height, (int64_t)width);
        return;
    }
    crop_fallback(view, t);
}

static weft_status apply(running *r, size_t transform) {
    const weft_transform *const t = &r->pipeline->transforms[transform];
    uint32_t words[4];
    draw(r->example, transform, 0, words);
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
    case WEFT_TRANSFORM_RANDOM_FLIP:
        if ((double)words[0] * 0x1p-32 < t->probability) wi_view_flip(&r->view);
        return WEFT_OK;
    }
    return WEFT_OK;
}

/* ---- the result ---- */

/* RGB to grey with the factors 0.299, 0.587 and 0.114 in units of 2^-16, as in Pillow. */
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
            grey[y * width + x] =
                (unsigned char)((19595u * red[x] + 38470u * green[x] + 7471u * blue[x] + 32768u) >> 16);
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
