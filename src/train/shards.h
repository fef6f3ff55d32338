/* Passes whose batches are divided into gradient shards, and among processes.
 *
 * Each batch is divided into the same number of *shards*, ranges of its examples of equal size. A process runs the plan of the loss for each
 * of its shards: one after the other, or on several devices at the same time. The gradients of all shards are added up in the order of the
 * shards (dist/sum.h), and a second plan updates the parameters. The loss of a shard is its part of the loss of the batch
 * (ops/loss/loss_shards.h). All processes do the same update, so their parameters stay equal. The results of a step depend on the number of
 * shards, not on the number of processes:
 *
 *   - dropout and other random numbers are drawn by the number of the step and of the shard;
 *  - states that the plan of the loss assigns, such as the running statistics of a batch norm: every shard begins with the state before the
 *    step, and the new state is the mean of the values that the shards assign. A state that is not f32 gets the value of shard 0. */
#ifndef WI_SHARDS_H
#define WI_SHARDS_H

#include "cl/context.h"
#include "dist/speeds.h"
#include "dist/sum.h"
#include "nn/update_rules.h"
#include "ops/loss/loss_shards.h"
#include "plan/run/early_reads.h"
#include "train/pass.h"
#include "train/shard_devices.h"

/* Plans for shards of a number of examples. There are three sizes: one for whole batches, and two for the smaller last batch. */
enum { WI_SHARD_SIZES = 3 };
typedef struct wi_shard_plans {
    size_t examples;                 /* 0: unused */
    weft_plan *loss[WI_MAX_DEVICES]; /* on each device of the context */
    weft_plan *totals;               /* computes only the totals of the loss's terms; NULL: not needed */
    wi_early_reads reads; /* reads of the gradients, bucket by bucket; none if there are several devices */
    size_t
        read_ends[WI_SUM_BUCKETS]; /* by bucket: the number of reads of this bucket and of those before it */
} wi_shard_plans;

/* A state that the plan of the loss assigns. The averaged states are in one list of floats, the others in one list of bytes. */
typedef struct wi_shard_state {
    weft_tensor *variable;
    size_t bytes, at; /* at: where the floats begin in the slot of a shard, or the bytes in `others` */
    bool is_averaged;
} wi_shard_state;

/* The results of a shard that its process sends to the others in a step. All are floats of 64 bits, so that one exchange suffices. */
typedef struct wi_shard_result {
    double part, values[WI_LOSS_TERMS], totals[WI_LOSS_TERMS], right, counted;
    double seconds; /* in the result of a process's first shard: the time for all shards of the process */
} wi_shard_result;

/* Which shards each process has (shard_ranks.c). */
typedef struct wi_shard_ranks {
    size_t *firsts;  /* rank r has the shards [firsts[r], firsts[r + 1]); NULL: ranges of equal size */
    double *seconds; /* of each rank: of a shard, over the counted steps of the epoch */
    size_t steps;    /* since the run or the division began */
    bool may_divide; /* an epoch has ended, so that no thread loads its batches any more */
} wi_shard_ranks;

/* The states that the trainer's option `carries` assigns. Each shard has a value of its own in wi_variable.whole, so that it does not matter who
 * computes the shard. All passes of a trainer share them. */
typedef struct wi_carries {
    const weft_allocator *allocator;
    weft_tensor *states[WEFT_MAX_CARRIES];
    size_t count;
} wi_carries;

struct wi_shards {
    const weft_allocator *allocator;
    weft_distributed *group;  /* NULL: there is only one process; not retained */
    size_t count;             /* number of shards of a batch */
    wi_shard_devices devices; /* that compute the process's own shards */
    weft_dtype exchange;      /* of gradients: f32 or bf16 */
    wi_shard_range own;
    bool trains;
    weft_tensor *part; /* the shard's part of the loss (wi_loss_of_shard) */
    wi_shard_shares shares;
    wi_divided_update divided;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t update_count;
    weft_plan *update;
    wi_shard_plans plans[WI_SHARD_SIZES];
    wi_feed totals_feed;
    wi_sum sum;
    size_t
        gradients; /* number of floats of all gradients; in a slot of the sum the averaged states follow them */
    wi_shard_state *states;
    size_t state_count, state_floats;
    float *before;         /* the averaged states at the beginning of the step */
    unsigned char *others; /* the other states: at the beginning of the step, then after shard 0 */
    size_t other_bytes;
    double *
        metrics; /* the sums of all metrics after the last join; then memory for joins: this process's sums, those of all processes */
    size_t metric_numbers;
    /* Memory for steps, so that steps allocate nothing: */
    wi_shard_result *results; /* of all shards */
    double *totals;           /* of all shards: WI_LOSS_TERMS numbers each */
    size_t *bytes;            /* of each process, in an exchange */
    wi_speeds speeds;         /* in rank 0 of several */
    wi_shard_ranks by_rank;   /* with several processes, while training */
    bool equal_devices;
    const wi_carries *carries; /* NULL: none */
};

/* The trainer's options for shards. */
typedef struct wi_shard_options {
    weft_distributed *group;
    size_t count, devices;
    bool equal_devices;
    weft_dtype exchange; /* of gradients: f32 or bf16 */
    bool shards_optimizer;
    const wi_carries *carries; /* NULL: none */
} wi_shard_options;

/* Checks that a batch can be divided. */
weft_status wi_shards_check(const wi_shard_options *options, size_t batch);
void wi_shards_init(wi_shards *shards, const weft_allocator *allocator, const wi_shard_options *options);
void wi_shards_clear(wi_shards *shards);
/* What updates the parameters: updates of the program, created from the loss, or if count is 0, the optimizer. */
typedef struct wi_shard_updates {
    weft_tensor *const *given;
    size_t count;
    const weft_optimizer *optimizer;
} wi_shard_updates;
/* Creates the loss of a shard and, unless `by` is NULL, the update from the summed gradients. NULL: the pass does not train.
 * is_fixed: see wi_loss_of_shard. */
weft_status wi_shards_divide(wi_shards *shards, weft_tensor *loss, const wi_loss_terms *terms, bool is_fixed,
    const wi_shard_updates *by);
/* *all: the seconds so far during which gradients were being exchanged. *exposed: the part of them in which the process only waited. */
void wi_shards_exchange_seconds(const wi_shards *shards, double *all, double *exposed);

/* ---- for pass.c ---- */
/* Creates the plans for the shards of a batch of `examples` examples. */
weft_status wi_shards_plan(wi_pass *pass, size_t examples);
void wi_shards_forget_plans(wi_shards *shards);
/* Allocates the memory that steps need. Called after the plans of whole batches were created. */
weft_status wi_shards_reserve(wi_pass *pass);
/* The range of the examples of a batch that belong to this process's shards. */
wi_shard_range wi_shards_examples(const wi_shards *shards, size_t examples);
/* Runs a step. columns: the data of this process's examples. status: WEFT_OK, or the error of loading them; after an error the process still
 * takes part in all exchanges, and the step fails in all processes. The record gets the results of the whole batch. */
weft_status wi_shards_step(wi_pass *pass, const void *const *columns, size_t examples, weft_status status,
    const wi_pass_hooks *hooks, wi_record *record);
/* Divides the shards among the devices, after the devices have been measured. */
void wi_shards_divide_by_speed(wi_shards *shards);
/* Records the sums of the metrics, which are equal in all processes at this time. */
void wi_shards_note_metrics(wi_pass *pass);
/* At the end of a pass: adds to the metrics what the other processes have added since wi_shards_note_metrics, and gathers carried states. */
weft_status wi_shards_join(wi_pass *pass);
/* The same for a checkpoint within an epoch. wanted: in rank 0 whether it saves one now. All processes call this after each step. */
weft_status wi_shards_join_early(wi_pass *pass, bool wanted);

/* ---- shard_ranks.c ---- */
wi_shard_range wi_shards_of_rank(const wi_shards *shards, size_t rank);
weft_status wi_shards_reserve_ranks(wi_shards *shards);
/* After a step, whose results all processes have. */
void wi_shards_note_seconds(wi_shards *shards);
/* Before an epoch: divides the shards again if the measured seconds promise shorter steps. *changes: it does, in all processes; the caller then
 * loads other examples, and meets the other processes with the status. */
weft_status wi_shards_divide_ranks(wi_shards *shards, bool *changes);
/* The number of shards of each rank, of which each gets at least `least`, so that the last one to finish finishes first. */
void wi_count_shards(size_t *counts, const double *seconds, size_t ranks, size_t shards, size_t least);

/* ---- shards.c ---- */
weft_status wi_shards_init_sum(wi_shards *shards);

/* ---- shard_optimizer.c: if each process updates a part of the parameters ---- */
static inline bool wi_shards_optimizer(const wi_shards *shards) {
    return shards->divided.parts > 1;
}
/* After an update, in which each process has updated a part of the parameters: sends all parts to all processes. status: WEFT_OK, or the
 * error of the update. */
weft_status wi_shards_gather_parameters(wi_shards *shards, weft_status status);
/* Averages of parameters are divided, too: while a trainer exists, weft_average_swap sends the exchanged parts to all processes. */
void wi_shards_share_averages(wi_shards *shards, bool shares);
/* Gathers the whole state of the optimizer in the host memory of rank 0, for a checkpoint. All processes must call this whenever a checkpoint
 * may be saved. wanted: in rank 0, whether a checkpoint is saved now. */
weft_status wi_shards_gather_states(wi_shards *shards, bool wanted);
/* wi_shards_hold_states allocates host memory for the whole state, before a checkpoint is read; wi_shards_take_states then copies this
 * process's part of it to the device. */
weft_status wi_shards_hold_states(wi_shards *shards);
weft_status wi_shards_take_states(wi_shards *shards);
/* Releases the host memory. */
void wi_shards_forget_states(wi_shards *shards);

/* ---- shard_states.c ---- */
/* Records the states with which all shards begin. */
weft_status wi_shards_note_states(const wi_shards *shards);
/* Enqueues the writes of the states before the process's shard number `own`. */
weft_status wi_shards_begin_states(const wi_shards *shards, size_t own);
/* Enqueues the reads after the shard; of states that are not averaged only after the process's first shard. slot: of the shard in the sum; NULL:
 * the pass does not train. */
weft_status wi_shards_end_states(const wi_shards *shards, size_t own, float *slot);
/* Sets the averaged states of all processes to the mean over the shards that have examples. */
weft_status wi_shards_finish_states(const wi_shards *shards, size_t examples, float *sums);

/* ---- shard_carries.c ---- */
/* The caller clears the carries, also after an error, before the graph is released. */
weft_status wi_carries_init(wi_carries *carries, const weft_allocator *allocator,
    weft_tensor *const *assignments, size_t count, size_t shards);
void wi_carries_clear(wi_carries *carries);
/* Enqueues the writes of a shard's values before the shard, and the reads after it. shard: its number in the batch. */
weft_status wi_shards_begin_carries(const wi_shards *shards, wi_device *device, size_t shard);
weft_status wi_shards_end_carries(const wi_shards *shards, wi_device *device, size_t shard);
/* Gives all processes the values of all shards. */
weft_status wi_shards_gather_carries(const wi_shards *shards);

/* ---- shard_gradients.c ---- */
/* Lists the reads of the gradients of all plans. Called after wi_sum_init. */
weft_status wi_shards_list_reads(wi_shards *shards);
void wi_shards_forget_reads(const wi_shards *shards, wi_shard_plans *plans);
/* Runs the plan of the loss for the process's shard number `own`, counted from 0, and enqueues the reads of its gradients. */
weft_status wi_shards_run_reading(wi_shards *shards, wi_shard_plans *plans, size_t own);
/* Begins the exchange of each bucket as soon as its gradients have been read. */
weft_status wi_shards_send_gradients(wi_shards *shards, wi_shard_plans *plans, size_t own);

#endif
