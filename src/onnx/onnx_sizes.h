/* Sizes as numbers of the host.
 *
 * A file calculates with the sizes of its inputs (Shape, Gather, Mul, Concat), and the host follows it with doubles. A
 * size that only plans know is encoded so that ordinary addition, subtraction, multiplication by a whole number and
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

/* A dimension of a tensor of Weft as a number of the host; NAN: it has no encoding, such as batch · batch. */
double wi_onnx_from_size(int64_t dimension);
/* The number of a list: with symbols for open sizes, other numbers as they are, and INT64_MAX or INT64_MIN for numbers
 * beyond ±2^60. 0: a sum of the batch and the length, which no dimension can be, or NAN; *good is then false. */
int64_t wi_onnx_to_size(double number, bool *good);
/* Does the number depend on an open size? */
bool wi_onnx_is_open(double number);
/* The parts of an open number: batch · *batch + WEFT_LENGTH · *length + *rest. False: the number is not open. */
bool wi_onnx_parts(double number, int64_t *batch, int64_t *length, int64_t *rest);
/* Is the number of a list an open size? */
bool wi_onnx_is_symbol(int64_t size);
/* The dimension of a shape, from the number of a list; and the reverse, for a dimension of a tensor. */
int64_t wi_onnx_dimension(int64_t size);
int64_t wi_onnx_symbol(int64_t dimension);

#endif
