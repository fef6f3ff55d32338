/* A pole on a cart (A. Barto, R. Sutton and C. Anderson 1983), and a memory of its steps, for the sample dqn. */
#ifndef CART_H
#define CART_H

#include "trace.h"
#include <math.h>
#include <string.h>

/* Its place and speed, and the pole's angle and speed. */
static inline void cart_place(float s[4]) {
    for (int i = 0; i < 4; i++) s[i] = (float)(0.1 * draw() - 0.05);
}

/* 0.02 s by Euler's method. True: the pole fell, or the cart left its track. */
static inline bool cart_step(float s[4], int32_t action) {
    const double force = action ? 10 : -10, c = cos((double)s[2]), n = sin((double)s[2]);
    const double push = (force + 0.05 * (double)(s[3] * s[3]) * n) / 1.1;
    const double turn = (9.8 * n - c * push) / (0.5 * (4.0 / 3 - 0.1 * c * c / 1.1));
    const double change[4] = {(double)s[1], push - 0.05 * turn * c / 1.1, (double)s[3], turn};
    for (int i = 0; i < 4; i++) s[i] += (float)(0.02 * change[i]);
    return fabsf(s[0]) > 2.4f || fabsf(s[2]) > 0.2095f;
}

/* What is remembered of steps; alive: 1, or 0 where the pole fell. */
enum { MEMORY = 10000 };
typedef struct memory {
    float seen[MEMORY][4], next[MEMORY][4], alive[MEMORY];
    int32_t action[MEMORY];
} memory;

/* Steps that are drawn from it. */
enum { BATCH_SIZE = 64 };
typedef struct batch {
    float seen[BATCH_SIZE][4], next[BATCH_SIZE][4], alive[BATCH_SIZE];
    int32_t action[BATCH_SIZE];
} batch;

/* A game: what was seen last, and for how many steps the pole has stood; in the mean of the last ones, too. */
typedef struct game {
    float seen[4], mean;
    int32_t length;
    memory memory;
} game;

static inline void cart_again(game *g) {
    g->mean += 0.1f * ((float)g->length - g->mean), g->length = 0;
    cart_place(g->seen);
}

/* Draws a batch of the `count` steps until now, of those that are still known. */
static inline void memory_draw(const memory *m, size_t count, batch *b) {
    for (size_t i = 0; i < BATCH_SIZE; i++) {
        const size_t at = draw_below(count < MEMORY ? count : MEMORY);
        memcpy(b->seen[i], m->seen[at], sizeof *m->seen);
        memcpy(b->next[i], m->next[at], sizeof *m->next);
        b->alive[i] = m->alive[at], b->action[i] = m->action[at];
    }
}

#endif
