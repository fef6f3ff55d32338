/* weft/train.h: datasets, loaders, and a trainer that runs epochs over datasets. */
#ifndef WEFT_TRAIN_H
#define WEFT_TRAIN_H

#include <weft/io.h>
#include <weft/metrics.h>
#include <weft/nn.h>
#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- datasets: examples with one or more columns, each of a fixed shape and dtype ---- */
typedef struct weft_dataset weft_dataset;
/* What the numbers of a column stand for: categories by their texts, or numbers that were normalised. A graph keeps those
 * of the columns that it is trained with, and checkpoints have them; see weft_graph_category. */
typedef struct weft_encoding weft_encoding;

typedef struct weft_column {
    const char
        *name; /* the name of the input of the graph that it feeds; two columns for one input are an error */
    weft_dtype dtype; /* WEFT_F32, WEFT_I32 or WEFT_U8 */
    int rank;         /* of one example; 0: a single number */
    int64_t dims[WEFT_MAX_RANK];
    const void *data; /* examples × dims, row-major; NULL in a dataset of images, which are made when they are
                         loaded */
    const weft_encoding *encoding; /* of a dataset, borrowed from it; NULL: not known, and never compared */
} weft_column;

/* From memory: `count` columns of `examples` examples; the data is copied, and the encodings of columns that come from
 * another dataset. */
WEFT_API weft_status weft_dataset_from_memory(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
/* A folder with the IDX files of MNIST, plain or gzip: PREFIX-images-idx3-ubyte[.gz] and
 * PREFIX-labels-idx1-ubyte[.gz], with the prefix "train" or "t10k". Columns: "image" f32 (1, height, width)
 * in [0, 1], "label" i32. */
WEFT_API weft_status weft_dataset_open_idx(
    weft_dataset **dataset, weft_context *context, const char *folder, const char *prefix);
/* The same of two files of any name. */
WEFT_API weft_status weft_dataset_open_idx_files(
    weft_dataset **dataset, weft_context *context, const char *images, const char *labels);

/* What happens with missing values: empty or blank cells; in number and integer columns also NA, N/A, NaN,
 * null, None and ? in any case. */
typedef enum weft_missing { WEFT_MISSING_ERROR, WEFT_MISSING_SKIP_ROW, WEFT_MISSING_FILL } weft_missing;
typedef enum weft_csv_kind {
    WEFT_CSV_NUMBER,  /* f32 */
    WEFT_CSV_INTEGER, /* i32 */
    WEFT_CSV_CATEGORY /* text to i32: 0, 1, ... in sorted order (whole numbers first, by value) */
} weft_csv_kind;

/* A column of the dataset, made from one or more columns of the table (its fields). */
typedef struct weft_csv_column {
    const char *name; /* of the column of the dataset, and so of the input of the graph */
    weft_csv_kind kind;
    const char *const *fields; /* names of columns of the table, ended by NULL; default: by position */
    size_t first, count;       /* index of the first field, and their number; default count 1 */
    int rank; /* rank and dims: the shape of an example; default: () for one field, (fields) for more */
    int64_t dims[WEFT_MAX_RANK];
    /* Category: its texts in the order of their numbers, ended by NULL; any other text is an error. Default:
     * those of the option `like`, else those in the table. */
    const char *const *categories;
} weft_csv_column;

typedef struct weft_csv_options {
    size_t struct_size;
    /* Default: one column for each of the table (65,536 at most), with its name ("column1", ... without a
     * header): as `like` has it; else numbers if all its cells are numbers, and categories if hardly any are. If at least
     * nine in ten are, or would be in another form ("1,200", "21,73", "5 %"), the others are an error that quotes them. */
    const weft_csv_column *columns;
    size_t column_count;
    char separator;       /* default ',' */
    bool no_header;       /* default false: the first row contains names */
    bool trim;            /* default false; true: removes blanks around cells, except within quotes */
    weft_missing missing; /* default: an error that names the row and the column */
    double fill;          /* for WEFT_MISSING_FILL, in number and integer columns; a missing category stays an
                             error */
    char decimal;         /* in numbers: '.' (the default) or ',' */
    char thousands;       /* between groups of three digits: ',', '.', '\'' or ' '; default none */
    /* Whole numbers that f32 rounds, as identifiers above 2^24, in number columns: default an error; true: rounded. */
    bool rounded;
    const weft_dataset *like; /* its categories are used for columns of the same names; default none */
} weft_csv_options;
#define WEFT_CSV_OPTIONS_INIT .struct_size = sizeof(weft_csv_options)

/* A CSV table (RFC 4180: quotes, doubled quotes, line breaks within quotes; lines end with LF, CR LF or CR; a
 * UTF-8 byte order mark and empty lines are skipped). Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT with line
 * and column. */
WEFT_API weft_status weft_dataset_open_csv(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_csv_options *options);
/* The number of categories of a column (0 if it has none), and the text of one; NULL if there is none.
 * Borrowed. */
WEFT_API size_t weft_dataset_category_count(const weft_dataset *dataset, size_t column);
WEFT_API const char *weft_dataset_category(const weft_dataset *dataset, size_t column, int32_t category);
/* The same of the columns that a graph was trained with, by the name of the column ("label"). A graph has them from the
 * first run of a trainer, or from a checkpoint. Borrowed until the next of these. */
WEFT_API size_t weft_graph_category_count(const weft_graph *graph, const char *column);
WEFT_API const char *weft_graph_category(const weft_graph *graph, const char *column, int32_t category);

/* A column of a dataset from a NumPy file of shape (examples, dims...). */
typedef struct weft_npy_column {
    const char *name;
    const char *path;
    weft_dtype
        dtype; /* WEFT_F32 (from any floats, and whole numbers that it does not round), WEFT_I32 or WEFT_U8 (from
                         whole numbers that fit) */
} weft_npy_column;
/* One .npy file per column (see weft_load_npy), all with the same number of examples. */
WEFT_API weft_status weft_dataset_open_npy(
    weft_dataset **dataset, weft_context *context, const weft_npy_column *columns, size_t count);

/* Splits a dataset into two new ones: `count` examples drawn at random (determined by the seed), and all
 * others; both in the order of the dataset. */
WEFT_API weft_status weft_dataset_split(
    weft_dataset **drawn, weft_dataset **others, const weft_dataset *dataset, size_t count, uint64_t seed);
WEFT_API weft_dataset *weft_dataset_retain(weft_dataset *dataset);
WEFT_API void weft_dataset_release(weft_dataset *dataset);              /* NULL is allowed */
WEFT_API size_t weft_dataset_size(const weft_dataset *dataset);         /* examples */
WEFT_API size_t weft_dataset_column_count(const weft_dataset *dataset); /* columns */
WEFT_API const weft_column *weft_dataset_column(const weft_dataset *dataset, size_t index); /* borrowed */

/* ---- loader: shuffled batches, made in advance by threads ---- */
typedef struct weft_loader weft_loader;

typedef struct weft_loader_options {
    size_t struct_size;
    size_t batch;    /* default 32 */
    bool shuffle;    /* default false */
    bool drop_last;  /* default false: the last batch of an epoch may be smaller */
    uint64_t seed;   /* of shuffle and augmentation; it determines every batch, together with the number of
                        the epoch */
    size_t prefetch; /* number of batches made in advance, 1 or more; default 2 */
    size_t threads;  /* threads that make them; default 1, for images one per processor and at most 8. Batches
                        do not depend on their number */
} weft_loader_options;
#define WEFT_LOADER_OPTIONS_INIT .struct_size = sizeof(weft_loader_options)

/* The dataset is retained. options NULL means all defaults. Errors: WEFT_ERROR_ARGUMENT,
 * WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_loader_create(
    weft_loader **loader, weft_dataset *dataset, const weft_loader_options *options);
WEFT_API void weft_loader_release(weft_loader *loader); /* NULL is allowed */
/* Begins an epoch; the first one is 0. */
WEFT_API weft_status weft_loader_begin(weft_loader *loader, uint64_t epoch);
/* Returns the next batch: *examples is its number of examples (0: the epoch has ended), columns[i] points to
 * the data of column i, valid until the prefetch-th next call. An image that cannot be read is an error that
 * names its file, and stays one until weft_loader_begin. */
WEFT_API weft_status weft_loader_next(weft_loader *loader, size_t *examples, const void **columns);

/* ---- trainer ---- */
typedef struct weft_trainer weft_trainer;

typedef struct weft_epoch {
    size_t epoch;  /* from 0 */
    size_t epochs; /* in all */
    size_t step;   /* steps finished, in all */
    size_t steps_per_epoch;
    size_t step_in_epoch; /* steps finished in this epoch */
    double loss; /* of the epoch so far, as weft_trainer_evaluate puts batches together; NaN until the first
                               values are read back */
    double accuracy; /* of the training labels that count, so far; NaN without logits, or before the first */
    double validation_loss; /* NaN without validation, or before the epoch's end */
    double validation_accuracy;
    double seconds;       /* since the run began */
    double learning_rate; /* now; NaN if there is none */
    /* In the order of the option `metrics`, after an epoch, else NaN. Borrowed, valid until the next
     * epoch. */
    size_t metric_count;
    const double *training_metrics, *validation_metrics;
    size_t best_epoch; /* with the best value that early stopping watches; SIZE_MAX: none, or not watched */
    double best;       /* the value in that epoch */
} weft_epoch;

/* Returns false to stop training after this step. */
typedef bool (*weft_progress_callback)(void *user, const weft_epoch *state);

/* A step in progress: the inputs of the plan contain the batch. */
typedef struct weft_step {
    weft_trainer *trainer;
    weft_plan *plan; /* of loss, metrics and update at this batch size */
    size_t step;     /* from 0, over all runs */
    size_t epoch;    /* from 0, of this run */
    size_t examples; /* of the batch */
    weft_dataset *dataset;
    const void *const *columns; /* the batch as weft_loader_next gives it; valid for the call */
    /* Set by a callback that does not run the plan: the mean loss of the batch. */
    bool has_loss;
    float loss;
} weft_step;

/* Replaces weft_plan_run(step->plan). It can run the plan once or several times, after writing further inputs
 * or setting scalars, or do something else and set step->loss. The loss is read from the last run of the plan
 * unless has_loss is set; a step with neither is WEFT_ERROR_STATE. Any status other than WEFT_OK ends the
 * training with that status. The callback must write inputs that are not columns of the dataset. */
typedef weft_status (*weft_step_callback)(void *user, weft_step *step);

/* Watches a value from epoch to epoch: early stopping, and the weights of the best epoch. Everything restarts
 * with each run; NaN is never best. */
typedef enum weft_mode { WEFT_MODE_AUTO, WEFT_MODE_MIN, WEFT_MODE_MAX } weft_mode;
typedef struct weft_early_stopping {
    /* "loss", "accuracy", the name of a metric (with `training_metrics`), or one of these after
     * "validation_". Default "validation_loss"; without validation "loss". */
    const char *monitor;
    weft_mode mode; /* default auto: minimum of losses, errors and perplexity, else maximum */
    size_t
        patience; /* epochs without an improvement before it stops; 0 (the default): never; WEFT_ZERO: at the
                              first one, as 1 */
    double minimum_change; /* an improvement must be larger than this; default 0 */
    bool keep_best;        /* keeps the best weights in host memory, for weft_trainer_restore_best */
    bool restore_best;     /* keeps them, and restores them at the end of a run, however it ends */
    const char *best_file; /* saves the best weights there (weft_weights_save); default none */
} weft_early_stopping;

/* When a trainer saves a checkpoint: whenever one of these has passed since the last one. All 0: after each epoch. */
typedef struct weft_checkpoint_every {
    size_t steps;
    size_t epochs;
    double seconds;
} weft_checkpoint_every;

typedef enum weft_not_finite { WEFT_NOT_FINITE_STOP, WEFT_NOT_FINITE_CONTINUE } weft_not_finite;

typedef struct weft_trainer_options {
    size_t struct_size;
    weft_optimizer optimizer; /* default weft_adam(1e-3f) */
    size_t epochs;            /* default 1; WEFT_ZERO: 0, a run trains nothing */
    size_t batch;             /* default 32 */
    uint64_t seed;            /* of the shuffle and of the augmentation of images; default 0 */
    size_t loader_threads;    /* as weft_loader_options.threads */
    bool keep_order;          /* default false: shuffled */
    bool drop_last; /* default false: the last batch of an epoch may be smaller; true: it is left out, and a
                                 dataset smaller than a batch is WEFT_ERROR_ARGUMENT. Validation leaves nothing out */
    /* Logits f32 (batch, ..., classes), or (batch, classes, ...) as weft_cross_entropy takes them, for the accuracy: a
     * WEFT_ACCURACY with regard to `labels`. (batch, 1) and (batch) are logits of two classes: class 1 above 0. The
     * accuracy counts the labels that the loss counts: without those that the loss over `labels` ignores or masks
     * (weft_cross_entropy_loss, weft_nll_loss, weft_sequence_cross_entropy). Default none */
    weft_tensor *logits;
    const char *labels; /* name of the label column, i32, or f32 for two classes; default "label" */
    /* What counts in the accuracy, and in metrics that do not say otherwise. ignore with a label that the loss over the same
     * labels does not ignore, too, is WEFT_ERROR_ARGUMENT. */
    bool ignore;
    int32_t ignored_label;
    const char *weights,
        *lengths; /* columns, as in weft_metric, and as there no others than the loss has; default none */
    weft_dataset *validation;        /* default none; retained */
    weft_progress_callback on_epoch; /* after each epoch, validation included */
    weft_progress_callback on_step;  /* after each step; loss and accuracy may be a few steps old */
    void *user;
    weft_not_finite not_finite; /* on a NaN or infinite loss; default stop, with WEFT_ERROR_NOT_FINITE */
    const weft_metric *metrics; /* copied; for validation and evaluation */
    size_t metric_count;        /* at most WEFT_MAX_METRICS */
    bool training_metrics;      /* default false; true: for the training examples of each epoch, too */
    weft_tensor *output;        /* read by metrics without an output of their own; default `logits` */
    weft_early_stopping early_stopping;
    /* Logs, written by whole lines; opened when the first run begins, closed with the trainer. A resumed training
     * continues them, without what was written after the checkpoint, since that is written again. One line per
     * epoch: "event" (epoch or step), "epoch" and "step" (from 1), the values that early_stopping.monitor can
     * name, "learning_rate", "seconds". A number that is not finite is nan, inf or empty in CSV, and null in
     * JSON. */
    const char *csv_log, *json_log; /* paths; default none */
    bool log_steps;                 /* a line per step, too: loss and accuracy of its batch, and its rate */
    bool append_logs;               /* default false: replaces an existing file */
    weft_step_callback step;        /* default: weft_plan_run */
    weft_tensor *const *updates;    /* assignments that train, instead of those of the optimizer */
    size_t update_count;            /* at most WEFT_MAX_UPDATES */
    weft_tensor *const *carries;    /* further assignments of every step, also in validation and evaluation:
                                       state that is carried to the next batch (text.h) */
    size_t carry_count;             /* at most WEFT_MAX_CARRIES */
    weft_schedule
        schedule; /* default constant, with which callbacks may set weft_minimize_rate. Counts the epochs or
                     updates of the trainer over all runs; a plateau uses the validation loss */
    size_t memory_limit; /* of each of its plans, as in weft_plan_options; default none */
    /* The folder for checkpoints (io.h), which is made if it is missing; default none. step-N.safetensors is the state
     * after N steps; best-N.safetensors the same after the epoch with the best value, if early_stopping watches one.
     * Besides those that are due, one is saved when a run ends or is stopped. The step loop only copies to host memory; a
     * thread writes the file, and while it does no other one is begun, except after the last or the best epoch. If it
     * fails, the run ends with its error. */
    const char *checkpoint;
    weft_checkpoint_every checkpoint_every;
    size_t checkpoint_keep; /* the newest files that are kept, besides the best; default 3; SIZE_MAX: all */
    /* Tensors of the caller, copied without their data, which is read at each checkpoint and written by
     * weft_trainer_resume; at most WEFT_MAX_EXTRAS. */
    const weft_checkpoint_extra *checkpoint_extras;
    size_t checkpoint_extra_count;
    /* default f32, which leaves the graph's; others: weft_graph_set_precision. In f16 a step that is skipped is logged, and
     * schedules by step do not count it, from the next multiple of 16 steps on. */
    weft_precision precision;
    /* Default WEFT_MATMUL_PRECISION_HIGHEST, which leaves the graph's; others: weft_graph_set_matmul_precision. */
    weft_matmul_precision matmul_precision;
} weft_trainer_options;
#define WEFT_MAX_EXTRAS           16
#define WEFT_MAX_METRICS          16
#define WEFT_MAX_CARRIES          16
#define WEFT_TRAINER_OPTIONS_INIT .struct_size = sizeof(weft_trainer_options)

/* Creates the gradient and update nodes of loss, and a plan for the first batch size. The inputs of the graph
 * are fed from the columns of the same names in the dataset. After an error the graph has no state of the
 * optimizer, and the precisions that it had before. */
WEFT_API weft_status weft_trainer_create(
    weft_trainer **trainer, weft_tensor *loss, const weft_trainer_options *options);
WEFT_API weft_trainer *weft_trainer_retain(weft_trainer *trainer);
WEFT_API void weft_trainer_release(weft_trainer *trainer);
/* Trains for the epochs of the options; call it again to continue. All files that it will write are tried before anything
 * else. A window of accumulation (weft_optimizer.accumulate) ends with its epoch: the last update of an epoch is by the mean
 * over the batches that its window holds. A run that is stopped within an epoch leaves its window open for the next run. A
 * batch in which no label counts (losses.h) changes nothing: no update, no step of a schedule (from the next multiple of 16
 * steps on), no part of loss and accuracy. Errors: WEFT_ERROR_FILE; labels out of range (with the number of the example),
 * WEFT_ERROR_NOT_FINITE with the step at which it began, WEFT_ERROR_CANCELLED. */
WEFT_API weft_status weft_trainer_run(weft_trainer *trainer, weft_dataset *dataset);
WEFT_API weft_status weft_trainer_cancel(weft_trainer *trainer); /* from any thread; the run ends soon */
/* From any thread, a callback or a signal handler: the run ends after the step in progress with WEFT_OK, and saves a
 * checkpoint if there is a folder for them. Before a run: that run ends after its first step. */
WEFT_API weft_status weft_trainer_stop(weft_trainer *trainer);
/* Restores a training from a checkpoint, or from the newest one in a folder; then weft_trainer_run continues the run that
 * was interrupted, in the same epoch, after the same step. With the same options and data the weights after it have the
 * same bits as if it had not been interrupted; the number of epochs may be another. A newest file that is damaged is
 * logged, and the one before it is used. *found: false, and nothing happens, if the folder has no checkpoint or does not
 * exist; with found NULL that is an error. Errors, after which nothing has changed: those of weft_checkpoint_load;
 * WEFT_ERROR_ARGUMENT: another seed, batch or order. */
WEFT_API weft_status weft_trainer_resume(weft_trainer *trainer, const char *path, bool *found);
/* Loss and accuracy over a dataset, without training. Either pointer may be NULL.
 *
 * The loss does not depend on the size of batches: a mean over what counts (losses.h) is the sum over the dataset divided by
 * the total over the dataset, not the mean of the batches' means. That holds for sums and differences of up to eight such
 * means, times or divided by what does not depend on the batch. The rest of a loss, and so every loss that is not such a
 * sum, is the mean over the batches weighted by their examples: exact for means over all examples (weft_mse, weft_mean),
 * not for sums over a batch, for quotients and functions of means that the program writes itself (weft_masked_mean is the
 * mean under a mask), or for losses between the examples of a batch. NaN if nothing counts in the whole dataset. */
WEFT_API weft_status weft_trainer_evaluate(
    weft_trainer *trainer, weft_dataset *dataset, double *loss, double *accuracy);

/* The state of metric `index` after the last validation or evaluation (training: after the last epoch, with
 * `training_metrics`), for weft_metric_result and weft_metric_values. Borrowed; NULL if there is none. */
WEFT_API const weft_metric_state *weft_trainer_metric(
    const weft_trainer *trainer, size_t index, bool training);
/* Restores the weights (parameters and named states) of the best epoch. WEFT_ERROR_STATE if none were
 * kept. */
WEFT_API weft_status weft_trainer_restore_best(weft_trainer *trainer);

typedef struct weft_training_info {
    size_t steps;               /* finished, in all */
    double seconds;             /* of the runs so far */
    double first_step_seconds;  /* from the start of weft_trainer_create to the end of the first step */
    double median_step_seconds; /* of the last run, for whole steps with loading */
    size_t not_finite_step;     /* the step, from 0, at which the loss first became NaN or infinite; SIZE_MAX:
                                   never */
    bool stopped_early;         /* the last run ended because the watched value did not improve */
    size_t best_epoch;          /* of the last run, from 0; SIZE_MAX: none */
    double best;                /* the watched value in that epoch; NaN: none */
    bool stopped;               /* the last run was ended by weft_trainer_stop or by a callback */
    size_t skipped_steps;       /* in f16: those whose gradients overflowed, which changed nothing */
    size_t empty_steps;         /* those in which no label counts, which changed nothing */
    double loss_scale;          /* after the last step; 0: losses are not scaled */
} weft_training_info;
/* Figures of the runs so far. trainer NULL: those of a trainer that has not run. */
WEFT_API void weft_trainer_get_info(const weft_trainer *trainer, weft_training_info *info);

/* Inference on a batch of any size: inputs by name, one output. Plans are kept per batch size, and per length where inputs
 * have WEFT_LENGTH, which is that of the columns. The data of
 * inputs is `batch` examples, row-major; `bytes` is the exact size of the output at that batch. */
WEFT_API weft_status weft_predict(
    weft_tensor *output, size_t batch, const weft_column *inputs, size_t count, void *data, size_t bytes);
/* One of several outputs: where its values go, and their exact bytes. */
typedef struct weft_prediction {
    weft_tensor *output;
    void *data;
    size_t bytes;
} weft_prediction;
/* The same with several outputs, 16 at most, in one run: what they have in common is computed once. */
WEFT_API weft_status weft_predict_all(const weft_prediction *outputs, size_t output_count, size_t batch,
    const weft_column *inputs, size_t count);

#ifdef __cplusplus
}
#endif
#endif
