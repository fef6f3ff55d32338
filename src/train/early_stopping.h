/* Early stopping: a watch over one value of the report, which can keep the weights of the best epoch. */
#ifndef WI_EARLY_STOPPING_H
#define WI_EARLY_STOPPING_H

#include "io/snapshot.h"
#include "train/report.h"

typedef struct wi_watch {
    weft_early_stopping options; /* its strings outlive the watch */
    weft_graph *graph;           /* not retained */
    bool active;                 /* an option is set */
    bool down;                   /* a lower value is better */
    size_t value;                /* index of the watched value in the report */
    double best;                 /* the best value; NaN: none yet */
    size_t best_epoch;           /* SIZE_MAX: none yet */
    size_t waited;               /* epochs since the best one */
    wi_snapshot snapshot;
} wi_watch;

/* WEFT_ERROR_ARGUMENT: an unknown monitor (the line lists the names), a mode or minimum_change out of range. */
weft_status wi_watch_init(
    wi_watch *watch, weft_graph *graph, const weft_early_stopping *options, const wi_report *report);
void wi_watch_clear(wi_watch *watch);
/* Allocates memory for the best weights, if an option keeps them. Does not reset the best value. */
weft_status wi_watch_prepare(wi_watch *watch);
/* Before a run: resets the best value and calls wi_watch_prepare. goes_on: the run continues an interrupted one, and nothing is reset. */
weft_status wi_watch_begin(wi_watch *watch, bool goes_on);
bool wi_watch_is_over(const wi_watch *watch); /* have `patience` epochs passed since the best one? */
/* After an epoch: if the value is the best so far, stores a copy of the weights, if an option asks for this. Sets *stop to true if
 * `patience` epochs have passed without improvement; otherwise does not change *stop. */
weft_status wi_watch_epoch(wi_watch *watch, size_t epoch, const wi_report *report, bool *stop);
/* After a run: restores the best weights if the option restore_best is set. Keeps the current error line. */
weft_status wi_watch_end(wi_watch *watch);

#endif
