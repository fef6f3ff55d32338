/* Examples of very many classes, for the sample extreme_classes: class c is the code of FEATURES numbers 1 or -1 that a hash of c gives, and an
 * example is its code with noise. Class c is drawn with a probability near 1 / (c + 1) (Zipf's law), so most classes are rare. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "trace.h"
#include <math.h>
#include <stdio.h>

enum { FEATURES = 32, BEST = 10, BATCH_SIZE = 64 };
typedef struct products {
    float x[BATCH_SIZE][FEATURES];
    int32_t labels[BATCH_SIZE];
} products;

static inline void draw_products(products *batch, int64_t classes) {
    for (int i = 0; i < BATCH_SIZE; i++) {
        const int64_t label = (int64_t)exp(draw() * log((double)classes + 1)) - 1;
        batch->labels[i] = (int32_t)(label < classes ? label : classes - 1);
        uint64_t code = (uint64_t)(batch->labels[i] + 1) * 0x9e3779b97f4a7c15u; /* SplitMix64 */
        code = (code ^ code >> 30) * 0xbf58476d1ce4e5b9u;
        code = (code ^ code >> 27) * 0x94d049bb133111ebu;
        for (int k = 0; k < FEATURES; k++)
            batch->x[i][k] = (float)((code >> (k + 32) & 1 ? 1 : -1) + 0.5 * draw_normal());
    }
}

/* How many of the labels are among the BEST classes of their rows; above: the number of classes that are better than the label. */
static inline int count_hits(const products *batch, const int32_t *best) {
    int hits = 0;
    for (int i = 0; i < BATCH_SIZE; i++)
        for (int k = 0; k < BEST; k++) hits += best[i * BEST + k] == batch->labels[i];
    return hits;
}
static inline int count_few(const int32_t *above) {
    int hits = 0;
    for (int i = 0; i < BATCH_SIZE; i++) hits += above[i] < BEST;
    return hits;
}

/* Of parameters, states and a training step. */
static inline void print_memory(const weft_plan *learn) {
    weft_plan_info info;
    if (weft_plan_get_info(learn, &info) == WEFT_OK)
        printf("memory: %.2f MB\n", 1e-6 * (double)(info.variable_bytes + info.total_bytes));
}

#endif
