/* Matrix engines: units of a processor that multiply small matrices in one instruction, many times as fast as its
 * vector units. Kernels reach them by inline assembly. */
#ifndef WI_MATRIX_ENGINE_H
#define WI_MATRIX_ENGINE_H

#include <stdbool.h>

/* Bits. AMX: that of Intel's processors, of bf16 with sums of f32. Of GPUs, of bf16 and f16 with sums of f32: MMA:
 * NVIDIA's, mma.sync of compute capability 8.0; WMMA and WMMA12: AMD's of RDNA 3 and 4; MFMA: AMD's of CDNA 2 and 3; XMX8 and XMX16:
 * Intel's, cl_intel_subgroup_matrix_multiply_accumulate with sub-groups of 8 and of 16. AVX512_BF16, beside AMX: the kernels of AMX run with tiles in memory and `vdpbf16ps` instead (cl_kernels/product/amx_vectors.clh). */
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

/* Those that this process may use on the processor that it runs on, for devices that are this processor. The first
 * call asks the operating system for them, where they need its permission: from then on the process, threads that
 * exist included, and children that it forks have it, and a thread that uses the engine has a larger register file to be saved
 * when it is interrupted. vectors: without AMX. 0: none, or refused. */
unsigned wi_matrix_engines_of_host(bool vectors);

/* Multiply-adds of `vdpbf16ps` in the time of one of f32, on one core: 2 on AMD's Zen 4, a half on Intel's Emerald Rapids.
 * It is measured, in less than a millisecond; only where wi_matrix_engines_of_host gives AVX512_BF16. */
double wi_matrix_engine_rate(void);
/* Of the engines those whose kernels are faster than multiply-adds of f32, with that rate of AVX512_BF16. */
unsigned wi_matrix_engines_that_pay(unsigned engines, double rate);
/* The name of the rate among the values of the device. */
#define WI_MATRIX_ENGINE_RATE "rate of AVX-512 BF16"

#endif
