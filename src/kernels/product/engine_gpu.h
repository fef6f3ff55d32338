/* Matrix engines of GPUs: what products and convolutions by them have in common. cl_kernels/product/engine_tile.clh has the tile.
 *
 * An engine has two files: which numbers its lanes hold, and its instruction. They precede a template that uses it, in this order. */
#ifndef WI_ENGINE_GPU_H
#define WI_ENGINE_GPU_H

#include "cl/matrix_engine.h"
#include "kernels/implementation.h"

/* Sub-groups of a work-group down and across its tile; fragments of a sub-group, down and across; steps of k that are in
 * local memory at once. What an engine's instruction takes stands in its first file, too, which the compiler compares:
 * lanes of a sub-group, rows and columns of a fragment. These are the first parameters of an implementation that uses them. */
enum {
    WI_WARPS_DOWN,
    WI_WARPS_ACROSS,
    WI_FRAGMENTS_DOWN,
    WI_FRAGMENTS_ACROSS,
    WI_FRAGMENT_STEPS,
    WI_FRAGMENT_LANES,
    WI_FRAGMENT_ROWS,
    WI_FRAGMENT_COLUMNS,
    WI_FRAGMENT_PARAMETERS
};

#define WI_FRAGMENT_NAMES                                                                                    \
    "WEFT_ENGINE_WARPS_DOWN", "WEFT_ENGINE_WARPS_ACROSS", "WEFT_ENGINE_DOWN", "WEFT_ENGINE_ACROSS",          \
        "WEFT_ENGINE_STEP", "WEFT_ENGINE_LANES", "WEFT_ENGINE_ROWS", "WEFT_ENGINE_COLUMNS"

/* A variant's values: of the tile, then of the engine. */
#define WI_FRAGMENT_TILE(down, across, fragments_down, fragments_across)                                     \
    [WI_WARPS_DOWN] = (down), [WI_WARPS_ACROSS] = (across), [WI_FRAGMENTS_DOWN] = (fragments_down),          \
    [WI_FRAGMENTS_ACROSS] = (fragments_across), [WI_FRAGMENT_STEPS] = 32
#define WI_MMA   [WI_FRAGMENT_LANES] = 32, [WI_FRAGMENT_ROWS] = 16, [WI_FRAGMENT_COLUMNS] = 8
#define WI_WMMA  [WI_FRAGMENT_LANES] = 32, [WI_FRAGMENT_ROWS] = 16, [WI_FRAGMENT_COLUMNS] = 16
#define WI_MFMA  [WI_FRAGMENT_LANES] = 64, [WI_FRAGMENT_ROWS] = 32, [WI_FRAGMENT_COLUMNS] = 32
#define WI_XMX8  [WI_FRAGMENT_LANES] = 8, [WI_FRAGMENT_ROWS] = 8, [WI_FRAGMENT_COLUMNS] = 8
#define WI_XMX16 [WI_FRAGMENT_LANES] = 16, [WI_FRAGMENT_ROWS] = 8, [WI_FRAGMENT_COLUMNS] = 16

/* By the name of an engine. */
#define WI_ENGINE_FILES(engine) #engine ".clh", #engine "_instruction.clh"

/* Of a work-group's tile. */
int64_t wi_fragments_height(const int *values);
int64_t wi_fragments_width(const int *values);
size_t wi_fragments_group(const int *values);
/* Of products whose numbers have so many parts of 16 bits in local memory. */
wi_limits wi_fragments_limits(const int *values, size_t parts);

/* What a tile is expected to reach of the engine's peak, as how many times f32's peak that is. */
double wi_fragments_rate(const wi_device_profile *device, const int *values);

/* The format of the factors: that of both operands, or what they may be rounded to. */
weft_dtype wi_fragments_format(const wi_kernel_site *site);

/* Factors of 16 bits from any storage, sums of f32. */
enum { WI_FRAGMENT_FORMATS = 2 };
extern const wi_formats wi_fragment_formats[WI_FRAGMENT_FORMATS];

#endif
