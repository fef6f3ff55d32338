/* weft/sharded_table.h: a table of embeddings or of output weights whose rows are divided among the processes of a job (distributed.h), for
 * training loops that a program writes itself. Row r belongs to the process r mod n of n processes, its owner. A step gathers the rows that
 * it needs from their owners, writes them to an input of its plan, and sends the gradients of this input back; each owner then updates
 * the rows that were named, as weft_sparse_updates does:
 *     weft_sharded_table_gather(table, rows, count, values);         (count, width), which weft_plan_write writes to the input
 *     weft_sharded_table_update(table, rows, count, gradients);      (count, width), from weft_gradients
 * Only the named rows are sent and changed. A row that is named several times gets the sum of its gradients, in the order of the ranks, and
 * of each rank in the order of its list. If the processes divide one list among them in the order of their ranks, values and updates
 * therefore have the same bits for any number of processes. All processes call the functions in the same order, with lists of any length. */
#ifndef WEFT_SHARDED_TABLE_H
#define WEFT_SHARDED_TABLE_H

#include <weft/distributed.h>
#include <weft/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_sharded_table weft_sharded_table;

typedef struct weft_sharded_table_options {
    size_t struct_size;
    weft_distributed *job; /* retained; default NULL: this process has all rows */
    const char *name;      /* of the parameter (rows of this process + 1, width); default "table" */
    /* Of the kind WEFT_INIT_CONSTANT, WEFT_INIT_UNIFORM or WEFT_INIT_NORMAL; default U(±1/sqrt(width)). The values of a row do not
     * depend on the number of processes. */
    const weft_initialiser *initialiser;
    /* Default weft_sgd(0.01f). As with weft_sparse_updates, not LAMB, accumulate or average_decay; nor clip_norm, because a process knows
     * only the gradients of its own rows. */
    weft_optimizer optimizer;
} weft_sharded_table_options;
#define WEFT_SHARDED_TABLE_OPTIONS_INIT .struct_size = sizeof(weft_sharded_table_options)

/* rows: 1 to 2^31 - 1. options NULL means all defaults. Retains the context. Errors: WEFT_ERROR_ARGUMENT, WEFT_ERROR_UNSUPPORTED (the
 * optimizer), WEFT_ERROR_MEMORY, WEFT_ERROR_PEER. */
WEFT_API weft_status weft_sharded_table_create(weft_sharded_table **table, weft_context *context,
    int64_t rows, int64_t width, const weft_sharded_table_options *options);
WEFT_API void weft_sharded_table_release(weft_sharded_table *table); /* NULL is allowed */
/* The graph that has this process's rows as its parameter, and the states of their optimizer: for weft_checkpoint_save, a file for each
 * process, and weft_checkpoint_load with the same number of processes. Row r is row r / n of the process r mod n; the last row is unused.
 * Borrowed; NULL for NULL. */
WEFT_API weft_graph *weft_sharded_table_graph(const weft_sharded_table *table);
/* rows: `count` numbers in [0, rows of the table). values: (count, width). Errors of both: WEFT_ERROR_ARGUMENT (a row is not in the table, a
 * pointer is NULL, 2 GB or more for one process), WEFT_ERROR_MEMORY, WEFT_ERROR_PEER, and those of plans. */
WEFT_API weft_status weft_sharded_table_gather(
    weft_sharded_table *table, const int32_t *rows, size_t count, float *values);
WEFT_API weft_status weft_sharded_table_update(
    weft_sharded_table *table, const int32_t *rows, size_t count, const float *gradients);

#ifdef __cplusplus
}
#endif
#endif
