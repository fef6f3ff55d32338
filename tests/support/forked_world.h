/* A context with objects of all kinds, for tests that fork while these exist: a network, a plan that has run, a loader whose threads are
 * running, a trainer that has evaluated, a snapshot, a metric, and files of weights in a folder. */
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
    weft_tensor *label, *cost, *spare; /* spare: a parameter of the weight's shape */
    weft_tensor *later;                /* a parameter of the context's default graph; see world_open */
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
    int counted; /* how often the callback for steps was called */
    int failures;
} world;

/* two_queues: the context has a second queue, for uploads. The parameter `later` (WORLD_SIDE, WORLD_SIDE) is created, but its initial
 * values, which take seconds to compute, are not needed yet. */
void world_open(world *w, bool two_queues, weft_progress_callback step);
/* Releases all objects, but keeps the folder; for child processes. */
void world_release(world *w);
void world_close(world *w);

/* A column with the batch w->x. */
weft_column world_column(world *w);
/* Creates a trainer for two epochs. folder: for checkpoints, one after every step, and then with the log log.csv in the world's folder;
 * NULL: no checkpoints and no log. */
weft_status world_trainer(world *w, weft_trainer **trainer, const char *folder, weft_progress_callback step);

#endif
