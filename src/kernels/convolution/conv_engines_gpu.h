/* The engines of GPUs that convolutions use: one list for the convolution and the image's gradient, and for the weight's gradient.
 *
 * ENGINE(suffix, bit, variants...): of the names of a record and of the engine's files (engine_gpu.h); TILE() of the includer adds its
 * own parameters to a tile. */
#ifndef WI_CONV_ENGINES_GPU_H
#define WI_CONV_ENGINES_GPU_H

#include "kernels/product/engine_gpu.h"

#define WI_CONV_ENGINES                                                                                      \
    ENGINE(                                                                                                  \
        mma, WI_ENGINE_MMA, {"large", {TILE(2, 4, 4, 4), WI_MMA}}, {"small", {TILE(2, 2, 2, 4), WI_MMA}});   \
    ENGINE(wmma, WI_ENGINE_WMMA, {"large", {TILE(2, 4, 4, 2), WI_WMMA}},                                     \
        {"small", {TILE(2, 2, 2, 2), WI_WMMA}});                                                             \
    ENGINE(wmma12, WI_ENGINE_WMMA12, {"large", {TILE(2, 4, 4, 2), WI_WMMA}},                                 \
        {"small", {TILE(2, 2, 2, 2), WI_WMMA}});                                                             \
    ENGINE(mfma, WI_ENGINE_MFMA, {"large", {TILE(2, 2, 2, 2), WI_MFMA}},                                     \
        {"small", {TILE(2, 2, 1, 1), WI_MFMA}});                                                             \
    ENGINE(xmx8, WI_ENGINE_XMX8, {"large", {TILE(8, 4, 2, 2), WI_XMX8}},                                     \
        {"small", {TILE(4, 8, 2, 1), WI_XMX8}});                                                             \
    ENGINE(xmx16, WI_ENGINE_XMX16, {"large", {TILE(8, 4, 2, 2), WI_XMX16}},                                  \
        {"small", {TILE(4, 4, 2, 1), WI_XMX16}})

#endif
