/* Passes whose batches are divided into gradient shards, and among processes.
 *
 * Each batch has the same number of shards, ranges of its examples of equal size. A process runs the plan of the loss for each of its shards:
 * one after the other on one device; on several devices in turn, at the same time. The gradients of all shards are added up in the order of the shards (dist/sum.h), and a second plan updates the
 * parameters. The loss of a shard is its part of the loss of the batch (ops/loss/loss_shards.h). All processes make the same update, and so
 * have the same parameters. What a step computes depends on the number of shards, not on the number of processes:
 *
 *   - dropout and other random numbers are drawn by the number of the step and of the shard;
 *   - states that the plan of the loss assigns, such as the running statistics of a batch norm, are the mean of what the shards assign,
 *     each beginning with the state before the step. States that are not f32 are those of shard 0. */
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

/* Plans for a shard of so many examples. Three sizes: those of a whole batch, and two of the smaller last batch. */
enum { WI_SHARD_SIZES = 3 };
typedef struct wi_shard_plans {
    size_t examples;                 /* 0: unused */
    weft_plan *loss[WI_MAX_DEVICES]; /* on each device of the context */
    weft_plan *totals; /* of the terms of the loss, without the rest of the network; NULL: not needed */
    wi_early_reads
        reads; /* of the gradients, bucket by bucket of the sum; none if there are several devices */
    size_t read_ends[WI_SUM_BUCKETS]; /* how many reads there are up to the end of each bucket */
} wi_shard_plans;

/* States that the plan of the loss assigns, all in one list of floats or bytes. */
typedef struct wi_shard_state {
    weft_tensor *variable;
    size_t bytes, at; /* at: where the floats begin in the slot of a shard, or the bytes in `others` */
    bool is_averaged;
} wi_shard_state;

/* What a process tells the others of a shard in a step. All are numbers, so that one exchange suffices. */
typedef struct wi_shard_result {
    double part, values[WI_LOSS_TERMS], totals[WI_LOSS_TERMS], right, counted;
    double seconds; /* of the first shard of a process: in which the process computed all its shards */
} wi_shard_result;

/* Which shards each process has (shard_ranks.c). */
typedef struct wi_shard_ranks {
    size_t *firsts;  /* rank r has the shards [firsts[r], firsts[r + 1]); NULL: ranges of equal size */
    double *seconds; /* of each rank: of a shard, over the counted steps of the epoch */
    size_t steps;    /* since the run or the division began */
    bool may_divide; /* an epoch has ended, so that no thread loads its batches any more */
} wi_shard_ranks;

struct wi_shards {
    const weft_allocator *allocator;
    weft_distributed *group;  /* NULL: one process; not retained */
    size_t count;             /* shards of a batch */
    wi_shard_devices devices; /* that compute the process's own shards */
    weft_dtype exchange;      /* of gradients: f32 or bf16 */
    wi_shard_range own;
    bool trains;
    weft_tensor *part; /* of the loss, by the shares */
    wi_shard_shares shares;
    wi_divided_update divided;
    weft_tensor *updates[WEFT_MAX_UPDATES];
    size_t update_count;
    weft_plan *update;
    wi_shard_plans plans[WI_SHARD_SIZES];
    wi_feed totals_feed;
    wi_sum sum;
    size_t
        gradients; /* floats of all gradients, with which a slot of the sum begins; then come the averaged states */
    wi_shard_state *states;
    size_t state_count, state_floats;
    float *before;         /* of the averaged states, at the beginning of the step */
    unsigned char *others; /* of the other states: at the beginning of the step, and then those of shard 0 */
    size_t other_bytes;
    double *
        metrics; /* the sums of the metrics when they were last joined; then this process's, and those of all, when they are joined */
    size_t metric_numbers;
    /* Of a step, so that steps allocate nothing: */
    wi_shard_result *results; /* of all shards */
    double *totals;           /* of all shards: WI_LOSS_TERMS numbers each */
    size_t *bytes;            /* of each process, in an exchange */
    wi_speeds speeds;         /* in rank 0 of several */
    wi_shard_ranks by_rank;   /* with several processes, while training */
    bool equal_devices;
};

/* What the trainer's options say of shards. */
typedef struct wi_shard_options {
    weft_distributed *group;
    size_t count, devices;
    bool equal_devices;
    weft_dtype exchange; /* of gradients: f32 or bf16 */
    bool shards_optimizer;
} wi_shard_options;

/* Checks that a batch can be divided. */
weft_status wi_shards_check(const wi_shard_options *options, size_t batch);
void wi_shards_init(wi_shards *shards, const weft_allocator *allocator, const wi_shard_options *options);
void wi_shards_clear(wi_shards *shards);
/* Divides the loss. optimizer: creates the update from the sums of its gradients; NULL: the pass does not train. */
weft_status wi_shards_divide(
    wi_shards *shards, weft_tensor *loss, const wi_loss_terms *terms, const weft_optimizer *optimizer);
/* The seconds in which gradients were exchanged so far, and of these the ones in which the process only waited for the exchange. */
void wi_shards_exchange_seconds(const wi_shards *shards, double *all, double *exposed);

/* ---- for pass.c ---- */
/* Creates the plans for the shards of a batch of so many examples. */
weft_status wi_shards_plan(wi_pass *pass, size_t examples);
void wi_shards_forget_plans(wi_shards *shards);
/* Allocates what steps need; after the plans of a whole batch. */
weft_status wi_shards_reserve(wi_pass *pass);
/* The examples of a batch that the process's shards have. */
wi_shard_range wi_shards_examples(const wi_shards *shards, size_t examples);
/* Runs a step. columns: of the process's own examples. status: of loading them; after an error the step takes part in all exchanges, and
 * then fails on all processes. The record gets the results of the whole batch. */
weft_status wi_shards_step(wi_pass *pass, const void *const *columns, size_t examples, weft_status status,
    const wi_pass_hooks *hooks, wi_record *record);
/* After the devices have been measured: divides the shards among them. */
void wi_shards_divide_by_speed(wi_shards *shards);
/* Remembers the metrics, which all processes have alike. */
void wi_shards_note_metrics(wi_pass *pass);
/* Adds what the other processes have added to their metrics since then. */
weft_status wi_shards_join_metrics(wi_pass *pass);
/* The same for a checkpoint within an epoch. wanted: in rank 0 whether it saves one now. All processes call this after each step. */
weft_status wi_shards_gather_metrics(wi_pass *pass, bool wanted);

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
/* After an update: all processes get all parameters. status: of the update. */
weft_status wi_shards_gather_parameters(wi_shards *shards, weft_status status);
/* Rank 0 gets the whole optimizer's state in host memory, for a checkpoint. wanted: in rank 0 whether it saves one now. All processes call this
 * whenever it may. */
weft_status wi_shards_gather_states(wi_shards *shards, bool wanted);
/* Allocates host memory for the whole state, before a checkpoint is read; then takes this process's part of it. */
weft_status wi_shards_hold_states(wi_shards *shards);
weft_status wi_shards_take_states(wi_shards *shards);
/* Releases the host memory. */
void wi_shards_forget_states(wi_shards *shards);

/* ---- shard_gradients.c ---- */
/* Lists the reads of the gradients of all plans; after wi_sum_init. */
weft_status wi_shards_list_reads(wi_shards *shards);
void wi_shards_forget_reads(const wi_shards *shards, wi_shard_plans *plans);
/* Runs the plan of the loss for the process's shard number `own`, counted from 0, and enqueues the reads of its gradients. */
weft_status wi_shards_run_reading(wi_shards *shards, wi_shard_plans *plans, size_t own);
/* Begins the exchange of each bucket as soon as its gradients have been read. */
weft_status wi_shards_send_gradients(wi_shards *shards, wi_shard_plans *plans, size_t own);

#endif
