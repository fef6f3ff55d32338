/* Batches of the digits that come with Weft, for samples with loops of their own. */
#ifndef DIGITS_H
#define DIGITS_H

#include "console.h"
#include "trace.h"
#include "training_loop.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
#define DIGITS_OPTION                                                                                        \
    { "--data", OPTION_TEXT, "DIR", "folder of the digits", WEFT_SOURCE_DATA_DIR "/digits" }
enum { DIGIT_PIXELS = 64, MOST_PICTURES = 64 }; /* a digit is 8 by 8, from 0 to 1 */

/* Draws digits from `first` to `last`; labels count from `first`, and may be NULL. False: there are none. */
static inline bool draw_digits(const weft_dataset *digits, int32_t first, int32_t last, size_t count,
    float (*images)[DIGIT_PIXELS], int32_t *labels) {
    const float *const pixels = weft_dataset_column(digits, 0)->data;
    const int32_t *const all = weft_dataset_column(digits, 1)->data;
    const size_t size = weft_dataset_size(digits);
    for (size_t i = 0, tries = 0; i < count; tries++) {
        const size_t at = draw_below(size);
        if (tries > 1000 * count) return false;
        if (all[at] < first || all[at] > last) continue;
        memcpy(images[i], pixels + at * DIGIT_PIXELS, sizeof *images);
        if (labels) labels[i] = all[at] - first;
        i++;
    }
    return true;
}

/* Squared distance to the nearest digit of the dataset, and its label. */
static inline float nearest_digit(const weft_dataset *digits, const float *image, int32_t *label) {
    const float *const pixels = weft_dataset_column(digits, 0)->data;
    const int32_t *const all = weft_dataset_column(digits, 1)->data;
    float least = INFINITY;
    for (size_t at = 0, size = weft_dataset_size(digits); at < size; at++) {
        float distance = 0;
        for (int i = 0; i < DIGIT_PIXELS; i++) {
            const float d = image[i] - pixels[at * DIGIT_PIXELS + (size_t)i];
            distance += d * d;
        }
        if (distance < least) least = distance, *label = all[at];
    }
    return least;
}

/* Shows the first images side by side as text: as many as the terminal is wide, at most seven. */
static inline void show_digits(float (*images)[DIGIT_PIXELS], size_t count) {
    const size_t fit = ((size_t)console_width() + 1) / 17, room = fit < 7 ? fit : 7;
    const size_t shown = count < room ? count : room;
    for (size_t row = 0; row < 8; row++) {
        for (size_t i = 0; i < shown; i++) {
            for (size_t column = 0; column < 8; column++) {
                const float p = images[i][8 * row + column];
                const char c = " .:-=+*#%@"[p > 0 ? p < 1 ? (int)(9.99f * p) : 9 : 0];
                printf("%c%c", c, c);
            }
            putchar(i + 1 < shown ? ' ' : '\n');
        }
    }
}

/* Normal numbers that depend on the seed alone, so that pictures show the progress; they change nothing that draw() gives. */
static inline void draw_fixed(uint64_t seed, void *numbers, size_t bytes) {
    const uint64_t before = draw_from(seed);
    for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)numbers)[i] = (float)draw_normal();
    draw_from(before);
}

/* Digits that are the same in each run. */
static inline void draw_fixed_digits(
    const weft_dataset *digits, size_t count, float (*images)[DIGIT_PIXELS]) {
    const uint64_t before = draw_from(1);
    (void)draw_digits(digits, 0, 9, count, images, NULL);
    draw_from(before);
}

/* Of --pictures, --events and --html. */
static inline bool wants_pictures(const training_loop *loop) {
    return loop->line->pictures || loop->events;
}

/* Saves a picture of the first `count` images of each of the values: a grid of one value, or a row of each of several. There is room
 * for MOST_PICTURES in all. */
static inline weft_status save_digits(
    const training_loop *loop, const weft_value *values, size_t value_count, size_t count) {
    static float images[MOST_PICTURES][DIGIT_PIXELS];
    char path[4096];
    const weft_png_options how = {WEFT_PNG_OPTIONS_INIT, .images = value_count * count, .height = 8,
        .width = 8, .columns = value_count > 1 ? count : 0, .zoom = 6};
    for (size_t i = 0; i < value_count; i++)
        memcpy(images[i * count], values[i].data, count * sizeof *images);
    weft_status status =
        loop->events ? weft_events_images(loop->events, "pictures", loop->step, images, &how) : WEFT_OK;
    if (status || !loop->line->pictures) return status;
    snprintf(path, sizeof path, "%s/step-%06zu.png", loop->line->pictures, loop->step);
    return weft_image_save_png(path, images, &how);
}

/* With one of these options, runs the plan by weft_plan_step and saves a picture of the last `shown` values. */
static inline weft_status draw_pictures(
    const training_loop *loop, weft_plan *plan, const weft_value *values, size_t count, size_t shown) {
    if (!wants_pictures(loop)) return WEFT_OK;
    const weft_status status = weft_plan_step(plan, values, count);
    return status ? status : save_digits(loop, values + count - shown, shown, shown > 1 ? 16 : MOST_PICTURES);
}

/* Shows images that a network drew, and prints how far they are from the digits of the dataset that are nearest to them. */
static inline void report_digits(const weft_dataset *digits, float (*images)[DIGIT_PIXELS], size_t count) {
    int32_t label = 0;
    int kinds = 0;
    double distance = 0;
    bool seen[10] = {false};
    show_digits(images, count);
    for (size_t i = 0; i < count; i++) {
        distance += sqrt((double)nearest_digit(digits, images[i], &label)) / (double)count;
        kinds += !seen[label];
        seen[label] = true;
    }
    printf("mean distance to the nearest real digit %.2f; the nearest digits are of %d kinds\n", distance,
        kinds);
}

#endif
