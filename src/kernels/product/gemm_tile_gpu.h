/* Tiles of products and convolutions on gpu-class devices: the parameters of cl_kernels/product/gemm_tile_gpu.clh, and what
 * follows from them. */
#ifndef WI_GEMM_TILE_GPU_H
#define WI_GEMM_TILE_GPU_H

#include "kernels/implementation.h"

/* A work-group of DOWN x ACROSS items has a tile of ROWS x COLUMNS elements an item, multiples of 4, and walks k in blocks
 * of STEP. SUB_GROUP: so many items, 8, read rows of A together; 0: each reads its own. STAGES: so many blocks are in local
 * memory, where asynchronous copies bring them; 0: two, through registers. These are the first parameters of an implementation that
 * uses them. */
enum {
    WI_TILE_DOWN,
    WI_TILE_ACROSS,
    WI_TILE_ROWS,
    WI_TILE_COLUMNS,
    WI_TILE_STEP,
    WI_TILE_SUB_GROUP,
    WI_TILE_STAGES,
    WI_TILE_PARAMETERS
};

#define WI_TILE_NAMES                                                                                        \
    "WEFT_GEMM_DOWN", "WEFT_GEMM_ACROSS", "WEFT_GEMM_ROWS", "WEFT_GEMM_COLUMNS", "WEFT_GEMM_STEP",           \
        "WEFT_GEMM_SUB_GROUP", "WEFT_GEMM_STAGES"

int64_t wi_tile_height(const int *values);
int64_t wi_tile_width(const int *values);
/* Items along each axis of a WEFT_GEMM_GROUP. */
void wi_tile_group(const int *values, size_t local[3]);
/* Blocks of a factor in local memory. */
int64_t wi_tile_buffers(const int *values);
/* Does it have stages? */
bool wi_tile_copies(const int *values);
/* Asynchronous copies convert nothing: may operands that are in memory in this format come by them, if the tile wants it? */
bool wi_tile_takes(const int *values, weft_dtype format);
/* Of the group, and of local memory: of A and of B so many blocks of numbers, a step of k with a quad more; and what is kept there. */
wi_limits wi_tile_limits(const int *values);
/* Has an item registers for its sums, and does the device read rows together, if the tile wants it? */
bool wi_tile_suits(const wi_device_profile *device, const int *values);
/* The part of the arithmetic units' time that reads of local memory leave: an item reads a quad for each 4 rows and for each
 * 4 columns, and multiplies them all. Rows that are read together are read once for the whole sub-group; what asynchronous copies bring,
 * no item stores. What does not multiply counts half where a unit issues two instructions in the time of a multiply-add. A processor,
 * whose local memory is any memory, is not told apart by it: 1. */
double wi_tile_useful_part(const wi_device_profile *device, const int *values);

/* The files that precede one that uses the core. */
extern const char *const wi_tile_headers[];

#endif
