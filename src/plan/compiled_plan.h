/* A plan: the results of all passes (request.h lists them), and what a run needs.
 *
 *   plan.c           creation by the passes in order, and release; create.c: the public call, and weft_assign_after
 *   fit.c            repeats the passes until the plan fits in the device's buffers and memory limits
 *   plan_kernels.c   creates the launches
 *   run.c            a run enqueues all launches; queues.c, wait.c: wait for the launches
 *   early_reads.c    reads outputs while the run goes on
 *   faults.c         faults that kernels report; overflow.c: loss scaling
 *   plan_tensors.c   inputs and outputs; transfer.c: copies between host and device; bind.c: memory of the embedder
 *   describe.c       description as text and JSON; profile.c, profile_text.c: a run with times measured by the device */
#ifndef WI_COMPILED_PLAN_H
#define WI_COMPILED_PLAN_H

#include "plan/describe/dump.h"
#include <weft/plan.h>

typedef struct wi_early_reads wi_early_reads;

struct weft_plan {
    wi_request request;
    wi_node_order order;
    wi_partition partition;
    wi_loops loops;
    wi_code code;
    wi_schedule schedule;
    wi_materialised runs;
    wi_placement placement;
    wi_plan_memory memory;
    wi_launches launches;
    weft_plan_info info;
    wi_dump dump;
    bool verifies;

    wi_arena arena;
    size_t transfers, transfer_bytes; /* copies between devices in one run, and the bytes that they copy */
    bool owns_graph;                  /* the plan holds a reference to its graph */
    int references;
    bool compiled;     /* the launches have been created */
    bool inputs_known; /* each input has been written, or is memory that the program bound (weft_plan_bind) */
    /* A second plan that runs after each run of this one (create.c); NULL: none. */
    weft_plan *after;
    /* Records the launches of a run for its profile; NULL: the run is not profiled. */
    struct wi_profiler *profiler;
    wi_early_reads *reads; /* of outputs, during a run (run/early_reads.h); NULL: none */
    size_t run_count;
    size_t fixed_launches; /* not counted in info.launches */
    bool fixed_is_known;   /* the fixed launches have run */
    /* Writes to the plan's variables up to the last run. After another write the fixed launches run again. */
    uint64_t fixed_writes;
};

/* weft_plan_create without a reference to the graph: for plans that the graph itself owns. */
weft_status wi_plan_create_unowned(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);
/* Creates a plan on several devices; NULL: on the context's first device. The public functions do not offer this. */
weft_status wi_plan_create_on(weft_plan **plan, weft_tensor *const *outputs, size_t count,
    const weft_plan_options *options, const wi_plan_devices *devices);
/* Does the output, an assignment, change parameters? */
bool wi_updates_parameters(const weft_tensor *output);
/* Runs the passes up to the placement. limit: of the plan's bytes; 0: none (fit.c). */
weft_status wi_plan_fit(weft_plan *plan, size_t limit);
/* Creates the launches unless they exist. May be called again after an error. */
weft_status wi_plan_compile(weft_plan *plan);

/* ---- running: weft_plan_run calls wi_plan_begin_run and wi_plan_walk ---- */
/* Compiles the plan if necessary, fails if it cannot run, and advances the clocks of the graph. */
weft_status wi_plan_begin_run(weft_plan *plan);
/* Enqueues every launch. */
weft_status wi_plan_walk(weft_plan *plan);
/* Waits for all devices, even if one of them fails. */
weft_status wi_plan_finish_queues(const weft_plan *plan);
/* Waits for all devices and keeps the message of the error that is being returned. */
void wi_plan_finish_after_error(const weft_plan *plan);
/* Fails with a message about the first fault of the runs since the last call, and clears the faults. */
weft_status wi_plan_check_faults(weft_plan *plan);
/* Checks the faults of one device like wi_plan_check_faults. The caller has waited for the device's uploads. */
weft_status wi_plan_check_device_faults(weft_plan *plan, int device);
/* Fails, once, after gradients have overflowed even at the smallest loss scale (overflow.c). */
weft_status wi_plan_check_overflow(weft_plan *plan);

/* ---- describing ---- */
/* The names of the step's ops in their order: "matmul+add+relu". */
void wi_step_append_ops(const weft_plan *plan, const wi_step *step, wi_text *text);
const char *wi_step_kind_name(const weft_plan *plan, const wi_step *step); /* for example "product" */
const char *wi_step_implementation_name(const weft_plan *plan, const wi_step *step);

#endif
