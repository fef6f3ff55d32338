/* The registry: all implementations (implementation.h), in families.
 *
 * A family is an array wi_<name>_family, whose definition is in src/kernels/<family>/. The build lists these arrays
 * (cmake/list_families.cmake). */
#ifndef WI_REGISTRY_H
#define WI_REGISTRY_H

#include "kernels/implementation.h"

/* Ends with NULL. If two implementations are equally fast, the first is chosen. The portable one is last. */
typedef const wi_implementation *const *wi_family;

/* All families; ends with NULL. */
extern const wi_family wi_families[];
/* Families that other files use by name: matrix products, convolutions, and the weights' gradients of convolutions. */
extern const wi_implementation *const wi_product_family[], *const wi_convolution_family[],
                                                               *const wi_convolution_weight_family[];

/* The node that an implementation for this device computes in place of a kernel op's node; mostly that node itself.
 * NULL: the graph has an error. */
weft_tensor *wi_kernel_rewrite(
    weft_tensor *node, const wi_device_profile *device, int64_t batch, bool inference);

/* May the op's inputs, and a kernel op's result, be stored in this format instead of f32? The answer is that of the op's portable
 * implementation, the last one of its family; other implementations may refuse the format. */
bool wi_kernels_accept_format(const wi_op *op, weft_dtype format);
/* Does an implementation of the op multiply numbers of the format on a matrix engine of any device? */
bool wi_kernels_multiply(const wi_op *op, weft_dtype format);
/* Is there a matrix product that multiplies numbers of the format on a matrix engine of the device? */
bool wi_engines_multiply(const wi_device_profile *device, weft_dtype format);

#endif
