/* What `weft bench scale` measures in a job: training steps of a network, the exchange of its gradients, and the link between the ranks.
 * All ranks call these functions in the same order. */
#ifndef SCALE_MEASURE_H
#define SCALE_MEASURE_H

#include "bench_networks.h"
#include "scale_model.h"

typedef struct scale_wanted {
    const bench_network *network;
    int64_t batch; /* examples of a rank */
    size_t shards; /* of a rank */
    size_t steps;  /* that are measured, besides two that warm up */
} scale_wanted;

/* The link of a job of one rank has the speed of additions alone. */
weft_status scale_measure_link(scale_link *link, weft_distributed *job);
/* Medians of the steps of this rank; measured->link is not set. job NULL: this process is alone. */
weft_status scale_measure_step(
    scale_step *measured, weft_context *context, weft_distributed *job, const scale_wanted *wanted);

#endif
