/* Convolutions of several shapes in one graph, for tests that compare kernels: images are in the order that they have in memory, so
 * that little else is compiled, and numbers are small multiples of 1/8, so that sums are exact in float32, whatever their order. */
#ifndef CONV_NET_H
#define CONV_NET_H

#include "kernels/convolution/conv_product.h"
#include "plan/compiled_plan.h"
#include <weft/weft.h>

typedef struct conv_case {
    const char *what;
    int64_t images, channels, height, width, filters, taps, stride, dilation, padding, groups;
} conv_case;

/* What a case may have beside the product: a bias and a relu; or the gradient of the weight in place of the image's; and a third axis of
 * images, CONV_DEPTH long, before the others. */
enum { CONV_BIAS = 1, CONV_RELU = 2, CONV_OF_WEIGHT = 4, CONV_3D = 8 };
enum { CONV_DEPTH = 5 };
/* Convolutions of a case: that of the result, and that of the gradient. */
enum { CONV_PASSES = 2, CONV_INPUTS = 4, CONV_MOST_CASES = 32 };

typedef struct conv_net {
    const conv_case *cases;
    size_t count;
    weft_tensor *inputs[CONV_MOST_CASES][CONV_INPUTS]; /* image, weight, slope of the result, bias or NULL */
    weft_tensor *outputs[CONV_MOST_CASES * CONV_PASSES]; /* of a case result, gradient */
    size_t output_count;
} conv_net;

conv_net conv_net_in(weft_graph *graph, const conv_case *cases, size_t count, int extras);
/* Floats of all outputs. */
size_t conv_net_size(const conv_net *net);
/* With $WEFT_CONV as forced; NULL: nothing is forced. */
weft_plan *conv_net_plan(const conv_net *net, const char *forced);
/* The outputs one after the other: new memory. */
float *conv_net_run(const conv_net *net, weft_plan *plan);
/* Fails the test where got is not wanted, by the kernel of this name: a case that `rounds` may differ by 2e-5 of an output's root mean
 * square. rounds NULL: those of kernels whose name begins with "winograd". */
void conv_net_compare(const conv_net *net, const char *name, const float *got, const float *wanted,
    bool (*rounds)(const char *name, const conv_case *c));

/* A convolution of square images by windows of taps x taps, an odd number, with stride 1 and padding for as many results as pixels. Its
 * strides in memory are 0. */
wi_conv_geometry conv_geometry_of(
    int64_t images, int64_t channels, int64_t filters, int64_t side, int64_t taps);
/* The same of channels-last images in contiguous memory. */
wi_conv_geometry conv_geometry_in_memory(
    int64_t images, int64_t channels, int64_t filters, int64_t side, int64_t taps);

/* The plan's convolutions: how many; steps has room for CONV_MOST_CASES * CONV_PASSES. */
size_t conv_net_steps(const weft_plan *plan, const wi_step **steps);
/* The same of the weights' gradients. */
size_t conv_net_weight_steps(const weft_plan *plan, const wi_step **steps);
/* Among how many work-groups a step of split_gpu divides the sum of a tile: those of the tiles along their third dimension, for each
 * group of channels. */
int conv_net_splits(const weft_plan *plan, const wi_step *step);
/* From here on `kernel/variant` serves the sites of these steps. */
void conv_net_choose(wi_device *device, const char *kernel, const char *variant, const weft_plan *plan,
    const wi_step *const *steps, size_t count);

#endif
