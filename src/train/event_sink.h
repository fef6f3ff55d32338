/* Events as the writing thread receives them, and the outputs that it writes them to.
 *
 * weft_events_* (events.c) checks and copies the arguments of a call to a wi_event, in the calling thread; the queue
 * (event_queue.h) gives the event to each sink, in the writing thread. A sink writes one output: event_file.c the files of
 * TensorBoard, event_page.c the HTML page. */
#ifndef WI_EVENT_SINK_H
#define WI_EVENT_SINK_H

#include "base/log.h"
#include "base/memory.h"
#include <weft/events.h>
#include <weft/profile.h>

typedef enum wi_event_kind {
    WI_EVENT_SCALARS,
    WI_EVENT_HISTOGRAM,
    WI_EVENT_IMAGE,
    WI_EVENT_TEXT,
    WI_EVENT_PR_CURVE,
    WI_EVENT_SETTINGS,
    WI_EVENT_GRAPH,
    WI_EVENT_MISTAKES,
    WI_EVENT_PROFILE
} wi_event_kind;

/* Bucket i has counts[i] numbers x with limits[i - 1] < x <= limits[i]; the first begins at `least`. */
enum { WI_EVENT_BUCKETS = 64, WI_EVENT_THRESHOLDS = 127 };
typedef struct wi_event_histogram {
    double least, most, count, sum, sum_of_squares;
    size_t buckets; /* WI_EVENT_BUCKETS; 1 if all numbers are equal */
    double limits[WI_EVENT_BUCKETS], counts[WI_EVENT_BUCKETS];
} wi_event_histogram;

typedef struct wi_event_image {
    const unsigned char *png; /* a whole file */
    size_t bytes;
} wi_event_image;

/* Row r of a table of WI_EVENT_THRESHOLDS columns, one for each threshold i / (WI_EVENT_THRESHOLDS - 1). */
typedef enum wi_pr_row {
    WI_PR_TRUE_POSITIVES,
    WI_PR_FALSE_POSITIVES,
    WI_PR_TRUE_NEGATIVES,
    WI_PR_FALSE_NEGATIVES,
    WI_PR_PRECISION,
    WI_PR_RECALL,
    WI_PR_ROWS
} wi_pr_row;
typedef struct wi_event_pr_curve {
    float values[WI_PR_ROWS][WI_EVENT_THRESHOLDS];
} wi_event_pr_curve;

typedef struct wi_event_settings {
    const weft_hyperparameter *settings;
    size_t count;
    const char *const *metrics;
    size_t metric_count;
} wi_event_settings;

/* A node of a network. Its inputs stand before it in the list. */
typedef struct wi_event_node {
    const char *name; /* unique; groups are separated by "/" */
    const char *op;
    const char *shape; /* "(batch, 64)" */
    weft_dtype dtype;
    int rank;
    int64_t dims[WEFT_MAX_RANK]; /* -1: the batch, the length, or a size that depends on them */
    bool is_parameter;
    const uint32_t *inputs; /* indices of nodes */
    size_t input_count;
} wi_event_node;
typedef struct wi_event_graph {
    const wi_event_node *nodes;
    size_t count;
} wi_event_graph;

/* The mistakes of a classifier in one pass over examples. The confusion matrix has counts[label · classes + predicted]; the list has
 * the wrongly classified examples with the largest loss, beginning with the largest. */
typedef struct wi_event_mistake {
    size_t index; /* of the example in its dataset */
    int32_t label, predicted;
    double loss, probability; /* probability: of the predicted class */
    const unsigned char
        *pixels; /* (height, width, channels) of wi_event_mistakes; NULL: the example is not an image */
} wi_event_mistake;
typedef struct wi_event_mistakes {
    size_t classes, rows, wrong;
    const uint32_t *counts;
    const char *const *names; /* of the classes; NULL: they have none */
    const wi_event_mistake *worst;
    size_t count;
    int64_t height, width, channels;
} wi_event_mistakes;

/* A profile of a step: the rows with the most time, beginning with the largest. */
typedef struct wi_event_profile {
    weft_profile_info info;
    const weft_profile_row *rows;
    size_t count;
} wi_event_profile;

/* Everything that an event points to belongs to the event, and is valid until the sinks have returned. All texts are
 * valid UTF-8. */
typedef struct wi_event {
    wi_event_kind kind;
    size_t step;
    double time;     /* seconds since 1970, UTC */
    const char *tag; /* "" for scalars, settings and graph */
    union {
        struct {
            const weft_event_value *values;
            size_t count;
        } scalars;
        wi_event_histogram *histogram;
        wi_event_image image;
        const char *text;
        wi_event_pr_curve *pr_curve;
        wi_event_settings settings;
        wi_event_graph graph;
        wi_event_mistakes mistakes;
        wi_event_profile profile;
    } of;
    /* For event_queue.c. */
    struct wi_event *next;
    size_t bytes, used; /* of the block that begins with this struct */
    wi_arena arena;     /* what does not fit into the block */
} wi_event;

/* An output, which only one thread at a time uses. After an error the sink continues with the next event, if it can; the
 * caller logs the first error of a sink. */
typedef struct wi_event_sink wi_event_sink;
struct wi_event_sink {
    weft_status (*write)(wi_event_sink *sink, const wi_event *event);
    /* Writes everything that the sink has buffered to its file. The queue calls this after events were written, at most once in two
     * seconds, when weft_events_flush is called, and before `close`. */
    weft_status (*flush)(wi_event_sink *sink);
    void (*close)(wi_event_sink *sink); /* frees the sink */
};

/* The arguments for opening a sink. The strings need not stay valid after the call. */
typedef struct wi_event_output {
    const weft_allocator *allocator;
    const char *path;
    size_t first_step;                /* as in weft_events_options */
    const weft_hyperparameter *facts; /* about the run: command, versions, device */
    size_t fact_count;
} wi_event_output;

/* Opens event files in the folder `path`. Errors: WEFT_ERROR_FILE, WEFT_ERROR_MEMORY. */
weft_status wi_event_file_open(wi_event_sink **sink, const wi_event_output *output);
/* Opens the HTML page `path`; a page that exists is replaced, unless it is continued (first_step). Errors:
 * WEFT_ERROR_FILE, WEFT_ERROR_MEMORY. */
weft_status wi_event_page_open(wi_event_sink **sink, const wi_event_output *output);

#endif
