/* weft/plan.h: plans, which compile a graph to kernel launches and run them.
 *
 * A plan computes chosen tensors of a graph at one batch size. Creating it compiles (or loads) the kernels
 * and allocates all memory. Running it is a walk over prepared launches that allocates nothing. The plans of
 * one graph share its parameters and states. A further batch size, or length, costs planning, but no compilation.
 *
 * What depends on constants, states and parameters alone that a plan does not change, such as a matrix that is normalised or
 * weights of a frozen teacher that are scaled, is computed in the first run of the plan and kept, in arena_bytes; and again
 * in the first run after one of them was written, loaded, or changed by another plan. A plan for training keeps what has at
 * most four times the bytes that it is computed from; under a memory limit that it does not fit into, nothing is kept. */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include <weft/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_plan weft_plan;

typedef struct weft_plan_options {
    size_t struct_size;
    int64_t batch; /* default 1 */
    /* Default false: dropout is active, norms use and update the batch's statistics, but for what was made in a scope of
     * weft_scope_inference. The log says once for a graph if such a plan updates no parameter, and names the first layer that
     * it computes in the form for training. A plan for inference also keeps
     * packed copies of weights, in arena_bytes, as long as memory_limit and the context allow it. */
    bool inference;
    /* Bytes that the plan may allocate (total_bytes); 0: only the limit of the context. If storing every
     * intermediate would take more, the plan computes some of them again. */
    size_t memory_limit;
    bool compile_late; /* default false; true: kernels are compiled in the first run instead of now */
    /* What WEFT_LENGTH stands for in this plan, 1 or more; default 0: none, which is an error where an output depends on
     * it. A further length costs planning, but no compilation. */
    int64_t length;
} weft_plan_options;
#define WEFT_PLAN_OPTIONS_INIT .struct_size = sizeof(weft_plan_options)

/* outputs: tensors that are read after a run, and assignments that a run does. Under a memory limit the plan
 * stores what fits and computes the rest again where it is read, which takes time but gives the same bits. If
 * even that does not suffice, it reports an error before anything is allocated (WEFT_ERROR_MEMORY_LIMIT, with
 * the least limit that would suffice). */
WEFT_API weft_status weft_plan_create(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);
WEFT_API weft_plan *weft_plan_retain(weft_plan *plan);
WEFT_API void weft_plan_release(weft_plan *plan); /* NULL is allowed */

/* Whole tensors, row-major; bytes is their exact size. write: copies data before it returns; it does not
 * check the i32 labels of a cross-entropy (the trainer does). read: waits for the device. If an op met an
 * index out of range in a run since the last read or wait, it still copies the data, and returns
 * WEFT_ERROR_ARGUMENT with a message that names the op. */
WEFT_API weft_status weft_plan_write(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes);
WEFT_API weft_status weft_plan_read(weft_plan *plan, weft_tensor *output, void *data, size_t bytes);
/* The same without waiting: data must stay valid until weft_plan_wait. On a device with memory of its own a write does not wait
 * for kernels that read what was written before (one_queue of the context's options). */
WEFT_API weft_status weft_plan_write_async(
    weft_plan *plan, weft_tensor *input, const void *data, size_t bytes);
WEFT_API weft_status weft_plan_read_async(weft_plan *plan, weft_tensor *output, void *data, size_t bytes);
/* From now on uses device memory of the embedding program (retained) as an input; offset in bytes, a multiple
 * of the element size. NULL returns to the memory of the plan. WEFT_ERROR_UNSUPPORTED: the input is larger than the device's largest
 * buffer, so that the plan has it in several. */
WEFT_API weft_status weft_plan_bind(
    weft_plan *plan, weft_tensor *input, struct _cl_mem *memory, size_t offset);
/* The memory of an output, for use on the same queue; borrowed, and only to be read where the output is a parameter or
 * state: plans do not see what is written to it. offset in bytes. WEFT_ERROR_UNSUPPORTED: the output is in several buffers. */
WEFT_API weft_status weft_plan_memory(
    weft_plan *plan, weft_tensor *output, struct _cl_mem **memory, size_t *offset);

/* Copies an output of a plan, as its last run left it, into an input of this plan or of another one, on the device and
 * without waiting: a token that was drawn becomes the next one's input, actions become the input of an environment, one
 * network's result that of another. Both are of the same dtype and number of bytes; the plans may be of different graphs
 * and devices. Errors: WEFT_ERROR_ARGUMENT (not an input, not an output, another number of bytes), WEFT_ERROR_DTYPE,
 * WEFT_ERROR_STATE (`from` has not run yet), WEFT_ERROR_UNSUPPORTED (one of both is in several buffers).
 *     weft_plan_run(plan);
 *     weft_plan_feed(plan, token, plan, next_token); */
WEFT_API weft_status weft_plan_feed(
    weft_plan *plan, weft_tensor *input, weft_plan *from, weft_tensor *output);

/* Enqueues one step and does not wait. WEFT_ERROR_STATE: an input was never written or bound. */
WEFT_API weft_status weft_plan_run(weft_plan *plan);
/* A tensor of a plan and the caller's memory of its exact size: {loss, &now, sizeof now}. */
typedef struct weft_value {
    weft_tensor *tensor;
    void *data;
    size_t bytes;
} weft_value;
/* A run with all that goes in and comes out: weft_plan_write of the inputs among the values, weft_plan_run, weft_plan_read of
 * the others, which are outputs. Ends with the first error, which is one of these three, or WEFT_ERROR_ARGUMENT: an input is
 * there twice.
 *     weft_plan_step(plan, (weft_value[]){{image, images, sizeof images}, {loss, &now, sizeof now}}, 2); */
WEFT_API weft_status weft_plan_step(weft_plan *plan, const weft_value *values, size_t count);
/* The value of an input in memory that is only read, which the program may have as const. Of another tensor than an input it
 * is a value of no tensor, which weft_plan_step refuses. In C and C++:
 *     const weft_value values[] = {weft_value_in(image, images, sizeof images), {loss, &now, sizeof now}}; */
WEFT_API weft_value weft_value_in(weft_tensor *input, const void *data, size_t bytes);
/* In C, values in place, and one of them: memory is an array or a variable, not a pointer to what it holds; WEFT_VALUE_IN:
 * that of an input, which may be const.
 *     weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE_IN(image, images), WEFT_VALUE(loss, now))); */
#ifndef __cplusplus
#define WEFT_VALUE(tensor, memory)                                                                           \
    { (tensor), &(memory), sizeof(memory) }
#define WEFT_VALUE_IN(tensor, memory) weft_value_in((tensor), &(memory), sizeof(memory))
#define WEFT_VALUES(...)                                                                                     \
    (const weft_value[]){__VA_ARGS__}, sizeof((const weft_value[]){__VA_ARGS__}) / sizeof(weft_value)
#endif
/* Waits until everything that was enqueued has finished. Reports an index out of range as weft_plan_read
 * does. */
WEFT_API weft_status weft_plan_wait(weft_plan *plan);

typedef struct weft_plan_info {
    int64_t batch;
    size_t steps; /* fused steps */
    /* Kernels (and library calls) per run, without those that pack weights once. What is cut for its time (longest_launch
     * of the context's options) counts once. */
    size_t launches;
    size_t kernels;            /* distinct kernels */
    size_t conversions;        /* steps that only convert the layout */
    size_t layout_conversions; /* operands that convert between (N, C, spatial...) and channels-last */
    double flops;       /* floating-point operations per run: 2·m·n·k per product, 1 per elementwise op */
    double bytes_moved; /* read and written by the launches per run, without caches */
    size_t arena_bytes; /* intermediates */
    size_t arena_lower_bound; /* the most bytes of intermediates alive at one step: no arena is smaller */
    /* Inputs; two buffers of each on devices with memory of their own, where limits allow it. */
    size_t io_bytes;
    size_t variable_bytes; /* parameters and states of the graph, shared by its plans */
    size_t total_bytes;    /* what this plan allocates itself: exactly arena + io */
    /* The cost of a memory limit; zero if everything fits: */
    size_t rematerialised_steps;   /* of `steps`, those that compute something again */
    size_t rematerialised_bytes;   /* by which total_bytes would be larger without them */
    double rematerialised_flops;   /* of `flops`, those of these steps */
    double rematerialised_seconds; /* estimate of how much longer a run takes */
    int64_t length;                /* what WEFT_LENGTH stands for; 0: no output depends on it */
    /* Ranges of examples that the batch is computed in, as a tensor of all of them is larger than the device's largest buffer; 1: the whole
     * batch at once. */
    int64_t micro_batches;
} weft_plan_info;
/* Figures about the plan, all known before its first run. */
WEFT_API weft_status weft_plan_get_info(const weft_plan *plan, weft_plan_info *info);

typedef enum weft_format { WEFT_FORMAT_TEXT, WEFT_FORMAT_JSON } weft_format;
/* Writes a NUL-terminated description, truncated to capacity, and returns its whole length without the NUL,
 * as snprintf does. buffer may be NULL with capacity 0 to get the length. */
WEFT_API weft_status weft_plan_describe(
    const weft_plan *plan, weft_format format, char *buffer, size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
