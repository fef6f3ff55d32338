/* The values of transforms, and the checks of their fields (contracts in weft/image_data.h and image_transform.h). */
#include "graph/sizes.h"
#include "train/image_transform.h"
#include <math.h>
#include <stddef.h>

/* ---- the values ---- */

static weft_transform sized(weft_transform_kind kind, int64_t height, int64_t width) {
    return (weft_transform){.kind = kind, .height = height, .width = width};
}

static weft_transform likely(weft_transform_kind kind, double probability) {
    return (weft_transform){.kind = kind, .probability = probability};
}

weft_transform weft_transform_resize(int64_t height, int64_t width) {
    return sized(WEFT_TRANSFORM_RESIZE, height, width);
}

weft_transform weft_transform_resize_shorter(int64_t size) {
    return sized(WEFT_TRANSFORM_RESIZE_SHORTER, size, size);
}

weft_transform weft_transform_centre_crop(int64_t height, int64_t width) {
    return sized(WEFT_TRANSFORM_CENTRE_CROP, height, width);
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
    return likely(WEFT_TRANSFORM_RANDOM_FLIP, probability);
}

weft_transform weft_transform_random_vertical_flip(double probability) {
    return likely(WEFT_TRANSFORM_RANDOM_VERTICAL_FLIP, probability);
}

weft_transform weft_transform_random_grey(double probability) {
    return likely(WEFT_TRANSFORM_RANDOM_GREY, probability);
}

weft_transform weft_transform_random_rotation(double degrees) {
    return (weft_transform){.kind = WEFT_TRANSFORM_RANDOM_ROTATION, .least = -degrees, .most = degrees};
}

weft_transform weft_transform_colour_jitter(
    double brightness, double contrast, double saturation, double hue) {
    return (weft_transform){.kind = WEFT_TRANSFORM_COLOUR_JITTER,
        .brightness = brightness,
        .contrast = contrast,
        .saturation = saturation,
        .hue = hue};
}

weft_transform weft_transform_random_erasing(double probability) {
    return (weft_transform){.kind = WEFT_TRANSFORM_RANDOM_ERASING,
        .probability = probability,
        .least_area = 0.02,
        .most_area = 0.33,
        .least_ratio = 0.3,
        .most_ratio = 3.3,
        .fill = WEFT_FILL_MEAN};
}

weft_transform weft_transform_rand_augment(int64_t operations, int64_t magnitude) {
    return (weft_transform){
        .kind = WEFT_TRANSFORM_RAND_AUGMENT, .operations = operations, .magnitude = magnitude};
}

weft_transform weft_transform_mixup(double alpha) {
    return (weft_transform){.kind = WEFT_TRANSFORM_MIXUP, .alpha = alpha};
}

weft_transform weft_transform_cutmix(double alpha) {
    return (weft_transform){.kind = WEFT_TRANSFORM_CUTMIX, .alpha = alpha};
}

/* ---- checks ---- */

enum { SIZE = 1, PROBABILITY = 2, AREA = 4, FILL = 8, ANGLE = 16, JITTER = 32, OPERATIONS = 64, ALPHA = 128 };

/* The fields that a transform has. */
static const struct {
    char name[21];
    unsigned char fields;
} kinds[] = {
    [WEFT_TRANSFORM_RESIZE] = {"resize", SIZE},
    [WEFT_TRANSFORM_RESIZE_SHORTER] = {"resize_shorter", SIZE},
    [WEFT_TRANSFORM_CENTRE_CROP] = {"centre_crop", SIZE},
    [WEFT_TRANSFORM_RANDOM_CROP] = {"random_crop", SIZE},
    [WEFT_TRANSFORM_RANDOM_RESIZED_CROP] = {"random_resized_crop", SIZE | AREA},
    [WEFT_TRANSFORM_RANDOM_FLIP] = {"random_flip", PROBABILITY},
    [WEFT_TRANSFORM_RANDOM_VERTICAL_FLIP] = {"random_vertical_flip", PROBABILITY},
    [WEFT_TRANSFORM_RANDOM_GREY] = {"random_grey", PROBABILITY},
    [WEFT_TRANSFORM_RANDOM_ROTATION] = {"random_rotation", ANGLE | FILL},
    [WEFT_TRANSFORM_COLOUR_JITTER] = {"colour_jitter", JITTER},
    [WEFT_TRANSFORM_RANDOM_ERASING] = {"random_erasing", PROBABILITY | AREA | FILL},
    [WEFT_TRANSFORM_RAND_AUGMENT] = {"rand_augment", OPERATIONS | FILL},
    [WEFT_TRANSFORM_MIXUP] = {"mixup", ALPHA},
    [WEFT_TRANSFORM_CUTMIX] = {"cutmix", ALPHA},
};

bool wi_transform_sets_size(const weft_transform *t) {
    return kinds[t->kind].fields & SIZE;
}

bool wi_transform_has_probability(const weft_transform *t) {
    return kinds[t->kind].fields & PROBABILITY;
}

bool wi_transform_mixes(const weft_transform *t) {
    return kinds[t->kind].fields & ALPHA;
}

static weft_status check_area(const weft_transform *t, size_t i) {
    WI_TRY(WI_CHECK_NUMBERS("images", {"least_ratio", t->least_ratio}, {"most_ratio", t->most_ratio}));
    if (!(t->least_area > 0 && t->least_area <= t->most_area && t->most_area <= 1 && t->least_ratio > 0 &&
            t->least_ratio <= t->most_ratio && t->most_ratio < INFINITY))
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: transform %zu, %s: the areas are %g to %g and the ratios %g to %g, expected areas from "
            "above 0 to 1 and ratios above 0, in ascending order",
            i, kinds[t->kind].name, t->least_area, t->most_area, t->least_ratio, t->most_ratio);
    return WEFT_OK;
}

/* The numbers of transforms: their places in the struct, and their ranges. */
static const struct {
    unsigned char field, is_whole, place;
    char name[13];
    double least, most;
} numbers[] = {{SIZE, 1, offsetof(weft_transform, height), "height", 1, WI_MAX_SIDE},
    {SIZE, 1, offsetof(weft_transform, width), "width", 1, WI_MAX_SIDE},
    {SIZE, 1, offsetof(weft_transform, padding), "padding", 0, WI_MAX_SIDE},
    {PROBABILITY, 0, offsetof(weft_transform, probability), "probability", 0, 1},
    {FILL, 0, offsetof(weft_transform, fill), "fill", WEFT_FILL_MEAN, 255},
    {ANGLE, 0, offsetof(weft_transform, least), "least", -360, 360},
    {ANGLE, 0, offsetof(weft_transform, most), "most", -360, 360},
    {JITTER, 0, offsetof(weft_transform, brightness), "brightness", 0, 100},
    {JITTER, 0, offsetof(weft_transform, contrast), "contrast", 0, 100},
    {JITTER, 0, offsetof(weft_transform, saturation), "saturation", 0, 100},
    {JITTER, 0, offsetof(weft_transform, hue), "hue", 0, 0.5},
    {OPERATIONS, 1, offsetof(weft_transform, operations), "operations", 0, 14},
    {OPERATIONS, 1, offsetof(weft_transform, magnitude), "magnitude", 0, 30},
    {ALPHA, 0, offsetof(weft_transform, alpha), "alpha", 1e-3, 1000}};

weft_status wi_transform_check(const weft_transform *t, size_t i) {
    if (t->kind < WEFT_TRANSFORM_RESIZE || t->kind > WEFT_TRANSFORM_CUTMIX)
        WI_FAIL(WEFT_ERROR_ARGUMENT,
            "images: transform %zu is of kind %d (use the weft_transform_ functions)", i, (int)t->kind);
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++) {
        const void *const place = (const char *)t + numbers[n].place;
        const double value = numbers[n].is_whole ? (double)*(const int64_t *)place : *(const double *)place;
        const double least = numbers[n].least, most = numbers[n].most;
        if (kinds[t->kind].fields & numbers[n].field && !(value >= least && value <= most))
            WI_FAIL(WEFT_ERROR_ARGUMENT, "images: transform %zu, %s: %s is %g, expected %g to %g", i,
                kinds[t->kind].name, numbers[n].name, value, least, most);
    }
    return kinds[t->kind].fields & AREA ? check_area(t, i) : WEFT_OK;
}
