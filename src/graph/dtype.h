/* Element types: f32 and i32 are computed with, the others are converted as they are loaded and stored. */
#ifndef WI_DTYPE_H
#define WI_DTYPE_H

#include <weft/graph.h>

bool wi_dtype_valid(weft_dtype dtype);
bool wi_dtype_is_float(weft_dtype dtype); /* f32, f16, bf16: kept as float in registers; the others as int */

#endif
