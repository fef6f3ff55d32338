/* weft/plan.h: plans, which compile a graph to kernel launches and run them.
 *
 * A plan computes chosen tensors of a graph at one batch size. Creating a plan compiles (or loads) the kernels and
 * allocates all memory. Running a plan enqueues the prepared launches and allocates nothing. The plans of one graph
 * share its parameters and states. Another batch size or length needs another plan, but no compilation.
 *
 * A value that depends only on constants, and on parameters and states that the plan does not change, such as a
 * normalised matrix or the scaled weights of a frozen teacher, is computed in the first run and kept (counted in
 * arena_bytes). The value is computed again in the first run after one of these variables was written, loaded, or
 * changed by another plan. A plan for training keeps such a value only if it has at most four times the bytes of the
 * tensors from which it is computed. If the values do not fit into the memory limit, every run computes them. */
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
    /* Default false, a plan for training: dropout is active, and norms use the batch's statistics and update the
     * running ones, except in layers that were created in a scope of weft_scope_inference. If such a plan updates no
     * parameter, the log warns once for the graph and names the first layer that differs in training. true: dropout
     * does nothing, and norms use their running statistics; the plan also keeps packed copies of weights (counted in
     * arena_bytes), if memory_limit and the context allow it. */
    bool inference;
    /* The most bytes that the plan may allocate (total_bytes); default 0: only the limit of the context. If storing all
     * intermediates would take more, the plan computes some of them again. No bit of a result changes. */
    size_t memory_limit;
    bool compile_late; /* default false; true: the first run compiles the kernels, not weft_plan_create */
    /* The value of WEFT_LENGTH in this plan, 1 or more; default 0: no length, which is an error if an output depends on
     * WEFT_LENGTH. */
    int64_t length;
    /* The values of sizes of weft_symbol in this plan, by name, 1 to 2^31 - 1; default: none. In C:
     * .sizes = WEFT_SIZES({"height", 480}, {"width", 640}). A name of which the graph has no symbol is an error, and so
     * is a size that an output depends on and that has no value. "length" is WEFT_LENGTH. */
    const weft_named_size *sizes;
    size_t size_count;
} weft_plan_options;
#define WEFT_PLAN_OPTIONS_INIT .struct_size = sizeof(weft_plan_options)

/* outputs: the tensors that the program reads after a run, and the assignments and updates that a run executes. options
 * NULL means all defaults. Under a memory limit, the plan stores the intermediates that fit and computes the others
 * again where they are read, which takes time but gives the same bits. If the plan still does not fit, nothing is
 * allocated, and the error WEFT_ERROR_MEMORY_LIMIT names the smallest limit that was found to suffice. */
WEFT_API weft_status weft_plan_create(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);
WEFT_API weft_plan *weft_plan_retain(weft_plan *plan);
WEFT_API void weft_plan_release(weft_plan *plan); /* NULL is allowed */

/* Copy whole tensors, row-major; bytes must be the exact size. weft_plan_write has copied the data when it returns. It
 * does not check labels and indices: the run reports those out of range (trainers check labels before a run).
 * weft_plan_read waits for the device; outputs keep the values of the plan's last run until the plan runs again, even
 * if states are assigned meanwhile. If an op found an index or label out of range in a run since the last read or wait,
 * weft_plan_read copies the data nevertheless, and returns WEFT_ERROR_ARGUMENT with a message that names the op. */
WEFT_API weft_status weft_plan_write(weft_plan *plan, weft_tensor *input, const void *data, size_t bytes);
WEFT_API weft_status weft_plan_read(weft_plan *plan, weft_tensor *output, void *data, size_t bytes);
/* weft_plan_write and weft_plan_read without waiting: data must stay valid until weft_plan_wait returns. On a device
 * with its own memory, a write can run while kernels still read the previous data of the input (see one_queue of the
 * context's options). */
WEFT_API weft_status weft_plan_write_async(
    weft_plan *plan, weft_tensor *input, const void *data, size_t bytes);
WEFT_API weft_status weft_plan_read_async(weft_plan *plan, weft_tensor *output, void *data, size_t bytes);
/* From now on, the plan reads the input from device memory of the program, beginning at offset (in bytes, a multiple of
 * the element size). The plan retains the memory. memory NULL: the input is again in memory of the plan.
 * WEFT_ERROR_UNSUPPORTED: the input is larger than the device's largest buffer, so that the plan stores it in several
 * buffers. */
WEFT_API weft_status weft_plan_bind(
    weft_plan *plan, weft_tensor *input, struct _cl_mem *memory, size_t offset);
/* The device memory of an output and its offset in bytes, for use on the same queue; borrowed. If the output is a
 * parameter or state, do not write to the memory: plans would not notice the change. WEFT_ERROR_UNSUPPORTED: the output
 * is stored in several buffers. */
WEFT_API weft_status weft_plan_memory(
    weft_plan *plan, weft_tensor *output, struct _cl_mem **memory, size_t *offset);

/* Copies an output of the plan `from`, as its last run left it, to an input of `plan`, on the device and without
 * waiting. The plans may be the same one, or belong to different graphs and devices. Examples: a drawn token is the
 * input of the next run; actions are the input of an environment. Both tensors have the same dtype and number of bytes.
 * Errors: WEFT_ERROR_ARGUMENT (not an input, not an output, another number of bytes), WEFT_ERROR_DTYPE,
 * WEFT_ERROR_STATE (`from` has not run yet), WEFT_ERROR_UNSUPPORTED (one of the tensors is stored in several buffers).
 *     weft_plan_run(plan);
 *     weft_plan_feed(plan, token, plan, next_token); */
WEFT_API weft_status weft_plan_feed(
    weft_plan *plan, weft_tensor *input, weft_plan *from, weft_tensor *output);

/* Enqueues one run and does not wait. WEFT_ERROR_STATE: an input was never written or bound. */
WEFT_API weft_status weft_plan_run(weft_plan *plan);
/* An input or output of a plan, with the caller's memory and its size in bytes: {loss, &now, sizeof now}. */
typedef struct weft_value {
    weft_tensor *tensor;
    void *data;
    size_t bytes;
} weft_value;
/* Writes the inputs among the values (weft_plan_write), runs the plan (weft_plan_run), and reads the other values,
 * which must be outputs (weft_plan_read). Stops at the first error: of these three calls, or WEFT_ERROR_ARGUMENT (an
 * input appears twice, a value has no tensor).
 *     weft_plan_step(plan, (weft_value[]){{image, images, sizeof images}, {loss, &now, sizeof now}}, 2); */
WEFT_API weft_status weft_plan_step(weft_plan *plan, const weft_value *values, size_t count);
/* A weft_value of an input; its memory is only read, so that data may be const. If `input` is not an input, the value
 * has no tensor, and weft_plan_step returns WEFT_ERROR_ARGUMENT. In C and C++:
 *     const weft_value values[] = {weft_value_in(image, images, sizeof images), {loss, &now, sizeof now}}; */
WEFT_API weft_value weft_value_in(weft_tensor *input, const void *data, size_t bytes);
/* In C: WEFT_VALUES is an array of values and its length; WEFT_VALUE is one value, whose memory is an array or a
 * variable, not a pointer to the data; WEFT_VALUE_IN is the value of an input, whose memory may be const.
 *     weft_plan_step(plan, WEFT_VALUES(WEFT_VALUE_IN(image, images), WEFT_VALUE(loss, now))); */
#ifndef __cplusplus
#define WEFT_VALUE(tensor, memory)                                                                           \
    { (tensor), &(memory), sizeof(memory) }
#define WEFT_VALUE_IN(tensor, memory) weft_value_in((tensor), &(memory), sizeof(memory))
#define WEFT_VALUES(...)                                                                                     \
    (const weft_value[]){__VA_ARGS__}, sizeof((const weft_value[]){__VA_ARGS__}) / sizeof(weft_value)
#endif
/* Waits until everything that was enqueued has finished. Reports an index or label out of range as weft_plan_read
 * does. */
WEFT_API weft_status weft_plan_wait(weft_plan *plan);

typedef struct weft_plan_info {
    int64_t batch;
    size_t steps; /* fused steps */
    /* Kernels (and library calls) per run, without those that run only once, such as the packing of weights. A launch
     * that is divided into portions to bound its time (longest_launch of the context's options) counts once. */
    size_t launches;
    size_t kernels;            /* distinct kernels */
    size_t conversions;        /* steps that only convert the layout */
    size_t layout_conversions; /* operands converted between (N, C, spatial...) and channels-last */
    double flops; /* floating-point operations per run: 2·m·n·k per product, 1 per elementwise result */
    double bytes_moved;       /* read and written by the launches per run, without caches */
    size_t arena_bytes;       /* intermediates */
    size_t arena_lower_bound; /* the most bytes of intermediates in use at one step: no arena is smaller */
    /* Inputs. On a device with its own memory each input has two buffers, if the limits allow it; both are counted. */
    size_t io_bytes;
    size_t variable_bytes; /* parameters and states of the graph, shared by its plans */
    size_t total_bytes;    /* what this plan allocates: exactly arena_bytes + io_bytes */
    /* The cost of a memory limit; zero if everything fits: */
    size_t rematerialised_steps;   /* how many of `steps` compute values again */
    size_t rematerialised_bytes;   /* how much larger total_bytes would be without these steps */
    double rematerialised_flops;   /* how many of `flops` are in these steps */
    double rematerialised_seconds; /* estimate of how much longer a run takes */
    int64_t length;                /* the value of WEFT_LENGTH; 0: no output depends on it */
    /* The number of ranges of examples that are computed one after the other, because a tensor of the whole batch is
     * larger than the device's largest buffer, or the plan than the context's limit; 1: the whole batch at once. */
    int64_t micro_batches;
    /* Parameters and states in host memory, because the context's memory limit has no room for them (memory_limit in
     * device.h): their bytes, of variable_bytes, and the bytes that a run copies to the device and back. */
    size_t host_bytes, loaded_bytes;
} weft_plan_info;
/* Fills *info. All figures are known before the first run. */
WEFT_API weft_status weft_plan_get_info(const weft_plan *plan, weft_plan_info *info);

typedef enum weft_format { WEFT_FORMAT_TEXT, WEFT_FORMAT_JSON } weft_format;
/* Writes a description to buffer, truncated to capacity and NUL-terminated. *length becomes the length of the whole
 * text without the NUL, as snprintf returns it; to get only the length, pass NULL and capacity 0. */
WEFT_API weft_status weft_plan_describe(
    const weft_plan *plan, weft_format format, char *buffer, size_t capacity, size_t *length);

#ifdef __cplusplus
}
#endif
#endif
