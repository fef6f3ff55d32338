/* See onnx_sizes.h. */
#include "onnx/onnx_sizes.h"
#include "graph/weft_graph.h"
#include <math.h>

/* The number of entry i is (i + 1) · UNIT. */
#define UNIT 0x1p600
/* Larger numbers are ends of slices ("to the end"), not sizes. */
#define MOST 0x1p40

bool wi_onnx_is_open(double number) {
    const double entry = number / UNIT;
    return entry >= 1 && entry <= WI_NO_FACTOR && entry == floor(entry);
}

bool wi_onnx_polynomial(const weft_graph *graph, double number, wi_polynomial *p) {
    *p = (wi_polynomial){0};
    if (wi_onnx_is_open(number)) {
        *p = graph->sizes.of[(size_t)(number / UNIT) - 1].of;
        return true;
    }
    if (!(fabs(number) < 0x1p53) || number != floor(number)) return false;
    p->rest = (int64_t)number;
    return true;
}

double wi_onnx_from_polynomial(weft_graph *graph, const wi_polynomial *p) {
    if (p->count == 0) return (double)p->rest;
    const int entry = wi_size_entry_number(graph, p, 1);
    return entry < 0 ? (double)NAN : (double)(entry + 1) * UNIT;
}

double wi_onnx_from_size(weft_graph *graph, int64_t dimension) {
    wi_polynomial p;
    return wi_polynomial_of(graph, dimension, true, &p) ? wi_onnx_from_polynomial(graph, &p) : (double)NAN;
}

int64_t wi_onnx_to_size(weft_graph *graph, double number, bool *good) {
    wi_polynomial p;
    *good = !isnan(number);
    if (!*good) return 0;
    if (!wi_onnx_is_open(number) && !(fabs(number) < MOST)) return number > 0 ? INT64_MAX : INT64_MIN;
    if (!wi_onnx_polynomial(graph, number, &p)) return (int64_t)number;
    const int64_t size = wi_polynomial_dim(graph, &p, false);
    *good = size != INT64_MAX;
    return *good ? size : 0;
}

bool wi_onnx_is_symbol(int64_t size) {
    return wi_is_symbolic(size) && size != INT64_MAX && size != INT64_MIN;
}

int64_t wi_onnx_dimension(weft_graph *graph, int64_t size) {
    return wi_onnx_is_symbol(size) ? wi_dim_canonical(graph, size) : size;
}

int64_t wi_onnx_symbol(weft_graph *graph, int64_t dimension) {
    return wi_counted(graph, dimension);
}
