/* The request for a plan: the first of the structs that the passes hand on. Each pass reads the structs of the passes before it and
 * fills a new one:
 *
 *   request.h              options and outputs
 *   rewrite/order.h        the rewritten nodes, inputs before their users, with the numbers of readers
 *   group/partition.h      values, the steps that compute them, storages, selected implementations
 *   layout/loops.h         the index space and the operands of each step
 *   select/schedule.h      launches of templates, division of the work of each step, scratch memory, costs
 *   emit/code.h            OpenCL C of each step, and its arguments
 *   arrange/materialise.h  order of the runs of steps, and steps that run again to meet a memory limit
 *   arrange/placement.h    live range and offset of each place
 *   run/launches.h         device memory, programs, and kernels with their arguments
 *
 * A struct points to those it was computed from. All belong to one weft_plan (compiled_plan.h), and most of their memory to its arena,
 * until the plan is released. */
#ifndef WI_REQUEST_H
#define WI_REQUEST_H

#include "base/memory.h"
#include "graph/sizes.h"

typedef struct wi_device wi_device; /* cl/opened_device.h */

/* The devices of a plan. A device index is a number in this list. Inputs are on device 0, and so are parameters and states: on the first
 * device of the context the graph's own, on another one copies (graph/block_copies.h). */
typedef struct wi_plan_devices {
    wi_device *const *of; /* devices of the context */
    int count;
    /* For plans on several devices, by node id: the index of the device that computes the node; -1, or no entry: the device that
     * computes most of its inputs. Needed only while the plan is created. */
    const int *wanted;
    size_t wanted_count;
    /* Each device computes one range of the batch's examples: the micro-batch with its number (rewrite/order_micro_batches.c). What is not
     * computed in micro-batches, such as updates, is computed on the first device. */
    bool share_batch;
} wi_plan_devices;

typedef struct wi_request {
    weft_graph *graph;
    weft_context *context;
    const weft_allocator *allocator; /* of the context; NULL: malloc */
    wi_plan_devices devices;
    wi_arena *arena; /* host memory for the results of the passes */
    int64_t batch;
    int64_t micro_batches; /* parts into which large nodes divide the batch; 1: nodes are not divided */
    size_t
        most_undivided; /* with micro_batches: nodes of more bytes are divided; 0: those that do not fit in a buffer */
    size_t most_scratch; /* the most bytes of a kernel's scratch memory; 0: no limit */
    bool inference;
    /* Leaves out all optional optimisations: simplification, maps that join steps or are computed by their readers, rows that are gathered
     * by their readers, results that are written directly into a concatenation, interchanged loops. Tests compare plans with and
     * without. */
    bool plain;
    /* Format of stored activations and of the operands of products; f32: each node's dtype. */
    weft_dtype precision;
    weft_matmul_precision matmul_precision; /* weft_graph_set_matmul_precision */
    wi_given given;                         /* the sizes of this plan */
    weft_tensor *const *outputs;            /* as passed to weft_plan_create */
    size_t output_count;
} wi_request;

#endif
