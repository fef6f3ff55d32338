/* Convolutions of several shapes in one graph, for tests that compare kernels. Inputs are channels-last in memory, so that the plan needs
 * few other kernels, and numbers are small multiples of 1/8, so that sums are exact in float32 in any order. */
#ifndef CONV_NET_H
#define CONV_NET_H

#include "kernels/convolution/conv_product.h"
#include "plan/compiled_plan.h"
#include <weft/weft.h>

typedef struct conv_case {
    const char *what;
    int64_t images, channels, height, width, filters, taps, stride, dilation, padding, groups;
} conv_case;

/* Flags of `extras`: a bias; a relu; the gradient of the weight instead of that of the image; a third spatial axis of length CONV_DEPTH
 * before the others. */
enum { CONV_BIAS = 1, CONV_RELU = 2, CONV_OF_WEIGHT = 4, CONV_3D = 8 };
enum { CONV_DEPTH = 5 };
/* Each case has two convolutions: of the result, and of the gradient. */
enum { CONV_PASSES = 2, CONV_INPUTS = 4, CONV_MOST_CASES = 32 };

typedef struct conv_net {
    const conv_case *cases;
    size_t count;
    weft_tensor *inputs[CONV_MOST_CASES][CONV_INPUTS]; /* image, weight, slope of the result, bias or NULL */
    weft_tensor *outputs[CONV_MOST_CASES * CONV_PASSES]; /* for each case: result, gradient */
    size_t output_count;
} conv_net;

conv_net conv_net_in(weft_graph *graph, const conv_case *cases, size_t count, int extras);
/* The number of floats of all outputs together. */
size_t conv_net_size(const conv_net *net);
/* A plan of all outputs that is created with $WEFT_CONV set to `forced`; NULL: with $WEFT_CONV unset. */
weft_plan *conv_net_plan(const conv_net *net, const char *forced);
/* Runs the plan, and returns the values of all outputs, one after the other, in new memory. */
float *conv_net_run(const conv_net *net, weft_plan *plan);
/* Fails the test if got, which the kernel `name` computed, differs from wanted. If rounds(name, case) is true, a difference of 2e-5 of the
 * output's root mean square is allowed. rounds NULL: this holds for kernels whose names begin with "winograd". */
void conv_net_compare(const conv_net *net, const char *name, const float *got, const float *wanted,
    bool (*rounds)(const char *name, const conv_case *c));

/* The geometry of a convolution of square images with windows of taps x taps (odd), stride 1, and padding such that the result has the
 * size of the image. The strides in memory are 0. */
wi_conv_geometry conv_geometry_of(
    int64_t images, int64_t channels, int64_t filters, int64_t side, int64_t taps);
/* conv_geometry_of with the strides of channels-last images in contiguous memory. */
wi_conv_geometry conv_geometry_in_memory(
    int64_t images, int64_t channels, int64_t filters, int64_t side, int64_t taps);

/* Writes the plan's convolution steps to steps, an array of CONV_MOST_CASES * CONV_PASSES, and returns their number. */
size_t conv_net_steps(const weft_plan *plan, const wi_step **steps);
/* conv_net_steps for the steps that compute gradients of weights. */
size_t conv_net_weight_steps(const weft_plan *plan, const wi_step **steps);
/* The number of work-groups among which a step of split_gpu divides the sum of a tile: the size of the launch's third dimension, divided by
 * the groups of channels. */
int conv_net_splits(const weft_plan *plan, const wi_step *step);
/* Stores tuning choices: plans that are created from now on use `kernel/variant` for the sites of these steps. */
void conv_net_choose(wi_device *device, const char *kernel, const char *variant, const weft_plan *plan,
    const wi_step *const *steps, size_t count);

#endif
