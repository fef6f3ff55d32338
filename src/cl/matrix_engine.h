/* Matrix engines: units that multiply small matrices in one instruction, much faster than vector units. Kernels use
 * them by inline assembly, builtins or functions of extensions. */
#ifndef WI_MATRIX_ENGINE_H
#define WI_MATRIX_ENGINE_H

#include <stdbool.h>

/* Engines, one bit each. All compute sums of f32.
 *     AMX_BF16     Intel's processors, bf16
 *     AVX512_BF16  set beside AMX_BF16: the kernels of AMX keep tiles in memory and use `vdpbf16ps` instead
 *                  (cl_kernels/product/amx_vectors.clh)
 *     MMA          NVIDIA, bf16 and f16: mma.sync of compute capability 8.0
 *     WMMA, WMMA12 AMD's RDNA 3 and RDNA 4, bf16 and f16
 *     MFMA         AMD's CDNA 2 and later, bf16 and f16
 *     XMX8, XMX16  Intel's GPUs, bf16 and f16: cl_intel_subgroup_matrix_multiply_accumulate with sub-groups of 8 and 16 */
enum {
    WI_ENGINE_AMX_BF16 = 1 << 0,
    WI_ENGINE_MMA = 1 << 1,
    WI_ENGINE_WMMA = 1 << 2,
    WI_ENGINE_WMMA12 = 1 << 3,
    WI_ENGINE_MFMA = 1 << 4,
    WI_ENGINE_AVX512_BF16 = 1 << 5,
    WI_ENGINE_XMX8 = 1 << 6,
    WI_ENGINE_XMX16 = 1 << 7
};

/* The engines that this process may use on the host's processor, for devices that are this processor; 0: none, or the
 * operating system refused. Where permission is needed, the first call asks for it. All threads of the process and
 * children that it forks later then have the permission, and more registers of a thread that uses the engine are saved
 * when it is interrupted. vectors: AVX-512 BF16 is used even if the processor has AMX. */
unsigned wi_matrix_engines_of_host(bool vectors);

/* The rate of multiply-adds by `vdpbf16ps` relative to f32 on one core: 2 on AMD's Zen 4, 0.5 on Intel's Emerald
 * Rapids. Measures for less than a millisecond. Only for processors with AVX512_BF16. */
double wi_matrix_engine_rate(void);
/* Removes the engines whose kernels are not faster than f32, if AVX512_BF16 has this rate. */
unsigned wi_matrix_engines_that_pay(unsigned engines, double rate);
/* The name of this rate among the values of the device. */
#define WI_MATRIX_ENGINE_RATE "rate of AVX-512 BF16"

#endif
