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
    const void *data; /* examples × dims, row-major; of a dataset of images NULL: made as they are loaded */
} weft_column;

/* From memory: examples of count columns; copies the data. */
WEFT_API weft_status weft_dataset_from_memory(
    weft_dataset **dataset, weft_context *context, size_t examples, const weft_column *columns, size_t count);
/* A folder with MNIST's IDX files, plain or gzip: PREFIX-images-idx3-ubyte[.gz],
 * PREFIX-labels-idx1-ubyte[.gz], for prefix "train" and "t10k". Columns: "image" f32 (1, height, width) in
 * 0..1, "label" i32. */
WEFT_API weft_status weft_dataset_open_idx(
    weft_dataset **dataset, weft_context *context, const char *folder, const char *prefix);

/* What becomes of cells without a value: empty or blank ones; in number and integer columns also NA, N/A,
 * NaN, null, None and ? in any case. */
typedef enum weft_missing { WEFT_MISSING_ERROR, WEFT_MISSING_SKIP_ROW, WEFT_MISSING_FILL } weft_missing;
typedef enum weft_csv_kind {
    WEFT_CSV_NUMBER,  /* f32 */
    WEFT_CSV_INTEGER, /* i32 */
    WEFT_CSV_CATEGORY /* text to i32: 0, 1, ... in sorted order (whole numbers first, by value) */
} weft_csv_kind;

/* A column of the dataset, made of one or several columns of the table ("fields"). */
typedef struct weft_csv_column {
    const char *name; /* of the dataset's column, and so of the graph's input */
    weft_csv_kind kind;
    const char *const *fields; /* names of the table's columns, ended by NULL; default: by position */
    size_t first, count;       /* position of the first, from 0, and how many; default count 1 */
    int rank; /* and dims: the shape of an example; default: () of one field, (fields) of more */
    int64_t dims[WEFT_MAX_RANK];
    /* Category: its texts in the order of their numbers, ended by NULL, where any other is an error; default:
     * those of the option `like`, else those of the table. */
    const char *const *categories;
} weft_csv_column;

typedef struct weft_csv_options {
    size_t struct_size;
    /* Default: a column for each of the table, of its name ("column1", ... without a header): numbers where
     * all cells are, else categories. */
    const weft_csv_column *columns;
    size_t column_count;
    char separator;       /* default ',' */
    bool no_header;       /* default false: the first row holds names */
    bool trim;            /* default false; true: blanks around cells go, where they are not in quotes */
    weft_missing missing; /* default: an error that names the row and the column */
    double fill;          /* for WEFT_MISSING_FILL, in number and integer columns; categories still fail */
    const weft_dataset *like; /* columns of the same name have its categories; default none */
} weft_csv_options;
#define WEFT_CSV_OPTIONS_INIT .struct_size = sizeof(weft_csv_options)

/* A CSV table (RFC 4180: quotes, doubled quotes, line breaks within quotes; LF, CR LF or CR; a UTF-8 byte
 * order mark is skipped; empty lines are left out). Errors: WEFT_ERROR_FILE; WEFT_ERROR_FORMAT with line and
 * column. */
WEFT_API weft_status weft_dataset_open_csv(
    weft_dataset **dataset, weft_context *context, const char *path, const weft_csv_options *options);
/* How many categories a column has (0: it has none), and the text of one; NULL: none. Borrowed. */
WEFT_API size_t weft_dataset_category_count(const weft_dataset *dataset, size_t column);
WEFT_API const char *weft_dataset_category(const weft_dataset *dataset, size_t column, int32_t category);

/* A column of a dataset from a NumPy file of shape (examples, dims...). */
typedef struct weft_npy_column {
    const char *name;
    const char *path;
    weft_dtype dtype; /* WEFT_F32 (of any numbers), WEFT_I32 or WEFT_U8 (of whole numbers that fit) */
} weft_npy_column;
/* One .npy file a column (see weft_load_npy), all of the same number of examples. */
WEFT_API weft_status weft_dataset_open_npy(
    weft_dataset **dataset, weft_context *context, const weft_npy_column *columns, size_t count);

/* Two new datasets: `count` examples drawn at random (the seed fixes which), and the others; both in the old
 * order. */
WEFT_API weft_status weft_dataset_split(
    weft_dataset **drawn, weft_dataset **others, const weft_dataset *dataset, size_t count, uint64_t seed);
WEFT_API weft_dataset *weft_dataset_retain(weft_dataset *dataset);
WEFT_API void weft_dataset_release(weft_dataset *dataset);                                  /* NULL is fine */
WEFT_API size_t weft_dataset_size(const weft_dataset *dataset);                             /* examples */
WEFT_API size_t weft_dataset_column_count(const weft_dataset *dataset);                     /* columns */
WEFT_API const weft_column *weft_dataset_column(const weft_dataset *dataset, size_t index); /* borrowed */

/* ---- loader: shuffled batches, made by threads ahead of their use ---- */
typedef struct weft_loader weft_loader;

typedef struct weft_loader_options {
    size_t struct_size;
    size_t batch;    /* default 32 */
    bool shuffle;    /* default false */
    bool drop_last;  /* default false: the last batch of an epoch may be smaller */
    uint64_t seed;   /* of shuffle and augmentation; with the epoch's number it fixes every batch */
    size_t prefetch; /* batches made ahead; default 2 */
    size_t threads;  /* that make them; default 1, and for images one a processor, at most 8. A batch
                        holds the same whatever their number */
} weft_loader_options;
#define WEFT_LOADER_OPTIONS_INIT .struct_size = sizeof(weft_loader_options)

/* options NULL: every default; the dataset is retained. Errors: WEFT_ERROR_ARGUMENT, WEFT_ERROR_MEMORY. */
WEFT_API weft_status weft_loader_create(
    weft_loader **loader, weft_dataset *dataset, const weft_loader_options *options);
WEFT_API void weft_loader_release(weft_loader *loader); /* NULL is fine */
/* Begins an epoch; the first is 0. */
WEFT_API weft_status weft_loader_begin(weft_loader *loader, uint64_t epoch);
/* The next batch: examples in it (0: the epoch is over); columns[i] points to the i-th column's data, valid
 * until the prefetch-th next call. An image that cannot be read is an error that names its file, and stays
 * one until weft_loader_begin. */
WEFT_API weft_status weft_loader_next(weft_loader *loader, size_t *examples, const void **columns);

/* ---- metrics: small values that say what is measured; for a trainer, or alone on arrays of the host ---- */
typedef enum weft_metric_kind {
    WEFT_ACCURACY = 1, /* right / all; right: the largest output is the label's (the first of equals) */
    WEFT_TOP_K,        /* the label is among the k largest outputs / all */
    WEFT_CONFUSION,    /* matrix[label][answer] of counts; as one number: the accuracy */
    WEFT_PRECISION,    /* of a class: right answers / answers of that class */
    WEFT_RECALL,       /* of a class: right answers / labels of that class */
    WEFT_F1,           /* of a class: 2·right / (answers + labels of that class) */
    WEFT_MEAN_ABSOLUTE_ERROR, /* mean of |output - target| over all numbers */
    WEFT_R_SQUARED,           /* 1 - sum (output - target)² / sum (target - mean)²; mean over the columns */
    WEFT_PERPLEXITY           /* exp(mean of -log softmax(outputs)[label]) */
} weft_metric_kind;

/* How precision, recall and F1 of classes become one number; a quotient 0 / 0 counts as 0. */
typedef enum weft_average {
    WEFT_AVERAGE_MACRO,    /* mean over the classes that were a label or an answer */
    WEFT_AVERAGE_MICRO,    /* of all counts added up; with one label an example it is the accuracy */
    WEFT_AVERAGE_WEIGHTED, /* mean weighted by how often a class is a label */
    WEFT_AVERAGE_BINARY    /* class 1 of two alone */
} weft_average;

typedef struct weft_metric {
    weft_metric_kind kind;
    weft_average average; /* precision, recall, F1 */
    int64_t k;            /* top-k; at least 1 */
    /* For a trainer: */
    weft_tensor *output; /* f32 (batch, ..., width); default: the option `output`, else `logits` */
    const char *target;  /* the dataset's column; default: the option `labels` */
    const char *name;    /* in logs and for early stopping; default "accuracy", "top_5", "confusion",
                            "precision", "recall", "f1", "mean_absolute_error", "r_squared", "perplexity" */
} weft_metric;

/* Metrics of each kind, all other fields at their defaults. */
WEFT_API weft_metric weft_metric_accuracy(void);
WEFT_API weft_metric weft_metric_top_k(int64_t k);
WEFT_API weft_metric weft_metric_confusion(void);
WEFT_API weft_metric weft_metric_precision(weft_average average);
WEFT_API weft_metric weft_metric_recall(weft_average average);
WEFT_API weft_metric weft_metric_f1(weft_average average);
WEFT_API weft_metric weft_metric_mean_absolute_error(void);
WEFT_API weft_metric weft_metric_r_squared(void);
WEFT_API weft_metric weft_metric_perplexity(void);

/* The counts and sums of one metric, in float64. context: for its allocator; may be NULL. width: outputs a
 * row (classes; 1: one logit, answer 1 when it is above 0). Errors: WEFT_ERROR_ARGUMENT. */
typedef struct weft_metric_state weft_metric_state;
WEFT_API weft_status weft_metric_create(
    weft_metric_state **state, weft_context *context, const weft_metric *metric, int64_t width);
WEFT_API void weft_metric_release(weft_metric_state *state); /* NULL is fine */
/* Adds rows: outputs (rows, width), labels (rows) in 0..classes-1; rows of label -100 are left out. A label
 * out of range is an error that names its row, and adds nothing. Not for mean absolute error and R². */
WEFT_API weft_status weft_metric_update(
    weft_metric_state *state, size_t rows, const float *outputs, const int32_t *labels);
/* Adds rows with float targets (rows, width), for mean absolute error and R²; for the other metrics of width
 * 1 a target above 0.5 is class 1. */
WEFT_API weft_status weft_metric_update_values(
    weft_metric_state *state, size_t rows, const float *outputs, const float *targets);
/* The metric of all rows since the reset; NaN when there were none (R²: fewer than two). */
WEFT_API weft_status weft_metric_result(const weft_metric_state *state, double *value);
/* More than one number: precision, recall, F1 a class, the confusion matrix row by row, R² a column; the
 * others give their one. Writes up to capacity of them; *count is how many there are. values NULL with 0: to
 * ask. */
WEFT_API weft_status weft_metric_values(
    const weft_metric_state *state, double *values, size_t capacity, size_t *count);
WEFT_API void weft_metric_reset(weft_metric_state *state); /* NULL is fine */

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
    double seconds;       /* since the run began */
    double learning_rate; /* now; NaN when nothing has one */
    /* In the order of the option `metrics`, after an epoch; else NaN. Borrowed, until the next epoch. */
    size_t metric_count;
    const double *training_metrics, *validation_metrics;
    size_t best_epoch; /* of the value that early stopping watches; SIZE_MAX: none, or not watched */
    double best;       /* that value then */
} weft_epoch;

/* Return false to stop training after this step. */
typedef bool (*weft_progress_callback)(void *user, const weft_epoch *state);

/* A step under way: the plan's inputs hold the batch. */
typedef struct weft_step {
    weft_trainer *trainer;
    weft_plan *plan; /* of loss, metrics and update at this batch size */
    size_t step;     /* from 0, over all runs */
    size_t epoch;    /* from 0, of this run */
    size_t examples; /* of the batch */
    weft_dataset *dataset;
    const void *const *columns; /* the batch as weft_loader_next gives it; valid for the call */
    /* The callback's to set when it does not run the plan: the mean loss of the batch. */
    bool has_loss;
    float loss;
} weft_step;

/* Replaces weft_plan_run(step->plan): run it once, more often, after writing further inputs or setting
 * scalars, or do something else and set step->loss. The loss is read from the plan's last run unless has_loss
 * is set; a step that does neither is WEFT_ERROR_STATE. Whatever else is returned than WEFT_OK ends the run
 * with that status. Inputs without a column in the dataset are the callback's to write. */
typedef weft_status (*weft_step_callback)(void *user, weft_step *step);

/* Watching a value from epoch to epoch: early stopping, and the weights of the best epoch. All begins anew
 * with each run; NaN is never best. */
typedef enum weft_mode { WEFT_MODE_AUTO, WEFT_MODE_MIN, WEFT_MODE_MAX } weft_mode;
typedef struct weft_early_stopping {
    /* "loss", "accuracy", a metric's name (with `training_metrics`), or one of these after "validation_".
     * Default "validation_loss"; without validation "loss". */
    const char *monitor;
    weft_mode mode;        /* default auto: losses, errors and perplexity down, all else up */
    size_t patience;       /* stop after so many epochs without an improvement; default 0: never */
    double minimum_change; /* an improvement is better by more than this; default 0 */
    bool keep_best;        /* in host memory, for weft_trainer_restore_best */
    bool restore_best;     /* keeps them, and puts them back at the end of a run, however it ends */
    const char *best_file; /* the best weights are saved here (weft_weights_save); default none */
} weft_early_stopping;

typedef enum weft_not_finite { WEFT_NOT_FINITE_STOP, WEFT_NOT_FINITE_CONTINUE } weft_not_finite;

typedef struct weft_trainer_options {
    size_t struct_size;
    weft_optimizer optimizer; /* default weft_adam(1e-3f) */
    size_t epochs;            /* default 1 */
    size_t batch;             /* default 32 */
    uint64_t seed;            /* of the shuffle, and of images' augmentation; default 0 */
    size_t loader_threads;    /* as weft_loader_options.threads; default as there */
    bool keep_order;          /* default false: shuffled */
    weft_tensor *logits;      /* (batch, classes): accuracy is counted against `labels`; default none */
    const char *labels;       /* name of the label column; default "label" */
    weft_dataset *validation; /* default none; retained */
    weft_progress_callback on_epoch; /* after each epoch, validation included */
    weft_progress_callback on_step;  /* after each step; loss and accuracy lag by up to a few steps */
    void *user;
    weft_not_finite
        not_finite; /* what a NaN or infinite loss does; default stop, with WEFT_ERROR_NOT_FINITE */
    const weft_metric *metrics; /* copied; of validation and evaluation */
    size_t metric_count;        /* at most WEFT_MAX_METRICS */
    bool training_metrics;      /* default false; true: over each epoch's training examples, too */
    weft_tensor *output;        /* what metrics read that name none; default `logits` */
    weft_early_stopping early_stopping;
    /* Logs, by whole lines; opened as the first run begins, and closed with the trainer. One line an epoch:
     * "event" (epoch or step), "epoch" and "step" (from 1), the values that early_stopping.monitor can name,
     * "learning_rate", "seconds". What is not a finite number is nan, inf or empty in CSV, null in JSON. */
    const char *csv_log, *json_log; /* paths; default none */
    bool log_steps;          /* a line a step, too: loss and accuracy of that batch, and the rate it had */
    bool append_logs;        /* default false: an old file is replaced */
    weft_step_callback step; /* default: weft_plan_run */
    weft_tensor *const *updates; /* assignments that train, in place of the optimizer's */
    size_t update_count;         /* at most WEFT_MAX_UPDATES */
    weft_tensor *const *carries; /* assignments done in every step besides, those of validation and
                                    evaluation included: state carried to the next batch (text.h) */
    size_t carry_count;          /* at most WEFT_MAX_CARRIES */
    weft_schedule
        schedule;        /* default constant, when callbacks may set weft_minimize_rate. Counts the trainer's
                     epochs, or updates, over all runs; a plateau takes the validation loss */
    size_t memory_limit; /* of each of its plans, as in weft_plan_options; default none */
} weft_trainer_options;
#define WEFT_MAX_METRICS          16
#define WEFT_MAX_CARRIES          16
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

/* The state of the index-th metric after the last validation or evaluation (training: after the last epoch,
 * with `training_metrics`), for weft_metric_result and weft_metric_values. Borrowed; NULL: there is none. */
WEFT_API const weft_metric_state *weft_trainer_metric(
    const weft_trainer *trainer, size_t index, bool training);
/* Puts the best epoch's weights (parameters and named states) back. WEFT_ERROR_STATE when none were kept. */
WEFT_API weft_status weft_trainer_restore_best(weft_trainer *trainer);

typedef struct weft_training_info {
    size_t steps;               /* done in all */
    double seconds;             /* of the runs so far */
    double first_step_seconds;  /* from weft_trainer_create's begin to the end of the first step */
    double median_step_seconds; /* of the last run, whole steps, loading included */
    size_t not_finite_step;     /* the step, from 0, at which the loss first became NaN or infinite; SIZE_MAX:
                                   never */
    bool stopped_early;         /* the last run ended because the watched value did not improve */
    size_t best_epoch;          /* of the last run, from 0; SIZE_MAX: none */
    double best;                /* the watched value then; NaN: none */
} weft_training_info;
/* What the runs so far took; trainer NULL: as of one that has not run. */
WEFT_API void weft_trainer_get_info(const weft_trainer *trainer, weft_training_info *info);

/* Inference on a batch of any size: inputs by name, one output. Plans are kept per batch size.
 * data: batch examples, row-major; output: `bytes` of output's exact size at that batch. */
WEFT_API weft_status weft_predict(
    weft_tensor *output, size_t batch, const weft_column *inputs, size_t count, void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
