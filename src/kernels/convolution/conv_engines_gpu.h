/* The engines of GPUs that convolutions use: one list for the convolution and the image's gradient, and for the weight's gradient.
 *
 * ENGINE(suffix, bit, lanes, instruction, variants...): of the names of a record; the two files of an engine (engine_gpu.h); TILE() of
 * the includer adds its own parameters to a tile. */
#ifndef WI_CONV_ENGINES_GPU_H
#define WI_CONV_ENGINES_GPU_H

#include "kernels/product/engine_gpu.h"

#define WI_CONV_ENGINES                                                                                      \
    ENGINE(mma, WI_ENGINE_MMA, "mma.clh", "mma_instruction.clh", {"large", {TILE(2, 4, 4, 4), WI_MMA}},      \
        {"small", {TILE(2, 2, 2, 4), WI_MMA}});                                                              \
    ENGINE(wmma, WI_ENGINE_WMMA, "wmma.clh", "wmma_instruction.clh", {"large", {TILE(2, 4, 4, 2), WI_WMMA}}, \
        {"small", {TILE(2, 2, 2, 2), WI_WMMA}});                                                             \
    ENGINE(wmma12, WI_ENGINE_WMMA12, "wmma12.clh", "wmma12_instruction.clh",                                 \
        {"large", {TILE(2, 4, 4, 2), WI_WMMA}}, {"small", {TILE(2, 2, 2, 2), WI_WMMA}});                     \
    ENGINE(mfma, WI_ENGINE_MFMA, "mfma.clh", "mfma_instruction.clh", {"large", {TILE(2, 2, 2, 2), WI_MFMA}}, \
        {"small", {TILE(2, 2, 1, 1), WI_MFMA}});                                                             \
    ENGINE(xmx8, WI_ENGINE_XMX8, "xmx8.clh", "xmx8_instruction.clh", {"large", {TILE(8, 4, 2, 2), WI_XMX8}}, \
        {"small", {TILE(4, 8, 2, 1), WI_XMX8}});                                                             \
    ENGINE(xmx16, WI_ENGINE_XMX16, "xmx16.clh", "xmx16_instruction.clh",                                     \
        {"large", {TILE(8, 4, 2, 2), WI_XMX16}}, {"small", {TILE(4, 4, 2, 1), WI_XMX16}})

#endif
