/* Reads of parts of a plan's outputs. A run enqueues each read as soon as the launches that write these bytes are enqueued, so that the host
 * can use the first gradients of a backward pass while the device computes the others. */
#ifndef WI_EARLY_READS_H
#define WI_EARLY_READS_H

#include "plan/compiled_plan.h"

typedef struct wi_early_read {
    const weft_tensor *output;
    size_t first, bytes; /* of the output */
    size_t at;           /* where the bytes go in the memory of a run */
    int after; /* the last run that writes the bytes, or bytes of a read before this one; -1: none does */
    cl_event event; /* NULL: not enqueued, or finished */
} wi_early_read;

/* Reads are enqueued in the order of the list. The caller allocates the list, and clears it also after an error. */
struct wi_early_reads {
    wi_early_read *of;
    size_t count;
    size_t begun; /* enqueued so far in this run */
    unsigned char *memory;
};

/* Sets `after` of all reads. The other fields are set. */
void wi_early_reads_find(const weft_plan *plan, wi_early_reads *reads);
/* weft_plan_run, with these reads to `memory`. Returns when everything is enqueued; after an error nothing is. */
weft_status wi_plan_run_reading(weft_plan *plan, wi_early_reads *reads, void *memory);
/* Enqueues the reads after the runs before `run` (for run.c). */
weft_status wi_early_reads_advance(weft_plan *plan, int run);
/* *done: the read is finished. Does not wait. */
weft_status wi_early_read_test(wi_early_read *read, bool *done);
weft_status wi_early_read_wait(const weft_plan *plan, wi_early_read *read);
/* Releases the events. The caller has waited for the plan. */
void wi_early_reads_clear(wi_early_reads *reads);

#endif
