/* Matrix engines of GPUs: what the kernels that use them have in common. cl_kernels/product/engine_tile.clh has the tile. The
 * table of engines, engines.clh, precedes the templates that use an engine: it says which numbers of a fragment each lane holds, and has the
 * instruction. */
#ifndef WI_ENGINE_GPU_H
#define WI_ENGINE_GPU_H

#include "cl/matrix_engine.h"
#include "kernels/implementation.h"

/* The first parameters of an implementation that uses an engine. The last four are the engine, by its number in engines.clh, and
 * properties of its instruction, which engines.clh has, too; the compiler checks that they agree. */
enum {
    WI_WARPS_DOWN, /* sub-groups of a work-group, along the rows and the columns of its tile */
    WI_WARPS_ACROSS,
    /* Fragments that a sub-group computes, along the rows and the columns of its part of the tile. A fragment is the result of one
     * instruction of the engine. */
    WI_FRAGMENTS_DOWN,
    WI_FRAGMENTS_ACROSS,
    WI_FRAGMENT_STEPS, /* steps of k that are in local memory at a time */
    WI_FRAGMENT_KIND,
    WI_FRAGMENT_LANES, /* work-items of a sub-group */
    WI_FRAGMENT_ROWS,  /* rows and columns of a fragment */
    WI_FRAGMENT_COLUMNS,
    WI_FRAGMENT_PARAMETERS
};

#define WI_FRAGMENT_NAMES                                                                                    \
    "WEFT_ENGINE_WARPS_DOWN", "WEFT_ENGINE_WARPS_ACROSS", "WEFT_ENGINE_DOWN", "WEFT_ENGINE_ACROSS",          \
        "WEFT_ENGINE_STEP", "WEFT_ENGINE_KIND", "WEFT_ENGINE_LANES", "WEFT_ENGINE_ROWS",                     \
        "WEFT_ENGINE_COLUMNS"

/* The values of a variant: those of a tile, and those of an engine. */
#define WI_FRAGMENT_TILE(down, across, fragments_down, fragments_across)                                     \
    [WI_WARPS_DOWN] = (down), [WI_WARPS_ACROSS] = (across), [WI_FRAGMENTS_DOWN] = (fragments_down),          \
    [WI_FRAGMENTS_ACROSS] = (fragments_across), [WI_FRAGMENT_STEPS] = 32
#define WI_FRAGMENT_SHAPE(kind, lanes, rows, columns)                                                        \
    [WI_FRAGMENT_KIND] = (kind), [WI_FRAGMENT_LANES] = (lanes), [WI_FRAGMENT_ROWS] = (rows),                 \
    [WI_FRAGMENT_COLUMNS] = (columns)
#define WI_MMA    WI_FRAGMENT_SHAPE(1, 32, 16, 8)
#define WI_WMMA   WI_FRAGMENT_SHAPE(2, 32, 16, 16)
#define WI_WMMA12 WI_FRAGMENT_SHAPE(3, 32, 16, 16)
#define WI_MFMA   WI_FRAGMENT_SHAPE(4, 64, 32, 32)
#define WI_XMX8   WI_FRAGMENT_SHAPE(5, 8, 8, 8)
#define WI_XMX16  WI_FRAGMENT_SHAPE(6, 16, 8, 16)

/* Rows, columns and work-items of a work-group's tile. */
int64_t wi_fragments_height(const int *values);
int64_t wi_fragments_width(const int *values);
size_t wi_fragments_group(const int *values);
/* parts: 16-bit numbers in local memory for each number of a factor. */
wi_limits wi_fragments_limits(const int *values, size_t parts);

/* The speed that a tile is expected to reach, as a multiple of the device's f32 peak. */
double wi_fragments_rate(const wi_device_profile *device, const int *values);

/* The format of the factors: f16 if both operands are stored in f16 or may be rounded to it, bf16 otherwise. */
weft_dtype wi_fragments_format(const wi_kernel_site *site);

/* The formats of kernels that convert any storage to 16-bit factors, with sums in f32. */
enum { WI_FRAGMENT_FORMATS = 2 };
extern const wi_formats wi_fragment_formats[WI_FRAGMENT_FORMATS];

#endif
