/* Which inputs a set of outputs depends on, and which columns feed them. */
#ifndef WI_FEED_H
#define WI_FEED_H

#include "train/dataset.h"

typedef struct wi_feed_input {
    weft_tensor *tensor;
    size_t column;   /* set by wi_feed_bind */
    size_t bytes;    /* of one example; set by wi_feed_bind */
    int64_t classes; /* class labels must be in 0 .. classes - 1; 0: the input has no class labels */
    int64_t ignored; /* the only other label that is valid; INT64_MIN: none */
    /* The next fields are for an input that a loss reads as labels, directly or behind a mask. scores is NULL if no
     * loss does. */
    const weft_tensor *scores; /* (batch, classes, ...), which the loss compares with the labels */
    weft_tensor *counted;      /* the labels as the loss reads them: the input, or masked */
    const weft_tensor *mask;   /* the input from which the mask is computed, such as lengths; NULL: none */
    int64_t counted_ignored;   /* the label that the loss ignores; INT64_MIN: none */
    bool differs;              /* there are several losses, with different masks or ignored labels */
    /* For an input that is a target of losses, of any kind: the input by which these losses are multiplied; NULL:
     * none. */
    const weft_tensor *weights;
    bool weights_differ; /* there are several such inputs */
} wi_feed_input;

typedef struct wi_feed {
    const weft_allocator *allocator;
    wi_feed_input *inputs;
    size_t count, capacity;
    bool waits; /* an input has a size (WEFT_LENGTH, weft_symbol) whose value is not known yet */
    /* The values of such sizes in the columns, set by wi_feed_bind: by number of the symbol (graph/sizes.h), and as plans take them. */
    int64_t *values;
    weft_named_size *sizes;
    size_t symbol_count, size_count;
    uint64_t digest; /* of the values, to compare them; 0: none is known */
    int64_t fixed;   /* examples per batch, as the first dimension of inputs says; 0: any number */
    bool partial;    /* an input may lack a column: wi_feed_bind sets `column` to SIZE_MAX */
} wi_feed;

/* Collects the inputs that any of the outputs depends on. After an error the feed is clear. WEFT_ERROR_SHAPE: an input
 * that columns cannot feed; WEFT_ERROR_ARGUMENT: two inputs of one name. */
weft_status wi_feed_collect(
    wi_feed *feed, const weft_allocator *allocator, weft_tensor *const *outputs, size_t count);
void wi_feed_clear(wi_feed *feed);
/* NULL: there is no input of this name. */
wi_feed_input *wi_feed_find(const wi_feed *feed, const char *name);

/* Finds the column of each input by name, and checks dtype and shape. Columns without an input are allowed. Errors:
 * WEFT_ERROR_ARGUMENT (no column, or two), WEFT_ERROR_DTYPE, WEFT_ERROR_SHAPE. */
weft_status wi_feed_bind(wi_feed *feed, const weft_column *columns, size_t count);
/* WEFT_ERROR_SHAPE: the inputs have a fixed number of examples, which a shard of a batch of `examples` examples does not have. */
weft_status wi_feed_check_batch(const wi_feed *feed, size_t examples, size_t shards);
/* Checks all labels of the dataset that are in memory. WEFT_ERROR_ARGUMENT: the line names the first invalid label. */
weft_status wi_feed_check_labels(const wi_feed *feed, const weft_dataset *dataset);
/* Checks the labels of a loaded batch whose columns are not in memory. */
weft_status wi_feed_check_loaded_labels(
    const wi_feed *feed, const weft_dataset *dataset, const void *const *columns, size_t examples);
/* Enqueues the copies of all inputs; columns[i] has `examples` examples, and must stay valid until weft_plan_wait. */
weft_status wi_feed_write(const wi_feed *feed, weft_plan *plan, const void *const *columns, size_t examples);

#endif
