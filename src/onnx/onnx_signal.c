/* Windows and Fourier transforms of ONNX. A transform is a product with a matrix that the host computes. */
#include "onnx/onnx_types.h"
#include <math.h>

#define FULL_TURN 6.28318530717958647692

/* ---- windows ---- */

/* a - b · cos(2πi / n) + c · cos(4πi / n) for `count` elements; n is one less than these if the window is symmetric. */
static weft_tensor *build_window(wi_onnx_import *n, wi_onnx_node *node, const double *factors) {
    enum { MOST = 1 << 20 };
    const double count = wi_onnx_get_number(n, node, 0, 0);
    const bool periodic = wi_onnx_whole(node, "periodic", 1) != 0;
    const int type = (int)wi_onnx_whole(node, "output_datatype", WI_ONNX_FLOAT);
    if (n->status != WEFT_OK) return NULL;
    if (!(count >= 1 && count <= MOST))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "the window has %g elements", count);
    wi_onnx_numbers window = {.dtype = WEFT_F32, .rank = 1, .dims = {(int64_t)count}, .count = (size_t)count};
    window.data = wi_arena_take(&n->arena, (window.count + 1) * sizeof *window.data);
    if (!window.data) return wi_onnx_fail(n, node, WEFT_ERROR_MEMORY, "out of memory");
    const double steps = periodic ? count : count > 1 ? count - 1 : 1;
    for (size_t i = 0; i < window.count; i++) {
        const double angle = FULL_TURN * (double)i / steps;
        window.data[i] = factors[0] - factors[1] * cos(angle) + factors[2] * cos(2 * angle);
    }
    weft_tensor *const y = wi_onnx_cast(n, node, wi_onnx_array(n, &window), type, true);
    if (y) wi_onnx_set_type(n, node, 0, type);
    return y;
}

static weft_tensor *build_hann(wi_onnx_import *n, wi_onnx_node *node) {
    return build_window(n, node, (const double[]){0.5, 0.5, 0});
}

static weft_tensor *build_hamming(wi_onnx_import *n, wi_onnx_node *node) {
    return build_window(n, node, (const double[]){25.0 / 46, 21.0 / 46, 0});
}

static weft_tensor *build_blackman(wi_onnx_import *n, wi_onnx_node *node) {
    return build_window(n, node, (const double[]){0.42, 0.5, 0.08});
}

/* ---- transforms ---- */

/* A Fourier transform. parts: 1 for real elements, 2 for complex ones. */
typedef struct transform {
    int64_t given, length, parts,
        taken; /* numbers of elements: of the input, of the transform, and of the result */
    double sign, scale;
} transform;

/* The matrix of the transform. Rows are the elements of the input and their parts, columns the elements of the result and their two parts. */
static weft_tensor *matrix_of(wi_onnx_import *n, const transform *t) {
    const int64_t rows = t->given < t->length ? t->given : t->length, width = t->taken * 2;
    wi_onnx_numbers matrix = {.dtype = WEFT_F32, .rank = 2, .dims = {rows * t->parts, width}};
    matrix.count = (size_t)(rows * t->parts * width);
    matrix.data = wi_arena_take(&n->arena, (matrix.count + 1) * sizeof *matrix.data);
    for (int64_t j = 0; matrix.data && j < rows; j++)
        for (int64_t k = 0; k < t->taken; k++) {
            /* The angle is reduced while it is a whole number of steps. */
            const double angle = FULL_TURN * (double)(j * k % t->length) / (double)t->length;
            const double real = t->scale * cos(angle), imaginary = t->scale * t->sign * sin(angle);
            double *const first = matrix.data + j * t->parts * width + k * 2;
            first[0] = real, first[1] = imaginary;
            if (t->parts == 2) first[width] = -imaginary, first[width + 1] = real;
        }
    return matrix.data ? wi_onnx_array(n, &matrix) : NULL;
}

/* Transforms x (..., given, parts) to (..., taken, 2). */
static weft_tensor *apply(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *x, int64_t length, bool inverse, bool half) {
    enum { MOST = 1 << 23 };
    const int rank = weft_tensor_rank(x);
    int64_t dims[WEFT_MAX_RANK];
    wi_onnx_dims(x, dims);
    const transform t = {dims[rank - 2], length, dims[rank - 1], half ? length / 2 + 1 : length,
        inverse ? 1 : -1, inverse ? 1 / (double)length : 1};
    if (t.given < 1 || t.given > MOST || length < 1 || length > MOST || (t.parts != 1 && t.parts != 2) ||
        t.given * t.taken * t.parts > MOST)
        return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED,
            "it needs an axis of a fixed length, that is not too long, and real or complex numbers");
    if (half && (inverse || t.parts == 2))
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "onesided is supported only for real numbers, and not inverse");
    if (t.given > length) x = weft_slice(x, rank - 2, 0, length);
    weft_tensor *const matrix = matrix_of(n, &t);
    if (!matrix) return NULL;
    dims[rank - 2] = t.taken, dims[rank - 1] = 2;
    weft_tensor *const flat = weft_flatten_axes(x, rank - 2, rank - 1);
    weft_tensor *const y =
        rank > 2 ? weft_matmul(flat, matrix) : weft_matmul(weft_unsqueeze(flat, 0), matrix);
    return weft_reshape_shape(y, rank, dims);
}

/* The axis is an attribute up to version 19, and an input from version 20 on. */
static weft_tensor *build_dft(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *x = wi_onnx_get(n, node, 0);
    const double given =
        n->version < 20 ? (double)wi_onnx_whole(node, "axis", 1) : wi_onnx_get_number(n, node, 2, -2);
    const double length = wi_onnx_get_number(n, node, 1, 0);
    if (!x || n->status != WEFT_OK) return NULL;
    const int rank = weft_tensor_rank(x);
    const int axis = given >= -rank && given < rank ? wi_onnx_axis((int64_t)given, rank) : -1;
    if (axis < 0 || axis == rank - 1 ||
        (wi_onnx_has(node, 1) && !(length >= 1 && length <= (double)INT32_MAX)))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its axis or its length is out of range");
    const int64_t all = wi_onnx_has(node, 1) ? (int64_t)length : weft_tensor_dimension(x, axis);
    x = axis == rank - 2 ? x : weft_move_axis(x, axis, rank - 2);
    weft_tensor *const y = apply(
        n, node, x, all, wi_onnx_whole(node, "inverse", 0) != 0, wi_onnx_whole(node, "onesided", 0) != 0);
    return y && axis != rank - 2 ? weft_move_axis(y, rank - 2, axis) : y;
}

/* The frames of a signal (N, L, parts), one every `step` elements: (N, frames, length, parts). */
static weft_tensor *frames_of(
    wi_onnx_import *n, wi_onnx_node *node, weft_tensor *signal, double step, int64_t length) {
    enum { MOST = 1 << 24 };
    const int64_t size = weft_tensor_rank(signal) == 3 ? weft_tensor_dimension(signal, 1) : 0;
    if (size < 1 || size > MOST || !(step >= 1 && step <= MOST) || length < 1 || length > size)
        return wi_onnx_fail(
            n, node, WEFT_ERROR_UNSUPPORTED, "it needs a signal of a fixed length, and frames in it");
    const int64_t count = (size - length) / (int64_t)step + 1;
    wi_onnx_numbers index = {.dtype = WEFT_I32, .rank = 2, .dims = {count, length}};
    index.count = (size_t)(count * length);
    index.data = index.count < MOST ? wi_arena_take(&n->arena, (index.count + 1) * sizeof *index.data) : NULL;
    if (!index.data) return wi_onnx_fail(n, node, WEFT_ERROR_UNSUPPORTED, "it has too many frames");
    for (size_t i = 0; i < index.count; i++)
        index.data[i] = (double)((int64_t)i / length * (int64_t)step + (int64_t)i % length);
    return weft_index_select(signal, 1, wi_onnx_array(n, &index));
}

static weft_tensor *build_stft(wi_onnx_import *n, wi_onnx_node *node) {
    weft_tensor *const signal = wi_onnx_get(n, node, 0), *const window = wi_onnx_has(node, 2)
                                                                             ? wi_onnx_get(n, node, 2)
                                                                             : NULL;
    const double step = wi_onnx_get_number(n, node, 1, 0), given = wi_onnx_get_number(n, node, 3, 0);
    if (!signal || n->status != WEFT_OK) return NULL;
    const int64_t all = window                          ? weft_tensor_dimension(window, 0)
                        : weft_tensor_rank(signal) == 3 ? weft_tensor_dimension(signal, 1)
                                                        : 0;
    const int64_t length = !wi_onnx_has(node, 3)                      ? all
                           : given >= 1 && given <= (double)INT32_MAX ? (int64_t)given
                                                                      : 0;
    if (window && (weft_tensor_rank(window) != 1 || all != length))
        return wi_onnx_fail(n, node, WEFT_ERROR_SHAPE, "its window is not as long as a frame");
    weft_tensor *frames = frames_of(n, node, signal, step, length);
    if (frames && window) frames = weft_mul(frames, weft_unsqueeze(window, -1));
    return frames ? apply(n, node, frames, length, false, wi_onnx_whole(node, "onesided", 1) != 0) : NULL;
}

const wi_onnx_op wi_onnx_signal_ops[] = {{"HannWindow", .build = build_hann, .host = 1u << 0},
    {"HammingWindow", .build = build_hamming, .host = 1u << 0},
    {"BlackmanWindow", .build = build_blackman, .host = 1u << 0},
    {"DFT", .build = build_dft, .host = 1u << 1 | 1u << 2},
    {"STFT", .build = build_stft, .host = 1u << 1 | 1u << 3}, {0}};
