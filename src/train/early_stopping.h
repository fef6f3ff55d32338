/* Early stopping, and the best weights kept: a watch over one value of the report. */
#ifndef WI_EARLY_STOPPING_H
#define WI_EARLY_STOPPING_H

#include "io/snapshot.h"
#include "train/report.h"

typedef struct wi_watch {
    weft_early_stopping options; /* its strings outlive the watch */
    weft_graph *graph;           /* borrowed */
    bool active;                 /* anything was asked for */
    bool down;                   /* less is better */
    size_t value;                /* in the report */
    double best;                 /* NaN: none yet */
    size_t best_epoch;           /* SIZE_MAX: none yet */
    size_t waited;               /* epochs since */
    wi_snapshot snapshot;
} wi_watch;

/* Errors: an unknown monitor (with the names that there are), a mode or minimum_change out of range. */
weft_status wi_watch_init(
    wi_watch *watch, weft_graph *graph, const weft_early_stopping *options, const wi_report *report);
void wi_watch_clear(wi_watch *watch);
/* Makes room for the best weights, if they are to be kept; the values of the last run stay. */
weft_status wi_watch_prepare(wi_watch *watch);
/* Before a run: forgets the last one, unless a run that was interrupted goes on; makes room, and tries whether best_file
 * can be written. */
weft_status wi_watch_begin(wi_watch *watch, bool goes_on);
bool wi_watch_is_over(const wi_watch *watch); /* the patience */
/* After an epoch. Sets *stop when the patience is over, and leaves it alone else. */
weft_status wi_watch_epoch(wi_watch *watch, size_t epoch, const wi_report *report, bool *stop);
/* After a run; keeps an error line that is there. */
weft_status wi_watch_end(wi_watch *watch);

#endif
