/* Ratings of items by users, for the sample factorise: products of vectors that follow from the numbers of both. */
#ifndef RATINGS_H
#define RATINGS_H

#include "trace.h"
#include <math.h>
#include <stdio.h>

enum { USERS = 200, ITEMS = 150, TASTES = 3, BATCH_SIZE = 256 };
typedef struct ratings {
    int32_t users[BATCH_SIZE], items[BATCH_SIZE];
    float ratings[BATCH_SIZE];
} ratings;

static inline float rating_of(int32_t user, int32_t item) {
    double rating = 3;
    for (int k = 1; k <= TASTES; k++) rating += sin(1.3 * k * user) * cos(2.1 * k * item);
    return (float)rating;
}

/* Each tenth rating is only among the unseen ones. */
static inline void draw_ratings(ratings *batch, bool unseen) {
    for (int i = 0; i < BATCH_SIZE;) {
        const int32_t user = (int32_t)draw_below(USERS), item = (int32_t)draw_below(ITEMS);
        if (((7 * user + 3 * item) % 10 == 0) != unseen) continue;
        batch->users[i] = user, batch->items[i] = item;
        batch->ratings[i++] = rating_of(user, item);
    }
}

#endif
