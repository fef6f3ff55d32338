/* Matrix engines of GPUs (contract in engine_gpu.h). */
#include "kernels/product/engine_gpu.h"
#include "graph/dtype.h"

const wi_formats wi_fragment_formats[WI_FRAGMENT_FORMATS] = {
    {WI_ANY_STORAGE, WEFT_BF16, WEFT_F32}, {WI_ANY_STORAGE, WEFT_F16, WEFT_F32}};

int64_t wi_fragments_height(const int *values) {
    return (int64_t)values[WI_WARPS_DOWN] * values[WI_FRAGMENTS_DOWN] * values[WI_FRAGMENT_ROWS];
}

int64_t wi_fragments_width(const int *values) {
    return (int64_t)values[WI_WARPS_ACROSS] * values[WI_FRAGMENTS_ACROSS] * values[WI_FRAGMENT_COLUMNS];
}

size_t wi_fragments_group(const int *values) {
    return (size_t)(values[WI_WARPS_DOWN] * values[WI_WARPS_ACROSS] * values[WI_FRAGMENT_LANES]);
}

/* A row of the tile in local memory has 8 numbers of padding, so that rows are in different banks. */
wi_limits wi_fragments_limits(const int *values, size_t parts) {
    const size_t row = (size_t)(values[WI_FRAGMENT_STEPS] + 8) * parts * 2,
                 group = wi_fragments_group(values);
    return (wi_limits){.group = group,
        .items = {group, 1},
        .local_bytes = (size_t)(wi_fragments_height(values) + wi_fragments_width(values)) * row};
}

/* Small tiles wait for memory: each step of k needs height + width numbers for height * width multiplications. */
double wi_fragments_rate(const wi_device_profile *device, const int *values) {
    const double waits =
        1.0 + 32.0 / (double)wi_fragments_height(values) + 32.0 / (double)wi_fragments_width(values);
    return device->peak_engine / (waits * device->peak_f32);
}

weft_dtype wi_fragments_format(const wi_kernel_site *site) {
    const bool both = site->formats[0] == WEFT_F16 && site->formats[1] == WEFT_F16;
    return both || site->precision == WEFT_F16 ? WEFT_F16 : WEFT_BF16;
}
