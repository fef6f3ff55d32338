/* weft/events.h: what happens in a training, written to files that other programs show.
 *
 * A weft_events writes event files, which TensorBoard and the programs that read its files show, and one HTML page that
 * a browser opens without a server. Trainers feed one by themselves (the options `events` and `html` of
 * weft_trainer_options); loops of a program call the functions below, which correspond to PyTorch's SummaryWriter.
 *
 * A call copies its arguments to a queue and returns; a thread writes the files. Training therefore never waits for a
 * disk. If the disk is slower than the training, so that the queue is full, events are dropped, histograms and images
 * first, and the log says so once. If a file cannot be written, because the disk is full for example, the log says so
 * once, and the training goes on; weft_events_flush returns the error.
 *
 * Tags name curves and other series: "loss/training" is the curve "training" in the group "loss". Each tag is for events
 * of one kind: TensorBoard does not show others. Tags and texts are UTF-8; other bytes are replaced by U+FFFD. `step`
 * is the number of finished steps, from 1, or any other number that grows. Any thread may call these functions; only the
 * thread that uses a graph may call those that take its tensors. Errors of all calls: WEFT_ERROR_ARGUMENT (an argument
 * is NULL), WEFT_ERROR_MEMORY. */
#ifndef WEFT_EVENTS_H
#define WEFT_EVENTS_H

#include <weft/train.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_events weft_events;

typedef struct weft_events_options {
    size_t struct_size;
    /* The folder of this run, which is created if it is missing: a new file events.out.tfevents.* is written to it. A
     * folder above the folders of several runs is what TensorBoard's --logdir names. Default none. */
    const char *folder;
    /* The path of the HTML page; the file is replaced as a whole, at most once in two seconds. Default none. */
    const char *html;
    /* The command line of the program, which the page shows; default none. */
    const char *command;
    /* The number of the first step, if this run continues an earlier one whose events are in the folder and the page:
     * readers no longer show the earlier events of this step and of later ones. Default 0: a new run. */
    size_t first_step;
} weft_events_options;
#define WEFT_EVENTS_OPTIONS_INIT .struct_size = sizeof(weft_events_options)

/* Opens the files and starts the thread. Without a folder and a page, the events are checked and go nowhere. Errors:
 * WEFT_ERROR_FILE (a folder or file cannot be written, which the line names). */
WEFT_API weft_status weft_events_create(
    weft_events **events, weft_context *context, const weft_events_options *options);
WEFT_API weft_events *weft_events_retain(weft_events *events);
/* The last release writes what is in the queue, waits for the end of the thread, and closes the files. NULL is
 * allowed. */
WEFT_API void weft_events_release(weft_events *events);
/* Waits until the events so far are in the files. Error: the first error of writing so far; events that were lost then
 * are not written again. */
WEFT_API weft_status weft_events_flush(weft_events *events);

/* A point of a curve. */
WEFT_API weft_status weft_events_scalar(weft_events *events, const char *tag, size_t step, double value);
/* Points of several curves at one step. */
typedef struct weft_event_value {
    const char *tag;
    double value;
} weft_event_value;
WEFT_API weft_status weft_events_scalars(
    weft_events *events, size_t step, const weft_event_value *values, size_t count);

/* The distribution of `count` numbers; those that are not finite are left out. Without a finite number there is no
 * event. */
WEFT_API weft_status weft_events_histogram(
    weft_events *events, const char *tag, size_t step, const float *values, size_t count);
/* The distribution of a parameter or state of f32, f16 or bf16, which is read from the device. tag NULL: the tensor's
 * name, with "/" for each ".". Errors: those of weft_tensor_read; WEFT_ERROR_DTYPE. */
WEFT_API weft_status weft_events_tensor(
    weft_events *events, const char *tag, size_t step, weft_tensor *variable);

/* Images as one picture; pixels and options as for weft_image_save_png. The calling thread compresses the picture.
 * Errors: those of weft_image_save_png. */
WEFT_API weft_status weft_events_images(
    weft_events *events, const char *tag, size_t step, const void *pixels, const weft_png_options *options);
/* A text, which TensorBoard shows as Markdown and the page as it is. */
WEFT_API weft_status weft_events_text(weft_events *events, const char *tag, size_t step, const char *text);

/* The precision-recall curve of a classifier of two classes, at 127 thresholds between 0 and 1. scores: probabilities
 * of class 1, in [0, 1]; labels: 0, or 1. WEFT_ERROR_ARGUMENT: a number is out of range (the line names its index). */
WEFT_API weft_status weft_events_pr_curve(weft_events *events, const char *tag, size_t step,
    const float *scores, const int32_t *labels, size_t count);

/* The settings of a run, for the table that compares runs. */
typedef struct weft_hyperparameter {
    const char *name;
    const char *text; /* NULL: the value is `number` */
    double number;
} weft_hyperparameter;
/* metrics: tags of curves whose last values the table shows beside the settings; NULL with count 0: none. Call this
 * once in a run. */
WEFT_API weft_status weft_events_hyperparameters(weft_events *events, const weft_hyperparameter *settings,
    size_t count, const char *const *metrics, size_t metric_count);

/* The network that computes these tensors, such as the loss. Scopes and layers are groups of nodes. */
WEFT_API weft_status weft_events_graph(weft_events *events, weft_tensor *const *outputs, size_t count);

/* The events of a trainer with the option `events` or `html`, for further events of its run, such as pictures that a
 * callback makes. Borrowed; NULL before the first run, and without these options. */
WEFT_API weft_events *weft_trainer_events(const weft_trainer *trainer);

#ifdef __cplusplus
}
#endif
#endif
