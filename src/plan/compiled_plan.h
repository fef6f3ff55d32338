/* A plan: what each pass made (request.h says which comes when), and what a run needs.
 *
 *   plan.c           its life: the passes in order; create.c: the public call, and assignments after all others
 *   compile.c        its kernels
 *   run.c            the step loop; queues.c and wait.c: waiting for it
 *   faults.c         what kernels report; overflow.c: what loss scaling does
 *   plan_tensors.c   inputs and outputs; transfer.c: copies between host and device; bind.c: the embedder's memory
 *   describe.c       as text and JSON; profile.c, profile_text.c: a run with the device's times */
#ifndef WI_COMPILED_PLAN_H
#define WI_COMPILED_PLAN_H

#include "plan/describe/dump.h"
#include <weft/plan.h>

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
    size_t transfers, transfer_bytes; /* of runs between devices; of steps on one device: none */
    bool owns_graph;                  /* holds a reference */
    int references;
    bool compiled;                /* the launches are there */
    bool inputs_known;            /* each input has been written, or is the embedder's memory */
    weft_plan *after;             /* runs behind each run (create.c); NULL: nothing does */
    struct wi_profiler *profiler; /* notes what is enqueued; NULL: nobody asks */
    size_t run_count;
    size_t fixed_launches; /* not among info.launches */
    bool fixed_is_known;   /* the fixed launches have run, */
    uint64_t fixed_writes; /* when this was the sum of writes to the plan's blocks, its own included */
};

/* weft_plan_create without a reference to the graph: for plans that the graph itself keeps. */
weft_status wi_plan_create_unowned(
    weft_plan **plan, weft_tensor *const *outputs, size_t count, const weft_plan_options *options);
/* The same on these devices: NULL is the context's first. What weft_plan_create does not offer yet. */
weft_status wi_plan_create_on(weft_plan **plan, weft_tensor *const *outputs, size_t count,
    const weft_plan_options *options, const wi_plan_devices *devices);
/* wi_plan_launches, once; after an error it may be tried again. */
weft_status wi_plan_compile(weft_plan *plan);

/* ---- running: weft_plan_run is both ---- */
/* Compiles what is not yet, refuses what may not run, moves the graph's clocks. */
weft_status wi_plan_begin_run(weft_plan *plan);
/* Enqueues every launch. */
weft_status wi_plan_walk(weft_plan *plan);
/* Waits for all devices, after an error too. */
weft_status wi_plan_finish_queues(const weft_plan *plan);
/* The same where an error is reported, whose line stays. */
void wi_plan_finish_after_error(const weft_plan *plan);
/* Fails with the line of the first fault that a run has noted since the last call, and forgets it. */
weft_status wi_plan_check_faults(weft_plan *plan);
/* The same of one device alone, after its uploads. */
weft_status wi_plan_check_device_faults(weft_plan *plan, int device);
/* Fails, once, where loss scaling has come to its least scale (overflow.c). */
weft_status wi_plan_check_overflow(weft_plan *plan);

/* ---- describing ---- */
/* "matmul+add+relu": the ops of a step in their order. */
void wi_step_append_ops(const weft_plan *plan, const wi_step *step, wi_text *text);
const char *wi_step_kind_name(const weft_plan *plan, const wi_step *step); /* "product" */
const char *wi_step_implementation_name(const weft_plan *plan, const wi_step *step);

#endif
