/* The inside of a trainer, which trainer.c creates and trainer_run.c runs. */
#ifndef WI_TRAINER_SHARED_H
#define WI_TRAINER_SHARED_H

#include "train/checkpointer.h"
#include "train/early_stopping.h"
#include "train/pass.h"
#include "train/rate.h"
#include "train/shards.h"
#include "train/training_log.h"
#include <weft/events.h>

/* Where the next run continues after weft_trainer_resume. */
typedef struct wi_resume {
    bool pending;    /* the next run continues a checkpoint */
    size_t epoch;    /* of the run */
    size_t examples; /* in the dataset */
    wi_pass_start start;
    double right, counted; /* sums of the accuracy: correct rows, all rows */
} wi_resume;

struct weft_trainer {
    weft_graph *graph;
    weft_context *context;
    weft_trainer_options options;
    wi_arena arena;                       /* the options' strings */
    weft_metric metrics[WI_MAX_MEASURES]; /* of the options; if has_accuracy, the last is the accuracy */
    bool has_accuracy;
    wi_loss_terms terms;
    double training_values[WEFT_MAX_METRICS], validation_values[WEFT_MAX_METRICS];
    const wi_pass *last_measured; /* validation or evaluation, whichever ran last; NULL: neither */
    wi_report report, step_report;
    wi_watch watch;
    wi_training_log log;
    weft_events *events;   /* NULL: not opened yet, or there are none */
    wi_mistakes *mistakes; /* of validation, for the page; NULL: they are not collected */
    atomic_int references;
    atomic_bool cancelled, stopping;
    wi_pass training, validation, evaluation;
    wi_shards shards[3];         /* of the three passes, if batches are divided */
    wi_carries carries;          /* if batches are divided */
    wi_shard_options divided_by; /* count 1: they are not */
    wi_rate rate;
    wi_checkpointer checkpointer;
    weft_checkpoint_extra extras[WEFT_MAX_EXTRAS];
    wi_resume resume;
    bool knows;           /* the graph has the encodings of the dataset with which this trainer trains */
    bool ends;            /* a callback or weft_trainer_stop asked the current run to end */
    bool save_now;        /* a checkpoint is saved when the device has finished the steps so far */
    uint64_t epochs;      /* begun so far, over all runs; also the number for the shuffle */
    size_t steps;         /* enqueued so far, over all runs */
    size_t examined;      /* steps whose records the host has examined */
    uint64_t windows;     /* finished windows of accumulation */
    bool window_counts;   /* an examined step of the current window is not empty */
    size_t empty_windows; /* finished windows of empty steps alone */
    /* Skipped and empty windows that the schedule takes into account: those up to the last multiple of WI_PASS_INTERVAL
     * steps, so that the rates do not depend on when the host examines records. */
    size_t scheduled_skips;
    weft_training_info info;
    double created, interval_began;
    double *times; /* for each interval of the last run: mean seconds per step */
    size_t time_count, time_capacity;
    weft_epoch state; /* of the current run */
    double run_began;
};

/* ---- a step (trainer_step.c): the hooks `run` and `run_shard` of the training pass (pass.h) ---- */
weft_status wi_trainer_step(void *user, weft_plan *plan, const void *const *columns, wi_record *record);
weft_status wi_trainer_shard(
    void *user, weft_plan *plan, const void *const *columns, const wi_shard_examples *shard);

/* ---- processes that train together (trainer_group.c) ---- */
/* Decides into how many shards batches are divided. In all ranks but 0, removes the options that write files. */
weft_status wi_trainer_divide(weft_trainer *trainer);
/* Checks that all processes are about to run the same training, and copies the parameters of rank 0 to all. status: WEFT_OK, or the error
 * of preparing the run. */
weft_status wi_trainer_begin_group(weft_trainer *trainer, const weft_dataset *dataset, weft_status status);
/* Sets *ends in all processes to true if it is true in one. */
weft_status wi_trainer_agree(weft_trainer *trainer, bool *ends);
/* Tells the others that the run of this process has failed. Returns the status. */
weft_status wi_trainer_end_group(weft_trainer *trainer, weft_status status);

#endif
