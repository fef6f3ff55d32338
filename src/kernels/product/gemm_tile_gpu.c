/* See gemm_tile_gpu.h. */
#include "kernels/product/gemm_tile_gpu.h"
#include "cl/quirks.h"

const char *const wi_tile_headers[] = {"gemm_tile_gpu.clh", NULL};

int64_t wi_tile_height(const int *values) {
    return (int64_t)values[WI_TILE_DOWN] * values[WI_TILE_ROWS];
}

int64_t wi_tile_width(const int *values) {
    return (int64_t)values[WI_TILE_ACROSS] * values[WI_TILE_COLUMNS];
}

wi_limits wi_tile_limits(const int *values) {
    const int64_t numbers = 2 * values[WI_TILE_STEP] * (wi_tile_height(values) + wi_tile_width(values) + 8);
    return (wi_limits){.group = (size_t)(values[WI_TILE_DOWN] * values[WI_TILE_ACROSS]),
        .items = {(size_t)values[WI_TILE_ACROSS], (size_t)values[WI_TILE_DOWN]},
        .local_bytes = (size_t)numbers * sizeof(float)};
}

bool wi_tile_fits_registers(const wi_device_profile *device, const int *values) {
    return !(device->quirks & WI_QUIRK_FEW_REGISTERS) || values[WI_TILE_ROWS] * values[WI_TILE_COLUMNS] <= 32;
}

double wi_tile_useful_part(const int *values) {
    const double results = values[WI_TILE_ROWS] * values[WI_TILE_COLUMNS],
                 quads = (values[WI_TILE_ROWS] + values[WI_TILE_COLUMNS]) / 4.0;
    return results / (results + 4.0 * quads + 8.0);
}
