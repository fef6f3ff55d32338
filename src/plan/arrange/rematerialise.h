/* Searches for the steps that must run again to meet a memory limit, on a model of the plan.
 *
 * The model has the plan's steps in their order, and the storages of the arena that they read and write. A *replay* runs steps again
 * before a later step of the order. The replayed steps write new instances of their storages: later reads are of the new instance, and
 * the memory of the old instance is free in between. Steps that write to one storage together are a *unit* and are replayed together. If
 * the results of a step are only read after a replay, the step does not run at its original place; a replay can thus also move a step.
 *
 * rematerialise_sweep.c computes, for given replays, the live ranges and the cost. rematerialise_search.c looks for the cheapest replays
 * that keep memory below a target. It is greedy: it chooses the replay that frees most bytes above the target for each second of
 * computation. This follows T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016; the paper's
 * segments correspond to replays of several units at one place.
 *
 * rematerialise_model.c creates the model of a plan; rematerialise_order.c chooses the order of its steps. */
#ifndef WI_REMATERIALISE_H
#define WI_REMATERIALISE_H

#include "plan/arrange/accesses.h"
#include "plan/arrange/materialise.h"

/* Storage `to` may overwrite storage `from`, which the same step is the last to read. */
typedef struct wi_in_place {
    int to, from;
} wi_in_place;

typedef struct wi_model_step {
    int step;            /* number of the plan's step */
    int *reads, *writes; /* storages, each listed once */
    int read_count, write_count;
    wi_in_place *in_place; /* in the order in which the placement tries them; at most 64 */
    int in_place_count;
    int unit; /* -1: the step cannot be replayed */
    /* The step can be replayed before step `latest` at the latest, because step `latest` overwrites a variable that this step reads. The
     * number of steps if no step overwrites one. */
    int latest;
    bool is_needed; /* must run even if no step reads its results */
    size_t scratch; /* bytes that are used only while it runs */
    double seconds;
} wi_model_step;

typedef struct wi_model_storage {
    size_t bytes;
    int unit;         /* -1: cannot be written again */
    int first_writer; /* number of a step in the model */
    bool is_modelled; /* in the arena and written in each run; other storages are not modelled */
    bool is_output;   /* read after the last step */
} wi_model_storage;

typedef struct wi_model_unit {
    int *steps; /* ascending numbers of steps */
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

/* Step `step` runs again before step `at`. In the list of runs, at == step is the run at the original place. */
typedef struct wi_replay {
    int at, step;
} wi_replay;

/* Ascending by `at`, then by `step`. */
typedef struct wi_replays {
    wi_replay *items;
    int count;
} wi_replays;

/* The live range of an instance: from the first run that writes it to the last run that uses it, as numbers in wi_sweep.runs. For outputs of
 * the plan, `last` is the number of runs. */
typedef struct wi_life {
    int storage, first, last;
    int next; /* number in `lives` of the storage's next instance in time; -1: none */
} wi_life;

typedef struct wi_sweep {
    wi_replay *runs;   /* all steps at their original places, and all replays, in order of time */
    bool *runs_needed; /* by run: it executes, because its results are needed */
    size_t *bytes;     /* by run: bytes in use while it executes */
    int run_count;
    wi_life *lives;
    int life_count;
    int *life_of;  /* by storage: number in `lives` of its earliest instance; -1: none */
    size_t peak;   /* the most bytes in use at one time */
    int peak_run;  /* the first run during which so many bytes are in use */
    double excess; /* bytes above the target, summed over the runs */
    double seconds;
    /* By storage, during the sweep: the last run that uses the instance whose writer the sweep has not reached yet; -1: no run. */
    int *ends;
} wi_sweep;

/* ---- the order of the steps ---- */

/* Sets `step` of the model's steps. The order is that of the plan, except that a step which frees more memory than it needs runs as soon
 * as its inputs are computed and no other step needs what it overwrites (rematerialise_order.c). */
weft_status wi_order_steps(wi_model *model, const wi_step_accesses *accesses, wi_arena *arena);

/* Creates the model of a plan. Storages have the same numbers as in the partition. */
weft_status wi_model_of_plan(wi_model *model, const wi_schedule *schedule, wi_arena *arena);
/* Lists the runs of the sweep that are needed, with their instances. */
weft_status wi_run_swept(const wi_schedule *schedule, const wi_model *model, const wi_sweep *sweep,
    wi_arena *arena, wi_materialised *m);

/* ---- live ranges of given replays ---- */

weft_status wi_replays_make(wi_replays *replays, const wi_model *model, wi_arena *arena);
weft_status wi_sweep_make(wi_sweep *sweep, const wi_model *model, wi_arena *arena);
void wi_sweep_run(wi_sweep *sweep, const wi_model *model, const wi_replays *replays, size_t target);
/* Can the unit be replayed before step `at`? */
bool wi_unit_may_run(const wi_model *model, int unit, int at);
bool wi_replays_have(const wi_replays *replays, const wi_model *model, int unit, int at);
/* Returns false if the list of replays is full. */
bool wi_replays_add(wi_replays *replays, const wi_model *model, int unit, int at);
void wi_replays_remove(wi_replays *replays, const wi_model *model, int unit, int at);
void wi_replays_copy(wi_replays *to, const wi_replays *from);

/* Adds replays until no run needs more than `target` bytes or no replay helps, then removes unnecessary ones. *reached: the peak in
 * bytes. */
weft_status wi_rematerialise_search(
    wi_replays *replays, const wi_model *model, size_t target, wi_arena *arena, size_t *reached);
/* Finds replays with the lowest peak that this search can reach. *reached: the peak in bytes. */
weft_status wi_rematerialise_least(
    wi_replays *replays, const wi_model *model, wi_arena *arena, size_t *reached);

#endif
