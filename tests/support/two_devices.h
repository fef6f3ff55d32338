/* Two devices, and a network in two halves to be computed on them. The second device is the first once more, with a
 * queue of its own: in the same OpenCL context, where devices copy by themselves, or in another, where the host does. */
#ifndef TWO_DEVICES_H
#define TWO_DEVICES_H

#include "support/fixture.h"

#include "plan/compiled_plan.h"

enum { BATCH = 12, SIDE = 10, FILTERS = 8, HIDDEN = 24, CLASSES = 7, MOST = 16 };

/* same: in one OpenCL context. limits: bytes of each device, 0: none. */
weft_context *two_devices_open(bool same, size_t first_limit, size_t second_limit);

typedef struct two_halves {
    weft_graph *graph;
    weft_tensor *x, *label, *middle, *outputs[MOST];
    size_t output_count, read_count; /* the first are read, the others update the parameters */
    int *wanted;                     /* by node id */
    size_t wanted_count;
} two_halves;

/* The loss, a gradient of each half, and the updates of Adam. */
two_halves two_halves_make(weft_context *context);
void two_halves_end(two_halves *n, weft_plan *plan);
void two_halves_want(two_halves *n, uint32_t first, uint32_t end, int device);
/* On the context's first `devices`. */
weft_status two_halves_plan(weft_plan **plan, const two_halves *n, int devices);
/* Another batch for each step. */
void two_halves_write(weft_plan *plan, const two_halves *n, uint64_t step);

#endif
