/* Digits under noise and where their strokes are, for the sample unet. */
#ifndef STROKES_H
#define STROKES_H

#include "digits.h"

enum { BATCH_SIZE = 64 };
typedef struct batch {
    float clean[BATCH_SIZE][DIGIT_PIXELS], noisy[BATCH_SIZE][DIGIT_PIXELS],
        strokes[BATCH_SIZE][DIGIT_PIXELS]; /* 1 or 0 */
} batch;

/* False: there are no digits. */
static inline bool draw_batch(batch *b, const weft_dataset *digits, double deviation) {
    if (!draw_digits(digits, 0, 9, BATCH_SIZE, b->clean, NULL)) return false;
    for (int i = 0; i < BATCH_SIZE; i++) {
        for (int k = 0; k < DIGIT_PIXELS; k++) {
            b->noisy[i][k] = b->clean[i][k] + (float)(deviation * draw_normal());
            b->strokes[i][k] = b->clean[i][k] > 0.5f;
        }
    }
    return true;
}

/* The intersection over the union of the pixels above a half in the image and of the strokes. */
static inline double overlap(const batch *b, float (*images)[DIGIT_PIXELS]) {
    int both = 0, any = 0;
    for (int i = 0; i < BATCH_SIZE; i++) {
        for (int k = 0; k < DIGIT_PIXELS; k++) {
            const bool is = b->strokes[i][k] > 0, seen = images[i][k] > 0.5f;
            both += is && seen, any += is || seen;
        }
    }
    return any ? (double)both / any : 0;
}

/* Shows some of the noisy digits and what was found in them. */
static inline void report_strokes(batch *b, float (*found)[DIGIT_PIXELS]) {
    show_digits(b->noisy, BATCH_SIZE), show_digits(found, BATCH_SIZE);
    printf("overlap with the strokes: %.2f; with a threshold instead of the network: %.2f\n",
        overlap(b, found), overlap(b, b->noisy));
}

#endif
