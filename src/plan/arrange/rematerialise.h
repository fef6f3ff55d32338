/* What is stored and what is rematerialised: the search behind `materialise`, on a model of its own.
 *
 * The model has the plan's steps in their order, and the storages of the arena that they write and read. A
 * *replay* runs steps once more, just before a later step of the order, and what they write is then a new
 * instance of its storages: the reads that follow are of the new one, and the memory of the old one is free
 * in between. Steps that write one storage together are a *unit* and are run again together. A step whose
 * results are only read after a replay need not run at its old place at all, so that a replay may also be a
 * step moved to where it is needed.
 *
 * rematerialise_sweep.c finds for given replays which memory is in use when, and what the run costs.
 * rematerialise_search.c looks for replays that keep the memory below a target and cost least: greedily, as the
 * bytes over the target that a replay frees for a second of computation (after T. Chen, B. Xu, C. Zhang and
 * C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016, whose segments of a chain arise from
 * replays of several units at one place).
 *
 * rematerialise_model.c writes the model down from a plan; rematerialise_order.c chooses the order of its steps. */
#ifndef WI_REMATERIALISE_H
#define WI_REMATERIALISE_H

#include "plan/arrange/materialise.h"

/* A storage that may lie where another lay which the same step reads last. */
typedef struct wi_in_place {
    int to, from;
} wi_in_place;

typedef struct wi_model_step {
    int step;            /* of the plan */
    int *reads, *writes; /* storages, each once */
    int read_count, write_count;
    wi_in_place *in_place; /* in the order in which the plan tries them; at most 64 */
    int in_place_count;
    int unit;       /* -1: never run again */
    int latest;     /* run again before that step at the latest: there, what it reads is written over */
    bool is_needed; /* even when nothing reads what it writes */
    size_t scratch; /* bytes in use while it runs */
    double seconds;
} wi_model_step;

typedef struct wi_model_storage {
    size_t bytes;
    int unit;         /* -1: never written again */
    int first_writer; /* step */
    bool is_modelled; /* of the arena, and written anew in each run; nothing is known of others */
    bool is_output;   /* read after the last step */
} wi_model_storage;

typedef struct wi_model_unit {
    int *steps; /* ascending */
    int count;
    double seconds;
} wi_model_unit;

typedef struct wi_model {
    wi_model_step *steps;
    wi_model_storage *storages;
    wi_model_unit *units;
    int step_count, storage_count, unit_count;
    size_t fixed; /* bytes in use from the first step to the last */
} wi_model;

/* Step `step` runs again before step `at`. In a list of what runs, at == step is the run at its own place. */
typedef struct wi_replay {
    int at, step;
} wi_replay;

/* Ascending by place, and by step at one place. */
typedef struct wi_replays {
    wi_replay *items;
    int count;
} wi_replays;

/* An instance of a storage: in use between two runs; `last` may be the run count (outputs). */
typedef struct wi_life {
    int storage, first, last;
    int next; /* of the same storage, earlier; -1: none */
} wi_life;

typedef struct wi_sweep {
    wi_replay *runs; /* all that runs, in order */
    bool *runs_needed;
    size_t *bytes; /* in use while it runs */
    int run_count;
    wi_life *lives;
    int life_count;
    int *life_of; /* by storage: the last instance; -1 */
    size_t peak;  /* bytes, and the first run where they are in use */
    int peak_run;
    double excess; /* bytes over the target, summed over the runs */
    double seconds;
    int *ends; /* by storage, while sweeping */
} wi_sweep;

/* ---- the order of the steps ---- */

/* The bytes of a storage between which all lie that a step reads or writes there. */
typedef struct wi_access {
    int storage;
    bool writes;
    int64_t first, end;
} wi_access;

typedef struct wi_step_accesses {
    wi_access *of;
    int count;
} wi_step_accesses;

bool wi_accesses_meet(const wi_access *a, const wi_access *b);
/* Sets the `step` of the model's steps: the plan's order, but what sets more memory free than it takes runs as
 * soon as its inputs are there and nothing else needs what it writes over (rematerialise_order.c). */
weft_status wi_order_steps(wi_model *model, const wi_step_accesses *accesses, wi_arena *arena);

/* Everything of a plan that the search needs; storages have the partition's numbers. */
weft_status wi_model_of_plan(wi_model *model, const wi_schedule *schedule, wi_arena *arena);
/* What runs by the sweep, with its instances. */
weft_status wi_run_swept(const wi_schedule *schedule, const wi_model *model, const wi_sweep *sweep,
    wi_arena *arena, wi_materialised *m);

/* ---- which memory is in use when ---- */

weft_status wi_replays_make(wi_replays *replays, const wi_model *model, wi_arena *arena);
weft_status wi_sweep_make(wi_sweep *sweep, const wi_model *model, wi_arena *arena);
void wi_sweep_run(wi_sweep *sweep, const wi_model *model, const wi_replays *replays, size_t target);
/* May the unit be run again before that step? */
bool wi_unit_may_run(const wi_model *model, int unit, int at);
bool wi_replays_have(const wi_replays *replays, const wi_model *model, int unit, int at);
/* false: no room. */
bool wi_replays_add(wi_replays *replays, const wi_model *model, int unit, int at);
void wi_replays_remove(wi_replays *replays, const wi_model *model, int unit, int at);
void wi_replays_copy(wi_replays *to, const wi_replays *from);

/* Adds replays until no run needs more than `target` bytes, or no replay brings it nearer; then takes away
 * those that are not needed for it. *reached: the peak. */
weft_status wi_rematerialise_search(
    wi_replays *replays, const wi_model *model, size_t target, wi_arena *arena, size_t *reached);
/* The least memory that the search finds. */
weft_status wi_rematerialise_least(
    wi_replays *replays, const wi_model *model, wi_arena *arena, size_t *reached);

#endif
