/* When a trainer's checkpoints are saved, which files they become, and the thread that writes them.
 *
 * The thread that trains fills `list` and calls wi_checkpointer_save, which copies everything into host memory; then a
 * thread of its own writes that memory to a file, and removes files that are not kept any more once the new one is durable.
 * One file is written at a time. Only `writing` is shared while it is. */
#ifndef WI_CHECKPOINTER_H
#define WI_CHECKPOINTER_H

#include "base/platform.h"
#include "io/checkpoint_file.h"
#include <stdatomic.h>
#include <weft/train.h>

enum { WI_CHECKPOINT_PATH = 4096, WI_CHECKPOINT_LINE = 2048 };

typedef struct wi_checkpointer {
    const weft_allocator *allocator;
    const char *folder; /* NULL: no checkpoints */
    weft_checkpoint_every every;
    size_t keep;
    bool owns;            /* what is in the folder is of this training */
    size_t steps, epochs; /* since the last one */
    double saved_at;      /* when the last one was */
    bool is_current;      /* nothing has changed since */
    wi_saved_list list;
    wi_checkpoint_image image;
    wi_thread thread;
    atomic_bool writing;
    size_t step; /* of the file that is being written */
    char path[WI_CHECKPOINT_PATH];
    weft_status status; /* of the thread */
    char line[WI_CHECKPOINT_LINE];
} wi_checkpointer;

/* The options' strings outlive it. Errors: an interval that is not one. */
weft_status wi_checkpointer_init(
    wi_checkpointer *c, const weft_allocator *allocator, const weft_trainer_options *options);
void wi_checkpointer_clear(wi_checkpointer *c); /* waits for the thread */
/* Whether the folder can be written, or made. Changes nothing. */
weft_status wi_checkpointer_try(const wi_checkpointer *c);
/* Is the file in the folder for checkpoints, which is not there yet? */
bool wi_checkpointer_makes_folder_of(const wi_checkpointer *c, const char *path);
/* Before a run: makes the folder and tries whether it can be written. Refuses one with checkpoints of another training. */
weft_status wi_checkpointer_begin(wi_checkpointer *c);

/* After a step. The error of the last file, if it failed. */
weft_status wi_checkpointer_step(wi_checkpointer *c);
void wi_checkpointer_epoch(wi_checkpointer *c);
/* One should be saved now. Between steps not while a file is being written. */
bool wi_checkpointer_is_due(const wi_checkpointer *c);
bool wi_checkpointer_is_idle(const wi_checkpointer *c);

/* Takes the list, and begins to write the file of that step. Waits for the one before. */
weft_status wi_checkpointer_save(wi_checkpointer *c, size_t step, bool best);
/* Until no file is being written. Its error, once. */
weft_status wi_checkpointer_wait(wi_checkpointer *c);

/* The checkpoints in a folder, the newest first; paths are in the arena. */
typedef struct wi_checkpoint_name {
    size_t step;
    bool best;
    const char *path;
} wi_checkpoint_name;
weft_status wi_checkpoint_names(
    wi_checkpoint_name **names, size_t *count, wi_arena *arena, const char *folder);

#endif
