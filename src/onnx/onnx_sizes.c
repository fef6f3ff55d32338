/* See onnx_sizes.h. */
#include "onnx/onnx_sizes.h"
#include "graph/shape.h"
#include <math.h>

#define BATCH 0x1p40
/* Larger numbers are ends of slices ("to the end"), not sizes. A batch times a length is the only larger one. */
#define MOST 0x1p60

static bool rest_is_small(double rest) {
    return fabs(rest) <= WI_LENGTH_REST;
}

/* Splits a number into a · WEFT_LENGTH + b, with |b| at most 2^20. False: it has no such form, or is a multiple of the length's square. */
static bool split_length(double number, int64_t *length, int64_t *rest) {
    const double times = round(number / (double)WEFT_LENGTH);
    const double more = number - times * (double)WEFT_LENGTH;
    if (fabs(times) > WI_LENGTH_REST || !rest_is_small(more)) return false;
    *length = (int64_t)times;
    *rest = (int64_t)more;
    return true;
}

bool wi_onnx_parts(double number, int64_t *batch, int64_t *length, int64_t *rest) {
    *batch = *length = *rest = 0;
    if (!(fabs(number) < MOST) || number != floor(number)) return false;
    const double times = round(number / BATCH);
    *batch = (int64_t)times;
    return split_length(number - times * BATCH, length, rest) && (*batch != 0 || *length != 0);
}

/* Is the number the batch times a multiple of the length? Writes this multiple. */
static bool split_product(double number, int64_t *of_length) {
    int64_t length, rest;
    const double times = number / BATCH;
    if (!(fabs(number) >= MOST) || fabs(times) >= 0x1p48 || times != floor(times)) return false;
    *of_length = (int64_t)times;
    return split_length(times, &length, &rest) && length != 0;
}

bool wi_onnx_is_open(double number) {
    int64_t batch, length, rest;
    return wi_onnx_parts(number, &batch, &length, &rest) || split_product(number, &batch);
}

double wi_onnx_from_size(int64_t dimension) {
    int64_t rest;
    const int64_t n = wi_magnitude(dimension);
    const bool of_length = wi_has_length(n, WEFT_LENGTH), of_batch = wi_has_length(n, WI_BATCH_SYMBOL);
    const int64_t length = wi_length_times(n, WEFT_LENGTH, &rest), length_rest = wi_magnitude(rest);
    const int64_t batch = wi_length_times(n, WI_BATCH_SYMBOL, &rest);
    const bool reads_length = of_length && (!of_batch || length_rest <= wi_magnitude(rest));
    if ((reads_length && wi_has_length(length, WEFT_LENGTH)) ||
        (of_batch && !reads_length && (dimension < 0 || wi_has_length(batch, WI_BATCH_SYMBOL))))
        return NAN;
    if (dimension < 0) return (double)n * BATCH;
    return of_batch && !reads_length ? (double)batch * BATCH + (double)rest : (double)n;
}

int64_t wi_onnx_to_size(double number, bool *good) {
    int64_t batch, length, rest;
    *good = !isnan(number);
    if (!*good) return 0;
    if (split_product(number, &length)) return length * WI_BATCH_SYMBOL;
    if (fabs(number) >= MOST) return number > 0 ? INT64_MAX : INT64_MIN;
    if (!wi_onnx_parts(number, &batch, &length, &rest) || batch == 0) return (int64_t)number;
    *good = length == 0 && batch >= -WI_LENGTH_REST && batch <= WI_LENGTH_REST;
    return *good ? batch * WI_BATCH_SYMBOL + rest : 0;
}

bool wi_onnx_is_symbol(int64_t size) {
    return wi_has_length(size, WEFT_LENGTH) || wi_has_length(size, WI_BATCH_SYMBOL);
}

int64_t wi_onnx_dimension(int64_t size) {
    return wi_without_symbol(size);
}

int64_t wi_onnx_symbol(int64_t dimension) {
    return dimension < 0 && dimension > -(INT64_MAX / WI_BATCH_SYMBOL) ? -dimension * WI_BATCH_SYMBOL
                                                                       : dimension;
}
