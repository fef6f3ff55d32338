/* What a plan is asked for: the first of the structures that its passes hand on.
 *
 * A pass reads the structures of the passes before it, and writes one of its own:
 *
 *   request.h              what is asked for
 *   rewrite/order.h        nodes behind the outputs, rewritten, inputs before users; who reads what
 *   group/partition.h      values and the steps that compute them; the memory that they want; what was selected
 *   layout/loops.h         the index space and the operands of each step
 *   select/schedule.h      the launches of templates, how the work of each step is divided, scratch memory, costs
 *   emit/code.h            OpenCL C of each step, and its arguments
 *   arrange/materialise.h  what runs in which order, and what runs again to meet a limit of memory
 *   arrange/placement.h    how long each memory is in use, and where it lies
 *   run/launches.h         device memory, programs, and kernels with their arguments set
 *
 * A structure points to those that it was made from. All live in one weft_plan (compiled_plan.h), and what they
 * hold in its arena, until the plan is released. */
#ifndef WI_REQUEST_H
#define WI_REQUEST_H

#include "graph/length.h"
#include "ops/op_table.h"

/* What a plan may use. A device index is a device's number here. Parameters, states and inputs are on device 0. */
typedef struct wi_plan_devices {
    wi_device *const *of; /* of the context, as long as the plan lives */
    int count;
    /* By node id, until the plan is made: the device index of what computes the node; -1, or beyond the end: where
     * most of what it reads is. Of several devices. */
    const int *wanted;
    size_t wanted_count;
} wi_plan_devices;

typedef struct wi_request {
    weft_graph *graph;
    weft_context *context;
    wi_plan_devices devices;
    wi_arena *arena; /* for what the passes make */
    int64_t batch;
    int64_t micro_batches; /* in so many parts of the batch large nodes are computed; 1: in one */
    size_t most_scratch;   /* bytes that a kernel's scratch memory may have; 0: nobody has asked yet */
    bool inference;
    /* Every gain that is optional is left out: rewrites that simplify, maps that join steps or are computed where they are read, rows
     * that are gathered where they are read, results that are written straight into a concatenation, exchanged loops. Tests
     * compare other plans with such ones. */
    bool plain;
    weft_dtype
        precision; /* of what runs through the network, stored and multiplied; f32: all as the graph says */
    weft_matmul_precision matmul_precision; /* weft_graph_set_matmul_precision */
    wi_given given;                         /* in place of the length */
    weft_tensor *const *outputs;            /* as the caller knows them */
    size_t output_count;
} wi_request;

#endif
