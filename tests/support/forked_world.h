/* A context with all that stands on it, for tests that fork beside it: a network, a plan that has run, a loader whose threads have
 * begun, a trainer that has evaluated, a snapshot, a metric, and files of weights in a folder. */
#ifndef FORKED_WORLD_H
#define FORKED_WORLD_H

#include "support/small_net.h"
#include <weft/io.h>
#include <weft/train.h>

enum { WORLD_EXAMPLES = 64, WORLD_BATCH = 8, WORLD_SIDE = 2000 };

typedef struct world {
    char *folder;
    weft_context *context, *other;
    small_net net;
    weft_tensor *label, *cost, *spare; /* spare: of the weight's shape */
    weft_tensor *later;                /* in the context's graph; see world_open */
    weft_plan *plan, *made;
    weft_dataset *data;
    weft_loader *loader, *second;
    weft_trainer *trainer, *next;
    weft_snapshot *snapshot;
    weft_metric_state *metric;
    weft_profile *profile;
    size_t count;
    const void *columns[2];
    float x[WORLD_BATCH * SMALL_NET_IN], y[WORLD_BATCH * SMALL_NET_OUT], weight[SMALL_NET_OUT * SMALL_NET_IN];
    int counted; /* of steps that the callback saw */
    int failures;
} world;

/* two_queues: with a second queue, for uploads. Numbers of the parameter `later`, a square of WORLD_SIDE, take seconds to draw, and
 * nothing needs them yet. */
void world_open(world *w, bool two_queues, weft_progress_callback step);
/* All objects, but not the folder; for children. */
void world_release(world *w);
void world_close(world *w);

/* The batch w->x. */
weft_column world_column(world *w);
/* Two epochs; with a checkpoint after every step, and the log log.csv in the world's folder, where a folder is given for checkpoints. */
weft_status world_trainer(world *w, weft_trainer **trainer, const char *folder, weft_progress_callback step);

#endif
