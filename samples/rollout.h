/* Steps of the pole on the cart that a policy takes, for the sample ppo. */
#ifndef ROLLOUT_H
#define ROLLOUT_H

#include "cart.h"

enum { HORIZON = 512, LONGEST = 500 };

/* What was seen, done, its log-probability, whether the game went on, and values, one more than steps. */
typedef struct rollout {
    float seen[HORIZON][4], log_probs[HORIZON], alive[HORIZON], values[HORIZON + 1];
    int32_t actions[HORIZON];
} rollout;

typedef struct player {
    float seen[4], mean;
    int32_t length;
} player;

/* True: the game goes on. */
static inline bool play_on(player *p, int32_t action) {
    const bool fell = cart_step(p->seen, action);
    if (++p->length < LONGEST && !fell) return true;
    p->mean += 0.1f * ((float)p->length - p->mean), p->length = 0;
    cart_place(p->seen);
    return false;
}

#endif
