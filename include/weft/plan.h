/* weft/plan.h: from a graph to launches, and running them.
 *
 * A plan computes chosen tensors of a graph at one batch size. Making it compiles (or loads) the kernels and
 * allocates all memory; running it is a walk over prepared launches that allocates nothing. Plans of one
 * graph share its parameters and states. A further batch size costs planning, not compiling. */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_plan weft_plan;

typedef struct weft_plan_options {
    size_t struct_size;
    int64_t batch;  /* default 1 */
    bool inference; /* default false: dropout drops, norms take and move statistics */
    /* Bytes that the plan may allocate (total_bytes); 0: only the context's limit holds. When storing every
     * intermediate would take more, the plan computes some of them again. */
    size_t memory_limit;
    bool compile_late; /* default false; true: kernels are compiled by the first run, not now */
} weft_plan_options;
#define WEFT_PLAN_OPTIONS_INIT .struct_size = sizeof(weft_plan_options)

/* outputs: tensors to be read after a run, and assignments to be done in it. Within a limit of memory the
 * plan stores what it can and computes the rest again where it is read, which takes time and changes no bit of
 * a result. Refused before anything is allocated when even that does not suffice (WEFT_ERROR_MEMORY_LIMIT, with
 * the least that would). */
WEFT_API weft_status weft_plan_create(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);
WEFT_API weft_plan *weft_plan_retain(weft_plan *plan);
WEFT_API void weft_plan_release(weft_plan *plan); /* NULL is fine */

/* Whole tensors, row-major, exact size in bytes. write: copied before it returns; i32 labels of a
 * cross-entropy are checked by the trainer, not here. read: waits for the device; when an op met an index out
 * of range in a run since the last read or wait, the data is there and WEFT_ERROR_ARGUMENT names the op. */
WEFT_API weft_status weft_plan_write(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes);
WEFT_API weft_status weft_plan_read(weft_plan *plan, weft_tensor *output, void *data, size_t bytes);
/* The same without waiting: data must stay valid until weft_plan_wait. */
WEFT_API weft_status weft_plan_write_async(
    weft_plan *plan, weft_tensor *input, const void *data, size_t bytes);
WEFT_API weft_status weft_plan_read_async(weft_plan *plan, weft_tensor *output, void *data, size_t bytes);
/* Uses the embedder's own device memory (retained) as an input from now on; offset in bytes, a multiple of
 * the element size. NULL goes back to the plan's own. */
WEFT_API weft_status weft_plan_bind(
    weft_plan *plan, weft_tensor *input, struct _cl_mem *memory, size_t offset);
/* The memory that holds an output, for use on the same queue; borrowed. offset in bytes. */
WEFT_API weft_status weft_plan_memory(
    weft_plan *plan, weft_tensor *output, struct _cl_mem **memory, size_t *offset);

/* Enqueues one step and does not wait. */
WEFT_API weft_status weft_plan_run(weft_plan *plan);
/* Waits until everything enqueued is done. An index out of range is told as by weft_plan_read. */
WEFT_API weft_status weft_plan_wait(weft_plan *plan);

typedef struct weft_plan_info {
    int64_t batch;
    size_t steps;          /* fused steps */
    size_t launches;       /* kernels (and library calls) a run */
    size_t kernels;        /* distinct kernels */
    size_t conversions;    /* steps that only move data into another layout */
    size_t layout_changes; /* operands of any step that change between (N, C, spatial...) and channels-last */
    double flops;          /* floating-point operations a run: 2·m·n·k a product, 1 an elementwise op */
    double bytes_moved;    /* read + written by the launches, caches not counted */
    size_t arena_bytes;    /* intermediates */
    size_t arena_lower_bound; /* the most bytes of intermediates that one step needs: no arena is smaller */
    size_t io_bytes;          /* inputs */
    size_t variable_bytes;    /* parameters and states of the graph, shared among its plans */
    size_t total_bytes;       /* what this plan allocates itself: arena + io, to the byte */
    /* What a limit of memory costs; zero when everything fits: */
    size_t rematerialised_steps;   /* of `steps`, those that run a second time or more often */
    size_t rematerialised_bytes;   /* that total_bytes would be more without */
    double rematerialised_flops;   /* of `flops`, those of steps that run again */
    double rematerialised_seconds; /* a run takes longer, estimated */
} weft_plan_info;
/* What the plan is made of, all known before its first run. */
WEFT_API weft_status weft_plan_get_info(const weft_plan *plan, weft_plan_info *info);

typedef enum weft_format { WEFT_FORMAT_TEXT, WEFT_FORMAT_JSON } weft_format;
/* Writes a NUL-terminated description (cut at capacity) and its whole length without the NUL, as snprintf
 * does: buffer may be NULL with capacity 0 to ask for the length. */
WEFT_API weft_status weft_plan_describe(
    const weft_plan *plan, weft_format format, char *buffer, size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
