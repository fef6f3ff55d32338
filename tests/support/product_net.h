/* Networks of one product or convolution and what follows it, for tests of epilogues. */
#ifndef PRODUCT_NET_H
#define PRODUCT_NET_H

#include <stddef.h>
#include <weft/weft.h>

enum { PRODUCT_NET_INPUTS = 8, PRODUCT_NET_OUTPUTS = 6 };

typedef struct product_net {
    weft_graph *graph;
    int64_t batch; /* of a plan: what WEFT_BATCH stands for */
    weft_tensor *inputs[PRODUCT_NET_INPUTS], *outputs[PRODUCT_NET_OUTPUTS];
    int input_count, output_count;
} product_net;

/* An f32 input, named by its number. */
weft_tensor *product_net_input(product_net *n, int rank, const int64_t *sizes);
/* One of the shape of x, but for so many more along an axis. */
weft_tensor *product_net_input_like(product_net *n, const weft_tensor *x, int axis, int64_t more);
void product_net_output(product_net *n, weft_tensor *tensor);
/* The sum over all axes but the last. */
weft_tensor *product_net_column_sums(weft_tensor *x);

/* Elements of a tensor of a plan. */
size_t product_net_count(const product_net *n, const weft_tensor *tensor);
/* A plan of all outputs, by the implementation that this variable of the environment forces (NULL: whichever), whose inputs are as `fill`
 * makes them. */
weft_plan *product_net_plan(const product_net *n, const char *variable, const char *forced,
    void (*fill)(int input, float *values, size_t count));
/* The numbers of an input, and the bytes of an output: new memory. */
float *product_net_numbers(
    const product_net *n, int input, void (*fill)(int input, float *values, size_t count));
void *product_net_read(const product_net *n, weft_plan *plan, int output, size_t *bytes);

#endif
