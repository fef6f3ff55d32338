/* Passes over a dataset: the loop that training and evaluation share.
 *
 * A pass owns a feed, a loader, metrics and two plans (whole batches, and the smaller last one of an epoch).
 * A step enqueues the inputs, the plan, and the reads of its loss, of the loss's terms and their totals
 * (ops/loss/loss_terms.h) and of measured outputs; nothing waits. Once `interval` steps are out, the pass waits for the device, looks at the records,
 * and goes on: so the loader's batches, which last `prefetch` = interval calls, stay valid while they are
 * copied, and the queue never grows beyond an interval. Between wi_pass_prepare and the end of an epoch nothing
 * is allocated. */
#ifndef WI_PASS_H
#define WI_PASS_H

#include "graph/nodes.h"
#include "ops/loss/loss_terms.h"
#include "train/measure.h"

enum { WI_PASS_INTERVAL = 16, WI_PASS_COLUMNS = 32 };

/* What one step gave, known after its interval. */
typedef struct wi_record {
    float loss;
    float values[WI_LOSS_TERMS], totals[WI_LOSS_TERMS]; /* of the loss's terms */
    bool measured;                                      /* the plan ran: its outputs were read */
    bool is_empty;                                      /* no label counts: the step changed nothing */
    double right, counted;                              /* of the accuracy */
    size_t examples;
    float rate; /* the learning rate it had; NaN: none */
    float judged,
        scale; /* with loss scaling: what its gradients were (ops/loss_scale.h), and the scale after it */
    bool ends_window; /* of accumulation; set by hooks.run */
    const void *columns[WI_PASS_COLUMNS];
} wi_record;

typedef struct wi_pass_totals {
    double loss; /* sum over examples of what is not in the terms */
    size_t examples;
    double values[WI_LOSS_TERMS], totals[WI_LOSS_TERMS]; /* sums of value · total, and of totals */
} wi_pass_totals;

/* Where a pass begins in its epoch: what a checkpoint in the middle of one left to do. */
typedef struct wi_pass_start {
    size_t step; /* steps that were done; the sums of the metrics are in place */
    wi_pass_totals totals;
} wi_pass_start;

typedef struct wi_pass wi_pass;
typedef struct wi_pass_hooks {
    void *user;
    /* In place of weft_plan_run; may be NULL. Where it sets record->loss it clears record->measured, and the plan is not
     * read. */
    weft_status (*run)(void *user, weft_plan *plan, const void *const *columns, wi_record *record);
    /* After a step was enqueued. finish: its records are wanted now. stop: no further step. */
    weft_status (*after_step)(void *user, bool *finish, bool *stop);
    /* After an interval, with its records; totals include them. */
    weft_status (*after_interval)(void *user, const wi_record *records, size_t count);
} wi_pass_hooks;

typedef struct wi_pass_options {
    weft_tensor *loss;
    const wi_loss_terms *terms; /* of the loss */
    weft_tensor *const *updates;
    size_t update_count;
    weft_tensor *rate; /* of the updates; NULL: none */
    wi_measure_list measured;
    size_t memory_limit;            /* of a plan; 0: none */
    bool counts;                    /* the last that is measured is the accuracy */
    bool partial;                   /* inputs may lack a column: a step callback writes them */
    const wi_loss_scaling *scaling; /* of the updates; NULL: none */
} wi_pass_options;

struct wi_pass {
    const weft_allocator *allocator;
    weft_tensor *outputs[1 + 2 * WI_LOSS_TERMS + WI_MEASURE_TENSORS + WEFT_MAX_UPDATES +
                         WEFT_MAX_CARRIES]; /* loss, its terms, measured, updates; each once */
    size_t output_count;
    weft_tensor *rate;              /* NULL: none */
    const wi_loss_scaling *scaling; /* NULL: none */
    wi_loss_terms terms;
    bool counts, inference, shuffle, drop_last;
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
/* The terms' sums over their totals, and the rest's mean over examples; NaN before the first interval, or if nothing counts. */
double wi_pass_loss(const wi_pass *pass);
double wi_pass_accuracy(const wi_pass *pass);       /* NaN when not counted */
double *wi_pass_accuracy_sums(const wi_pass *pass); /* right and counted; NULL when not counted */

#endif
