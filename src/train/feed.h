/* Which inputs a set of outputs depends on, and which columns feed them. */
#ifndef WI_FEED_H
#define WI_FEED_H

#include "train/dataset.h"

typedef struct wi_feed_input {
    weft_tensor *tensor;
    size_t column; /* set by wi_feed_bind */
    size_t bytes;  /* of one example; set by wi_feed_bind */
    /* labels of classes lie in 0 .. classes - 1; 0: the input is not labels */
    int64_t classes;
    int64_t ignored; /* this label may stand there, too; none of i32: there is none */
    /* Of labels of classes, behind a mask or not; NULL: there is no such loss. */
    const weft_tensor *scores; /* what a loss compares with them, (batch, classes, ...) */
    weft_tensor *counted;      /* the labels as that loss reads them: the input, or behind a mask */
    const weft_tensor *mask;   /* the input that masks them there, such as lengths; NULL: none */
    int64_t counted_ignored;   /* the label that it ignores; INT64_MIN: none */
    bool differs;              /* several losses ignore other labels, or mask others */
    /* Of any target: the input by which the losses over it are multiplied; NULL: none. */
    const weft_tensor *weights;
    bool weights_differ; /* by several */
} wi_feed_input;

typedef struct wi_feed {
    const weft_allocator *allocator;
    wi_feed_input *inputs;
    size_t count, capacity;
    bool waits;     /* an input has WEFT_LENGTH, and no column has said yet what that is */
    int64_t length; /* what WEFT_LENGTH is in the columns; set by wi_feed_bind; 0: no input has it */
    int64_t fixed;  /* inputs have this in place of the batch; 0: none has */
    bool partial;   /* an input without a column is left alone: wi_feed_bind sets its column to SIZE_MAX */
} wi_feed;

/* The inputs that any of the outputs depends on. A cleared feed afterwards when it fails. */
weft_status wi_feed_collect(
    wi_feed *feed, const weft_allocator *allocator, weft_tensor *const *outputs, size_t count);
void wi_feed_clear(wi_feed *feed);
/* NULL when there is none of that name. */
wi_feed_input *wi_feed_find(const wi_feed *feed, const char *name);

/* For a NULL tensor: its expression failed before, so the line of that failure is kept within this one. */
weft_status wi_missing_tensor(const char *call, const char *what);

/* Finds each input's column by name, and checks dtype and shape. Columns that feed nothing are fine. */
weft_status wi_feed_bind(wi_feed *feed, const weft_column *columns, size_t count);
/* A batch of that many examples can be fed; else WEFT_ERROR_SHAPE. */
weft_status wi_feed_check_batch(const wi_feed *feed, size_t examples);
/* Every label of the dataset lies in its range, or an error that names the first that does not. */
weft_status wi_feed_check_labels(const wi_feed *feed, const weft_dataset *dataset);
/* Enqueues the copies of all inputs; columns[i] holds `examples` examples and stays valid until
 * weft_plan_wait. */
weft_status wi_feed_write(const wi_feed *feed, weft_plan *plan, const void *const *columns, size_t examples);

#endif
