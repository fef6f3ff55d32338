/* The implementations of convolutions, of the gradients of their images, and of the gradients of their weights. */
#include "kernels/registry.h"

extern const wi_implementation wi_conv_depthwise_cpu, wi_conv_depthwise_gpu, wi_conv_depthwise_gpu_each,
    wi_conv_winograd_cpu, wi_conv_winograd_row_cpu, wi_conv_winograd_gpu, wi_conv_pointwise_cpu,
    wi_conv_cpu_amx_rows, wi_conv_cpu_amx, wi_conv_mma, wi_conv_wmma, wi_conv_wmma12, wi_conv_mfma,
    wi_conv_xmx8, wi_conv_xmx16, wi_conv_cpu, wi_conv_gpu, wi_conv_split_gpu, wi_conv_naive;

const wi_implementation *const wi_convolution_family[] = {&wi_conv_depthwise_cpu, &wi_conv_depthwise_gpu,
    &wi_conv_depthwise_gpu_each, &wi_conv_winograd_cpu, &wi_conv_winograd_row_cpu, &wi_conv_winograd_gpu,
    &wi_conv_pointwise_cpu, &wi_conv_cpu_amx_rows, &wi_conv_cpu_amx, &wi_conv_mma, &wi_conv_wmma,
    &wi_conv_wmma12, &wi_conv_mfma, &wi_conv_xmx8, &wi_conv_xmx16, &wi_conv_cpu, &wi_conv_gpu,
    &wi_conv_split_gpu, &wi_conv_naive, NULL};

extern const wi_implementation wi_conv_weight_depthwise_cpu, wi_conv_weight_depthwise_gpu,
    wi_conv_weight_winograd_cpu, wi_conv_weight_pointwise_cpu, wi_conv_weight_cpu_amx, wi_conv_weight_mma,
    wi_conv_weight_wmma, wi_conv_weight_wmma12, wi_conv_weight_mfma, wi_conv_weight_xmx8,
    wi_conv_weight_xmx16, wi_conv_weight_cpu, wi_conv_weight_gpu, wi_conv_weight_naive;

const wi_implementation *const wi_convolution_weight_family[] = {&wi_conv_weight_depthwise_cpu,
    &wi_conv_weight_depthwise_gpu, &wi_conv_weight_winograd_cpu, &wi_conv_weight_pointwise_cpu,
    &wi_conv_weight_cpu_amx, &wi_conv_weight_mma, &wi_conv_weight_wmma, &wi_conv_weight_wmma12,
    &wi_conv_weight_mfma, &wi_conv_weight_xmx8, &wi_conv_weight_xmx16, &wi_conv_weight_cpu,
    &wi_conv_weight_gpu, &wi_conv_weight_naive, NULL};
