/* What a classifier of images gets wrong: the examples of whose wrong answer it is surest, as a list and as a picture. */
#ifndef WRONG_ANSWERS_H
#define WRONG_ANSWERS_H

#include <weft/weft.h>

enum { MOST_MISTAKES = 24 };

typedef struct mistake {
    size_t example; /* from 0, in the order in which they were added */
    int32_t label, answer;
    float share; /* the probability of the answer */
} mistake;

typedef struct mistakes {
    size_t examples, wrong; /* how many were added, and how many of them wrongly answered */
    size_t kept;
    mistake worst[MOST_MISTAKES]; /* the surest first */
    float *images;                /* theirs, in the same order; freed by mistakes_release */
} mistakes;

/* Adds an example: its label, the probabilities of the classes, and the numbers of its image. False: out of memory. */
bool mistakes_add(
    mistakes *m, int32_t label, const float *shares, size_t classes, const float *image, size_t numbers);
/* Prints a line for each of the worst. names: of the classes; NULL: they have numbers alone. */
void mistakes_print(const mistakes *m, const char *const *names);
/* Saves their images in the order of the lines, six in a row; how: their shape and range. Small images are enlarged. Nothing is saved where nothing is wrong. */
weft_status mistakes_save(const mistakes *m, const char *path, weft_png_options how);
void mistakes_release(mistakes *m);

/* All of this for a dataset in memory, whose columns are the images (channels, height, width), from 0 to 1, and their labels. logits
 * (batch, classes) are computed from an input that is called as the first column. */
weft_status mistakes_show(weft_tensor *logits, const weft_dataset *dataset, const char *path);

#endif
