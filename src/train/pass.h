/* Passes over a dataset: the loop of training, validation and evaluation.
 *
 * A pass owns a feed, a loader, metrics and two plans (for whole batches, and for the smaller last batch of an epoch). A
 * step enqueues the copies of the inputs, the plan, and the reads of the loss, of its terms with their totals
 * (ops/loss/loss_terms.h) and of the measured outputs, and waits for nothing. After `interval` steps the pass waits for
 * the device and processes the records of these steps. A batch of the loader stays valid for `prefetch` calls, as many
 * as an interval has steps, and thus until it has been copied; and the queue holds at most the steps of one interval.
 * From the end of wi_pass_prepare to the end of an epoch nothing is allocated. */
#ifndef WI_PASS_H
#define WI_PASS_H

#include "graph/weft_graph.h"
#include "ops/loss/loss_terms.h"
#include "train/measure.h"

enum { WI_PASS_INTERVAL = 16, WI_PASS_COLUMNS = 32 };

/* The results of one step, valid after its interval. */
typedef struct wi_record {
    float loss;
    float values[WI_LOSS_TERMS], totals[WI_LOSS_TERMS]; /* of the loss's terms */
    bool measured;                                      /* the plan ran, and its outputs were read */
    bool is_empty;                                      /* no label counts, and the step changed nothing */
    double right, counted;                              /* correct rows and all rows, for the accuracy */
    size_t examples;
    float rate;          /* learning rate of the step; NaN: none */
    float judged, scale; /* with loss scaling: WI_UPDATE_ (ops/loss_scale.h), and the scale after the step */
    bool ends_window;    /* of accumulation; set by hooks.run */
    const void *columns[WI_PASS_COLUMNS];
} wi_record;

typedef struct wi_pass_totals {
    double loss; /* sum over examples of the rest of the loss, which is not in its terms */
    size_t examples;
    double values[WI_LOSS_TERMS], totals[WI_LOSS_TERMS]; /* per term: sums of value · total, and of totals */
} wi_pass_totals;

/* Where a pass begins if it continues an epoch after a checkpoint. The sums of its metrics have been restored already. */
typedef struct wi_pass_start {
    size_t step; /* finished steps of the epoch */
    wi_pass_totals totals;
} wi_pass_start;

typedef struct wi_pass wi_pass;
typedef struct wi_shards wi_shards;
/* The shard number `index` of a batch has the batch's examples [first, first + count). */
typedef struct wi_shard_examples {
    size_t index, first, count;
} wi_shard_examples;

typedef struct wi_pass_hooks {
    void *user;
    /* Called in place of weft_plan_run; may be NULL. If it sets record->loss, it clears record->measured, and the
     * outputs of the plan are not read. */
    weft_status (*run)(void *user, weft_plan *plan, const void *const *columns, wi_record *record);
    /* If batches are divided: called in place of weft_plan_run for the loss of a shard; may be NULL. columns: of the shard's examples. */
    weft_status (*run_shard)(
        void *user, weft_plan *plan, const void *const *columns, const wi_shard_examples *shard);
    /* After a step was enqueued. *finish: end the interval now. *stop: end the pass. */
    weft_status (*after_step)(void *user, bool *finish, bool *stop);
    /* After an interval, with its records; pass->totals include them. */
    weft_status (*after_interval)(void *user, const wi_record *records, size_t count);
} wi_pass_hooks;

typedef struct wi_pass_options {
    weft_tensor *loss;
    const wi_loss_terms *terms; /* of the loss */
    weft_tensor *const *updates;
    size_t update_count;
    weft_tensor *rate; /* of the updates; NULL: none */
    wi_measure_list measured;
    size_t memory_limit;            /* of each plan; 0: none */
    wi_shards *shards;              /* divides the batches; NULL: they are not divided */
    bool counts;                    /* the last metric of `measured` is the accuracy */
    bool partial;                   /* inputs may lack a column, because a step callback writes them */
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
    size_t batch, threads; /* threads: of the loader; 0: its default */
    size_t memory_limit;   /* of each plan; 0: none */
    uint64_t seed;
    wi_feed feed;
    wi_measures measures;
    unsigned char *measured;   /* outputs that were read back: one slot per step of an interval */
    size_t slot_examples;      /* examples for which a slot has room */
    weft_dataset *dataset;     /* the prepared dataset, with the graph's numbers of categories; retained */
    const weft_dataset *given; /* the caller's dataset, which is `dataset` or its base */
    const weft_graph *known;   /* the graph with whose encodings datasets are compared; NULL: none */
    uint64_t known_version;    /* version of the graph's encodings when `dataset` was compared */
    weft_loader *loader;
    wi_shards *
        shards; /* if not NULL, batches are divided, and the plans of shards.h are used instead of full and rest */
    weft_plan *full, *rest;
    size_t full_examples, rest_examples;
    size_t interval, pending;
    wi_record records[WI_PASS_INTERVAL];
    wi_pass_totals totals;
};

/* The caller has set batch, threads, seed, shuffle, drop_last and known in a zeroed pass, and clears it, also after an
 * error. */
weft_status wi_pass_init(wi_pass *pass, const weft_allocator *allocator, const wi_pass_options *options);
void wi_pass_clear(wi_pass *pass);
/* Creates *plan for these outputs and so many examples, on a device of the context. It stays NULL while the length of sequences is not
 * known. */
weft_status wi_pass_create_plan(const wi_pass *pass, weft_plan **plan, int device,
    weft_tensor *const *outputs, size_t count, size_t examples);
/* Creates the plan for whole batches of `examples` examples. */
weft_status wi_pass_plan(wi_pass *pass, size_t examples);
/* Releases all plans. wi_pass_prepare creates them again. */
void wi_pass_forget_plans(wi_pass *pass);
/* Creates what an epoch over the dataset needs: plans, loader and buffers. Reuses them for the dataset of the last call. */
weft_status wi_pass_prepare(wi_pass *pass, weft_dataset *dataset);
/* Runs one epoch, from `start` on, or if that is NULL the whole epoch with totals from 0. hooks may be NULL. */
weft_status wi_pass_run(
    wi_pass *pass, uint64_t epoch, const wi_pass_start *start, const wi_pass_hooks *hooks);
/* Stores the encodings of the dataset in the graph, with which later datasets of the pass are compared. */
weft_status wi_pass_keep_encodings(wi_pass *pass, weft_graph *graph);
size_t wi_pass_steps(const wi_pass *pass); /* per epoch */

/* Did the step change nothing, because its gradients overflowed? */
bool wi_record_is_skipped(const wi_record *record);
/* The mean loss: the mean of each term, weighted by totals, plus the mean of the rest over examples. NaN before the
 * first interval, or if nothing counts. */
double wi_pass_loss(const wi_pass *pass);
double wi_pass_accuracy(const wi_pass *pass);       /* NaN if no accuracy is measured */
double *wi_pass_accuracy_sums(const wi_pass *pass); /* correct rows, all rows; NULL if none is measured */

#endif
