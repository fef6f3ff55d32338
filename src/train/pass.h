/* Passes over a dataset: the loop that training and evaluation share.
 *
 * A pass owns a feed, a loader, metrics and two plans (whole batches, and the smaller last one of an epoch).
 * A step enqueues the inputs, the plan, and the reads of its loss, count of correct answers and measured
 * outputs; nothing waits. Once `interval` steps are out, the pass waits for the device, looks at the records,
 * and goes on: so the loader's batches, which last `prefetch` = interval calls, stay valid while they are
 * copied, and the queue never grows beyond an interval. Between wi_pass_prepare and the end of an epoch nothing
 * is allocated. */
#ifndef WI_PASS_H
#define WI_PASS_H

#include "graph/nodes.h"
#include "train/feed.h"
#include "train/measure.h"

enum { WI_PASS_INTERVAL = 16, WI_PASS_COLUMNS = 32 };

/* What one step gave, known after its interval. */
typedef struct wi_record {
    float loss;
    int32_t correct; /* -1: not counted */
    bool measured;   /* the plan ran: its outputs were read */
    size_t examples;
    float rate; /* the learning rate it had; NaN: none */
    float judged,
        scale; /* with loss scaling: what its gradients were (ops/loss_scale.h), and the scale after it */
    const void *targets[WEFT_MAX_METRICS];
} wi_record;

typedef struct wi_pass_totals {
    double loss; /* sum over examples */
    size_t correct, counted, examples;
} wi_pass_totals;

/* Where a pass begins in its epoch: what a checkpoint in the middle of one left to do. */
typedef struct wi_pass_start {
    size_t step; /* steps that were done; the sums of the metrics are in place */
    wi_pass_totals totals;
} wi_pass_start;

typedef struct wi_pass wi_pass;
typedef struct wi_pass_hooks {
    void *user;
    /* In place of weft_plan_run; may be NULL. has_loss: *loss is the step's, and the plan is not read. */
    weft_status (*run)(void *user, weft_plan *plan, const void *const *columns, size_t examples,
        bool *has_loss, float *loss);
    /* After a step was enqueued. finish: its records are wanted now. stop: no further step. */
    weft_status (*after_step)(void *user, bool *finish, bool *stop);
    /* After an interval, with its records; totals include them. */
    weft_status (*after_interval)(void *user, const wi_record *records, size_t count);
} wi_pass_hooks;

typedef struct wi_pass_options {
    weft_tensor *loss, *correct; /* correct NULL: not counted */
    weft_tensor *const *updates;
    size_t update_count;
    weft_tensor *rate; /* of the updates; NULL: none */
    wi_measure_list measured;
    size_t memory_limit;            /* of a plan; 0: none */
    bool partial;                   /* inputs may lack a column: a step callback writes them */
    const wi_loss_scaling *scaling; /* of the updates; NULL: none */
} wi_pass_options;

struct wi_pass {
    const weft_allocator *allocator;
    weft_tensor *outputs[2 + WEFT_MAX_METRICS + WEFT_MAX_UPDATES +
                         WEFT_MAX_CARRIES]; /* loss, correct, measured, updates */
    size_t output_count;
    weft_tensor *rate;              /* NULL: none */
    const wi_loss_scaling *scaling; /* NULL: none */
    bool counts, inference, shuffle;
    size_t batch, threads; /* of the loader; 0: its default */
    size_t memory_limit;   /* of a plan; 0: none */
    uint64_t seed;
    wi_feed feed;
    wi_measures measures;
    unsigned char *measured; /* outputs read back: room for an interval's steps of slot_examples each */
    size_t slot_examples;
    weft_dataset *
        dataset; /* the one that was prepared for, with the numbers of categories that the graph knows; retained */
    const weft_dataset *given; /* the caller's, which `dataset` is or uses */
    const weft_graph *known;   /* datasets are compared with its encodings; NULL: they are not */
    uint64_t known_version;    /* of these, when `dataset` was compared */
    weft_loader *loader;
    weft_plan *full, *rest;
    size_t full_examples, rest_examples;
    size_t interval, pending;
    wi_record records[WI_PASS_INTERVAL];
    wi_pass_totals totals;
};

/* Clear it afterwards, whatever this returns. */
weft_status wi_pass_init(wi_pass *pass, const weft_allocator *allocator, const wi_pass_options *options);
void wi_pass_clear(wi_pass *pass);
/* Plans the first batch size. */
weft_status wi_pass_plan(wi_pass *pass, size_t examples);
/* Makes all that an epoch over the dataset needs; quick when it is the same one as before. */
weft_status wi_pass_prepare(wi_pass *pass, weft_dataset *dataset);
/* One epoch; start NULL: all of it, with totals from 0. hooks may be NULL. */
weft_status wi_pass_run(
    wi_pass *pass, uint64_t epoch, const wi_pass_start *start, const wi_pass_hooks *hooks);
/* The graph has the encodings of the dataset from now on, and others are compared with them. */
weft_status wi_pass_keep_encodings(wi_pass *pass, weft_graph *graph);
size_t wi_pass_steps(const wi_pass *pass); /* an epoch */

/* Did the step leave everything as it was, as its gradients overflowed? */
bool wi_record_is_skipped(const wi_record *record);
double wi_pass_loss(const wi_pass *pass);     /* mean so far; NaN before the first interval */
double wi_pass_accuracy(const wi_pass *pass); /* NaN when not counted */

#endif
