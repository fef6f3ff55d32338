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
enum { DIGIT_PIXELS = 64 }; /* 8 by 8, from 0 to 1 */

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
