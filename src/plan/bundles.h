/* Bundles: launches of several steps that have one kernel, with different arguments, as one launch.
 *
 * What packs variables for products comes early, with the first of its bundle. What ends a step whose result is a part of what is
 * kept for the whole plan waits for the last of its bundle: the launch that brings splits together, or all launches of the step, if
 * they can be bundled; what these read stays where it is until then. The scratch memory that lies between such launches and the rest
 * of their step is one place for the bundle (placement.c). A launch finds its step and its arguments in a table, a row for each step,
 * that the host writes once: the first work-group, its launch's size, then a number for each argument, a pointer's being its offset
 * and its buffer. The kernel is generated (code_bundle.c). Plans of several devices, for inference (fixed.c), and under
 * a limit of memory that this does not fit into have no bundles. */
#ifndef WI_BUNDLES_H
#define WI_BUNDLES_H

#include "plan/placement.h"

/* A step's part of a bundle. */
typedef struct wi_bundled {
    int step;
    size_t at; /* where its scratch memory begins in the bundle's, in bytes */
    struct wi_bundled *next;
} wi_bundled;

struct wi_bundle {
    bool packs;             /* the first launch of each step, otherwise the last ones */
    bool reads;             /* what waits reads intermediates */
    int launches;           /* of each step */
    int piece;              /* that has the kernel */
    int storage;            /* that all of them read or write */
    int first, last, count; /* steps */
    wi_bundled *steps;      /* the last first */
    size_t bytes;           /* of scratch memory */
    size_t read_bytes;      /* of intermediates that they read */
    size_t row; /* the table's number that its rows begin with: those of a launch after those of another */
    int number;
    wi_bundle *next;
};

/* The step that launches it: before all else, or after. */
int wi_bundle_place(const wi_bundle *bundle);
/* number: of the bundled launches of a step, from 0. */
const wi_kernel_launch *wi_bundled_launch(
    const wi_schedule *schedule, const wi_bundle *bundle, int step, int number);
/* Numbers in a row of a launch's table; the table's number that the rows of such a launch begin with. */
size_t wi_bundle_row(const wi_kernel_launch *launch);
size_t wi_bundle_rows(const wi_schedule *schedule, const wi_bundle *bundle, int number);
/* Cuts those bundles into smaller ones that read from more buffers than their launches have arguments for; are there any? Then what was
 * placed is to be placed anew. */
weft_status wi_bundles_part(wi_schedule *schedule, const wi_placement *placement, bool *any);

#endif
