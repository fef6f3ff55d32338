#include "graph/dtype.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [WEFT_F32] = {"f32", 4},
    [WEFT_I32] = {"i32", 4},
    [WEFT_F16] = {"f16", 2},
    [WEFT_BF16] = {"bf16", 2},
    [WEFT_I64] = {"i64", 8},
    [WEFT_U8] = {"u8", 1},
    [WEFT_BOOL] = {"bool", 1},
};

bool wi_dtype_valid(weft_dtype dtype) {
    return (unsigned)dtype < sizeof dtypes / sizeof *dtypes;
}

bool wi_dtype_is_float(weft_dtype dtype) {
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

const char *weft_dtype_name(weft_dtype dtype) {
    return wi_dtype_valid(dtype) ? dtypes[dtype].name : "unknown dtype";
}

size_t weft_dtype_size(weft_dtype dtype) {
    return wi_dtype_valid(dtype) ? dtypes[dtype].size : 0;
}
