/* The implementations of recurrent scans and of their gradients. */
#include "kernels/registry.h"

extern const wi_implementation wi_recurrent_amx, wi_recurrent_amx_gradient, wi_recurrent_mma,
    wi_recurrent_mma_gradient, wi_recurrent_wmma, wi_recurrent_wmma_gradient, wi_recurrent_wmma12,
    wi_recurrent_wmma12_gradient, wi_recurrent_mfma, wi_recurrent_mfma_gradient, wi_recurrent_xmx8,
    wi_recurrent_xmx8_gradient, wi_recurrent_xmx16, wi_recurrent_xmx16_gradient, wi_recurrent_cpu,
    wi_recurrent_gpu, wi_recurrent_cpu_gradient, wi_recurrent_gpu_gradient, wi_recurrent_naive,
    wi_recurrent_naive_gradient;

const wi_implementation *const wi_recurrent_family[] = {&wi_recurrent_amx, &wi_recurrent_amx_gradient,
    &wi_recurrent_mma, &wi_recurrent_mma_gradient, &wi_recurrent_wmma, &wi_recurrent_wmma_gradient,
    &wi_recurrent_wmma12, &wi_recurrent_wmma12_gradient, &wi_recurrent_mfma, &wi_recurrent_mfma_gradient,
    &wi_recurrent_xmx8, &wi_recurrent_xmx8_gradient, &wi_recurrent_xmx16, &wi_recurrent_xmx16_gradient,
    &wi_recurrent_cpu, &wi_recurrent_gpu, &wi_recurrent_cpu_gradient, &wi_recurrent_gpu_gradient,
    &wi_recurrent_naive, &wi_recurrent_naive_gradient, NULL};
