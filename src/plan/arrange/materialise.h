/* Materialise: the order in which steps run, and what is stored from one run of a step to another.
 *
 * Without a memory limit every step runs once, in the order of the partition, and its results are stored until their last read. To meet
 * a limit, some steps run again (rematerialise.h says which and why). A value then has several instances: a read after the second run of
 * its step reads the newest instance, and the memory of the older one is free between its last read and that run. A step that runs again
 * has the same kernel and arguments, except for the memory, so all instances are bitwise equal.
 *
 *   materialise.c         runs and instances, from a list of replays
 *   memory_limit.c        searches for replays until the placement fits
 *   accesses.c            the ranges of storages that a step reads and writes
 *   loads.h               parameters and states in host memory
 *   materialise_inline.c  values that no plan stores (called by the partition, whose steps depend on it) */
#ifndef WI_MATERIALISE_H
#define WI_MATERIALISE_H

#include "plan/select/schedule.h"

/* A storage of the partition that lies in no other, and the place of one of its instances. */
typedef struct wi_instance {
    int storage, place;
} wi_instance;

typedef struct wi_run {
    int index; /* in the order of execution */
    const wi_step *step;
    bool is_repeated;             /* the step has run before */
    const wi_instance *instances; /* instances that the run reads or writes, apart from first instances */
    int instance_count;
    const struct wi_load *loads; /* parts of blocks in host memory (loads.h) */
    int load_count;
} wi_run;

typedef struct wi_materialised {
    const wi_schedule *schedule;
    wi_run *runs;
    size_t run_count;
    wi_run end; /* no run of a step: its `instances` are those of the outputs after the last run */
    /* The storage of each instance that is not the first one of its storage. The first instance of a storage has the storage's number as
     * its place; instance i of this list has the place (number of storages) + i. */
    int *instance_of;
    size_t instance_count;
    size_t load_count;   /* of all runs; the place of load i is (number of storages) + instance_count + i */
    size_t loaded_bytes; /* copied by all loads, in both directions */
    /* ---- cost of the memory limit ---- */
    size_t again_count;                 /* runs of steps that have run before */
    size_t freed;                       /* bytes that the plan needs less than without the limit */
    double flops, bytes_moved, seconds; /* in addition to a plan without a limit; seconds are estimated */
    double whole_seconds;               /* estimated for the plan without a limit */
} wi_materialised;

struct wi_placement;

/* Every step runs once, in the order of the partition. */
weft_status wi_run_all(const wi_schedule *schedule, wi_arena *arena, wi_materialised *m);
/* Creates the runs and their placement, with at most `limit` bytes for intermediates and inputs; 0: no limit. Fixed launches whose
 * stored results do not fit run in each run of the plan instead. *least: 0 if the limit can be met, otherwise the least bytes with which
 * the plan would be possible. */
weft_status wi_plan_materialise(
    wi_schedule *schedule, size_t limit, wi_materialised *m, struct wi_placement *placement, size_t *least);

/* The place of the value in that run: its storage, or the place of a later instance or of a load. *offset (may be NULL): bytes from the
 * beginning of the place to the value's storage; 0 for a first instance. For a load that begins in the middle of the storage, it wraps around below zero. */
int wi_place_of_value(const wi_materialised *m, const wi_run *run, int value, size_t *offset);

#endif
