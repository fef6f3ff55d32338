/* Kernels outside of the plan of a graph, for self-tests, measurements and tests. */
#ifndef WI_KERNEL_RUN_H
#define WI_KERNEL_RUN_H

#include "cl/buffer.h"
#include "cl/launch.h"
#include "kernels/implementation.h"

struct wi_program;

/* Borrowed memory; offset in elements. */
typedef struct wi_kernel_place {
    cl_mem memory;
    int64_t offset;
} wi_kernel_place;

typedef struct wi_kernel_operands {
    wi_kernel_place inputs[WI_KERNEL_INPUTS], result, faults;
    uint64_t seed; /* of random numbers; the number of the run is 0 */
} wi_kernel_operands;

typedef struct wi_prepared_launch {
    wi_launch launch;
    cl_uint arguments; /* number of arguments that are set */
    int iteration;     /* the argument that is the number of the repetition; -1: none */
    int64_t iterations;
    int launches_per_iteration;
} wi_prepared_launch;

/* The launches of a wi_kernel_plan. Begin with {.device, .name, .seconds, .operands}. */
typedef struct wi_kernel_run {
    wi_device *device;
    const char *name; /* for errors */
    double seconds;   /* estimate; a long launch is divided into portions (cl/launch.h) */
    wi_kernel_operands operands;
    wi_buffer scratch;
    wi_prepared_launch launches[WI_KERNEL_LAUNCHES];
    int count;
} wi_kernel_run;

/* Allocates scratch memory, and sets the arguments of all launches, those of epilogues left out. The program's kernels are named
 * <prefix>_<suffix>. The caller clears the run also after a failure. */
weft_status wi_kernel_run_prepare(
    wi_kernel_run *run, const wi_kernel_plan *plan, struct wi_program *program, const char *prefix);
/* Enqueues the launches without waiting for them. May be called any number of times. */
weft_status wi_kernel_run_enqueue(const wi_kernel_run *run);
void wi_kernel_run_clear(wi_kernel_run *run);

/* Compiles the kernels of a kernel op, runs them once, and waits. The program consists of the same pieces as programs of plans
 * (cl/program.h), so a plan that chooses these kernels does not compile them again. The site's layouts have no offsets, and no
 * input is in f64. */
weft_status wi_kernel_op_run(wi_device *device, const wi_implementation *implementation,
    const wi_variant *variant, const wi_kernel_site *site, const wi_kernel_operands *operands);

#endif
