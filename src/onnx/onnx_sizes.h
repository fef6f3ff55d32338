/* The encoding of sizes that only plans know (*open* sizes) as numbers of the host.
 *
 * A file calculates with the sizes of its inputs (Shape, Gather, Mul, Concat), and the host does these calculations with doubles. An
 * open size is encoded so that ordinary addition, subtraction, multiplication by an integer and
 * exact division give the encoding of the result: the batch is 2^40, and the length is WEFT_LENGTH, for example
 * 12 · 2^40 + 3 for 12 · batch + 3. Everything else, such as a comparison or a product of two open sizes, must be
 * refused for open numbers.
 *
 * In lists of whole numbers (wi_onnx_get_sizes), the batch is WI_BATCH_SYMBOL of graph/shape.h, and the length is
 * WEFT_LENGTH, so that no open size is mistaken for the -1 of a reshape or for an end that counts from behind.
 * wi_onnx_dimension makes the dimension of a shape of it. */
#ifndef WI_ONNX_SIZES_H
#define WI_ONNX_SIZES_H

#include <stdbool.h>
#include <stdint.h>

/* The encoding of a dimension of a Weft tensor; NAN: it has none, as batch · batch. */
double wi_onnx_from_size(int64_t dimension);
/* Converts a number of the host to an element of a list: a symbol for an open size, INT64_MAX or INT64_MIN for a number
 * beyond ±2^60, otherwise the number. *good is false, and the result 0, for NAN and for a sum of the batch and the length,
 * which no dimension can be. */
int64_t wi_onnx_to_size(double number, bool *good);
/* Does the number depend on an open size? */
bool wi_onnx_is_open(double number);
/* The parts of an open number: batch · *batch + WEFT_LENGTH · *length + *rest. False: the number is not open. */
bool wi_onnx_parts(double number, int64_t *batch, int64_t *length, int64_t *rest);
/* Is the element of a list an open size? */
bool wi_onnx_is_symbol(int64_t size);
/* Convert an element of a list to the dimension of a shape, and the dimension of a tensor to an element of a list. */
int64_t wi_onnx_dimension(int64_t size);
int64_t wi_onnx_symbol(int64_t dimension);

#endif
