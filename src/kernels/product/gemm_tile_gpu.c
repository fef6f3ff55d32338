/* Tiles of class gpu (contract in gemm_tile_gpu.h). */
#include "kernels/product/gemm_tile_gpu.h"
#include "cl/quirks.h"
#include "kernels/product/gemm.h"

int64_t wi_tile_height(const int *values) {
    return (int64_t)values[WI_TILE_DOWN] * values[WI_TILE_ROWS];
}

int64_t wi_tile_width(const int *values) {
    return (int64_t)values[WI_TILE_ACROSS] * values[WI_TILE_COLUMNS];
}

/* A group with at most this many lines of items is launched as one line of items: see WEFT_GEMM_LINES in gemm_tile_gpu.clh. */
enum { FEW_LINES = 8 };

void wi_tile_group(const int *values, size_t local[3]) {
    const size_t down = (size_t)values[WI_TILE_DOWN], across = (size_t)values[WI_TILE_ACROSS];
    local[0] = down <= FEW_LINES ? down * across : across;
    local[1] = down <= FEW_LINES ? 1 : down;
    local[2] = 1;
}

int64_t wi_tile_buffers(const int *values) {
    return wi_tile_copies(values) ? values[WI_TILE_STAGES] : 2;
}

bool wi_tile_copies(const int *values) {
    return values[WI_TILE_STAGES] > 0;
}

bool wi_tile_accepts(const int *values, weft_dtype format) {
    return !wi_tile_copies(values) || format == WEFT_F32;
}

wi_limits wi_tile_limits(const int *values) {
    const int64_t rows = wi_tile_height(values) + wi_tile_width(values) + 8;
    const int64_t numbers = wi_tile_buffers(values) * values[WI_TILE_STEP] * rows;
    size_t local[3];
    wi_tile_group(values, local);
    return (wi_limits){.group = (size_t)(values[WI_TILE_DOWN] * values[WI_TILE_ACROSS]),
        .items = {local[0], (size_t)values[WI_TILE_DOWN]},
        .local_bytes = (size_t)numbers * sizeof(float)};
}

bool wi_tile_suits(const wi_device_profile *device, const int *values) {
    if (values[WI_TILE_SUB_GROUP] && !device->block_reads) return false;
    return !(device->quirks & WI_QUIRK_FEW_REGISTERS) || values[WI_TILE_ROWS] * values[WI_TILE_COLUMNS] <= 32;
}

double wi_tile_useful_part(const wi_device_profile *device, const int *values) {
    if (device->is_processor) return 1.0;
    const double results = values[WI_TILE_ROWS] * values[WI_TILE_COLUMNS],
                 readers = values[WI_TILE_SUB_GROUP] ? values[WI_TILE_SUB_GROUP] : 1.0,
                 quads = (values[WI_TILE_ROWS] / readers + values[WI_TILE_COLUMNS]) / 4.0,
                 others = wi_tile_copies(values) ? 6.0 : 8.0;
    return results / (results + (4.0 * quads + others) / device->issues);
}
