/* What a trainer consists of: made in trainer.c, run in trainer_run.c. */
#ifndef WI_TRAINER_SHARED_H
#define WI_TRAINER_SHARED_H

#include "train/checkpointer.h"
#include "train/early_stopping.h"
#include "train/pass.h"
#include "train/rate.h"
#include "train/training_log.h"

/* Where the next run goes on, after weft_trainer_resume. */
typedef struct wi_resume {
    bool pending;
    size_t epoch;    /* of the run */
    size_t examples; /* of the dataset */
    wi_pass_start start;
    double right, counted; /* sums of the accuracy */
} wi_resume;

struct weft_trainer {
    weft_graph *graph;
    weft_context *context;
    weft_trainer_options options;
    wi_arena arena;                       /* the options' strings */
    weft_metric metrics[WI_MAX_MEASURES]; /* the last: the accuracy, which is not an option */
    bool has_accuracy;
    wi_loss_terms terms;
    double training_values[WEFT_MAX_METRICS], validation_values[WEFT_MAX_METRICS];
    const wi_pass *last_measured; /* validation or evaluation; NULL: neither yet */
    wi_report report, step_report;
    wi_watch watch;
    wi_training_log log;
    atomic_int references;
    atomic_bool cancelled, stopping;
    wi_pass training, validation, evaluation;
    wi_rate rate;
    wi_checkpointer checkpointer;
    weft_checkpoint_extra extras[WEFT_MAX_EXTRAS];
    wi_resume resume;
    bool knows; /* the encodings of the graph are those of the dataset that this trainer was trained with */
    bool ends;  /* the run in progress: a callback or weft_trainer_stop has asked for it */
    bool save_now;        /* a checkpoint, as soon as the device has finished the steps so far */
    uint64_t epochs;      /* begun so far, over all runs: the shuffle's number */
    size_t steps;         /* enqueued */
    size_t examined;      /* of these, with known loss */
    uint64_t windows;     /* of accumulation, that have ended */
    bool window_counts;   /* a step that was looked at of the window under way is not empty */
    size_t empty_windows; /* those without such a step */
    size_t
        scheduled_skips; /* skipped and empty windows that the schedule knows of: those before the last multiple of
                               WI_PASS_INTERVAL steps, so that it does not depend on when the host looked */
    weft_training_info info;
    double created, interval_began;
    double *times; /* seconds a step, an interval each; of the last run */
    size_t time_count, time_capacity;
    weft_epoch state; /* of the run under way */
    double run_began;
};

#endif
