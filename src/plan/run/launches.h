/* The last passes: device memory for the places, and kernels with all arguments set.
 *
 *   plan_memory.c  buffers; where a place lies in them
 *   arguments.c    kernel arguments, and a note of the few that change
 *   programs.c     which program has each kernel
 *   launches.c     launches */
#ifndef WI_LAUNCHES_H
#define WI_LAUNCHES_H

#include "cl/launch.h"
#include "cl/program.h"
#include "plan/arrange/placement.h"
#include "plan/emit/code.h"

/* ---- device memory ---- */

/* Of one place; weft_plan_bind changes that of inputs. */
typedef struct wi_place_memory {
    cl_mem memory;    /* NULL: the place lies in another */
    size_t offset;    /* bytes */
    wi_buffer buffer; /* INPUT: its own */
    wi_buffer
        spare; /* INPUT, with a queue for uploads: where the next write goes; no memory: there is none */
    cl_event spare_left; /* the kernels are done with it; NULL: they never had it */
    bool is_shown;       /* INPUT: the caller knows its memory, which stays where it is */
    bool written;        /* INPUT: its own memory has been, by the caller */
} wi_place_memory;

typedef struct wi_plan_memory {
    const wi_placement *placement;
    wi_place_memory *of; /* by place */
    wi_buffer *chunks;   /* of the arena */
    size_t spare_bytes;  /* of inputs that have two buffers */
    wi_plan_share shares[WI_MAX_DEVICES];
    bool created; /* the plan was: its memory counts when it is released */
} wi_plan_memory;

typedef struct wi_location {
    cl_mem memory;
    size_t offset; /* bytes */
    int input;     /* the place of an input, which may be bound elsewhere; -1: it is none */
} wi_location;

/* Bytes of the graph's parameters and states that no plan has needed before. */
size_t wi_missing_bytes(const wi_partition *p);
/* limit: of the plan, 0: none. Inputs have second buffers where all of them fit into the limits and the device's memory. */
weft_status wi_plan_allocate(const wi_placement *placement, size_t limit, wi_plan_memory *memory);
void wi_plan_memory_clear(wi_plan_memory *memory);
wi_location wi_locate_place(const wi_plan_memory *memory, int place);
/* The memory that a value lies in during a run, to its beginning: the value's own offset is not in it. */
wi_location wi_locate_value(const wi_plan_memory *memory, const wi_run *run, int value);

/* ---- launches ---- */

/* Launches of a run that have nothing to do, the first of the step: they copy an input to a result that is the same memory. */
int wi_launches_left_out(const wi_schedule *schedule, const wi_placement *placement, const wi_run *run);

/* An argument that changes: set before the run, or when an input is bound to other memory. */
typedef struct wi_bound_argument {
    wi_argument_kind kind; /* SCALAR, DRAWS, ITERATION; BUFFER and OFFSET of an input's place */
    int index;             /* of the kernel's argument */
    int which;             /* scalar or place */
    int64_t elements;      /* OFFSET: to be added, in elements of `size` bytes */
    size_t size;
} wi_bound_argument;

typedef struct wi_plan_launch {
    wi_launch launch; /* no kernel: a library's product, or a transfer */
    wi_device *device;
    const wi_run *run;
    bool is_fixed;  /* runs once, and again after a variable was written */
    bool first_use; /* of a kernel that was compiled for this plan: some drivers compile it here */
    int argument_count;
    wi_bound_argument *changing; /* SCALAR, DRAWS and ITERATION */
    int changing_count;
    int64_t iterations; /* of this launch and those after it; 0: it runs once */
    int launches_per_iteration;
    wi_bound_argument *bound; /* arguments that lie in inputs */
    int bound_count;
} wi_plan_launch;

typedef struct wi_launches {
    const wi_code *code;
    const wi_plan_memory *memory;
    wi_program **programs; /* by device index and piece; NULL: no launch needs it */
    bool *unused;          /* by device index and piece: compiled for this plan, and no launch has it yet */
    wi_plan_launch *launches;
    size_t count, capacity;
    size_t new_kernels;      /* launches that are first_use; 0 once they have run */
    wi_bound_argument *room; /* of the launch that is being made: what may be bound, then what may change */
} wi_launches;

/* After an error it may be tried again. */
weft_status wi_plan_launches(const wi_code *code, const wi_plan_memory *memory, wi_launches *launches);
/* Has the step a kernel of ours? Libraries and transfers have none. */
bool wi_has_kernel(const wi_step *step);
/* Kernels are released, and the list is empty. */
void wi_launches_clear(wi_launches *launches);

/* ---- programs.c ---- */
/* What no program has is compiled. Sets `programs` and `unused`. */
weft_status wi_plan_programs(const wi_code *code, wi_launches *launches);

/* ---- arguments.c ---- */
typedef struct wi_binder {
    const wi_launches *launches;
    const wi_run *run;
    wi_plan_launch *launch;
    cl_uint next; /* argument */
    weft_status status;
} wi_binder;

/* All set the binder's next argument (or several), unless an earlier one failed. */
void wi_bind_described(wi_binder *b, const wi_argument *argument);
void wi_bind_kernel(wi_binder *b, const wi_kernel_argument *argument);

#endif
