/* Materialise: what runs in which order, and what is stored from one run to the next.
 *
 * Without a limit of memory every step runs once, in the order of the partition, and what it writes is stored
 * until it is read for the last time. To meet a limit, steps run again (rematerialise.h says which and why). A value
 * then has instances: those that read it after such a run read the newest, and the memory of the one before is
 * free in between. A step that runs again is the same kernel with the same arguments but memory, so that an
 * instance has the bits of the first.
 *
 *   materialise.c         runs and instances, from a list of replays
 *   memory_limit.c        the search until the placement fits
 *   materialise_inline.c  what no plan stores; the partition asks, for its steps depend on it */
#ifndef WI_MATERIALISE_H
#define WI_MATERIALISE_H

#include "plan/select/schedule.h"

/* A storage of the partition (in none other), and the place of the instance that is meant. */
typedef struct wi_instance {
    int storage, place;
} wi_instance;

typedef struct wi_run {
    int index; /* in the order of execution */
    const wi_step *step;
    bool is_repeated;             /* the step ran before */
    const wi_instance *instances; /* of what it reads and writes, those that are not the first */
    int instance_count;
} wi_run;

typedef struct wi_materialised {
    const wi_schedule *schedule;
    wi_run *runs;
    size_t run_count;
    wi_run end; /* no step: which instances are there after the last run */
    /* Instances that are not the first have the places that follow those of the partition's storages; here is
     * of which storage. */
    int *instance_of;
    size_t instance_count;
    /* ---- what the limit costs ---- */
    size_t again_count;                 /* runs of steps that ran before */
    size_t freed;                       /* bytes that the plan would take more */
    double flops, bytes_moved, seconds; /* more than without a limit; seconds are estimated */
    double whole_seconds;               /* estimated, without a limit */
} wi_materialised;

struct wi_placement;

/* Every step once. */
weft_status wi_run_all(const wi_schedule *schedule, wi_arena *arena, wi_materialised *m);
/* Runs, and the placement, of at most `limit` bytes for intermediates and inputs; 0: without a limit. Launches that are
 * fixed stay so only if what they keep fits. *least (0: enough): the bytes without which it cannot do, when the limit is
 * below. */
weft_status wi_plan_materialise(
    wi_schedule *schedule, size_t limit, wi_materialised *m, struct wi_placement *placement, size_t *least);

/* Where the value lies in that run: a storage of the partition, or the place of an instance; *offset (may be
 * NULL) gets the bytes to its storage's beginning in an instance. */
int wi_place_of_value(const wi_materialised *m, const wi_run *run, int value, size_t *offset);

#endif
