/* weft/train.h: datasets, loaders, and a trainer that runs epochs over datasets. */
#ifndef WEFT_TRAIN_H
#define WEFT_TRAIN_H

#include <weft/distributed.h>
#include <weft/io.h>
#include <weft/metrics.h>
#include <weft/nn.h>
#include <weft/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- datasets: examples with one or more columns, each of a fixed shape and dtype ---- */
typedef struct weft_dataset weft_dataset;
/* What the numbers of a column stand for: the texts of its categories, or the mean and deviation of its normalisation.
 * A graph keeps the encodings of the columns that it is trained with, checkpoints contain them, and other datasets are
 * compared with them; see weft_graph_category. */
typedef struct weft_encoding weft_encoding;

typedef struct weft_column {
    /* The name of the graph's input that the column feeds. Two columns for one input are an error. */
    const char *name;
    weft_dtype dtype; /* WEFT_F32, WEFT_I32 or WEFT_U8 */
    int rank;         /* of one example; 0: a single number */
    int64_t dims[WEFT_MAX_RANK];
    /* examples × dims, row-major. NULL if the loader reads or decodes each example when it needs it: images, files of
     * records, and files larger than weft_context_options.data_limit. */
    const void *data;
    const weft_encoding *encoding; /* borrowed from a dataset; NULL: not known, and never compared */
} weft_column;

/* A dataset from memory: `count` columns of `examples` examples. Data and encodings of the columns are copied. */
WEFT_API weft_status weft_dataset_from_memory(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
/* A dataset from a folder with the IDX files of MNIST, plain or in gzip: PREFIX-images-idx3-ubyte[.gz] and
 * PREFIX-labels-idx1-ubyte[.gz], with the prefix "train" or "t10k". Columns: "image" f32 (1, height, width) in [0, 1],
 * "label" i32. */
WEFT_API weft_status weft_dataset_open_idx(
    weft_dataset **dataset, weft_context *context, const char *folder, const char *prefix);
/* A dataset from two IDX files of any name, with the columns of weft_dataset_open_idx. */
WEFT_API weft_status weft_dataset_open_idx_files(
    weft_dataset **dataset, weft_context *context, const char *images, const char *labels);

/* What happens with missing values. A value is missing if its cell is empty or blank; in number and integer columns
 * also if it is NA, N/A, NaN, null, None (in upper or lower case) or ?. */
typedef enum weft_missing { WEFT_MISSING_ERROR, WEFT_MISSING_SKIP_ROW, WEFT_MISSING_FILL } weft_missing;
typedef enum weft_csv_kind {
    WEFT_CSV_NUMBER,  /* f32 */
    WEFT_CSV_INTEGER, /* i32 */
    WEFT_CSV_CATEGORY /* i32: texts are numbered 0, 1, ... in sorted order (whole numbers first, by value) */
} weft_csv_kind;

/* A column of the dataset, which consists of one or more columns of the table (its fields). */
typedef struct weft_csv_column {
    const char *name; /* of the column of the dataset, and of the graph's input that it feeds */
    weft_csv_kind kind;
    const char *const *fields; /* names of columns of the table, ended by NULL; NULL: `first` and `count` */
    size_t first, count;       /* index of the first field, and the number of fields; default count 1 */
    int rank; /* rank and dims: the shape of an example; default: () for one field, (fields) for more */
    int64_t dims[WEFT_MAX_RANK];
    /* Of WEFT_CSV_CATEGORY: the texts in the order of their numbers, ended by NULL; any other text is an error.
     * Default: the categories of the option `like`; without these, the texts of the table. */
    const char *const *categories;
} weft_csv_column;

typedef struct weft_csv_options {
    size_t struct_size;
    /* Default: one column of the dataset for each column of the table (65,536 at most), with its name ("column1", ...
     * without a header). Its kind is that of the column of the same name in `like`, if there is one; otherwise
     * WEFT_CSV_NUMBER if all cells that are not missing are numbers, or else WEFT_CSV_CATEGORY. An error, which quotes
     * the cells: nine in ten cells or more look like numbers (also "5 %", "1,200", "21,73"), but not all are numbers
     * in the format of these options. */
    const weft_csv_column *columns;
    size_t column_count;
    char separator;       /* default ',' */
    bool no_header;       /* default false: the first row contains names */
    bool trim;            /* default false; true: removes blanks around cells, except within quotes */
    weft_missing missing; /* default: an error that names the row and the column */
    double fill; /* for WEFT_MISSING_FILL: of number and integer columns; a missing category stays an error */
    char decimal;   /* the decimal point of numbers: '.' (the default) or ',' */
    char thousands; /* between groups of three digits: ',', '.', '\'' or ' '; default none */
    /* Default false: a whole number in a number column that f32 cannot hold, such as an identifier above 2^24, is an
     * error. true: it is rounded. */
    bool rounded;
    /* Another dataset, such as the training's: columns of the same name get its categories. Default none. */
    const weft_dataset *like;
} weft_csv_options;
#define WEFT_CSV_OPTIONS_INIT .struct_size = sizeof(weft_csv_options)

/* A dataset from a CSV table (RFC 4180: quotes, doubled quotes, line breaks within quotes; lines end with LF, CR LF or
 * CR; a UTF-8 byte order mark and empty lines are skipped). Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT, which names
 * line and column. */
WEFT_API weft_status weft_dataset_open_csv(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_csv_options *options);
/* The number of categories of a column (0: none), and the text of one category (NULL: none; borrowed). */
WEFT_API size_t weft_dataset_category_count(const weft_dataset *dataset, size_t column);
WEFT_API const char *weft_dataset_category(const weft_dataset *dataset, size_t column, int32_t category);
/* The categories of a column that the graph was trained with, by the column's name ("label"). A graph gets categories
 * from the first run of each trainer, and from a checkpoint; a text is borrowed until then. */
WEFT_API size_t weft_graph_category_count(const weft_graph *graph, const char *column);
WEFT_API const char *weft_graph_category(const weft_graph *graph, const char *column, int32_t category);

/* A column of a dataset from a NumPy file of shape (examples, dims...). */
typedef struct weft_npy_column {
    const char *name;
    const char *path;
    /* WEFT_F32: from floats, and from whole numbers that f32 holds exactly. WEFT_I32 or WEFT_U8: from whole numbers in
     * the range of this dtype. */
    weft_dtype dtype;
} weft_npy_column;
/* A dataset from one .npy file per column (see weft_load_npy), all with the same number of examples. */
WEFT_API weft_status weft_dataset_open_npy(
    weft_dataset **dataset, weft_context *context, const weft_npy_column *columns, size_t count);

/* Splits a dataset into two new ones: `count` examples drawn at random (by the seed), and all other examples. Both
 * keep the order of the dataset. */
WEFT_API weft_status weft_dataset_split(
    weft_dataset **drawn, weft_dataset **others, const weft_dataset *dataset, size_t count, uint64_t seed);
WEFT_API weft_dataset *weft_dataset_retain(weft_dataset *dataset);
WEFT_API void weft_dataset_release(weft_dataset *dataset);              /* NULL is allowed */
WEFT_API size_t weft_dataset_size(const weft_dataset *dataset);         /* examples */
WEFT_API size_t weft_dataset_column_count(const weft_dataset *dataset); /* columns */
WEFT_API const weft_column *weft_dataset_column(const weft_dataset *dataset, size_t index); /* borrowed */

/* ---- loader: shuffled batches, which threads prepare in advance ---- */
typedef struct weft_loader weft_loader;

typedef struct weft_loader_options {
    size_t struct_size;
    size_t batch;    /* default 32 */
    bool shuffle;    /* default false */
    bool drop_last;  /* default false: the last batch of an epoch may be smaller */
    uint64_t seed;   /* of shuffle and augmentation; seed and number of the epoch determine every batch */
    size_t prefetch; /* number of batches prepared in advance, 1 or more; default 2 */
    /* Threads that prepare batches; default 1; for images one per processor, at most 8. The content of batches does
     * not depend on the number of threads. */
    size_t threads;
} weft_loader_options;
#define WEFT_LOADER_OPTIONS_INIT .struct_size = sizeof(weft_loader_options)

/* The dataset is retained. options NULL means all defaults. Errors: WEFT_ERROR_ARGUMENT, WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_loader_create(
    weft_loader **loader, weft_dataset *dataset, const weft_loader_options *options);
WEFT_API void weft_loader_release(weft_loader *loader); /* NULL is allowed */
/* Begins an epoch; the first one is 0. */
WEFT_API weft_status weft_loader_begin(weft_loader *loader, uint64_t epoch);
/* Returns the next batch. *examples: its number of examples; 0: the epoch has ended. columns[i]: the data of column i,
 * valid until weft_loader_next has been called `prefetch` more times. An image that cannot be read is an error that
 * names its file; every further call returns this error until weft_loader_begin. */
WEFT_API weft_status weft_loader_next(weft_loader *loader, size_t *examples, const void **columns);

/* ---- trainer ---- */
typedef struct weft_trainer weft_trainer;

typedef struct weft_epoch {
    size_t epoch;  /* the current epoch, from 0 */
    size_t epochs; /* number of epochs of the run */
    size_t step;   /* finished steps, over all runs */
    size_t steps_per_epoch;
    size_t step_in_epoch; /* finished steps of this epoch */
    /* Over the steps of this epoch that were read back so far, averaged as by weft_trainer_evaluate; NaN before the
     * first. accuracy counts labels as the option `logits` says, and is NaN without it. */
    double loss;
    double accuracy;
    double validation_loss; /* NaN without validation, and before the end of the epoch */
    double validation_accuracy;
    double seconds;       /* since the run began */
    double learning_rate; /* the current rate; NaN if there is none */
    /* Values in the order of the option `metrics`; NaN before the end of the epoch. Borrowed until the next epoch. */
    size_t metric_count;
    const double *training_metrics, *validation_metrics;
    size_t best_epoch; /* of the best value (early_stopping); SIZE_MAX: none, or nothing is watched */
    double best;       /* the best value */
} weft_epoch;

/* Returns true to continue, or false to end the run after this step. */
typedef bool (*weft_progress_callback)(void *user, const weft_epoch *state);

/* A step in progress. The batch is already in the inputs of the plan. */
typedef struct weft_step {
    weft_trainer *trainer;
    weft_plan *plan; /* computes loss, metrics and update at this batch size */
    size_t step;     /* from 0, over all runs */
    size_t epoch;    /* from 0, of this run */
    size_t examples; /* of the batch */
    weft_dataset *dataset;
    const void *const *columns; /* the batch as returned by weft_loader_next; valid during the callback */
    /* A callback that does not run the plan sets has_loss, and loss to the mean loss of the batch. */
    bool has_loss;
    float loss;
    size_t shard,
        first_example; /* with gradient_shards: the shard's number, and its first example in the batch */
} weft_step;

/* Replaces weft_plan_run(step->plan). The callback may write further inputs and set scalars, and run the plan once or
 * several times; or it may do something else and set step->loss. It must write the inputs that have no column in the
 * dataset. The loss is read from the last run of the plan unless has_loss is set; if the plan did not run and has_loss
 * is not set, the step is WEFT_ERROR_STATE. Any status other than WEFT_OK ends the training with this status.
 * With gradient_shards the callback is called for each shard that the process computes, and runs the plan of its loss and gradients. The plan,
 * examples and columns are those of the shard; the update follows after the last shard. What the callback writes should depend on step, shard and
 * examples alone, so that it does not matter who computes the shard. Setting has_loss is WEFT_ERROR_UNSUPPORTED. */
typedef weft_status (*weft_step_callback)(void *user, weft_step *step);

/* Watches one value after each epoch, to stop early and to keep the weights of the best epoch. Each run begins without
 * a best value; a resumed run has that of its checkpoint. NaN is never the best value. */
typedef enum weft_mode { WEFT_MODE_AUTO, WEFT_MODE_MIN, WEFT_MODE_MAX } weft_mode;
typedef struct weft_early_stopping {
    /* The watched value: "loss", "accuracy", the name of a metric (with `training_metrics`), or one of these with the
     * prefix "validation_". Default "validation_loss"; without validation "loss". */
    const char *monitor;
    /* Default auto: the smallest loss, error or perplexity is the best, and the largest of any other value. */
    weft_mode mode;
    /* Ends the run after this many epochs in a row without an improvement. Default 0: never. WEFT_ZERO: as 1. */
    size_t patience;
    double minimum_change; /* an improvement must be larger than this; default 0 */
    bool keep_best;        /* keeps the best weights in host memory, for weft_trainer_restore_best */
    bool restore_best;     /* as keep_best, and restores the best weights when a run ends, also by an error */
    const char *best_file; /* path to which the best weights are saved (weft_weights_save); default none */
} weft_early_stopping;

/* When a trainer saves a checkpoint: as soon as one of these has passed since the last checkpoint. All 0: after each
 * epoch. */
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
    /* Default false: the last batch of an epoch may be smaller. true: a smaller last batch is left out, and a dataset
     * smaller than a batch is WEFT_ERROR_ARGUMENT. Validation uses all examples in either case. */
    bool drop_last;
    /* Logits f32 (batch, ..., classes), or (batch, classes, ...) as weft_cross_entropy takes them, whose accuracy
     * (WEFT_ACCURACY, for the column `labels`) is measured. (batch, 1) and (batch): one logit per row, class 1 if it
     * is above 0. Labels that the loss ignores or masks (weft_cross_entropy_loss, weft_nll_loss,
     * weft_sequence_cross_entropy) do not count in the accuracy either. Default none. */
    weft_tensor *logits;
    const char *labels; /* name of the label column, i32, or f32 for two classes; default "label" */
    /* true: the label ignored_label does not count in the accuracy, nor in metrics whose `ignore` is unset
     * (weft_metric). WEFT_ERROR_ARGUMENT: the loss over these labels ignores another label, or none. */
    bool ignore;
    int32_t ignored_label;
    const char *weights, *lengths;   /* names of columns, as in weft_metric; default none */
    weft_dataset *validation;        /* default none; retained */
    weft_progress_callback on_epoch; /* called after each epoch and its validation */
    weft_progress_callback on_step;  /* called after each step; loss and accuracy may be a few steps old */
    void *user;                      /* the first argument of the callbacks */
    weft_not_finite not_finite;      /* of a NaN or infinite loss; default: stop with WEFT_ERROR_NOT_FINITE */
    const weft_metric *metrics;      /* copied; for validation and evaluation */
    size_t metric_count;             /* at most WEFT_MAX_METRICS */
    bool training_metrics; /* default false; true: metrics are also measured on the training examples */
    weft_tensor *output;   /* for metrics whose `output` is unset; default `logits` */
    weft_early_stopping early_stopping;
    /* Paths of logs; default none. A log has one line per epoch: "event" (epoch or step), "epoch" and "step" (from 1),
     * the values that early_stopping.monitor can name, "learning_rate", "seconds". Numbers that are not finite are
     * nan, inf or empty in CSV, and null in JSON. Each line is written as a whole. Logs are opened by the first run
     * and closed with the trainer. A resumed training removes the lines after its checkpoint and continues there. */
    const char *csv_log, *json_log;
    bool log_steps;          /* also one line per step: loss and accuracy of its batch, learning rate */
    bool append_logs;        /* default false: replaces an existing file */
    weft_step_callback step; /* default: weft_plan_run */
    /* Assignments (weft_train_step, weft_optimizer_step, weft_assign) that replace `optimizer`. With gradient_shards, those of parameters must come
     * from weft_train_step, weft_optimizer_minimize or weft_minimize for the loss; a state gets the mean over the shards (f32) or shard 0's value. */
    weft_tensor *const *updates;
    size_t update_count; /* at most WEFT_MAX_UPDATES */
    /* Further assignments of every step, also in validation and evaluation: state for the next batch (text.h). With gradient_shards each shard
     * has a value of the state, which begins as the state's value when the trainer is created. */
    weft_tensor *const *carries;
    size_t carry_count; /* at most WEFT_MAX_CARRIES */
    /* Counts epochs or updates over all runs; a plateau uses the validation loss. Default constant: callbacks may then
     * set the scalar weft_minimize_rate. */
    weft_schedule schedule;
    size_t memory_limit; /* of each plan of the trainer, as in weft_plan_options; default none */
    /* The folder for checkpoints (io.h), created if it is missing; default none. step-N.safetensors is the state after
     * N steps; best-N.safetensors is the state after the best epoch, if early_stopping watches a value. A checkpoint
     * is also saved when a run ends or is stopped. The training only waits for a copy to host memory; a thread writes
     * the file, and an error of the thread ends the run. While a file is being written, a checkpoint that is due
     * within an epoch is put off, and one at the end of an epoch or run waits for the file. */
    const char *checkpoint;
    weft_checkpoint_every checkpoint_every;
    size_t checkpoint_keep; /* the newest files that are kept, besides the best; default 3; SIZE_MAX: all */
    /* Tensors of the caller; at most WEFT_MAX_EXTRAS. The structs are copied, not the data: each checkpoint reads the
     * data, and weft_trainer_resume writes it. */
    const weft_checkpoint_extra *checkpoint_extras;
    size_t checkpoint_extra_count;
    /* Default f32: the graph's precision is not changed. Others: as weft_graph_set_precision. In f16 a step whose
     * gradients overflow is skipped and logged. A schedule by step does not count skipped steps, but learns of them
     * only at each multiple of 16 steps. */
    weft_precision precision;
    /* Default WEFT_MATMUL_PRECISION_HIGHEST: the graph's is not changed. Others: as
     * weft_graph_set_matmul_precision. */
    weft_matmul_precision matmul_precision;
    /* What a run writes for programs that show it (events.h): the folder of the run for TensorBoard, and the path of an
     * HTML page; default none. Each epoch has the values of the logs, the learning rate, the seconds over all runs and
     * the bytes of device memory; log_steps adds loss, accuracy and rate of each step. The settings of the trainer and
     * the network are written once. A resumed training continues the curves after its checkpoint. */
    const char *events, *html;
    const char *command; /* the command line of the program, which the page shows; default none */
    /* Distributions of all parameters after each epoch whose number, from 1, is a multiple of this; default 0: none. */
    size_t histogram_epochs;
    /* With histogram_epochs: also the distributions of the gradients in the first batch of these epochs, with the tags
     * NAME/gradient. Without gradient_shards a plan of its own computes the gradients, which takes the memory of the gradients
     * and of a copy of all parameters and states; this is WEFT_ERROR_UNSUPPORTED together with `step`. */
    bool gradient_histograms;
    /* Divides each batch into this many ranges of examples, the shards. A plan for batch / gradient_shards examples computes the gradients
     * of one shard; the gradients are added up in the order of the shards. One device computes the shards one after the other; the devices
     * of a context with several (weft_context_options.devices) divide the shards among them and compute at the same time. Loss, metrics,
     * clipping and overflow are those of the whole batch. Batch norms use the statistics of a shard, and running statistics get the mean over
     * the shards. The bits of the weights depend on this number, but not on the numbers of processes and devices. It divides the batch, and is
     * at least the number of devices of all processes, which is the default. Inputs with a fixed number of examples, as in networks with
     * `carries`, have the examples of one shard; the loss is then the mean of the shards' losses. More than 1 excludes updates
     * from other gradients than those of the loss, and losses that are neither sums nor means over examples. With several devices in one
     * process, `step`, `updates`, `carries` and tables that are updated by rows make 1 the default: devices share the plan's batch. */
    size_t gradient_shards;
    /* With gradient_shards: the format in which processes exchange gradients. WEFT_BF16 halves the bytes: the gradients of a shard are
     * rounded to nearest even, added in f32, and the sums are rounded again, also in a single process. Default WEFT_F32. */
    weft_dtype exchange;
    /* With several processes: each has the optimizer's state for an equal part of the parameters alone, updates this part, and sends it to the
     * others (stage 1 of ZeRO, Rajbhandari et al. 2020). Bits and checkpoints, which rank 0 gathers, are the same. With `accumulate` and clip_norm
     * or f16, each has the sums of all gradients. Excludes LAMB, `updates`, and checkpoints that the program saves itself. Default false. */
    bool shard_optimizer;
    /* The processes that train together (distributed.h); default none, or with WEFT_DISTRIBUTED=mpi in the environment
     * those of the launcher. All give the same options and datasets (differences are errors), begin with the parameters of rank 0, and have the
     * same parameters after each step. Each process computes gradient_shards / processes shards, from shard rank · gradient_shards / processes on,
     * loads only their examples, and calls the callbacks. Rank 0 writes logs, events and files. To resume, all load the same checkpoint. Retained. */
    weft_distributed *distributed;
} weft_trainer_options;
#define WEFT_MAX_EXTRAS           16
#define WEFT_MAX_METRICS          16
#define WEFT_MAX_CARRIES          16
#define WEFT_TRAINER_OPTIONS_INIT .struct_size = sizeof(weft_trainer_options)

/* Creates the gradients and updates of loss, and a plan for the batch size. Each input of the graph is fed from the
 * column of the same name. After an error the graph has its previous precisions, and no state of the optimizer. */
WEFT_API weft_status weft_trainer_create(
    weft_trainer **trainer, weft_tensor *loss, const weft_trainer_options *options);
WEFT_API weft_trainer *weft_trainer_retain(weft_trainer *trainer);
WEFT_API void weft_trainer_release(weft_trainer *trainer);
/* Trains for the epochs of the options; another call continues the training. Before anything else, tests whether all
 * files of the run can be written. A window of accumulation (weft_optimizer.accumulate) ends with its epoch, with an
 * update by the mean over the batches that the window has so far; a run that is stopped within an epoch leaves its
 * window open, and the next run continues it. A batch in which no label counts (losses.h) changes nothing: it makes no
 * update, and has no part in loss and accuracy. A schedule by step does not count such batches, but learns of them
 * only at each multiple of 16 steps. Errors: WEFT_ERROR_FILE; labels out of range (with the number of the example);
 * WEFT_ERROR_NOT_FINITE with the first step whose loss is not finite; WEFT_ERROR_CANCELLED. */
WEFT_API weft_status weft_trainer_run(weft_trainer *trainer, weft_dataset *dataset);
/* From any thread: the run ends after the step in progress with WEFT_ERROR_CANCELLED, without a checkpoint. */
WEFT_API weft_status weft_trainer_cancel(weft_trainer *trainer);
/* From any thread, a callback or a signal handler: the run ends after the step in progress with WEFT_OK, and saves a
 * checkpoint if the option `checkpoint` is set. If no run is in progress, the next run ends after its first step. */
WEFT_API weft_status weft_trainer_stop(weft_trainer *trainer);
/* Loads a checkpoint, or the newest checkpoint of a folder. weft_trainer_run then continues the interrupted run in the
 * same epoch, after the same step. With the same options and data the weights get the same bits as in an uninterrupted
 * run; only the number of epochs may differ. If the newest file is damaged, the log says so, and the file before it is
 * used. *found becomes false if the folder has no checkpoint or does not exist, and nothing is changed; with found
 * NULL this is an error. Errors, which change nothing: those of weft_checkpoint_load; WEFT_ERROR_ARGUMENT: another
 * seed, batch, order or drop_last. */
WEFT_API weft_status weft_trainer_resume(weft_trainer *trainer, const char *path, bool *found);
/* Loss and accuracy over a dataset, without training. Either pointer may be NULL.
 *
 * A mean over what counts (losses.h) is the sum over the dataset divided by the total over the dataset, so that it
 * does not depend on the batch size. This holds for losses that are sums and differences of up to eight such means,
 * multiplied or divided by values that do not depend on the batch. All other parts of a loss are averaged over the
 * batches, weighted by their examples. This average is exact for means over all examples (weft_mse, weft_mean). It is
 * not exact for sums over a batch, losses between the examples of a batch, and quotients and functions of means that
 * the program writes itself (for the mean under a mask use weft_masked_mean). NaN if nothing counts in the whole
 * dataset. */
WEFT_API weft_status weft_trainer_evaluate(
    weft_trainer *trainer, weft_dataset *dataset, double *loss, double *accuracy);

/* The state of metric `index`, for weft_metric_result and weft_metric_values. training false: of the last validation
 * or evaluation; true: of the training examples of the last epoch (option training_metrics). Borrowed; NULL if there
 * is none. */
WEFT_API const weft_metric_state *weft_trainer_metric(
    const weft_trainer *trainer, size_t index, bool training);
/* Restores the weights (parameters and named states) of the best epoch. WEFT_ERROR_STATE: none were kept. */
WEFT_API weft_status weft_trainer_restore_best(weft_trainer *trainer);

typedef struct weft_training_info {
    size_t steps;               /* finished steps, over all runs */
    double seconds;             /* over all runs */
    double first_step_seconds;  /* from the start of weft_trainer_create to the end of the first step */
    double median_step_seconds; /* of the last run; includes loading */
    size_t not_finite_step;     /* the first step, from 0, whose loss is NaN or infinite; SIZE_MAX: none */
    bool stopped_early;         /* early stopping ended the last run */
    size_t best_epoch;          /* of the last run, from 0; SIZE_MAX: none */
    double best;                /* the watched value in that epoch; NaN: none */
    bool stopped;               /* weft_trainer_stop or a callback ended the last run */
    size_t skipped_steps;       /* steps in f16 whose gradients overflowed, which changed nothing */
    size_t empty_steps;         /* steps in which no label counts, which changed nothing */
    double loss_scale;          /* after the last step; 0: losses are not scaled */
    /* Of all training steps of this process, with several processes: the time in which gradients were exchanged, and the part of it in which
     * the process had nothing else to do. The rest was hidden behind the computation of gradients. */
    double exchange_seconds, exposed_exchange_seconds;
} weft_training_info;
/* Figures of the runs so far. trainer NULL: those of a trainer that has not run. */
WEFT_API void weft_trainer_get_info(const weft_trainer *trainer, weft_training_info *info);

/* Inference on a batch of any size. inputs: columns that feed the inputs of the same names, each with `batch`
 * examples, row-major. data: `bytes` bytes, exactly the size of the output at this batch. Plans are kept for the next
 * calls, by batch size and by the other sizes that plans choose, which the shapes of the columns give. */
WEFT_API weft_status weft_predict(
    weft_tensor *output, size_t batch, const weft_column *inputs, size_t count, void *data, size_t bytes);
/* One of several outputs, and the memory for its values: exactly their bytes. */
typedef struct weft_prediction {
    weft_tensor *output;
    void *data;
    size_t bytes;
} weft_prediction;
/* weft_predict with up to 16 outputs in one run, which computes nodes that several outputs use once. */
WEFT_API weft_status weft_predict_all(const weft_prediction *outputs, size_t output_count, size_t batch,
    const weft_column *inputs, size_t count);

/* What a classifier gets wrong in a dataset. */
#define WEFT_MAX_MISTAKES 24
typedef struct weft_mistake {
    size_t example; /* its index in the dataset */
    int32_t label, predicted;
    double probability, loss; /* probability: of the predicted class */
} weft_mistake;
typedef struct weft_mistakes {
    size_t examples; /* examples whose label is not negative */
    size_t wrong;    /* of these examples, those whose predicted class is not their label */
    size_t count;    /* entries of `worst`: the wrong examples with the largest losses, the largest first */
    weft_mistake worst[WEFT_MAX_MISTAKES];
} weft_mistakes;
/* Classifies all examples. logits (batch, classes), f32, at most 1024 classes, or (batch, 1) for two classes. labels:
 * the name of an i32 column; NULL: "label". picture: the path of a PNG file, which gets the images of `worst`, six in a
 * row, small ones enlarged and large ones reduced, unless there are none; NULL: no file. The images are those of the
 * first input of the logits whose examples are (H, W), or have 1 or 3 channels. WEFT_ERROR_ARGUMENT: there is no such
 * column or input, or a label is not below the number of classes. Other errors: those of weft_predict, weft_loader_next
 * and weft_image_save_png. */
WEFT_API weft_status weft_find_mistakes(weft_mistakes *found, weft_tensor *logits, weft_dataset *dataset,
    const char *labels, const char *picture);

#ifdef __cplusplus
}
#endif
#endif
