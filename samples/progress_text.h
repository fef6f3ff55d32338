/* The texts that show a training: a line of its state, and the curve of its loss. They depend on their arguments alone. */
#ifndef PROGRESS_TEXT_H
#define PROGRESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRESS_ROOM = 4096 }; /* bytes of a text */

typedef struct progress_state {
    const char *unit;    /* what is counted: "epoch" or "step" */
    size_t number, last; /* the one in progress, from 1, and the last one */
    double share;        /* of the whole training that is done, from 0 to 1 */
    double rate;         /* steps in a second; not above 0: not known yet */
    double left;         /* seconds to the end; NaN: not known yet */
    const char *what;    /* is measured: "loss" */
    double loss;         /* NaN: none yet */
    double best;         /* NaN: none yet, or nothing has a best value */
    bool is_share;       /* best is one of examples, shown in per cent */
} progress_state;

typedef struct progress_style {
    int width;          /* columns that may be used; 0: a line without a bar, as long as it is */
    bool utf8, colours; /* else ASCII; no colours */
} progress_style;

/* "epoch 3/20  [#####     ]  812 steps/s  12 s left  loss 0.1234  best 97.50 %": as much of that as has room. */
void progress_line(char text[PROGRESS_ROOM], const progress_state *state, const progress_style *style);

/* Values one after another, in a bounded number: once they are too many, each two neighbours become their mean. */
enum { PROGRESS_VALUES = 256 };
typedef struct progress_history {
    double values[PROGRESS_VALUES];
    size_t count, each; /* values, and how many numbers each is the mean of; 0: not begun */
    double sum;         /* of the numbers since the last value */
    size_t pending;     /* how many these are */
} progress_history;
void progress_history_add(progress_history *history, double number);

/* The curve of the values that are finite, with the largest and the least at its side, and below it `caption`; empty where there are
 * fewer than two. Logarithmic where all are above 0 and the largest is 30 times the least. */
void progress_curve(char text[PROGRESS_ROOM], const progress_history *history, const char *caption,
    const progress_style *style);

#endif
