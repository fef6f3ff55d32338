/* Numbers whose products a matrix engine must compute exactly. */
#ifndef ENGINE_NUMBERS_H
#define ENGINE_NUMBERS_H

#include "cl/buffer.h"
#include "cl/context.h"
#include "graph/dtype.h"
#include "support/checks.h"
#include "support/fixture.h"
#include <math.h>
#include <stdlib.h>

/* The index of the number that is replaced by infinity; SIZE_MAX: none. */
static size_t engine_infinity = SIZE_MAX;

/* Number i: a multiple of 1/8 in -1 .. 1. These are exact in bf16, and their products and sums are exact in f32. */
static inline float engine_number(size_t i) {
    if (i == engine_infinity) return INFINITY;
    return (float)((i * 2654435761u >> 7) % 17) / 8.0f - 1.0f;
}

/* Creates a buffer in the test's context with engine_number(first) to engine_number(first + count - 1) as numbers of this dtype. */
static inline void upload_engine_numbers(wi_buffer *buffer, weft_dtype dtype, size_t count, size_t first) {
    wi_device *const device = wi_context_device(test_context());
    const wi_format *const format = wi_format_of(dtype);
    void *const data = malloc(count * format->size);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++) format->put(data, i, (double)engine_number(first + i));
    assert_ok(wi_buffer_create(buffer, device, count * format->size));
    assert_ok(wi_buffer_write(device, buffer->memory, 0, data, count * format->size));
    free(data);
}

#endif
