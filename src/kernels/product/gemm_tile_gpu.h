/* Tiles of products and convolutions of class gpu: the parameters of cl_kernels/product/gemm_tile_gpu.clh, and what follows from
 * them. */
#ifndef WI_GEMM_TILE_GPU_H
#define WI_GEMM_TILE_GPU_H

#include "kernels/implementation.h"

/* A work-group of DOWN x ACROSS items computes a tile in which each item has ROWS x COLUMNS elements, both multiples of 4. The
 * group reads blocks of STEP steps of k, one after the other. These are the first parameters of an implementation with such
 * tiles. */
enum {
    WI_TILE_DOWN,
    WI_TILE_ACROSS,
    WI_TILE_ROWS,
    WI_TILE_COLUMNS,
    WI_TILE_STEP,
    WI_TILE_SUB_GROUP, /* 8: sub-groups of 8 items read rows of A together; 0: each item reads alone */
    /* The number of blocks in local memory, if they are copied asynchronously. 0: two blocks, copied through registers. */
    WI_TILE_STAGES,
    WI_TILE_PARAMETERS
};

#define WI_TILE_NAMES                                                                                        \
    "WEFT_GEMM_DOWN", "WEFT_GEMM_ACROSS", "WEFT_GEMM_ROWS", "WEFT_GEMM_COLUMNS", "WEFT_GEMM_STEP",           \
        "WEFT_GEMM_SUB_GROUP", "WEFT_GEMM_STAGES"

/* Rows and columns of a tile. */
int64_t wi_tile_height(const int *values);
int64_t wi_tile_width(const int *values);
/* Sets the local sizes of a kernel that is declared with WEFT_GEMM_GROUP (gemm_tile_gpu.clh). */
void wi_tile_group(const int *values, size_t local[3]);
/* The number of blocks of a factor in local memory. */
int64_t wi_tile_buffers(const int *values);
/* Does the tile use asynchronous copies? */
bool wi_tile_copies(const int *values);
/* May operands be stored in this format? Asynchronous copies cannot convert. */
bool wi_tile_accepts(const int *values, weft_dtype format);
/* Local memory holds blocks of A and B, with one quad of padding in each step of k. */
wi_limits wi_tile_limits(const int *values);
/* Has an item enough registers for its sums and, if the tile has a sub-group, can the device read rows together? */
bool wi_tile_suits(const wi_device_profile *device, const int *values);
/* The share of an item's instructions that multiply. In each step of k an item reads one quad from local memory for every 4 rows
 * and every 4 columns. Rows that a sub-group reads together are read once, and data of asynchronous copies is not stored by
 * items. Other instructions count half on units that issue two in the time of a multiply-add. For processors, whose local memory
 * is ordinary memory, the share is 1. */
double wi_tile_useful_part(const wi_device_profile *device, const int *values);

#endif
