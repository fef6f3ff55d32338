/* Scenes of shapes, and the boxes that are found in them, for the sample detector. */
#ifndef SCENES_H
#define SCENES_H

#include "trace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_SIZE = 32, SIZE = 32, CELL = 8, GRID = SIZE / CELL, MOST = 3, KINDS = 3, NONE = -100 };

/* For each cell a box (x and y within it, width and height) and a kind or NONE. */
typedef struct scenes {
    float images[BATCH_SIZE][SIZE][SIZE], boxes[BATCH_SIZE][GRID][GRID][4], scores[BATCH_SIZE][GRID][GRID];
    int32_t kinds[BATCH_SIZE][GRID][GRID];
} scenes;

static inline bool is_inside(int32_t kind, float dx, float dy) {
    if (kind == 1) return dx * dx + dy * dy < 0.25f;
    return dx < 0.5f && dy < 0.5f && (kind == 0 || dx < 0.15f || dy < 0.15f);
}

static inline void draw_shape(scenes *s, int i) {
    const float w = 6 + 6 * (float)draw(), h = 6 + 6 * (float)draw();
    const float x = w / 2 + (SIZE - w) * (float)draw(), y = h / 2 + (SIZE - h) * (float)draw();
    const int32_t kind = (int32_t)draw_below(KINDS);
    const int r = (int)y / CELL, c = (int)x / CELL;
    if (s->kinds[i][r][c] != NONE) return;
    s->kinds[i][r][c] = kind, s->scores[i][r][c] = 1;
    const float box[] = {x / CELL - (float)c, y / CELL - (float)r, w / SIZE, h / SIZE};
    memcpy(s->boxes[i][r][c], box, sizeof box);
    for (int v = 0; v < SIZE; v++)
        for (int u = 0; u < SIZE; u++)
            s->images[i][v][u] +=
                is_inside(kind, fabsf((float)u + 0.5f - x) / w, fabsf((float)v + 0.5f - y) / h);
}

static inline void draw_scenes(scenes *s) {
    memset(s, 0, sizeof *s);
    for (int i = 0; i < BATCH_SIZE; i++) {
        for (int v = 0; v < SIZE; v++) {
            for (int u = 0; u < SIZE; u++) {
                s->images[i][v][u] = (float)(0.2 * draw_normal());
                s->kinds[i][v / CELL][u / CELL] = NONE;
            }
        }
        for (int k = 0; k < MOST; k++) draw_shape(s, i);
    }
}

/* In pixels. */
typedef struct box {
    float score, x, y, w, h;
    int32_t kind;
} box;

static inline int by_score(const void *a, const void *b) {
    const box *const x = a, *const y = b;
    return (x->score < y->score) - (x->score > y->score);
}

/* The boxes of scene i where the score is above a half. */
static inline int list_boxes(const scenes *s, int i, box *found) {
    int count = 0;
    for (int r = 0; r < GRID; r++) {
        for (int c = 0; c < GRID; c++) {
            if (s->scores[i][r][c] <= 0.5f) continue;
            const float *const b = s->boxes[i][r][c], w = b[2] * SIZE, h = b[3] * SIZE;
            const float x = ((float)c + b[0]) * CELL - w / 2, y = ((float)r + b[1]) * CELL - h / 2;
            found[count++] = (box){s->scores[i][r][c], x, y, w, h, s->kinds[i][r][c]};
        }
    }
    qsort(found, (size_t)count, sizeof *found, by_score);
    return count;
}

/* Two boxes of one kind whose intersection is above half of their union. */
static inline bool same(const box *a, const box *b) {
    const float w = fmaxf(0, fminf(a->x + a->w, b->x + b->w) - fmaxf(a->x, b->x));
    const float h = fmaxf(0, fminf(a->y + a->h, b->y + b->h) - fmaxf(a->y, b->y));
    return a->kind == b->kind && w * h > 0.5f * (a->w * a->h + b->w * b->h - w * h);
}

static inline bool any_same(const box *wanted, const box *boxes, int count) {
    for (int i = 0; i < count; i++)
        if (same(wanted, &boxes[i])) return true;
    return false;
}

/* Keeps, of boxes that are the same, the one with the highest score. */
static inline int suppress(box *boxes, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++)
        if (!any_same(&boxes[i], boxes, kept)) boxes[kept++] = boxes[i];
    return kept;
}

static inline void report(const scenes *real, const scenes *found) {
    int right = 0, said = 0, there = 0;
    for (int i = 0; i < BATCH_SIZE; i++) {
        box all[GRID * GRID], guesses[GRID * GRID];
        const int count = list_boxes(real, i, all),
                  guessed = suppress(guesses, list_boxes(found, i, guesses));
        for (int k = 0; k < count; k++) right += any_same(&all[k], guesses, guessed);
        there += count, said += guessed;
    }
    printf("%d of %d shapes are found, with %d boxes\n", right, there, said);
}

#endif
