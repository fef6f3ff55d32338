/* The matrix engines of GPUs that convolutions use, with the tiles of their kernels: one list for convolutions with their data
 * gradients, and for the weights' gradients.
 *
 * ENGINE(suffix, bit, variants...): the suffix is in the names of records. The
 * includer defines ENGINE, and TILE(), which adds the includer's own parameters to those of a tile. */
#ifndef WI_CONV_ENGINES_GPU_H
#define WI_CONV_ENGINES_GPU_H

#include "kernels/product/engine_gpu.h"

#define WI_CONV_ENGINES                                                                                      \
    ENGINE(                                                                                                  \
        mma, WI_ENGINE_MMA, {"large", {TILE(2, 4, 4, 4), WI_MMA}}, {"small", {TILE(2, 2, 2, 4), WI_MMA}});   \
    ENGINE(wmma, WI_ENGINE_WMMA, {"large", {TILE(2, 4, 4, 2), WI_WMMA}},                                     \
        {"small", {TILE(2, 2, 2, 2), WI_WMMA}});                                                             \
    ENGINE(wmma12, WI_ENGINE_WMMA12, {"large", {TILE(2, 4, 4, 2), WI_WMMA12}},                               \
        {"small", {TILE(2, 2, 2, 2), WI_WMMA12}});                                                           \
    ENGINE(mfma, WI_ENGINE_MFMA, {"large", {TILE(2, 2, 2, 2), WI_MFMA}},                                     \
        {"small", {TILE(2, 2, 1, 1), WI_MFMA}});                                                             \
    ENGINE(xmx8, WI_ENGINE_XMX8, {"large", {TILE(8, 4, 2, 2), WI_XMX8}},                                     \
        {"small", {TILE(4, 8, 2, 1), WI_XMX8}});                                                             \
    ENGINE(xmx16, WI_ENGINE_XMX16, {"large", {TILE(8, 4, 2, 2), WI_XMX16}},                                  \
        {"small", {TILE(4, 4, 2, 1), WI_XMX16}})

#endif
