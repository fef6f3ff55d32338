/* The last passes: device memory for the places, and kernels with all arguments set.
 *
 *   plan_memory.c  buffers, and where each place is in them
 *   arguments.c    kernel arguments, and records of those that change
 *   programs.c     the program that has each kernel
 *   launches.c     launches */
#ifndef WI_LAUNCHES_H
#define WI_LAUNCHES_H

#include "cl/buffer.h"
#include "cl/launch.h"
#include "plan/arrange/placement.h"
#include "plan/emit/code.h"

typedef struct wi_kernel_argument wi_kernel_argument; /* kernels/kernel_plan.h */

/* ---- device memory ---- */

/* Device memory of a place. weft_plan_bind changes the memory of an input. */
typedef struct wi_place_memory {
    cl_mem memory;    /* NULL: the place is part of another place */
    size_t offset;    /* bytes */
    wi_buffer buffer; /* INPUT: the input's buffer */
    /* INPUT, if the device has an upload queue: the buffer that the next write fills, which then becomes `buffer`. Its memory is NULL if
     * there is none. */
    wi_buffer spare;
    cl_event spare_left; /* event after which no kernel reads the spare buffer; NULL: none ever did */
    /* INPUT: the program has the address of the memory, so the buffers are not exchanged. */
    bool is_shown;
    bool written; /* INPUT: the program has written to `buffer` */
    bool is_user; /* BLOCK: counted in the block's `users` */
} wi_place_memory;

typedef struct wi_plan_memory {
    const wi_placement *placement;
    wi_place_memory *of; /* by place */
    wi_buffer *chunks;   /* by chunk: the buffers of the arena */
    size_t spare_bytes;  /* bytes of all spare buffers */
    wi_plan_share shares[WI_MAX_DEVICES];
    bool created; /* no pass failed, so that the buffer pool may keep the plan's memory for a later plan */
} wi_plan_memory;

typedef struct wi_location {
    cl_mem memory;
    size_t
        offset; /* bytes; of a value in a load, the sum with the value's layout.offset is meant, modulo the type's range */
    /* The place of the input to which the memory belongs, and which can be bound to other memory; -1: the memory belongs to no input. */
    int input;
} wi_location;

/* Bytes of variables that no plan has needed yet, so that they have no device memory. */
size_t wi_missing_bytes(const wi_partition *p);
/* Allocates all buffers. limit: bytes of the plan; 0: none. Inputs get spare buffers only if all of them fit in the limits and in the
 * device's memory. */
weft_status wi_plan_allocate(const wi_placement *placement, size_t limit, wi_plan_memory *memory);
void wi_plan_memory_clear(wi_plan_memory *memory);
wi_location wi_locate_place(const wi_plan_memory *memory, int place);
/* The storage of the value in that run. The offset does not include the value's layout.offset. */
wi_location wi_locate_value(const wi_plan_memory *memory, const wi_run *run, int value);

/* ---- launches ---- */

/* The number of launches at the beginning of the step that a run leaves out, because they copy an input to a result in the same memory. */
int wi_launches_left_out(const wi_schedule *schedule, const wi_placement *placement, const wi_run *run);

/* An argument that is set before each run, or when an input is bound to other memory. */
typedef struct wi_bound_argument {
    wi_argument_kind kind; /* SCALAR, DRAWS, ITERATION; BUFFER and OFFSET only for inputs */
    int index;             /* number of the kernel's argument */
    int which;             /* number of the scalar, or place of the input */
    int64_t elements;      /* OFFSET: elements of `size` bytes to add to the input's offset */
    size_t size;
} wi_bound_argument;

typedef struct wi_plan_launch {
    wi_launch launch; /* without a kernel if a library computes the product, or for a transfer */
    wi_device *device;
    const wi_run *run;
    const struct wi_load
        *load; /* the launch copies this range to the device, or if `stores`, back; NULL: it does not */
    bool stores;
    bool is_fixed;  /* runs again only after one of the variables that it reads was written */
    bool first_use; /* first launch of a kernel compiled for this plan; some drivers compile at this time */
    int argument_count;
    wi_bound_argument *changing; /* arguments of kind SCALAR, DRAWS, ITERATION */
    int changing_count;
    /* How often a run repeats a group of launches: this one and those that follow, launches_per_iteration in all. 0: the launch runs once, or is
     * not the first of its group. */
    int64_t iterations;
    int launches_per_iteration;
    wi_bound_argument *bound; /* arguments with addresses in inputs */
    int bound_count;
} wi_plan_launch;

typedef struct wi_launches {
    const wi_code *code;
    const wi_plan_memory *memory;
    /* By device index and piece of source text; NULL: no launch needs the piece. */
    struct wi_program **programs;
    /* By device index and piece: compiled for this plan, and not yet used by a launch. */
    bool *unused;
    wi_plan_launch *launches;
    size_t count, capacity;
    size_t new_kernels; /* launches with first_use; 0 after the first run */
    /* Arguments of the launch that is being created: first those in `bound`, then those in `changing`. */
    wi_bound_argument *room;
    size_t half; /* elements of `room` for `bound`, and as many for `changing` */
    /* While launches are created: what other processes are to compile (compile_processes.h). */
    struct wi_compile_request *request;
} wi_launches;

/* Creates all launches. Returns an error of the driver or of memory; then the caller clears `launches` and may try again. */
weft_status wi_plan_launches(const wi_code *code, const wi_plan_memory *memory, wi_launches *launches);
/* Does Weft launch a kernel for the step? Not for a library's product or a transfer. */
bool wi_has_kernel(const wi_step *step);
/* Releases the kernels and empties the list. */
void wi_launches_clear(wi_launches *launches);
/* Is the launch a copy that the queue does without a kernel? */
bool wi_launch_copies(const wi_plan_launch *launch);

/* ---- programs.c ---- */
/* Finds the program of each piece, and compiles pieces that no program has. Sets `programs` and `unused`. */
weft_status wi_plan_programs(const wi_code *code, wi_launches *launches);

/* ---- arguments.c ---- */
typedef struct wi_binder {
    const wi_launches *launches;
    const wi_run *run;
    wi_plan_launch *launch;
    cl_uint next; /* number of the next argument */
    weft_status status;
} wi_binder;

/* These set the next argument, or the next ones, unless an earlier call failed (`status`). */
void wi_bind_described(wi_binder *b, const wi_argument *argument);
void wi_bind_kernel(wi_binder *b, const wi_kernel_argument *argument);

#endif
