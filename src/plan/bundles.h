/* Bundles: launches of several steps that have one kernel, with different arguments, as one launch.
 *
 * What packs variables for products comes early, with the first of its bundle. What brings together the parts of a result
 * that is kept for the whole plan waits for the last. The scratch memory that lies between such a launch and the rest of its step
 * is one place for the bundle (placement.c). A launch finds its step and its arguments in a table, a row for each step,
 * that the host writes once: the first work-group, its launch's size, then a number for each argument, a pointer's being its offset.
 * The kernel is generated (code_bundle.c). Plans of several devices, for inference (fixed.c), and under
 * a limit of memory that this does not fit into have no bundles. */
#ifndef WI_BUNDLES_H
#define WI_BUNDLES_H

#include "plan/schedule.h"

/* A step's part of a bundle. */
typedef struct wi_bundled {
    int step;
    size_t at; /* where its scratch memory begins in the bundle's, in bytes */
    struct wi_bundled *next;
} wi_bundled;

struct wi_bundle {
    bool packs;             /* the first launch of each step, otherwise the last one */
    int piece;              /* that has the kernel */
    int storage;            /* that all of them read or write */
    int first, last, count; /* steps */
    wi_bundled *steps;      /* the last first */
    size_t bytes;           /* of scratch memory */
    size_t row;             /* the table's number that its rows begin with */
    int number;
    wi_bundle *next;
};

/* The step that launches it: before all else, or after. */
int wi_bundle_place(const wi_bundle *bundle);
const wi_kernel_launch *wi_bundled_launch(const wi_schedule *schedule, const wi_bundle *bundle, int step);
/* Numbers in a row of its table. */
size_t wi_bundle_row(const wi_kernel_launch *launch);

#endif
