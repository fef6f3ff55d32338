/* A network of one layer that the tests of plans share. */
#ifndef SMALL_NET_H
#define SMALL_NET_H

#include <weft/weft.h>

typedef struct small_net {
    weft_context *context;
    weft_graph *graph;
    weft_tensor *x, *weight, *bias, *hidden, *y, *loss;
} small_net;

enum { SMALL_NET_IN = 5, SMALL_NET_OUT = 3 };

small_net small_net_in(weft_context *context);
/* A plan of one output. */
weft_plan *small_net_plan(weft_tensor *output, int64_t batch);
/* Fills values with random numbers in -1..1, which depend on `number`. */
void small_net_fill(float *values, size_t count, uint64_t number);
/* Runs a plan of this batch size with x, and reads the network's output to y. */
void small_net_compute(weft_plan *plan, const small_net *n, const float *x, int64_t batch, float *y);

#endif
