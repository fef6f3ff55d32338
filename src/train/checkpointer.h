/* When a trainer's checkpoints are saved, the names of their files, and the thread that writes them.
 *
 * The training thread fills `list` and calls wi_checkpointer_save, which copies the contents to host memory. A separate
 * thread then writes this memory to a file, and once the file is durable removes older files that are not kept. One
 * file is written at a time; meanwhile the two threads share only `writing`. */
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
    bool owns;            /* the checkpoints in the folder belong to this training */
    size_t steps, epochs; /* since the last checkpoint */
    double saved_at;      /* time of the last checkpoint, in seconds */
    bool is_current;      /* nothing changed since the last checkpoint */
    wi_saved_list list;
    wi_checkpoint_image image;
    wi_thread thread;
    atomic_bool writing;
    size_t step; /* of the file that is being written */
    char path[WI_CHECKPOINT_PATH];
    weft_status status;            /* result of the thread */
    char line[WI_CHECKPOINT_LINE]; /* error line of the thread */
} wi_checkpointer;

/* The strings of the options must outlive the checkpointer. WEFT_ERROR_ARGUMENT: an invalid interval, or "" as folder. */
weft_status wi_checkpointer_init(
    wi_checkpointer *c, const weft_allocator *allocator, const weft_trainer_options *options);
void wi_checkpointer_clear(wi_checkpointer *c); /* waits for the thread */
/* Before a run: creates the folder, and tests whether it can be written. WEFT_ERROR_STATE: the folder has checkpoints
 * of another training. */
weft_status wi_checkpointer_begin(wi_checkpointer *c);

/* Count a finished step, or a finished epoch. If writing the previous file has failed, return its error. */
weft_status wi_checkpointer_step(wi_checkpointer *c);
void wi_checkpointer_epoch(wi_checkpointer *c);
/* Is a checkpoint due? */
bool wi_checkpointer_is_due(const wi_checkpointer *c);
/* Is no file being written? */
bool wi_checkpointer_is_idle(const wi_checkpointer *c);

/* Waits for the previous file, copies the contents of the list, and starts to write the file of this step. best: the
 * file is named best-N instead of step-N. Errors: the error of writing the previous file, or of reading a tensor;
 * WEFT_ERROR_MEMORY. */
weft_status wi_checkpointer_save(wi_checkpointer *c, size_t step, bool best);
/* Waits until no file is being written. Error: that of writing the last file. */
weft_status wi_checkpointer_wait(wi_checkpointer *c);

/* The checkpoints in a folder, from the newest to the oldest; names and paths are in the arena. */
typedef struct wi_checkpoint_name {
    size_t step;
    bool best;
    const char *path;
} wi_checkpoint_name;
weft_status wi_checkpoint_names(
    wi_checkpoint_name **names, size_t *count, wi_arena *arena, const char *folder);

#endif
