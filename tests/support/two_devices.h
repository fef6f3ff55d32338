/* Two devices, and a network whose halves are computed on them. The second device is the first one again, with another queue: in the
 * same OpenCL context, where devices copy by themselves, or in another one, where data is copied through the host. */
#ifndef TWO_DEVICES_H
#define TWO_DEVICES_H

#include "support/fixture.h"

#include "plan/compiled_plan.h"

enum { BATCH = 12, SIDE = 10, FILTERS = 8, HIDDEN = 24, CLASSES = 7, MOST = 16 };

/* same: both devices are in one OpenCL context. first_limit, second_limit: the bytes that each device may use; 0: no limit. */
weft_context *two_devices_open(bool same, size_t first_limit, size_t second_limit);

typedef struct two_halves {
    weft_graph *graph;
    weft_tensor *x, *label, *middle, *outputs[MOST];
    size_t output_count,
        read_count; /* the first read_count outputs are read, the others update the parameters */
    int *wanted;    /* by node id: the device that is to compute the node */
    size_t wanted_count;
} two_halves;

/* Creates the network. Outputs: the loss, a gradient of each half, and the updates of Adam. */
two_halves two_halves_make(weft_context *context);
void two_halves_end(two_halves *n, weft_plan *plan);
void two_halves_want(two_halves *n, uint32_t first, uint32_t end, int device);
/* Creates a plan for the first `devices` devices of the context. */
weft_status two_halves_plan(weft_plan **plan, const two_halves *n, int devices);
/* Writes a batch to the inputs, another one for each step. */
void two_halves_write(weft_plan *plan, const two_halves *n, uint64_t step);

#endif
