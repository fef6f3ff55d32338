/* Batches of the digits that come with Weft, for samples with loops of their own. */
#ifndef DIGITS_H
#define DIGITS_H

#include "trace.h"
#include <string.h>

#ifndef WEFT_SOURCE_DATA_DIR
#define WEFT_SOURCE_DATA_DIR "data"
#endif
#define DIGITS_OPTION                                                                                        \
    { "--data", OPTION_TEXT, "DIR", "the folder of the digits", WEFT_SOURCE_DATA_DIR "/digits" }
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

#endif
