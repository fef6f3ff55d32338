/* weft/train.h: datasets, and a trainer that runs epochs over them. */
#ifndef WEFT_TRAIN_H
#define WEFT_TRAIN_H

#include <weft/nn.h>
#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- datasets: examples with one or more columns, each column a fixed shape and dtype ---- */
typedef struct weft_dataset weft_dataset;

typedef struct weft_column {
    const char *name; /* the name of the graph's input that it feeds */
    weft_dtype dtype; /* WEFT_F32, WEFT_I32 or WEFT_U8 */
    int rank;         /* of one example; 0: a number */
    int64_t dims[WEFT_MAX_RANK];
    const void *data; /* examples × dims, row-major */
} weft_column;

/* From memory: examples of count columns; copies the data. */
WEFT_API weft_status weft_dataset_from_memory(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
/* A folder with MNIST's IDX files, plain or gzip: PREFIX-images-idx3-ubyte[.gz],
 * PREFIX-labels-idx1-ubyte[.gz], for prefix "train" and "t10k". Columns: "image" f32 (1, height, width) in
 * 0..1, "label" i32. */
WEFT_API weft_status weft_dataset_open_idx(
    weft_dataset **dataset, weft_context *context, const char *folder, const char *prefix);
WEFT_API weft_dataset *weft_dataset_retain(weft_dataset *dataset);
WEFT_API void weft_dataset_release(weft_dataset *dataset);      /* NULL is fine */
WEFT_API size_t weft_dataset_size(const weft_dataset *dataset); /* examples */
WEFT_API size_t weft_dataset_column_count(const weft_dataset *dataset);
WEFT_API const weft_column *weft_dataset_column(const weft_dataset *dataset, size_t index); /* borrowed */

/* ---- loader: shuffled batches, gathered by a thread ahead of their use ---- */
typedef struct weft_loader weft_loader;

typedef struct weft_loader_options {
    size_t struct_size;
    size_t batch;    /* default 32 */
    bool shuffle;    /* default false */
    bool drop_last;  /* default false: the last batch of an epoch may be smaller */
    uint64_t seed;   /* of the shuffle; with the epoch's number it fixes the order */
    size_t prefetch; /* batches gathered ahead; default 2 */
} weft_loader_options;
#define WEFT_LOADER_OPTIONS_INIT .struct_size = sizeof(weft_loader_options)

WEFT_API weft_status weft_loader_create(
    weft_loader **loader, weft_dataset *dataset, const weft_loader_options *options);
WEFT_API void weft_loader_release(weft_loader *loader);
/* Begins an epoch; the first is 0. */
WEFT_API weft_status weft_loader_begin(weft_loader *loader, uint64_t epoch);
/* The next batch: examples in it (0: the epoch is over); columns[i] points to the i-th column's data, valid
 * until the prefetch-th next call. */
WEFT_API weft_status weft_loader_next(weft_loader *loader, size_t *examples, const void **columns);

/* ---- trainer ---- */
typedef struct weft_trainer weft_trainer;

typedef struct weft_epoch {
    size_t epoch;  /* from 0 */
    size_t epochs; /* in all */
    size_t step;   /* steps done in all */
    size_t steps_per_epoch;
    size_t step_in_epoch; /* steps done in this epoch */
    double loss;          /* mean over the examples of the epoch so far; NaN until the first are read back */
    double accuracy;      /* of training examples so far; NaN without logits */
    double validation_loss; /* NaN without validation, or before the epoch's end */
    double validation_accuracy;
    double seconds; /* since the run began */
} weft_epoch;

/* Return false to stop training after this step. */
typedef bool (*weft_progress_callback)(void *user, const weft_epoch *state);

typedef enum weft_not_finite { WEFT_NOT_FINITE_STOP, WEFT_NOT_FINITE_CONTINUE } weft_not_finite;

typedef struct weft_trainer_options {
    size_t struct_size;
    weft_optimizer optimizer; /* default weft_adam(1e-3f) */
    size_t epochs;            /* default 1 */
    size_t batch;             /* default 32 */
    uint64_t seed;            /* of the shuffle; default 0 */
    bool keep_order;          /* default false: shuffled */
    weft_tensor *logits;      /* (batch, classes): accuracy is counted against `labels`; default none */
    const char *labels;       /* name of the label column; default "label" */
    weft_dataset *validation; /* default none; retained */
    weft_progress_callback on_epoch; /* after each epoch, validation included */
    weft_progress_callback on_step;  /* after each step; loss and accuracy lag by up to a few steps */
    void *user;
    weft_not_finite
        not_finite; /* what a NaN or infinite loss does; default stop, with WEFT_ERROR_NOT_FINITE */
    weft_schedule
        schedule; /* default constant, when callbacks may set weft_minimize_rate. Counts the trainer's
                     epochs, or updates, over all runs; a plateau takes the validation loss */
} weft_trainer_options;
#define WEFT_TRAINER_OPTIONS_INIT .struct_size = sizeof(weft_trainer_options)

/* Builds gradient and update nodes for loss and plans the first batch size. Inputs of the graph are fed from
 * the dataset columns of the same name. */
WEFT_API weft_status weft_trainer_create(
    weft_trainer **trainer, weft_tensor *loss, const weft_trainer_options *options);
WEFT_API weft_trainer *weft_trainer_retain(weft_trainer *trainer);
WEFT_API void weft_trainer_release(weft_trainer *trainer);
/* Trains for the options' epochs; may be called again to go on. Errors: labels out of range (with the
 * example's number), WEFT_ERROR_NOT_FINITE with the step at which it began, WEFT_ERROR_CANCELLED. */
WEFT_API weft_status weft_trainer_run(weft_trainer *trainer, weft_dataset *dataset);
WEFT_API weft_status weft_trainer_cancel(weft_trainer *trainer); /* from any thread; the run returns soon */
/* Loss and accuracy over a dataset, without training. Either pointer may be NULL. */
WEFT_API weft_status weft_trainer_evaluate(
    weft_trainer *trainer, weft_dataset *dataset, double *loss, double *accuracy);

typedef struct weft_training_info {
    size_t steps;               /* done in all */
    double seconds;             /* of the runs so far */
    double first_step_seconds;  /* from weft_trainer_create's begin to the end of the first step */
    double median_step_seconds; /* of the last run, whole steps, loading included */
    size_t not_finite_step;     /* the step, from 0, at which the loss first became NaN or infinite; SIZE_MAX:
                                   never */
} weft_training_info;
WEFT_API void weft_trainer_get_info(const weft_trainer *trainer, weft_training_info *info);

/* Inference on a batch of any size: inputs by name, one output. Plans are kept per batch size.
 * data: batch examples, row-major; output: `bytes` of output's exact size at that batch. */
WEFT_API weft_status weft_predict(
    weft_tensor *output, size_t batch, const weft_column *inputs, size_t count, void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
