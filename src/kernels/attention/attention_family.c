/* The implementations of attention and of its gradient. */
#include "kernels/registry.h"

extern const wi_implementation wi_attention_amx, wi_attention_amx_gradient, wi_attention_mma,
    wi_attention_mma_gradient, wi_attention_wmma, wi_attention_wmma_gradient, wi_attention_wmma12,
    wi_attention_wmma12_gradient, wi_attention_mfma, wi_attention_mfma_gradient, wi_attention_xmx8,
    wi_attention_xmx8_gradient, wi_attention_xmx16, wi_attention_xmx16_gradient, wi_attention_few,
    wi_attention_cpu, wi_attention_gpu, wi_attention_cpu_gradient, wi_attention_gpu_gradient,
    wi_attention_naive, wi_attention_naive_gradient;

const wi_implementation *const wi_attention_family[] = {&wi_attention_amx, &wi_attention_amx_gradient,
    &wi_attention_mma, &wi_attention_mma_gradient, &wi_attention_wmma, &wi_attention_wmma_gradient,
    &wi_attention_wmma12, &wi_attention_wmma12_gradient, &wi_attention_mfma, &wi_attention_mfma_gradient,
    &wi_attention_xmx8, &wi_attention_xmx8_gradient, &wi_attention_xmx16, &wi_attention_xmx16_gradient,
    &wi_attention_few, &wi_attention_cpu, &wi_attention_gpu, &wi_attention_cpu_gradient,
    &wi_attention_gpu_gradient, &wi_attention_naive, &wi_attention_naive_gradient, NULL};
